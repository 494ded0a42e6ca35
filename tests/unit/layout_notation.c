/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Layout texts that are legal, layout texts and layouts that are not, and the sentences about them.
 */
#include "tests/unit/layout_suite.h"

#include "shm/why.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *text;
	const char *canonical;
} legal[] = {
	{"t41 n10 s12", "t41 n10 s12 epoch=0 tick=1ms"},
	{"  t41\tn10   s12 ", "t41 n10 s12 epoch=0 tick=1ms"},
	{" twitter ", "t41 n10 s12 epoch=1288834974657 tick=1ms"},
	{"tick=10ms epoch=5 t39 s8 n16", "t39 s8 n16 epoch=5 tick=10ms"},
	{"t39 tick=1s s8 epoch=-5 n16", "t39 s8 n16 epoch=-5 tick=1s"},
	{"t28 n22 s13 tick=1000ms", "t28 n22 s13 epoch=0 tick=1s"},
	{"t28 n22 s13 tick=1500ms", "t28 n22 s13 epoch=0 tick=1500ms"},
	{"t28 n22 s13 tick=60s", "t28 n22 s13 epoch=0 tick=60s"},
	{"t28 n22 s13 tick=60000ms", "t28 n22 s13 epoch=0 tick=60s"},
	{"t28 n22 s13 epoch=-9000000000000", "t28 n22 s13 epoch=-9000000000000 tick=1ms"},
	{"t28 n22 s13 epoch=9000000000000", "t28 n22 s13 epoch=9000000000000 tick=1ms"},
	{"t42 w5 p5 s12", "t42 w5 p5 s12 epoch=0 tick=1ms"},
	{"t42 p5 s12 w5", "t42 p5 s12 w5 epoch=0 tick=1ms"},
	{"t41 w10 s12", "t41 w10 s12 epoch=0 tick=1ms"},
	{"t41 s12 p10", "t41 s12 p10 epoch=0 tick=1ms"},
	{"t1 n1 s1", "t1 n1 s1 epoch=0 tick=1ms"},
	{"t62 n1 s1", "t62 n1 s1 epoch=0 tick=1ms"},
	{"t2 n31 s31", "t2 n31 s31 epoch=0 tick=1ms"},
	{"t2 w30 p1 s31", "t2 w30 p1 s31 epoch=0 tick=1ms"},
	/* the wide formats have no notation but their name */
	{"ulid", "ulid"},
	{"\tuuid7 ", "uuid7"},
	{"objectid", "objectid"},
	{"hound", "hound"},
};

START_TEST(parse_legal_text_gives_canonical_form)
{
	struct sf_layout layout;
	struct sf_layout again;
	char text[SF_LAYOUT_TEXT_MAX];

	layout = t_layout_parse(legal[_i].text);
	ck_assert_int_eq(sf_layout_check(&layout, NULL), 0);
	ck_assert_int_eq(sf_layout_format(&layout, text, sizeof(text)),
			 (int)strlen(legal[_i].canonical));
	ck_assert_str_eq(text, legal[_i].canonical);
	again = t_layout_parse(text);
	t_layout_same(&layout, &again);
}
END_TEST

/* The text, what the sentence must name, and what it must say is legal. */
static const struct {
	const char *text;
	const char *names;
	const char *says;
} malformed[] = {
	{"", "empty", "twitter"},
	{" \t ", "empty", "t41 n10 s12"},
	{"twiter", "\"twiter\"", "twitter snowflakex discord coola instagram sonyflake baidu"},
	{"Twitter", "\"Twitter\"", "twitter"},
	{"ta1", "\"ta1\"", "twitter"},
	{"tz1", "\"tz1\"", "twitter"},
	{"~", "\"~\"", "twitter"},
	{"twitter,", "\"twitter,\"", "twitter"},
	{"twitter twitter", "\"twitter\"", "alone"},
	{"twitter tick=1ms", "\"twitter\"", "alone"},
	{"t41 n10 s12 baidu", "\"baidu\"", "alone"},
	{"ulid ulid", "\"ulid\"", "alone"},
	{"objectid tick=1s", "\"objectid\"", "alone"},
	{"t41 n10 s12 hound", "\"hound\"", "alone"},
	{"Ulid", "\"Ulid\"", "twitter"},
	{"ulid7", "\"ulid7\"", "twitter"},
	{"uuid", "\"uuid\"", "twitter"},
	{"snowflake", "\"snowflake\"", "twitter"},
	{"x41 n10 s12", "\"x41\"", "letters t n w p s"},
	{"T41 n10 s12", "\"T41\"", "letters t n w p s"},
	{"41 n10 s12", "\"41\"", "letters t n w p s"},
	{"t41 n10 s12 x", "\"x\"", "letters t n w p s"},
	{"t41 n10 s12 #1", "\"#1\"", "letters t n w p s"},
	{"t41,n10,s12", "\"t41,n10,s12\"", "[1,63]"},
	{"t41\nn10 s12", "\"t41?n10\"", "[1,63]"},
	{"t041 n10 s12", "\"t041\"", "[1,63]"},
	{"t0 n10 s12", "\"t0\"", "[1,63]"},
	{"t64 n10 s12", "\"t64\"", "[1,63]"},
	{"t n10 s12", "\"t\"", "[1,63]"},
	{"t-1 n10 s12", "\"t-1\"", "[1,63]"},
	{"t+1 n10 s12", "\"t+1\"", "[1,63]"},
	{"t41x n10 s12", "\"t41x\"", "[1,63]"},
	{"t99999999999999999999 n10 s12", "\"t99999999999999999999\"", "[1,63]"},
	{"t4294967337 n10 s12", "\"t4294967337\"", "[1,63]"},
	{"t41 n32 s12", "\"n32\"", "[1,31]"},
	{"t41 n010 s12", "\"n010\"", "[1,31]"},
	{"t41 w0 s12", "\"w0\"", "[1,31]"},
	{"t41 p32 s12", "\"p32\"", "[1,31]"},
	{"t41 n10 s32", "\"s32\"", "[1,31]"},
	{"t41 n10 s0", "\"s0\"", "[1,31]"},
	{"t41 t41 n10 s12", "\"t41\"", "once"},
	{"t41 n10 n9 s12", "\"n9\"", "once"},
	{"t41 n10 s12 s11", "\"s11\"", "once"},
	{"t41 n10 s12 epoch=1 epoch=1", "\"epoch=1\"", "once"},
	{"t41 n10 s12 epoch=0 epoch=0", "\"epoch=0\"", "once"},
	{"t41 n10 s12 tick=1ms tick=1ms", "\"tick=1ms\"", "once"},
	{"t41 n10 s12 epoch=", "\"epoch=\"", "[-9000000000000,9000000000000]"},
	{"t41 n10 s12 epoch=-", "\"epoch=-\"", "[-9000000000000,9000000000000]"},
	{"t41 n10 s12 epoch=-0", "\"epoch=-0\"", "without leading zeros"},
	{"t41 n10 s12 epoch=01", "\"epoch=01\"", "without leading zeros"},
	{"t41 n10 s12 epoch=+1", "\"epoch=+1\"", "whole number"},
	{"t41 n10 s12 epoch=1.5", "\"epoch=1.5\"", "whole number"},
	{"t41 n10 s12 epoch=1ms", "\"epoch=1ms\"", "whole number"},
	{"t41 n10 s12 epoch=0x10", "\"epoch=0x10\"", "whole number"},
	{"t41 n10 s12 epoch=2024-01-01", "\"epoch=2024-01-01\"", "Unix milliseconds"},
	{"t41 n10 s12 epoch=9000000000001", "\"epoch=9000000000001\"", "9000000000000]"},
	{"t41 n10 s12 epoch=-9000000000001", "\"epoch=-9000000000001\"", "[-90000"},
	{"t41 n10 s12 epoch=18446744073709551616", "\"epoch=184467440737095516...\"", "[-90000"},
	{"t41 n10 s12 Epoch=1", "\"Epoch=1\"", "epoch=MS"},
	{"t41 n10 s12 epoch", "\"epoch\"", "epoch=MS"},
	{"t41 n10 s12 epoch = 1", "\"epoch\"", "epoch=MS"},
	{"t41 n10 s12 tick=", "\"tick=\"", "1ms to 60000ms"},
	{"t41 n10 s12 tick=ms", "\"tick=ms\"", "1ms to 60000ms"},
	{"t41 n10 s12 tick=10", "\"tick=10\"", "ms or s"},
	{"t41 n10 s12 tick=0ms", "\"tick=0ms\"", "1ms to 60000ms"},
	{"t41 n10 s12 tick=01ms", "\"tick=01ms\"", "without leading zeros"},
	{"t41 n10 s12 tick=-1ms", "\"tick=-1ms\"", "1ms to 60000ms"},
	{"t41 n10 s12 tick=60001ms", "\"tick=60001ms\"", "1ms to 60000ms"},
	{"t41 n10 s12 tick=61s", "\"tick=61s\"", "60s"},
	{"t41 n10 s12 tick=4294968s", "\"tick=4294968s\"", "60s"},
	{"t41 n10 s12 tick=1us", "\"tick=1us\"", "ms or s"},
	{"t41 n10 s12 tick=1m", "\"tick=1m\"", "ms or s"},
	{"t41 n10 s12 tick=1sec", "\"tick=1sec\"", "ms or s"},
	{"t41 n10 s12 tick=1 ms", "\"tick=1\"", "ms or s"},
	{"t41 n10 s12 tick=1msx", "\"tick=1msx\"", "ms or s"},
	{"n10 s12", "time field (t)", "[1,63]"},
	{"t41 n10", "sequence field (s)", "[1,31]"},
	{"t41 s12", "node field", "n10"},
	{"epoch=5", "time field (t)", "[1,63]"},
	{"n10 t41 s12", "time field (t)", "before all others"},
	{"t41 n10 w5 s12", "node field (n)", "leave n out"},
	{"t41 p5 n10 s12", "node field (n)", "leave n out"},
	{"t20 w16 p16 s12", "32 bits", "at most 31"},
	{"t42 n10 s13", "65 bits", "at most 64"},
	{"t63 w31 s31", "125 bits", "at most 64"},
};

START_TEST(parse_malformed_text_is_refused)
{
	static const struct sf_layout untouched = {
		.epoch_ms = 1, .tick_ms = 2, .format = 3, .pad0 = {4}};
	struct sf_layout layout = untouched;
	struct sf_why why;
	int r = sf_layout_parse(malformed[_i].text, &layout, &why);

	ck_assert_msg(r == -EINVAL, "\"%s\" gave %d", malformed[_i].text, r);
	ck_assert_msg(strstr(why.text, malformed[_i].names) != NULL, "%s: %s does not name %s",
		      malformed[_i].text, why.text, malformed[_i].names);
	ck_assert_msg(strstr(why.text, malformed[_i].says) != NULL, "%s: %s does not say %s",
		      malformed[_i].text, why.text, malformed[_i].says);
	ck_assert_msg(strlen(why.text) < sizeof(why.text) - 1, "cut: %s", why.text);
	t_layout_same(&layout, &untouched);
	ck_assert_int_eq(sf_layout_parse(malformed[_i].text, &layout, NULL), -EINVAL);
}
END_TEST

START_TEST(parse_text_at_the_length_limit_is_accepted)
{
	char text[SF_LAYOUT_TEXT_MAX + 1];
	struct sf_layout layout;
	struct sf_why why;

	memset(text, ' ', sizeof(text));
	memcpy(text, "twitter", 7);
	text[SF_LAYOUT_TEXT_MAX - 1] = '\0';
	(void)t_layout_parse(text);
	text[SF_LAYOUT_TEXT_MAX - 1] = ' ';
	text[SF_LAYOUT_TEXT_MAX] = '\0';
	ck_assert_int_eq(sf_layout_parse(text, &layout, &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, "95 characters"));
}
END_TEST

START_TEST(parse_unprintable_bytes_do_not_reach_the_sentence)
{
	struct sf_layout layout;
	struct sf_why why;

	ck_assert_int_eq(sf_layout_parse("t41 \033[2J\r\xff\x7f", &layout, &why), -EINVAL);
	for (const char *c = why.text; *c; c++)
		ck_assert(*c >= ' ' && *c <= '~');
}
END_TEST

START_TEST(format_small_buffer_is_refused_untouched)
{
	struct sf_layout layout = t_layout_parse("t41 n10 s12");
	const char *want = "t41 n10 s12 epoch=0 tick=1ms";
	size_t length = strlen(want);
	char text[SF_LAYOUT_TEXT_MAX] = "as before";

	for (size_t size = 0; size <= length; size++) {
		ck_assert_int_eq(sf_layout_format(&layout, text, size), -ENOSPC);
		ck_assert_str_eq(text, "as before");
	}
	memset(text, '#', sizeof(text));
	ck_assert_int_eq(sf_layout_format(&layout, text, length + 1), (int)length);
	ck_assert_str_eq(text, want);
	ck_assert_int_eq(text[length + 1], '#');
}
END_TEST

static const struct {
	struct sf_layout layout;
	const char *says;
} illegal[] = {
	{{0}, "time field (t) has 0 bits"},
	{{0, 1, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}}, "[1,63]"},
	{{0, 1, 255, 22, 10, 12, 0, 0, 0, 0, 12, 0, 0, {0}}, "[1,63]"},
	{{0, 1, 41, 22, 32, 12, 0, 0, 0, 0, 12, 0, 0, {0}}, "[0,31]"},
	{{0, 1, 41, 22, 10, 12, 0, 0, 0, 0, 0, 0, 0, {0}}, "sequence field (s) has 0 bits"},
	{{0, 1, 41, 12, 0, 0, 0, 0, 0, 0, 12, 0, 0, {0}}, "node field is missing"},
	{{0, 1, 41, 32, 10, 12, 0, 0, 10, 22, 12, 0, 0, {0}}, "leave n out"},
	{{0, 1, 20, 44, 0, 0, 16, 28, 16, 12, 12, 0, 0, {0}}, "at most 31"},
	{{0, 1, 63, 22, 10, 12, 0, 0, 0, 0, 12, 0, 0, {0}}, "85 bits"},
	{{0, 1, 41, 23, 10, 12, 0, 0, 0, 0, 12, 0, 0, {0}}, "lies at bit 23"},
	{{0, 1, 41, 21, 10, 12, 0, 0, 0, 0, 12, 0, 0, {0}}, "overlaps"},
	{{0, 1, 41, 255, 10, 12, 0, 0, 0, 0, 12, 0, 0, {0}}, "lies at bit 255"},
	{{0, 1, 41, 22, 10, 11, 0, 0, 0, 0, 12, 0, 0, {0}}, "overlaps"},
	{{0, 1, 41, 22, 10, 12, 0, 0, 0, 0, 12, 10, 0, {0}}, "overlaps"},
	{{0, 1, 41, 22, 10, 12, 0, 1, 0, 0, 12, 0, 0, {0}}, "worker field (w), 0 bits"},
	{{0, 1, 41, 0, 10, 53, 0, 0, 0, 0, 12, 41, 0, {0}}, "before all others"},
	{{0, 0, 41, 22, 10, 12, 0, 0, 0, 0, 12, 0, 0, {0}}, "tick is 0 ms"},
	{{0, 60001, 41, 22, 10, 12, 0, 0, 0, 0, 12, 0, 0, {0}}, "[1,60000]"},
	{{9000000000001, 1, 41, 22, 10, 12, 0, 0, 0, 0, 12, 0, 0, {0}}, "epoch"},
	{{INT64_MIN, 1, 41, 22, 10, 12, 0, 0, 0, 0, 12, 0, 0, {0}}, "-9223372036854775808"},
	{{0, 1, 41, 22, 10, 12, 0, 0, 0, 0, 12, 0, 1, {0}}, "format ulid has fields of its own"},
	{{0, 1, 48, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, {0}}, "format objectid has fields of its own"},
	{{0, 1, 41, 22, 10, 12, 0, 0, 0, 0, 12, 0, 5, {0}}, "format number 5"},
	{{0, 1, 41, 22, 10, 12, 0, 0, 0, 0, 12, 0, 0, {255}}, "padding"},
};

START_TEST(check_illegal_layout_is_refused)
{
	const struct sf_layout *layout = &illegal[_i].layout;
	char text[SF_LAYOUT_TEXT_MAX] = "as before";
	struct sf_why why;

	ck_assert_int_eq(sf_layout_check(layout, &why), -EINVAL);
	ck_assert_msg(strstr(why.text, illegal[_i].says) != NULL, "\"%s\" does not say \"%s\"",
		      why.text, illegal[_i].says);
	ck_assert_uint_lt(strlen(why.text), sizeof(why.text) - 1);
	ck_assert_int_eq(sf_layout_format(layout, text, sizeof(text)), -EINVAL);
	ck_assert_str_eq(text, "as before");
}
END_TEST

/* ---- the wide formats ---- */

static const struct {
	const char *name;
	uint64_t last_tick;
	int64_t last_ms;
	uint32_t tick_ms;
	uint8_t time_bits;
	unsigned bits;
} wide[] = {
	[SF_FORMAT_ULID] = {"ulid", 281474976710655, 281474976710655, 1, 48, 128},
	[SF_FORMAT_UUID7] = {"uuid7", 281474976710655, 281474976710655, 1, 48, 128},
	[SF_FORMAT_OBJECTID] = {"objectid", 4294967295, 4294967295999, 1000, 32, 96},
	[SF_FORMAT_HOUND] = {"hound", 281474976710655, 281474976710655, 1, 48, 128},
};

START_TEST(of_format_says_what_a_tick_is)
{
	const unsigned format = (unsigned)_i;
	struct sf_layout parsed = t_layout_parse(wide[_i].name);
	struct sf_layout layout;

	memset(&layout, 0x5a, sizeof(layout));
	ck_assert_int_eq(sf_layout_of_format(format, &layout), 0);
	t_layout_same(&layout, &parsed);
	ck_assert_int_eq(sf_layout_check(&layout, NULL), 0);
	ck_assert_str_eq(sf_format_name(format), wide[_i].name);
	ck_assert_str_eq(sf_layout_name(&layout), wide[_i].name);
	ck_assert_uint_eq(layout.format, format);
	ck_assert_int_eq(layout.epoch_ms, 0);
	ck_assert_uint_eq(layout.tick_ms, wide[_i].tick_ms);
	ck_assert_uint_eq(layout.time_bits, wide[_i].time_bits);
	ck_assert_uint_eq(sf_layout_bits(&layout), wide[_i].bits);
	ck_assert_uint_eq(sf_layout_node_bits(&layout), 0);
	ck_assert_uint_eq(sf_layout_last_tick(&layout), wide[_i].last_tick);
	ck_assert_int_eq(sf_layout_last_ms(&layout), wide[_i].last_ms);
	/* any other field spoils it */
	layout.sequence_bits = 12;
	ck_assert_int_eq(sf_layout_check(&layout, NULL), -EINVAL);
	ck_assert_ptr_null(sf_layout_name(&layout));
}
END_TEST

START_TEST(of_format_without_a_wide_format_is_refused)
{
	static const unsigned wrong[] = {SF_FORMAT_SNOWFLAKE, SF_FORMAT_HOUND + 1, 255, 256,
					 UINT_MAX};
	struct sf_layout layout = {.epoch_ms = 42};

	for (size_t i = 0; i < T_COUNT(wrong); i++) {
		ck_assert_int_eq(sf_layout_of_format(wrong[i], &layout), -EINVAL);
		ck_assert_int_eq(layout.epoch_ms, 42);
		if (i > 0)
			ck_assert_ptr_null(sf_format_name(wrong[i]));
	}
	ck_assert_str_eq(sf_format_name(SF_FORMAT_SNOWFLAKE), "snowflake");
}
END_TEST

/* Nothing of 64 bits comes out of a wide layout. */
START_TEST(packing_of_a_wide_layout_is_refused)
{
	const struct sf_parts good = {.unix_ms = 1750000000000};
	struct sf_layout layout = t_layout_parse(wide[_i].name);
	struct sf_parts parts = {.node = 42};
	struct sf_why why;
	uint64_t id = 42;
	char says[64];

	(void)snprintf(says, sizeof(says), "format %s has no 64-bit IDs", wide[_i].name);
	ck_assert_int_eq(sf_compose(&layout, &good, &id, &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, says));
	ck_assert_int_eq(sf_id_min(&layout, good.unix_ms, &id, &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, says));
	ck_assert_int_eq(sf_id_max(&layout, good.unix_ms, &id, &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, says));
	ck_assert_int_eq(sf_decompose(&layout, 7, &parts, &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, says));
	ck_assert_int_eq(sf_decompose(&layout, 7, &parts, NULL), -EINVAL);
	ck_assert_uint_eq(id, 42);
	ck_assert_uint_eq(parts.node, 42);
}
END_TEST

START_TEST(why_long_sentence_is_cut_and_terminated)
{
	struct {
		struct sf_why why;
		char guard[8];
	} out;
	char piece[sizeof(out.why.text) / 2];

	memset(piece, 'x', sizeof(piece));
	piece[sizeof(piece) - 1] = '\0';
	/* 119 + 119 characters and one more fit; a digit more does not */
	memset(&out, '#', sizeof(out));
	sf_shm_why(&out.why, "%s%s%u", piece, piece, 7u);
	ck_assert_uint_eq(strlen(out.why.text), sizeof(out.why.text) - 1);
	ck_assert_int_eq(out.why.text[sizeof(out.why.text) - 2], '7');
	memset(&out, '#', sizeof(out));
	sf_shm_why(&out.why, "%s%s%u%s", piece, piece, 76u, piece);
	ck_assert_uint_eq(strlen(out.why.text), sizeof(out.why.text) - 1);
	ck_assert_int_eq(out.why.text[sizeof(out.why.text) - 2], '7');
	ck_assert_mem_eq(out.guard, "########", sizeof(out.guard));
	sf_shm_why(NULL, "nobody asked");
}
END_TEST

START_TEST(why_numbers_are_written_in_full)
{
	struct sf_why why;

	sf_shm_why(&why, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRIu64 " %u%s", INT64_MIN,
		   INT64_C(0), INT64_MAX, UINT64_MAX, UINT32_MAX, "!");
	ck_assert_str_eq(why.text, "-9223372036854775808 0 9223372036854775807 "
				   "18446744073709551615 4294967295!");
}
END_TEST

void t_add_layout_notation(Suite *suite)
{
	TCase *parsing = tcase_create("parse");
	TCase *formatting = tcase_create("format");
	TCase *checking = tcase_create("check");
	TCase *formats = tcase_create("formats");
	TCase *writing = tcase_create("why");

	tcase_add_loop_test(parsing, parse_legal_text_gives_canonical_form, 0, T_COUNT(legal));
	tcase_add_loop_test(parsing, parse_malformed_text_is_refused, 0, T_COUNT(malformed));
	tcase_add_test(parsing, parse_text_at_the_length_limit_is_accepted);
	tcase_add_test(parsing, parse_unprintable_bytes_do_not_reach_the_sentence);
	suite_add_tcase(suite, parsing);
	tcase_add_test(formatting, format_small_buffer_is_refused_untouched);
	suite_add_tcase(suite, formatting);
	tcase_add_loop_test(checking, check_illegal_layout_is_refused, 0, T_COUNT(illegal));
	suite_add_tcase(suite, checking);
	tcase_add_loop_test(formats, of_format_says_what_a_tick_is, SF_FORMAT_ULID,
			    SF_FORMAT_HOUND + 1);
	tcase_add_test(formats, of_format_without_a_wide_format_is_refused);
	tcase_add_loop_test(formats, packing_of_a_wide_layout_is_refused, SF_FORMAT_ULID,
			    SF_FORMAT_HOUND + 1);
	suite_add_tcase(suite, formats);
	tcase_add_test(writing, why_long_sentence_is_cut_and_terminated);
	tcase_add_test(writing, why_numbers_are_written_in_full);
	suite_add_tcase(suite, writing);
}
