/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The parts of the layout suite, and the helpers that they share.
 */
#ifndef T_LAYOUT_SUITE_H
#define T_LAYOUT_SUITE_H

#include "shm/sflayout.h"

#include <check.h>

#define T_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/** Fails the test when the text is refused. */
struct sf_layout t_layout_parse(const char *text);

/** Fails the test unless both layouts are equal, byte for byte. */
void t_layout_same(const struct sf_layout *a, const struct sf_layout *b);

void t_add_layout_notation(Suite *suite);
void t_add_layout_model(Suite *suite);

#endif
