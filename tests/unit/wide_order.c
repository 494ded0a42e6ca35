/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Wide streams: that IDs rise, as values, as bytes and as text, and that none comes twice; over a
 * million of one cursor, over a clock that stands still, over cursors, and over fork.
 */
#include "tests/unit/wide_suite.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned format_now(void)
{
	return t_wide_ring.config.layout.format;
}

static void assert_form(const char *text)
{
	const char *digits = format_now() == SF_FORMAT_ULID ? "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
							    : "0123456789abcdef";

	for (size_t i = 0; text[i]; i++) {
		if (format_now() == SF_FORMAT_UUID7 && (i == 8 || i == 13 || i == 18 || i == 23))
			T_EXPECT(text[i] == '-', "%s", text);
		else
			T_EXPECT(strchr(digits, text[i]) != NULL, "%s", text);
	}
	T_EXPECT(format_now() != SF_FORMAT_ULID || text[0] <= '7', "%s", text);
	T_EXPECT(format_now() != SF_FORMAT_UUID7 || text[14] == '7', "%s", text);
	T_EXPECT(format_now() != SF_FORMAT_UUID7 || strchr("89ab", text[19]) != NULL, "%s", text);
}

void t_wide_assert_order(const struct sf_wide *smaller, const struct sf_wide *larger)
{
	uint8_t bytes[2][SF_WIDE_BYTES_MAX];
	char text[2][SF_WIDE_TEXT_MAX];
	int length = sf_wide_to_bytes(format_now(), smaller, bytes[0]);

	T_EXPECT(length > 0 && sf_wide_to_bytes(format_now(), larger, bytes[1]) == length, "bytes");
	T_EXPECT(memcmp(bytes[0], bytes[1], (size_t)length) < 0, "bytes fall");
	T_EXPECT(sf_wide_format(format_now(), smaller, text[0]) ==
			 sf_wide_format(format_now(), larger, text[1]),
		 "texts have another length");
	T_EXPECT(strcmp(text[0], text[1]) < 0, "%s before %s", text[0], text[1]);
	assert_form(text[1]);
}

/* ---- FC-36 ---- */

/* One cursor, a million in a loop, while the clock runs. */
START_TEST(fc36_a_million_of_one_cursor_rise_as_bytes_and_as_text)
{
	struct sf_wide last = {0, 0};
	uint64_t tick = T_TICK;

	t_wide_start(_i / 2, _i % 2);
	t_wide_take(t_wide_cursor, &last);
	for (int i = 1; i < 1000000; i++) {
		struct sf_wide before = last;

		if (i % 3000 == 0)
			t_ring_go(&t_wide_ring, ++tick);
		t_wide_take(t_wide_cursor, &last);
		t_wide_assert_order(&before, &last);
	}
	ck_assert_uint_eq(t_wide_tick(&last), tick);
	t_wide_end();
}
END_TEST

/* ---- FC-37 ---- */

/* 4,200, then 100,000: more than 12 bits of counter hold, and than the 16 of a sequence. */
START_TEST(fc37_a_frozen_clock_gives_104200_that_rise)
{
	const uint64_t unix_ms = UINT64_C(1750000000000);
	const struct t_ring_setup setup = {.layout = t_wide_formats[_i / 2],
					   .first_tick = _i / 2 == 2 ? unix_ms / 1000 : unix_ms};
	struct sf_wide last = {0, 0};
	int64_t shown;

	t_wide_start_with(&setup, _i % 2);
	t_wide_take(t_wide_cursor, &last);
	for (int i = 1; i < 4200 + 100000; i++) {
		struct sf_wide before = last;

		t_wide_take(t_wide_cursor, &last);
		t_wide_assert_order(&before, &last);
	}
	ck_assert_int_eq(sf_wide_unix_ms(format_now(), &last, &shown), 0);
	ck_assert_int_eq(shown, (int64_t)unix_ms);
	t_wide_end();
}
END_TEST

/* ---- over cursors ---- */

struct pair {
	struct sf_client *client;
	struct sf_cursor *cursor[2];
};

static void open_pair(struct pair *pair)
{
	pair->client = t_client_open(&t_wide_ring, SF_WAIT_NONE);
	pair->cursor[0] = t_wide_cursor;
	pair->cursor[1] = t_cursor_open(pair->client);
}

static void close_pair(struct pair *pair)
{
	sf_cursor_close(pair->cursor[1]);
	sf_close(pair->client);
}

static void raise_to(struct sf_wide *highest, const struct sf_wide *id)
{
	if (sf_wide_compare(highest, id) < 0)
		*highest = *id;
}

/* One step of either cursor, by any call. */
static void take_at_random(const struct pair *pair, uint64_t *random, struct sf_wide *highest)
{
	struct sf_cursor *cursor = pair->cursor[t_random(random) % 2];
	struct sf_range128 range;
	struct sf_wide ids[5];

	switch (t_random(random) % 5) {
	case 0:
		if (sf_next128(cursor, ids) == 0)
			raise_to(highest, &ids[0]);
		break;
	case 1:
		if (sf_fill128(cursor, ids, 5) == 0)
			raise_to(highest, &ids[4]);
		break;
	case 2:
		if (sf_claim_range128(cursor, 3, &range) < 0)
			break;
		range.first.low += range.count - 1;
		raise_to(highest, &range.first);
		break;
	default:
		if (sf_next128_ordered(cursor, ids) < 0)
			break;
		T_EXPECT(sf_wide_compare(highest, ids) < 0, "sf_next128_ordered() falls");
		*highest = ids[0];
	}
}

/* Whatever the clock and the daemon do. */
START_TEST(fc40_ordered_is_above_all_that_was_returned_before)
{
	uint64_t random = t_seed();
	uint64_t tick = T_TICK + 10;
	struct sf_wide highest = {0, 0};
	struct pair pair;

	t_wide_start_with(&(struct t_ring_setup){.layout = t_wide_formats[_i], .ahead_ms = 2000},
			  false);
	open_pair(&pair);
	for (int i = 0; i < 50000; i++) {
		uint64_t what = t_random(&random);

		if (what % 16 == 0) {
			tick += what / 16 % 4;
			tick -= what / 64 % 3; /* the clock goes back as well */
			t_ring_clock(&t_wide_ring, tick);
		}
		if (what % 7 == 0) {
			t_wide_ring.engine.beating = what / 1024 % 4 != 0;
			t_ring_turn(&t_wide_ring);
		}
		take_at_random(&pair, &random, &highest);
	}
	ck_assert_uint_gt(highest.high, 0);
	close_pair(&pair);
	t_wide_end();
}
END_TEST

/* One counter a call, whoever calls. */
START_TEST(ordered_over_two_cursors_takes_neighbours)
{
	struct sf_wide last = {0, 0};
	struct sf_wide id = {0, 0};
	struct pair pair;

	t_wide_start(_i / 2, _i % 2);
	open_pair(&pair);
	ck_assert_int_eq(sf_next128_ordered(pair.cursor[0], &last), 0);
	for (int i = 0; i < 2000; i++) {
		ck_assert_int_eq(sf_next128_ordered(pair.cursor[i / 3 % 2], &id), 0);
		T_EXPECT(id.high == last.high && id.low == last.low + 1, "%d is no neighbour", i);
		last = id;
	}
	ck_assert_uint_eq(sfd_engine_claimed(&t_wide_ring.engine), 2001);
	ck_assert_uint_eq(t_ring_dropped(&t_wide_ring), 0);
	close_pair(&pair);
	t_wide_end();
}
END_TEST

START_TEST(ordered_with_a_beating_daemon_goes_along_with_the_tick)
{
	struct sf_wide last = {0, 0};

	t_wide_start(_i, true);
	for (uint64_t tick = T_TICK; tick < T_TICK + 100; tick++) {
		t_ring_go(&t_wide_ring, tick);
		for (int i = 0; i < 10; i++) {
			struct sf_wide id = {0, 0};

			ck_assert_int_eq(sf_next128_ordered(t_wide_cursor, &id), 0);
			ck_assert_int_lt(sf_wide_compare(&last, &id), 0);
			ck_assert_uint_eq(t_wide_tick(&id), tick);
			last = id;
		}
	}
	t_wide_end();
}
END_TEST

/* At most one tick apart, as for 64 bits. */
START_TEST(fc40_next_of_two_cursors_is_behind_by_one_tick_at_most)
{
	uint64_t random = t_seed();
	uint64_t tick = T_TICK;
	struct sf_wide highest = {0, 0};
	struct sf_wide id;
	struct pair pair;

	t_wide_start(_i, true);
	open_pair(&pair);
	for (int i = 0; i < 50000; i++) {
		if (t_random(&random) % 8 == 0)
			t_ring_go(&t_wide_ring, ++tick);
		ck_assert_int_eq(sf_next128(pair.cursor[t_random(&random) % 2], &id), 0);
		T_EXPECT(t_wide_tick(&id) + 1 >= t_wide_tick(&highest), "two ticks behind");
		raise_to(&highest, &id);
	}
	close_pair(&pair);
	t_wide_end();
}
END_TEST

/* ---- FC-01 ---- */

enum {
	CHILDREN = 8,
	DRAWS = 5000
};

static int compare(const void *a, const void *b)
{
	return sf_wide_compare(a, b);
}

static void draw(struct sf_wide *ids)
{
	struct sf_wide last = {0, 0};

	for (int i = 0; i < DRAWS; i++) {
		t_wide_take(t_wide_cursor, &last);
		ids[i] = last;
	}
}

/* A range of at least 1,000 in hand, one of it taken, then fork. */
START_TEST(fc01_children_begin_with_a_claim_of_their_own)
{
	const size_t count = (size_t)(CHILDREN + 1) * DRAWS + 1;
	struct sf_wide *ids = mmap(NULL, count * sizeof(*ids), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct sf_wide last = {0, 0};
	pid_t pid[CHILDREN];

	ck_assert(ids != MAP_FAILED);
	t_wide_start(_i, true);
	do
		t_wide_take(t_wide_cursor, &last);
	while (t_wide_cursor->low_end - t_wide_cursor->low < 1000);
	ids[count - 1] = last;
	for (int i = 0; i < CHILDREN; i++) {
		pid[i] = fork();
		ck_assert_int_ge(pid[i], 0);
		if (pid[i] == 0) {
			draw(ids + (size_t)i * DRAWS);
			_exit(0);
		}
	}
	/* the parent goes on with its range */
	draw(ids + (size_t)CHILDREN * DRAWS);
	ck_assert_uint_eq(ids[(size_t)CHILDREN * DRAWS].low, last.low + 1);
	for (int i = 0; i < CHILDREN; i++) {
		int status = -1;

		ck_assert_int_eq(waitpid(pid[i], &status, 0), pid[i]);
		ck_assert_int_eq(status, 0);
	}
	qsort(ids, count, sizeof(*ids), compare);
	for (size_t i = 1; i < count; i++)
		T_EXPECT(compare(&ids[i - 1], &ids[i]) < 0, "an ID came twice");
	(void)munmap(ids, count * sizeof(*ids));
	t_wide_end();
}
END_TEST

static void set_up(void)
{
	t_wide_draw = NULL;
}

void t_add_wide_order(Suite *suite)
{
	TCase *order = tcase_create("order");

	tcase_add_checked_fixture(order, set_up, NULL);
	tcase_set_timeout(order, 240);
	tcase_add_loop_test(order, fc36_a_million_of_one_cursor_rise_as_bytes_and_as_text, 0,
			    2 * T_WIDE_FORMATS);
	tcase_add_loop_test(order, fc37_a_frozen_clock_gives_104200_that_rise, 0,
			    2 * T_WIDE_FORMATS);
	tcase_add_loop_test(order, fc40_ordered_is_above_all_that_was_returned_before, 0,
			    T_WIDE_FORMATS);
	tcase_add_loop_test(order, ordered_over_two_cursors_takes_neighbours, 0,
			    2 * T_WIDE_FORMATS);
	tcase_add_loop_test(order, ordered_with_a_beating_daemon_goes_along_with_the_tick, 0,
			    T_WIDE_FORMATS);
	tcase_add_loop_test(order, fc40_next_of_two_cursors_is_behind_by_one_tick_at_most, 0,
			    T_WIDE_FORMATS);
	tcase_add_loop_test(order, fc01_children_begin_with_a_claim_of_their_own, 0,
			    T_WIDE_FORMATS);
	suite_add_tcase(suite, order);
}
