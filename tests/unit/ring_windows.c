/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The race windows of shm/ring.h, stretched: a claimer that sleeps before or after its add while
 * the ring turns, and a claimer that comes by while a slot is being published. And the proof that
 * the checker sees a broken claim: the same claim with a check left out, in the same windows.
 */
#include "tests/support/hook.h"

#include "tests/unit/ring_suite.h"

#include "tests/support/ring_fixture.h"
#include "tests/support/tally.h"

#define CAPACITY 8u
#define SLOTS UINT64_C(16)
#define TICK_32 (UINT64_C(1) << 32)

typedef enum sf_shm_claim_status (*claim_fn)(const struct sf_shm_ring *ring, uint64_t tick,
					     uint32_t n, struct sf_shm_range *ret);

static struct t_ring fixture;
static const struct sf_shm_ring *ring;

static void set_up(void)
{
	t_ring_init(&fixture, &(struct t_ring_setup){0});
	ring = &fixture.memory.shm;
}

static void tear_down(void)
{
	t_ring_deinit(&fixture);
}

static struct sf_shm_retired publish(uint64_t tick)
{
	return sf_shm_publish(ring, &(struct sf_shm_range){.tick = tick, .capacity = CAPACITY});
}

static uint64_t word(uint64_t tick)
{
	return t_ring_word_now(&fixture, tick);
}

/* ---- a sleeping claimer ---- */

/* What happens while the claimer sleeps at `place`. */
struct nap {
	int place;
	uint64_t tick; /* published meanwhile */
	bool punch;
	bool competitor; /* another thread claims one of the tick */
	struct t_tally *tally;
};

static struct nap nap;

static void claim_one(uint64_t tick)
{
	struct sf_shm_range got;

	ck_assert_int_eq(sf_shm_claim(ring, tick, 1, &got), SF_SHM_CLAIM_OK);
	if (nap.tally)
		t_tally_add(nap.tally, got.tick, got.first, got.count);
}

static void sleep_at(int place)
{
	if (place != nap.place)
		return;
	t_hook = NULL;
	if (nap.competitor)
		claim_one(T_TICK);
	if (nap.tick)
		(void)publish(nap.tick);
	if (nap.punch)
		t_ring_punch(&fixture);
}

START_TEST(claim_that_slept_before_the_add_drops_what_it_took)
{
	const uint64_t later = T_TICK + SLOTS * (uint64_t)_i;
	struct sf_shm_range got;

	(void)publish(T_TICK);
	nap = (struct nap){.place = SF_SHM_HOOK_BEFORE_ADD, .tick = later};
	t_hook = sleep_at;
	ck_assert_int_eq(sf_shm_claim(ring, T_TICK, 3, &got), SF_SHM_CLAIM_WRONG_TAG);
	ck_assert(t_hook == NULL);
	/* The three are lost, not given: the next claim goes on above them. */
	ck_assert_int_eq(sf_shm_claim(ring, later, 1, &got), SF_SHM_CLAIM_OK);
	ck_assert_uint_eq(got.first, 3);
}
END_TEST

START_TEST(claim_that_slept_after_the_add_is_refused_and_leaves_the_new_tick_alone)
{
	const uint64_t later = T_TICK + SLOTS * (uint64_t)_i;
	struct sf_shm_range got;

	(void)publish(T_TICK);
	nap = (struct nap){.place = SF_SHM_HOOK_AFTER_ADD, .tick = later};
	t_hook = sleep_at;
	/* its tag was right, its grant is gone: the capacity is unknown, so nothing is given */
	ck_assert_int_eq(sf_shm_claim(ring, T_TICK, 3, &got), SF_SHM_CLAIM_WRONG_TAG);
	ck_assert_uint_eq(word(later), sf_shm_word(later, 0));
}
END_TEST

START_TEST(claim_that_slept_for_2_to_the_32_ticks_is_refused)
{
	struct sf_shm_range got;

	(void)publish(T_TICK);
	nap = (struct nap){.place = _i, .tick = T_TICK + TICK_32};
	t_hook = sleep_at;
	ck_assert_int_eq(sf_shm_claim(ring, T_TICK, 1, &got), SF_SHM_CLAIM_WRONG_TAG);
	ck_assert(t_hook == NULL);
}
END_TEST

START_TEST(claim_that_slept_over_a_hole_is_refused)
{
	struct sf_shm_range got;

	(void)publish(T_TICK);
	nap = (struct nap){.place = SF_SHM_HOOK_BEFORE_ADD, .punch = true};
	t_hook = sleep_at;
	ck_assert_int_eq(sf_shm_claim(ring, T_TICK, 3, &got), SF_SHM_CLAIM_WRONG_TAG);
	ck_assert_int_eq(sf_shm_claim(ring, T_TICK, 3, &got), SF_SHM_CLAIM_WRONG_TAG);
}
END_TEST

/* Two who both saw the last counter: one gets it. */
START_TEST(claim_that_lost_the_last_counter_finds_the_tick_exhausted)
{
	struct sf_shm_range got;

	(void)publish(T_TICK);
	ck_assert_int_eq(sf_shm_claim(ring, T_TICK, CAPACITY - 1, &got), SF_SHM_CLAIM_OK);
	nap = (struct nap){.place = SF_SHM_HOOK_BEFORE_ADD, .competitor = true};
	t_hook = sleep_at;
	ck_assert_int_eq(sf_shm_claim(ring, T_TICK, 1, &got), SF_SHM_CLAIM_EXHAUSTED);
	ck_assert_uint_eq(sf_shm_claimed(ring, T_TICK), CAPACITY);
}
END_TEST

/* ---- a claimer that comes by while a slot is published ---- */

static int visits;

static void claim_meanwhile(int place)
{
	struct sf_shm_range got;
	uint64_t before = word(T_TICK);

	if (place != SF_SHM_HOOK_GRANT_OPEN && place != SF_SHM_HOOK_BEFORE_WORD)
		return;
	t_hook = NULL;
	ck_assert_int_eq(sf_shm_claim(ring, T_TICK, 1, &got), SF_SHM_CLAIM_WRONG_TAG);
	ck_assert_int_eq(sf_shm_claim(ring, T_TICK + SLOTS, 1, &got), SF_SHM_CLAIM_WRONG_TAG);
	ck_assert_uint_eq(word(T_TICK), before);
	visits++;
	t_hook = claim_meanwhile;
}

START_TEST(claim_while_a_slot_is_published_takes_nothing_of_either_tick)
{
	(void)publish(T_TICK);
	visits = 0;
	t_hook = claim_meanwhile;
	(void)publish(T_TICK + SLOTS);
	t_hook = NULL;
	ck_assert_int_eq(visits, 2);
}
END_TEST

/* The add of a claimer that had looked before the grant was opened. */
static void add_late(int place)
{
	if (place == nap.place)
		atomic_fetch_add_explicit(t_ring_word(&fixture, T_TICK), 1, memory_order_relaxed);
}

START_TEST(publish_counts_an_add_that_came_in_meanwhile)
{
	struct sf_shm_retired old;

	(void)publish(T_TICK);
	nap = (struct nap){.place = _i};
	t_hook = add_late;
	old = publish(T_TICK + SLOTS);
	t_hook = NULL;
	ck_assert_uint_eq(old.claimed, 1);
	ck_assert_uint_eq(word(T_TICK), sf_shm_word(T_TICK + SLOTS, 0));
}
END_TEST

/* ---- the checker sees what a broken claim does ---- */

static uint64_t look(uint64_t tick, struct sf_shm_range *ret)
{
	_Atomic uint64_t *at = t_ring_word(&fixture, tick);
	uint64_t seen = atomic_load_explicit(at, memory_order_acquire);

	ck_assert_uint_eq(sf_shm_word_tag(seen), (uint32_t)tick);
	ck_assert(sf_shm_grant_read(ring, tick, ret));
	SF_SHM_HOOK(SF_SHM_HOOK_BEFORE_ADD);
	return seen;
}

static enum sf_shm_claim_status give(uint64_t seen, uint32_t n, struct sf_shm_range *ret)
{
	if (sf_shm_word_counter(seen) >= ret->capacity)
		return SF_SHM_CLAIM_EXHAUSTED;
	ret->first = sf_shm_word_counter(seen);
	ret->count = n;
	return SF_SHM_CLAIM_OK;
}

/* Planted: believes that the slot still holds the tick it looked at. */
static enum sf_shm_claim_status claim_without_tag_check(const struct sf_shm_ring *in, uint64_t tick,
							uint32_t n, struct sf_shm_range *ret)
{
	(void)in;
	(void)look(tick, ret);
	return give(atomic_fetch_add_explicit(t_ring_word(&fixture, tick), n, memory_order_acquire),
		    n, ret);
}

/* Planted: the tag's 32 bits are all that is compared. */
static enum sf_shm_claim_status claim_without_grant_check(const struct sf_shm_ring *in,
							  uint64_t tick, uint32_t n,
							  struct sf_shm_range *ret)
{
	uint64_t seen;

	(void)in;
	(void)look(tick, ret);
	seen = atomic_fetch_add_explicit(t_ring_word(&fixture, tick), n, memory_order_acquire);
	if (sf_shm_word_tag(seen) != (uint32_t)tick)
		return SF_SHM_CLAIM_WRONG_TAG;
	return give(seen, n, ret);
}

/* Planted: a load and a store where there should be one add. */
static enum sf_shm_claim_status claim_with_plain_store(const struct sf_shm_ring *in, uint64_t tick,
						       uint32_t n, struct sf_shm_range *ret)
{
	uint64_t seen = look(tick, ret);

	(void)in;
	atomic_store_explicit(t_ring_word(&fixture, tick), seen + n, memory_order_release);
	return give(seen, n, ret);
}

/* Every counter of the tick is given but the last few, then one claimer sleeps in the window. */
static uint64_t duplicates_of(claim_fn claim, uint64_t meanwhile, bool competitor)
{
	struct sf_shm_range got;
	struct t_tally tally;
	uint64_t duplicates;

	t_tally_init(&tally, T_TICK, 2 * SLOTS, CAPACITY);
	(void)publish(T_TICK);
	nap = (struct nap){.place = SF_SHM_HOOK_BEFORE_ADD,
			   .tick = meanwhile,
			   .competitor = competitor,
			   .tally = &tally};
	for (int i = 0; i < 4; i++)
		claim_one(T_TICK);
	t_hook = sleep_at;
	if (claim(ring, T_TICK, 1, &got) == SF_SHM_CLAIM_OK)
		t_tally_add(&tally, got.tick, got.first, got.count);
	ck_assert(t_hook == NULL);
	duplicates = atomic_load_explicit(&tally.duplicates, memory_order_relaxed);
	t_tally_deinit(&tally);
	return duplicates;
}

START_TEST(tally_catches_a_claim_without_tag_check)
{
	ck_assert_uint_eq(duplicates_of(sf_shm_claim, T_TICK + SLOTS, false), 0);
	ck_assert_uint_gt(duplicates_of(claim_without_tag_check, T_TICK + SLOTS, false), 0);
}
END_TEST

START_TEST(tally_catches_a_claim_without_grant_check)
{
	ck_assert_uint_eq(duplicates_of(sf_shm_claim, T_TICK + TICK_32, false), 0);
	ck_assert_uint_gt(duplicates_of(claim_without_grant_check, T_TICK + TICK_32, false), 0);
}
END_TEST

START_TEST(tally_catches_a_claim_with_a_plain_store)
{
	ck_assert_uint_eq(duplicates_of(sf_shm_claim, 0, true), 0);
	ck_assert_uint_gt(duplicates_of(claim_with_plain_store, 0, true), 0);
}
END_TEST

/* Planted: a load and a store where publishing exchanges. */
static uint32_t publish_with_plain_store(uint64_t tick)
{
	uint64_t seen = word(tick);

	SF_SHM_HOOK(SF_SHM_HOOK_BEFORE_WORD);
	atomic_store_explicit(t_ring_word(&fixture, tick), sf_shm_word(tick, 0),
			      memory_order_release);
	return sf_shm_word_counter(seen);
}

START_TEST(count_catches_a_publish_with_a_plain_store)
{
	(void)publish(T_TICK);
	nap = (struct nap){.place = SF_SHM_HOOK_BEFORE_WORD};
	t_hook = add_late;
	ck_assert_uint_ne(publish_with_plain_store(T_TICK + SLOTS), 1);
	t_hook = NULL;
}
END_TEST

void t_add_ring_windows(Suite *suite)
{
	TCase *windows = tcase_create("windows");
	TCase *planted = tcase_create("planted");

	tcase_add_checked_fixture(windows, set_up, tear_down);
	tcase_add_loop_test(windows, claim_that_slept_before_the_add_drops_what_it_took, 1, 4);
	tcase_add_loop_test(windows,
			    claim_that_slept_after_the_add_is_refused_and_leaves_the_new_tick_alone,
			    1, 4);
	tcase_add_loop_test(windows, claim_that_slept_for_2_to_the_32_ticks_is_refused,
			    SF_SHM_HOOK_BEFORE_ADD, SF_SHM_HOOK_AFTER_ADD + 1);
	tcase_add_test(windows, claim_that_slept_over_a_hole_is_refused);
	tcase_add_test(windows, claim_that_lost_the_last_counter_finds_the_tick_exhausted);
	tcase_add_test(windows, claim_while_a_slot_is_published_takes_nothing_of_either_tick);
	tcase_add_loop_test(windows, publish_counts_an_add_that_came_in_meanwhile,
			    SF_SHM_HOOK_GRANT_OPEN, SF_SHM_HOOK_BEFORE_WORD + 1);
	suite_add_tcase(suite, windows);
	tcase_add_checked_fixture(planted, set_up, tear_down);
	tcase_add_test(planted, tally_catches_a_claim_without_tag_check);
	tcase_add_test(planted, tally_catches_a_claim_without_grant_check);
	tcase_add_test(planted, tally_catches_a_claim_with_a_plain_store);
	tcase_add_test(planted, count_catches_a_publish_with_a_plain_store);
	suite_add_tcase(suite, planted);
}
