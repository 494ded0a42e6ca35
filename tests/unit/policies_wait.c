/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * clock_backward = wait and refuse: for how long, until when exactly, what the daemon shows
 * meanwhile, and that nobody uses up a range that was claimed before.
 */
#include "tests/unit/policies_suite.h"

#include "shm/beat.h"

#include <errno.h>

/* Both policies, with a daemon that idles and with one that beats. */
#define ROWS 4

static enum sfd_clock_policy policy_of(int row)
{
	return row % 2 ? SFD_CLOCK_REFUSE : SFD_CLOCK_WAIT;
}

static int answer_of(int row)
{
	return row % 2 ? -ETIME : -EAGAIN;
}

static struct sf_wide last;

static void start(int row, const char *layout)
{
	last = (struct sf_wide){0, 0};
	t_stream_init(&(struct t_stream_setup){
		.layout = layout, .policy = policy_of(row), .is_beating = row / 2});
}

static void step(int64_t ns)
{
	t_stream_step(ns);
	(void)t_stream_turn();
}

static uint32_t state(void)
{
	return atomic_load_explicit(&t_stream.ring.shm.grants->state, memory_order_relaxed);
}

static uint64_t beat(void)
{
	return atomic_load_explicit(&t_stream.ring.shm.grants->beat, memory_order_relaxed);
}

static uint64_t counter(const _Atomic uint64_t *of)
{
	return atomic_load_explicit(of, memory_order_relaxed);
}

/* ---- what the daemon shows ---- */

START_TEST(turn_while_behind_says_so_and_does_not_beat)
{
	start(_i, NULL);
	t_stream_take(t_stream_cursor, &last);
	ck_assert_uint_eq(state(), SF_SHM_RUNNING);
	step(-10 * T_SECOND);
	for (int i = 0; i < 79; i++) {
		ck_assert_uint_eq(state(), SF_SHM_BEHIND);
		ck_assert_uint_eq(beat(), sf_shm_beat_idle(T_OWNER));
		ck_assert_uint_eq(t_stream_stat(SF_COUNTER_wall_offset_us),
				  (uint64_t)(10000000 - i * 125000));
		t_stream_pass(125 * T_MS);
		(void)t_stream_turn();
	}
	t_stream_pass(125 * T_MS);
	(void)t_stream_turn();
	ck_assert_uint_eq(state(), SF_SHM_RUNNING);
	if (_i / 2)
		ck_assert_uint_eq(beat(), sf_shm_beat_make(T_OWNER, t_stream_wall_tick()));
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_clock_steps_back), 1);
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_clock_steps_forward), 0);
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_wall_offset_us), 0);
	t_stream_deinit();
}
END_TEST

/* Time that does not follow the clock is not late, wherever in a tick it stands. */
START_TEST(turn_while_behind_counts_no_late_beat)
{
	t_stream_init(
		&(struct t_stream_setup){.policy = (enum sfd_clock_policy)_i, .is_beating = true});
	last = (struct sf_wide){0, 0};
	t_stream_pass(T_MS / 2);
	step(-T_SECOND);
	while (t_stream_shown() > t_stream_wall()) {
		if (_i == SFD_CLOCK_AHEAD) /* three ticks a turn */
			for (int i = 0; i < 3 * 4096; i++)
				t_stream_take(t_stream_cursor, &last);
		t_stream_pass(_i == SFD_CLOCK_AHEAD ? 20 * T_MS : T_MS);
		(void)t_stream_turn();
	}
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_beats_late), 0);
	ck_assert_uint_lt(t_stream_stat(SF_COUNTER_beat_late_max_us), 500);
	t_stream_deinit();
}
END_TEST

/* Not later: whoever beats again late makes callers claim one by one meanwhile. */
START_TEST(turn_while_behind_asks_for_the_next_at_the_moment_it_ends)
{
	start(_i, NULL);
	step(-1000 * T_MS - T_MS / 2);
	for (int64_t next = t_stream_turn(); state() == SF_SHM_BEHIND; next = t_stream_turn()) {
		int64_t end = t_stream_mono() + t_stream_shown() - t_stream_wall();

		ck_assert_int_gt(next, t_stream_mono());
		ck_assert_int_le(next, end);
		ck_assert(next == end || next == t_stream_mono() + 125 * T_MS);
		t_stream_pass(next - t_stream_mono());
	}
	ck_assert_int_eq(t_stream_wall(), t_stream_shown());
	t_stream_deinit();
}
END_TEST

/* ---- nobody gets an ID ---- */

START_TEST(next_with_a_range_in_hand_stops_at_once)
{
	uint64_t left;
	uint64_t dropped;

	start(2 + _i % 2, _i / 2 ? "uuid7" : NULL);
	for (int i = 0; i < 10; i++)
		t_stream_take(t_stream_cursor, &last);
	left = _i / 2 ? t_stream_cursor->low_end - t_stream_cursor->low
		      : t_stream_cursor->end - t_stream_cursor->next;
	ck_assert_uint_gt(left, 0);
	dropped = counter(&t_stream.ring.shm.claims->dropped);
	step(-T_SECOND);
	t_stream_assert_refused(answer_of(_i));
	ck_assert_uint_eq(counter(&t_stream.ring.shm.claims->dropped), dropped + left);
	t_stream_pass(T_SECOND);
	t_stream_take(t_stream_cursor, &last);
	t_stream_deinit();
}
END_TEST

START_TEST(ordered_with_a_tick_in_mind_stops_at_once)
{
	struct sf_wide id = {0, 0};

	start(2 + _i % 2, _i / 2 ? "ulid" : NULL);
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(t_stream_ordered(t_stream_cursor, &id), 0);
	ck_assert_uint_eq(sfd_engine_claimed(&t_stream.engine), 10);
	step(-T_SECOND);
	for (int i = 0; i < 10; i++)
		t_stream_assert_refused(answer_of(_i));
	ck_assert_uint_eq(sfd_engine_claimed(&t_stream.engine), 10);
	t_stream_deinit();
}
END_TEST

START_TEST(each_refusal_counts_as_a_wait)
{
	start(_i, NULL);
	step(-T_SECOND);
	for (uint64_t i = 1; i <= 5; i++) {
		ck_assert_int_eq(sf_next(t_stream_cursor, &last.low), answer_of(_i));
		ck_assert_uint_eq(counter(&t_stream.ring.shm.claims->waits), i);
	}
	t_stream_deinit();
}
END_TEST

/* ---- until when ---- */

START_TEST(next_succeeds_at_the_exact_moment_without_the_daemon)
{
	start(_i % ROWS, t_policy_layouts[_i / ROWS]);
	for (int i = 0; i < 10; i++)
		t_stream_take(t_stream_cursor, &last);
	step(-10 * T_SECOND);
	t_stream_pass(10 * T_SECOND - 1);
	t_stream_assert_refused(answer_of(_i % ROWS));
	ck_assert_int_eq(sf_cursor_remaining_ms(t_stream_cursor), 1);
	t_stream_pass(1);
	t_stream_take(t_stream_cursor, &last);
	ck_assert_int_eq(sf_cursor_remaining_ms(t_stream_cursor), 0);
	ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_wall_tick());
	t_stream_deinit();
}
END_TEST

/* What the last call saw, not what is left by now. */
START_TEST(remaining_ms_are_rounded_up)
{
	static const struct {
		int64_t ns;
		int64_t ms;
	} table[] = {{T_HOUR, 3600000}, {3 * T_MS, 3}, {3 * T_MS - 1, 3},
		     {2 * T_MS + 1, 3}, {2 * T_MS, 2}, {T_MS + 1, 2},
		     {T_MS, 1},         {T_MS - 1, 1}, {1, 1}};

	start(_i, NULL);
	ck_assert_int_eq(sf_cursor_remaining_ms(t_stream_cursor), 0);
	t_stream_step(-T_HOUR);
	(void)t_stream_turn();
	for (size_t i = 0; i < T_COUNT(table); i++) {
		t_stream_pass(t_stream_shown() - t_stream_wall() - table[i].ns);
		ck_assert_int_eq(sf_next(t_stream_cursor, &last.low), answer_of(_i));
		ck_assert_int_eq(sf_cursor_remaining_ms(t_stream_cursor), table[i].ms);
	}
	t_stream_pass(T_SECOND);
	ck_assert_int_eq(sf_cursor_remaining_ms(t_stream_cursor), 1);
	ck_assert_int_eq(sf_next(t_stream_cursor, &last.low), 0);
	ck_assert_int_eq(sf_cursor_remaining_ms(t_stream_cursor), 0);
	t_stream_deinit();
}
END_TEST

/* The client's monotonic clock is not the daemon's. */
START_TEST(remaining_ms_in_another_time_namespace_are_the_same)
{
	const int64_t offset = (_i / ROWS ? 5000 : -5000) * T_MS;
	struct sf_client *client = t_client_new(SF_WAIT_NONE);
	struct sf_cursor *cursor;
	int64_t shown;

	start(_i % ROWS, NULL);
	ck_assert_int_eq(
		sf_client_adopt(client, t_stream.ring.grants_fd, t_stream.ring.claims_fd, offset),
		0);
	cursor = t_cursor_open(client);
	step(-T_SECOND);
	shown = t_stream_shown();
	t_stream_pass(-offset); /* now the clock is the client's */
	ck_assert_int_eq(sf_next(cursor, &last.low), answer_of(_i % ROWS));
	ck_assert_int_eq(sf_cursor_remaining_ms(cursor), 1000);
	t_stream_pass(T_SECOND);
	ck_assert_int_eq(sf_next(cursor, &last.low), 0);
	ck_assert_int_eq(sf_cursor_remaining_ms(cursor), 0);
	ck_assert_uint_eq(t_stream_tick_of(&last), sf_shm_tick_at(&t_stream_config.layout, shown));
	sf_cursor_close(cursor);
	sf_close(client);
	t_stream_deinit();
}
END_TEST

/* ---- sleeping ---- */

static int64_t moves_ns; /* what the wall does at the third nap */

static void step_at_the_third_nap(void)
{
	if (t_sleeps == 3)
		t_stream_step(moves_ns);
	(void)t_stream_turn();
	(void)t_stream_turn(); /* an hour is further than the mark, which is raised in between */
}

/* The wall steps while the caller sleeps: not at all, on, further back, and all the way. */
static const int64_t moves[] = {0, 200 * T_MS, -300 * T_MS, T_HOUR};

START_TEST(next_that_waits_sleeps_until_the_exact_moment_whatever_the_wall_does)
{
	int64_t begin;

	moves_ns = moves[_i % 4];
	t_stream_init(&(struct t_stream_setup){.layout = t_policy_layouts[_i / 4],
					       .policy = SFD_CLOCK_WAIT,
					       .wait = SF_WAIT_SLEEP});
	last = (struct sf_wide){0, 0};
	t_stream_take(t_stream_cursor, &last);
	step(-500 * T_MS);
	t_woken = step_at_the_third_nap;
	begin = t_stream_mono();
	t_stream_take(t_stream_cursor, &last);
	ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_wall_tick());
	for (unsigned i = 0; i < t_sleeps; i++)
		ck_assert_int_le(t_slept_until[i] - (i ? t_slept_until[i - 1] : begin), 20 * T_MS);
	if (moves_ns == T_HOUR)
		ck_assert_uint_eq(t_sleeps, 3);
	else
		ck_assert_int_eq(t_stream_mono(), begin + 500 * T_MS - moves_ns);
	ck_assert_uint_eq(counter(&t_stream.ring.shm.claims->waits), 1);
	t_stream_deinit();
}
END_TEST

START_TEST(next_that_waits_spins_until_the_exact_moment)
{
	int64_t end;

	t_stream_init(&(struct t_stream_setup){.policy = SFD_CLOCK_WAIT, .wait = SF_WAIT_SPIN});
	last = (struct sf_wide){0, 0};
	t_stream_take(t_stream_cursor, &last);
	step(-500 * T_MS);
	end = t_stream_mono() + 500 * T_MS;
	t_mono_step_ns = T_MS;
	t_stream_take(t_stream_cursor, &last);
	ck_assert_uint_eq(t_sleeps, 0);
	ck_assert_int_ge(t_stream_mono(), end);
	ck_assert_int_le(t_stream_mono(), end + 2 * T_MS);
	t_stream_deinit();
}
END_TEST

START_TEST(next_that_is_refused_never_sleeps)
{
	const uint32_t wait = (uint32_t)_i;
	int64_t begin;

	t_stream_init(&(struct t_stream_setup){.policy = SFD_CLOCK_REFUSE, .wait = wait});
	step(-500 * T_MS);
	begin = t_stream_mono();
	t_stream_assert_refused(-ETIME);
	ck_assert_uint_eq(t_sleeps, 0);
	ck_assert_int_eq(t_stream_mono(), begin);
	t_stream_deinit();
}
END_TEST

/* ---- what Snowflakex 1.1.1 got wrong ---- */

/* Sequences 0 to 9 of tick 5000; a refusal at 4000; then 5000 again: on with 10, not with 1. */
START_TEST(sequence_after_a_refusal_goes_on_where_it_was)
{
	struct sf_parts parts;
	uint64_t tick;

	start(_i, "snowflakex");
	tick = t_stream_shown_tick();
	for (uint32_t i = 0; i < 10; i++) {
		ck_assert_int_eq(sf_next_ordered(t_stream_cursor, &last.low), 0);
		ck_assert_int_eq(sf_decompose(&t_stream_config.layout, last.low, &parts, NULL), 0);
		ck_assert_uint_eq(parts.tick, tick);
		ck_assert_uint_eq(parts.sequence, i);
	}
	step(-T_SECOND);
	t_stream_assert_refused(answer_of(_i));
	step(T_SECOND);
	ck_assert_int_eq(sf_next_ordered(t_stream_cursor, &last.low), 0);
	ck_assert_int_eq(sf_decompose(&t_stream_config.layout, last.low, &parts, NULL), 0);
	ck_assert_uint_eq(parts.tick, tick);
	ck_assert_uint_eq(parts.sequence, 10);
	t_stream_deinit();
}
END_TEST

void t_add_policies_wait(Suite *suite)
{
	TCase *wait = tcase_create("wait");

	tcase_set_timeout(wait, 60);
	tcase_add_loop_test(wait, turn_while_behind_says_so_and_does_not_beat, 0, ROWS);
	tcase_add_loop_test(wait, turn_while_behind_counts_no_late_beat, SFD_CLOCK_WAIT,
			    T_POLICIES);
	tcase_add_loop_test(wait, turn_while_behind_asks_for_the_next_at_the_moment_it_ends, 0,
			    ROWS);
	tcase_add_loop_test(wait, next_with_a_range_in_hand_stops_at_once, 0, 4);
	tcase_add_loop_test(wait, ordered_with_a_tick_in_mind_stops_at_once, 0, 4);
	tcase_add_loop_test(wait, each_refusal_counts_as_a_wait, 0, ROWS);
	tcase_add_loop_test(wait, next_succeeds_at_the_exact_moment_without_the_daemon, 0,
			    ROWS * T_POLICY_LAYOUTS);
	tcase_add_loop_test(wait, remaining_ms_are_rounded_up, 0, ROWS);
	tcase_add_loop_test(wait, remaining_ms_in_another_time_namespace_are_the_same, 0, 2 * ROWS);
	tcase_add_loop_test(wait,
			    next_that_waits_sleeps_until_the_exact_moment_whatever_the_wall_does, 0,
			    4 * T_POLICY_LAYOUTS);
	tcase_add_test(wait, next_that_waits_spins_until_the_exact_moment);
	tcase_add_loop_test(wait, next_that_is_refused_never_sleeps, SF_WAIT_SLEEP,
			    SF_WAIT_NONE + 1);
	tcase_add_loop_test(wait, sequence_after_a_refusal_goes_on_where_it_was, 0, ROWS);
	suite_add_tcase(suite, wait);
}
