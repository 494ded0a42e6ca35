/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libclient over a ring of the test's own: what sf_next, sf_fill and sf_claim_range take from a
 * tick. Waiting, the ends of time, the daemon's moods, ordered IDs and races are in client_*.c.
 */
#include "tests/unit/client_suite.h"

#include <errno.h>
#include <stdlib.h>

struct t_ring t_stream;
struct sf_client *t_client;
struct sf_cursor *t_cursor;

void t_start(const struct t_ring_setup *setup, uint32_t wait)
{
	t_ring_init(&t_stream, setup);
	t_ring_turn(&t_stream);
	t_client = t_client_open(&t_stream, wait);
	t_cursor = t_cursor_open(t_client);
}

void t_end(void)
{
	sf_cursor_close(t_cursor);
	sf_close(t_client);
	t_ring_deinit(&t_stream);
}

uint64_t t_next(struct sf_cursor *cursor)
{
	uint64_t id = 0;
	int r = sf_next(cursor, &id);

	T_EXPECT(r == 0, "sf_next: %d", r);
	return id;
}

uint64_t t_ordered(struct sf_cursor *cursor)
{
	uint64_t id = 0;
	int r = sf_next_ordered(cursor, &id);

	T_EXPECT(r == 0, "sf_next_ordered: %d", r);
	return id;
}

size_t t_next_until(struct sf_cursor *cursor, int error, uint64_t *ret_last)
{
	uint64_t last = 0;
	size_t count = 0;

	for (;;) {
		uint64_t id = 42;
		int r = sf_next(cursor, &id);

		if (r < 0) {
			ck_assert_int_eq(r, error);
			ck_assert_uint_eq(id, 42);
			if (ret_last)
				*ret_last = last;
			return count;
		}
		T_EXPECT(id > last, "%llx after %llx", (unsigned long long)id,
			 (unsigned long long)last);
		last = id;
		count++;
	}
}

uint64_t t_tick_of(uint64_t id)
{
	return t_parts(&t_stream, id).tick;
}

void t_floor_set(uint64_t floor)
{
	atomic_store_explicit(&t_stream.memory.shm.claims->floor, floor, memory_order_relaxed);
}

static uint32_t claimed_at(uint64_t tick)
{
	return sf_shm_claimed(&t_stream.memory.shm, tick);
}

static uint64_t claimed(void)
{
	return sfd_engine_claimed(&t_stream.engine);
}

/* ---- sf_next ---- */

START_TEST(next_takes_the_counters_of_the_clocks_tick_in_order)
{
	t_start(&(struct t_ring_setup){.node = {9}, .node_count = 1}, SF_WAIT_NONE);
	for (uint64_t tick = T_TICK; tick < T_TICK + 40; tick++) {
		if (_i)
			t_ring_beat(&t_stream, tick);
		else
			t_ring_go(&t_stream, tick);
		for (uint32_t i = 0; i < 100; i++) {
			struct sf_parts parts = t_parts(&t_stream, t_next(t_cursor));

			ck_assert_uint_eq(parts.tick, tick);
			ck_assert_uint_eq(parts.sequence, i);
			ck_assert_uint_eq(parts.node, 9);
		}
	}
	t_end();
}
END_TEST

START_TEST(next_gives_a_tick_out_to_the_last_counter)
{
	t_start(&(struct t_ring_setup){0}, SF_WAIT_NONE);
	if (_i)
		t_ring_beat(&t_stream, T_TICK);
	ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, NULL), 4096);
	ck_assert_uint_eq(t_ring_dropped(&t_stream), 0);
	t_end();
}
END_TEST

/* ---- the size of a claim ---- */

START_TEST(next_doubles_its_claims_up_to_a_sixteenth)
{
	uint32_t total = 0;

	t_start(&(struct t_ring_setup){0}, SF_WAIT_NONE);
	t_ring_beat(&t_stream, T_TICK);
	for (uint32_t size = 1; total < 4096 - 256; size = size < 256 ? 2 * size : 256) {
		(void)t_next(t_cursor);
		total += size;
		ck_assert_uint_eq(claimed_at(T_TICK), total);
		for (uint32_t i = 1; i < size; i++)
			(void)t_next(t_cursor);
		ck_assert_uint_eq(claimed_at(T_TICK), total);
	}
	t_end();
}
END_TEST

START_TEST(next_halves_its_claims_after_a_range_was_thrown_away)
{
	uint64_t tick = T_TICK;

	t_start(&(struct t_ring_setup){0}, SF_WAIT_NONE);
	t_ring_beat(&t_stream, tick);
	for (int i = 0; i < 1000; i++)
		(void)t_next(t_cursor);
	for (uint32_t size = 128; size >= 2; size /= 2) {
		t_ring_beat(&t_stream, ++tick);
		(void)t_next(t_cursor);
		ck_assert_uint_eq(claimed_at(tick), size);
	}
	for (int i = 0; i < 5; i++) {
		t_ring_beat(&t_stream, ++tick);
		(void)t_next(t_cursor);
		ck_assert_uint_eq(claimed_at(tick), 1);
	}
	t_end();
}
END_TEST

START_TEST(next_claims_at_most_what_the_layout_allows)
{
	static const struct {
		const char *layout;
		uint32_t limit;
	} table[] = {{"t41 n3 s20", SF_SHM_CLAIM_MAX},
		     {T_SMALL, 1},
		     {"t41 n20 s2", 1},
		     {"t41 n17 s5", 2}};
	uint32_t before = 0;
	uint32_t most = 0;

	t_start(&(struct t_ring_setup){.layout = table[_i].layout}, SF_WAIT_NONE);
	t_ring_beat(&t_stream, T_TICK);
	for (int i = 0; i < 20000; i++) {
		uint64_t id;
		uint32_t now;

		if (sf_next(t_cursor, &id) < 0)
			break;
		now = claimed_at(T_TICK);
		if (now - before > most)
			most = now - before;
		before = now;
	}
	ck_assert_uint_eq(most, table[_i].limit);
	t_end();
}
END_TEST

/* ---- several node ids ---- */

static const struct t_ring_setup several[] = {
	{.layout = "t41 n18 s4", .node = {4, 5, 6}, .node_count = 3},
	{.layout = "t41 n18 s4", .node = {1, 5, 900}, .node_count = 3},
	{.layout = "t41 s4 n18", .node = {1, 2, 900}, .node_count = 3},
	{.layout = "t39 s8 n16 tick=10ms", .node = {7, 8, 9, 65535}, .node_count = 4},
	{.layout = "discord", .node = {31, 32}, .node_count = 2},
};

START_TEST(next_with_several_node_ids_gives_their_capacities_together)
{
	const struct t_ring_setup *setup = &several[_i / 2];
	uint64_t last_before = 0;
	uint32_t capacity;

	t_start(setup, SF_WAIT_NONE);
	capacity = setup->node_count << t_stream.config.layout.sequence_bits;
	for (uint64_t tick = T_TICK; tick < T_TICK + 20; tick++) {
		uint64_t last;

		if (_i % 2)
			t_ring_beat(&t_stream, tick);
		else
			t_ring_go(&t_stream, tick);
		ck_assert_uint_eq(t_next_until(t_cursor, -EAGAIN, &last), capacity);
		ck_assert_uint_eq(t_ring_dropped(&t_stream), 0);
		ck_assert_uint_gt(last, last_before);
		ck_assert_uint_eq(t_tick_of(last), tick);
		last_before = last;
	}
	t_end();
}
END_TEST

/* ---- sf_fill ---- */

static uint64_t ids[4096];

START_TEST(fill_gives_exactly_n_across_ticks)
{
	const size_t n = (size_t)_i;

	t_start(&(struct t_ring_setup){.layout = T_SMALL}, SF_WAIT_SLEEP);
	t_sleep_ring = &t_stream;
	ids[n] = 77;
	ck_assert_int_eq(sf_fill(t_cursor, ids, n), 0);
	ck_assert_uint_eq(ids[n], 77);
	t_ids_assert_rising(ids, n);
	for (size_t i = 0; i < n; i++)
		ck_assert_uint_eq(t_tick_of(ids[i]), T_TICK + i / T_SMALL_CAPACITY);
	ck_assert_uint_eq(claimed(), n);
	t_end();
}
END_TEST

START_TEST(fill_goes_on_with_the_cursors_range)
{
	uint64_t last = 0;

	t_start(&(struct t_ring_setup){0}, SF_WAIT_NONE);
	t_ring_beat(&t_stream, T_TICK);
	for (int i = 0; i < 10; i++) /* 1 + 2 + 4 + 8: five are left */
		last = t_next(t_cursor);
	ck_assert_int_eq(sf_fill(t_cursor, ids, 3), 0);
	ck_assert_uint_eq(claimed(), 15);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(ids[i], last + 1 + (uint64_t)i);
	ck_assert_int_eq(sf_fill(t_cursor, ids + 3, 500), 0);
	for (uint64_t i = 0; i < 503; i++)
		ck_assert_uint_eq(ids[i], last + 1 + i);
	ck_assert_uint_gt(t_next(t_cursor), ids[502]);
	ck_assert_uint_eq(t_ring_dropped(&t_stream), 0);
	t_end();
}
END_TEST

START_TEST(fill_after_the_beat_moved_drops_the_range)
{
	t_start(&(struct t_ring_setup){0}, SF_WAIT_NONE);
	t_ring_beat(&t_stream, T_TICK);
	for (int i = 0; i < 10; i++)
		(void)t_next(t_cursor);
	t_ring_beat(&t_stream, T_TICK + 1);
	ck_assert_int_eq(sf_fill(t_cursor, ids, 100), 0);
	for (size_t i = 0; i < 100; i++)
		ck_assert_uint_eq(t_tick_of(ids[i]), T_TICK + 1);
	ck_assert_uint_eq(t_ring_dropped(&t_stream), 5);
	t_end();
}
END_TEST

START_TEST(fill_over_scattered_node_ids_rises)
{
	t_start(&several[_i], SF_WAIT_SLEEP);
	t_sleep_ring = &t_stream;
	ck_assert_int_eq(sf_fill(t_cursor, ids, 700), 0);
	t_ids_assert_rising(ids, 700);
	ck_assert_uint_eq(claimed(), 700 + t_ring_dropped(&t_stream));
	t_end();
}
END_TEST

/* What was claimed before the error is given to nobody. */
START_TEST(fc68_fill_that_fails_counts_its_ids_as_dropped)
{
	t_start(&(struct t_ring_setup){.layout = T_SMALL}, SF_WAIT_NONE);
	ck_assert_int_eq(sf_fill(t_cursor, ids, T_SMALL_CAPACITY + 1), -EAGAIN);
	ck_assert_uint_eq(claimed(), T_SMALL_CAPACITY);
	ck_assert_uint_eq(t_ring_dropped(&t_stream), T_SMALL_CAPACITY);
	t_end();
}
END_TEST

/* ---- sf_claim_range ---- */

START_TEST(claim_range_refuses_counts_out_of_range)
{
	struct sf_range range = {.first = 42};

	t_start(&(struct t_ring_setup){.layout = "t41 n3 s20"}, SF_WAIT_NONE);
	ck_assert_int_eq(sf_claim_range(t_cursor, 0, &range), -EINVAL);
	ck_assert_int_eq(sf_claim_range(t_cursor, SF_SHM_CLAIM_MAX + 1, &range), -EINVAL);
	ck_assert_int_eq(sf_claim_range(t_cursor, UINT32_MAX, &range), -EINVAL);
	ck_assert_uint_eq(range.first, 42);
	ck_assert_uint_eq(claimed(), 0);
	ck_assert_int_eq(sf_claim_range(t_cursor, 1, &range), 0);
	ck_assert_uint_eq(range.count, 1);
	ck_assert_int_eq(sf_claim_range(t_cursor, SF_SHM_CLAIM_MAX, &range), 0);
	ck_assert_uint_eq(range.count, SF_SHM_CLAIM_MAX);
	t_end();
}
END_TEST

START_TEST(claim_range_gives_a_sixteenth_at_most_and_the_rest_of_a_tick)
{
	struct sf_range range;
	uint64_t next = 0;

	t_start(&(struct t_ring_setup){0}, SF_WAIT_NONE);
	for (uint32_t taken = 0; taken < 4096; taken += range.count) {
		ck_assert_int_eq(sf_claim_range(t_cursor, taken ? 300 : 100, &range), 0);
		ck_assert_uint_ge(range.count, 1);
		ck_assert_uint_le(range.count, 256);
		ck_assert_uint_eq(range.step, 1);
		ck_assert_uint_eq(t_tick_of(range.first), T_TICK);
		if (next)
			ck_assert_uint_eq(range.first, next);
		next = range.first + range.count;
	}
	ck_assert_int_eq(sf_claim_range(t_cursor, 1, &range), -EAGAIN);
	ck_assert_uint_eq(t_ring_dropped(&t_stream), 0);
	t_end();
}
END_TEST

START_TEST(claim_range_is_evenly_spaced_over_the_node_below)
{
	struct sf_range range;

	t_start(&(struct t_ring_setup){.layout = "sonyflake"}, SF_WAIT_NONE);
	ck_assert_int_eq(sf_claim_range(t_cursor, 16, &range), 0);
	ck_assert_uint_eq(range.count, 16);
	ck_assert_uint_eq(range.step, 1 << 16);
	for (uint32_t i = 0; i < range.count; i++) {
		struct sf_parts parts = t_parts(&t_stream, range.first + i * range.step);

		ck_assert_uint_eq(parts.sequence, i);
		ck_assert_uint_eq(parts.node, 5);
		ck_assert_uint_eq(parts.tick, T_TICK);
	}
	t_end();
}
END_TEST

/* ---- cursors ---- */

START_TEST(cursor_close_counts_what_is_left_as_dropped)
{
	struct sf_cursor *other;

	t_start(&(struct t_ring_setup){0}, SF_WAIT_NONE);
	t_ring_beat(&t_stream, T_TICK);
	other = t_cursor_open(t_client);
	for (int i = 0; i < 10; i++)
		(void)t_next(other);
	sf_cursor_close(other);
	ck_assert_uint_eq(t_ring_dropped(&t_stream), 5);
	sf_cursor_close(NULL);
	sf_close(NULL);
	t_end();
}
END_TEST

START_TEST(cursor_outlives_its_client)
{
	uint64_t first;

	t_start(&(struct t_ring_setup){0}, SF_WAIT_NONE);
	first = t_next(t_cursor);
	sf_close(t_client);
	ck_assert_uint_gt(t_next(t_cursor), first);
	sf_cursor_close(t_cursor);
	t_ring_deinit(&t_stream);
}
END_TEST

START_TEST(cursor_set_wait_refuses_what_is_out_of_range)
{
	t_start(&(struct t_ring_setup){0}, SF_WAIT_NONE);
	ck_assert_int_eq(sf_cursor_set_wait(NULL, SF_WAIT_NONE, 1), -EINVAL);
	ck_assert_int_eq(sf_cursor_set_wait(t_cursor, 0, 1), -EINVAL);
	ck_assert_int_eq(sf_cursor_set_wait(t_cursor, SF_WAIT_NONE + 1, 1), -EINVAL);
	ck_assert_int_eq(sf_cursor_set_wait(t_cursor, SF_WAIT_NONE, 0), -EINVAL);
	ck_assert_int_eq(sf_cursor_set_wait(t_cursor, SF_WAIT_NONE, -2), -EINVAL);
	ck_assert_int_eq(sf_cursor_set_wait(t_cursor, SF_WAIT_SPIN, SF_TIMEOUT_NONE), 0);
	t_end();
}
END_TEST

static void add_claims(Suite *suite)
{
	TCase *claims = tcase_create("claims");

	tcase_set_timeout(claims, 60);
	tcase_add_loop_test(claims, next_takes_the_counters_of_the_clocks_tick_in_order, 0, 2);
	tcase_add_loop_test(claims, next_gives_a_tick_out_to_the_last_counter, 0, 2);
	tcase_add_test(claims, next_doubles_its_claims_up_to_a_sixteenth);
	tcase_add_test(claims, next_halves_its_claims_after_a_range_was_thrown_away);
	tcase_add_loop_test(claims, next_claims_at_most_what_the_layout_allows, 0, 4);
	tcase_add_loop_test(claims, next_with_several_node_ids_gives_their_capacities_together, 0,
			    2 * T_COUNT(several));
	suite_add_tcase(suite, claims);
}

static void add_batches(Suite *suite)
{
	TCase *batches = tcase_create("batches");

	tcase_add_loop_test(batches, fill_gives_exactly_n_across_ticks, 0, 100);
	tcase_add_test(batches, fill_goes_on_with_the_cursors_range);
	tcase_add_test(batches, fill_after_the_beat_moved_drops_the_range);
	tcase_add_loop_test(batches, fill_over_scattered_node_ids_rises, 0, T_COUNT(several));
	tcase_add_test(batches, fc68_fill_that_fails_counts_its_ids_as_dropped);
	tcase_add_test(batches, claim_range_refuses_counts_out_of_range);
	tcase_add_test(batches, claim_range_gives_a_sixteenth_at_most_and_the_rest_of_a_tick);
	tcase_add_test(batches, claim_range_is_evenly_spaced_over_the_node_below);
	suite_add_tcase(suite, batches);
}

int main(void)
{
	Suite *suite = suite_create("client");
	TCase *cursors = tcase_create("cursors");
	SRunner *runner = srunner_create(suite);
	int failed;

	add_claims(suite);
	add_batches(suite);
	tcase_add_test(cursors, cursor_close_counts_what_is_left_as_dropped);
	tcase_add_test(cursors, cursor_outlives_its_client);
	tcase_add_test(cursors, cursor_set_wait_refuses_what_is_out_of_range);
	suite_add_tcase(suite, cursors);
	t_add_client_wait(suite);
	t_add_client_end(suite);
	t_add_client_daemon(suite);
	t_add_client_open(suite);
	t_add_client_ordered(suite);
	t_add_client_tally(suite);
	t_add_client_windows(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
