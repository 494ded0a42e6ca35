/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * shm/ring.h, one operation after the other: publish, claim, floor, tags, spoilt words. Races are
 * in ring_windows.c (stretched at will) and ring_stress.c (real threads).
 */
#include "tests/unit/ring_suite.h"

#include "tests/support/ring_fixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CAPACITY 4096u
#define SLOTS UINT64_C(16)
#define TICK_32 (UINT64_C(1) << 32)

static struct t_ring fixture;
static const struct sf_shm_ring *ring;

static void set_up_at(uint64_t first_tick)
{
	t_ring_init(&fixture, &(struct t_ring_setup){.first_tick = first_tick});
	ring = &fixture.memory.shm;
	ck_assert_uint_eq(ring->mask, SLOTS - 1);
}

static void set_up(void)
{
	set_up_at(T_TICK);
}

static void tear_down(void)
{
	t_ring_deinit(&fixture);
}

static struct sf_shm_retired publish(uint64_t tick, uint32_t capacity)
{
	return sf_shm_publish(ring, &(struct sf_shm_range){.tick = tick, .capacity = capacity});
}

static void publish_all(uint64_t first, uint64_t last)
{
	for (uint64_t tick = first; tick <= last; tick++)
		(void)publish(tick, CAPACITY);
}

static uint64_t word(uint64_t tick)
{
	return t_ring_word_now(&fixture, tick);
}

static void word_set(uint64_t tick, uint64_t value)
{
	atomic_store_explicit(t_ring_word(&fixture, tick), value, memory_order_relaxed);
}

/* ---- the three cases of the engine, as far as the ring knows them ---- */

START_TEST(claim_on_a_new_tick_starts_at_zero)
{
	struct sf_shm_range got;

	publish_all(T_TICK, T_TICK + 1);
	for (uint64_t tick = T_TICK; tick <= T_TICK + 1; tick++) {
		ck_assert_int_eq(sf_shm_claim(ring, tick, 7, &got), SF_SHM_CLAIM_OK);
		ck_assert_uint_eq(got.tick, tick);
		ck_assert_uint_eq(got.first, 0);
		ck_assert_uint_eq(got.count, 7);
		ck_assert_uint_eq(got.capacity, CAPACITY);
	}
}
END_TEST

START_TEST(claim_on_the_same_tick_goes_on)
{
	struct sf_shm_range got;
	uint32_t next = 0;

	publish_all(T_TICK, T_TICK);
	for (uint32_t n = 1; n <= 40; n++) {
		ck_assert_int_eq(sf_shm_claim(ring, T_TICK, n, &got), SF_SHM_CLAIM_OK);
		ck_assert_uint_eq(got.first, next);
		ck_assert_uint_eq(got.count, n);
		next += n;
	}
	ck_assert_uint_eq(sf_shm_claimed(ring, T_TICK), next);
}
END_TEST

START_TEST(claim_of_more_than_is_left_is_cut)
{
	struct sf_shm_range got;

	(void)publish(T_TICK, 10);
	ck_assert_int_eq(sf_shm_claim(ring, T_TICK, 8, &got), SF_SHM_CLAIM_OK);
	ck_assert_int_eq(sf_shm_claim(ring, T_TICK, 8, &got), SF_SHM_CLAIM_OK);
	ck_assert_uint_eq(got.first, 8);
	ck_assert_uint_eq(got.count, 2);
	ck_assert_uint_eq(sf_shm_claimed(ring, T_TICK), 10);
}
END_TEST

/* Looking before adding keeps the counter from running into the tag. */
START_TEST(claim_of_an_exhausted_tick_adds_nothing)
{
	struct sf_shm_range got;
	uint64_t before;

	(void)publish(T_TICK, 10);
	ck_assert_int_eq(sf_shm_claim(ring, T_TICK, SF_SHM_CLAIM_MAX, &got), SF_SHM_CLAIM_OK);
	before = word(T_TICK);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(sf_shm_claim(ring, T_TICK, SF_SHM_CLAIM_MAX, &got),
				 SF_SHM_CLAIM_EXHAUSTED);
	ck_assert_uint_eq(word(T_TICK), before);
}
END_TEST

START_TEST(claim_carries_what_the_grant_says)
{
	const struct sf_shm_range grant = {.tick = T_TICK,
					   .capacity = 100,
					   .start = 77,
					   .base_high = UINT64_C(0x1122334455667788),
					   .base_low = UINT64_C(0x99aabbccddeeff00)};
	struct sf_shm_range got;

	(void)sf_shm_publish(ring, &grant);
	ck_assert_int_eq(sf_shm_claim(ring, T_TICK, 1, &got), SF_SHM_CLAIM_OK);
	ck_assert_uint_eq(got.start, grant.start);
	ck_assert_uint_eq(got.capacity, grant.capacity);
	ck_assert_uint_eq(got.base_high, grant.base_high);
	ck_assert_uint_eq(got.base_low, grant.base_low);
}
END_TEST

/* ---- tags ---- */

START_TEST(claim_on_wrong_tag_takes_nothing)
{
	struct sf_shm_range got;

	publish_all(T_TICK, T_TICK + SLOTS - 1);
	for (uint64_t tick = T_TICK; tick < T_TICK + SLOTS; tick++) {
		uint64_t before = word(tick);

		/* a turn behind, one ahead, and the neighbours' slots stay alone */
		ck_assert_int_eq(sf_shm_claim(ring, tick - SLOTS, 3, &got), SF_SHM_CLAIM_WRONG_TAG);
		ck_assert_int_eq(sf_shm_claim(ring, tick + SLOTS, 3, &got), SF_SHM_CLAIM_WRONG_TAG);
		ck_assert_uint_eq(word(tick), before);
	}
}
END_TEST

START_TEST(claim_on_a_tag_that_came_again_takes_nothing)
{
	struct sf_shm_range got;
	uint64_t before;

	publish_all(T_TICK, T_TICK);
	(void)publish(T_TICK + TICK_32, CAPACITY);
	before = word(T_TICK);
	ck_assert_uint_eq(sf_shm_word_tag(before), (uint32_t)T_TICK);
	ck_assert_int_eq(sf_shm_claim(ring, T_TICK, 1, &got), SF_SHM_CLAIM_WRONG_TAG);
	ck_assert_uint_eq(word(T_TICK), before);
	ck_assert_uint_eq(sf_shm_claimed(ring, T_TICK), 0);
	ck_assert_int_eq(sf_shm_claim(ring, T_TICK + TICK_32, 1, &got), SF_SHM_CLAIM_OK);
	ck_assert_uint_eq(got.tick, T_TICK + TICK_32);
}
END_TEST

START_TEST(ring_of_many_turns_gives_each_counter_once)
{
	const uint32_t capacity = 5;
	uint64_t given = 0;
	uint64_t retired = 0;

	for (uint64_t tick = T_TICK; tick < T_TICK + 1000 * SLOTS; tick++) {
		struct sf_shm_retired old = publish(tick, capacity);
		struct sf_shm_range got;
		uint32_t next = 0;

		ck_assert_uint_eq(old.tick, tick - T_TICK < SLOTS ? 0 : tick - SLOTS);
		ck_assert(!old.spoilt);
		retired += old.claimed;
		/* leaves some of some ticks: 0 to 5 counters are taken */
		while (next < tick % (capacity + 1)) {
			ck_assert_int_eq(sf_shm_claim(ring, tick, 1, &got), SF_SHM_CLAIM_OK);
			ck_assert_uint_eq(got.first, next++);
			given++;
		}
	}
	for (uint64_t tick = T_TICK + 999 * SLOTS; tick < T_TICK + 1000 * SLOTS; tick++)
		retired += sf_shm_claimed(ring, tick);
	ck_assert_uint_eq(retired, given);
}
END_TEST

/* ---- hostile and spoilt words ---- */

static void expect_nothing(uint64_t first, uint64_t last)
{
	struct sf_shm_range got;

	for (uint64_t tick = first; tick <= last; tick++)
		ck_assert_int_ne(sf_shm_claim(ring, tick, 3, &got), SF_SHM_CLAIM_OK);
}

static void punch(int way)
{
	if (way == 0)
		t_ring_punch(&fixture);
	else
		ck_assert_int_eq(
			madvise(ring->claims, fixture.memory.shm.grants->claims_bytes, MADV_REMOVE),
			0);
}

/* Around the tick whose tag is 0, which is what a hole reads as. */
START_TEST(claim_on_a_punched_hole_takes_nothing)
{
	const uint64_t first = 3 * TICK_32 - 5;
	struct sf_shm_range got;

	set_up_at(first);
	/* each step publishes `now` and eight ticks ahead of it */
	for (uint64_t now = first; now < first + 3 * SLOTS; now += 9) {
		sfd_engine_publish(&fixture.engine, now, UINT64_MAX);
		for (uint64_t tick = now; tick <= now + 8; tick++)
			if (tick != 3 * TICK_32)
				ck_assert_int_eq(sf_shm_claim(ring, tick, 3, &got),
						 SF_SHM_CLAIM_OK);
		punch(_i);
		expect_nothing(now - 9, now + 9);
	}
	tear_down();
}
END_TEST

START_TEST(publish_after_a_hole_counts_the_slots_as_spoilt_and_goes_on)
{
	struct sf_shm_range got;

	publish_all(T_TICK, T_TICK + SLOTS - 1);
	punch(_i);
	for (uint64_t tick = T_TICK + SLOTS; tick < T_TICK + 2 * SLOTS; tick++) {
		struct sf_shm_retired old = publish(tick, CAPACITY);

		ck_assert(old.spoilt);
		ck_assert_uint_eq(old.claimed, 0);
		ck_assert_int_eq(sf_shm_claim(ring, tick, 1, &got), SF_SHM_CLAIM_OK);
		ck_assert_uint_eq(got.first, 0);
	}
}
END_TEST

START_TEST(publish_over_a_counter_beyond_the_capacity_counts_the_capacity)
{
	struct sf_shm_retired old;

	publish_all(T_TICK, T_TICK);
	word_set(T_TICK, sf_shm_word(T_TICK, UINT32_MAX));
	ck_assert_uint_eq(sf_shm_claimed(ring, T_TICK), CAPACITY);
	old = publish(T_TICK + SLOTS, CAPACITY);
	ck_assert(!old.spoilt);
	ck_assert_uint_eq(old.tick, T_TICK);
	ck_assert_uint_eq(old.claimed, CAPACITY);
}
END_TEST

START_TEST(publish_over_a_foreign_tag_counts_nothing)
{
	struct sf_shm_retired old;

	publish_all(T_TICK, T_TICK);
	word_set(T_TICK, sf_shm_word(T_TICK + 1, 9));
	ck_assert_uint_eq(sf_shm_claimed(ring, T_TICK), 0);
	old = publish(T_TICK + SLOTS, CAPACITY);
	ck_assert(old.spoilt);
	ck_assert_uint_eq(old.claimed, 0);
}
END_TEST

/* ---- floor and horizon ---- */

START_TEST(floor_raise_only_raises)
{
	ck_assert_uint_eq(sf_shm_floor(ring), T_TICK);
	sf_shm_floor_raise(ring, T_TICK + 5);
	sf_shm_floor_raise(ring, T_TICK + 3);
	sf_shm_floor_raise(ring, 0);
	ck_assert_uint_eq(sf_shm_floor(ring), T_TICK + 5);
	sf_shm_floor_raise(ring, T_TICK + 6);
	ck_assert_uint_eq(sf_shm_floor(ring), T_TICK + 6);
}
END_TEST

struct raiser {
	pthread_t thread;
	uint64_t random;
	uint64_t highest;
};

static void *raise_floor(void *data)
{
	struct raiser *raiser = data;
	uint64_t seen = 0;

	for (int i = 0; i < 20000; i++) {
		uint64_t tick = T_TICK + t_random(&raiser->random) % (UINT64_C(1) << 40);

		sf_shm_floor_raise(ring, tick);
		ck_assert_uint_ge(sf_shm_floor(ring), tick);
		ck_assert_uint_ge(sf_shm_floor(ring), seen);
		seen = sf_shm_floor(ring);
		if (tick > raiser->highest)
			raiser->highest = tick;
	}
	return NULL;
}

START_TEST(floor_raised_by_many_threads_is_the_maximum)
{
	struct raiser raiser[4] = {0};
	uint64_t seed = t_seed();
	uint64_t highest = 0;

	for (size_t i = 0; i < T_COUNT(raiser); i++) {
		raiser[i].random = t_random(&seed);
		ck_assert_int_eq(pthread_create(&raiser[i].thread, NULL, raise_floor, &raiser[i]),
				 0);
	}
	for (size_t i = 0; i < T_COUNT(raiser); i++) {
		ck_assert_int_eq(pthread_join(raiser[i].thread, NULL), 0);
		if (raiser[i].highest > highest)
			highest = raiser[i].highest;
	}
	ck_assert_uint_eq(sf_shm_floor(ring), highest);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring");
	TCase *operations = tcase_create("operations");
	TCase *holes = tcase_create("holes at the tag 0");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(operations, set_up, tear_down);
	tcase_add_test(operations, claim_on_a_new_tick_starts_at_zero);
	tcase_add_test(operations, claim_on_the_same_tick_goes_on);
	tcase_add_test(operations, claim_of_more_than_is_left_is_cut);
	tcase_add_test(operations, claim_of_an_exhausted_tick_adds_nothing);
	tcase_add_test(operations, claim_carries_what_the_grant_says);
	tcase_add_test(operations, claim_on_wrong_tag_takes_nothing);
	tcase_add_test(operations, claim_on_a_tag_that_came_again_takes_nothing);
	tcase_add_test(operations, ring_of_many_turns_gives_each_counter_once);
	tcase_add_loop_test(operations, publish_after_a_hole_counts_the_slots_as_spoilt_and_goes_on,
			    0, 2);
	tcase_add_test(operations, publish_over_a_counter_beyond_the_capacity_counts_the_capacity);
	tcase_add_test(operations, publish_over_a_foreign_tag_counts_nothing);
	tcase_add_test(operations, floor_raise_only_raises);
	tcase_add_test(operations, floor_raised_by_many_threads_is_the_maximum);
	suite_add_tcase(suite, operations);
	tcase_add_loop_test(holes, claim_on_a_punched_hole_takes_nothing, 0, 2);
	suite_add_tcase(suite, holes);
	t_add_ring_windows(suite);
	t_add_ring_stress(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
