/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * ULIDs as text, and single ones.
 */
#include "tests/unit/formats_suite.h"

#include <errno.h>
#include <string.h>

#define TEXT_MAX "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"

/** Digit by digit, each bit by bit. */
static void model_format(const struct sf_wide *id, char *ret_text)
{
	for (int i = 0; i < SF_ULID_TEXT; i++) {
		uint64_t value = 0;

		/* bit 129 is the first digit's highest; there is neither that nor bit 128 */
		for (int bit = 129 - 5 * i; bit > 124 - 5 * i; bit--) {
			uint64_t half = bit >= 64 ? id->high : id->low;

			value = value << 1 | (bit < 128 ? half >> (bit % 64) & 1 : 0);
		}
		ret_text[i] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"[value];
	}
	ret_text[SF_ULID_TEXT] = '\0';
}

/** The same as a person may type it. */
static void disguise(char *text)
{
	uint64_t bits = t_formats_bits();

	for (; *text; text++) {
		bits = bits << 1 | bits >> 63;
		if ((bits & 1) == 0)
			continue;
		if (*text == '0')
			*text = "oO"[bits >> 1 & 1];
		else if (*text == '1')
			*text = "iIlL"[bits >> 1 & 3];
		else if (*text >= 'A')
			*text = (char)(*text - 'A' + 'a');
	}
}

START_TEST(format_random_ulid_equals_the_model_and_reads_back)
{
	t_formats_seed();
	for (int i = 0; i < T_ROUNDS; i++) {
		struct sf_wide id = t_formats_wide();
		char want[SF_ULID_TEXT + 1];
		char text[SF_ULID_TEXT + 1];
		struct sf_wide again;

		model_format(&id, want);
		sf_ulid_format(&id, text);
		T_EXPECT(strcmp(text, want) == 0, "%s, not %s", text, want);
		disguise(text);
		again = t_read_ok(sf_ulid_parse, text);
		T_EXPECT(sf_wide_compare(&id, &again) == 0, "%s is not %s", text, want);
	}
}
END_TEST

static bool ulid_takes(size_t at, char byte)
{
	(void)at;
	return strchr("0123456789ABCDEFGHIJKLMNOPQRSTVWXYZabcdefghijklmnopqrstvwxyz", byte) != NULL;
}

START_TEST(parse_ulid_with_any_byte_in_any_place_takes_digits_only)
{
	t_assert_each_byte(sf_ulid_parse, "01ARZ3NDEKTSV4RRFFQ69G5FAV", ulid_takes);
}
END_TEST

static const struct t_refusal past_128_bits[] = {
	{"80000000000000000000000000", 0, -ERANGE, "character 1 is '8'"},
	{"G0000000000000000000000000", 0, -ERANGE, "character 1 is 'G'"},
	{"ZZZZZZZZZZZZZZZZZZZZZZZZZZ", 0, -ERANGE, "character 1 is 'Z'"},
};

START_TEST(fc42_ulid_of_more_than_128_bits_is_out_of_range)
{
	t_assert_refused(sf_ulid_parse, &past_128_bits[_i]);
}
END_TEST

START_TEST(fc42_largest_ulid_reads_and_prints_back)
{
	struct sf_wide id = t_read_ok(sf_ulid_parse, TEXT_MAX);
	char text[SF_ULID_TEXT + 1];

	ck_assert_int_eq(sf_ulid_unix_ms(&id), INT64_C(281474976710655));
	ck_assert_uint_eq(id.high, UINT64_MAX);
	ck_assert_uint_eq(id.low, UINT64_MAX);
	sf_ulid_format(&id, text);
	ck_assert_str_eq(text, TEXT_MAX);
}
END_TEST

static const struct t_refusal no_ulid[] = {
	{",,,,,,,,,,,,,,,,,,,,,,,,,,", 0, -EINVAL, "character 1 is ','"},
	{"01ARZ3NDEUTSV4RRFFQ69G5FAV", 0, -EINVAL, "character 10 is 'U'"},
	{"01ARZ3NDEuTSV4RRFFQ69G5FAV", 0, -EINVAL, "character 10 is 'u'"},
	{"01ARZ3NDEKTSV4RRFFQ69G5FA", 0, -EINVAL, "character 26 is missing"},
	{"01ARZ3NDEKTSV4RRFFQ69G5FAV0", 0, -EINVAL, "character 27 is '0'"},
	{"01ARZ3NDEKTSV4RRFFQ69G5FA\0", 26, -EINVAL, "character 26 is byte 0x00"},
	{"01ARZ3NDEK\0SV4RRFFQ69G5FAV", 26, -EINVAL, "character 11 is byte 0x00"},
	/* dotless i, long s, a full-width digit: 26 characters, but more bytes */
	{"0\xc4\xb1"
	 "ARZ3NDEKTSV4RRFFQ69G5FAV",
	 0, -EINVAL, "character 2 is byte 0xc4"},
	/* the same with 26 bytes */
	{"0\xc4\xb1"
	 "ARZ3NDEKTSV4RRFFQ69G5FA",
	 0, -EINVAL, "character 2 is byte 0xc4"},
	{"01ARZ3NDEKT\xc5\xbfV4RRFFQ69G5FAV", 0, -EINVAL, "character 12 is byte 0xc5"},
	{"\xef\xbc\x90"
	 "1ARZ3NDEKTSV4RRFFQ69G5FAV",
	 0, -EINVAL, "character 1 is byte 0xef"},
	{"01ARZ3NDEK-SV4RRFFQ69G5FAV", 0, -EINVAL, "character 11 is '-'"},
	{"01ARZ3NDEKTSV4RRFFQ69G5FA ", 0, -EINVAL, "character 26 is ' '"},
	{"01ARZ3NDEKTSV4RRFFQ69G5FAV ", 0, -EINVAL, "character 27 is ' '"},
	{"01ARZ3NDEKTSV4RRFFQ69G5FAV\n", 0, -EINVAL, "character 27 is byte 0x0a"},
	{" 01ARZ3NDEKTSV4RRFFQ69G5FAV", 0, -EINVAL, "character 1 is ' '"},
	{"", 0, -EINVAL, "character 1 is missing"},
	/* too large and too short: it is no ULID at all */
	{"8", 0, -EINVAL, "character 2 is missing"},
};

START_TEST(fc43_ulid_of_other_characters_is_refused_with_the_position)
{
	t_assert_refused(sf_ulid_parse, &no_ulid[_i]);
}
END_TEST

static const char *const alike[][2] = {
	{"01ARZ3NDEITSV4RRFFQ69G5FAV", "01ARZ3NDE1TSV4RRFFQ69G5FAV"},
	{"01ARZ3NDEiTSV4RRFFQ69G5FAV", "01ARZ3NDE1TSV4RRFFQ69G5FAV"},
	{"01ARZ3NDELTSV4RRFFQ69G5FAV", "01ARZ3NDE1TSV4RRFFQ69G5FAV"},
	{"01ARZ3NDElTSV4RRFFQ69G5FAV", "01ARZ3NDE1TSV4RRFFQ69G5FAV"},
	{"01ARZ3NDEOTSV4RRFFQ69G5FAV", "01ARZ3NDE0TSV4RRFFQ69G5FAV"},
	{"01ARZ3NDEoTSV4RRFFQ69G5FAV", "01ARZ3NDE0TSV4RRFFQ69G5FAV"},
};

START_TEST(fc43_letters_like_digits_are_read_and_print_back_canonical)
{
	struct sf_wide id = t_read_ok(sf_ulid_parse, alike[_i][0]);
	char text[SF_ULID_TEXT + 1];

	sf_ulid_format(&id, text);
	ck_assert_str_eq(text, alike[_i][1]);
}
END_TEST

START_TEST(fc44_lower_case_ulid_reads_and_prints_back_in_upper_case)
{
	struct sf_wide id = t_read_ok(sf_ulid_parse, "01gzg7pcspvhf0s44w7g5re071");
	char text[SF_ULID_TEXT + 1];

	t_assert_iso(sf_ulid_unix_ms(&id), "2023-05-03T07:19:43.158Z");
	sf_ulid_format(&id, text);
	ck_assert_str_eq(text, "01GZG7PCSPVHF0S44W7G5RE071");
}
END_TEST

/* 80 bits of counter: the largest fits, the next does not, and none touches the time. */
START_TEST(compose_ulid_counter_fills_80_bits_and_no_more)
{
	const struct sf_wide largest = {0xffff, UINT64_MAX};
	struct sf_wide id = {7, 7};
	char text[SF_ULID_TEXT + 1];
	struct sf_why why;

	ck_assert_int_eq(sf_ulid_compose(0, &largest, &id, &why), 0);
	sf_ulid_format(&id, text);
	ck_assert_str_eq(text, "0000000000ZZZZZZZZZZZZZZZZ");
	id = (struct sf_wide){7, 7};
	ck_assert_int_eq(sf_ulid_compose(0, &(struct sf_wide){0x10000, 0}, &id, &why), -ERANGE);
	ck_assert_ptr_nonnull(strstr(why.text, "upper half is 65536"));
	ck_assert_uint_eq(id.high, 7);
	ck_assert_int_eq(sf_ulid_compose(1469922850259,
					 &(struct sf_wide){0xd676, UINT64_C(0xc61efb9be02d95b7)},
					 &id, &why),
			 0);
	ck_assert_str_eq(why.text, "");
	ck_assert_int_eq(sf_ulid_unix_ms(&id), 1469922850259);
	ck_assert_uint_eq(id.low, UINT64_C(0xc61efb9be02d95b7));
}
END_TEST

void t_add_formats_ulid(Suite *suite)
{
	TCase *ulid = tcase_create("ulid");

	tcase_add_test(ulid, format_random_ulid_equals_the_model_and_reads_back);
	tcase_add_test(ulid, parse_ulid_with_any_byte_in_any_place_takes_digits_only);
	tcase_add_loop_test(ulid, fc42_ulid_of_more_than_128_bits_is_out_of_range, 0,
			    T_COUNT(past_128_bits));
	tcase_add_test(ulid, fc42_largest_ulid_reads_and_prints_back);
	tcase_add_loop_test(ulid, fc43_ulid_of_other_characters_is_refused_with_the_position, 0,
			    T_COUNT(no_ulid));
	tcase_add_loop_test(ulid, fc43_letters_like_digits_are_read_and_print_back_canonical, 0,
			    T_COUNT(alike));
	tcase_add_test(ulid, fc44_lower_case_ulid_reads_and_prints_back_in_upper_case);
	tcase_add_test(ulid, compose_ulid_counter_fills_80_bits_and_no_more);
	suite_add_tcase(suite, ulid);
}
