/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * snowflakex.json: what version 1.1.1 does when the clock stands, jumps and goes back, and what sfd
 * does with `clock_backward = refuse`. Where the original issues an ID twice or wraps its time, the
 * product must not.
 */
#include "tests/unit/vectors_suite.h"
#include "tests/unit/vectors_world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SEQUENCES 4096u

static struct sf_layout layout;
static struct t_world world;
static uint32_t machine;
static bool beating;

/* All IDs of the world. */
static uint64_t issued[SEQUENCES + 16];
static size_t issued_count;

/* Last sequence before the refusal of the three rows about the original's first defect. */
static uint32_t refused_at;

static int64_t unix_ns(int64_t ms_since_epoch)
{
	return (layout.epoch_ms + ms_since_epoch) * T_MS;
}

static void open_world(int64_t first_ms, uint32_t wait)
{
	const struct t_world_setup setup = {
		.ring = {.layout = "snowflakex", .node = {machine}, .node_count = 1},
		.policy = SFD_CLOCK_REFUSE,
		.unix_ns = unix_ns(first_ms),
		.wait = wait,
		.beating = beating,
	};

	t_world_open(&world, &setup);
	issued_count = 0;
}

static void take(int64_t ms, uint32_t sequence)
{
	uint64_t id = 0;
	struct sf_parts parts;

	ck_assert_int_eq(sf_next_ordered(world.cursor, &id), 0);
	parts = t_parts(&world.ring, id);
	T_EXPECT(parts.node == machine, "machine id %u", parts.node);
	T_EXPECT(parts.tick == (uint64_t)ms && parts.sequence == sequence,
		 "(%llu, %u), not (%lld, %u)", (unsigned long long)parts.tick, parts.sequence,
		 (long long)ms, sequence);
	ck_assert_uint_lt(issued_count, T_COUNT(issued));
	issued[issued_count++] = id;
}

static void refuse(int error)
{
	uint64_t id = 7;

	ck_assert_int_eq(sf_next_ordered(world.cursor, &id), error);
	ck_assert_uint_eq(id, 7);
}

/* The state of a row: (ms, 0 .. last) are issued. A worker of the original that has only just
 * started says the same with (ms, 0), though it never issues that one; sfd does. */
static void issue(int64_t ms, uint32_t last)
{
	for (uint32_t sequence = 0; sequence <= last; sequence++)
		take(ms, sequence);
}

static bool was_issued(uint64_t id)
{
	for (size_t i = 0; i < issued_count; i++)
		if (issued[i] == id)
			return true;
	return false;
}

static void close_world(void)
{
	t_ids_assert_distinct(issued, issued_count);
	t_world_close(&world);
}

/* After an ID: the next one of the same clock is the next sequence of the state. */
static void check_ok(json_t *row, json_t *result)
{
	json_t *after = t_vectors_field(row, "state_after");
	int64_t ms = t_vectors_i64(result, "ms_since_epoch");
	uint32_t sequence = t_vectors_u32(result, "sequence");

	take(ms, sequence);
	ck_assert_uint_eq(issued[issued_count - 1], t_vectors_u64(result, "id"));
	ck_assert_int_eq(t_vectors_i64(after, "last_ms_since_epoch"), ms);
	ck_assert_uint_eq(t_vectors_u32(after, "last_sequence"), sequence);
	ck_assert_int_eq(sf_cursor_remaining_ms(world.cursor), 0);
	if (sequence + 1 < SEQUENCES)
		take(ms, sequence + 1);
	else
		refuse(-EAGAIN);
}

/* After a refusal: when the clock is there again the sequence goes on where it was. The original
 * says 0 in its state, and issues from 1 on a second time. */
static void check_refused(json_t *row, json_t *result)
{
	json_t *after = t_vectors_field(row, "state_after");
	int64_t remaining = t_vectors_i64(result, "remaining_ms");
	int64_t last_ms = t_vectors_i64(row, "last_ms_since_epoch");
	uint32_t last = t_vectors_u32(row, "last_sequence");
	char message[128];

	refuse(-ETIME);
	ck_assert_int_eq(sf_cursor_remaining_ms(world.cursor), remaining);
	(void)snprintf(message, sizeof(message), "for %lld milliseconds.", (long long)remaining);
	ck_assert_ptr_nonnull(strstr(t_vectors_text(result, "message"), message));
	ck_assert_int_eq(t_vectors_i64(after, "last_ms_since_epoch"), last_ms);
	ck_assert_uint_eq(t_vectors_u32(after, "last_sequence"), 0);
	t_world_wall(&world, unix_ns(last_ms) - T_MS / 2); /* half a millisecond early is early */
	refuse(-ETIME);
	ck_assert_int_eq(sf_cursor_remaining_ms(world.cursor), 1);
	t_world_wall(&world, unix_ns(last_ms));
	if (last + 1 < SEQUENCES)
		take(last_ms, last + 1);
	else
		refuse(-EAGAIN);
	t_world_wall(&world, unix_ns(last_ms + 1));
	take(last_ms + 1, 0);
}

/* The tick is used up: the original spins; here the caller sleeps, once, until the next tick. */
static void check_sleep(int64_t last_ms)
{
	open_world(last_ms, SF_WAIT_SLEEP);
	issue(last_ms, SEQUENCES - 1);
	take(last_ms + 1, 0);
	ck_assert_uint_eq(t_sleeps, 1);
	ck_assert_int_eq(t_slept_until[0], t_ring_mono_ns(&world.ring, (uint64_t)last_ms + 1));
	close_world();
}

/* The original cuts the time to 41 bits: after its last instant IDs begin anew, and before its
 * epoch they are huge. Here neither instant has IDs. */
static void check_out_of_range(json_t *row, int64_t reading)
{
	struct sf_parts parts = {.unix_ms = layout.epoch_ms + reading};
	uint64_t id = 7;

	ck_assert(t_vectors_flag(t_vectors_field(row, "result"), "ok"));
	t_vectors_skip(row, "last_sequence");
	t_vectors_skip(row, "state_after");
	open_world(t_vectors_i64(row, "last_ms_since_epoch"), SF_WAIT_NONE);
	t_world_wall(&world, unix_ns(reading));
	refuse(reading < 0 ? -EAGAIN : -EOVERFLOW);
	ck_assert_int_eq(sf_compose(&layout, &parts, &id, NULL), -ERANGE);
	ck_assert_uint_eq(id, 7);
	close_world();
}

/* The rows that follow the refusal: what the original issues now was issued before. */
static void check_after_refusal(json_t *row, uint32_t calls)
{
	json_t *result = t_vectors_field(row, "result");
	int64_t last_ms = t_vectors_i64(row, "last_ms_since_epoch");

	t_vectors_skip(row, "last_sequence"); /* of the spoilt state */
	t_vectors_skip(row, "state_after");
	open_world(last_ms, SF_WAIT_NONE);
	issue(last_ms, refused_at);
	t_world_wall(&world, unix_ns(last_ms - 1000));
	refuse(-ETIME);
	t_world_wall(&world, unix_ns(last_ms));
	ck_assert(was_issued(t_vectors_u64(result, "id")));
	for (uint32_t i = 1; i <= calls; i++)
		take(last_ms, refused_at + i);
	close_world();
}

static void check_readings(json_t *row, const json_t *readings)
{
	json_t *result = t_vectors_field(row, "result");
	int64_t last_ms = t_vectors_i64(row, "last_ms_since_epoch");
	uint32_t last = t_vectors_u32(row, "last_sequence");
	size_t i;
	json_t *reading;

	open_world(last_ms, SF_WAIT_NONE);
	issue(last_ms, last);
	json_array_foreach(readings, i, reading)
	{
		t_world_wall(&world, unix_ns(json_integer_value(reading)));
		if (i + 1 < json_array_size(readings))
			refuse(-EAGAIN); /* all but the last find the tick used up */
	}
	if (t_vectors_flag(result, "ok"))
		check_ok(row, result);
	else
		check_refused(row, result);
	close_world();
	if (last + 1 == SEQUENCES)
		check_sleep(last_ms);
}

static void check_scenario(json_t *row)
{
	static const char defect[] = "DEFECT step ";
	const char *label = t_vectors_text(row, "label");
	const json_t *readings = t_vectors_field(row, "clock_readings_ms_since_epoch");
	int64_t first = json_integer_value(json_array_get(readings, 0));
	/* whatever it says, the product must do right */
	bool is_defect = t_vectors_field_if_any(row, "original_defect_do_not_copy") != NULL;
	int step = 0;

	machine = t_vectors_u32(row, "machine_id");
	ck_assert_uint_gt(json_array_size(readings), 0);
	if (strncmp(label, defect, strlen(defect)) == 0)
		step = label[strlen(defect)] - '0';
	if (step == 1)
		refused_at = t_vectors_u32(row, "last_sequence");
	if (first < 0 || (uint64_t)first > sf_layout_last_tick(&layout)) {
		ck_assert(is_defect);
		check_out_of_range(row, first);
	} else if (step > 1) {
		ck_assert(is_defect);
		ck_assert_uint_gt(refused_at, 0);
		check_after_refusal(row, (uint32_t)step - 1);
	} else {
		check_readings(row, readings);
	}
}

START_TEST(next_snowflakex_scenarios_without_the_defects)
{
	layout = t_vectors_layout("snowflakex");
	beating = _i;
	t_vectors_each("snowflakex.json", "scenarios", check_scenario);
}
END_TEST

void t_add_vectors_snowflakex_clock(Suite *suite)
{
	TCase *tcase = tcase_create("snowflakex: clock");

	tcase_add_loop_test(tcase, next_snowflakex_scenarios_without_the_defects, 0, 2);
	suite_add_tcase(suite, tcase);
}
