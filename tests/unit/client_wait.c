/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libclient: borrowing up to the ahead limit, and what it does there: return, spin or sleep, and
 * for how long. The clock is the test's; whoever sleeps is woken at the time that it asked for.
 */
#include "tests/unit/client_suite.h"

#include <errno.h>
#include <stdlib.h>

#define SMALL (&(struct t_ring_setup){.layout = T_SMALL})

static void advance(int64_t ns)
{
	atomic_fetch_add_explicit(&t_mono_ns, ns, memory_order_relaxed);
}

static int64_t mono(void)
{
	return atomic_load_explicit(&t_mono_ns, memory_order_relaxed);
}

static void take_all_of_a_small_tick(void)
{
	for (uint32_t i = 0; i < T_SMALL_CAPACITY; i++)
		(void)t_next(t_cursor);
}

/* ---- the ahead limit ---- */

START_TEST(next_borrows_up_to_the_ahead_limit_and_no_further)
{
	const uint32_t ahead = (uint32_t)_i;
	uint64_t last;

	t_start(&(struct t_ring_setup){.layout = T_SMALL, .ahead_ms = ahead}, SF_WAIT_NONE);
	for (uint64_t tick = T_TICK; tick <= T_TICK + ahead; tick++)
		for (uint32_t i = 0; i < T_SMALL_CAPACITY; i++) {
			struct sf_parts parts = t_parts(&t_stream, t_next(t_cursor));

			ck_assert_uint_eq(parts.tick, tick);
			ck_assert_uint_eq(parts.sequence, i);
		}
	ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, NULL), 0);
	t_ring_go(&t_stream, T_TICK + 1);
	ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, &last), T_SMALL_CAPACITY);
	ck_assert_uint_eq(t_tick_of(last), T_TICK + ahead + 1);
	t_end();
}
END_TEST

START_TEST(next_at_the_limit_counts_each_refusal_and_takes_nothing)
{
	uint64_t floor;

	t_start(SMALL, SF_WAIT_NONE);
	take_all_of_a_small_tick();
	floor = sf_shm_floor(&t_stream.memory.shm);
	for (uint64_t i = 1; i <= 10; i++) {
		ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, NULL), 0);
		ck_assert_uint_eq(t_ring_waits(&t_stream), i);
	}
	ck_assert_uint_eq(sf_shm_floor(&t_stream.memory.shm), floor);
	ck_assert_uint_eq(sfd_engine_claimed(&t_stream.engine), T_SMALL_CAPACITY);
	ck_assert_uint_eq(t_sleeps, 0);
	t_end();
}
END_TEST

/* ---- sleeping ---- */

START_TEST(next_sleeps_until_exactly_the_start_of_the_tick)
{
	const uint32_t ahead = (uint32_t)_i;

	t_start(&(struct t_ring_setup){.layout = T_SMALL, .ahead_ms = ahead}, SF_WAIT_SLEEP);
	t_sleep_ring = &t_stream;
	for (uint32_t i = 0; i <= ahead; i++)
		take_all_of_a_small_tick();
	advance(300001);
	ck_assert_uint_eq(t_tick_of(t_next(t_cursor)), T_TICK + ahead + 1);
	ck_assert_uint_eq(t_sleeps, 1);
	ck_assert_int_eq(t_slept_until[0], t_ring_mono_ns(&t_stream, T_TICK + 1));
	ck_assert_uint_eq(t_ring_waits(&t_stream), 1);
	t_end();
}
END_TEST

START_TEST(next_in_another_time_namespace_sleeps_on_its_own_clock)
{
	const int64_t offset = (_i ? 5000 : -5000) * T_MS;

	t_ring_init(&t_stream, SMALL);
	t_ring_turn(&t_stream);
	t_client = t_client_new(SF_WAIT_SLEEP);
	ck_assert_int_eq(sf_client_adopt(t_client, t_stream.memory.grants_fd,
					 t_stream.memory.claims_fd, offset),
			 0);
	t_cursor = t_cursor_open(t_client);
	advance(-offset);
	take_all_of_a_small_tick();
	ck_assert_uint_eq(t_tick_of(t_next(t_cursor)), T_TICK + 1);
	ck_assert_uint_eq(t_sleeps, 1);
	ck_assert_int_eq(t_slept_until[0], t_ring_mono_ns(&t_stream, T_TICK + 1) - offset);
	t_end();
}
END_TEST

/* Naps: the clock may step, or the daemon may come back, while a long tick lasts. */
START_TEST(next_sleeps_through_a_long_tick_in_naps)
{
	int64_t start;

	t_start(&(struct t_ring_setup){.layout = "t30 n18 s4 tick=1s"}, SF_WAIT_SLEEP);
	take_all_of_a_small_tick();
	advance(310 * T_MS);
	start = mono();
	ck_assert_uint_eq(t_tick_of(t_next(t_cursor)), T_TICK + 1);
	ck_assert_uint_gt(t_sleeps, 1);
	for (unsigned i = 0; i < t_sleeps; i++) {
		ck_assert_int_gt(t_slept_until[i], i ? t_slept_until[i - 1] : start);
		ck_assert_int_le(t_slept_until[i] - (i ? t_slept_until[i - 1] : start), 20 * T_MS);
	}
	ck_assert_int_eq(t_slept_until[t_sleeps - 1], t_ring_mono_ns(&t_stream, T_TICK + 1));
	ck_assert_uint_eq(t_ring_waits(&t_stream), 1);
	t_end();
}
END_TEST

START_TEST(next_that_waits_longer_than_its_time_out_says_so)
{
	int64_t start;

	t_start(&(struct t_ring_setup){.layout = "t30 n18 s4 tick=1s"}, SF_WAIT_SLEEP);
	take_all_of_a_small_tick();
	ck_assert_int_eq(sf_cursor_set_wait(t_cursor, SF_WAIT_SLEEP, 50 * T_MS), 0);
	start = mono();
	ck_assert_uint_eq(t_next_until(t_cursor, -ETIMEDOUT, NULL), 0);
	ck_assert_int_eq(mono(), start + 50 * T_MS);
	/* each call has a time-out of its own */
	ck_assert_uint_eq(t_next_until(t_cursor, -ETIMEDOUT, NULL), 0);
	ck_assert_int_eq(mono(), start + 100 * T_MS);
	ck_assert_uint_eq(t_ring_waits(&t_stream), 2);
	t_ring_go(&t_stream, T_TICK + 1);
	(void)t_next(t_cursor);
	t_end();
}
END_TEST

/* One time-out for the whole call, not one a tick. */
START_TEST(fill_that_waits_longer_than_its_time_out_says_so)
{
	static uint64_t ids[1000];
	int64_t start;

	t_start(SMALL, SF_WAIT_SLEEP);
	t_sleep_ring = &t_stream;
	ck_assert_int_eq(sf_cursor_set_wait(t_cursor, SF_WAIT_SLEEP, 5 * T_MS), 0);
	start = mono();
	ck_assert_int_eq(sf_fill(t_cursor, ids, T_COUNT(ids)), -ETIMEDOUT);
	ck_assert_int_eq(mono(), start + 5 * T_MS);
	t_end();
}
END_TEST

/* ---- spinning ---- */

START_TEST(next_spins_until_the_tick_begins)
{
	t_start(SMALL, SF_WAIT_SPIN);
	take_all_of_a_small_tick();
	t_mono_step_ns = 10000;
	ck_assert_uint_eq(t_tick_of(t_next(t_cursor)), T_TICK + 1);
	ck_assert_uint_eq(t_sleeps, 0);
	ck_assert_uint_eq(t_ring_waits(&t_stream), 1);
	t_end();
}
END_TEST

START_TEST(next_that_spins_longer_than_its_time_out_says_so)
{
	t_start(SMALL, SF_WAIT_SPIN);
	take_all_of_a_small_tick();
	ck_assert_int_eq(sf_cursor_set_wait(t_cursor, SF_WAIT_SPIN, T_MS / 2), 0);
	t_mono_step_ns = 10000;
	ck_assert_uint_eq(t_next_until(t_cursor, -ETIMEDOUT, NULL), 0);
	ck_assert_uint_eq(t_ring_now(&t_stream), T_TICK);
	t_end();
}
END_TEST

/* ---- the clock stands still, goes back, moves on ---- */

START_TEST(fc21_the_4097th_id_of_a_frozen_tick_starts_the_next)
{
	struct sf_parts parts;
	uint64_t last = 0;

	t_start(&(struct t_ring_setup){0}, SF_WAIT_NONE);
	if (_i)
		t_ring_beat(&t_stream, T_TICK);
	ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, &last), 4096);
	t_ring_go(&t_stream, T_TICK + 1);
	parts = t_parts(&t_stream, t_next(t_cursor));
	ck_assert_uint_eq(parts.tick, T_TICK + 1);
	ck_assert_uint_eq(parts.sequence, 0);
	t_end();
}
END_TEST

START_TEST(fc22_every_one_of_20000_small_ticks_offers_all_it_has)
{
	uint64_t last_before = 0;

	t_start(&(struct t_ring_setup){.layout = "t41 n20 s2"}, SF_WAIT_NONE);
	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t last;

		if (_i)
			t_ring_beat(&t_stream, T_TICK + i);
		else
			t_ring_go(&t_stream, T_TICK + i);
		ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, &last), 4);
		ck_assert_uint_eq(t_tick_of(last), T_TICK + i);
		ck_assert_uint_gt(last - 3, last_before);
		last_before = last;
		ck_assert_uint_eq(t_ring_waits(&t_stream), i + 1);
	}
	ck_assert_uint_eq(sfd_engine_claimed(&t_stream.engine), 80000);
	t_end();
}
END_TEST

START_TEST(fc11_a_refused_call_under_a_clock_that_went_back_changes_nothing)
{
	uint64_t ids[200];
	uint64_t word;

	t_start(&(struct t_ring_setup){0}, SF_WAIT_NONE);
	t_ring_go(&t_stream, T_TICK + 5);
	for (int i = 0; i < 100; i++)
		ids[i] = t_next(t_cursor);
	word = t_ring_word_now(&t_stream, T_TICK + 5);
	t_ring_clock(&t_stream, T_TICK);
	ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, NULL), 0);
	ck_assert_int_eq(sf_cursor_set_wait(t_cursor, SF_WAIT_SLEEP, T_MS), 0);
	ck_assert_uint_eq(t_next_until(t_cursor, -ETIMEDOUT, NULL), 0);
	ck_assert_uint_eq(t_ring_word_now(&t_stream, T_TICK + 5), word);
	ck_assert_uint_eq(t_ring_word_now(&t_stream, T_TICK), sf_shm_word(T_TICK, 0));
	t_ring_clock(&t_stream, T_TICK + 5);
	for (int i = 100; i < 200; i++)
		ids[i] = t_next(t_cursor);
	t_ids_assert_rising(ids, 200);
	ck_assert_uint_eq(t_tick_of(ids[199]), T_TICK + 5);
	t_end();
}
END_TEST

START_TEST(next_under_a_clock_that_went_back_goes_on_at_the_floor)
{
	uint64_t last;

	t_start(&(struct t_ring_setup){.layout = T_SMALL, .ahead_ms = 5}, SF_WAIT_NONE);
	t_ring_go(&t_stream, T_TICK + 5);
	last = t_next(t_cursor);
	t_ring_clock(&t_stream, T_TICK + 1);
	for (uint32_t i = 1; i < 2 * T_SMALL_CAPACITY; i++) {
		uint64_t id = t_next(t_cursor);

		ck_assert_uint_gt(id, last);
		ck_assert_uint_eq(t_tick_of(id), T_TICK + 5 + i / T_SMALL_CAPACITY);
		last = id;
	}
	/* T + 6 is as far as one may borrow at T + 1 */
	ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, NULL), 0);
	t_end();
}
END_TEST

START_TEST(fc16_a_million_ids_of_a_clock_that_stands_still_borrow_245_ticks)
{
	const size_t count = 1000000;
	uint64_t *ids = calloc(count, sizeof(*ids));
	uint64_t last;

	ck_assert_ptr_nonnull(ids);
	t_start(&(struct t_ring_setup){.ahead_ms = 250, .runway_ticks = 300}, SF_WAIT_NONE);
	ck_assert_int_eq(sf_fill(t_cursor, ids, count), 0);
	t_ids_assert_rising(ids, count);
	for (size_t i = 0; i < count; i += 999)
		T_EXPECT(t_tick_of(ids[i]) == T_TICK + i / 4096, "ID %zu", i);
	ck_assert_uint_eq(t_tick_of(ids[count - 1]), T_TICK + 244);
	/* 251 ticks are within the limit */
	ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, &last), UINT64_C(251) * 4096 - count);
	ck_assert_uint_eq(t_tick_of(last), T_TICK + 250);
	free(ids);
	t_end();
}
END_TEST

void t_add_client_wait(Suite *suite)
{
	TCase *wait = tcase_create("wait");
	TCase *clock = tcase_create("clock");

	tcase_add_loop_test(wait, next_borrows_up_to_the_ahead_limit_and_no_further, 0, 8);
	tcase_add_test(wait, next_at_the_limit_counts_each_refusal_and_takes_nothing);
	tcase_add_loop_test(wait, next_sleeps_until_exactly_the_start_of_the_tick, 0, 4);
	tcase_add_loop_test(wait, next_in_another_time_namespace_sleeps_on_its_own_clock, 0, 2);
	tcase_add_test(wait, next_sleeps_through_a_long_tick_in_naps);
	tcase_add_test(wait, next_that_waits_longer_than_its_time_out_says_so);
	tcase_add_test(wait, fill_that_waits_longer_than_its_time_out_says_so);
	tcase_add_test(wait, next_spins_until_the_tick_begins);
	tcase_add_test(wait, next_that_spins_longer_than_its_time_out_says_so);
	suite_add_tcase(suite, wait);
	tcase_set_timeout(clock, 120);
	tcase_add_loop_test(clock, fc21_the_4097th_id_of_a_frozen_tick_starts_the_next, 0, 2);
	tcase_add_loop_test(clock, fc22_every_one_of_20000_small_ticks_offers_all_it_has, 0, 2);
	tcase_add_test(clock, fc11_a_refused_call_under_a_clock_that_went_back_changes_nothing);
	tcase_add_test(clock, next_under_a_clock_that_went_back_goes_on_at_the_floor);
	tcase_add_test(clock, fc16_a_million_ids_of_a_clock_that_stands_still_borrow_245_ticks);
	suite_add_tcase(suite, clock);
}
