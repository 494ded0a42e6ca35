/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libclient: sf_next_ordered is larger than everything that was returned before, on whatever
 * cursor, by whatever call; and it gives a tick out as fully and freshly as sf_next does.
 */
#include "tests/unit/client_suite.h"

#include <errno.h>

static struct sf_client *other_client;
static struct sf_cursor *other;

static void start_two(const struct t_ring_setup *setup)
{
	t_start(setup, SF_WAIT_NONE);
	other_client = t_client_open(&t_stream, SF_WAIT_NONE);
	other = t_cursor_open(other_client);
}

static void end_two(void)
{
	sf_cursor_close(other);
	sf_close(other_client);
	t_end();
}

static const struct t_ring_setup setups[] = {
	{.ahead_ms = 2},
	{.layout = T_SMALL, .ahead_ms = 2},
	{.layout = T_SMALL, .ahead_ms = 3, .node = {1, 2, 3}, .node_count = 3},
	{.layout = T_SMALL, .ahead_ms = 3, .node = {1, 5, 90}, .node_count = 3},
	{.layout = "t41 s4 n18", .ahead_ms = 2, .node = {1, 5}, .node_count = 2},
	{.layout = "sonyflake", .ahead_ms = 20},
};

START_TEST(ordered_interleaved_over_two_clients_rises)
{
	uint64_t last = 0;

	start_two(&setups[_i / 2]);
	for (uint64_t tick = T_TICK; tick < T_TICK + 50; tick++) {
		if (_i % 2)
			t_ring_beat(&t_stream, tick);
		else
			t_ring_go(&t_stream, tick);
		for (int i = 0; i < 30; i++) {
			uint64_t id;

			if (sf_next_ordered(i % 2 ? t_cursor : other, &id) < 0)
				break;
			ck_assert_uint_gt(id, last);
			ck_assert_uint_ge(t_tick_of(id), tick);
			last = id;
		}
	}
	end_two();
}
END_TEST

/* One step of either cursor, by any call. */
static void take_at_random(uint64_t *random, uint64_t *highest)
{
	struct sf_cursor *cursor = t_random(random) % 2 ? t_cursor : other;
	struct sf_range range;
	uint64_t ids[5];

	switch (t_random(random) % 5) {
	case 0:
		if (sf_next(cursor, ids) == 0 && ids[0] > *highest)
			*highest = ids[0];
		break;
	case 1:
		if (sf_fill(cursor, ids, 5) == 0 && ids[4] > *highest)
			*highest = ids[4];
		break;
	case 2:
		if (sf_claim_range(cursor, 3, &range) == 0 &&
		    range.first + (range.count - 1) * range.step > *highest)
			*highest = range.first + (range.count - 1) * range.step;
		break;
	default:
		if (sf_next_ordered(cursor, ids) < 0)
			break;
		T_EXPECT(ids[0] > *highest, "%llx after %llx", (unsigned long long)ids[0],
			 (unsigned long long)*highest);
		*highest = ids[0];
	}
}

/* Whatever the clock and the daemon do. */
START_TEST(ordered_is_above_all_that_was_returned_before)
{
	uint64_t random = t_seed();
	uint64_t highest = 0;
	uint64_t tick = T_TICK + 10;

	start_two(&setups[_i]);
	for (int i = 0; i < 30000; i++) {
		uint64_t what = t_random(&random);

		if (what % 16 == 0) {
			tick += what / 16 % 4;
			tick -= what / 64 % 3; /* the clock goes back as well */
			t_ring_clock(&t_stream, tick);
		}
		if (what % 7 == 0) {
			t_stream.engine.beating = what / 1024 % 4 != 0;
			t_ring_turn(&t_stream);
		}
		take_at_random(&random, &highest);
	}
	ck_assert_uint_gt(highest, 0);
	end_two();
}
END_TEST

START_TEST(ordered_gives_a_tick_out_to_the_last_counter)
{
	const struct t_ring_setup *setup = &setups[_i / 2];
	uint64_t last = 0;
	uint32_t capacity;

	start_two(setup);
	capacity = t_stream.memory.shm.grants->capacity;
	for (uint64_t tick = T_TICK; tick < T_TICK + 10; tick++) {
		/* the first tick has those that may be borrowed as well */
		uint32_t want = tick == T_TICK
					? capacity * (1 + t_stream.memory.shm.grants->ahead_ticks)
					: capacity;
		uint64_t id = 42;

		if (_i % 2)
			t_ring_beat(&t_stream, tick);
		else
			t_ring_go(&t_stream, tick);
		for (uint32_t i = 0; i < want; i++) {
			id = t_ordered(i % 3 ? t_cursor : other);
			T_EXPECT(id > last, "counter %u falls", i);
			last = id;
		}
		id = 42;
		ck_assert_int_eq(sf_next_ordered(t_cursor, &id), -EAGAIN);
		ck_assert_int_eq(sf_next_ordered(other, &id), -EAGAIN);
		ck_assert_uint_eq(id, 42);
	}
	ck_assert_uint_eq(t_ring_dropped(&t_stream), 0);
	end_two();
}
END_TEST

START_TEST(ordered_goes_along_when_another_raised_the_floor)
{
	uint64_t last;

	start_two(&(struct t_ring_setup){.layout = T_SMALL, .ahead_ms = 5});
	t_ring_beat(&t_stream, T_TICK);
	(void)t_ordered(t_cursor); /* keeps the tick in mind */
	ck_assert_uint_eq(t_tick_of(t_ordered(t_cursor)), T_TICK);
	sf_shm_floor_raise(&t_stream.memory.shm, T_TICK + 3);
	last = t_ordered(other);
	ck_assert_uint_eq(t_tick_of(last), T_TICK + 3);
	ck_assert_uint_gt(t_ordered(t_cursor), last);
	end_two();
}
END_TEST

START_TEST(ordered_goes_along_when_the_beat_moves)
{
	start_two(&(struct t_ring_setup){0});
	for (uint64_t tick = T_TICK; tick < T_TICK + 100; tick++) {
		t_ring_beat(&t_stream, tick);
		for (int i = 0; i < 10; i++)
			ck_assert_uint_eq(t_tick_of(t_ordered(t_cursor)), tick);
	}
	end_two();
}
END_TEST

/* The daemon stands still without being dead: its beat looks live for ever. */
START_TEST(ordered_under_a_stopped_daemon_looks_at_the_clock_again)
{
	unsigned stale = 0;

	start_two(&(struct t_ring_setup){0});
	t_ring_beat(&t_stream, T_TICK);
	(void)t_ordered(t_cursor);
	t_ring_clock(&t_stream, T_TICK + 5);
	while (t_tick_of(t_ordered(t_cursor)) == T_TICK)
		stale++;
	ck_assert_uint_le(stale, 256);
	for (int i = 0; i < 1000; i++)
		ck_assert_uint_eq(t_tick_of(t_ordered(t_cursor)), T_TICK + 5);
	end_two();
}
END_TEST

/* The slot is reused under a cursor that keeps its tick in mind, at worst with the same tag. */
START_TEST(ordered_over_a_slot_that_was_reused_takes_nothing_of_the_old_tick)
{
	const uint64_t later = T_TICK + (_i ? UINT64_C(1) << 32 : 16);
	const struct sf_shm_range grant = {.tick = later, .capacity = 4096};
	uint64_t id = 42;

	start_two(&(struct t_ring_setup){0});
	t_ring_beat(&t_stream, T_TICK);
	for (int i = 0; i < 10; i++)
		(void)t_ordered(t_cursor);
	(void)sf_shm_publish(&t_stream.memory.shm, &grant);
	if (sf_next_ordered(t_cursor, &id) == 0)
		ck_assert_uint_gt(t_tick_of(id), T_TICK);
	else
		ck_assert_uint_eq(id, 42);
	if (_i == 0) /* what it took of the new tick is gone, and counted */
		ck_assert_uint_eq(sf_shm_claimed(&t_stream.memory.shm, later),
				  t_ring_dropped(&t_stream));
	end_two();
}
END_TEST

START_TEST(ordered_drops_the_range_of_the_cursor)
{
	uint64_t id = 0;
	uint64_t left;

	start_two(&(struct t_ring_setup){0});
	t_ring_beat(&t_stream, T_TICK);
	for (int i = 0; i < 10; i++)
		id = t_next(t_cursor);
	left = t_cursor->end - t_cursor->next;
	ck_assert_uint_gt(left, 0);
	ck_assert_uint_eq(t_ordered(t_cursor), id + left + 1);
	ck_assert_uint_eq(t_ring_dropped(&t_stream), left);
	ck_assert_uint_eq(t_next(t_cursor), id + left + 2);
	end_two();
}
END_TEST

START_TEST(ordered_with_a_spread_start_carries_the_grants_sequence)
{
	uint64_t last = 0;

	start_two(&(struct t_ring_setup){.ahead_ms = 1});
	t_stream.engine.spread = 256;
	for (uint64_t tick = T_TICK + 9; tick < T_TICK + 109; tick++) {
		uint32_t start;

		t_ring_beat(&t_stream, tick);
		start = atomic_load_explicit(
			&t_stream.memory.shm.grant[tick & t_stream.memory.shm.mask].start,
			memory_order_relaxed);
		for (uint32_t i = 0; i < 10; i++) {
			uint64_t id = t_ordered(i % 2 ? t_cursor : other);

			ck_assert_uint_eq(t_parts(&t_stream, id).sequence, start + i);
			ck_assert_uint_gt(id, last);
			last = id;
		}
	}
	end_two();
}
END_TEST

void t_add_client_ordered(Suite *suite)
{
	TCase *ordered = tcase_create("ordered");

	tcase_set_timeout(ordered, 120);
	tcase_add_loop_test(ordered, ordered_interleaved_over_two_clients_rises, 0,
			    2 * T_COUNT(setups));
	tcase_add_loop_test(ordered, ordered_is_above_all_that_was_returned_before, 0,
			    T_COUNT(setups));
	tcase_add_loop_test(ordered, ordered_gives_a_tick_out_to_the_last_counter, 0,
			    2 * T_COUNT(setups));
	tcase_add_test(ordered, ordered_goes_along_when_another_raised_the_floor);
	tcase_add_test(ordered, ordered_goes_along_when_the_beat_moves);
	tcase_add_test(ordered, ordered_under_a_stopped_daemon_looks_at_the_clock_again);
	tcase_add_loop_test(
		ordered, ordered_over_a_slot_that_was_reused_takes_nothing_of_the_old_tick, 0, 2);
	tcase_add_test(ordered, ordered_drops_the_range_of_the_cursor);
	tcase_add_test(ordered, ordered_with_a_spread_start_carries_the_grants_sequence);
	suite_add_tcase(suite, ordered);
}
