/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * coola.json: its Snowflakes.
 */
#include "tests/unit/vectors_suite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct sf_layout layout;

static void set_up(void)
{
	layout = t_vectors_layout("coola");
}

static void check_pack(json_t *row)
{
	int64_t unix_ms = t_vectors_i64(row, "timestamp_ms");

	t_vectors_assert_id(&layout,
			    &(struct sf_parts){.unix_ms = unix_ms,
					       .tick = (uint64_t)(unix_ms - layout.epoch_ms),
					       .node = t_vectors_u32(row, "worker_id"),
					       .sequence = t_vectors_u32(row, "sequence")},
			    t_vectors_u64(row, "id"));
}

START_TEST(compose_and_decompose_coola_pack_agree)
{
	t_vectors_each("coola.json", "snowflake_pack", check_pack);
}
END_TEST

static void check_extract(json_t *row)
{
	/* a negative number becomes one above 2^63, which 63 bits cannot hold either */
	uint64_t id = t_vectors_u64(row, "id");
	struct sf_parts parts = {.node = 7};
	struct sf_why why;
	int r = sf_decompose(&layout, id, &parts, &why);

	if (t_vectors_field_if_any(row, "error")) {
		ck_assert_str_eq(t_vectors_text(row, "error"), "ValueError");
		ck_assert_int_eq(r, -ERANGE);
		ck_assert_ptr_nonnull(
			strstr(why.text, "63-bit layout: largest id is 9223372036854775807"));
		ck_assert_uint_eq(parts.node, 7);
	} else {
		ck_assert_int_eq(r, 0);
		ck_assert_int_eq(parts.unix_ms, t_vectors_i64(row, "timestamp_ms"));
	}
}

START_TEST(decompose_coola_extract_gives_time_or_range_error)
{
	t_vectors_each("coola.json", "snowflake_extract", check_extract);
}
END_TEST

static void check_refused(json_t *row)
{
	const char *field = t_vectors_text(row, "field");
	bool is_time = strcmp(field, "timestamp_ms") == 0;
	struct sf_parts parts = {.unix_ms = layout.epoch_ms};
	uint64_t id = 7;
	struct sf_why why;

	ck_assert_str_eq(t_vectors_text(row, "error"), "ValueError");
	ck_assert_msg(is_time || strcmp(field, "worker_id") == 0, "field \"%s\"", field);
	if (is_time)
		parts.unix_ms = t_vectors_i64(row, "value");
	else
		parts.node = (uint32_t)t_vectors_i64(row, "value");
	ck_assert_int_eq(sf_compose(&layout, &parts, &id, &why), -ERANGE);
	ck_assert_uint_eq(id, 7);
	ck_assert_ptr_nonnull(
		strstr(why.text, is_time ? "[1704067200000,3903090455551]" : "[0,1023]"));
}

START_TEST(compose_coola_refused_gives_range_error)
{
	t_vectors_each("coola.json", "snowflake_refused", check_refused);
}
END_TEST

static void check_epoch(json_t *row)
{
	ck_assert_int_eq(layout.epoch_ms, strtoll(json_string_value(row), NULL, 10));
}

START_TEST(layout_coola_epoch_agrees)
{
	t_vectors_one("coola.json", "snowflake_epoch_ms", check_epoch);
}
END_TEST

static void check_last(json_t *row)
{
	ck_assert_int_eq(sf_layout_last_ms(&layout), strtoll(json_string_value(row), NULL, 10));
}

START_TEST(layout_coola_last_ms_agrees)
{
	t_vectors_one("coola.json", "snowflake_last_ms", check_last);
}
END_TEST

void t_add_vectors_coola_snowflake(Suite *suite)
{
	TCase *tcase = tcase_create("coola: Snowflakes");

	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, compose_and_decompose_coola_pack_agree);
	tcase_add_test(tcase, decompose_coola_extract_gives_time_or_range_error);
	tcase_add_test(tcase, compose_coola_refused_gives_range_error);
	tcase_add_test(tcase, layout_coola_epoch_agrees);
	tcase_add_test(tcase, layout_coola_last_ms_agrees);
	suite_add_tcase(suite, tcase);
}
