/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Ranges of IDs of an interval, values for strict "after" and "before", and shards.
 */
#include "tests/support/random.h"

#include <check.h>
#include <errno.h>
#include <sfpaging.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define ROUNDS 20000u
/* 2024-01-01T00:00:00Z */
#define Y2024_MS INT64_C(1704067200000)
#define DISCORD_LAST_MS INT64_C(5818116911103)

static struct sf_layout layout_of(const char *text)
{
	struct sf_layout layout;
	struct sf_why why;

	ck_assert_msg(sf_layout_parse(text, &layout, &why) == 0, "%s: %s", text, why.text);
	return layout;
}

static uint64_t make(const struct sf_layout *layout, int64_t unix_ms, uint32_t node,
		     uint32_t sequence)
{
	const struct sf_parts parts = {.unix_ms = unix_ms, .node = node, .sequence = sequence};
	struct sf_why why;
	uint64_t id;

	ck_assert_msg(sf_compose(layout, &parts, &id, &why) == 0, "%s", why.text);
	return id;
}

/* ---- ranges ---- */

static const struct {
	const char *layout;
	int64_t since_ms;
	int64_t until_ms;
	uint64_t first;
	uint64_t last;
} ranges[] = {
	{"twitter", Y2024_MS, Y2024_MS + 1, 1741610183685046272, 1741610183689240575},
	{"discord", Y2024_MS, Y2024_MS + 1, 1191168914227200000, 1191168914231394303},
};

START_TEST(fc58_range_of_a_millisecond_holds_its_ids_and_no_neighbours)
{
	struct sf_layout layout = layout_of(ranges[_i].layout);
	uint32_t node_last = (UINT32_C(1) << sf_layout_node_bits(&layout)) - 1;
	uint64_t first = 0;
	uint64_t last = 0;
	struct sf_why why;

	ck_assert_int_eq(
		sf_id_range(&layout, ranges[_i].since_ms, ranges[_i].until_ms, &first, &last, &why),
		0);
	ck_assert_str_eq(why.text, "");
	ck_assert_uint_eq(first, ranges[_i].first);
	ck_assert_uint_eq(last, ranges[_i].last);
	ck_assert_uint_eq(first, make(&layout, Y2024_MS, 0, 0));
	ck_assert_uint_eq(last, make(&layout, Y2024_MS, node_last, 4095));
	ck_assert_uint_eq(first - 1, make(&layout, Y2024_MS - 1, node_last, 4095));
	ck_assert_uint_eq(last + 1, make(&layout, Y2024_MS + 1, 0, 0));
}
END_TEST

static const char *const random_layouts[] = {
	"twitter", "discord", "sonyflake", "instagram", "baidu", "t40 s1 n8 epoch=-1000 tick=7ms"};

START_TEST(id_range_of_any_interval_holds_just_its_ids)
{
	struct sf_layout layout = layout_of(random_layouts[_i]);
	int64_t tick_ms = layout.tick_ms;
	int64_t begin = layout.epoch_ms + tick_ms * 1000;

	t_random_seed();
	for (unsigned round = 0; round < ROUNDS; round++) {
		int64_t since = begin + (int64_t)(t_random() % 40) * tick_ms / 4;
		int64_t until = begin + (int64_t)(t_random() % 40) * tick_ms / 4;
		int64_t time = begin + (int64_t)(t_random() % 40) * tick_ms / 4;
		int64_t tick = (time - layout.epoch_ms) / tick_ms;
		int64_t tick_first = (since - layout.epoch_ms) / tick_ms;
		int64_t tick_end = (until - layout.epoch_ms) / tick_ms;
		uint64_t first = 7;
		uint64_t last = 7;
		uint64_t id = make(&layout, time,
				   (uint32_t)(t_random() & 1) *
					   ((UINT32_C(1) << sf_layout_node_bits(&layout)) - 1),
				   (uint32_t)(t_random() & 1) *
					   ((UINT32_C(1) << layout.sequence_bits) - 1));
		int r = sf_id_range(&layout, since, until, &first, &last, NULL);

		if (tick_end <= tick_first) {
			ck_assert_int_eq(r, -EINVAL);
			ck_assert(first == 7 && last == 7);
		} else {
			ck_assert_int_eq(r, 0);
			ck_assert((first <= id && id <= last) ==
				  (tick_first <= tick && tick < tick_end));
		}
	}
}
END_TEST

START_TEST(id_range_up_to_the_end_holds_the_largest_id)
{
	static const struct {
		const char *layout;
		uint64_t largest;
	} ends[] = {{"discord", UINT64_MAX},
		    {"twitter", INT64_MAX},
		    {"sonyflake", INT64_MAX},
		    {"t10 n4 s4 tick=10ms", (1 << 18) - 1}};
	struct sf_layout layout = layout_of(ends[_i].layout);
	int64_t end = sf_layout_last_ms(&layout) + 1;
	uint64_t first = 7;
	uint64_t last = 7;

	ck_assert_int_eq(sf_id_range(&layout, layout.epoch_ms, end, &first, &last, NULL), 0);
	ck_assert_uint_eq(first, 0);
	ck_assert_uint_eq(last, ends[_i].largest);
	ck_assert_int_eq(sf_id_range(&layout, end - 1, end, &first, &last, NULL), 0);
	ck_assert_uint_eq(first, make(&layout, end - 1, 0, 0));
	ck_assert_uint_eq(last, ends[_i].largest);
	/* the last tick begins, and is not held */
	ck_assert_int_eq(sf_id_range(&layout, layout.epoch_ms, end - 1, &first, &last, NULL), 0);
	ck_assert_uint_eq(last, make(&layout, end - 1, 0, 0) - 1);
}
END_TEST

/* A layout that ends past the last millisecond that 64 bits can count. */
START_TEST(id_range_of_a_layout_without_end_takes_any_time)
{
	struct sf_layout layout = layout_of("t60 n1 s1 tick=60s");
	uint64_t first;
	uint64_t last;

	ck_assert_int_eq(sf_layout_last_ms(&layout), INT64_MAX);
	ck_assert_int_eq(sf_id_range(&layout, 0, INT64_MAX, &first, &last, NULL), 0);
	ck_assert_uint_eq(last, (uint64_t)(INT64_MAX / 60000) * 4 - 1);
}
END_TEST

static const struct {
	int64_t since_ms;
	int64_t until_ms;
	int error;
	const char *sentence;
} bad_ranges[] = {
	{Y2024_MS, Y2024_MS, -EINVAL,
	 "from 1704067200000 ms up to, and without, 1704067200000 ms there is no whole tick of "
	 "1 ms; let the end lie in a later tick"},
	{Y2024_MS, Y2024_MS - 1, -EINVAL, "no whole tick"},
	{1420070399999, Y2024_MS, -ERANGE, "1420070399999 ms lies before the layout's epoch"},
	{Y2024_MS, 1420070399999, -ERANGE, "1420070399999 ms lies before the layout's epoch"},
	{Y2024_MS, INT64_MIN, -ERANGE, "before the layout's epoch"},
	{Y2024_MS, DISCORD_LAST_MS + 2, -ERANGE, "5818116911105 ms lies past the layout's end"},
	{DISCORD_LAST_MS + 1, DISCORD_LAST_MS + 1, -ERANGE, "5818116911104 ms lies past"},
	{Y2024_MS, INT64_MAX, -ERANGE, "past the layout's end"},
};

START_TEST(id_range_of_an_empty_interval_or_outside_the_layout_is_refused)
{
	struct sf_layout layout = layout_of("discord");
	uint64_t first = 7;
	uint64_t last = 7;
	struct sf_why why;

	ck_assert_int_eq(sf_id_range(&layout, bad_ranges[_i].since_ms, bad_ranges[_i].until_ms,
				     &first, &last, &why),
			 bad_ranges[_i].error);
	ck_assert_msg(strstr(why.text, bad_ranges[_i].sentence), "%s", why.text);
	ck_assert_uint_eq(first, 7);
	ck_assert_uint_eq(last, 7);
}
END_TEST

/* ---- pages ---- */

static const struct {
	int64_t unix_ms;
	uint64_t after; /* 0: none */
	uint64_t before;
} pages[] = {
	/* discord.json, pagination */
	{1420070400000, 0, 4194304},
	{1420070400001, 4194303, 8388608},
	{1451606400000, 132271570943999999, 132271570948194304},
	{1462015105796, 175928847298985983, 175928847303180288},
	{Y2024_MS, 1191168914227199999, 1191168914231394304},
	{DISCORD_LAST_MS, 18446744073705357311U, 0},
};

START_TEST(id_after_and_before_take_the_whole_millisecond_onto_the_page)
{
	struct sf_layout layout = layout_of("discord");
	uint64_t after = 0;
	uint64_t before = 0;
	struct sf_why why;

	if (pages[_i].after) {
		ck_assert_int_eq(sf_id_after(&layout, pages[_i].unix_ms, &after, &why), 0);
		ck_assert_str_eq(why.text, "");
	} else {
		ck_assert_int_eq(sf_id_after(&layout, pages[_i].unix_ms, &after, &why), -ENOENT);
		ck_assert_ptr_nonnull(strstr(why.text, "ask without \"after\""));
	}
	ck_assert_uint_eq(after, pages[_i].after);
	if (pages[_i].before) {
		ck_assert_int_eq(sf_id_before(&layout, pages[_i].unix_ms, &before, &why), 0);
		ck_assert_str_eq(why.text, "");
	} else {
		ck_assert_int_eq(sf_id_before(&layout, pages[_i].unix_ms, &before, &why), -ENOENT);
		ck_assert_ptr_nonnull(strstr(why.text, "ask without \"before\""));
	}
	ck_assert_uint_eq(before, pages[_i].before);
}
END_TEST

/* 10 ms ticks: any time within one stands for it. */
START_TEST(id_after_and_before_of_a_longer_tick_take_it_whole)
{
	struct sf_layout layout = layout_of("sonyflake");
	int64_t begin = layout.epoch_ms + 100;
	uint64_t after;
	uint64_t before;

	for (int64_t ms = begin; ms < begin + 10; ms++) {
		ck_assert_int_eq(sf_id_after(&layout, ms, &after, NULL), 0);
		ck_assert_uint_eq(after, make(&layout, begin, 0, 0) - 1);
		ck_assert_int_eq(sf_id_before(&layout, ms, &before, NULL), 0);
		ck_assert_uint_eq(before, make(&layout, begin + 10, 0, 0));
	}
}
END_TEST

/* The number past the largest ID need not be one, as long as 64 bits hold it. */
START_TEST(id_before_of_the_last_tick_of_a_63_bit_layout_is_past_all_ids)
{
	struct sf_layout layout = layout_of("twitter");
	uint64_t before;

	ck_assert_int_eq(sf_id_before(&layout, sf_layout_last_ms(&layout), &before, NULL), 0);
	ck_assert_uint_eq(before, UINT64_C(1) << 63);
}
END_TEST

START_TEST(id_after_and_before_outside_the_layout_are_refused)
{
	static const int64_t outside[] = {INT64_MIN, 1420070399999, DISCORD_LAST_MS + 1, INT64_MAX};
	struct sf_layout layout = layout_of("discord");
	uint64_t id = 7;
	struct sf_why why;

	for (int i = 0; i < LENGTH(outside); i++) {
		ck_assert_int_eq(sf_id_after(&layout, outside[i], &id, &why), -ERANGE);
		ck_assert_ptr_nonnull(strstr(why.text, "[1420070400000,5818116911103]"));
		ck_assert_int_eq(sf_id_before(&layout, outside[i], &id, &why), -ERANGE);
		ck_assert_ptr_nonnull(strstr(why.text, "[1420070400000,5818116911103]"));
	}
	ck_assert_uint_eq(id, 7);
}
END_TEST

/* ---- shards ---- */

static const struct {
	uint64_t id;
	uint32_t shards;
	uint32_t shard;
} shards[] = {
	/* discord.json, shard */
	{182955831900192769, 1, 0},
	{182955831900192769, 2, 1},
	{182955831900192769, 10, 9},
	{182955831900192769, 64, 39},
	{182955831900192769, 1000, 479},
	{175928847299117063, 16, 4},
	{175928847299117063, 1000, 796},
	{41771983423143937, 5, 4},
	/* (2^42 - 1) mod (2^32 - 1) */
	{UINT64_MAX, UINT32_MAX, 1023},
	{0, UINT32_MAX, 0},
};

START_TEST(shard_of_an_id_is_its_tick_modulo_the_shards)
{
	struct sf_layout layout = layout_of("discord");
	uint32_t shard = 7777;
	struct sf_why why;

	ck_assert_int_eq(sf_shard(&layout, shards[_i].id, shards[_i].shards, &shard, &why), 0);
	ck_assert_str_eq(why.text, "");
	ck_assert_uint_eq(shard, shards[_i].shard);
}
END_TEST

START_TEST(shard_of_no_shards_or_no_id_is_refused)
{
	struct sf_layout layout = layout_of("twitter");
	uint32_t shard = 7;
	struct sf_why why;

	ck_assert_int_eq(sf_shard(&layout, 1, 0, &shard, &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, "0 shards; legal is [1,4294967295]"));
	ck_assert_int_eq(sf_shard(&layout, UINT64_C(1) << 63, 2, &shard, &why), -ERANGE);
	ck_assert_ptr_nonnull(strstr(why.text, "63-bit layout"));
	ck_assert_uint_eq(shard, 7);
}
END_TEST

/* ---- wide formats have none of these ---- */

START_TEST(paging_of_64_bit_ids_refuses_the_wide_formats)
{
	struct sf_layout layout;
	uint64_t first = 7;
	uint64_t last = 7;
	uint32_t shard = 7;
	struct sf_why why;

	ck_assert_int_eq(sf_layout_of_format((unsigned)_i, &layout), 0);
	ck_assert_int_eq(sf_id_range(&layout, 0, 5000, &first, &last, &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, sf_format_name((unsigned)_i)));
	ck_assert_int_eq(sf_id_after(&layout, 5000, &first, &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, sf_format_name((unsigned)_i)));
	ck_assert_int_eq(sf_id_before(&layout, 5000, &first, &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, sf_format_name((unsigned)_i)));
	ck_assert_int_eq(sf_shard(&layout, 1, 2, &shard, &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, sf_format_name((unsigned)_i)));
	ck_assert(first == 7 && last == 7 && shard == 7);
}
END_TEST

static Suite *paging_suite(void)
{
	Suite *suite = suite_create("paging");
	TCase *range = tcase_create("range");
	TCase *page = tcase_create("after and before");
	TCase *shard = tcase_create("shard");

	tcase_add_loop_test(range, fc58_range_of_a_millisecond_holds_its_ids_and_no_neighbours, 0,
			    LENGTH(ranges));
	tcase_add_loop_test(range, id_range_of_any_interval_holds_just_its_ids, 0,
			    LENGTH(random_layouts));
	tcase_add_loop_test(range, id_range_up_to_the_end_holds_the_largest_id, 0, 4);
	tcase_add_test(range, id_range_of_a_layout_without_end_takes_any_time);
	tcase_add_loop_test(range, id_range_of_an_empty_interval_or_outside_the_layout_is_refused,
			    0, LENGTH(bad_ranges));
	tcase_add_loop_test(range, paging_of_64_bit_ids_refuses_the_wide_formats, SF_FORMAT_ULID,
			    SF_FORMAT_HOUND + 1);
	suite_add_tcase(suite, range);
	tcase_add_loop_test(page, id_after_and_before_take_the_whole_millisecond_onto_the_page, 0,
			    LENGTH(pages));
	tcase_add_test(page, id_after_and_before_of_a_longer_tick_take_it_whole);
	tcase_add_test(page, id_before_of_the_last_tick_of_a_63_bit_layout_is_past_all_ids);
	tcase_add_test(page, id_after_and_before_outside_the_layout_are_refused);
	suite_add_tcase(suite, page);
	tcase_add_loop_test(shard, shard_of_an_id_is_its_tick_modulo_the_shards, 0, LENGTH(shards));
	tcase_add_test(shard, shard_of_no_shards_or_no_id_is_refused);
	suite_add_tcase(suite, shard);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(paging_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
