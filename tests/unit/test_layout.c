/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Layouts: presets, the limits of time and fields, known IDs. The other parts of the suite are the
 * layout_*.c files beside this one.
 */
#include "tests/unit/layout_suite.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct sf_layout t_layout_parse(const char *text)
{
	struct sf_layout layout;
	struct sf_why why;

	ck_assert_msg(sf_layout_parse(text, &layout, &why) == 0, "%s: %s", text, why.text);
	ck_assert_str_eq(why.text, "");
	return layout;
}

void t_layout_same(const struct sf_layout *a, const struct sf_layout *b)
{
	ck_assert_mem_eq(a, b, sizeof(*a));
}

static void check_time_text(int64_t unix_ms, const char *want)
{
	time_t seconds = (time_t)(unix_ms / 1000);
	char whole[32];
	char text[48];
	struct tm tm;

	ck_assert_ptr_nonnull(gmtime_r(&seconds, &tm));
	ck_assert_uint_gt(strftime(whole, sizeof(whole), "%Y-%m-%dT%H:%M:%S", &tm), 0);
	(void)snprintf(text, sizeof(text), "%s.%03dZ", whole, (int)(unix_ms % 1000));
	ck_assert_str_eq(text, want);
}

static const struct {
	const char *name;
	const char *canonical;
	int64_t last_ms;
	const char *last_text;
} presets[] = {
	{"twitter", "t41 n10 s12 epoch=1288834974657 tick=1ms", 3487858230208,
	 "2080-07-10T17:30:30.208Z"},
	{"snowflakex", "t41 n10 s12 epoch=1480927901749 tick=1ms", 3679951157300,
	 "2086-08-12T00:39:17.300Z"},
	{"discord", "t42 w5 p5 s12 epoch=1420070400000 tick=1ms", 5818116911103,
	 "2154-05-15T07:35:11.103Z"},
	{"coola", "t41 n10 s12 epoch=1704067200000 tick=1ms", 3903090455551,
	 "2093-09-06T15:47:35.551Z"},
	{"instagram", "t41 n13 s10 epoch=1314220021721 tick=1ms", 3513243277272,
	 "2081-04-30T12:54:37.272Z"},
	{"sonyflake", "t39 s8 n16 epoch=1409529600000 tick=10ms", 6907087738879,
	 "2188-11-16T03:28:58.879Z"},
	{"baidu", "t28 n22 s13 epoch=1463673600000 tick=1s", 1732109055999,
	 "2024-11-20T13:24:15.999Z"},
	/* not a preset: 41 bits from the Unix epoch */
	{NULL, "t41 n10 s12 epoch=0 tick=1ms", 2199023255551, "2039-09-07T15:47:35.551Z"},
};

START_TEST(presets_are_exactly_these)
{
	size_t count;
	const struct sf_preset *preset = sf_presets(&count);

	ck_assert_uint_eq(count, T_COUNT(presets) - 1);
	for (size_t i = 0; i < count; i++) {
		struct sf_layout by_name = t_layout_parse(preset[i].name);
		struct sf_layout by_notation = t_layout_parse(preset[i].notation);
		struct sf_layout by_table = t_layout_parse(presets[i].canonical);

		ck_assert_str_eq(preset[i].name, presets[i].name);
		ck_assert_uint_gt(strlen(preset[i].source), 0);
		t_layout_same(&by_name, &by_notation);
		t_layout_same(&by_name, &by_table);
		ck_assert_str_eq(sf_layout_name(&by_name), preset[i].name);
	}
}
END_TEST

START_TEST(name_of_other_layouts_is_null)
{
	struct sf_layout layout = t_layout_parse("twitter");

	layout.epoch_ms++;
	ck_assert_ptr_null(sf_layout_name(&layout));
	layout = t_layout_parse("t41 n10 s12");
	ck_assert_ptr_null(sf_layout_name(&layout));
	memset(&layout, 0xff, sizeof(layout));
	ck_assert_ptr_null(sf_layout_name(&layout));
}
END_TEST

START_TEST(compose_fc24_last_ms_works_and_next_is_exhausted)
{
	struct sf_layout layout = t_layout_parse(presets[_i].canonical);
	unsigned bits = sf_layout_bits(&layout);
	struct sf_parts parts = {
		.unix_ms = presets[_i].last_ms,
		.node = (uint32_t)((UINT64_C(1) << sf_layout_node_bits(&layout)) - 1),
		.sequence = (UINT32_C(1) << layout.sequence_bits) - 1};
	struct sf_parts got;
	struct sf_why why;
	char range[64];
	uint64_t id;

	check_time_text(presets[_i].last_ms, presets[_i].last_text);
	ck_assert_int_eq(sf_layout_last_ms(&layout), presets[_i].last_ms);
	ck_assert_int_eq(sf_compose(&layout, &parts, &id, &why), 0);
	ck_assert_uint_eq(id, bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1);
	ck_assert_int_eq(sf_decompose(&layout, id, &got, &why), 0);
	ck_assert_uint_eq(got.tick, sf_layout_last_tick(&layout));
	ck_assert_int_eq(got.unix_ms, parts.unix_ms - layout.tick_ms + 1);
	(void)snprintf(range, sizeof(range), "[%" PRId64 ",%" PRId64 "]", layout.epoch_ms,
		       presets[_i].last_ms);
	parts.unix_ms++;
	ck_assert_int_eq(sf_compose(&layout, &parts, &id, &why), -ERANGE);
	ck_assert_ptr_nonnull(strstr(why.text, "exhausted"));
	ck_assert_ptr_nonnull(strstr(why.text, range));
	parts.unix_ms = layout.epoch_ms - 1;
	ck_assert_int_eq(sf_compose(&layout, &parts, &id, &why), -ERANGE);
	ck_assert_ptr_nonnull(strstr(why.text, "before the layout's epoch"));
	ck_assert_ptr_nonnull(strstr(why.text, range));
	parts = (struct sf_parts){.unix_ms = layout.epoch_ms};
	ck_assert_int_eq(sf_compose(&layout, &parts, &id, &why), 0);
	ck_assert_uint_eq(id, 0);
}
END_TEST

START_TEST(compose_fc26_node_and_sequence_out_of_range_are_refused)
{
	static const struct {
		const char *layout;
		uint32_t node;
		uint32_t sequence;
		const char *names;
		const char *range; /* NULL: legal */
	} rows[] = {
		{"twitter", 0, 0, NULL, NULL},
		{"twitter", 1023, 4095, NULL, NULL},
		{"twitter", 1024, 0, "node 1024", "[0,1023]"},
		{"twitter", UINT32_MAX, 0, "node 4294967295", "[0,1023]"},
		{"twitter", 0, 4096, "sequence 4096", "[0,4095]"},
		{"twitter", 0, UINT32_MAX, "sequence 4294967295", "[0,4095]"},
		{"discord", 1024, 0, "node 1024", "[0,1023]"},
		{"t41 w5 s12", 31, 0, NULL, NULL},
		{"t41 w5 s12", 32, 0, "node 32", "[0,31]"},
		{"t41 s12 p5", 32, 0, "node 32", "[0,31]"},
		{"t31 n18 s14", 262143, 0, NULL, NULL},
		{"t31 n18 s14", 462146, 0, "node 462146", "[0,262143]"},
		{"t2 n31 s31", INT32_MAX, INT32_MAX, NULL, NULL},
		{"t2 n31 s31", UINT32_C(1) << 31, 0, "node 2147483648", "[0,2147483647]"},
	};

	for (size_t i = 0; i < T_COUNT(rows); i++) {
		struct sf_layout layout = t_layout_parse(rows[i].layout);
		struct sf_parts parts = {.unix_ms = layout.epoch_ms,
					 .node = rows[i].node,
					 .sequence = rows[i].sequence};
		uint64_t id = 7;
		struct sf_why why;
		int r = sf_compose(&layout, &parts, &id, &why);

		if (!rows[i].range) {
			ck_assert_int_eq(r, 0);
			ck_assert_str_eq(why.text, "");
			continue;
		}
		ck_assert_int_eq(r, -ERANGE);
		ck_assert_uint_eq(id, 7);
		ck_assert_ptr_nonnull(strstr(why.text, rows[i].names));
		ck_assert_ptr_nonnull(strstr(why.text, rows[i].range));
	}
}
END_TEST

START_TEST(decompose_fc51_known_ids_agree)
{
	struct sf_layout twitter = t_layout_parse("twitter");
	struct sf_layout discord = t_layout_parse("discord");
	struct sf_parts parts;

	ck_assert_int_eq(sf_decompose(&twitter, 1593572310593806338, &parts, NULL), 0);
	check_time_text(parts.unix_ms, "2022-11-18T11:50:20.644Z");
	ck_assert_uint_eq(parts.node, 378);
	ck_assert_uint_eq(parts.sequence, 2);
	ck_assert_int_eq(sf_decompose(&discord, 175928847299117063, &parts, NULL), 0);
	check_time_text(parts.unix_ms, "2016-04-30T11:18:25.796Z");
	ck_assert_uint_eq(parts.worker, 1);
	ck_assert_uint_eq(parts.process, 0);
	ck_assert_uint_eq(parts.node, 1 << 5);
	ck_assert_uint_eq(parts.sequence, 7);
	ck_assert_int_eq(twitter.epoch_ms, 1288834974657);
	ck_assert_int_eq(discord.epoch_ms, 1420070400000);
}
END_TEST

START_TEST(decompose_fc53_id_beyond_the_width_is_refused)
{
	struct sf_layout layout = t_layout_parse("twitter");
	struct sf_parts parts = {.node = 7};
	struct sf_why why;

	ck_assert_int_eq(sf_decompose(&layout, INT64_MAX, &parts, &why), 0);
	parts.node = 7;
	ck_assert_int_eq(sf_decompose(&layout, UINT64_C(1) << 63, &parts, &why), -ERANGE);
	ck_assert_ptr_nonnull(strstr(why.text, "id 9223372036854775808"));
	ck_assert_ptr_nonnull(strstr(why.text, "63-bit layout: largest id is 9223372036854775807"));
	ck_assert_int_eq(sf_decompose(&layout, UINT64_MAX, &parts, NULL), -ERANGE);
	ck_assert_uint_eq(parts.node, 7);
	layout = t_layout_parse("discord");
	ck_assert_int_eq(sf_decompose(&layout, UINT64_MAX, &parts, NULL), 0);
	layout = t_layout_parse("t1 n1 s1");
	ck_assert_int_eq(sf_decompose(&layout, 7, &parts, NULL), 0);
	ck_assert_int_eq(sf_decompose(&layout, 8, &parts, &why), -ERANGE);
	ck_assert_ptr_nonnull(strstr(why.text, "3-bit layout: largest id is 7"));
}
END_TEST

START_TEST(id_min_and_max_fc58_enclose_exactly_one_ms)
{
	static const struct {
		const char *layout;
		uint64_t first;
		uint64_t last;
	} rows[] = {
		{"twitter", 1741610183685046272, 1741610183689240575},
		{"discord", 1191168914227200000, 1191168914231394303},
	};
	const int64_t unix_ms = 1704067200000; /* 2024-01-01T00:00:00.000Z */

	for (size_t i = 0; i < T_COUNT(rows); i++) {
		struct sf_layout layout = t_layout_parse(rows[i].layout);
		uint64_t id;

		ck_assert_int_eq(sf_id_min(&layout, unix_ms, &id, NULL), 0);
		ck_assert_uint_eq(id, rows[i].first);
		ck_assert_int_eq(sf_id_max(&layout, unix_ms, &id, NULL), 0);
		ck_assert_uint_eq(id, rows[i].last);
		ck_assert_int_eq(sf_id_max(&layout, unix_ms - 1, &id, NULL), 0);
		ck_assert_uint_eq(id, rows[i].first - 1);
		ck_assert_int_eq(sf_id_min(&layout, unix_ms + 1, &id, NULL), 0);
		ck_assert_uint_eq(id, rows[i].last + 1);
	}
}
END_TEST

START_TEST(compose_fc59_time_is_cut_down_to_the_tick)
{
	static const struct {
		const char *layout;
		int64_t unix_ms;
		int64_t tick_ms;
	} rows[] = {
		{"twitter", 1700000000999, 1700000000999},
		{"sonyflake", 1700000000989, 1700000000980},
		{"sonyflake", 1700000000990, 1700000000990},
		{"sonyflake", 1700000000999, 1700000000990},
		{"baidu", 1700000000000, 1700000000000},
		{"baidu", 1700000000500, 1700000000000},
		{"baidu", 1700000000999, 1700000000000},
		{"baidu", 1700000001000, 1700000001000},
		{"t39 s8 n16 epoch=1409529600003 tick=10ms", 1409529600012, 1409529600003},
		{"t39 s8 n16 epoch=1409529600003 tick=10ms", 1409529600013, 1409529600013},
		{"t39 s8 n16 epoch=-5 tick=10ms", -5, -5},
		{"t39 s8 n16 epoch=-5 tick=10ms", 4, -5},
		{"t39 s8 n16 epoch=-5 tick=10ms", 5, 5},
		{"t28 n22 s13 epoch=-60001 tick=60s", -2, -60001},
		{"t28 n22 s13 epoch=-60001 tick=60s", -1, -1},
		{"t28 n22 s13 epoch=-60001 tick=60s", 59998, -1},
	};

	for (size_t i = 0; i < T_COUNT(rows); i++) {
		struct sf_layout layout = t_layout_parse(rows[i].layout);
		uint32_t node = (UINT32_C(1) << layout.node_bits) - 1;
		uint32_t sequence = (UINT32_C(1) << layout.sequence_bits) - 1;
		struct sf_parts parts = {
			.unix_ms = rows[i].unix_ms, .node = node, .sequence = sequence};
		struct sf_parts got;
		uint64_t id;
		uint64_t last;

		ck_assert_int_eq(sf_compose(&layout, &parts, &id, NULL), 0);
		ck_assert_int_eq(sf_decompose(&layout, id, &got, NULL), 0);
		ck_assert_int_eq(got.unix_ms, rows[i].tick_ms);
		ck_assert_uint_eq(got.node, node);
		ck_assert_uint_eq(got.sequence, sequence);
		ck_assert_int_eq(sf_id_max(&layout, rows[i].unix_ms, &last, NULL), 0);
		ck_assert_uint_eq(id, last);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("layout");
	TCase *constants = tcase_create("presets");
	TCase *limits = tcase_create("limits");
	TCase *ids = tcase_create("known ids");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(constants, presets_are_exactly_these);
	tcase_add_test(constants, name_of_other_layouts_is_null);
	suite_add_tcase(suite, constants);
	tcase_add_loop_test(limits, compose_fc24_last_ms_works_and_next_is_exhausted, 0,
			    T_COUNT(presets));
	tcase_add_test(limits, compose_fc26_node_and_sequence_out_of_range_are_refused);
	tcase_add_test(limits, decompose_fc53_id_beyond_the_width_is_refused);
	tcase_add_test(limits, compose_fc59_time_is_cut_down_to_the_tick);
	suite_add_tcase(suite, limits);
	tcase_add_test(ids, decompose_fc51_known_ids_agree);
	tcase_add_test(ids, id_min_and_max_fc58_enclose_exactly_one_ms);
	suite_add_tcase(suite, ids);
	t_add_layout_notation(suite);
	t_add_layout_model(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
