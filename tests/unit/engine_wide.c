/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/engine.c for wide formats: where random bases come from and what happens without; and what
 * publishing and the beat do while the wall is behind.
 */
#include "daemon/engine.h"

#include "shm/beat.h"
#include "tests/support/ring_fixture.h"
#include "tests/unit/engine_suite.h"

#include <errno.h>
#include <string.h>

#define RUNWAY UINT64_C(8)

static struct t_ring fixture;
static struct sfd_engine *engine;
static const struct sf_shm_ring *ring;

static void set_up_with(const char *layout)
{
	t_ring_init(&fixture, &(struct t_ring_setup){.layout = layout});
	engine = &fixture.engine;
	ring = &fixture.memory.shm;
}

static void set_up(void)
{
	set_up_with("ulid");
}

static void tear_down(void)
{
	t_ring_deinit(&fixture);
}

static uint32_t state(void)
{
	return atomic_load_explicit(&ring->grants->state, memory_order_relaxed);
}

static uint64_t beat(void)
{
	return atomic_load_explicit(&ring->grants->beat, memory_order_relaxed);
}

/* ---- a random source of the test's ---- */

static unsigned draws;     /* calls so far */
static size_t drawn;       /* bytes given so far */
static size_t most;        /* bytes a call; 0 = all */
static int failing;        /* errno of every call */
static unsigned interrupt; /* EINTR at every so manyth call */

static ssize_t draw(void *buffer, size_t bytes, unsigned flags)
{
	ck_assert_uint_eq(flags, 0);
	draws++;
	if (failing) {
		errno = failing;
		return -1;
	}
	if (interrupt && draws % interrupt == 0) {
		errno = EINTR;
		return -1;
	}
	if (most && bytes > most)
		bytes = most;
	/* numbered words, so that none can be given twice */
	for (size_t i = 0; i < bytes; i++, drawn++)
		((unsigned char *)buffer)[i] = (unsigned char)(drawn / 8 >> drawn % 8 * 8);
	return (ssize_t)bytes;
}

static void use_draw(void)
{
	draws = 0;
	drawn = 8;
	most = 0;
	failing = 0;
	interrupt = 0;
	engine->bases.draw = draw;
}

static struct sf_shm_range grant_of(uint64_t tick)
{
	struct sf_shm_range range = {0};

	ck_assert_msg(sf_shm_grant_read(ring, tick, &range), "tick %+d is not there",
		      (int)(tick - T_TICK));
	return range;
}

START_TEST(publish_gives_each_tick_bases_of_its_own)
{
	uint64_t seen[2000];
	size_t count = 0;

	use_draw();
	most = _i ? 13 : 0;
	interrupt = _i ? 3 : 0;
	for (uint64_t now = T_TICK; count < T_COUNT(seen); now += RUNWAY + 1) {
		sfd_engine_publish(engine, now, UINT64_MAX);
		for (uint64_t tick = now; tick <= now + RUNWAY && count < T_COUNT(seen); tick++) {
			struct sf_shm_range range = grant_of(tick);

			ck_assert_uint_eq(range.capacity, SF_SHM_CAPACITY_MAX);
			ck_assert_uint_ne(range.base_high, 0);
			ck_assert_uint_ne(range.base_low, 0);
			seen[count++] = range.base_high;
			seen[count++] = range.base_low;
		}
	}
	t_ids_assert_distinct(seen, count);
	/* no more than what was needed, and many ticks at a time */
	ck_assert_uint_le(drawn - 8, (count + 256) * 8 + 2 * RUNWAY * 8);
	if (_i == 0)
		ck_assert_uint_le(draws, count / 256 + 2);
}
END_TEST

START_TEST(publish_of_a_64_bit_stream_draws_nothing)
{
	tear_down();
	set_up_with("twitter");
	use_draw();
	sfd_engine_publish(engine, T_TICK, UINT64_MAX);
	ck_assert_uint_eq(draws, 0);
	ck_assert_uint_eq(grant_of(T_TICK).base_low, 0);
}
END_TEST

/* Without random bits IDs could be guessed, or be another host's: the ticks grant nothing. */
START_TEST(publish_without_random_bits_grants_nothing_and_recovers)
{
	struct sf_shm_range got;

	use_draw();
	failing = EIO;
	sfd_engine_publish(engine, T_TICK, UINT64_MAX);
	ck_assert_uint_eq(sf_shm_horizon(ring), T_TICK + RUNWAY);
	for (uint64_t tick = T_TICK; tick <= T_TICK + RUNWAY; tick++) {
		ck_assert_uint_eq(grant_of(tick).capacity, 0);
		ck_assert_int_eq(sf_shm_claim(ring, tick, 1, &got), SF_SHM_CLAIM_EXHAUSTED);
	}
	ck_assert_uint_eq(sfd_engine_claimed(engine), 0);
	failing = 0;
	sfd_engine_publish(engine, T_TICK + 1, UINT64_MAX);
	ck_assert_uint_eq(grant_of(T_TICK + RUNWAY + 1).capacity, SF_SHM_CAPACITY_MAX);
	ck_assert_int_eq(sf_shm_claim(ring, T_TICK + RUNWAY + 1, 1, &got), SF_SHM_CLAIM_OK);
}
END_TEST

START_TEST(draw_says_why_it_failed)
{
	use_draw();
	failing = EPERM;
	ck_assert_int_eq(sfd_engine_draw(engine), -EPERM);
	ck_assert_uint_eq(engine->bases.left, 0);
	failing = 0;
	ck_assert_int_eq(sfd_engine_draw(engine), 0);
	ck_assert_uint_eq(drawn - 8, sizeof(engine->bases.pool));
	ck_assert_int_eq(sfd_engine_draw(engine), 0); /* there are some left */
	ck_assert_uint_eq(drawn - 8, sizeof(engine->bases.pool));
}
END_TEST

START_TEST(publish_of_the_tick_with_tag_zero_grants_nothing)
{
	const uint64_t zero = UINT64_C(411) << 32;

	tear_down();
	t_ring_init(&fixture, &(struct t_ring_setup){.layout = "ulid", .first_tick = zero - 1});
	sfd_engine_publish(engine, zero - 1, UINT64_MAX);
	ck_assert_uint_eq(grant_of(zero - 1).capacity, SF_SHM_CAPACITY_MAX);
	ck_assert_uint_eq(grant_of(zero).capacity, 0);
	ck_assert_uint_eq(grant_of(zero + 1).capacity, SF_SHM_CAPACITY_MAX);
}
END_TEST

/* ---- while the wall is behind ---- */

static const enum sf_shm_behind all_behind[] = {SF_SHM_BEHIND_NOTHING, SF_SHM_BEHIND_WAIT,
						SF_SHM_BEHIND_REFUSE, SF_SHM_BEHIND_BORROW};

START_TEST(publish_while_behind_sets_the_state)
{
	const bool holds =
		all_behind[_i] == SF_SHM_BEHIND_WAIT || all_behind[_i] == SF_SHM_BEHIND_REFUSE;

	engine->behind = all_behind[_i];
	sfd_engine_publish(engine, T_TICK, UINT64_MAX);
	ck_assert_uint_eq(state(), holds ? SF_SHM_BEHIND : SF_SHM_RUNNING);
	/* what will be needed when it is over is there */
	ck_assert_uint_eq(sf_shm_horizon(ring), T_TICK + RUNWAY);
	sfd_engine_publish(engine, T_TICK + 2 * RUNWAY, T_TICK + RUNWAY);
	ck_assert_uint_eq(state(), holds ? SF_SHM_BEHIND : SF_SHM_HELD);
	sfd_engine_publish(engine, ring->grants->last_tick + 1, UINT64_MAX);
	ck_assert_uint_eq(state(), SF_SHM_EXHAUSTED);
	sfd_engine_publish(engine, 0, UINT64_MAX);
	ck_assert_uint_eq(state(), SF_SHM_WAITING);
}
END_TEST

START_TEST(beat_while_callers_are_held_back_is_idle)
{
	const bool holds =
		all_behind[_i] == SF_SHM_BEHIND_WAIT || all_behind[_i] == SF_SHM_BEHIND_REFUSE;

	engine->beating = true;
	sfd_engine_beat(engine, T_TICK);
	ck_assert_uint_eq(beat(), sf_shm_beat_make(T_OWNER, T_TICK));
	engine->behind = all_behind[_i];
	sfd_engine_beat(engine, T_TICK);
	ck_assert_uint_eq(beat(),
			  holds ? sf_shm_beat_idle(T_OWNER) : sf_shm_beat_make(T_OWNER, T_TICK));
	engine->behind = SF_SHM_BEHIND_NOTHING;
	sfd_engine_beat(engine, T_TICK);
	ck_assert_uint_eq(beat(), sf_shm_beat_make(T_OWNER, T_TICK));
}
END_TEST

/* ---- demand while time stands still ---- */

/* Claims of the tick at which it stands are seen, each once; so a daemon beats for them. */
START_TEST(measure_counts_the_claims_of_a_tick_that_stands)
{
	const int64_t begin = 77000 * T_MS;
	struct sf_shm_range got;
	uint64_t total = 0;

	engine->behind = SF_SHM_BEHIND_BORROW;
	engine->borrow_tick = T_TICK;
	sfd_engine_publish(engine, T_TICK, UINT64_MAX);
	sfd_engine_measure(engine, T_TICK, begin);
	for (int ms = 1; ms <= 500; ms++) {
		/* ten ticks stand for 50 ms each */
		uint64_t tick = T_TICK + (uint64_t)(ms - 1) / 50;

		engine->borrow_tick = tick;
		sfd_engine_publish(engine, tick, UINT64_MAX);
		ck_assert_int_eq(sf_shm_claim(ring, tick, 30, &got), SF_SHM_CLAIM_OK);
		total += got.count;
		sfd_engine_measure(engine, tick, begin + ms * T_MS);
		ck_assert_uint_eq(engine->demand.second, total);
		ck_assert(engine->beating || ms < 2);
	}
	/* time goes on: none is counted a second time */
	engine->behind = SF_SHM_BEHIND_NOTHING;
	sfd_engine_measure(engine, T_TICK + 10, begin + 501 * T_MS);
	ck_assert_uint_eq(engine->demand.second, total);
	ck_assert_uint_eq(sfd_engine_claimed(engine), total);
}
END_TEST

/* ---- what may be believed of the floor ---- */

static void set_floor(uint64_t floor)
{
	atomic_store_explicit(&ring->claims->floor, floor, memory_order_relaxed);
}

START_TEST(claimed_up_to_is_the_floor_as_far_as_the_horizon)
{
	sfd_engine_publish(engine, T_TICK, UINT64_MAX);
	ck_assert_uint_eq(sfd_engine_claimed_up_to(engine), T_TICK);
	set_floor(T_TICK + 3);
	ck_assert_uint_eq(sfd_engine_claimed_up_to(engine), T_TICK + 3);
	set_floor(T_TICK + RUNWAY);
	ck_assert_uint_eq(sfd_engine_claimed_up_to(engine), T_TICK + RUNWAY);
	set_floor(T_TICK + RUNWAY + 1);
	ck_assert_uint_eq(sfd_engine_claimed_up_to(engine), T_TICK + RUNWAY);
	set_floor(UINT64_MAX);
	ck_assert_uint_eq(sfd_engine_claimed_up_to(engine), T_TICK + RUNWAY);
	set_floor(0);
	ck_assert_uint_eq(sfd_engine_claimed_up_to(engine), 0);
}
END_TEST

START_TEST(publish_while_ticks_are_borrowed_begins_the_runway_at_the_floor)
{
	engine->behind = SF_SHM_BEHIND_BORROW;
	engine->borrow_tick = T_TICK + 1000;
	sfd_engine_publish(engine, T_TICK, UINT64_MAX);
	ck_assert_uint_eq(sf_shm_horizon(ring), T_TICK + RUNWAY);
	set_floor(T_TICK + 3);
	sfd_engine_publish(engine, T_TICK, UINT64_MAX);
	ck_assert_uint_eq(sf_shm_horizon(ring), T_TICK + 3 + RUNWAY);
	/* down again: nothing is taken back, nor published twice */
	set_floor(0);
	sfd_engine_publish(engine, T_TICK, UINT64_MAX);
	ck_assert_uint_eq(sf_shm_horizon(ring), T_TICK + 3 + RUNWAY);
	ck_assert_uint_eq(sfd_stats_get(&fixture.stats, SF_COUNTER_ticks_published), RUNWAY + 4);
	/* a runway a turn at most, and never past the mark */
	for (uint64_t i = 1; i <= 5; i++) {
		set_floor(UINT64_MAX);
		sfd_engine_publish(engine, T_TICK, T_TICK + 3 + 4 * RUNWAY);
		ck_assert_uint_eq(sf_shm_horizon(ring), T_TICK + 3 + (i < 3 ? i + 1 : 4) * RUNWAY);
	}
}
END_TEST

/* No further than time would have come, wherever the page stands by now. */
START_TEST(publish_while_ticks_are_borrowed_keeps_to_the_pace_of_time)
{
	engine->behind = SF_SHM_BEHIND_BORROW;
	for (uint64_t i = 0; i < 100; i++) {
		engine->borrow_tick = T_TICK + i / 10;
		set_floor(UINT64_MAX);
		/* the page follows what was claimed */
		sfd_engine_publish(engine, i == 0 ? T_TICK : engine->horizon, UINT64_MAX);
		ck_assert_uint_eq(sf_shm_horizon(ring), T_TICK + i / 10 + RUNWAY);
	}
}
END_TEST

/* A ring that begins ahead of that time, above what the one before it had, is used nonetheless. */
START_TEST(publish_while_ticks_are_borrowed_begins_with_the_ring)
{
	engine->behind = SF_SHM_BEHIND_BORROW;
	engine->borrow_tick = T_TICK - 1000;
	sfd_engine_publish(engine, T_TICK - 1000, UINT64_MAX);
	set_floor(T_TICK);
	sfd_engine_publish(engine, T_TICK - 1000, UINT64_MAX);
	set_floor(UINT64_MAX);
	sfd_engine_publish(engine, T_TICK, UINT64_MAX);
	ck_assert_uint_eq(sf_shm_horizon(ring), T_TICK + RUNWAY);
}
END_TEST

START_TEST(publish_under_a_floor_that_lies_goes_by_the_clock_otherwise)
{
	engine->behind = all_behind[_i];
	sfd_engine_publish(engine, T_TICK, UINT64_MAX);
	set_floor(UINT64_MAX);
	sfd_engine_publish(engine, T_TICK + 1, UINT64_MAX);
	ck_assert_uint_eq(sf_shm_horizon(ring), T_TICK + 1 + RUNWAY);
}
END_TEST

void t_add_engine_wide(Suite *suite)
{
	TCase *bases = tcase_create("bases");
	TCase *behind = tcase_create("behind");

	tcase_add_checked_fixture(bases, set_up, tear_down);
	tcase_add_loop_test(bases, publish_gives_each_tick_bases_of_its_own, 0, 2);
	tcase_add_test(bases, publish_of_a_64_bit_stream_draws_nothing);
	tcase_add_test(bases, publish_without_random_bits_grants_nothing_and_recovers);
	tcase_add_test(bases, draw_says_why_it_failed);
	tcase_add_test(bases, publish_of_the_tick_with_tag_zero_grants_nothing);
	suite_add_tcase(suite, bases);
	tcase_add_checked_fixture(behind, set_up, tear_down);
	tcase_add_loop_test(behind, publish_while_behind_sets_the_state, 0, T_COUNT(all_behind));
	tcase_add_loop_test(behind, beat_while_callers_are_held_back_is_idle, 0,
			    T_COUNT(all_behind));
	tcase_add_test(behind, measure_counts_the_claims_of_a_tick_that_stands);
	tcase_add_test(behind, claimed_up_to_is_the_floor_as_far_as_the_horizon);
	tcase_add_test(behind, publish_while_ticks_are_borrowed_begins_the_runway_at_the_floor);
	tcase_add_test(behind, publish_while_ticks_are_borrowed_keeps_to_the_pace_of_time);
	tcase_add_test(behind, publish_while_ticks_are_borrowed_begins_with_the_ring);
	tcase_add_loop_test(behind, publish_under_a_floor_that_lies_goes_by_the_clock_otherwise, 0,
			    T_COUNT(all_behind) - 1);
	suite_add_tcase(suite, behind);
}
