/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The parts of the ring suite.
 */
#ifndef T_RING_SUITE_H
#define T_RING_SUITE_H

#include <check.h>

void t_add_ring_windows(Suite *suite);
void t_add_ring_stress(Suite *suite);

#endif
