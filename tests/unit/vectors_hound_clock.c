/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * hound.json: what its clients do with the clock, and what a hound stream does with
 * `clock_backward = wait`: both make the caller wait until the clock is there again.
 *
 * Differences on purpose: a stream's time is whole milliseconds, in each of which the sequence
 * begins at 0 (the original counts through); a caller sleeps until the clock has caught up, not
 * 0.05 s longer; and after sequence 65535 of a millisecond the client id goes up by one, where the
 * original begins at sequence 0 of the same client id and so may issue an ID a second time.
 */
#include "tests/unit/vectors_suite.h"
#include "tests/unit/vectors_world.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MACHINE 1u
#define CLIENT 2u
#define SECOND INT64_C(1000000000)

static struct t_world world;

static int64_t unix_ns_of(const char *seconds)
{
	/* the rows' times are whole milliseconds, so this is exact */
	return llrint(strtod(seconds, NULL) * 1000) * T_MS;
}

static void give_bases(void)
{
	const struct sf_wide base = {.low = CLIENT};
	uint64_t horizon = sf_shm_horizon(&world.ring.memory.shm);

	for (uint64_t tick = horizon - world.ring.memory.shm.grants->runway_ticks; tick <= horizon;
	     tick++)
		t_world_base(&world, tick, &base);
}

static void open_world(int64_t unix_ns, uint32_t wait)
{
	const struct t_world_setup setup = {
		.ring = {.layout = "hound"},
		.policy = SFD_CLOCK_WAIT,
		.unix_ns = unix_ns,
		.machine = MACHINE,
		.wait = wait,
	};

	t_world_open(&world, &setup);
	give_bases();
}

static struct sf_hound take(char *ret_text)
{
	struct sf_wide wide;
	struct sf_hound id;

	ck_assert_int_eq(sf_next128_ordered(world.cursor, &wide), 0);
	ck_assert_int_eq(sf_wide_format(SF_FORMAT_HOUND, &wide, ret_text), SF_HOUND_TEXT);
	sf_hound_from_wide(&wide, &id);
	return id;
}

/* The row's state: so many IDs of this millisecond are issued. */
static void issue(uint32_t count)
{
	struct sf_wide *ids = calloc(count, sizeof(*ids));

	ck_assert_ptr_nonnull(ids);
	ck_assert_int_eq(sf_fill128(world.cursor, ids, count), 0);
	ck_assert_uint_eq(ids[count - 1].low & 0xffff, count - 1);
	free(ids);
}

/* A reading behind the last time: no ID. The row's sleep is what is left and 0.05 s. */
static void check_behind(int64_t last_ns, int64_t reading_ns, const char *slept)
{
	struct sf_wide wide = {7, 7};
	int64_t left_ms = (last_ns - reading_ns) / T_MS;

	t_world_wall(&world, reading_ns);
	ck_assert_int_eq(sf_next128_ordered(world.cursor, &wide), -EAGAIN);
	ck_assert_uint_eq(wide.high, 7);
	ck_assert_int_eq(sf_cursor_remaining_ms(world.cursor), left_ms);
	ck_assert_int_eq(llrint(strtod(slept, NULL) * 1000), left_ms + 50);
}

/* The ID that comes at last; in a new millisecond only its sequence differs from the row's. */
static void check_issued(json_t *row, bool is_new_time)
{
	uint32_t sequence = t_vectors_u32(row, "issued_sequence");
	const char *hex = t_vectors_text(row, "hex");
	char text[SF_WIDE_TEXT_MAX];
	struct sf_hound id = take(text);
	uint8_t bytes[SF_HOUND_BYTES];

	ck_assert_double_eq(id.time, t_vectors_double(row, "issued_time"));
	ck_assert_double_eq(id.time, t_vectors_double(row, "last_time_after"));
	ck_assert_uint_eq(id.machine, MACHINE);
	ck_assert_uint_eq(id.client, CLIENT);
	ck_assert_uint_eq(id.sequence, is_new_time ? 0 : sequence);
	if (!is_new_time)
		ck_assert_str_eq(text, hex);
	id.sequence = (uint16_t)sequence;
	sf_hound_pack(&id, bytes);
	sf_hound_format(bytes, text);
	ck_assert_str_eq(text, hex);
}

static void check_next(json_t *row, const struct sf_hound *now)
{
	char text[SF_WIDE_TEXT_MAX];
	struct sf_hound next = take(text);

	ck_assert_uint_eq((uint16_t)(t_vectors_u32(row, "issued_sequence") + 1),
			  t_vectors_u32(row, "sequence_after"));
	ck_assert_uint_eq(next.sequence, (uint16_t)(now->sequence + 1));
	ck_assert_uint_eq(next.client, now->client + (now->sequence == UINT16_MAX ? 1u : 0u));
	ck_assert_double_eq(next.time, now->time);
}

/* A caller that sleeps, in short naps, while the clock goes on: it has its ID when the clock has
 * caught up, and not a nap later. */
static void check_sleep(json_t *row, int64_t last_ns, int64_t reading_ns)
{
	int64_t start_ns;

	open_world(last_ns, SF_WAIT_SLEEP);
	issue(t_vectors_u32(row, "sequence_before"));
	start_ns = atomic_load_explicit(&t_mono_ns, memory_order_relaxed);
	t_world_wall(&world, reading_ns);
	check_issued(row, false);
	ck_assert_uint_gt(t_sleeps, 0);
	ck_assert_int_eq(t_slept_until[t_sleeps - 1] - start_ns, last_ns - reading_ns);
	t_world_close(&world);
}

static void check_clock(json_t *row)
{
	int64_t last_ns = unix_ns_of(t_vectors_text(row, "last_time"));
	json_t *readings = t_vectors_field(row, "clock_readings");
	json_t *sleeps = t_vectors_field(row, "sleeps");
	size_t behind = json_array_size(readings) - 1;
	int64_t reading_ns = unix_ns_of(json_string_value(json_array_get(readings, behind)));
	struct sf_hound now = {.time = (double)reading_ns / (double)SECOND, .client = CLIENT};

	t_vectors_skip(row, "label");
	ck_assert_uint_eq(json_array_size(sleeps), behind);
	ck_assert_uint_eq(json_array_size(t_vectors_field(row, "unused_readings")), 0);
	open_world(last_ns, SF_WAIT_NONE);
	issue(t_vectors_u32(row, "sequence_before"));
	for (size_t i = 0; i < behind; i++)
		check_behind(last_ns, unix_ns_of(json_string_value(json_array_get(readings, i))),
			     json_string_value(json_array_get(sleeps, i)));
	t_world_wall(&world, reading_ns);
	give_bases();
	check_issued(row, reading_ns > last_ns);
	if (reading_ns == last_ns)
		now.sequence = (uint16_t)t_vectors_u32(row, "issued_sequence");
	check_next(row, &now);
	t_world_close(&world);
	if (behind == 1 && reading_ns == last_ns)
		check_sleep(row, last_ns,
			    unix_ns_of(json_string_value(json_array_get(readings, 0))));
}

START_TEST(next128_hound_clock_rows_agree_but_for_the_sequence)
{
	t_vectors_each("hound.json", "clock", check_clock);
}
END_TEST

/* ---- small facts ---- */

/* Facts about Python objects: a client of the original is an object out of a cache, keyed by how it
 * was asked for. Here a name is a stream's, so there is nothing that could behave so. */
static const char *const of_python[] = {
	"getclient_no_arg_is_getclient_positional_default",
	"positional_is_keyword",
	"different_names_differ",
	"repr",
	"call_operator_and_snowflake_method_are_the_same_function",
};

/* The fields of a result, in the order of struct sf_hound. */
static const char *const fields[] = {"time", "machine_id", "client_id", "sequence_id"};

static void check_fields(const json_t *names)
{
	json_t *name;
	size_t i;

	ck_assert_uint_eq(json_array_size(names), T_COUNT(fields));
	json_array_foreach(names, i, name) ck_assert_str_eq(json_string_value(name), fields[i]);
	static_assert(
		offsetof(struct sf_hound, time) < offsetof(struct sf_hound, machine) &&
			offsetof(struct sf_hound, machine) < offsetof(struct sf_hound, client) &&
			offsetof(struct sf_hound, client) < offsetof(struct sf_hound, sequence),
		"fields have the original's order");
}

static void check_facts(json_t *row)
{
	char text[SF_WIDE_TEXT_MAX];
	struct sf_client *same;

	for (size_t i = 0; i < T_COUNT(of_python); i++)
		t_vectors_skip(row, of_python[i]);
	check_fields(t_vectors_field(row, "namedtuple_fields"));
	open_world(1000 * SECOND, SF_WAIT_NONE);
	ck_assert_uint_eq(take(text).sequence, t_vectors_u32(row, "first_sequence"));
	/* the same name is the same stream: its sequence goes on */
	ck_assert(t_vectors_flag(row, "same_positional_name_twice_is_same_object"));
	same = world.client;
	sf_cursor_close(world.cursor);
	world.client = t_client_open(&world.ring, SF_WAIT_NONE);
	world.cursor = t_cursor_open(world.client);
	ck_assert_uint_eq(take(text).sequence, t_vectors_u32(row, "first_sequence") + 1);
	sf_close(same);
	t_world_close(&world);
}

START_TEST(next128_hound_facts_agree)
{
	t_vectors_one("hound.json", "checked_facts", check_facts);
}
END_TEST

void t_add_vectors_hound_clock(Suite *suite)
{
	TCase *tcase = tcase_create("hound: clock");

	tcase_add_test(tcase, next128_hound_clock_rows_agree_but_for_the_sequence);
	tcase_add_test(tcase, next128_hound_facts_agree);
	suite_add_tcase(suite, tcase);
}
