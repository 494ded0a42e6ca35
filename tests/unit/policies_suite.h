/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The parts of the policies suite.
 */
#ifndef T_POLICIES_SUITE_H
#define T_POLICIES_SUITE_H

#include "tests/support/stream_fixture.h"

/** One layout of each way to pack an ID. */
extern const char *const t_policy_layouts[];
#define T_POLICY_LAYOUTS 5
/** All policies. */
#define T_POLICIES ((int)SFD_CLOCK_AHEAD + 1)
/** Rows of a test of every layout under every policy: which is row `_i`? */
#define T_POLICY_ROWS (T_POLICIES * T_POLICY_LAYOUTS)
#define T_POLICY_OF(row) ((enum sfd_clock_policy)((row) % T_POLICIES))
#define T_LAYOUT_OF(row) (t_policy_layouts[(row) / T_POLICIES])

void t_add_policies_restart(Suite *suite);
void t_add_policies_wait(Suite *suite);
void t_add_policies_ahead(Suite *suite);
void t_add_policies_clocks(Suite *suite);
void t_add_policies_handover(Suite *suite);

#endif
