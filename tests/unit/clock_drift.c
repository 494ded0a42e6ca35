/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/clock.c: clocks that run at different rates, stand still, or are wrong by more than a
 * lifetime; under every policy.
 */
#include "tests/support/ring_fixture.h"
#include "tests/unit/clock_suite.h"

#include <stdlib.h>

#define SECOND T_CLOCK_SECOND
#define HOUR T_CLOCK_HOUR
#define DAY (24 * HOUR)
#define YEAR (365 * DAY)
/* What embedded time may be away from a wall that is smeared, as clock.h has it. */
#define BOUND 300000
#define ALL_POLICIES ((int)SFD_CLOCK_AHEAD + 1)

static void start_at(enum sfd_clock_policy policy, int64_t wall_ns,
		     const struct sfd_clock_start *start)
{
	t_clock_now = (struct sfd_now){.mono_ns = 1000 * SECOND, .wall_ns = wall_ns};
	sfd_clock_init(&t_clock, policy, t_clock_now, start);
}

/* A beat and an idle stream; a stream wakes for the end of a lead, as next_turn() has it. */
static const int64_t naps[] = {T_MS, 125 * T_MS};

/* A leap second is smeared over hours: no step, whatever the policy, and nobody is held up. */
START_TEST(fc17_smeared_second_is_no_step)
{
	const enum sfd_clock_policy policy = (enum sfd_clock_policy)(_i % ALL_POLICIES);
	const int64_t nap = naps[_i / ALL_POLICIES % 2];
	const int64_t ppm = _i / ALL_POLICIES / 2 ? 500 : -500;
	int64_t moved = 0;
	int64_t last;

	t_clock_start(policy);
	last = t_clock_shown();
	while (llabs(moved) < SECOND) {
		int64_t left = sfd_clock_remaining_ns(&t_clock);
		int64_t passed = t_clock.lead_ns > 0 && left < nap ? left : nap;
		enum sfd_clock_event event;

		t_clock_pass(passed);
		t_clock_now.wall_ns += passed * ppm / 1000000;
		moved += passed * ppm / 1000000;
		T_EXPECT(llabs(t_clock_shown() - t_clock_now.wall_ns) <= BOUND, "%lld ns away",
			 (long long)(t_clock_shown() - t_clock_now.wall_ns));
		event = t_clock_update();
		T_EXPECT(event == SFD_CLOCK_STEADY || event == SFD_CLOCK_FOLLOWED, "event %d",
			 event);
		T_EXPECT(t_clock_behind() == SF_SHM_BEHIND_NOTHING, "a policy is in force");
		T_EXPECT(!sfd_clock_is_behind(&t_clock), "behind");
		T_EXPECT(t_clock_shown() >= last, "shows less");
		last = t_clock_shown();
	}
}
END_TEST

/* The same while an hour is being caught up: what is left follows the wall. */
START_TEST(fc17_smeared_second_while_behind_is_no_step)
{
	const int64_t ppm = _i / T_CLOCK_POLICIES ? 500 : -500;

	(void)t_clock_start_behind(_i % T_CLOCK_POLICIES, HOUR);
	for (int64_t passed = 0; passed < HOUR / 2; passed += 125 * T_MS) {
		enum sfd_clock_event event;

		t_clock_pass(125 * T_MS);
		t_clock_now.wall_ns += 125 * T_MS * ppm / 1000000;
		event = t_clock_update();
		T_EXPECT(event == SFD_CLOCK_STEADY || event == SFD_CLOCK_FOLLOWED, "event %d",
			 event);
		T_EXPECT(llabs(t_clock_remaining() - (t_clock_shown() - t_clock_now.wall_ns)) <=
				 BOUND,
			 "ends at the wrong moment");
	}
	ck_assert_int_eq(t_clock_behind(), t_clock_policies[_i % T_CLOCK_POLICIES].behind);
}
END_TEST

/* A second that comes twice is a step, and so is one in the middle of a drift. */
START_TEST(fc17_second_that_comes_twice_is_a_step)
{
	t_clock_start((enum sfd_clock_policy)_i);
	for (int i = 0; i < 80; i++) {
		t_clock_pass(125 * T_MS);
		t_clock_now.wall_ns -= 125 * T_MS / 2000;
		(void)t_clock_update();
	}
	t_clock_pass(T_MS);
	t_clock_now.wall_ns -= SECOND;
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_BACK);
	ck_assert_int_eq(t_clock.in_force, _i);
	ck_assert(sfd_clock_is_behind(&t_clock));
	ck_assert_int_ge(sfd_clock_remaining_ns(&t_clock), SECOND - T_MS);
}
END_TEST

/* The host sleeps: its monotonic clock stands still. Or sfd alone is stopped: both go on. */
START_TEST(fc15_suspended_host_or_process_wakes_up_at_the_wall)
{
	t_clock_start((enum sfd_clock_policy)_i);
	t_clock_pass(SECOND);
	t_clock_now.wall_ns += 2 * HOUR;
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_FORWARD);
	ck_assert_int_eq(t_clock_shown(), t_clock_now.wall_ns);
	t_clock_pass(2 * HOUR);
	ck_assert_int_eq(t_clock_shown(), t_clock_now.wall_ns);
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_STEADY);
	/* stopped while the wall is behind: the end was not missed */
	t_clock_now.wall_ns -= 60 * SECOND;
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_BACK);
	t_clock_pass(2 * HOUR);
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_CAUGHT_UP);
	ck_assert_int_eq(t_clock_shown(), t_clock_now.wall_ns);
}
END_TEST

/* ---- a clock that is wrong by years at start ---- */

/* A host without a battery: the clock says 1970, and is set right while the mark is still ahead. */
START_TEST(fc18_clock_set_right_below_the_mark_holds_nobody_up)
{
	const int64_t stored = 56 * YEAR;
	const int64_t mark = stored + 20 * SECOND;
	const bool holds_up = _i == SFD_CLOCK_WAIT || _i == SFD_CLOCK_REFUSE;

	start_at((enum sfd_clock_policy)_i, 60 * SECOND,
		 &(struct sfd_clock_start){
			 .not_before_ns = mark, .went_back = true, .stored_unix_ns = stored});
	ck_assert_int_eq(t_clock_shown(), mark);
	ck_assert_int_eq(sfd_clock_remaining_ns(&t_clock),
			 (mark - 60 * SECOND) * (_i == SFD_CLOCK_SLEW ? 2 : 1));
	t_clock_pass(SECOND);
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_STEADY);
	/* not yet right */
	t_clock_now.wall_ns = stored - SECOND;
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_FORWARD);
	ck_assert(sfd_clock_is_behind(&t_clock));
	if (holds_up)
		ck_assert_int_ne(t_clock_behind(), SF_SHM_BEHIND_NOTHING);
	/* it is, and the mark's lead is left */
	t_clock_pass(2 * SECOND);
	t_clock_now.wall_ns += SECOND;
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_FORWARD);
	if (_i != SFD_CLOCK_AHEAD)
		ck_assert_int_eq(t_clock_behind(), SF_SHM_BEHIND_NOTHING);
	ck_assert(sfd_clock_is_behind(&t_clock));
	ck_assert_int_ge(t_clock_shown(), mark);
	if (holds_up)
		ck_assert_int_eq(t_clock.in_force, SFD_CLOCK_SLEW);
	t_clock_pass(sfd_clock_remaining_ns(&t_clock));
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_CAUGHT_UP);
	ck_assert_int_eq(t_clock.in_force, _i);
}
END_TEST

/* A step back from there was shown: the policy holds to the end. */
START_TEST(fc18_step_back_below_the_mark_is_held_to_its_end)
{
	const int64_t stored = 56 * YEAR;

	start_at(t_clock_policies[_i].policy, stored - DAY,
		 &(struct sfd_clock_start){.not_before_ns = stored + 20 * SECOND,
					   .went_back = true,
					   .stored_unix_ns = stored});
	t_clock_now.wall_ns = stored + SECOND;
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_FORWARD);
	t_clock_now.wall_ns = stored - DAY;
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_BACK);
	t_clock_pass(DAY + SECOND);
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_STEADY);
	ck_assert_int_eq(t_clock_behind(), t_clock_policies[_i].behind);
}
END_TEST

/* A mark near the end of what 64 bits of nanoseconds hold: no sum overflows, and time never falls.
 */
START_TEST(fc18_mark_centuries_ahead_overflows_nothing)
{
	const int64_t mark = INT64_MAX - 10 * YEAR;

	start_at((enum sfd_clock_policy)_i, SECOND,
		 &(struct sfd_clock_start){.not_before_ns = mark, .went_back = true});
	ck_assert_int_eq(t_clock_shown(), mark);
	ck_assert_int_ge(sfd_clock_remaining_ns(&t_clock), 280 * YEAR);
	for (int i = 0; i < 10; i++) {
		t_clock_pass(T_MS);
		t_clock_now.wall_ns += i == 5 ? 56 * YEAR : 0;
		(void)t_clock_update();
		ck_assert_int_ge(t_clock_shown(), mark);
	}
}
END_TEST

void t_add_clock_drift(Suite *suite)
{
	TCase *drift = tcase_create("drift");

	tcase_set_timeout(drift, 60);
	tcase_add_loop_test(drift, fc17_smeared_second_is_no_step, 0, 4 * ALL_POLICIES);
	tcase_add_loop_test(drift, fc17_smeared_second_while_behind_is_no_step, 0,
			    2 * T_CLOCK_POLICIES);
	tcase_add_loop_test(drift, fc17_second_that_comes_twice_is_a_step, 0, ALL_POLICIES);
	tcase_add_loop_test(drift, fc15_suspended_host_or_process_wakes_up_at_the_wall, 0,
			    ALL_POLICIES);
	tcase_add_loop_test(drift, fc18_clock_set_right_below_the_mark_holds_nobody_up, 0,
			    ALL_POLICIES);
	tcase_add_loop_test(drift, fc18_step_back_below_the_mark_is_held_to_its_end, 0, 2);
	tcase_add_loop_test(drift, fc18_mark_centuries_ahead_overflows_nothing, 0, ALL_POLICIES);
	suite_add_tcase(suite, drift);
}
