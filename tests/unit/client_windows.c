/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libclient and its race windows: a caller that sleeps in the middle of its claim while the ring
 * turns or the daemon stops; many threads by all calls; and FC-68's sum, claimed = delivered +
 * dropped. The source of the claim is included, so that it has the windows.
 */
#include "tests/support/hook.h"

#include "libclient/take.c" /* NOLINT(bugprone-suspicious-include) */

#include "tests/unit/client_suite.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

static int window;
static uint64_t wake_at;
static uint64_t stopped_at;

static void sleep_while_the_ring_turns(int place)
{
	if (place != window)
		return;
	t_hook = NULL;
	for (uint64_t tick = T_TICK + 1; tick <= wake_at; tick++)
		t_ring_go(&t_stream, tick);
}

/* What the daemon counts is what was given or dropped, to the last one. */
static void expect_sum(uint64_t delivered)
{
	ck_assert_uint_eq(sfd_engine_claimed(&t_stream.engine),
			  delivered + t_ring_dropped(&t_stream));
}

static const struct {
	int window;
	uint64_t ticks;
} naps[] = {
	{SF_SHM_HOOK_BEFORE_ADD, 1},  {SF_SHM_HOOK_AFTER_ADD, 1},    {SF_SHM_HOOK_BEFORE_ADD, 16},
	{SF_SHM_HOOK_AFTER_ADD, 16},  {SF_SHM_HOOK_BEFORE_ADD, 32},  {SF_SHM_HOOK_AFTER_ADD, 40},
	{SF_SHM_HOOK_BEFORE_ADD, 40}, {SF_SHM_HOOK_AFTER_ADD, 1000}, {SF_SHM_HOOK_BEFORE_ADD, 1008},
};

static void nap_in_a_call(size_t n)
{
	t_start(&(struct t_ring_setup){0}, SF_WAIT_NONE);
	window = naps[n].window;
	wake_at = T_TICK + naps[n].ticks;
	t_hook = sleep_while_the_ring_turns;
}

/* It may come back with the tick it slept in, or with the present one: never with another's. */
START_TEST(next_that_slept_through_a_ring_turn_is_of_a_tick_it_owns)
{
	struct sf_parts parts;
	uint64_t second;

	nap_in_a_call((size_t)_i);
	parts = t_parts(&t_stream, t_next(t_cursor));
	ck_assert(t_hook == NULL);
	ck_assert(parts.tick == wake_at || (parts.tick == T_TICK && naps[_i].ticks < 16));
	second = t_next(t_cursor);
	ck_assert_uint_eq(t_tick_of(second), wake_at);
	t_end();
}
END_TEST

START_TEST(fc68_a_call_that_slept_through_a_ring_turn_counts_what_it_lost)
{
	nap_in_a_call((size_t)_i);
	(void)t_next(t_cursor);
	expect_sum(1);
	t_end();
}
END_TEST

static void stop_meanwhile(int place)
{
	if (place != window)
		return;
	t_hook = NULL;
	stopped_at = sfd_engine_stop(&t_stream.engine, T_TICK, 0);
}

/* The daemon's add and the claim are both atomic: one of them is first. */
START_TEST(next_amid_a_clean_stop_is_within_what_the_stop_reported)
{
	uint64_t id = 0;
	int r;

	t_start(&(struct t_ring_setup){.layout = T_SMALL, .ahead_ms = 3}, SF_WAIT_NONE);
	for (uint32_t i = 0; i < 2 * T_SMALL_CAPACITY; i++)
		(void)t_next(t_cursor);
	window = _i;
	stopped_at = 0;
	t_hook = stop_meanwhile;
	r = sf_next(t_cursor, &id); /* borrows T + 2 */
	ck_assert(t_hook == NULL);
	if (r == 0)
		ck_assert_uint_le(t_tick_of(id), stopped_at);
	ck_assert_uint_le(sf_shm_floor(&t_stream.memory.shm), stopped_at);
	ck_assert_uint_eq(stopped_at, T_TICK + (window == SF_SHM_HOOK_AFTER_ADD ? 2 : 1));
	t_end();
}
END_TEST

/* ---- the sum ---- */

static uint64_t take_at_random(struct sf_cursor *cursor, uint64_t *random)
{
	uint64_t ids[40];
	struct sf_range range;
	size_t n = 1 + t_random(random) % 40;

	switch (t_random(random) % 4) {
	case 0:
		return sf_next_ordered(cursor, ids) == 0;
	case 1:
		return sf_fill(cursor, ids, n) == 0 ? n : 0;
	case 2:
		return sf_claim_range(cursor, (uint32_t)n, &range) == 0 ? range.count : 0;
	default:
		for (size_t i = 0; i < n; i++)
			if (sf_next(cursor, ids) < 0)
				return i;
		return n;
	}
}

/* The clock is never at the last counter, so that no call fails half way. */
START_TEST(fc68_sum_of_all_calls_over_many_turns_is_exact)
{
	static const struct t_ring_setup setups[] = {
		{0},
		{.node = {1, 5, 900}, .node_count = 3},
		{.layout = "t41 s12 n10"},
	};
	uint64_t random = t_seed();
	struct sf_cursor *cursor[3];
	uint64_t delivered = 0;

	t_start(&setups[_i], SF_WAIT_NONE);
	for (size_t i = 0; i < T_COUNT(cursor); i++)
		cursor[i] = t_cursor_open(t_client);
	for (uint64_t tick = T_TICK; tick < T_TICK + 3000; tick++) {
		t_stream.engine.beating = t_random(&random) % 8 != 0;
		t_ring_go(&t_stream, tick);
		for (int i = 0; i < 6; i++)
			delivered += take_at_random(cursor[t_random(&random) % T_COUNT(cursor)],
						    &random);
	}
	for (size_t i = 0; i < T_COUNT(cursor); i++)
		sf_cursor_close(cursor[i]);
	ck_assert_uint_gt(delivered, 0);
	expect_sum(delivered);
	t_end();
}
END_TEST

/* ---- many threads ---- */

#define THREADS 4
#define IDS_EACH 60000
#define LONG_RUNWAY 4000u

static _Atomic uint64_t highest_ordered;
static _Atomic int done;

struct taker {
	pthread_t thread;
	int way;
	uint64_t *ids;
};

static void note_ordered(uint64_t id, uint64_t before)
{
	uint64_t seen = before;

	T_EXPECT(id > before, "%llx after %llx", (unsigned long long)id,
		 (unsigned long long)before);
	while (seen < id &&
	       !atomic_compare_exchange_weak_explicit(&highest_ordered, &seen, id,
						      memory_order_release, memory_order_relaxed))
		;
}

static int take_one_way(struct sf_cursor *cursor, int way, uint64_t *ret_ids, size_t n)
{
	struct sf_range range;
	uint64_t before;
	int r;

	switch (way) {
	case 0:
		r = sf_next(cursor, ret_ids);
		return r < 0 ? r : 1;
	case 1:
		before = atomic_load_explicit(&highest_ordered, memory_order_acquire);
		r = sf_next_ordered(cursor, ret_ids);
		if (r == 0)
			note_ordered(ret_ids[0], before);
		return r < 0 ? r : 1;
	default:
		r = sf_claim_range(cursor, n < 50 ? (uint32_t)n : 50, &range);
		for (uint32_t i = 0; r == 0 && i < range.count; i++)
			ret_ids[i] = range.first + i * range.step;
		return r < 0 ? r : (int)range.count;
	}
}

static void *take_until_enough(void *data)
{
	struct taker *taker = data;
	struct sf_cursor *cursor = t_cursor_open(t_client);
	size_t count = 0;

	while (count < IDS_EACH) {
		int r = take_one_way(cursor, taker->way, taker->ids + count, IDS_EACH - count);

		if (r < 0) {
			ck_assert_int_eq(r, -EAGAIN);
			(void)sched_yield();
		} else {
			count += (size_t)r;
		}
	}
	t_ids_assert_rising(taker->ids, IDS_EACH);
	sf_cursor_close(cursor);
	atomic_fetch_add_explicit(&done, 1, memory_order_relaxed);
	return NULL;
}

/* The ring holds every tick of the run, so that nothing is lost to a turn. */
START_TEST(calls_of_many_threads_are_distinct_and_counted)
{
	uint64_t *ids = calloc((size_t)THREADS * IDS_EACH, sizeof(*ids));
	struct taker taker[THREADS];
	uint64_t tick = T_TICK;

	ck_assert_ptr_nonnull(ids);
	t_start(&(struct t_ring_setup){.layout = "t41 n14 s8",
				       .ahead_ms = 2,
				       .runway_ticks = LONG_RUNWAY},
		SF_WAIT_NONE);
	atomic_store_explicit(&highest_ordered, 0, memory_order_relaxed);
	atomic_store_explicit(&done, 0, memory_order_relaxed);
	for (int i = 0; i < THREADS; i++) {
		taker[i] = (struct taker){.way = i % 3, .ids = ids + (size_t)i * IDS_EACH};
		ck_assert_int_eq(
			pthread_create(&taker[i].thread, NULL, take_until_enough, &taker[i]), 0);
	}
	while (atomic_load_explicit(&done, memory_order_relaxed) < THREADS) {
		/* The clock goes on once its tick is used up: the ticks suffice however slow they
		 * are. */
		if (sf_shm_floor(&t_stream.memory.shm) > tick && tick < T_TICK + LONG_RUNWAY)
			t_ring_beat(&t_stream, ++tick);
		(void)sched_yield();
	}
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(taker[i].thread, NULL), 0);
	t_ids_assert_distinct(ids, (size_t)THREADS * IDS_EACH);
	expect_sum((uint64_t)THREADS * IDS_EACH);
	free(ids);
	t_end();
}
END_TEST

void t_add_client_windows(Suite *suite)
{
	TCase *windows = tcase_create("windows");
	TCase *threads = tcase_create("threads");

	tcase_add_loop_test(windows, next_that_slept_through_a_ring_turn_is_of_a_tick_it_owns, 0,
			    T_COUNT(naps));
	tcase_add_loop_test(windows, fc68_a_call_that_slept_through_a_ring_turn_counts_what_it_lost,
			    0, T_COUNT(naps));
	tcase_add_loop_test(windows, next_amid_a_clean_stop_is_within_what_the_stop_reported,
			    SF_SHM_HOOK_BEFORE_ADD, SF_SHM_HOOK_AFTER_ADD + 1);
	tcase_add_loop_test(windows, fc68_sum_of_all_calls_over_many_turns_is_exact, 0, 3);
	suite_add_tcase(suite, windows);
	tcase_set_timeout(threads, 300);
	tcase_add_test(threads, calls_of_many_threads_are_distinct_and_counted);
	suite_add_tcase(suite, threads);
}
