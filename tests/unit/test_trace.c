/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libclient while somebody traces: the IDs are those that an untraced cursor would give, in the
 * same order, none twice, and every fetch is told of exactly once. The test raises the semaphores
 * as the kernel would.
 */
#include "libclient/trace.h"
#include "tests/support/ring_fixture.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* 131,072 IDs a tick: a claim of 4,096. */
#define LAYOUT "t41 n5 s17"
#define DRAWN 100000

static struct t_ring stream;
static struct sf_client *client;
static struct sf_cursor *cursor;

static void set_tracing(bool is_on)
{
	unsigned short value = is_on ? 1 : 0;

	__atomic_store_n(&sfclient_fetch_semaphore, value, __ATOMIC_RELAXED);
	__atomic_store_n(&sfclient_claim_semaphore, value, __ATOMIC_RELAXED);
	__atomic_store_n(&sfclient_wait_semaphore, value, __ATOMIC_RELAXED);
	__atomic_store_n(&sfclient_fork_semaphore, value, __ATOMIC_RELAXED);
}

static void start(const char *layout)
{
	t_ring_init(&stream, &(struct t_ring_setup){.layout = layout, .ahead_ms = 2});
	client = t_client_open(&stream, SF_WAIT_NONE);
	cursor = t_cursor_open(client);
	t_ring_beat(&stream, T_TICK);
}

static void end(void)
{
	set_tracing(false);
	sf_cursor_close(cursor);
	sf_close(client);
	t_ring_deinit(&stream);
}

/** Fetches of the cursor that no event has told of yet. */
static uint64_t untold(void)
{
	const struct sf_held *held = sf_held(cursor);
	uint64_t shown = sf_cursor_left(cursor) - held->ids;

	return held->fetches + (held->shown > shown ? held->shown - shown : 0);
}

START_TEST(every_fetch_is_told_of_once_and_one_in_1024_is_timed)
{
	uint32_t events = 0;
	uint64_t since = 0;
	uint64_t last = 0;

	start(LAYOUT);
	set_tracing(true);
	for (int i = 0; i < DRAWN; i++) {
		uint64_t id;

		if (i % 5000 == 4999)
			t_ring_beat(&stream, T_TICK + (uint64_t)i / 5000);
		T_EXPECT(sf_next(cursor, &id) == 0, "fetch %d failed", i);
		T_EXPECT(id > last, "fetch %d does not rise", i);
		last = id;
		since++;
		if (sf_held(cursor)->events != events) {
			T_EXPECT(sf_held(cursor)->events == events + 1, "two events of fetch %d",
				 i);
			events++;
			since = 0;
		}
		T_EXPECT(untold() == since, "fetch %d: %ju untold, not %ju", i, untold(), since);
		T_EXPECT(since < SF_TRACE_EVERY, "fetch %d: nothing told since %ju", i, since);
	}
	/* one a claim, and one in 1,024 of what a claim gave */
	ck_assert_uint_ge(events, DRAWN / SF_TRACE_EVERY);
	ck_assert_uint_lt(events, 3 * DRAWN / SF_TRACE_EVERY);
	end();
}
END_TEST

START_TEST(one_in_1024_is_timed_where_ranges_are_smaller)
{
	uint64_t timed = 0;
	uint64_t largest = 0;
	uint32_t events = 0;

	start("t41 n10 s12 epoch=1288834974657"); /* a sixteenth of the tick: 256 */
	set_tracing(true);
	for (int i = 0; i < DRAWN; i++) {
		uint64_t left = sf_cursor_left(cursor);
		uint64_t id;

		if (i % 2000 == 1999)
			t_ring_beat(&stream, T_TICK + (uint64_t)i / 2000);
		T_EXPECT(sf_next(cursor, &id) == 0, "fetch %d failed", i);
		if (sf_held(cursor)->events != events && sf_cursor_left(cursor) + 1 == left)
			timed++; /* told of, and no claim */
		events = sf_held(cursor)->events;
		if (largest < left)
			largest = left;
	}
	ck_assert_uint_lt(largest, SF_TRACE_EVERY);
	/* claims do not count towards it */
	ck_assert_uint_ge(timed, DRAWN / (SF_TRACE_EVERY + SF_TRACE_EVERY / 16));
	ck_assert_uint_le(timed, DRAWN / SF_TRACE_EVERY + 1);
	end();
}
END_TEST

START_TEST(untraced_cursor_holds_nothing_back)
{
	start(LAYOUT);
	for (int i = 0; i < DRAWN / 10; i++) {
		uint64_t id;

		T_EXPECT(sf_next(cursor, &id) == 0, "fetch %d failed", i);
		T_EXPECT(sf_held(cursor)->ids == 0 && sf_held(cursor)->events == 0 && untold() == 0,
			 "fetch %d was traced", i);
	}
	end();
}
END_TEST

static const char *const layouts[] = {LAYOUT, "ulid"};

/** Some IDs by any call; `*ret_last` is the highest. @return how many, 0: none were left */
static uint64_t take_at_random(uint64_t *random, struct sf_wide *ret_first,
			       struct sf_wide *ret_last)
{
	static uint64_t narrow[3000];
	static struct sf_wide wide[3000];
	const bool is_wide = sf_cursor_is_wide(sf_cursor_private(cursor));
	const uint64_t shown = sf_cursor_left(cursor) - sf_held(cursor)->ids;
	/* often all that is shown: the range is empty then, and is not */
	const uint32_t many = shown > 0 && shown <= T_COUNT(narrow) && t_random(random) % 2
				      ? (uint32_t)shown
				      : 1 + (uint32_t)(t_random(random) % T_COUNT(narrow));
	struct sf_range range;
	struct sf_range128 range128;
	uint64_t count = 1;
	int error;

	switch (t_random(random) % 8) {
	case 0:
		count = many;
		error = is_wide ? sf_fill128(cursor, wide, many) : sf_fill(cursor, narrow, many);
		break;
	case 1:
		error = is_wide ? sf_next128_ordered(cursor, wide)
				: sf_next_ordered(cursor, narrow);
		break;
	case 2:
		error = is_wide ? sf_claim_range128(cursor, many, &range128)
				: sf_claim_range(cursor, many, &range);
		if (error < 0)
			return 0;
		count = is_wide ? range128.count : range.count;
		wide[0] = range128.first;
		wide[count - 1] = range128.first;
		wide[count - 1].low += count - 1;
		narrow[0] = range.first;
		narrow[count - 1] = range.first + range.step * (count - 1);
		break;
	default:
		count = many;
		error = 0;
		for (uint32_t i = 0; error == 0 && i < many; i++) {
			error = is_wide ? sf_next128(cursor, &wide[i])
					: sf_next(cursor, &narrow[i]);
			T_EXPECT(error < 0 || i == 0 ||
					 (is_wide ? wide[i].low > wide[i - 1].low ||
							    wide[i].high > wide[i - 1].high
						  : narrow[i] > narrow[i - 1]),
				 "does not rise");
		}
	}
	if (error < 0)
		return 0;
	*ret_first = is_wide ? wide[0] : (struct sf_wide){.low = narrow[0]};
	*ret_last = is_wide ? wide[count - 1] : (struct sf_wide){.low = narrow[count - 1]};
	return count;
}

static bool is_above(struct sf_wide one, struct sf_wide other)
{
	return one.high > other.high || (one.high == other.high && one.low > other.low);
}

START_TEST(tracing_that_comes_and_goes_changes_no_order_and_loses_nothing)
{
	uint64_t random = t_seed() + (uint64_t)_i;
	struct sf_wide last = {0};
	uint64_t tick = T_TICK;
	uint64_t given = 0;
	bool has_failed = false;

	start(layouts[_i % 2]);
	for (int i = 0; i < 2000; i++) {
		struct sf_wide from = {0};
		struct sf_wide to = {0};
		uint64_t count;

		set_tracing(t_random(&random) % 3 != 0);
		if (has_failed || t_random(&random) % 4 == 0)
			t_ring_beat(&stream, ++tick);
		count = take_at_random(&random, &from, &to);
		has_failed = count == 0;
		if (has_failed)
			continue;
		given += count;
		T_EXPECT(is_above(from, last), "step %d is not above the last", i);
		last = to;
	}
	ck_assert_uint_gt(given, 100000);
	end();
}
END_TEST

START_TEST(fill_goes_on_with_what_is_held_back)
{
	uint64_t ids[1500];
	uint64_t told;
	uint64_t id;

	start(LAYOUT);
	set_tracing(true);
	do
		ck_assert_int_eq(sf_next(cursor, &id), 0);
	while (sf_cursor_left(cursor) < T_COUNT(ids));
	ck_assert_uint_gt(sf_held(cursor)->ids, 0);
	told = untold();
	ck_assert_int_eq(sf_fill(cursor, ids, T_COUNT(ids)), 0);
	for (size_t i = 0; i < T_COUNT(ids); i++)
		T_EXPECT(ids[i] == id + (i + 1) * cursor->step, "no. %zu is no neighbour", i);
	ck_assert_uint_eq(untold(), told); /* a batch is no fetch */
	end();
}
END_TEST

START_TEST(fill128_goes_on_with_what_is_held_back)
{
	struct sf_wide ids[1500];
	struct sf_wide id;

	start("ulid");
	set_tracing(true);
	do
		ck_assert_int_eq(sf_next128(cursor, &id), 0);
	while (sf_cursor_left(cursor) < T_COUNT(ids));
	ck_assert_uint_gt(sf_held(cursor)->ids, 0);
	ck_assert_int_eq(sf_fill128(cursor, ids, T_COUNT(ids)), 0);
	for (size_t i = 0; i < T_COUNT(ids); i++)
		T_EXPECT(ids[i].low == id.low + i + 1, "no. %zu is no neighbour", i);
	end();
}
END_TEST

START_TEST(claimed_is_what_was_given_dropped_and_left)
{
	uint64_t random = t_seed();
	uint64_t given = 0;

	start(LAYOUT);
	for (int i = 0; i < 200; i++) {
		const int many = (int)(t_random(&random) % 4000);

		set_tracing(i % 3 != 0);
		for (int k = 0; k < many; k++) {
			uint64_t id;

			T_EXPECT(sf_next(cursor, &id) == 0, "fetch failed");
			given++;
		}
		t_ring_beat(&stream, T_TICK + (uint64_t)i);
	}
	ck_assert_uint_eq(sfd_engine_claimed(&stream.engine),
			  given + t_ring_dropped(&stream) + sf_cursor_left(cursor));
	end();
}
END_TEST

START_TEST(forked_child_gets_nothing_of_what_is_held_back)
{
	uint64_t ids[2000];
	uint64_t id;
	int status;
	int ends[2];
	pid_t pid;

	start(LAYOUT);
	set_tracing(true);
	do
		ck_assert_int_eq(sf_next(cursor, &id), 0);
	while (sf_held(cursor)->ids == 0);
	ck_assert_int_eq(pipe(ends), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		for (int i = 0; i < 1000; i++)
			if (sf_next(cursor, &ids[i]) < 0)
				_exit(1);
		_exit(write(ends[1], ids, 1000 * sizeof(ids[0])) < 0);
	}
	for (int i = 1000; i < 2000; i++)
		ck_assert_int_eq(sf_next(cursor, &ids[i]), 0);
	ck_assert_int_eq((int)read(ends[0], ids, 1000 * sizeof(ids[0])),
			 (int)(1000 * sizeof(ids[0])));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	t_ids_assert_distinct(ids, T_COUNT(ids));
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace");
	TCase *trace = tcase_create("trace");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(trace, 60);
	tcase_add_test(trace, every_fetch_is_told_of_once_and_one_in_1024_is_timed);
	tcase_add_test(trace, one_in_1024_is_timed_where_ranges_are_smaller);
	tcase_add_test(trace, untraced_cursor_holds_nothing_back);
	tcase_add_loop_test(trace, tracing_that_comes_and_goes_changes_no_order_and_loses_nothing,
			    0, 6);
	tcase_add_test(trace, fill_goes_on_with_what_is_held_back);
	tcase_add_test(trace, fill128_goes_on_with_what_is_held_back);
	tcase_add_test(trace, claimed_is_what_was_given_dropped_and_left);
	tcase_add_test(trace, forked_child_gets_nothing_of_what_is_held_back);
	suite_add_tcase(suite, trace);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
