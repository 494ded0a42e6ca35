/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * coola.json: its tick and counter engine, against a stream with `clock_backward = ahead`, which
 * borrows ticks as that one does and never waits or fails on account of the clock.
 *
 * Two differences, both on purpose. Borrowing from the future has a limit while the clock is right
 * (ahead_ms, here enough for the rows); it has none while the clock is back. And a random start
 * leaves the highest bit of its counter clear, so that a tick of a wide format is never used up:
 * where the original starts at the very top and borrows at once, sfd counts on within the tick.
 */
#include "tests/unit/vectors_suite.h"
#include "tests/unit/vectors_world.h"

#include <stdio.h>
#include <string.h>

/* The rows whose clock never goes back borrow up to so many ticks. */
#define AHEAD_TICKS 4u

static struct t_world world;
static bool beating;

static bool goes_back(const json_t *calls)
{
	int64_t last_ns = 0;
	json_t *call;
	size_t i;

	json_array_foreach(calls, i, call)
	{
		int64_t now_ns = t_vectors_i64(call, "now_ns");

		if (now_ns < last_ns)
			return true;
		last_ns = now_ns;
	}
	return false;
}

static void open_world(json_t *row, const char *layout, const json_t *calls)
{
	const uint32_t ahead_ms = AHEAD_TICKS * (uint32_t)(t_vectors_i64(row, "tick_ns") / T_MS);
	const struct t_world_setup setup = {
		.ring = {.layout = layout, .ahead_ms = goes_back(calls) ? 0 : ahead_ms},
		.policy = SFD_CLOCK_AHEAD,
		.unix_ns = t_vectors_i64(json_array_get(calls, 0), "now_ns"),
		.beating = beating,
	};

	t_world_open(&world, &setup);
}

/* ---- counters that start at 0: the same (tick, counter), call by call ---- */

static struct sf_parts take(void)
{
	uint64_t id = 0;

	ck_assert_int_eq(sf_next_ordered(world.cursor, &id), 0);
	return t_parts(&world.ring, id);
}

static void check_narrow(json_t *row, const json_t *calls)
{
	char layout[64];
	uint64_t made = 0;
	json_t *call;
	size_t i;

	(void)snprintf(layout, sizeof(layout), "t41 n10 s%u epoch=0 tick=1ms",
		       t_vectors_u32(row, "bits"));
	ck_assert_int_eq(t_vectors_i64(row, "tick_ns"), T_MS);
	open_world(row, layout, calls);
	json_array_foreach(calls, i, call)
	{
		struct sf_parts parts;

		t_world_wall(&world, t_vectors_i64(call, "now_ns"));
		/* calls that the row leaves out have the same clock */
		while (t_vectors_field_if_any(call, "call") &&
		       made + 1 < t_vectors_u64(call, "call")) {
			(void)take();
			made++;
		}
		parts = take();
		made++;
		ck_assert_uint_eq(parts.tick, t_vectors_u64(call, "tick"));
		ck_assert_uint_eq(parts.sequence, t_vectors_u64(call, "counter"));
	}
	t_world_close(&world);
}

/* ---- counters that start at random ---- */

/* How a format's counter lies in the base of a tick, and the bit that stays clear. */
static const struct wide {
	unsigned bits;
	const char *name;
	unsigned format;
	unsigned low_bits; /* of the counter, in the lower half of the base */
} wides[] = {
	{80, "ulid", SF_FORMAT_ULID, 64},
	{74, "uuid7", SF_FORMAT_UUID7, 62},
	{64, "objectid", SF_FORMAT_OBJECTID, 64},
};

static const struct wide *wide_of(unsigned bits)
{
	for (size_t i = 0; i < T_COUNT(wides); i++)
		if (wides[i].bits == bits)
			return &wides[i];
	ck_abort_msg("no format has a counter of %u bits", bits);
}

static uint64_t spare_bit(const struct wide *wide)
{
	return UINT64_C(1) << (wide->low_bits - 1);
}

/* The original's own story: what it draws is where it counts from. */
static void check_starts(json_t *row, const json_t *calls)
{
	json_t *starts = t_vectors_field(row, "starts");
	size_t drawn = 0;
	json_t *call;
	size_t i;

	json_array_foreach(calls, i, call)
	{
		json_t *start = t_vectors_field(call, "start_drawn");

		if (json_is_null(start))
			continue;
		ck_assert(json_equal(start, json_array_get(starts, drawn++)));
		ck_assert(json_equal(start, t_vectors_field(call, "counter")));
	}
	ck_assert_uint_eq(drawn, json_array_size(starts));
}

/* The tick's base is the row's start. */
static void give_bases(const struct wide *wide, const json_t *calls)
{
	json_t *call;
	size_t i;

	json_array_foreach(calls, i, call)
	{
		struct sf_wide base;

		if (json_is_null(t_vectors_field(call, "start_drawn")))
			continue;
		base = t_vectors_wide(call, "start_drawn", 10);
		if (wide->low_bits == 62) {
			base.high = base.high << 2 | base.low >> 62;
			base.low &= UINT64_MAX >> 2;
		}
		t_world_base(&world, t_vectors_u64(call, "tick"), &base);
	}
}

/* What was drawn for a tick; zero for a tick of ours that the row does not reach. */
static struct sf_wide start_of(const json_t *calls, uint64_t tick)
{
	struct sf_wide zero = {0, 0};
	json_t *call;
	size_t i;

	json_array_foreach(calls, i, call)
	{
		if (t_vectors_u64(call, "tick") == tick &&
		    !json_is_null(t_vectors_field(call, "start_drawn")))
			return t_vectors_wide(call, "start_drawn", 10);
	}
	return zero;
}

static struct sf_wide compose(unsigned format, uint64_t tick, const struct sf_wide *counter)
{
	struct sf_wide id = {0, 0};
	int r;

	if (format == SF_FORMAT_ULID)
		r = sf_ulid_compose((int64_t)tick, counter, &id, NULL);
	else if (format == SF_FORMAT_UUID7)
		r = sf_uuid7_compose((int64_t)tick, counter, &id, NULL);
	else
		r = sf_objectid_compose((int64_t)tick, counter->low, &id, NULL);
	ck_assert_int_eq(r, 0);
	return id;
}

static void check_wide(json_t *row, const json_t *calls)
{
	const struct wide *wide = wide_of(t_vectors_u32(row, "bits"));
	uint64_t tick_ns = t_vectors_u64(row, "tick_ns");
	struct sf_wide last = {0, 0};
	bool is_same = false; /* since the last start that was drawn */
	uint64_t tick = 0;
	uint64_t n = 0; /* of the tick */
	json_t *call;
	size_t i;

	open_world(row, wide->name, calls);
	json_array_foreach(calls, i, call)
	{
		uint64_t now = t_vectors_u64(call, "now_ns") / tick_ns;
		struct sf_wide want = t_vectors_wide(call, "counter", 10);
		struct sf_wide counter;
		struct sf_wide id;

		t_world_wall(&world, t_vectors_i64(call, "now_ns"));
		give_bases(wide, calls);
		n = now > tick ? 0 : n + 1;
		tick = now > tick ? now : tick;
		counter = start_of(calls, tick);
		if (!json_is_null(t_vectors_field(call, "start_drawn")))
			is_same = t_vectors_u64(call, "tick") == now &&
				  !(counter.low & spare_bit(wide));
		counter.low = (counter.low & ~spare_bit(wide)) + n;
		if (is_same) {
			ck_assert_uint_eq(tick, t_vectors_u64(call, "tick"));
			t_vectors_same(&counter, &want);
		}
		want = compose(wide->format, tick, &counter);
		ck_assert_int_eq(sf_next128_ordered(world.cursor, &id), 0);
		t_vectors_same(&id, &want);
		ck_assert_int_gt(sf_wide_compare(&id, &last), 0);
		last = id;
	}
	t_world_close(&world);
}

static void check_engine(json_t *row)
{
	const json_t *calls = t_vectors_field(row, "calls");

	ck_assert_uint_gt(json_array_size(calls), 0);
	t_vectors_skip(row, "label");
	check_starts(row, calls);
	if (t_vectors_flag(row, "random_start"))
		check_wide(row, calls);
	else
		check_narrow(row, calls);
}

START_TEST(next_coola_engine_rows_agree_but_for_starts_at_the_top)
{
	beating = _i;
	t_vectors_each("coola.json", "engine", check_engine);
}
END_TEST

void t_add_vectors_coola_engine(Suite *suite)
{
	TCase *tcase = tcase_create("coola: engine");

	tcase_add_loop_test(tcase, next_coola_engine_rows_agree_but_for_starts_at_the_top, 0, 2);
	suite_add_tcase(suite, tcase);
}
