/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libclient and the daemon's moods: beating, idle, late, dead, cleanly stopped, back with a new
 * ring. What matters each time is how fresh an ID is and whether a range is kept.
 */
#include "tests/unit/client_suite.h"

#include "shm/beat.h"

#include <errno.h>

#define RUNWAY 8u

static uint64_t beat(void)
{
	return atomic_load_explicit(&t_stream.memory.shm.grants->beat, memory_order_relaxed);
}

/* What the kernel does when the beating thread ends. */
static void die(void)
{
	uint64_t dead = (uint64_t)FUTEX_OWNER_DIED << 32 | (uint32_t)beat();

	atomic_store_explicit(&t_stream.memory.shm.grants->beat, dead, memory_order_relaxed);
}

static bool holds_a_range(const struct sf_cursor *cursor)
{
	return cursor->next != cursor->end;
}

static void start_beating(void)
{
	t_start(&(struct t_ring_setup){0}, SF_WAIT_NONE);
	t_ring_beat(&t_stream, T_TICK);
	for (int i = 0; i < 10; i++)
		(void)t_next(t_cursor);
	ck_assert(holds_a_range(t_cursor));
}

/* Each ID is a claim of its own and carries the clock's tick, while the runway lasts. */
static void expect_fresh_ids_of_one_claim_each(uint64_t first, uint64_t last)
{
	for (uint64_t tick = first; tick <= last; tick++) {
		t_ring_clock(&t_stream, tick);
		for (uint32_t i = 1; i <= 20; i++) {
			ck_assert_uint_eq(t_tick_of(t_next(t_cursor)), tick);
			ck_assert(!holds_a_range(t_cursor));
		}
	}
}

/* ---- beating ---- */

START_TEST(next_while_the_daemon_beats_takes_from_its_range_alone)
{
	uint64_t word;

	start_beating();
	word = t_ring_word_now(&t_stream, T_TICK);
	while (holds_a_range(t_cursor))
		(void)t_next(t_cursor);
	ck_assert_uint_eq(t_ring_word_now(&t_stream, T_TICK), word);
	t_end();
}
END_TEST

START_TEST(next_after_the_beat_moved_drops_its_range)
{
	uint64_t left;

	start_beating();
	left = t_cursor->end - t_cursor->next;
	t_ring_beat(&t_stream, T_TICK + 1);
	ck_assert_uint_eq(t_tick_of(t_next(t_cursor)), T_TICK + 1);
	ck_assert_uint_eq(t_ring_dropped(&t_stream), left);
	t_end();
}
END_TEST

START_TEST(fc41_next_after_three_idle_hours_carries_the_present_tick)
{
	const uint64_t later = T_TICK + UINT64_C(3) * 3600 * 1000;
	uint64_t before;
	uint64_t left;
	uint64_t id;

	start_beating();
	before = t_next(t_cursor);
	left = t_cursor->end - t_cursor->next;
	ck_assert_uint_gt(left, 0);
	for (uint64_t tick = T_TICK + 60000; tick <= later; tick += 60000)
		t_ring_beat(&t_stream, tick);
	id = t_next(t_cursor);
	ck_assert_uint_eq(t_tick_of(id), later);
	ck_assert_uint_gt(id, before);
	ck_assert_uint_eq(t_ring_dropped(&t_stream), left);
	t_end();
}
END_TEST

START_TEST(fc41_next_on_a_ring_that_nobody_used_carries_the_present_tick)
{
	const uint64_t later = T_TICK + UINT64_C(3) * 3600 * 1000;

	t_start(&(struct t_ring_setup){0}, SF_WAIT_NONE);
	t_ring_go(&t_stream, later);
	ck_assert_uint_eq(t_tick_of(t_next(t_cursor)), later);
	t_end();
}
END_TEST

/* ---- idle and late ---- */

START_TEST(next_while_the_daemon_idles_keeps_nothing)
{
	t_start(&(struct t_ring_setup){0}, SF_WAIT_NONE);
	ck_assert_uint_eq(beat(), sf_shm_beat_idle(T_OWNER));
	expect_fresh_ids_of_one_claim_each(T_TICK, T_TICK + RUNWAY);
	ck_assert_uint_eq(t_ring_dropped(&t_stream), 0);
	t_end();
}
END_TEST

START_TEST(next_while_the_daemon_is_late_keeps_nothing)
{
	start_beating();
	t_ring_clock(&t_stream, T_TICK + 1);
	while (holds_a_range(t_cursor))
		(void)t_next(t_cursor);
	expect_fresh_ids_of_one_claim_each(T_TICK + 1, T_TICK + RUNWAY);
	t_end();
}
END_TEST

START_TEST(next_after_the_daemon_began_to_idle_drops_its_range)
{
	start_beating();
	t_stream.engine.beating = false;
	t_ring_turn(&t_stream);
	expect_fresh_ids_of_one_claim_each(T_TICK, T_TICK + RUNWAY);
	t_end();
}
END_TEST

/* A clock that reads behind the beat is no late daemon. */
START_TEST(next_under_a_beat_ahead_of_the_clock_keeps_its_range)
{
	t_start(&(struct t_ring_setup){.ahead_ms = 1}, SF_WAIT_NONE);
	t_ring_beat(&t_stream, T_TICK + 1);
	t_ring_clock(&t_stream, T_TICK);
	for (int i = 0; i < 10; i++)
		(void)t_next(t_cursor);
	ck_assert(holds_a_range(t_cursor));
	t_end();
}
END_TEST

/* ---- dead and stopped ---- */

START_TEST(next_after_the_daemon_died_lives_on_the_runway_then_says_so)
{
	start_beating();
	die();
	expect_fresh_ids_of_one_claim_each(T_TICK, T_TICK + RUNWAY);
	t_ring_clock(&t_stream, T_TICK + RUNWAY + 1);
	ck_assert_uint_eq(t_next_until(t_cursor, -ESHUTDOWN, NULL), 0);
	ck_assert_int_eq(sf_cursor_set_wait(t_cursor, SF_WAIT_SLEEP, 20 * T_MS), 0);
	ck_assert_uint_eq(t_next_until(t_cursor, -ESHUTDOWN, NULL), 0);
	ck_assert_uint_gt(t_sleeps, 0);
	/* the runway may be borrowed from no further than the limit, so that is no shutdown */
	t_ring_clock(&t_stream, T_TICK + RUNWAY - 1);
	ck_assert_int_eq(sf_cursor_set_wait(t_cursor, SF_WAIT_NONE, T_MS), 0);
	ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, NULL), 0);
	t_end();
}
END_TEST

START_TEST(next_past_the_horizon_of_a_living_daemon_is_no_shutdown)
{
	t_start(&(struct t_ring_setup){0}, SF_WAIT_NONE);
	t_ring_clock(&t_stream, T_TICK + RUNWAY + 1);
	ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, NULL), 0);
	ck_assert_int_eq(sf_cursor_set_wait(t_cursor, SF_WAIT_SLEEP, 5 * T_MS), 0);
	ck_assert_uint_eq(t_next_until(t_cursor, -ETIMEDOUT, NULL), 0);
	t_sleep_ring = &t_stream;
	(void)t_next(t_cursor);
	t_end();
}
END_TEST

START_TEST(next_after_a_clean_stop_uses_what_was_kept_then_says_so)
{
	uint64_t last;

	start_beating();
	last = sfd_engine_stop(&t_stream.engine, T_TICK, 2);
	ck_assert_uint_eq(last, T_TICK + 2);
	expect_fresh_ids_of_one_claim_each(T_TICK, last);
	t_ring_clock(&t_stream, last + 1);
	ck_assert_uint_eq(t_next_until(t_cursor, -ESHUTDOWN, NULL), 0);
	ck_assert_uint_eq(sf_shm_floor(&t_stream.memory.shm), last);
	t_end();
}
END_TEST

/* ---- a new ring ---- */

/* The next daemon: its ring starts above the last one's, its page goes on with the same time. */
static void begin_anew(struct t_ring *next, const struct t_ring_setup *setup)
{
	int64_t mono_ns = atomic_load_explicit(&t_mono_ns, memory_order_relaxed);
	struct sf_shm_clock page;

	ck_assert_int_eq(sf_shm_time_read(&t_stream.memory.shm.grants->time, &page), 0);
	t_ring_init(next, setup);
	sf_shm_time_write(&next->memory.shm.grants->time, &page);
	atomic_store_explicit(&t_mono_ns, mono_ns, memory_order_relaxed);
	t_ring_turn(next);
}

START_TEST(next_moves_over_when_its_own_runway_ends)
{
	const uint64_t first = T_TICK + RUNWAY + 1;
	struct t_ring next;
	uint64_t last;

	start_beating();
	die();
	begin_anew(&next, &(struct t_ring_setup){.first_tick = first});
	t_client_attach(t_client, &next);
	expect_fresh_ids_of_one_claim_each(T_TICK, T_TICK + RUNWAY);
	last = t_next(t_cursor);
	for (uint64_t tick = first; tick < first + 20; tick++) {
		t_ring_beat(&next, tick);
		for (int i = 0; i < 100; i++) {
			uint64_t id = t_next(t_cursor);

			ck_assert_uint_gt(id, last);
			ck_assert_uint_eq(t_tick_of(id), tick);
			last = id;
		}
	}
	/* the counts of the old ring are final: nothing more is taken from it */
	ck_assert_uint_ge(sfd_engine_claimed(&next.engine), 2000);
	t_end();
	t_ring_deinit(&next);
}
END_TEST

/* Killed twice inside one runway: the ring in between has ticks that the newest has not. */
START_TEST(fc61_next_goes_from_ring_to_ring_and_skips_none)
{
	const uint64_t first = T_TICK + RUNWAY + 1;
	struct t_ring second;
	struct t_ring third;
	uint64_t last = 0;

	start_beating();
	die();
	begin_anew(&second, &(struct t_ring_setup){.first_tick = first});
	t_ring_go(&second, T_TICK + 4); /* publishes four ticks beyond the first ring's horizon */
	begin_anew(&third, &(struct t_ring_setup){.first_tick = first + 4});
	t_client_attach(t_client, &second);
	t_client_attach(t_client, &third);
	for (uint64_t tick = T_TICK; tick < first + 12; tick++) {
		uint64_t id;

		t_ring_go(&third, tick);
		id = t_next(t_cursor);
		ck_assert_uint_eq(t_tick_of(id), tick);
		ck_assert_uint_gt(id, last);
		last = id;
	}
	ck_assert_uint_eq(sfd_engine_claimed(&second.engine), 4);
	t_end();
	t_ring_deinit(&second);
	t_ring_deinit(&third);
}
END_TEST

/* Who comes new to the heir must not borrow into it while the old ring is in use. */
START_TEST(next_on_a_ring_that_begins_later_borrows_nothing_before)
{
	const uint64_t first = T_TICK + RUNWAY + 1;
	struct t_ring next;
	struct sf_client *client;
	struct sf_cursor *cursor;

	start_beating();
	die();
	begin_anew(&next, &(struct t_ring_setup){.first_tick = first, .ahead_ms = 100});
	next.memory.shm.grants->open_mono_ns = t_ring_mono_ns(&next, first);
	client = t_client_open(&next, SF_WAIT_NONE);
	cursor = t_cursor_open(client);
	for (uint64_t tick = T_TICK; tick < first; tick++) {
		t_ring_go(&next, tick);
		ck_assert_uint_eq(t_next_until(cursor, -EAGAIN, NULL), 0);
	}
	ck_assert_int_eq(sf_cursor_set_wait(cursor, SF_WAIT_SLEEP, 100 * T_MS), 0);
	t_sleep_ring = &next;
	ck_assert_uint_eq(t_tick_of(t_next(cursor)), first);
	ck_assert_uint_eq(t_sleeps, 1);
	ck_assert_int_eq(t_slept_until[0], t_ring_mono_ns(&next, first));
	sf_cursor_close(cursor);
	sf_close(client);
	t_end();
	t_ring_deinit(&next);
}
END_TEST

START_TEST(ordered_moves_over_and_keeps_nothing_of_the_old_ring)
{
	const uint64_t first = T_TICK + RUNWAY + 1;
	struct t_ring next;
	uint64_t last;

	start_beating();
	last = t_ordered(t_cursor);
	die();
	begin_anew(&next, &(struct t_ring_setup){.first_tick = first});
	t_client_attach(t_client, &next);
	for (uint64_t tick = T_TICK; tick < first + 20; tick++) {
		t_ring_beat(&next, tick);
		for (int i = 0; i < 30; i++) {
			uint64_t id = t_ordered(t_cursor);

			ck_assert_uint_gt(id, last);
			ck_assert_uint_eq(t_tick_of(id), tick);
			last = id;
		}
	}
	t_end();
	t_ring_deinit(&next);
}
END_TEST

/* By then the old ring, where the last ordered ID came from, is no longer mapped. */
START_TEST(ordered_after_next_moved_over_uses_the_new_ring)
{
	const uint64_t first = T_TICK + RUNWAY + 1;
	struct t_ring next;
	uint64_t last;

	start_beating();
	(void)t_ordered(t_cursor);
	die();
	begin_anew(&next, &(struct t_ring_setup){.first_tick = first});
	t_client_attach(t_client, &next);
	t_ring_beat(&next, first);
	last = t_next(t_cursor);
	ck_assert_uint_eq(t_tick_of(last), first);
	ck_assert_uint_gt(t_ordered(t_cursor), last);
	t_end();
	t_ring_deinit(&next);
}
END_TEST

/* The other way round: sf_next's own view of the old ring must be gone, too. */
START_TEST(next_after_another_call_moved_over_reads_nothing_of_the_old_ring)
{
	const uint64_t first = T_TICK + RUNWAY + 1;
	struct t_ring next;
	struct sf_range range;
	uint64_t last;

	start_beating();
	(void)t_next(t_cursor); /* a range of one: used up, its beat still in the cursor */
	die();
	begin_anew(&next, &(struct t_ring_setup){.first_tick = first});
	t_client_attach(t_client, &next);
	t_ring_beat(&next, first);
	if (_i == 0) {
		last = t_ordered(t_cursor);
	} else {
		ck_assert_int_eq(sf_claim_range(t_cursor, 1, &range), 0);
		last = range.first;
	}
	ck_assert_uint_eq(t_tick_of(last), first);
	ck_assert_uint_gt(t_next(t_cursor), last);
	t_end();
	t_ring_deinit(&next);
}
END_TEST

/* The wall stepped forward between two daemons: the old ring's clients go by the old page. */
START_TEST(next_on_a_ring_that_is_not_open_yet_waits_whatever_its_page_shows)
{
	const uint64_t first = T_TICK + 1000;
	struct t_ring next;

	start_beating();
	die();
	begin_anew(&next, &(struct t_ring_setup){.first_tick = first});
	next.memory.shm.grants->open_mono_ns = t_ring_mono_ns(&t_stream, T_TICK + RUNWAY + 1);
	t_ring_go(&next, first + 5);
	atomic_store_explicit(&t_mono_ns, t_ring_mono_ns(&t_stream, T_TICK + RUNWAY),
			      memory_order_relaxed);
	next.memory.shm.grants->time.copy[0].base_unix_ns += 2000 * T_MS;
	next.memory.shm.grants->time.copy[1].base_unix_ns += 2000 * T_MS;
	t_client_attach(t_client, &next);
	sf_cursor_close(t_cursor);
	t_cursor = t_cursor_open(t_client);
	ck_assert_int_eq(sf_cursor_set_wait(t_cursor, SF_WAIT_NONE, 1), 0);
	ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, NULL), 0);
	t_end();
	t_ring_deinit(&next);
}
END_TEST

START_TEST(adopt_of_another_layout_is_refused)
{
	struct t_ring next;

	start_beating();
	die();
	begin_anew(&next,
		   &(struct t_ring_setup){.layout = "coola", .first_tick = T_TICK + RUNWAY + 1});
	ck_assert_int_eq(sf_client_adopt(t_client, next.memory.grants_fd, next.memory.claims_fd, 0),
			 -EPROTO);
	ck_assert_uint_eq(t_tick_of(t_next(t_cursor)), T_TICK);
	t_end();
	t_ring_deinit(&next);
}
END_TEST

START_TEST(adopt_of_the_same_ring_again_changes_nothing)
{
	uint64_t last;

	start_beating();
	last = t_next(t_cursor);
	ck_assert_int_eq(
		sf_client_adopt(t_client, t_stream.memory.grants_fd, t_stream.memory.claims_fd, 0),
		-EALREADY);
	ck_assert_uint_eq(t_next(t_cursor), last + 1);
	t_end();
}
END_TEST

void t_add_client_daemon(Suite *suite)
{
	TCase *moods = tcase_create("moods");
	TCase *heir = tcase_create("heir");

	tcase_set_timeout(moods, 60);
	tcase_add_test(moods, next_while_the_daemon_beats_takes_from_its_range_alone);
	tcase_add_test(moods, next_after_the_beat_moved_drops_its_range);
	tcase_add_test(moods, fc41_next_after_three_idle_hours_carries_the_present_tick);
	tcase_add_test(moods, fc41_next_on_a_ring_that_nobody_used_carries_the_present_tick);
	tcase_add_test(moods, next_while_the_daemon_idles_keeps_nothing);
	tcase_add_test(moods, next_while_the_daemon_is_late_keeps_nothing);
	tcase_add_test(moods, next_after_the_daemon_began_to_idle_drops_its_range);
	tcase_add_test(moods, next_under_a_beat_ahead_of_the_clock_keeps_its_range);
	tcase_add_test(moods, next_after_the_daemon_died_lives_on_the_runway_then_says_so);
	tcase_add_test(moods, next_past_the_horizon_of_a_living_daemon_is_no_shutdown);
	tcase_add_test(moods, next_after_a_clean_stop_uses_what_was_kept_then_says_so);
	suite_add_tcase(suite, moods);
	tcase_add_test(heir, next_moves_over_when_its_own_runway_ends);
	tcase_add_test(heir, fc61_next_goes_from_ring_to_ring_and_skips_none);
	tcase_add_test(heir, next_on_a_ring_that_begins_later_borrows_nothing_before);
	tcase_add_test(heir, ordered_moves_over_and_keeps_nothing_of_the_old_ring);
	tcase_add_test(heir, ordered_after_next_moved_over_uses_the_new_ring);
	tcase_add_loop_test(heir, next_after_another_call_moved_over_reads_nothing_of_the_old_ring,
			    0, 2);
	tcase_add_test(heir, next_on_a_ring_that_is_not_open_yet_waits_whatever_its_page_shows);
	tcase_add_test(heir, adopt_of_another_layout_is_refused);
	tcase_add_test(heir, adopt_of_the_same_ring_again_changes_nothing);
	suite_add_tcase(suite, heir);
}
