/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/engine.c: when it beats and when it idles, what the beat shows, and the rates.
 */
#include "daemon/engine.h"

#include "shm/beat.h"
#include "tests/support/ring_fixture.h"
#include "tests/unit/engine_suite.h"

#define SECOND (1000 * T_MS)

static struct t_ring fixture;
static struct sfd_engine *engine;
static const struct sf_shm_ring *ring;
static uint64_t tick;
static int64_t mono_ns;

static void set_up(void)
{
	t_ring_init(&fixture, &(struct t_ring_setup){.runway_ticks = 1000});
	engine = &fixture.engine;
	ring = &fixture.memory.shm;
	tick = T_TICK;
	mono_ns = 77 * SECOND;
	sfd_engine_publish(engine, tick, UINT64_MAX);
	sfd_engine_measure(engine, tick, mono_ns);
}

static void tear_down(void)
{
	t_ring_deinit(&fixture);
}

static uint64_t beat(void)
{
	return atomic_load_explicit(&ring->grants->beat, memory_order_relaxed);
}

static void claim(uint64_t at, uint32_t n)
{
	struct sf_shm_range got;

	while (n > 0 && sf_shm_claim(ring, at, n < 64 ? n : 64, &got) == SF_SHM_CLAIM_OK)
		n -= got.count;
	ck_assert_uint_eq(n, 0);
}

/* The beat thread wakes after `ms`, in each of which `per_ms` were claimed. */
static void wake_after(uint32_t ms, uint32_t per_ms)
{
	for (uint32_t i = 0; i < ms; i++)
		claim(tick++, per_ms);
	mono_ns += ms * T_MS;
	sfd_engine_publish(engine, tick, UINT64_MAX);
	sfd_engine_measure(engine, tick, mono_ns);
	sfd_engine_beat(engine, tick);
}

static uint64_t stat(enum sf_counter counter)
{
	return sfd_stats_get(&fixture.stats, counter);
}

START_TEST(beat_without_demand_is_idle_and_costs_nothing)
{
	for (int i = 0; i < 100; i++)
		wake_after(125, 0);
	ck_assert(!engine->beating);
	ck_assert_uint_eq(beat(), sf_shm_beat_idle(T_OWNER));
	ck_assert(sf_shm_beat_has_owner(beat()));
	ck_assert(!sf_shm_beat_is_live(beat(), 0));
	ck_assert_uint_eq(stat(SF_COUNTER_beats), 1); /* the first, which says that it idles */
	ck_assert_uint_eq(stat(SF_COUNTER_beating), 0);
}
END_TEST

START_TEST(beat_at_low_rates_stays_idle)
{
	for (int i = 0; i < 100; i++)
		wake_after(125, SFD_BEAT_START_RATE / 1000 - 1);
	ck_assert(!engine->beating);
}
END_TEST

START_TEST(beat_starts_one_wake_up_after_demand_does)
{
	wake_after(125, 0);
	wake_after(125, SFD_BEAT_START_RATE / 1000);
	ck_assert(engine->beating);
	ck_assert_uint_eq(beat(), sf_shm_beat_make(T_OWNER, tick));
	ck_assert(sf_shm_beat_is_live(beat(), tick));
	ck_assert(!sf_shm_beat_is_live(beat(), tick + 1));
	ck_assert_uint_eq(stat(SF_COUNTER_beating), 1);
}
END_TEST

START_TEST(beat_changes_every_tick_while_there_is_demand)
{
	wake_after(125, 30);
	for (int i = 0; i < 1000; i++) {
		uint64_t before = beat();
		uint64_t beats = stat(SF_COUNTER_beats);

		wake_after(1, 30);
		ck_assert_uint_ne(beat(), before);
		ck_assert_uint_eq(stat(SF_COUNTER_beats), beats + 1);
		sfd_engine_beat(engine, tick);
		ck_assert_uint_eq(stat(SF_COUNTER_beats), beats + 1);
	}
}
END_TEST

/* Between the two rates it keeps on doing what it did. */
START_TEST(beat_between_the_rates_does_not_flap)
{
	const uint32_t between = (SFD_BEAT_START_RATE + SFD_BEAT_STOP_RATE) / 2 / 1000;

	for (int i = 0; i < 20; i++) {
		wake_after(125, between);
		ck_assert(!engine->beating);
	}
	wake_after(125, 30);
	for (int i = 0; i < 2000; i++) {
		wake_after(1, between);
		ck_assert(engine->beating);
	}
}
END_TEST

/* A pause of a few ticks ends nothing: the window is a quarter of a second. */
START_TEST(beat_stops_a_window_after_demand_does)
{
	wake_after(125, 4000);
	ck_assert(engine->beating);
	for (int i = 0; i < 240; i++)
		wake_after(1, 0);
	ck_assert(engine->beating);
	for (int i = 0; i < 260 && engine->beating; i++)
		wake_after(1, 0);
	ck_assert(!engine->beating);
	ck_assert_uint_eq(beat(), sf_shm_beat_idle(T_OWNER));
}
END_TEST

START_TEST(beat_shows_only_the_low_half_of_the_tick)
{
	engine->beating = true;
	sfd_engine_beat(engine, UINT64_C(5) << 32 | 0xffffffff);
	ck_assert_uint_eq(beat(), (uint64_t)T_OWNER << 32 | 0xffffffff);
	ck_assert(sf_shm_beat_is_live(beat(), UINT64_C(5) << 32 | 0xffffffff));
	/* the wrap of the low half is no event */
	ck_assert(!sf_shm_beat_is_live(beat(), UINT64_C(6) << 32));
	sfd_engine_beat(engine, UINT64_C(6) << 32);
	ck_assert(sf_shm_beat_is_live(beat(), UINT64_C(6) << 32));
	ck_assert(sf_shm_beat_is_live(beat(), (UINT64_C(6) << 32) - 1));
}
END_TEST

START_TEST(beat_of_a_dead_or_stopped_owner_is_not_live)
{
	uint64_t live = sf_shm_beat_make(T_OWNER, tick);

	ck_assert(sf_shm_beat_is_live(live, tick));
	ck_assert(!sf_shm_beat_is_live(live | (uint64_t)FUTEX_OWNER_DIED << 32, tick));
	ck_assert(!sf_shm_beat_has_owner(live | (uint64_t)FUTEX_OWNER_DIED << 32));
	/* what the kernel leaves: the dead mark without the thread id */
	ck_assert(!sf_shm_beat_has_owner((uint64_t)FUTEX_OWNER_DIED << 32 | (uint32_t)tick));
	ck_assert(!sf_shm_beat_has_owner(0));
	ck_assert(!sf_shm_beat_is_live(0, 0));
}
END_TEST

START_TEST(rates_are_what_was_claimed)
{
	for (int i = 0; i < 8; i++)
		wake_after(125, 40);
	ck_assert_uint_eq(stat(SF_COUNTER_rate_1s), 40000);
	ck_assert_uint_eq(stat(SF_COUNTER_rate_60s), 40000);
	for (int i = 0; i < 8; i++)
		wake_after(125, 20);
	ck_assert_uint_eq(stat(SF_COUNTER_rate_1s), 20000);
	ck_assert_uint_eq(stat(SF_COUNTER_rate_60s), 30000);
	for (int i = 0; i < 8 * SFD_RATE_SECONDS; i++)
		wake_after(125, 0);
	ck_assert_uint_eq(stat(SF_COUNTER_rate_1s), 0);
	ck_assert_uint_eq(stat(SF_COUNTER_rate_60s), 0);
	ck_assert_uint_eq(sfd_engine_claimed(engine), 60000);
}
END_TEST

START_TEST(measure_after_a_forward_step_looks_at_no_tick_twice)
{
	claim(tick, 100);
	tick += UINT64_C(3600000);
	wake_after(1000, 0);
	ck_assert_uint_le(stat(SF_COUNTER_rate_1s), 100);
	ck_assert(!engine->beating);
}
END_TEST

void t_add_engine_demand(Suite *suite)
{
	TCase *demand = tcase_create("demand");

	tcase_add_checked_fixture(demand, set_up, tear_down);
	tcase_add_test(demand, beat_without_demand_is_idle_and_costs_nothing);
	tcase_add_test(demand, beat_at_low_rates_stays_idle);
	tcase_add_test(demand, beat_starts_one_wake_up_after_demand_does);
	tcase_add_test(demand, beat_changes_every_tick_while_there_is_demand);
	tcase_add_test(demand, beat_between_the_rates_does_not_flap);
	tcase_add_test(demand, beat_stops_a_window_after_demand_does);
	tcase_add_test(demand, beat_shows_only_the_low_half_of_the_tick);
	tcase_add_test(demand, beat_of_a_dead_or_stopped_owner_is_not_live);
	tcase_add_test(demand, rates_are_what_was_claimed);
	tcase_add_test(demand, measure_after_a_forward_step_looks_at_no_tick_twice);
	suite_add_tcase(suite, demand);
}
