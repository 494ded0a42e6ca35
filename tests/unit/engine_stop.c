/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/engine.c: the clean stop, which gives the unused runway back: alone, against claimers that
 * go on meanwhile, and with the ring that comes after.
 */
#include "daemon/engine.h"

#include "shm/beat.h"
#include "tests/support/ring_fixture.h"
#include "tests/unit/engine_suite.h"

#include <pthread.h>

#define RUNWAY 60u
#define KEEP 3u

static struct t_ring fixture;
static struct sfd_engine *engine;
static const struct sf_shm_ring *ring;

static void set_up_at(uint64_t first_tick)
{
	t_ring_init(&fixture, &(struct t_ring_setup){.layout = "t41 n18 s4",
						     .runway_ticks = RUNWAY,
						     .first_tick = first_tick});
	engine = &fixture.engine;
	ring = &fixture.memory.shm;
}

static void set_up(void)
{
	set_up_at(T_TICK);
	sfd_engine_publish(engine, T_TICK, UINT64_MAX);
}

static void tear_down(void)
{
	t_ring_deinit(&fixture);
}

static bool claim(uint64_t tick)
{
	struct sf_shm_range got;

	return sf_shm_claim(ring, tick, 1, &got) == SF_SHM_CLAIM_OK;
}

static void expect_end(uint64_t last)
{
	ck_assert_uint_eq(sf_shm_horizon(ring), last);
	ck_assert_uint_eq(atomic_load_explicit(&fixture.runtime.horizon, memory_order_relaxed),
			  last);
	ck_assert_uint_eq(atomic_load_explicit(&ring->grants->state, memory_order_relaxed),
			  SF_SHM_STOPPED);
	ck_assert(!sf_shm_beat_has_owner(
		atomic_load_explicit(&ring->grants->beat, memory_order_relaxed)));
	for (uint64_t tick = last + 1; tick <= T_TICK + RUNWAY; tick++)
		ck_assert_msg(!claim(tick), "tick %+d can still be claimed", (int)(tick - T_TICK));
}

START_TEST(stop_keeps_a_little_and_gives_the_rest_back)
{
	ck_assert_uint_eq(sfd_engine_stop(engine, T_TICK, KEEP), T_TICK + KEEP);
	expect_end(T_TICK + KEEP);
	for (uint64_t tick = T_TICK; tick <= T_TICK + KEEP; tick++)
		ck_assert(claim(tick));
}
END_TEST

START_TEST(stop_covers_a_tick_that_was_claimed_far_ahead)
{
	ck_assert(claim(T_TICK + 40));
	ck_assert(claim(T_TICK + 20));
	ck_assert_uint_eq(sfd_engine_stop(engine, T_TICK, KEEP), T_TICK + 40);
	expect_end(T_TICK + 40);
}
END_TEST

START_TEST(stop_near_the_horizon_ends_at_the_horizon)
{
	const uint64_t horizon = T_TICK + RUNWAY;

	ck_assert_uint_eq(sfd_engine_stop(engine, horizon - 1, KEEP), horizon);
	expect_end(horizon);
}
END_TEST

/* The ring begins where its predecessor's runway ends, and that may be in use until then. */
START_TEST(stop_before_the_first_tick_covers_the_ring_before)
{
	ck_assert_uint_ge(sfd_engine_stop(engine, T_TICK - 50, KEEP), T_TICK - 1);
	ck_assert_uint_ge(atomic_load_explicit(&fixture.runtime.horizon, memory_order_relaxed),
			  T_TICK - 1);
}
END_TEST

START_TEST(stop_before_anything_was_published_covers_the_ring_before)
{
	tear_down();
	set_up_at(T_TICK);
	ck_assert_uint_eq(sfd_engine_stop(engine, T_TICK, KEEP), T_TICK - 1);
	ck_assert_uint_eq(sfd_engine_claimed(engine), 0);
}
END_TEST

START_TEST(stop_over_punched_and_spoilt_words_gives_nothing_twice)
{
	ck_assert(claim(T_TICK + 40));
	atomic_store_explicit(t_ring_word(&fixture, T_TICK + 50),
			      sf_shm_word(T_TICK + 50, UINT32_MAX), memory_order_relaxed);
	ck_assert_uint_eq(sfd_engine_stop(engine, T_TICK, KEEP), T_TICK + 50);
	expect_end(T_TICK + 50);
	t_ring_punch(&fixture);
	for (uint64_t tick = T_TICK; tick <= T_TICK + RUNWAY; tick++)
		ck_assert(!claim(tick));
}
END_TEST

/* ---- against claimers ---- */

#define ROUNDS 400
#define CLAIMERS 2

struct claimer {
	pthread_t thread;
	uint64_t random;
	uint64_t highest; /* tick of which it has a counter */
	uint64_t claims;
};

static pthread_barrier_t start;
static _Atomic bool stopped;

/* Claims anywhere in the runway, as borrowing clients might, until after the stop. */
static void *claim_ahead(void *data)
{
	struct claimer *claimer = data;
	unsigned after = 0;

	(void)pthread_barrier_wait(&start);
	while (after < RUNWAY) {
		uint64_t tick = T_TICK + t_random(&claimer->random) % (RUNWAY + 1);

		after += atomic_load_explicit(&stopped, memory_order_relaxed);
		if (claim(tick)) {
			claimer->claims++;
			if (tick > claimer->highest)
				claimer->highest = tick;
		}
	}
	return NULL;
}

static uint64_t stop_amid_claimers(struct claimer *claimer, uint64_t *random)
{
	uint64_t highest = 0;
	uint64_t last;

	atomic_store_explicit(&stopped, false, memory_order_relaxed);
	for (int i = 0; i < CLAIMERS; i++) {
		claimer[i].random = t_random(random);
		ck_assert_int_eq(pthread_create(&claimer[i].thread, NULL, claim_ahead, &claimer[i]),
				 0);
	}
	(void)pthread_barrier_wait(&start);
	for (uint64_t i = t_random(random) % 200; i > 0; i--)
		atomic_signal_fence(memory_order_seq_cst);
	last = sfd_engine_stop(engine, T_TICK, KEEP);
	atomic_store_explicit(&stopped, true, memory_order_relaxed);
	for (int i = 0; i < CLAIMERS; i++) {
		ck_assert_int_eq(pthread_join(claimer[i].thread, NULL), 0);
		if (claimer[i].highest > highest)
			highest = claimer[i].highest;
	}
	ck_assert_uint_le(highest, last);
	return last;
}

START_TEST(stop_amid_claimers_covers_every_claimed_tick)
{
	uint64_t random = t_seed();

	ck_assert_int_eq(pthread_barrier_init(&start, NULL, CLAIMERS + 1), 0);
	for (int round = 0; round < ROUNDS; round++) {
		struct claimer claimer[CLAIMERS] = {0};
		uint64_t last = stop_amid_claimers(claimer, &random);

		expect_end(last);
		/* what comes after starts above */
		tear_down();
		set_up_at(last + 1);
		sfd_engine_publish(engine, last + 1, UINT64_MAX);
		ck_assert(!claim(last));
		ck_assert(claim(last + 1));
		tear_down();
		set_up();
	}
	ck_assert_int_eq(pthread_barrier_destroy(&start), 0);
}
END_TEST

void t_add_engine_stop(Suite *suite)
{
	TCase *stop = tcase_create("stop");

	tcase_add_checked_fixture(stop, set_up, tear_down);
	tcase_set_timeout(stop, 120);
	tcase_add_test(stop, stop_keeps_a_little_and_gives_the_rest_back);
	tcase_add_test(stop, stop_covers_a_tick_that_was_claimed_far_ahead);
	tcase_add_test(stop, stop_near_the_horizon_ends_at_the_horizon);
	tcase_add_test(stop, stop_before_the_first_tick_covers_the_ring_before);
	tcase_add_test(stop, stop_before_anything_was_published_covers_the_ring_before);
	tcase_add_test(stop, stop_over_punched_and_spoilt_words_gives_nothing_twice);
	tcase_add_test(stop, stop_amid_claimers_covers_every_claimed_tick);
	suite_add_tcase(suite, stop);
}
