/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The parts of the clock suite; and a clock under a policy that lets time stand still, with the
 * readings that it is held against: clock_policies.c.
 */
#ifndef T_CLOCK_SUITE_H
#define T_CLOCK_SUITE_H

#include "daemon/clock.h"

#include <check.h>

#define T_CLOCK_SECOND INT64_C(1000000000)
#define T_CLOCK_HOUR (3600 * T_CLOCK_SECOND)

struct t_clock_policy {
	enum sfd_clock_policy policy;
	enum sf_shm_behind behind;
};
/** wait, refuse, ahead. */
#define T_CLOCK_POLICIES 3
extern const struct t_clock_policy t_clock_policies[T_CLOCK_POLICIES];

extern struct sfd_clock t_clock;
extern struct sfd_now t_clock_now;

void t_clock_start(enum sfd_clock_policy which);
/** The state right after a backward step, which the daemon has seen. @return what is shown */
int64_t t_clock_start_behind(int row, int64_t step);
/** Time passes on both clocks. */
void t_clock_pass(int64_t ns);
enum sfd_clock_event t_clock_update(void);
int64_t t_clock_shown(void);
enum sf_shm_behind t_clock_behind(void);
/** What is left until time goes on. */
int64_t t_clock_remaining(void);

void t_add_clock_page(Suite *suite);
void t_add_clock_policies(Suite *suite);
void t_add_clock_borrow(Suite *suite);
void t_add_clock_drift(Suite *suite);

#endif
