/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libclient where there is no ID to be had: before the layout's epoch, past its end, past a mark
 * that cannot be raised, and over shared words that another client has spoilt.
 */
#include "tests/unit/client_suite.h"

#include <errno.h>

#define RUNWAY 8u

static uint32_t state(void)
{
	return atomic_load_explicit(&t_stream.memory.shm.grants->state, memory_order_relaxed);
}

/* ---- before the epoch ---- */

START_TEST(next_before_the_epoch_waits_for_tick_1)
{
	t_ring_init(&t_stream, &(struct t_ring_setup){.first_tick = 1});
	atomic_fetch_sub_explicit(&t_mono_ns, 5 * T_MS + 1, memory_order_relaxed);
	ck_assert_uint_eq(t_ring_now(&t_stream), 0);
	t_ring_turn(&t_stream);
	ck_assert_uint_eq(state(), SF_SHM_WAITING);
	t_client = t_client_open(&t_stream, SF_WAIT_NONE);
	t_cursor = t_cursor_open(t_client);
	ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, NULL), 0);
	ck_assert_int_eq(sf_cursor_set_wait(t_cursor, SF_WAIT_SLEEP, 1000 * T_MS), 0);
	t_sleep_ring = &t_stream;
	ck_assert_uint_eq(t_tick_of(t_next(t_cursor)), 1);
	ck_assert_int_eq(t_slept_until[0], t_ring_mono_ns(&t_stream, 1));
	ck_assert_uint_eq(state(), SF_SHM_RUNNING);
	t_end();
}
END_TEST

/* ---- past the end ---- */

static const struct {
	const char *layout;
	uint32_t tick_ms;
} layouts[] = {{"twitter", 1},   {"snowflakex", 1}, {"discord", 1},  {"coola", 1},
	       {"instagram", 1}, {"sonyflake", 10}, {"baidu", 1000}, {"t20 n4 s3 tick=1s", 1000}};

/* With and without an ahead limit that reaches past the end, idle and beating, whoever waits. */
START_TEST(fc24_next_past_the_last_tick_says_so_and_never_wraps)
{
	const uint32_t ahead = _i & 1 ? 5 : 0;
	const bool beating = _i & 2;
	const uint32_t wait = _i & 4 ? SF_WAIT_SLEEP : SF_WAIT_NONE;
	struct t_ring_setup setup = {.layout = layouts[_i / 8].layout,
				     .ahead_ms = ahead * layouts[_i / 8].tick_ms};
	struct sf_layout layout;
	uint64_t last;
	uint64_t last_tick;

	ck_assert_int_eq(sf_layout_parse(setup.layout, &layout, NULL), 0);
	last_tick = sf_layout_last_tick(&layout);
	setup.first_tick = last_tick - 2;
	t_start(&setup, wait);
	t_stream.engine.beating = beating;
	t_ring_go(&t_stream, last_tick);
	ck_assert_uint_eq(t_next_until(t_cursor, -EOVERFLOW, &last),
			  UINT64_C(1) << layout.sequence_bits);
	ck_assert_uint_eq(t_tick_of(last), last_tick);
	for (uint64_t past = 1; past < 1000; past *= 3) {
		uint64_t ids[3];

		t_ring_go(&t_stream, last_tick + past);
		ck_assert_uint_eq(state(), SF_SHM_EXHAUSTED);
		ck_assert_uint_eq(t_next_until(t_cursor, -EOVERFLOW, NULL), 0);
		ck_assert_int_eq(sf_next_ordered(t_cursor, ids), -EOVERFLOW);
		ck_assert_int_eq(sf_fill(t_cursor, ids, 3), -EOVERFLOW);
	}
	ck_assert_uint_eq(t_sleeps, 0);
	t_end();
}
END_TEST

/* ---- a mark that cannot be raised ---- */

START_TEST(next_past_a_mark_that_holds_waits_and_goes_on_once_it_is_raised)
{
	uint64_t last;

	t_ring_init(&t_stream, &(struct t_ring_setup){.layout = T_SMALL});
	t_stream.mark = T_TICK + 2;
	t_ring_turn(&t_stream);
	t_client = t_client_open(&t_stream, SF_WAIT_NONE);
	t_cursor = t_cursor_open(t_client);
	for (uint64_t tick = T_TICK; tick <= T_TICK + 2; tick++) {
		t_ring_go(&t_stream, tick);
		ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, &last), T_SMALL_CAPACITY);
		ck_assert_uint_eq(t_tick_of(last), tick);
	}
	t_ring_go(&t_stream, T_TICK + 3);
	ck_assert_uint_eq(state(), SF_SHM_HELD);
	ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, NULL), 0);
	ck_assert_int_eq(sf_cursor_set_wait(t_cursor, SF_WAIT_SLEEP, 3 * T_MS), 0);
	ck_assert_uint_eq(t_next_until(t_cursor, -ETIMEDOUT, NULL), 0);
	t_stream.mark = UINT64_MAX;
	t_ring_turn(&t_stream);
	ck_assert_uint_eq(t_tick_of(t_next(t_cursor)), T_TICK + 6);
	t_end();
}
END_TEST

/* ---- spoilt words ---- */

static const uint64_t floors[] = {UINT64_MAX, UINT64_C(1) << 63, (UINT64_C(1) << 41) - 1,
				  T_TICK + RUNWAY + 1};

START_TEST(next_under_a_hostile_floor_neither_hangs_nor_passes_the_horizon)
{
	uint64_t ids[3];

	t_start(&(struct t_ring_setup){.ahead_ms = 2}, SF_WAIT_NONE);
	t_floor_set(floors[_i]);
	ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, NULL), 0);
	ck_assert_int_eq(sf_next_ordered(t_cursor, ids), -EAGAIN);
	ck_assert_int_eq(sf_fill(t_cursor, ids, 3), -EAGAIN);
	t_ring_clock(&t_stream, T_TICK + RUNWAY);
	ck_assert_uint_eq(t_tick_of(t_next(t_cursor)), T_TICK + RUNWAY);
	ck_assert_uint_eq(t_tick_of(t_ordered(t_cursor)), T_TICK + RUNWAY);
	t_end();
}
END_TEST

/* The horizon moves on while the caller sleeps towards it: its time-out ends that. */
START_TEST(next_under_a_hostile_floor_sleeps_no_longer_than_its_time_out)
{
	int64_t start;

	t_start(&(struct t_ring_setup){0}, SF_WAIT_SLEEP);
	t_sleep_ring = &t_stream;
	ck_assert_int_eq(sf_cursor_set_wait(t_cursor, SF_WAIT_SLEEP, 50 * T_MS), 0);
	start = atomic_load_explicit(&t_mono_ns, memory_order_relaxed);
	t_floor_set(floors[_i]);
	if (floors[_i] != T_TICK + RUNWAY + 1) {
		ck_assert_uint_eq(t_next_until(t_cursor, -ETIMEDOUT, NULL), 0);
		ck_assert_int_eq(atomic_load_explicit(&t_mono_ns, memory_order_relaxed),
				 start + 50 * T_MS);
	} else {
		/* a floor that the clock reaches is one to wait for */
		ck_assert_uint_ge(t_tick_of(t_next(t_cursor)), T_TICK + RUNWAY);
	}
	t_end();
}
END_TEST

/* Before anything is published there is no horizon to fall back to. */
START_TEST(next_under_a_hostile_floor_before_the_first_tick_gets_nothing)
{
	t_ring_init(&t_stream, &(struct t_ring_setup){.ahead_ms = 2});
	t_client = t_client_open(&t_stream, SF_WAIT_NONE);
	t_cursor = t_cursor_open(t_client);
	t_floor_set(floors[_i]);
	t_ring_clock(&t_stream, T_TICK - 1);
	ck_assert_int_ne(sf_next(t_cursor, &(uint64_t){0}), 0);
	t_ring_go(&t_stream, T_TICK);
	t_floor_set(0);
	ck_assert_uint_eq(t_tick_of(t_next(t_cursor)), T_TICK);
	t_end();
}
END_TEST

START_TEST(next_over_a_punched_hole_gives_nothing_twice_and_recovers)
{
	uint64_t ids[2 * T_SMALL_CAPACITY];
	uint64_t tick = T_TICK;
	size_t count = 0;

	t_start(&(struct t_ring_setup){.layout = T_SMALL}, SF_WAIT_NONE);
	if (_i)
		t_ring_beat(&t_stream, T_TICK);
	while (count < T_SMALL_CAPACITY)
		ids[count++] = t_next(t_cursor);
	t_ring_punch(&t_stream);
	ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, NULL), 0);
	ck_assert_int_eq(sf_next_ordered(t_cursor, &(uint64_t){0}), -EAGAIN);
	/* what was published before the hole is lost, what is published after is not */
	while (sf_next(t_cursor, &ids[count]) == -EAGAIN)
		t_ring_go(&t_stream, ++tick);
	ck_assert_uint_eq(tick, T_TICK + RUNWAY + 1);
	while (++count < T_COUNT(ids))
		ids[count] = t_next(t_cursor);
	t_ids_assert_rising(ids, T_COUNT(ids));
	/* of 16 slots, 18 ticks have used two again */
	ck_assert_uint_eq(sfd_stats_get(&t_stream.stats, SF_COUNTER_slots_spoilt), 2);
	t_end();
}
END_TEST

/* The low half of this tick is what a hole reads as. */
START_TEST(next_passes_over_the_tick_with_tag_zero)
{
	const uint64_t zero = UINT64_C(7) << 32;

	t_start(&(struct t_ring_setup){.layout = T_SMALL,
				       .first_tick = zero - 1,
				       .ahead_ms = _i ? 3 : 0},
		SF_WAIT_NONE);
	ck_assert_uint_eq(t_tick_of(t_next(t_cursor)), zero - 1);
	t_ring_go(&t_stream, zero);
	if (_i)
		ck_assert_uint_eq(t_tick_of(t_next(t_cursor)), zero + 1);
	else
		ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, NULL), 0);
	t_ring_punch(&t_stream);
	ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, NULL), 0);
	t_end();
}
END_TEST

/* One word that another client has overwritten costs its tick, not the stream. */
START_TEST(next_goes_past_a_single_spoilt_word)
{
	t_start(&(struct t_ring_setup){.layout = T_SMALL, .ahead_ms = 1}, SF_WAIT_NONE);
	atomic_store_explicit(t_ring_word(&t_stream, T_TICK), UINT64_MAX, memory_order_relaxed);
	ck_assert_uint_eq(t_tick_of(t_next(t_cursor)), T_TICK + 1);
	atomic_store_explicit(t_ring_word(&t_stream, T_TICK + 1),
			      sf_shm_word(T_TICK + 1, UINT32_MAX), memory_order_relaxed);
	ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, NULL), 0);
	t_ring_go(&t_stream, T_TICK + 1);
	ck_assert_uint_eq(t_tick_of(t_next(t_cursor)), T_TICK + 2);
	t_end();
}
END_TEST

void t_add_client_end(Suite *suite)
{
	TCase *end = tcase_create("end");
	TCase *spoilt = tcase_create("spoilt");

	tcase_add_test(end, next_before_the_epoch_waits_for_tick_1);
	tcase_add_loop_test(end, fc24_next_past_the_last_tick_says_so_and_never_wraps, 0,
			    8 * T_COUNT(layouts));
	tcase_add_test(end, next_past_a_mark_that_holds_waits_and_goes_on_once_it_is_raised);
	suite_add_tcase(suite, end);
	tcase_add_loop_test(spoilt, next_under_a_hostile_floor_neither_hangs_nor_passes_the_horizon,
			    0, T_COUNT(floors));
	tcase_add_loop_test(spoilt, next_under_a_hostile_floor_sleeps_no_longer_than_its_time_out,
			    0, T_COUNT(floors));
	tcase_add_loop_test(spoilt, next_under_a_hostile_floor_before_the_first_tick_gets_nothing,
			    0, T_COUNT(floors));
	tcase_add_loop_test(spoilt, next_over_a_punched_hole_gives_nothing_twice_and_recovers, 0,
			    2);
	tcase_add_loop_test(spoilt, next_passes_over_the_tick_with_tag_zero, 0, 2);
	tcase_add_test(spoilt, next_goes_past_a_single_spoilt_word);
	suite_add_tcase(suite, spoilt);
}
