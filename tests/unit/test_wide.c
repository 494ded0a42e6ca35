/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Streams of the wide formats over a ring of the test's own: what sf_next128, sf_fill128 and
 * sf_claim_range128 take from a tick, and the two widths against each other. The bits of an ID are
 * in wide_bits.c, the order over many IDs, cursors and processes in wide_order.c.
 */
#include "tests/unit/wide_suite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const t_wide_formats[T_WIDE_FORMATS] = {"ulid", "uuid7", "objectid", "hound"};

struct t_ring t_wide_ring;
struct sf_client *t_wide_client;
struct sf_cursor *t_wide_cursor;
ssize_t (*t_wide_draw)(void *buffer, size_t bytes, unsigned flags);

void t_wide_start_with(const struct t_ring_setup *setup, bool is_beating)
{
	t_ring_init(&t_wide_ring, setup);
	if (t_wide_draw)
		t_wide_ring.engine.bases.draw = t_wide_draw;
	t_wide_ring.engine.beating = is_beating;
	t_ring_turn(&t_wide_ring);
	t_wide_client = t_client_open(&t_wide_ring, SF_WAIT_NONE);
	t_wide_cursor = t_cursor_open(t_wide_client);
}

void t_wide_start(int format, bool is_beating)
{
	t_wide_start_with(&(struct t_ring_setup){.layout = t_wide_formats[format]}, is_beating);
}

void t_wide_end(void)
{
	sf_cursor_close(t_wide_cursor);
	sf_close(t_wide_client);
	t_ring_deinit(&t_wide_ring);
}

static ssize_t draw_ones(void *buffer, size_t bytes, unsigned flags)
{
	(void)flags;
	memset(buffer, 0xff, bytes);
	return (ssize_t)bytes;
}

static ssize_t draw_zeros(void *buffer, size_t bytes, unsigned flags)
{
	(void)flags;
	memset(buffer, 0, bytes);
	return (ssize_t)bytes;
}

void t_wide_draw_ones(void)
{
	t_wide_draw = draw_ones;
}

void t_wide_draw_zeros(void)
{
	t_wide_draw = draw_zeros;
}

void t_wide_take(struct sf_cursor *cursor, struct sf_wide *last)
{
	struct sf_wide id = {0, 0};
	int error = sf_next128(cursor, &id);

	T_EXPECT(error == 0, "no ID: %s", sf_strerror(error));
	T_EXPECT(sf_wide_compare(last, &id) < 0, "%016llx%016llx after %016llx%016llx",
		 (unsigned long long)id.high, (unsigned long long)id.low,
		 (unsigned long long)last->high, (unsigned long long)last->low);
	*last = id;
}

uint64_t t_wide_tick(const struct sf_wide *id)
{
	return t_wide_ring.config.layout.format == SF_FORMAT_OBJECTID ? id->high : id->high >> 16;
}

static uint64_t claimed(void)
{
	return sfd_engine_claimed(&t_wide_ring.engine);
}

/* ---- sf_next128 ---- */

START_TEST(next_takes_neighbours_of_the_clocks_tick)
{
	struct sf_wide last = {0, 0};

	t_wide_start(_i / 2, _i % 2);
	for (uint64_t tick = T_TICK; tick < T_TICK + 40; tick++) {
		struct sf_wide first;

		t_ring_go(&t_wide_ring, tick);
		t_wide_take(t_wide_cursor, &last);
		first = last;
		ck_assert_uint_eq(t_wide_tick(&last), tick);
		for (uint64_t i = 1; i < 100; i++) {
			t_wide_take(t_wide_cursor, &last);
			ck_assert_uint_eq(last.high, first.high);
			ck_assert_uint_eq(last.low, first.low + i);
		}
	}
	/* an idle daemon: one at a time; a daemon that beats: the rest of the last range is left */
	if (_i % 2 == 0)
		ck_assert_uint_eq(claimed(), 4000);
	ck_assert_uint_eq(claimed(), 4000 + t_ring_dropped(&t_wide_ring) +
					     (t_wide_cursor->low_end - t_wide_cursor->low));
	t_wide_end();
}
END_TEST

START_TEST(next_doubles_its_claims_up_to_the_most)
{
	struct sf_wide last = {0, 0};
	uint32_t total = 0;

	t_wide_start(_i, true);
	for (uint32_t size = 1; total < 20 * SF_SHM_CLAIM_MAX;
	     size = size < SF_SHM_CLAIM_MAX ? 2 * size : SF_SHM_CLAIM_MAX) {
		t_wide_take(t_wide_cursor, &last);
		total += size;
		ck_assert_uint_eq(sf_shm_claimed(&t_wide_ring.memory.shm, T_TICK), total);
		for (uint32_t i = 1; i < size; i++)
			t_wide_take(t_wide_cursor, &last);
	}
	ck_assert_uint_eq(t_ring_dropped(&t_wide_ring), 0);
	t_wide_end();
}
END_TEST

/* The last counters of a tick: nothing carries, and the next tick is not touched. */
START_TEST(next_gives_a_tick_out_to_the_last_counter)
{
	const uint32_t left = 5;
	struct sf_wide last = {0, 0};
	struct sf_wide first;
	struct sf_wide id = {42, 43};

	t_wide_start(_i / 2, _i % 2);
	t_wide_take(t_wide_cursor, &last);
	first = last;
	atomic_store_explicit(t_ring_word(&t_wide_ring, T_TICK),
			      sf_shm_word(T_TICK, SF_SHM_CAPACITY_MAX - left),
			      memory_order_relaxed);
	for (uint32_t i = 0; i < left; i++) {
		t_wide_take(t_wide_cursor, &last);
		ck_assert_uint_eq(last.high, first.high);
		ck_assert_uint_eq(last.low - first.low, SF_SHM_CAPACITY_MAX - left + i);
	}
	ck_assert_int_eq(sf_next128(t_wide_cursor, &id), -EAGAIN);
	ck_assert_int_eq(sf_next128_ordered(t_wide_cursor, &id), -EAGAIN);
	ck_assert_uint_eq(id.high, 42);
	ck_assert_uint_eq(id.low, 43);
	t_ring_go(&t_wide_ring, T_TICK + 1);
	t_wide_take(t_wide_cursor, &last);
	ck_assert_uint_eq(t_wide_tick(&last), T_TICK + 1);
	t_wide_end();
}
END_TEST

/* The present tick, whatever lies in hand. */
START_TEST(fc41_next_after_three_idle_hours_carries_the_present_tick)
{
	const uint64_t hours = UINT64_C(3) * 3600 * 1000;
	struct sf_wide last = {0, 0};
	uint64_t tick;
	uint64_t left;

	t_wide_start(_i / 2, _i % 2);
	for (int i = 0; i < 1000; i++)
		t_wide_take(t_wide_cursor, &last);
	left = t_wide_cursor->low_end - t_wide_cursor->low;
	ck_assert((left > 0) == (_i % 2 != 0));
	tick = T_TICK + hours / t_wide_ring.config.layout.tick_ms;
	t_ring_go(&t_wide_ring, tick);
	t_wide_take(t_wide_cursor, &last);
	ck_assert_uint_eq(t_wide_tick(&last), tick);
	ck_assert_uint_eq(t_ring_dropped(&t_wide_ring), left);
	t_wide_end();
}
END_TEST

/* ---- batches ---- */

START_TEST(fill_gives_exactly_n_over_ticks)
{
	static struct sf_wide ids[20000];
	const size_t sizes[] = {0, 1, 7, 8192, 8193, T_COUNT(ids)};
	struct sf_wide last = {0, 0};

	t_wide_start(_i / 2, _i % 2);
	for (uint64_t round = 0; round < 12; round++) {
		const size_t size = sizes[round % T_COUNT(sizes)];

		t_ring_go(&t_wide_ring, T_TICK + round);
		t_wide_take(t_wide_cursor, &last);
		ck_assert_int_eq(sf_fill128(t_wide_cursor, ids, size), 0);
		for (size_t i = 0; i < size; i++) {
			T_EXPECT(sf_wide_compare(&last, &ids[i]) < 0, "ID %zu falls", i);
			T_EXPECT(t_wide_tick(&ids[i]) == T_TICK + round, "ID %zu is old", i);
			last = ids[i];
		}
	}
	t_wide_end();
}
END_TEST

START_TEST(fill_goes_on_with_the_cursors_range)
{
	struct sf_wide ids[100];
	struct sf_wide last = {0, 0};

	t_wide_start(_i, true);
	for (int i = 0; i < 10; i++)
		t_wide_take(t_wide_cursor, &last);
	ck_assert_uint_eq(t_wide_cursor->low_end - t_wide_cursor->low, 5);
	ck_assert_int_eq(sf_fill128(t_wide_cursor, ids, 3), 0);
	ck_assert_int_eq(sf_fill128(t_wide_cursor, ids + 3, 97), 0);
	for (uint64_t i = 0; i < 100; i++)
		ck_assert_uint_eq(ids[i].low, last.low + 1 + i);
	ck_assert_uint_eq(t_ring_dropped(&t_wide_ring), 0);
	t_wide_end();
}
END_TEST

START_TEST(fc68_fill_that_fails_counts_its_ids_as_dropped)
{
	struct sf_wide ids[100];

	t_wide_start(_i, true);
	atomic_store_explicit(t_ring_word(&t_wide_ring, T_TICK),
			      sf_shm_word(T_TICK, SF_SHM_CAPACITY_MAX - 60), memory_order_relaxed);
	ck_assert_int_eq(sf_fill128(t_wide_cursor, ids, T_COUNT(ids)), -EAGAIN);
	ck_assert_uint_eq(t_ring_dropped(&t_wide_ring), 60);
	t_wide_end();
}
END_TEST

START_TEST(claim_range_gives_all_that_was_asked_for)
{
	static const uint32_t counts[] = {1, 2, 1000, SF_SHM_CLAIM_MAX};
	struct sf_range128 range = {.first = {42, 43}};
	struct sf_wide next = {0, 0};
	uint64_t left;

	t_wide_start(_i / 2, _i % 2);
	ck_assert_int_eq(sf_claim_range128(t_wide_cursor, 0, &range), -EINVAL);
	ck_assert_int_eq(sf_claim_range128(t_wide_cursor, SF_SHM_CLAIM_MAX + 1, &range), -EINVAL);
	ck_assert_int_eq(sf_claim_range128(t_wide_cursor, UINT32_MAX, &range), -EINVAL);
	ck_assert_uint_eq(range.first.high, 42);
	ck_assert_uint_eq(claimed(), 0);
	for (size_t i = 0; i < T_COUNT(counts); i++) {
		ck_assert_int_eq(sf_claim_range128(t_wide_cursor, counts[i], &range), 0);
		ck_assert_uint_eq(range.count, counts[i]);
		ck_assert_uint_eq(t_wide_tick(&range.first), T_TICK);
		if (i > 0) {
			ck_assert_uint_eq(range.first.high, next.high);
			ck_assert_uint_eq(range.first.low, next.low);
		}
		next = range.first;
		next.low += range.count;
	}
	/* what the cursor had in hand is dropped, so that its IDs go on rising */
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(sf_next128(t_wide_cursor, &next), 0);
	left = t_wide_cursor->low_end - t_wide_cursor->low;
	ck_assert_int_eq(sf_claim_range128(t_wide_cursor, 5, &range), 0);
	ck_assert_uint_eq(range.first.low, next.low + left + 1);
	ck_assert_uint_eq(t_ring_dropped(&t_wide_ring), left);
	next = range.first;
	next.low += 4;
	t_wide_take(t_wide_cursor, &next);
	t_wide_end();
}
END_TEST

START_TEST(cursor_close_counts_what_is_left_as_dropped)
{
	struct sf_wide last = {0, 0};
	struct sf_cursor *other;

	t_wide_start(_i, true);
	other = t_cursor_open(t_wide_client);
	for (int i = 0; i < 10; i++)
		t_wide_take(other, &last);
	sf_cursor_close(other);
	ck_assert_uint_eq(t_ring_dropped(&t_wide_ring), 5);
	t_wide_end();
}
END_TEST

/* ---- the other width ---- */

/* Each after the calls that leave something in hand: a range, or a tick in mind. */
static void warm_wide(int what)
{
	struct sf_wide id;

	for (int i = 0; i < 10; i++) {
		if (what == 1)
			ck_assert_int_eq(sf_next128(t_wide_cursor, &id), 0);
		if (what == 2)
			ck_assert_int_eq(sf_next128_ordered(t_wide_cursor, &id), 0);
	}
}

START_TEST(calls_of_64_bits_on_a_wide_stream_take_nothing)
{
	const struct sf_wide untouched = {42, 43};
	struct sf_wide last = {0, 0};
	struct sf_range range = {.first = 42};
	uint64_t ids[3] = {42, 42, 42};
	uint64_t before;

	t_wide_start(_i / 6, _i % 2);
	warm_wide(_i / 2 % 3);
	before = claimed();
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(sf_next(t_wide_cursor, ids), -ENOTSUP);
		ck_assert_int_eq(sf_next_slow(t_wide_cursor, ids), -ENOTSUP);
		ck_assert_int_eq(sf_next_ordered(t_wide_cursor, ids), -ENOTSUP);
		ck_assert_int_eq(sf_fill(t_wide_cursor, ids, 3), -ENOTSUP);
		ck_assert_int_eq(sf_fill(t_wide_cursor, ids, 0), -ENOTSUP);
		ck_assert_int_eq(sf_claim_range(t_wide_cursor, 3, &range), -ENOTSUP);
	}
	for (size_t i = 0; i < 3; i++)
		ck_assert_uint_eq(ids[i], 42);
	ck_assert_uint_eq(range.first, 42);
	ck_assert_uint_eq(claimed(), before);
	ck_assert_uint_eq(t_ring_dropped(&t_wide_ring), 0);
	ck_assert_uint_eq(t_ring_waits(&t_wide_ring), 0);
	t_wide_take(t_wide_cursor, &last);
	ck_assert_uint_ne(last.high, untouched.high);
	t_wide_end();
}
END_TEST

START_TEST(calls_of_128_bits_on_a_64_bit_stream_take_nothing)
{
	const struct sf_wide untouched = {42, 43};
	struct sf_range128 range = {.first = untouched};
	struct sf_wide ids[3] = {untouched, untouched, untouched};
	uint64_t before;
	uint64_t id = 0;

	t_wide_start_with(&(struct t_ring_setup){0}, _i % 2);
	for (int i = 0; i < 10 && _i / 2 == 1; i++)
		ck_assert_int_eq(sf_next(t_wide_cursor, &id), 0);
	for (int i = 0; i < 10 && _i / 2 == 2; i++)
		ck_assert_int_eq(sf_next_ordered(t_wide_cursor, &id), 0);
	before = claimed();
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(sf_next128(t_wide_cursor, ids), -ENOTSUP);
		ck_assert_int_eq(sf_next128_slow(t_wide_cursor, ids), -ENOTSUP);
		ck_assert_int_eq(sf_next128_ordered(t_wide_cursor, ids), -ENOTSUP);
		ck_assert_int_eq(sf_fill128(t_wide_cursor, ids, 3), -ENOTSUP);
		ck_assert_int_eq(sf_fill128(t_wide_cursor, ids, 0), -ENOTSUP);
		ck_assert_int_eq(sf_claim_range128(t_wide_cursor, 3, &range), -ENOTSUP);
	}
	for (size_t i = 0; i < 3; i++)
		ck_assert_int_eq(sf_wide_compare(&ids[i], &untouched), 0);
	ck_assert_int_eq(sf_wide_compare(&range.first, &untouched), 0);
	ck_assert_uint_eq(claimed(), before);
	ck_assert_uint_eq(t_ring_dropped(&t_wide_ring), 0);
	ck_assert_int_eq(sf_next(t_wide_cursor, &id), 0);
	t_wide_end();
}
END_TEST

START_TEST(client_tells_what_the_stream_is)
{
	const uint32_t *node;
	uint32_t count = 77;

	t_wide_start(_i, false);
	ck_assert_str_eq(sf_layout_name(sf_client_layout(t_wide_client)), t_wide_formats[_i]);
	ck_assert_str_eq(sf_client_stream(t_wide_client), "default");
	node = sf_client_nodes(t_wide_client, &count);
	ck_assert_uint_eq(count, 0);
	ck_assert_ptr_nonnull(node);
	ck_assert_int_eq(sf_cursor_remaining_ms(t_wide_cursor), 0);
	t_wide_end();
}
END_TEST

START_TEST(errors_of_wide_streams_have_sentences)
{
	ck_assert_ptr_nonnull(strstr(sf_strerror(-ENOTSUP), "sf_next128"));
	ck_assert_ptr_nonnull(strstr(sf_strerror(-ETIME), "refuses until"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wide");
	TCase *claims = tcase_create("claims");
	TCase *width = tcase_create("width");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(claims, 60);
	tcase_add_loop_test(claims, next_takes_neighbours_of_the_clocks_tick, 0,
			    2 * T_WIDE_FORMATS);
	tcase_add_loop_test(claims, next_doubles_its_claims_up_to_the_most, 0, T_WIDE_FORMATS);
	tcase_add_loop_test(claims, next_gives_a_tick_out_to_the_last_counter, 0,
			    2 * T_WIDE_FORMATS);
	tcase_add_loop_test(claims, fc41_next_after_three_idle_hours_carries_the_present_tick, 0,
			    2 * T_WIDE_FORMATS);
	tcase_add_loop_test(claims, fill_gives_exactly_n_over_ticks, 0, 2 * T_WIDE_FORMATS);
	tcase_add_loop_test(claims, fill_goes_on_with_the_cursors_range, 0, T_WIDE_FORMATS);
	tcase_add_loop_test(claims, fc68_fill_that_fails_counts_its_ids_as_dropped, 0,
			    T_WIDE_FORMATS);
	tcase_add_loop_test(claims, claim_range_gives_all_that_was_asked_for, 0,
			    2 * T_WIDE_FORMATS);
	tcase_add_loop_test(claims, cursor_close_counts_what_is_left_as_dropped, 0, T_WIDE_FORMATS);
	suite_add_tcase(suite, claims);
	tcase_add_loop_test(width, calls_of_64_bits_on_a_wide_stream_take_nothing, 0,
			    6 * T_WIDE_FORMATS);
	tcase_add_loop_test(width, calls_of_128_bits_on_a_64_bit_stream_take_nothing, 0, 6);
	tcase_add_loop_test(width, client_tells_what_the_stream_is, 0, T_WIDE_FORMATS);
	tcase_add_test(width, errors_of_wide_streams_have_sentences);
	suite_add_tcase(suite, width);
	t_add_wide_bits(suite);
	t_add_wide_order(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
