/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/engine.c with injected time: publishing, the mark, exact counts. The source is included,
 * so that its publishing has the race windows. Demand and beat are in engine_demand.c, the clean
 * stop is in engine_stop.c, wide formats and a wall that is behind are in engine_wide.c.
 */
#include "tests/support/hook.h"

#include "daemon/engine.c" /* NOLINT(bugprone-suspicious-include) */

#include "tests/support/ring_fixture.h"
#include "tests/unit/engine_suite.h"

#include <stdlib.h>

#define RUNWAY UINT64_C(8)
#define CAPACITY 4096u

static struct t_ring fixture;
static struct sfd_engine *engine;
static const struct sf_shm_ring *ring;

static void set_up_with(const struct t_ring_setup *setup)
{
	t_ring_init(&fixture, setup);
	engine = &fixture.engine;
	ring = &fixture.memory.shm;
}

static void set_up(void)
{
	set_up_with(&(struct t_ring_setup){0});
}

static void tear_down(void)
{
	t_hook = NULL;
	t_ring_deinit(&fixture);
}

static uint32_t state(void)
{
	return atomic_load_explicit(&ring->grants->state, memory_order_relaxed);
}

static uint64_t runtime_horizon(void)
{
	return atomic_load_explicit(&fixture.runtime.horizon, memory_order_relaxed);
}

static uint32_t claim(uint64_t tick, uint32_t n)
{
	struct sf_shm_range got;

	return sf_shm_claim(ring, tick, n, &got) == SF_SHM_CLAIM_OK ? got.count : 0;
}

static void expect_published(uint64_t first, uint64_t last)
{
	ck_assert_uint_eq(sf_shm_horizon(ring), last);
	for (uint64_t tick = first; tick <= last; tick++)
		ck_assert_msg(claim(tick, 1) == 1, "tick %+d", (int)(tick - T_TICK));
	ck_assert_uint_eq(claim(last + 1, 1), 0);
}

/* ---- publishing ---- */

START_TEST(init_publishes_nothing)
{
	ck_assert_uint_eq(sf_shm_horizon(ring), T_TICK - 1);
	ck_assert_uint_eq(sf_shm_floor(ring), T_TICK);
	ck_assert_uint_eq(claim(T_TICK, 1), 0);
	ck_assert_uint_eq(sfd_engine_claimed(engine), 0);
}
END_TEST

START_TEST(publish_reaches_a_runway_beyond_now)
{
	sfd_engine_publish(engine, T_TICK, UINT64_MAX);
	expect_published(T_TICK, T_TICK + RUNWAY);
	ck_assert_uint_eq(state(), SF_SHM_RUNNING);
	ck_assert_uint_eq(sfd_stats_get(&fixture.stats, SF_COUNTER_ticks_published), RUNWAY + 1);
}
END_TEST

START_TEST(publish_again_at_the_same_time_changes_nothing)
{
	sfd_engine_publish(engine, T_TICK, UINT64_MAX);
	(void)claim(T_TICK, 9);
	for (uint64_t now = T_TICK; now > T_TICK - 5; now--) {
		sfd_engine_publish(engine, now, UINT64_MAX);
		ck_assert_uint_eq(sf_shm_horizon(ring), T_TICK + RUNWAY);
		ck_assert_uint_eq(sf_shm_claimed(ring, T_TICK), 9);
	}
}
END_TEST

START_TEST(publish_tick_by_tick_installs_each_once)
{
	sfd_engine_publish(engine, T_TICK, UINT64_MAX);
	for (uint64_t now = T_TICK + 1; now < T_TICK + 1000; now++) {
		sfd_engine_publish(engine, now, UINT64_MAX);
		ck_assert_uint_eq(sf_shm_horizon(ring), now + RUNWAY);
		ck_assert_uint_eq(sfd_stats_get(&fixture.stats, SF_COUNTER_ticks_published),
				  now + RUNWAY - T_TICK + 1);
		ck_assert_uint_eq(claim(now, 1), 1);
	}
}
END_TEST

START_TEST(publish_after_a_forward_step_starts_at_now)
{
	const uint64_t now = T_TICK + UINT64_C(3600000);

	sfd_engine_publish(engine, T_TICK, UINT64_MAX);
	sfd_engine_publish(engine, now, UINT64_MAX);
	expect_published(now, now + RUNWAY);
	ck_assert_uint_eq(claim(now - 1, 1), 0);
	ck_assert_uint_eq(sfd_stats_get(&fixture.stats, SF_COUNTER_ticks_published),
			  2 * (RUNWAY + 1));
}
END_TEST

START_TEST(publish_before_the_epoch_waits)
{
	tear_down();
	set_up_with(&(struct t_ring_setup){.first_tick = 1});
	sfd_engine_publish(engine, 0, UINT64_MAX);
	ck_assert_uint_eq(state(), SF_SHM_WAITING);
	ck_assert_uint_eq(sf_shm_horizon(ring), 0);
	ck_assert_uint_eq(claim(1, 1), 0);
	sfd_engine_publish(engine, 1, UINT64_MAX);
	ck_assert_uint_eq(state(), SF_SHM_RUNNING);
	ck_assert_uint_eq(claim(0, 1), 0);
	expect_published(1, 1 + RUNWAY);
}
END_TEST

START_TEST(fc24_publish_ends_with_the_layout)
{
	const uint64_t last = (UINT64_C(1) << 41) - 1;

	tear_down();
	set_up_with(&(struct t_ring_setup){.first_tick = last - 3});
	sfd_engine_publish(engine, last - 3, UINT64_MAX);
	expect_published(last - 3, last);
	sfd_engine_publish(engine, last, UINT64_MAX);
	ck_assert_uint_eq(state(), SF_SHM_RUNNING);
	sfd_engine_publish(engine, last + 1, UINT64_MAX);
	ck_assert_uint_eq(state(), SF_SHM_EXHAUSTED);
	expect_published(last - 3, last);
}
END_TEST

/* What a punched hole reads as must not be a tick with counters. */
START_TEST(publish_of_the_tick_with_tag_zero_grants_nothing)
{
	const uint64_t zero = UINT64_C(7) << 32;

	tear_down();
	set_up_with(&(struct t_ring_setup){.first_tick = zero - 1});
	sfd_engine_publish(engine, zero - 1, UINT64_MAX);
	ck_assert_uint_eq(claim(zero - 1, 1), 1);
	ck_assert_uint_eq(claim(zero, 1), 0);
	ck_assert_uint_eq(claim(zero + 1, 1), 1);
}
END_TEST

/* ---- the mark ---- */

START_TEST(publish_stops_at_the_mark_and_goes_on_once_it_is_raised)
{
	sfd_engine_publish(engine, T_TICK, T_TICK + 2);
	expect_published(T_TICK, T_TICK + 2);
	ck_assert_uint_eq(state(), SF_SHM_RUNNING);
	sfd_engine_publish(engine, T_TICK + 2, T_TICK + 2);
	ck_assert_uint_eq(state(), SF_SHM_RUNNING);
	sfd_engine_publish(engine, T_TICK + 3, T_TICK + 2);
	ck_assert_uint_eq(state(), SF_SHM_HELD);
	expect_published(T_TICK, T_TICK + 2);
	sfd_engine_publish(engine, T_TICK + 5, T_TICK + 100);
	ck_assert_uint_eq(state(), SF_SHM_RUNNING);
	expect_published(T_TICK + 5, T_TICK + 5 + RUNWAY);
}
END_TEST

START_TEST(publish_below_the_first_tick_of_a_mark_in_the_past_does_nothing)
{
	sfd_engine_publish(engine, T_TICK, T_TICK - 1);
	ck_assert_uint_eq(state(), SF_SHM_HELD);
	ck_assert_uint_eq(sf_shm_horizon(ring), T_TICK - 1);
	ck_assert_uint_eq(claim(T_TICK, 1), 0);
}
END_TEST

static uint64_t published; /* ticks seen in the window */
static uint64_t mark;

/* In the window the grant is written, its claim word not yet. */
static void look_at_promises(int place)
{
	uint64_t tick = 0;

	if (place != SF_SHM_HOOK_BEFORE_WORD)
		return;
	for (uint64_t slot = 0; slot <= ring->mask; slot++) {
		uint64_t granted =
			atomic_load_explicit(&ring->grant[slot].tick, memory_order_relaxed);

		if (granted > tick)
			tick = granted;
	}
	ck_assert_uint_le(tick, mark);
	ck_assert_uint_le(tick, runtime_horizon());
	ck_assert_uint_lt(sf_shm_horizon(ring), tick);
	published++;
}

/* A daemon that dies at any moment leaves a record that covers what it published. */
START_TEST(publish_never_passes_the_mark_nor_the_record_of_this_boot)
{
	uint64_t random = t_seed();
	uint64_t now = T_TICK;
	uint64_t held = 0;

	mark = T_TICK + 1;
	published = 0;
	t_hook = look_at_promises;
	for (int i = 0; i < 20000; i++) {
		uint64_t before = sf_shm_horizon(ring);

		now += t_random(&random) % 4;
		if (t_random(&random) % 64 == 0)
			now += t_random(&random) % 100;
		if (t_random(&random) % 8 == 0 && mark < now + 50)
			mark += t_random(&random) % 50;
		sfd_engine_publish(engine, now, mark);
		ck_assert_uint_le(sf_shm_horizon(ring), mark);
		ck_assert_uint_ge(sf_shm_horizon(ring), before);
		ck_assert_uint_ge(runtime_horizon(),
				  before == T_TICK - 1 ? 0 : sf_shm_horizon(ring));
		held += state() == SF_SHM_HELD;
	}
	t_hook = NULL;
	ck_assert_uint_gt(held, 0);
	ck_assert_uint_eq(published, sfd_stats_get(&fixture.stats, SF_COUNTER_ticks_published));
}
END_TEST

/* ---- counting ---- */

START_TEST(claimed_is_exact_at_every_moment)
{
	uint64_t random = t_seed();
	uint64_t claimed = 0;

	tear_down();
	set_up_with(&(struct t_ring_setup){.layout = "t41 n18 s4"});
	for (uint64_t now = T_TICK; now < T_TICK + 2000; now += 1 + t_random(&random) % 3) {
		if (t_random(&random) % 128 == 0)
			now += 100; /* whole turns are skipped */
		sfd_engine_publish(engine, now, UINT64_MAX);
		for (int i = 0; i < 12; i++)
			claimed += claim(now + t_random(&random) % (RUNWAY + 1),
					 1 + (uint32_t)(t_random(&random) % 3));
		ck_assert_uint_eq(sfd_engine_claimed(engine), claimed);
	}
	ck_assert_uint_eq(sfd_stats_get(&fixture.stats, SF_COUNTER_slots_spoilt), 0);
}
END_TEST

START_TEST(publish_over_spoilt_words_counts_them_and_goes_on)
{
	sfd_engine_publish(engine, T_TICK, UINT64_MAX);
	for (uint64_t tick = T_TICK; tick <= T_TICK + RUNWAY; tick++)
		(void)claim(tick, 5);
	t_ring_punch(&fixture);
	ck_assert_uint_eq(sfd_engine_claimed(engine), 0);
	for (uint64_t now = T_TICK + 1; now <= T_TICK + 3 * ring->mask; now++) {
		sfd_engine_publish(engine, now, UINT64_MAX);
		(void)claim(now + RUNWAY, 1);
	}
	ck_assert_uint_eq(sfd_stats_get(&fixture.stats, SF_COUNTER_slots_spoilt), RUNWAY + 1);
	ck_assert_uint_eq(sfd_engine_claimed(engine), 3 * ring->mask);
}
END_TEST

/* ---- sequence start ---- */

START_TEST(fc88_spread_start_makes_residues_even)
{
	uint32_t residue[16] = {0};
	const uint32_t count = 10000;

	engine->spread = 256;
	engine->random = t_seed();
	for (uint32_t i = 0; i < count; i++) {
		uint64_t now = T_TICK + 5 * (uint64_t)i;
		struct sf_shm_range got;

		sfd_engine_publish(engine, now, UINT64_MAX);
		ck_assert_int_eq(sf_shm_claim(ring, now, 1, &got), SF_SHM_CLAIM_OK);
		ck_assert_uint_lt(got.start, 256);
		ck_assert_uint_eq(got.capacity, CAPACITY - got.start);
		residue[(got.start + got.first) % 16]++;
	}
	for (int i = 0; i < 16; i++) {
		ck_assert_uint_ge(residue[i], count / 16 * 80 / 100);
		ck_assert_uint_le(residue[i], count / 16 * 120 / 100);
	}
}
END_TEST

START_TEST(spread_start_leaves_no_counter_out_and_passes_no_end)
{
	engine->spread = 256;
	engine->random = t_seed();
	for (uint64_t now = T_TICK; now < T_TICK + 200; now++) {
		struct sf_shm_range got = {0};
		uint32_t last = 0;

		sfd_engine_publish(engine, now, UINT64_MAX);
		while (sf_shm_claim(ring, now, 100, &got) == SF_SHM_CLAIM_OK)
			last = got.start + got.first + got.count;
		ck_assert_uint_eq(last, CAPACITY);
		ck_assert_uint_eq(sf_shm_claimed(ring, now), CAPACITY - got.start);
	}
}
END_TEST

static void add_publish(Suite *suite)
{
	TCase *publish = tcase_create("publish");

	tcase_add_checked_fixture(publish, set_up, tear_down);
	tcase_add_test(publish, init_publishes_nothing);
	tcase_add_test(publish, publish_reaches_a_runway_beyond_now);
	tcase_add_test(publish, publish_again_at_the_same_time_changes_nothing);
	tcase_add_test(publish, publish_tick_by_tick_installs_each_once);
	tcase_add_test(publish, publish_after_a_forward_step_starts_at_now);
	tcase_add_test(publish, publish_before_the_epoch_waits);
	tcase_add_test(publish, fc24_publish_ends_with_the_layout);
	tcase_add_test(publish, publish_of_the_tick_with_tag_zero_grants_nothing);
	tcase_add_test(publish, publish_stops_at_the_mark_and_goes_on_once_it_is_raised);
	tcase_add_test(publish, publish_below_the_first_tick_of_a_mark_in_the_past_does_nothing);
	tcase_add_test(publish, publish_never_passes_the_mark_nor_the_record_of_this_boot);
	suite_add_tcase(suite, publish);
}

int main(void)
{
	Suite *suite = suite_create("engine");
	TCase *counts = tcase_create("counts");
	SRunner *runner = srunner_create(suite);
	int failed;

	add_publish(suite);
	tcase_add_checked_fixture(counts, set_up, tear_down);
	tcase_add_test(counts, claimed_is_exact_at_every_moment);
	tcase_add_test(counts, publish_over_spoilt_words_counts_them_and_goes_on);
	tcase_add_test(counts, fc88_spread_start_makes_residues_even);
	tcase_add_test(counts, spread_start_leaves_no_counter_out_and_passes_no_end);
	suite_add_tcase(suite, counts);
	t_add_engine_demand(suite);
	t_add_engine_stop(suite);
	t_add_engine_wide(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
