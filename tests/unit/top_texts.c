/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl top: sparklines, and numbers for narrow columns.
 */
#include "tests/unit/top_suite.h"

#include "tools/top/text.h"
#include "tools/top/trace.h"

#include <errno.h>
#include <string.h>

/* ---- sparklines ---- */

static void assert_spark(const struct sfctl_top_trace *trace, bool has_utf8, const char *expected)
{
	uint32_t glyph[32];
	int width = (int)strlen(expected);

	sfctl_top_spark(trace, width, has_utf8, glyph);
	for (int i = 0; i < width; i++) {
		uint32_t wanted = (uint32_t)(unsigned char)expected[i];

		if (has_utf8 && wanted != ' ')
			wanted = 0x2581 + wanted - '1';
		ck_assert_msg(glyph[i] == wanted, "%d: %x, not %x", i, glyph[i], wanted);
	}
}

START_TEST(spark_goes_from_nothing_to_the_highest)
{
	struct sfctl_top_trace trace = {0};

	assert_spark(&trace, true, "    ");
	for (int i = 0; i <= 8; i++)
		sfctl_top_trace_add(&trace, i);
	assert_spark(&trace, true, "  123456788");
	assert_spark(&trace, false, "  _.-:=+*##");
	sfctl_top_trace_add(&trace, SFCTL_TOP_UNKNOWN);
	sfctl_top_trace_add(&trace, 0.001); /* little is more than nothing */
	assert_spark(&trace, true, "788 2");
}
END_TEST

/* What is no longer seen does not count. */
START_TEST(spark_is_scaled_to_what_is_seen)
{
	struct sfctl_top_trace trace = {0};

	sfctl_top_trace_add(&trace, 1e9);
	for (int i = 0; i < 4; i++)
		sfctl_top_trace_add(&trace, 10);
	assert_spark(&trace, true, "82222");
	assert_spark(&trace, true, "8888");
	for (int i = 0; i < 4; i++)
		sfctl_top_trace_add(&trace, 0);
	assert_spark(&trace, true, "1111");
}
END_TEST

START_TEST(spark_remembers_the_last_ones)
{
	struct sfctl_top_trace trace = {0};

	for (int i = 0; i < 3 * SFCTL_TOP_TRACE_LENGTH + 5; i++)
		sfctl_top_trace_add(&trace, i % 2);
	assert_spark(&trace, false, "_#_#_#_#_");
}
END_TEST

/* ---- numbers ---- */

static const struct {
	double number;
	const char *text;
} numbers[] = {{-1, "-"},           {0, "0"},           {0.04, "0.0"},        {0.5, "0.5"},
	       {9.94, "9.9"},       {9.96, "10"},       {812.4, "812"},       {99999, "99999"},
	       {99999.6, "100.0k"}, {123456, "123.5k"}, {999949, "999.9k"},   {999951, "1.00M"},
	       {4096000, "4.10M"},  {3.8e9, "3.80G"},   {999.996e6, "1.00G"}, {1.0737e12, "1.07T"},
	       {999e12, "999.00T"}};

START_TEST(number_is_short)
{
	char text[SFCTL_TOP_TEXT_MAX];

	sfctl_top_number(numbers[_i].number, text);
	ck_assert_str_eq(text, numbers[_i].text);
	ck_assert_uint_le(strlen(text), 7);
}
END_TEST

START_TEST(offsets_have_a_sign_and_durations_a_unit)
{
	char text[SFCTL_TOP_TEXT_MAX];

	sfctl_top_offset(0, text);
	ck_assert_str_eq(text, "0");
	sfctl_top_offset(-40, text);
	ck_assert_str_eq(text, "-40us");
	sfctl_top_offset(3720000000, text);
	ck_assert_str_eq(text, "+1h02m");
	sfctl_top_offset(INT64_MIN, text);
	ck_assert_int_eq(text[0], '-');
	sfctl_top_duration(-5, text);
	ck_assert_str_eq(text, "0ms");
	sfctl_top_duration(2950, text);
	ck_assert_str_eq(text, "2.9s");
	sfctl_top_duration(59999, text);
	ck_assert_str_eq(text, "59s");
}
END_TEST

static const struct {
	const char *text;
	int64_t ms; /* 0: refused */
} delays[] = {
	{"1", 1000},  {"0.25", 250},    {"2.5", 2500}, {".5", 500}, {"3600", 3600000},
	{"0.1", 100}, {"0.0999", 0},    {"0", 0},      {"-1", 0},   {"", 0},
	{".", 0},     {"1s", 0},        {"1e3", 0},    {"3601", 0}, {"99999999999999999999", 0},
	{"1.5.", 0},  {"0.10001", 100}, {"nan", 0},    {" 1", 0}};

START_TEST(delay_is_read_and_written)
{
	char text[SFCTL_TOP_TEXT_MAX];
	int64_t ms = 42;
	int64_t again;

	if (delays[_i].ms == 0) {
		ck_assert_int_eq(sfctl_top_delay_parse(delays[_i].text, &ms), -EINVAL);
		ck_assert_int_eq(ms, 42);
		return;
	}
	ck_assert_int_eq(sfctl_top_delay_parse(delays[_i].text, &ms), 0);
	ck_assert_int_eq(ms, delays[_i].ms);
	sfctl_top_delay(ms, text);
	ck_assert_int_eq(sfctl_top_delay_parse(text, &again), 0);
	ck_assert_int_eq(again, ms);
}
END_TEST

void t_add_top_texts(Suite *suite)
{
	TCase *texts = tcase_create("texts");

	tcase_add_test(texts, spark_goes_from_nothing_to_the_highest);
	tcase_add_test(texts, spark_is_scaled_to_what_is_seen);
	tcase_add_test(texts, spark_remembers_the_last_ones);
	tcase_add_loop_test(texts, number_is_short, 0, T_COUNT(numbers));
	tcase_add_test(texts, offsets_have_a_sign_and_durations_a_unit);
	tcase_add_loop_test(texts, delay_is_read_and_written, 0, T_COUNT(delays));
	suite_add_tcase(suite, texts);
}
