/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The parts of the content suite, and the helpers that they share.
 */
#ifndef T_CONTENT_SUITE_H
#define T_CONTENT_SUITE_H

#include <check.h>
#include <sfcontent.h>
#include <stdbool.h>

#define T_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/** An ID, or "" and why there is none. */
struct t_content {
	char id[SF_CONTENT_ID_MAX];
	char uuid[SF_CONTENT_UUID_MAX]; /* of IDs of 128 digits, in the default namespace */
	int error;
	struct sf_why why;
};

struct sf_content *t_content_open(uint32_t profile, uint32_t length, bool ignore);

/**
 * Feeds a value that is written as words, one blank between them:
 *   null true false   [ ] { }   12 (an integer)   d1.5 dnan (a double)   'text'   xff00 (bytes)
 *   ?set (a type without a rule)
 * @return 0 or the first error of the builder
 */
int t_content_feed(struct sf_content *content, const char *words);

/** ID of such a value. */
struct t_content t_content_of(uint32_t profile, uint32_t length, const char *words);

/** ID of a JSON document, given in pieces of `piece` bytes. */
struct t_content t_content_of_json(uint32_t profile, uint32_t length, const char *text, size_t size,
				   size_t piece);

void t_add_content_builder(Suite *suite);
void t_add_content_json(Suite *suite);
void t_add_content_float(Suite *suite);
void t_add_content_typed(Suite *suite);
void t_add_content_vectors(Suite *suite);

/* ---- rows of tests/vectors/coola.json ---- */

/** Counts a row that was checked, whatever process the test runs in. */
void t_content_row_done(void);

#endif
