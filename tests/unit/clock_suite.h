/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The parts of the clock suite.
 */
#ifndef T_CLOCK_SUITE_H
#define T_CLOCK_SUITE_H

#include <check.h>

void t_add_clock_page(Suite *suite);

#endif
