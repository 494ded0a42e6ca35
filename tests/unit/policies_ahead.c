/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * clock_backward = ahead: how far callers borrow, what the daemon publishes for them and shows as
 * time, and what holds when the floor, which clients write, is not to be believed.
 */
#include "tests/unit/policies_suite.h"

#include "shm/beat.h"

#include <errno.h>

#define SMALL "t41 n18 s4 epoch=1577836800000"
#define SMALL_CAPACITY 16u
#define RUNWAY 100u

static struct sf_wide last;

static void start(bool is_beating)
{
	last = (struct sf_wide){0, 0};
	t_stream_init(&(struct t_stream_setup){.layout = SMALL,
					       .policy = SFD_CLOCK_AHEAD,
					       .runway_ms = RUNWAY,
					       .is_beating = is_beating});
}

/* Where time stood when the wall stepped. */
static int64_t stepped_mono_ns;
static int64_t stepped_unix_ns;

static void go_back(int64_t ns)
{
	stepped_mono_ns = t_stream_mono();
	stepped_unix_ns = t_stream_shown();
	t_stream_step(-ns);
	(void)t_stream_turn();
}

static void take(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		t_stream_take(t_stream_cursor, &last);
}

static uint64_t beat(void)
{
	return atomic_load_explicit(&t_stream.ring.shm.grants->beat, memory_order_relaxed);
}

static void set_floor(uint64_t floor)
{
	atomic_store_explicit(&t_stream.ring.shm.claims->floor, floor, memory_order_relaxed);
}

/* The tick that would be now if the wall had not stepped. */
static uint64_t free_tick(void)
{
	return sf_shm_tick_at(&t_stream_config.layout,
			      stepped_unix_ns + t_stream_mono() - stepped_mono_ns);
}

/* Between two turns nobody can take more than what is published; and a turn publishes no more than
 * time would have brought, however much is wanted. */
START_TEST(next_while_behind_borrows_a_runway_and_then_as_time_passes)
{
	uint64_t tick;

	start(_i);
	take(1);
	go_back(T_HOUR);
	tick = t_stream_shown_tick();
	take((RUNWAY + 1) * SMALL_CAPACITY - 1);
	ck_assert_uint_eq(t_stream_tick_of(&last), tick + RUNWAY);
	t_stream_assert_refused(-EAGAIN);
	for (int i = 0; i < 10; i++) {
		(void)t_stream_turn();
		ck_assert_uint_eq(t_stream_shown_tick(), tick + RUNWAY);
		ck_assert_uint_eq(t_stream_horizon(), tick + RUNWAY);
		t_stream_assert_refused(-EAGAIN);
	}
	for (uint64_t ms = 10; ms <= 3000; ms += 10) {
		t_stream_pass(10 * T_MS);
		(void)t_stream_turn();
		ck_assert_uint_eq(t_stream_horizon(), tick + ms + RUNWAY);
		take(10 * SMALL_CAPACITY);
		ck_assert_uint_eq(t_stream_tick_of(&last), tick + ms + RUNWAY);
		t_stream_assert_refused(-EAGAIN);
	}
	t_stream_deinit();
}
END_TEST

/* Forward for as long as anyone takes IDs, and a runway beyond that, and not a tick more. */
START_TEST(turn_while_behind_follows_what_was_borrowed)
{
	uint64_t tick = 0;

	start(_i);
	take(1);
	go_back(T_HOUR);
	for (int i = 0; i < 500; i++) {
		t_stream_pass(2 * T_MS);
		take(SMALL_CAPACITY); /* half as fast as time would have passed */
		tick = t_stream_tick_of(&last);
		(void)t_stream_turn();
		ck_assert_uint_lt(tick, free_tick());
		ck_assert_uint_eq(t_stream_shown_tick(), tick);
		ck_assert_uint_eq(t_stream_horizon(), tick + RUNWAY);
		ck_assert_uint_eq(t_stream_stat(SF_COUNTER_wall_offset_us),
				  (uint64_t)(t_stream_shown() - t_stream_wall()) / 1000);
		if (_i)
			ck_assert_uint_eq(beat(), sf_shm_beat_make(T_OWNER, tick));
	}
	/* nobody takes any: time stands still */
	for (int i = 0; i < 100; i++) {
		t_stream_pass(125 * T_MS);
		(void)t_stream_turn();
		ck_assert_uint_eq(t_stream_shown_tick(), tick);
		ck_assert_uint_eq(t_stream_horizon(), tick + RUNWAY);
	}
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_clock_steps_back), 1);
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_clock_steps_forward), 0);
	t_stream_deinit();
}
END_TEST

/* What was borrowed takes as much longer to be caught up with, and then time is the wall's. */
START_TEST(time_that_was_borrowed_ends_when_the_wall_is_there)
{
	int64_t end;

	start(_i);
	take(1);
	go_back(10 * T_SECOND);
	take(50 * SMALL_CAPACITY);
	(void)t_stream_turn();
	end = t_stream_mono() + t_stream_shown() - t_stream_wall();
	ck_assert_int_eq(end - t_stream_mono(), 10 * T_SECOND + 50 * T_MS);
	t_stream_run(end - t_stream_mono() - 1);
	take(SMALL_CAPACITY); /* one tick more, at the very end */
	(void)t_stream_turn();
	end += T_MS;
	t_stream_run(end - t_stream_mono());
	/* that last look came within what the clocks may differ by, and time went on from there */
	ck_assert_int_le(t_stream_shown() - t_stream_wall(), 1);
	/* the limit is back: none ahead of the clock */
	while (t_stream_next(t_stream_cursor, &last) == 0)
		ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_wall_tick());
	t_stream_run(100 * T_MS);
	ck_assert_int_le(t_stream_shown() - t_stream_wall(), 1);
	take(SMALL_CAPACITY);
	ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_wall_tick());
	t_stream_deinit();
}
END_TEST

/* The ahead limit holds before the step, and again after it. */
START_TEST(ahead_limit_is_lifted_only_while_behind)
{
	start(_i);
	take(SMALL_CAPACITY);
	t_stream_assert_refused(-EAGAIN);
	go_back(T_SECOND);
	take(5 * SMALL_CAPACITY);
	t_stream_step(T_HOUR);
	(void)t_stream_turn(); /* asks for a mark as far ahead */
	(void)t_stream_turn();
	take(SMALL_CAPACITY);
	ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_wall_tick());
	t_stream_assert_refused(-EAGAIN);
	t_stream_deinit();
}
END_TEST

/* Without the daemon, which looks later. */
START_TEST(ahead_limit_is_back_at_the_exact_moment)
{
	start(_i);
	take(SMALL_CAPACITY);
	go_back(T_SECOND);
	t_stream_pass(T_SECOND - 1);
	take(SMALL_CAPACITY); /* the next tick's */
	t_stream_pass(1);
	t_stream_assert_refused(-EAGAIN);
	t_stream_pass(T_MS);
	t_stream_assert_refused(-EAGAIN);
	t_stream_pass(T_MS);
	take(SMALL_CAPACITY);
	ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_wall_tick());
	t_stream_deinit();
}
END_TEST

/* Demand shows in ticks that are borrowed as in others: the daemon begins to beat. */
START_TEST(daemon_beats_when_much_is_borrowed)
{
	start(false);
	take(1);
	go_back(T_HOUR);
	for (int i = 0; i < 200 && t_stream_stat(SF_COUNTER_beating) == 0; i++) {
		take(2 * SMALL_CAPACITY);
		t_stream_pass(T_MS);
		(void)t_stream_turn();
	}
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_beating), 1);
	/* and looks again within a tick, though its own time stands still */
	ck_assert_int_le(t_stream_turn() - t_stream_mono(), T_MS);
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_beats_late), 0);
	t_stream_deinit();
}
END_TEST

/* ---- the mark ---- */

START_TEST(borrowed_ticks_never_pass_the_mark)
{
	uint64_t mark;

	start(_i);
	t_stream_raises = false;
	mark = atomic_load_explicit(&t_stream.mark_tick, memory_order_relaxed);
	take(1);
	go_back(T_HOUR);
	for (int i = 0; i < 1000; i++) {
		while (t_stream_next(t_stream_cursor, &last) == 0)
			ck_assert_uint_le(t_stream_tick_of(&last), mark);
		t_stream_pass(50 * T_MS);
		(void)t_stream_turn();
		ck_assert_uint_le(t_stream_horizon(), mark);
	}
	ck_assert_uint_eq(t_stream_tick_of(&last), mark);
	ck_assert_uint_ne(t_stream_news & SFD_TURN_MARK, 0);
	t_stream_raises = true;
	(void)t_stream_turn();
	(void)t_stream_turn();
	take(SMALL_CAPACITY);
	ck_assert_uint_eq(t_stream_tick_of(&last), mark + 1);
	t_stream_deinit();
}
END_TEST

/* What must be added to a mark whose successor rotted is bounded, see daemon/mark.h. */
START_TEST(mark_is_never_raised_further_than_its_lead)
{
	const uint64_t lead = SFD_MARK_LEAD_MS;

	start(_i % 2);
	if (_i / 2) {
		t_stream_deinit();
		t_stream_init(&(struct t_stream_setup){.layout = "t41 n16 s6",
						       .policy = SFD_CLOCK_AHEAD,
						       .runway_ms = 60000,
						       .is_beating = _i % 2});
		last = (struct sf_wide){0, 0};
	}
	take(1);
	go_back(T_HOUR);
	for (int i = 0; i < 300; i++) {
		uint64_t before = atomic_load_explicit(&t_stream.mark_tick, memory_order_relaxed);
		uint64_t horizon;

		set_floor(UINT64_MAX); /* as fast as it can get */
		t_stream_pass(125 * T_MS);
		(void)t_stream_turn();
		horizon = t_stream_horizon();
		ck_assert_uint_le(horizon, before);
		ck_assert_uint_le(before, horizon + lead);
		ck_assert_uint_le(atomic_load_explicit(&t_stream.mark_tick, memory_order_relaxed),
				  before + lead);
	}
	t_stream_deinit();
}
END_TEST

/* ---- a floor that lies ---- */

START_TEST(floor_that_lies_moves_time_by_a_runway_at_most)
{
	uint64_t random = t_seed();

	start(_i % 2);
	take(1);
	go_back(T_HOUR);
	for (int i = 0; i < 1000; i++) {
		uint64_t horizon = t_stream_horizon();
		uint64_t tick = t_stream_shown_tick();
		uint64_t floor = t_random(&random) >> t_random(&random) % 64;

		set_floor(_i / 2 ? floor : UINT64_MAX);
		t_stream_pass((int64_t)(t_random(&random) % 3) * T_MS);
		(void)t_stream_turn();
		ck_assert_uint_ge(t_stream_horizon(), horizon);
		ck_assert_uint_le(t_stream_horizon(), free_tick() + RUNWAY);
		ck_assert_uint_ge(t_stream_shown_tick(), tick);
		ck_assert_uint_le(t_stream_shown_tick(), horizon);
		ck_assert_uint_le(t_stream_horizon(),
				  atomic_load_explicit(&t_stream.mark_tick, memory_order_relaxed));
	}
	/* whoever comes now takes from what is published, and nothing came twice */
	t_stream_pass(10 * T_MS);
	(void)t_stream_turn();
	take(SMALL_CAPACITY);
	t_stream_deinit();
}
END_TEST

/* A floor that lies has no say under the other policies, nor while nothing is behind. */
START_TEST(floor_that_lies_moves_nothing_otherwise)
{
	const bool is_behind = _i / T_POLICIES;
	uint64_t horizon;

	if (is_behind && T_POLICY_OF(_i) == SFD_CLOCK_AHEAD)
		return; /* see above */
	t_stream_init(&(struct t_stream_setup){.policy = T_POLICY_OF(_i)});
	if (is_behind)
		go_back(T_HOUR);
	horizon = t_stream_horizon();
	for (int i = 0; i < 10; i++) {
		set_floor(UINT64_MAX);
		(void)t_stream_turn();
		ck_assert_uint_eq(t_stream_horizon(), horizon);
	}
	t_stream_deinit();
}
END_TEST

/* ---- the end of the layout ---- */

/* 20 bits of seconds: the last is near, and what is borrowed must not pass it. */
START_TEST(fc24_borrowing_ends_with_the_layout)
{
	const uint64_t last_tick = (UINT64_C(1) << 20) - 1;

	t_stream_init(&(struct t_stream_setup){.layout = "t20 n3 s4 tick=1s epoch=1766180000000",
					       .policy = SFD_CLOCK_AHEAD,
					       .is_beating = _i});
	last = (struct sf_wide){0, 0};
	ck_assert_uint_gt(t_stream_shown_tick(), last_tick - 10000);
	take(1);
	go_back(T_HOUR);
	while (t_stream_tick_of(&last) < last_tick - 1) {
		t_stream_pass(T_SECOND);
		(void)t_stream_turn();
		take(SMALL_CAPACITY);
	}
	take(SMALL_CAPACITY);
	while (t_stream_next(t_stream_cursor, &last) == 0)
		ck_assert_uint_eq(t_stream_tick_of(&last), last_tick);
	for (int i = 0; i < 10; i++) {
		t_stream_assert_refused(-EOVERFLOW);
		(void)t_stream_turn();
	}
	t_stream_deinit();
}
END_TEST

void t_add_policies_ahead(Suite *suite)
{
	TCase *ahead = tcase_create("ahead");

	tcase_set_timeout(ahead, 60);
	tcase_add_loop_test(ahead, next_while_behind_borrows_a_runway_and_then_as_time_passes, 0,
			    2);
	tcase_add_loop_test(ahead, turn_while_behind_follows_what_was_borrowed, 0, 2);
	tcase_add_loop_test(ahead, time_that_was_borrowed_ends_when_the_wall_is_there, 0, 2);
	tcase_add_loop_test(ahead, ahead_limit_is_lifted_only_while_behind, 0, 2);
	tcase_add_loop_test(ahead, ahead_limit_is_back_at_the_exact_moment, 0, 2);
	tcase_add_test(ahead, daemon_beats_when_much_is_borrowed);
	tcase_add_loop_test(ahead, borrowed_ticks_never_pass_the_mark, 0, 2);
	tcase_add_loop_test(ahead, mark_is_never_raised_further_than_its_lead, 0, 4);
	tcase_add_loop_test(ahead, floor_that_lies_moves_time_by_a_runway_at_most, 0, 4);
	tcase_add_loop_test(ahead, floor_that_lies_moves_nothing_otherwise, 0, 2 * T_POLICIES);
	tcase_add_loop_test(ahead, fc24_borrowing_ends_with_the_layout, 0, 2);
	suite_add_tcase(suite, ahead);
}
