/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Layouts against the exact values of other systems: every row of tests/vectors that is about
 * packing. What each key means stands in tests/vectors/README.md.
 */
#include "tests/unit/layout_suite.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Largest whole number up to which a double holds every one. */
#define DOUBLE_SAFE_MAX UINT64_C(9007199254740991)

static json_t *load(const char *name)
{
	char path[4096];
	json_error_t error;
	json_t *root;

	ck_assert_int_lt(snprintf(path, sizeof(path), "%s/%s", SF_TEST_VECTORS, name),
			 (int)sizeof(path));
	/* other parts of the files hold strings with a NUL */
	root = json_load_file(path, JSON_ALLOW_NUL, &error);
	ck_assert_msg(root != NULL, "%s: %s, line %d", path, error.text, error.line);
	return root;
}

/** A non-empty array: a renamed key must not turn a test into one without rows. */
static json_t *rows_of(json_t *root, const char *key)
{
	json_t *rows = json_object_get(root, key);

	ck_assert_msg(json_array_size(rows) > 0, "no rows under \"%s\"", key);
	return rows;
}

/** A number, or a decimal string; unsigned values above INT64_MAX and negative ones keep their
 * bits. */
static uint64_t value_of(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);
	const char *text = json_string_value(value);
	char *end;
	uint64_t number;

	if (json_is_integer(value))
		return (uint64_t)json_integer_value(value);
	ck_assert_msg(text != NULL && *text != '\0', "no number under \"%s\"", key);
	errno = 0;
	number = *text == '-' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
	ck_assert_msg(errno == 0 && *end == '\0', "\"%s\" is not a number", text);
	return number;
}

static int64_t ms_of(json_t *object, const char *key)
{
	return (int64_t)value_of(object, key);
}

static uint32_t small_of(json_t *object, const char *key)
{
	uint64_t value = value_of(object, key);

	ck_assert_uint_le(value, UINT32_MAX);
	return (uint32_t)value;
}

/** Both directions, and the ID lies in the range of its millisecond. */
static void check_id(const struct sf_layout *layout, const struct sf_parts *want, uint64_t id)
{
	struct sf_parts got;
	struct sf_why why;
	uint64_t made = ~id;
	uint64_t first;
	uint64_t last;

	ck_assert_msg(sf_compose(layout, want, &made, &why) == 0, "%s", why.text);
	ck_assert_uint_eq(made, id);
	ck_assert_msg(sf_decompose(layout, id, &got, &why) == 0, "%s", why.text);
	ck_assert_int_eq(got.unix_ms, want->unix_ms);
	ck_assert_uint_eq(got.tick, want->tick);
	ck_assert_uint_eq(got.node, want->node);
	ck_assert_uint_eq(got.worker, want->worker);
	ck_assert_uint_eq(got.process, want->process);
	ck_assert_uint_eq(got.sequence, want->sequence);
	ck_assert_int_eq(sf_id_min(layout, want->unix_ms, &first, &why), 0);
	ck_assert_int_eq(sf_id_max(layout, want->unix_ms, &last, &why), 0);
	ck_assert_uint_le(first, id);
	ck_assert_uint_ge(last, id);
}

static void check_discord_rows(const char *key)
{
	struct sf_layout layout = t_layout_parse("discord");
	json_t *root = load("discord.json");
	json_t *row;
	size_t i;

	json_array_foreach(rows_of(root, key), i, row)
	{
		uint32_t worker = small_of(row, "worker_id");
		uint32_t process = small_of(row, "process_id");

		check_id(&layout,
			 &(struct sf_parts){.unix_ms = ms_of(row, "timestamp_unix_ms"),
					    .tick = value_of(row, "ms_since_epoch"),
					    .node = worker << 5 | process,
					    .sequence = small_of(row, "increment"),
					    .worker = worker,
					    .process = process},
			 value_of(row, "id"));
	}
	json_decref(root);
}

START_TEST(compose_and_decompose_discord_pack_agree)
{
	check_discord_rows("pack");
}
END_TEST

START_TEST(compose_and_decompose_discord_known_ids_agree)
{
	check_discord_rows("known_ids");
}
END_TEST

static void check_snowflakex_row(const struct sf_layout *layout, json_t *row)
{
	int64_t unix_ms = ms_of(row, "timestamp_unix_ms");

	check_id(layout,
		 &(struct sf_parts){.unix_ms = unix_ms,
				    .tick = (uint64_t)(unix_ms - layout->epoch_ms),
				    .node = small_of(row, "machine_id"),
				    .sequence = small_of(row, "sequence")},
		 value_of(row, "id"));
	if (json_object_get(row, "ms_since_epoch"))
		ck_assert_int_eq(ms_of(row, "ms_since_epoch"), unix_ms - layout->epoch_ms);
}

START_TEST(compose_and_decompose_snowflakex_pack_agree)
{
	struct sf_layout layout = t_layout_parse("snowflakex");
	json_t *root = load("snowflakex.json");
	json_t *row;
	size_t i;

	json_array_foreach(rows_of(root, "pack"), i, row) check_snowflakex_row(&layout, row);
	json_decref(root);
}
END_TEST

START_TEST(compose_and_decompose_snowflakex_printed_rows_agree)
{
	struct sf_layout layout = t_layout_parse("snowflakex");
	json_t *root = load("snowflakex.json");

	check_snowflakex_row(&layout, json_object_get(root, "printed_decompose"));
	check_snowflakex_row(&layout, json_object_get(root, "printed_usage_sample"));
	json_decref(root);
}
END_TEST

START_TEST(compose_and_decompose_coola_pack_agree)
{
	struct sf_layout layout = t_layout_parse("coola");
	json_t *root = load("coola.json");
	json_t *row;
	size_t i;

	json_array_foreach(rows_of(root, "snowflake_pack"), i, row)
	{
		int64_t unix_ms = ms_of(row, "timestamp_ms");

		check_id(&layout,
			 &(struct sf_parts){.unix_ms = unix_ms,
					    .tick = (uint64_t)(unix_ms - layout.epoch_ms),
					    .node = small_of(row, "worker_id"),
					    .sequence = small_of(row, "sequence")},
			 value_of(row, "id"));
	}
	json_decref(root);
}
END_TEST

START_TEST(decompose_coola_extract_gives_time_or_range_error)
{
	struct sf_layout layout = t_layout_parse("coola");
	json_t *root = load("coola.json");
	size_t refused = 0;
	json_t *row;
	size_t i;

	json_array_foreach(rows_of(root, "snowflake_extract"), i, row)
	{
		/* a negative number becomes one above 2^63, which 63 bits cannot hold either */
		uint64_t id = value_of(row, "id");
		struct sf_parts parts;
		struct sf_why why;
		int r = sf_decompose(&layout, id, &parts, &why);

		if (json_object_get(row, "error")) {
			refused++;
			ck_assert_int_eq(r, -ERANGE);
			ck_assert_ptr_nonnull(strstr(
				why.text, "63-bit layout: largest id is 9223372036854775807"));
		} else {
			ck_assert_int_eq(r, 0);
			ck_assert_int_eq(parts.unix_ms, ms_of(row, "timestamp_ms"));
		}
	}
	ck_assert_uint_gt(refused, 0);
	json_decref(root);
}
END_TEST

START_TEST(compose_coola_refused_gives_range_error)
{
	struct sf_layout layout = t_layout_parse("coola");
	json_t *root = load("coola.json");
	json_t *row;
	size_t i;

	json_array_foreach(rows_of(root, "snowflake_refused"), i, row)
	{
		const char *field = json_string_value(json_object_get(row, "field"));
		bool is_time = strcmp(field, "timestamp_ms") == 0;
		struct sf_parts parts = {.unix_ms = layout.epoch_ms};
		uint64_t id = 7;
		struct sf_why why;

		if (is_time)
			parts.unix_ms = ms_of(row, "value");
		else
			parts.node = (uint32_t)ms_of(row, "value");
		ck_assert_int_eq(sf_compose(&layout, &parts, &id, &why), -ERANGE);
		ck_assert_uint_eq(id, 7);
		ck_assert_ptr_nonnull(
			strstr(why.text, is_time ? "[1704067200000,3903090455551]" : "[0,1023]"));
	}
	json_decref(root);
}
END_TEST

START_TEST(id_min_and_max_discord_pagination_agree)
{
	struct sf_layout layout = t_layout_parse("discord");
	json_t *root = load("discord.json");
	json_t *row;
	size_t i;

	json_array_foreach(rows_of(root, "pagination"), i, row)
	{
		int64_t unix_ms = ms_of(row, "timestamp_unix_ms");
		uint64_t first;
		uint64_t last;
		uint64_t neighbour;

		ck_assert_int_eq(sf_id_min(&layout, unix_ms, &first, NULL), 0);
		ck_assert_int_eq(sf_id_max(&layout, unix_ms, &last, NULL), 0);
		ck_assert_uint_eq(first, value_of(row, "boundary_id"));
		ck_assert_uint_eq(last, value_of(row, "highest_id_of_that_ms"));
		if (json_is_null(json_object_get(row, "after_id_to_include_that_ms"))) {
			ck_assert_int_eq(sf_id_max(&layout, unix_ms - 1, &neighbour, NULL),
					 -ERANGE);
		} else {
			ck_assert_int_eq(sf_id_max(&layout, unix_ms - 1, &neighbour, NULL), 0);
			ck_assert_uint_eq(neighbour, value_of(row, "after_id_to_include_that_ms"));
		}
		if (json_is_null(json_object_get(row, "before_id_to_include_that_ms"))) {
			ck_assert_int_eq(sf_id_min(&layout, unix_ms + 1, &neighbour, NULL),
					 -ERANGE);
		} else {
			ck_assert_int_eq(sf_id_min(&layout, unix_ms + 1, &neighbour, NULL), 0);
			ck_assert_uint_eq(neighbour, value_of(row, "before_id_to_include_that_ms"));
		}
	}
	json_decref(root);
}
END_TEST

START_TEST(id_min_and_max_discord_refused_times_give_range_error)
{
	struct sf_layout layout = t_layout_parse("discord");
	json_t *root = load("discord.json");
	json_t *row;
	size_t i;

	json_array_foreach(rows_of(root, "pagination_refused"), i, row)
	{
		int64_t unix_ms = ms_of(row, "timestamp_unix_ms");
		uint64_t id = 7;
		struct sf_why why;

		ck_assert_int_eq(sf_id_min(&layout, unix_ms, &id, &why), -ERANGE);
		ck_assert_ptr_nonnull(strstr(why.text, "[1420070400000,5818116911103]"));
		ck_assert_int_eq(sf_id_max(&layout, unix_ms, &id, &why), -ERANGE);
		ck_assert_ptr_nonnull(strstr(why.text, "[1420070400000,5818116911103]"));
		ck_assert_uint_eq(id, 7);
	}
	json_decref(root);
}
END_TEST

START_TEST(decompose_discord_digit_lengths_agree)
{
	struct sf_layout layout = t_layout_parse("discord");
	json_t *root = load("discord.json");
	json_t *row;
	size_t i;

	json_array_foreach(rows_of(root, "digit_lengths"), i, row)
	{
		struct sf_parts parts;

		ck_assert_int_eq(sf_decompose(&layout, value_of(row, "lowest_id"), &parts, NULL),
				 0);
		ck_assert_int_eq(parts.unix_ms, ms_of(row, "first_ms_touching"));
		ck_assert_int_eq(sf_decompose(&layout, value_of(row, "highest_id"), &parts, NULL),
				 0);
		ck_assert_int_eq(parts.unix_ms, ms_of(row, "last_ms_touching"));
	}
	json_decref(root);
}
END_TEST

START_TEST(layout_discord_format_agrees)
{
	struct sf_layout layout = t_layout_parse("discord");
	json_t *root = load("discord.json");
	json_t *format = json_object_get(root, "format");
	int64_t last_ms = ms_of(format, "last_unix_ms_42_bits");
	uint64_t id;

	ck_assert_uint_eq(layout.time_bits, value_of(format, "timestamp_bits"));
	ck_assert_uint_eq(layout.worker_bits, value_of(format, "worker_bits"));
	ck_assert_uint_eq(layout.process_bits, value_of(format, "process_bits"));
	ck_assert_uint_eq(layout.sequence_bits, value_of(format, "increment_bits"));
	ck_assert_int_eq(layout.epoch_ms, ms_of(format, "epoch_unix_ms"));
	ck_assert_int_eq(sf_layout_last_ms(&layout), last_ms);
	ck_assert_int_eq(sf_id_max(&layout, last_ms, &id, NULL), 0);
	ck_assert_uint_eq(id, value_of(format, "max_id"));
	ck_assert_int_eq(sf_id_max(&layout, ms_of(format, "last_unix_ms_while_id_fits_signed_64"),
				   &id, NULL),
			 0);
	ck_assert_uint_eq(id, INT64_MAX);
	last_ms = ms_of(format, "first_ms_all_ids_above_js_max_safe_integer");
	ck_assert_int_eq(sf_id_min(&layout, last_ms, &id, NULL), 0);
	ck_assert_uint_gt(id, DOUBLE_SAFE_MAX);
	ck_assert_int_eq(sf_id_min(&layout, last_ms - 1, &id, NULL), 0);
	ck_assert_uint_le(id, DOUBLE_SAFE_MAX);
	json_decref(root);
}
END_TEST

START_TEST(layout_snowflakex_format_agrees)
{
	struct sf_layout layout = t_layout_parse("snowflakex");
	json_t *root = load("snowflakex.json");
	json_t *format = json_object_get(root, "format");
	uint64_t id;

	ck_assert_uint_eq(layout.time_bits, value_of(format, "timestamp_bits"));
	ck_assert_uint_eq(layout.node_bits, value_of(format, "machine_id_bits"));
	ck_assert_uint_eq(layout.sequence_bits, value_of(format, "sequence_bits"));
	ck_assert_int_eq(layout.epoch_ms, ms_of(format, "epoch_unix_ms"));
	ck_assert_int_eq(sf_layout_last_ms(&layout), ms_of(format, "last_unix_ms"));
	ck_assert_int_eq(sf_id_max(&layout, sf_layout_last_ms(&layout), &id, NULL), 0);
	ck_assert_uint_eq(id, value_of(format, "max_id"));
	json_decref(root);
}
END_TEST

START_TEST(layout_coola_format_agrees)
{
	struct sf_layout layout = t_layout_parse("coola");
	json_t *root = load("coola.json");

	ck_assert_int_eq(layout.epoch_ms, ms_of(root, "snowflake_epoch_ms"));
	ck_assert_int_eq(sf_layout_last_ms(&layout), ms_of(root, "snowflake_last_ms"));
	json_decref(root);
}
END_TEST

void t_add_layout_vectors(Suite *suite)
{
	TCase *ids = tcase_create("vectors: ids");
	TCase *ranges = tcase_create("vectors: ranges of a time");
	TCase *formats = tcase_create("vectors: formats");

	tcase_add_test(ids, compose_and_decompose_discord_pack_agree);
	tcase_add_test(ids, compose_and_decompose_discord_known_ids_agree);
	tcase_add_test(ids, compose_and_decompose_snowflakex_pack_agree);
	tcase_add_test(ids, compose_and_decompose_snowflakex_printed_rows_agree);
	tcase_add_test(ids, compose_and_decompose_coola_pack_agree);
	tcase_add_test(ids, decompose_coola_extract_gives_time_or_range_error);
	tcase_add_test(ids, compose_coola_refused_gives_range_error);
	tcase_add_test(ids, decompose_discord_digit_lengths_agree);
	suite_add_tcase(suite, ids);
	tcase_add_test(ranges, id_min_and_max_discord_pagination_agree);
	tcase_add_test(ranges, id_min_and_max_discord_refused_times_give_range_error);
	suite_add_tcase(suite, ranges);
	tcase_add_test(formats, layout_discord_format_agrees);
	tcase_add_test(formats, layout_snowflakex_format_agrees);
	tcase_add_test(formats, layout_coola_format_agrees);
	suite_add_tcase(suite, formats);
}
