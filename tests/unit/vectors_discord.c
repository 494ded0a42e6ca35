/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * discord.json: Discord's and GameVox's IDs, their pages, shards, order as text, and what becomes
 * of them where a number is a double.
 */
#include "tests/unit/vectors_suite.h"
#include "tools/layout_option.h"

#include <errno.h>
#include <inttypes.h>
#include <sfpaging.h>
#include <sftext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Largest whole number up to which a double holds every one. */
#define DOUBLE_SAFE_MAX UINT64_C(9007199254740991)
/* Legal times, as the sentences have them; the GameVox page's year 2165 is eleven years off. */
#define LEGAL_TIMES "[1420070400000,5818116911103]"

static struct sf_layout layout;

static void set_up(void)
{
	layout = t_vectors_layout("discord");
}

static void check_id(json_t *row)
{
	uint32_t worker = t_vectors_u32(row, "worker_id");
	uint32_t process = t_vectors_u32(row, "process_id");
	int64_t unix_ms = t_vectors_i64(row, "timestamp_unix_ms");
	uint64_t id = t_vectors_u64(row, "id");
	char hex[SF_TEXT_MAX];

	t_vectors_assert_id(&layout,
			    &(struct sf_parts){.unix_ms = unix_ms,
					       .tick = t_vectors_u64(row, "ms_since_epoch"),
					       .node = worker << 5 | process,
					       .sequence = t_vectors_u32(row, "increment"),
					       .worker = worker,
					       .process = process},
			    id);
	t_vectors_assert_time(row, "timestamp_unix_ms", "timestamp_iso", unix_ms);
	ck_assert_int_eq(sf_text_format(SF_TEXT_HEX, id, hex), 16);
	ck_assert_str_eq(hex, t_vectors_text(row, "hex"));
}

static void check_known_id(json_t *row)
{
	t_vectors_skip(row, "label");
	check_id(row);
}

START_TEST(compose_and_decompose_discord_pack_agree)
{
	t_vectors_each("discord.json", "pack", check_id);
}
END_TEST

START_TEST(compose_and_decompose_discord_known_ids_agree)
{
	t_vectors_each("discord.json", "known_ids", check_known_id);
}
END_TEST

static void check_shard(json_t *row)
{
	uint32_t shard = UINT32_MAX;
	struct sf_why why;

	ck_assert_msg(sf_shard(&layout, t_vectors_u64(row, "guild_id"),
			       t_vectors_u32(row, "num_shards"), &shard, &why) == 0,
		      "%s", why.text);
	ck_assert_uint_eq(shard, t_vectors_u32(row, "shard_id"));
}

START_TEST(shard_discord_rows_agree)
{
	t_vectors_each("discord.json", "shard", check_shard);
}
END_TEST

static int digits_of(uint64_t id)
{
	char text[SF_TEXT_MAX];

	return sf_text_format(SF_TEXT_DECIMAL, id, text);
}

static void check_digit_length(json_t *row)
{
	int digits = (int)t_vectors_u32(row, "digits");
	uint64_t lowest = t_vectors_u64(row, "lowest_id");
	uint64_t highest = t_vectors_u64(row, "highest_id");
	int64_t all_ms = t_vectors_i64(row, "first_ms_all_ids_at_least_this_long");
	struct sf_parts parts;
	uint64_t id;

	ck_assert_int_eq(digits_of(lowest), digits);
	ck_assert_int_eq(digits_of(highest), digits);
	if (lowest > 0)
		ck_assert_int_eq(digits_of(lowest - 1), digits - 1);
	if (highest < UINT64_MAX)
		ck_assert_int_eq(digits_of(highest + 1), digits + 1);
	ck_assert_int_eq(sf_decompose(&layout, lowest, &parts, NULL), 0);
	t_vectors_assert_time(row, "first_ms_touching", "first_ms_touching_iso", parts.unix_ms);
	ck_assert_int_eq(sf_decompose(&layout, highest, &parts, NULL), 0);
	t_vectors_assert_time(row, "last_ms_touching", "last_ms_touching_iso", parts.unix_ms);
	t_vectors_assert_time(row, "first_ms_all_ids_at_least_this_long",
			      "first_ms_all_ids_at_least_this_long_iso", all_ms);
	ck_assert_int_eq(sf_id_min(&layout, all_ms, &id, NULL), 0);
	ck_assert_int_ge(digits_of(id), digits);
	if (all_ms > layout.epoch_ms) {
		ck_assert_int_eq(sf_id_min(&layout, all_ms - 1, &id, NULL), 0);
		ck_assert_int_lt(digits_of(id), digits);
	}
}

START_TEST(decompose_discord_digit_lengths_agree)
{
	t_vectors_each("discord.json", "digit_lengths", check_digit_length);
}
END_TEST

static int sign(int order)
{
	return (order > 0) - (order < 0);
}

static void check_order(json_t *row)
{
	const char *a = t_vectors_text(row, "a");
	const char *b = t_vectors_text(row, "b");
	size_t a_length = strlen(a);
	size_t b_length = strlen(b);
	int numeric = (int)t_vectors_i64(row, "numeric");
	int as_text = sign(strcmp(a, b));
	char wide_a[SF_TEXT_MAX];
	char wide_b[SF_TEXT_MAX];

	ck_assert_int_eq(sign(sf_decimal_compare(a, a_length, b, b_length)), numeric);
	ck_assert_int_eq(sign(sf_decimal_compare(b, b_length, a, a_length)), -numeric);
	ck_assert_int_eq(as_text, t_vectors_i64(row, "lexicographic"));
	ck_assert_int_eq(as_text == numeric, t_vectors_flag(row, "lexicographic_is_right"));
	ck_assert_int_eq(a_length == b_length, t_vectors_flag(row, "same_digit_count"));
	ck_assert_int_eq(sf_text_format(SF_TEXT_DECIMAL20, t_vectors_u64(row, "a"), wide_a), 20);
	ck_assert_int_eq(sf_text_format(SF_TEXT_DECIMAL20, t_vectors_u64(row, "b"), wide_b), 20);
	ck_assert_int_eq(sign(strcmp(wide_a, wide_b)), t_vectors_i64(row, "zero_padded_20"));
	ck_assert_int_eq(sign(strcmp(wide_a, wide_b)), numeric);
}

START_TEST(decimal_compare_discord_string_order_is_that_of_numbers)
{
	t_vectors_each("discord.json", "string_order", check_order);
}
END_TEST

/* NULL in the row: there is no such ID. */
static void check_bound(int r, uint64_t got, json_t *row, const char *name)
{
	if (json_is_null(t_vectors_field(row, name))) {
		ck_assert_int_eq(r, -ENOENT);
		ck_assert_uint_eq(got, 7);
	} else {
		ck_assert_int_eq(r, 0);
		ck_assert_uint_eq(got, t_vectors_u64(row, name));
	}
}

static void check_page(json_t *row)
{
	int64_t unix_ms = t_vectors_i64(row, "timestamp_unix_ms");
	uint64_t boundary = t_vectors_u64(row, "boundary_id");
	uint64_t highest = t_vectors_u64(row, "highest_id_of_that_ms");
	uint64_t first = 7;
	uint64_t last = 7;
	int r;

	t_vectors_assert_time(row, "timestamp_unix_ms", "timestamp_iso", unix_ms);
	ck_assert_int_eq(sf_id_min(&layout, unix_ms, &first, NULL), 0);
	ck_assert_int_eq(sf_id_max(&layout, unix_ms, &last, NULL), 0);
	ck_assert_uint_eq(first, boundary);
	ck_assert_uint_eq(last, highest);
	first = last = 7;
	ck_assert_int_eq(sf_id_range(&layout, unix_ms, unix_ms + 1, &first, &last, NULL), 0);
	ck_assert_uint_eq(first, boundary);
	ck_assert_uint_eq(last, highest);
	first = last = 7;
	r = sf_id_after(&layout, unix_ms, &first, NULL);
	check_bound(r, first, row, "after_id_to_include_that_ms");
	r = sf_id_before(&layout, unix_ms, &last, NULL);
	check_bound(r, last, row, "before_id_to_include_that_ms");
}

START_TEST(id_range_after_and_before_discord_pagination_agree)
{
	t_vectors_each("discord.json", "pagination", check_page);
}
END_TEST

static void check_refusal(int r, const struct sf_why *why, uint64_t id)
{
	ck_assert_int_eq(r, -ERANGE);
	ck_assert_msg(strstr(why->text, LEGAL_TIMES) != NULL, "%s", why->text);
	ck_assert_uint_eq(id, 7);
}

static void check_refused_page(json_t *row)
{
	int64_t unix_ms = t_vectors_i64(row, "timestamp_unix_ms");
	uint64_t id = 7;
	uint64_t last = 7;
	struct sf_why why;

	t_vectors_skip(row, "why");
	check_refusal(sf_id_min(&layout, unix_ms, &id, &why), &why, id);
	check_refusal(sf_id_max(&layout, unix_ms, &id, &why), &why, id);
	check_refusal(sf_id_after(&layout, unix_ms, &id, &why), &why, id);
	check_refusal(sf_id_before(&layout, unix_ms, &id, &why), &why, id);
	check_refusal(sf_id_range(&layout, unix_ms, unix_ms + 1, &id, &last, &why), &why, id);
	ck_assert_uint_eq(last, 7);
}

START_TEST(id_range_after_and_before_discord_refused_times_give_range_error)
{
	t_vectors_each("discord.json", "pagination_refused", check_refused_page);
}
END_TEST

/* What JavaScript prints: the fewest digits that read back to the same double, then zeros. */
static void javascript_text(double number, char *text, size_t size)
{
	char digits[40];
	int precision = 0;
	unsigned long exponent;
	size_t length;

	do {
		(void)snprintf(digits, sizeof(digits), "%.*e", precision++, number);
	} while (strtod(digits, NULL) != number);
	exponent = strtoul(strchr(digits, 'e') + 2, NULL, 10);
	*strchr(digits, 'e') = '\0';
	if (digits[1] == '.')
		memmove(&digits[1], &digits[2], strlen(&digits[2]) + 1);
	length = strlen(digits);
	ck_assert_uint_lt(exponent + 1, size);
	memset(text, '0', exponent + 1);
	memcpy(text, digits, length);
	text[exponent + 1] = '\0';
}

/* In the tool's JSON an ID is a string. */
static void check_json(uint64_t id, const char *as_text)
{
	struct sf_parts parts;
	json_t *object;

	ck_assert_int_eq(sf_decompose(&layout, id, &parts, NULL), 0);
	object = sfctl_id_json(&layout, id, &parts);
	ck_assert(json_is_string(json_object_get(object, "id")));
	ck_assert_str_eq(json_string_value(json_object_get(object, "id")), as_text);
	json_decref(object);
}

/* Why IDs leave the product as text: as a number of JSON they come out as another ID. */
static void check_number_loss(json_t *row)
{
	uint64_t id = t_vectors_u64(row, "id");
	bool exact = t_vectors_flag(row, "exact");
	double number = (double)id;
	char as_number[64];
	char as_text[SF_TEXT_MAX];
	uint64_t back = 0;

	(void)snprintf(as_number, sizeof(as_number), "%.0f", number);
	ck_assert_str_eq(as_number, t_vectors_text(row, "as_ieee_double"));
	ck_assert_int_eq(strcmp(as_number, t_vectors_text(row, "id")) == 0, exact);
	javascript_text(number, as_number, sizeof(as_number));
	ck_assert_str_eq(as_number, t_vectors_text(row, "javascript_Number_prints"));
	ck_assert_int_eq(sf_text_format(SF_TEXT_DECIMAL, id, as_text), (int)strlen(as_text));
	ck_assert_str_eq(as_text, t_vectors_text(row, "id"));
	ck_assert_int_eq(sf_text_parse(SF_TEXT_DECIMAL, as_text, strlen(as_text), &back, NULL), 0);
	ck_assert_uint_eq(back, id);
	check_json(id, as_text);
}

START_TEST(text_parse_discord_js_number_loss_keeps_every_digit)
{
	t_vectors_each("discord.json", "js_number_loss", check_number_loss);
}
END_TEST

static void check_bits(json_t *row)
{
	ck_assert_uint_eq(layout.time_bits, t_vectors_u64(row, "timestamp_bits"));
	ck_assert_uint_eq(layout.worker_bits, t_vectors_u64(row, "worker_bits"));
	ck_assert_uint_eq(layout.process_bits, t_vectors_u64(row, "process_bits"));
	ck_assert_uint_eq(layout.sequence_bits, t_vectors_u64(row, "increment_bits"));
}

static void check_format(json_t *row)
{
	int64_t signed_ms = t_vectors_i64(row, "last_unix_ms_while_id_fits_signed_64");
	int64_t unsafe_ms = t_vectors_i64(row, "first_ms_all_ids_above_js_max_safe_integer");
	int64_t last_ms = sf_layout_last_ms(&layout);
	uint64_t id;

	check_bits(row);
	t_vectors_assert_time(row, "epoch_unix_ms", "epoch_iso", layout.epoch_ms);
	t_vectors_assert_time(row, "last_unix_ms_42_bits", "last_iso_42_bits", last_ms);
	t_vectors_assert_time(row, "last_unix_ms_while_id_fits_signed_64",
			      "last_iso_while_id_fits_signed_64", signed_ms);
	t_vectors_assert_time(row, "first_ms_all_ids_above_js_max_safe_integer",
			      "first_ms_all_ids_above_js_max_safe_integer_iso", unsafe_ms);
	t_vectors_assert_iso(row, "first_overflow_iso", last_ms + 1);
	ck_assert_int_eq(sf_id_max(&layout, last_ms, &id, NULL), 0);
	ck_assert_uint_eq(id, t_vectors_u64(row, "max_id"));
	ck_assert_int_eq(sf_id_max(&layout, last_ms + 1, &id, NULL), -ERANGE);
	/* The page's year is a mistake: the product ends in the real one. */
	ck_assert_uint_eq(t_vectors_u64(row, "gamevox_page_claims_year"), 2165);
	ck_assert_uint_eq(t_vectors_u64(row, "real_year"),
			  strtoull(t_vectors_text(row, "last_iso_42_bits"), NULL, 10));
	ck_assert_int_eq(sf_id_max(&layout, signed_ms, &id, NULL), 0);
	ck_assert_uint_eq(id, INT64_MAX);
	ck_assert_int_eq(sf_id_min(&layout, unsafe_ms, &id, NULL), 0);
	ck_assert_uint_gt(id, DOUBLE_SAFE_MAX);
	ck_assert_int_eq(sf_id_min(&layout, unsafe_ms - 1, &id, NULL), 0);
	ck_assert_uint_le(id, DOUBLE_SAFE_MAX);
}

START_TEST(layout_discord_format_agrees)
{
	t_vectors_one("discord.json", "format", check_format);
}
END_TEST

void t_add_vectors_discord(Suite *suite)
{
	TCase *tcase = tcase_create("discord");

	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, compose_and_decompose_discord_pack_agree);
	tcase_add_test(tcase, compose_and_decompose_discord_known_ids_agree);
	tcase_add_test(tcase, shard_discord_rows_agree);
	tcase_add_test(tcase, decompose_discord_digit_lengths_agree);
	tcase_add_test(tcase, decimal_compare_discord_string_order_is_that_of_numbers);
	tcase_add_test(tcase, id_range_after_and_before_discord_pagination_agree);
	tcase_add_test(tcase, id_range_after_and_before_discord_refused_times_give_range_error);
	tcase_add_test(tcase, text_parse_discord_js_number_loss_keeps_every_digit);
	tcase_add_test(tcase, layout_discord_format_agrees);
	suite_add_tcase(suite, tcase);
}
