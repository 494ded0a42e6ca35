/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * shm/ring.h under real threads: a small ring of small ticks that turns as fast as it can, so that
 * claimers are overtaken all the time. Every counter given is checked, and the daemon's count must
 * be what was delivered and what was dropped.
 */
#include "tests/support/hook.h"

#include "tests/unit/ring_suite.h"

#include "tests/support/ring_fixture.h"
#include "tests/support/tally.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#define CAPACITY 4u
#define SLOTS UINT64_C(16)
#define TICKS UINT64_C(200000)
#define LAST (T_TICK + TICKS - 1)
#define CLAIMERS 8

static struct t_ring fixture;
static const struct sf_shm_ring *ring;
static struct t_tally tally;
static _Atomic bool stop;
static _Thread_local bool added;

struct claimer {
	pthread_t thread;
	uint64_t random;
	uint64_t lost_at_most; /* counters that an add on another tick may have taken */
	uint64_t claims;
};

/* Sometimes sleeps in the windows, so that the ring turns meanwhile. */
static void stall(int place)
{
	static _Thread_local unsigned calls;

	if (place == SF_SHM_HOOK_AFTER_ADD)
		added = true;
	if (++calls % 64 == 0)
		(void)sched_yield();
}

static void claim_once(struct claimer *claimer)
{
	uint64_t horizon = sf_shm_horizon(ring);
	uint64_t floor = sf_shm_floor(ring);
	uint64_t random = t_random(&claimer->random);
	uint32_t n = (uint32_t)(random % 3) + 1;
	/* mostly the floor, now and then anywhere in the ring, ahead of it or behind */
	uint64_t tick = random % 8 ? floor : horizon - 2 * SLOTS + random / 8 % (2 * SLOTS + 2);
	enum sf_shm_claim_status status;
	struct sf_shm_range got;

	added = false;
	status = sf_shm_claim(ring, tick, n, &got);
	if (status == SF_SHM_CLAIM_OK) {
		claimer->claims++;
		t_tally_add(&tally, got.tick, got.first, got.count);
		sf_shm_floor_raise(ring, tick);
	} else if (status == SF_SHM_CLAIM_EXHAUSTED && tick < horizon) {
		sf_shm_floor_raise(ring, tick + 1);
	} else {
		if (added)
			claimer->lost_at_most += n;
		(void)sched_yield();
	}
}

static void *claim_until_stopped(void *data)
{
	t_hook = stall;
	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		claim_once(data);
	return NULL;
}

/* Once they are half a ring behind, lets the claimers go on, but does not wait until they have. */
static void let_them_claim(uint64_t tick)
{
	if (sf_shm_floor(ring) + SLOTS / 2 < tick)
		(void)sched_yield();
}

static uint64_t publish_all(void)
{
	uint64_t claimed = 0;

	for (uint64_t tick = T_TICK; tick <= LAST; tick++) {
		struct sf_shm_retired old;

		let_them_claim(tick);
		old = sf_shm_publish(ring,
				     &(struct sf_shm_range){.tick = tick, .capacity = CAPACITY});
		ck_assert(!old.spoilt);
		sf_shm_horizon_set(ring, tick);
		/* what is about to be recycled is behind everyone's floor */
		sf_shm_floor_raise(ring, tick - SLOTS / 2);
		claimed += old.claimed;
	}
	return claimed;
}

START_TEST(fc68_claims_of_many_threads_are_distinct_and_counted)
{
	struct claimer claimer[CLAIMERS] = {0};
	uint64_t seed = t_seed();
	uint64_t lost_at_most = 0;
	uint64_t claimed;
	uint64_t delivered;

	t_ring_init(&fixture, &(struct t_ring_setup){0});
	ring = &fixture.memory.shm;
	ck_assert_uint_eq(ring->mask, SLOTS - 1);
	t_tally_init(&tally, T_TICK, TICKS, CAPACITY);
	atomic_store_explicit(&stop, false, memory_order_relaxed);
	for (int i = 0; i < CLAIMERS; i++) {
		claimer[i].random = t_random(&seed);
		ck_assert_int_eq(
			pthread_create(&claimer[i].thread, NULL, claim_until_stopped, &claimer[i]),
			0);
	}
	claimed = publish_all();
	atomic_store_explicit(&stop, true, memory_order_relaxed);
	for (int i = 0; i < CLAIMERS; i++) {
		ck_assert_int_eq(pthread_join(claimer[i].thread, NULL), 0);
		lost_at_most += claimer[i].lost_at_most;
		ck_assert_uint_gt(claimer[i].claims, 0);
	}
	for (uint64_t tick = LAST - SLOTS + 1; tick <= LAST; tick++)
		claimed += sf_shm_claimed(ring, tick);
	delivered = atomic_load_explicit(&tally.delivered, memory_order_relaxed);
	(void)printf("delivered %" PRIu64 ", counted %" PRIu64 ", lost at most %" PRIu64 "\n",
		     delivered, claimed, lost_at_most);
	ck_assert_uint_eq(atomic_load_explicit(&tally.duplicates, memory_order_relaxed), 0);
	ck_assert_uint_eq(atomic_load_explicit(&tally.outside, memory_order_relaxed), 0);
	ck_assert_uint_gt(delivered, 0);
	ck_assert_uint_ge(claimed, delivered);
	ck_assert_uint_le(claimed - delivered, lost_at_most);
	t_tally_deinit(&tally);
	t_ring_deinit(&fixture);
}
END_TEST

void t_add_ring_stress(Suite *suite)
{
	TCase *stress = tcase_create("stress");

	tcase_set_timeout(stress, 300);
	tcase_add_test(stress, fc68_claims_of_many_threads_are_distinct_and_counted);
	suite_add_tcase(suite, stress);
}
