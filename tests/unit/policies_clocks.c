/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Wrong clocks: before the layout's epoch, past its end, hours and decades beside the state; leap
 * seconds, and a process or host that sleeps. Under every policy.
 */
#include "tests/unit/policies_suite.h"

#include <errno.h>
#include <stdlib.h>

#define DAY (24 * T_HOUR)
/* Of the layout below, which ends 35 years later. */
#define EPOCH_NS INT64_C(1577836800000000000)
#define LAYOUT "t40 n5 s18 epoch=1577836800000"

static struct sf_wide last;

static void begin(const char *layout, enum sfd_clock_policy policy, int64_t wall_ns)
{
	last = (struct sf_wide){0, 0};
	t_stream_init(
		&(struct t_stream_setup){.layout = layout, .policy = policy, .wall_ns = wall_ns});
}

static void take(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		t_stream_take(t_stream_cursor, &last);
}

static uint32_t state(void)
{
	return atomic_load_explicit(&t_stream.ring.shm.grants->state, memory_order_relaxed);
}

static bool holds_up(enum sfd_clock_policy policy)
{
	return policy == SFD_CLOCK_WAIT || policy == SFD_CLOCK_REFUSE;
}

/** Starts anew on what a crash and a boot left, with the wall so far from where it was. */
static void reboot(int64_t step_ns, enum sfd_clock_policy policy)
{
	t_stream_kill();
	t_stream_reboot();
	t_stream_step(step_ns);
	t_stream_start(policy);
	t_stream_reopen_client();
}

/* ---- FC-13 ---- */

/* Two hundred daemons, each killed at any moment; the clock goes back a second each time, and every
 * other time the host boots. What they gave only rises. */
START_TEST(fc13_kill_and_step_back_two_hundred_times_repeats_no_id)
{
	uint64_t random = t_seed();

	begin(T_LAYOUT_OF(_i), T_POLICY_OF(_i), 0);
	for (int round = 0; round < 200; round++) {
		take(1 + (unsigned)(t_random(&random) % 500));
		t_stream_pass((int64_t)(t_random(&random) % (uint64_t)T_SECOND));
		if (t_random(&random) % 2)
			(void)t_stream_turn();
		t_stream_kill();
		if (round % 2)
			t_stream_reboot();
		t_stream_step(-T_SECOND);
		t_stream_start(T_POLICY_OF(_i));
		t_stream_reopen_client();
		/* the ring before ends, and who must not give IDs may again */
		t_stream_pass(2 * (t_stream_shown() - t_stream_wall()));
		t_stream_run(INT64_C(4) * T_MS * t_stream_config.runway_ms);
	}
	take(1000);
	t_stream_deinit();
}
END_TEST

/* ---- FC-18 ---- */

/* 1970, and an hour before the epoch: nothing is given, and IDs begin with the step. */
static const int64_t before_epoch[] = {T_SECOND, EPOCH_NS - T_HOUR};

START_TEST(fc18_start_before_the_epoch_waits_for_the_clock)
{
	const int64_t wall = before_epoch[_i / T_POLICIES];

	begin(LAYOUT, T_POLICY_OF(_i), wall);
	for (int i = 0; i < 100; i++) {
		ck_assert_uint_eq(state(), SF_SHM_WAITING);
		ck_assert_uint_eq(t_stream_horizon(), 0);
		t_stream_assert_refused(-EAGAIN);
		t_stream_run(T_SECOND);
	}
	t_stream_step(EPOCH_NS + 200 * DAY - wall);
	t_stream_run(T_SECOND); /* idle: with turns as it wants them */
	ck_assert_uint_eq(state(), SF_SHM_RUNNING);
	take(1000);
	ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_wall_tick());
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_clock_steps_forward), 1);
	t_stream_deinit();
}
END_TEST

/* The clock comes to the epoch by itself; and goes back below it. */
START_TEST(fc18_clock_that_passes_the_epoch_begins)
{
	begin(LAYOUT, T_POLICY_OF(_i), EPOCH_NS - 5 * T_SECOND);
	t_stream_run(4 * T_SECOND);
	ck_assert_uint_eq(state(), SF_SHM_WAITING);
	t_stream_run(2 * T_SECOND);
	ck_assert_uint_eq(state(), SF_SHM_RUNNING);
	take(1000);
	reboot(-DAY, T_POLICY_OF(_i));
	/* above the mark, by policy */
	ck_assert_uint_eq(state(), holds_up(T_POLICY_OF(_i)) ? SF_SHM_BEHIND : SF_SHM_RUNNING);
	if (!holds_up(T_POLICY_OF(_i)))
		take(1000);
	t_stream_step(2 * DAY);
	t_stream_run(T_SECOND);
	take(1000);
	ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_wall_tick());
	t_stream_deinit();
}
END_TEST

/* A fortnight and half a century behind the mark: by policy, above the mark, and told. */
static const int64_t behind[] = {14 * DAY, INT64_C(50) * 365 * DAY};

START_TEST(fc18_start_long_before_the_mark_goes_by_policy)
{
	const enum sfd_clock_policy policy = T_POLICY_OF(_i);
	const int64_t step = behind[_i / T_POLICIES];
	uint64_t mark;
	int64_t lead;

	begin("ulid", policy, 0);
	take(1000);
	mark = atomic_load_explicit(&t_stream.mark_tick, memory_order_relaxed);
	reboot(-step, policy);
	lead = t_stream_shown() - t_stream_wall();
	ck_assert_int_ge(lead, step);
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_clock_behind), (uint64_t)policy + 1);
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_clock_behind_ms),
			  (uint64_t)(lead * (policy == SFD_CLOCK_SLEW ? 2 : 1) / T_MS));
	if (policy == SFD_CLOCK_WAIT)
		t_stream_assert_refused(-EAGAIN);
	else if (policy == SFD_CLOCK_REFUSE)
		t_stream_assert_refused(-ETIME);
	else
		take(1000);
	if (!holds_up(policy))
		ck_assert_uint_gt(t_stream_tick_of(&last), mark);
	/* set right, to the end of what was promised: at once */
	t_stream_step(step + 60 * T_SECOND);
	t_stream_run(T_SECOND);
	take(1000);
	ck_assert_uint_gt(t_stream_tick_of(&last), mark);
	ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_wall_tick());
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_clock_behind), 0);
	t_stream_deinit();
}
END_TEST

/* A clock that is past the layout's end by mistake: no ID, and nothing is lost when it is right. */
START_TEST(fc18_clock_past_the_end_by_mistake_costs_nothing)
{
	const int64_t decades = INT64_C(40) * 365 * DAY;
	uint64_t mark;

	begin(LAYOUT, T_POLICY_OF(_i), 0);
	take(1000);
	mark = atomic_load_explicit(&t_stream.mark_tick, memory_order_relaxed);
	t_stream_step(decades);
	t_stream_run(T_SECOND);
	ck_assert_uint_eq(state(), SF_SHM_EXHAUSTED);
	t_stream_assert_refused(-EOVERFLOW);
	t_stream_run(60 * T_SECOND);
	ck_assert_uint_eq(atomic_load_explicit(&t_stream.mark_tick, memory_order_relaxed), mark);
	t_stream_step(-decades);
	t_stream_kill();
	t_stream_start(T_POLICY_OF(_i));
	t_stream_reopen_client();
	t_stream_run(T_SECOND);
	ck_assert_uint_eq(state(), SF_SHM_RUNNING);
	take(1000);
	ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_wall_tick());
	t_stream_deinit();
}
END_TEST

/* ---- FC-15 ---- */

/** Ten IDs, one a second; each shows embedded time. */
static void draw_ten(void)
{
	for (int i = 0; i < 10; i++) {
		take(1);
		ck_assert_uint_le(t_stream_tick_of(&last), t_stream_shown_tick());
		t_stream_run(T_SECOND);
	}
}

START_TEST(fc15_state_of_two_hours_ago_leaves_no_offset)
{
	begin(T_LAYOUT_OF(_i), T_POLICY_OF(_i), 0);
	take(10);
	reboot(2 * T_HOUR, T_POLICY_OF(_i));
	take(1);
	ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_wall_tick());
	draw_ten();
	ck_assert_uint_ge(t_stream_tick_of(&last) + 1000, t_stream_wall_tick());
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_wall_offset_us), 0);
	/* two hours of standing still */
	t_stream_pass(2 * T_HOUR);
	t_stream_run(T_SECOND);
	take(1);
	ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_wall_tick());
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_clock_steps_forward), 0);
	t_stream_deinit();
}
END_TEST

START_TEST(fc15_state_two_hours_in_the_future_is_worked_off)
{
	const enum sfd_clock_policy policy = T_POLICY_OF(_i);
	int64_t lead;

	begin(T_LAYOUT_OF(_i), policy, 0);
	take(10);
	reboot(-2 * T_HOUR, policy);
	lead = t_stream_shown() - t_stream_wall();
	ck_assert_int_ge(lead, 2 * T_HOUR);
	if (!holds_up(policy))
		draw_ten();
	else
		t_stream_run(10 * T_SECOND);
	lead -= t_stream_shown() - t_stream_wall();
	/* slewed: by half of what has passed; else time stands still, but for borrowed ticks */
	if (policy == SFD_CLOCK_SLEW)
		ck_assert_int_eq(lead, 5 * T_SECOND);
	else
		ck_assert_int_eq(lead, 10 * T_SECOND);
	t_stream_pass(4 * T_HOUR + 60 * T_SECOND);
	t_stream_run(T_SECOND);
	take(10);
	ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_wall_tick());
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_wall_offset_us), 0);
	t_stream_deinit();
}
END_TEST

/* ---- FC-17 ---- */

/* 23:59:59.000 to .999 twice, then 00:00:00.000, at 4,000 IDs a millisecond. */
START_TEST(fc17_second_that_comes_twice_gives_distinct_ids)
{
	const enum sfd_clock_policy policy = T_POLICY_OF(_i);
	unsigned refused = 0;

	begin("snowflakex", policy, 0);
	for (int ms = 0; ms < 4000; ms++) {
		if (ms == 1000)
			t_stream_step(-T_SECOND);
		(void)t_stream_turn();
		if (ms >= 1000 && ms < 2000 && holds_up(policy)) {
			t_stream_assert_refused(policy == SFD_CLOCK_WAIT ? -EAGAIN : -ETIME);
			refused++;
		} else {
			/* half speed has room for half as many */
			take(policy == SFD_CLOCK_SLEW && ms % 2 ? 1 : ms % 50 ? 40 : 2000);
		}
		t_stream_pass(T_MS);
	}
	ck_assert_uint_eq(refused, holds_up(policy) ? 1000 : 0);
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_clock_steps_back), 1);
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_wall_offset_us), 0);
	t_stream_deinit();
}
END_TEST

/* A smeared one, over 2,000 seconds: nobody waits, nothing is counted, the beat goes on. */
START_TEST(fc17_smeared_second_holds_nobody_up)
{
	const int64_t ppm = _i / T_POLICIES ? 500 : -500;

	begin("snowflakex", T_POLICY_OF(_i), 0);
	for (int64_t passed = 0; passed < 2000 * T_SECOND;) {
		int64_t nap = t_stream_turn() - t_stream_mono();
		int64_t moved = nap * ppm / 1000000;

		T_EXPECT(nap > 0, "the daemon does not sleep");
		t_stream_pass(nap);
		t_stream_step(moved);
		passed += nap;
		T_EXPECT(state() == SF_SHM_RUNNING, "state %u", state());
		T_EXPECT(llabs(t_stream_shown() - t_stream_wall()) < 300000, "%lld ns away",
			 (long long)(t_stream_shown() - t_stream_wall()));
		take(1);
	}
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_clock_steps_back), 0);
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_clock_steps_forward), 0);
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_clock_behind), 0);
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_clock_behind_ms), 0);
	t_stream_deinit();
}
END_TEST

void t_add_policies_clocks(Suite *suite)
{
	TCase *clocks = tcase_create("clocks");

	tcase_set_timeout(clocks, 60);
	tcase_add_loop_test(clocks, fc13_kill_and_step_back_two_hundred_times_repeats_no_id, 0,
			    T_POLICIES);
	tcase_add_loop_test(clocks, fc18_start_before_the_epoch_waits_for_the_clock, 0,
			    2 * T_POLICIES);
	tcase_add_loop_test(clocks, fc18_clock_that_passes_the_epoch_begins, 0, T_POLICIES);
	tcase_add_loop_test(clocks, fc18_start_long_before_the_mark_goes_by_policy, 0,
			    2 * T_POLICIES);
	tcase_add_loop_test(clocks, fc18_clock_past_the_end_by_mistake_costs_nothing, 0,
			    T_POLICIES);
	tcase_add_loop_test(clocks, fc15_state_of_two_hours_ago_leaves_no_offset, 0, T_POLICY_ROWS);
	tcase_add_loop_test(clocks, fc15_state_two_hours_in_the_future_is_worked_off, 0,
			    T_POLICY_ROWS);
	tcase_add_loop_test(clocks, fc17_second_that_comes_twice_gives_distinct_ids, 0, T_POLICIES);
	tcase_add_loop_test(clocks, fc17_smeared_second_holds_nobody_up, 0, 2 * T_POLICIES);
	suite_add_tcase(suite, clocks);
}
