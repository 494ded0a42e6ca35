/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Reading tests/vectors/coola.json for the content suite.
 */
#ifndef T_CONTENT_ROWS_H
#define T_CONTENT_ROWS_H

#include "tests/unit/content_suite.h"

#include <jansson.h>

/** Runs a check on every row of an array, of which there must be one at least, and counts it. */
void t_content_each(const char *key, void (*check)(json_t *row));

/** The whole file. */
json_t *t_content_load(void);

/** A string that must be there. */
const char *t_content_string(json_t *row, const char *name);

/** Fails the test unless the ID of a value in words, in a profile, is the one in the row; so the
 *  UUID. */
void t_content_assert_words(json_t *row, uint32_t profile, const char *words);

#endif
