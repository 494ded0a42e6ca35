/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl's pure parts: numbers and times as text, and whether a time is believable.
 */
#include "tools/number.h"
#include "tools/plausible.h"
#include "tools/rfc3339.h"

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

static const struct {
	const char *text;
	int error;
	uint64_t value;
} numbers[] = {
	{"0", 0, 0},
	{"7", 0, 7},
	{"007", 0, 7},
	{"18446744073709551615", 0, UINT64_MAX},
	{"00000018446744073709551615", 0, UINT64_MAX},
	{"9223372036854775808", 0, UINT64_C(9223372036854775808)},
	{"18446744073709551616", -ERANGE, 0},
	{"14755887168818983731200", -ERANGE, 0},
	{"36893488147419103232", -ERANGE, 0}, /* 2^65: wraps to 0 */
	{"-1", -EINVAL, 0},
	{"+5", -EINVAL, 0},
	{" 5", -EINVAL, 0},
	{"5 ", -EINVAL, 0},
	{"5x", -EINVAL, 0},
	{"1e18", -EINVAL, 0},
	{"0x10", -EINVAL, 0},
	{"99999999999999999999x", -EINVAL, 0},
	{"", -EINVAL, 0},
};

START_TEST(number_parse_fc53_takes_plain_digits_only)
{
	uint64_t value = 42;

	ck_assert_int_eq(sfctl_number_parse(numbers[_i].text, strlen(numbers[_i].text), &value),
			 numbers[_i].error);
	ck_assert_uint_eq(value, numbers[_i].error ? 42 : numbers[_i].value);
}
END_TEST

START_TEST(number_parse_hex_takes_up_to_16_digits)
{
	uint64_t value = 42;

	ck_assert_int_eq(sfctl_number_parse_hex("161d8192C8D7a002", 16, &value), 0);
	ck_assert_uint_eq(value, UINT64_C(1593572310593806338));
	ck_assert_int_eq(sfctl_number_parse_hex("0xff", 4, &value), 0);
	ck_assert_uint_eq(value, 255);
	ck_assert_int_eq(sfctl_number_parse_hex("12345678901234567", 17, &value), -ERANGE);
	ck_assert_int_eq(sfctl_number_parse_hex("0x", 2, &value), -EINVAL);
	ck_assert_int_eq(sfctl_number_parse_hex("fg", 2, &value), -EINVAL);
	ck_assert_int_eq(sfctl_number_parse_hex("", 0, &value), -EINVAL);
	ck_assert_uint_eq(value, 255);
}
END_TEST

START_TEST(number_parse_range_fc34_refuses_outside)
{
	uint64_t value = 42;

	ck_assert_int_eq(sfctl_number_parse_range("0", 1, 1000000000, &value), -ERANGE);
	ck_assert_int_eq(sfctl_number_parse_range("-1", 1, 1000000000, &value), -EINVAL);
	ck_assert_int_eq(sfctl_number_parse_range("2147483648", 1, 1000000000, &value), -ERANGE);
	ck_assert_uint_eq(value, 42);
	ck_assert_int_eq(sfctl_number_parse_range("1000000000", 1, 1000000000, &value), 0);
	ck_assert_uint_eq(value, 1000000000);
}
END_TEST

START_TEST(number_format_any_value_equals_printf)
{
	uint64_t value = UINT64_MAX;

	for (int i = 0; i < 64; i++, value = value / 2 - (i % 3 == 0)) {
		char expected[32];
		char text[SFCTL_NUMBER_DIGITS + 1];

		snprintf(expected, sizeof(expected), "%llu", (unsigned long long)value);
		text[sfctl_number_format(value, text)] = '\0';
		ck_assert_str_eq(text, expected);
	}
	for (value = 0; value <= 10000; value++) {
		char expected[32];
		char text[SFCTL_NUMBER_DIGITS + 1];

		snprintf(expected, sizeof(expected), "%llu", (unsigned long long)value);
		text[sfctl_number_format(value, text)] = '\0';
		ck_assert_str_eq(text, expected);
	}
}
END_TEST

START_TEST(number_format_hex_pads_to_16_lower_case_digits)
{
	char text[17] = {0};

	sfctl_number_format_hex(UINT64_C(0xABCDEF), text);
	ck_assert_str_eq(text, "0000000000abcdef");
}
END_TEST

/* ---- time ---- */

static const struct {
	const char *text;
	int64_t ms;
	const char *back; /* NULL: the text itself */
} times[] = {
	{"1970-01-01T00:00:00.000Z", 0, NULL},
	{"1969-12-31T23:59:59.999Z", -1, NULL},
	{"2022-11-18T11:50:20.644Z", 1668772220644, NULL},
	{"2000-02-29T12:00:00.000Z", 951825600000, NULL},
	{"2024-02-29T00:00:00.000Z", 1709164800000, NULL},
	{"2080-07-10T17:30:30.208Z", 3487858230208, NULL},
	{"0000-01-01T00:00:00.000Z", -62167219200000, NULL},
	{"9999-12-31T23:59:59.999Z", 253402300799999, NULL},
	{"2024-06-01T22:15:27Z", 1717280127000, "2024-06-01T22:15:27.000Z"},
	{"2024-06-01t22:15:27.5z", 1717280127500, "2024-06-01T22:15:27.500Z"},
	{"2024-06-01 22:15:27.12Z", 1717280127120, "2024-06-01T22:15:27.120Z"},
	/* FC-59: further digits are cut off, never rounded */
	{"2024-06-01T22:15:27.999999999999Z", 1717280127999, "2024-06-01T22:15:27.999Z"},
	{"2024-12-31T23:59:59.9995Z", 1735689599999, "2024-12-31T23:59:59.999Z"},
	{"2024-06-02T00:15:27+02:00", 1717280127000, "2024-06-01T22:15:27.000Z"},
	{"2024-06-01T16:45:27-05:30", 1717280127000, "2024-06-01T22:15:27.000Z"},
	{"2024-06-01T22:15:27-00:00", 1717280127000, "2024-06-01T22:15:27.000Z"},
	{"1717280127123", 1717280127123, "2024-06-01T22:15:27.123Z"},
	{"-1", -1, "1969-12-31T23:59:59.999Z"},
	{"0", 0, "1970-01-01T00:00:00.000Z"},
};

START_TEST(time_parse_good_text_gives_ms_and_back)
{
	char back[SFCTL_RFC3339_MAX];
	struct sf_why why = {{0}};
	int64_t ms = 42;

	ck_assert_msg(sfctl_time_parse(times[_i].text, &ms, &why) == 0, "%s", why.text);
	ck_assert_int_eq(ms, times[_i].ms);
	sfctl_rfc3339_format(ms, back);
	ck_assert_str_eq(back, times[_i].back ? times[_i].back : times[_i].text);
}
END_TEST

static const char *const bad_times[] = {
	"",
	"now",
	"2024-06-01",
	"2024-06-01T22:15:27",
	"2024-06-01T22:15Z",
	"2024-6-1T22:15:27Z",
	"24-06-01T22:15:27Z",
	"2024-06-01T22:15:27.Z",
	"2024-06-01T22:15:27,5Z",
	"2024-06-01T22:15:27Zx",
	"2024-06-01T22:15:27+0200",
	"2024-06-01T22:15:27+24:00",
	"2024-06-01T22:15:27+02:60",
	"2024-13-01T22:15:27Z",
	"2024-00-01T22:15:27Z",
	"2024-06-00T22:15:27Z",
	"2024-06-31T22:15:27Z",
	"2023-02-29T22:15:27Z",
	"1900-02-29T22:15:27Z",
	"2024-06-01T24:00:00Z",
	"2024-06-01T23:60:00Z",
	"2016-12-31T23:59:60Z",
	"+2024-06-01T22:15:27Z",
	" 5",
	"5.5",
	"--5",
	"9223372036854775808",
};

START_TEST(time_parse_bad_text_is_refused_with_a_sentence)
{
	struct sf_why why = {{0}};
	int64_t ms = 42;

	ck_assert_int_eq(sfctl_time_parse(bad_times[_i], &ms, &why), -EINVAL);
	ck_assert_int_eq(ms, 42);
	ck_assert(strlen(why.text) > 20);
}
END_TEST

START_TEST(rfc3339_format_every_day_of_800_years_goes_back)
{
	for (int64_t day = -200000; day < 100000; day++) {
		char text[SFCTL_RFC3339_MAX];
		struct sf_why why;
		int64_t ms;

		sfctl_rfc3339_format(day * 86400000 + 43200001, text);
		ck_assert_int_eq(sfctl_rfc3339_parse(text, &ms, &why), 0);
		ck_assert_int_eq(ms, day * 86400000 + 43200001);
	}
}
END_TEST

START_TEST(rfc3339_format_beyond_year_9999_expands)
{
	char text[SFCTL_RFC3339_MAX];

	sfctl_rfc3339_format(253402300800000, text);
	ck_assert_str_eq(text, "+10000-01-01T00:00:00.000Z");
	sfctl_rfc3339_format(INT64_MAX, text);
	ck_assert_str_eq(text, "+292278994-08-17T07:12:55.807Z");
	sfctl_rfc3339_format(INT64_MIN, text);
	ck_assert_str_eq(text, "-292275055-05-16T16:47:04.192Z");
}
END_TEST

/* ---- plausibility ---- */

#define NOW_MS INT64_C(1735689600000) /* 2025-01-01 */

static bool warned(const char *notation, uint64_t id, char warning[SFCTL_PLAUSIBLE_MAX])
{
	struct sf_layout layout;

	ck_assert_int_eq(sf_layout_parse(notation, &layout, NULL), 0);
	warning[0] = '\0';
	return sfctl_plausible_warning(&layout, id, NOW_MS, warning);
}

START_TEST(plausible_warning_fc52_future_names_other_layouts)
{
	char warning[SFCTL_PLAUSIBLE_MAX];

	ck_assert(warned("twitter", UINT64_C(7202794905796608000), warning));
	ck_assert_ptr_nonnull(strstr(warning, "2065-04-04T23:58:21.657Z, in the future"));
	ck_assert_ptr_nonnull(strstr(warning, "epoch=0 (2024-06-01T22:15:27.000Z)"));
}
END_TEST

START_TEST(plausible_warning_fc52_small_number_names_the_epoch)
{
	char warning[SFCTL_PLAUSIBLE_MAX];

	ck_assert(warned("twitter", 20, warning));
	ck_assert_ptr_nonnull(strstr(warning, "within a day of the layout's epoch"));
	ck_assert(warned("twitter", 4101121, warning));
}
END_TEST

START_TEST(plausible_warning_ordinary_id_gives_none)
{
	char warning[SFCTL_PLAUSIBLE_MAX];

	ck_assert(!warned("twitter", UINT64_C(1593572310593806338), warning));
	ck_assert(!warned("discord", UINT64_C(175928847299117063), warning));
	ck_assert_str_eq(warning, "");
}
END_TEST

START_TEST(plausible_warning_one_day_either_side_is_the_limit)
{
	char warning[SFCTL_PLAUSIBLE_MAX];
	uint64_t first_day = UINT64_C(86400000) << 22;
	uint64_t tomorrow = ((uint64_t)NOW_MS + 86400000 - 1288834974657) << 22;

	ck_assert(warned("twitter", first_day - 1, warning));
	ck_assert(!warned("twitter", first_day, warning));
	ck_assert(!warned("twitter", tomorrow, warning));
	ck_assert(warned("twitter", tomorrow + (1 << 22), warning));
}
END_TEST

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

static Suite *tools_suite(void)
{
	Suite *suite = suite_create("tools");
	TCase *number = tcase_create("number");
	TCase *time = tcase_create("time");
	TCase *plausible = tcase_create("plausible");

	tcase_set_timeout(time, 60); /* every day of 800 years, on a busy machine */
	tcase_add_loop_test(number, number_parse_fc53_takes_plain_digits_only, 0, LENGTH(numbers));
	tcase_add_test(number, number_parse_hex_takes_up_to_16_digits);
	tcase_add_test(number, number_parse_range_fc34_refuses_outside);
	tcase_add_test(number, number_format_any_value_equals_printf);
	tcase_add_test(number, number_format_hex_pads_to_16_lower_case_digits);
	tcase_add_loop_test(time, time_parse_good_text_gives_ms_and_back, 0, LENGTH(times));
	tcase_add_loop_test(time, time_parse_bad_text_is_refused_with_a_sentence, 0,
			    LENGTH(bad_times));
	tcase_add_test(time, rfc3339_format_every_day_of_800_years_goes_back);
	tcase_add_test(time, rfc3339_format_beyond_year_9999_expands);
	tcase_add_test(plausible, plausible_warning_fc52_future_names_other_layouts);
	tcase_add_test(plausible, plausible_warning_fc52_small_number_names_the_epoch);
	tcase_add_test(plausible, plausible_warning_ordinary_id_gives_none);
	tcase_add_test(plausible, plausible_warning_one_day_either_side_is_the_limit);
	suite_add_tcase(suite, number);
	suite_add_tcase(suite, time);
	suite_add_tcase(suite, plausible);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(tools_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
