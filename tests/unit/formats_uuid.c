/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * UUIDs as text, their version and variant, and single UUIDv7s.
 */
#include "tests/unit/formats_suite.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The sample of RFC 9562, appendix A.6. */
#define SAMPLE "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"

static void model_format(const struct sf_wide *id, char *ret_text)
{
	(void)snprintf(ret_text, SF_UUID_TEXT + 1,
		       "%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64,
		       id->high >> 32, id->high >> 16 & 0xffff, id->high & 0xffff, id->low >> 48,
		       id->low & UINT64_C(0xffffffffffff));
}

START_TEST(format_random_uuid_equals_the_model_and_reads_back)
{
	t_formats_seed();
	for (int i = 0; i < T_ROUNDS; i++) {
		struct sf_wide id = t_formats_wide();
		uint64_t upper = t_formats_bits();
		char want[SF_UUID_TEXT + 1];
		char text[SF_UUID_TEXT + 1];
		struct sf_wide again;

		model_format(&id, want);
		sf_uuid_format(&id, text);
		T_EXPECT(strcmp(text, want) == 0, "%s, not %s", text, want);
		for (size_t at = 0; at < SF_UUID_TEXT; at++)
			if (upper >> at & 1)
				text[at] = (char)toupper(text[at]);
		again = t_read_ok(sf_uuid_parse, text);
		T_EXPECT(sf_wide_compare(&id, &again) == 0, "%s is not %s", text, want);
	}
}
END_TEST

static bool uuid_takes(size_t at, char byte)
{
	if (at == 8 || at == 13 || at == 18 || at == 23)
		return byte == '-';
	return strchr("0123456789abcdefABCDEF", byte) != NULL;
}

static bool uuid7_takes(size_t at, char byte)
{
	if (at == 14)
		return byte == '7';
	if (at == 19)
		return strchr("89abAB", byte) != NULL;
	return uuid_takes(at, byte);
}

START_TEST(parse_uuid_with_any_byte_in_any_place_takes_digits_and_hyphens_only)
{
	t_assert_each_byte(sf_uuid_parse, SAMPLE, uuid_takes);
}
END_TEST

START_TEST(parse_uuid7_with_any_byte_in_any_place_takes_version_and_variant_only)
{
	t_assert_each_byte(sf_uuid7_parse, SAMPLE, uuid7_takes);
}
END_TEST

static const struct t_refusal no_uuid[] = {
	{"-6ba7b810-9dad-11d1-80b4-00c04fd430c8-", 0, -EINVAL, "character 1 is '-'"},
	{"06ba7b810-9dad-11d1-80b4-00c04fd430c81", 0, -EINVAL, "character 9 is '0'"},
	{"\"6ba7b810-9dad-11d1-80b4-00c04fd430c8\"", 0, -EINVAL, "character 1 is '\"'"},
	{" 6ba7b810-9dad-11d1-80b4-00c04fd430c8 ", 0, -EINVAL, "character 1 is ' '"},
	{"6ba7b810-9dad-11d1-80b4-00c04fd430c8 ", 0, -EINVAL, "character 37 is ' '"},
	{"", 0, -EINVAL, "character 1 is missing"},
	{"ffff", 0, -EINVAL, "character 5 is missing"},
	{"{6ba7b810-9dad-11d1-80b4-00c04fd430c8}", 0, -EINVAL, "character 1 is '{'"},
	{"urn:uuid:6ba7b810-9dad-11d1-80b4-00c04fd430c8", 0, -EINVAL, "character 1 is 'u'"},
	{"6ba7b8109dad11d180b400c04fd430c8", 0, -EINVAL, "character 9 is '9'"},
	{"6ba7b810-9dad-11d1-80b4-00c04fd430c8\0", 37, -EINVAL, "character 37 is byte 0x00"},
};

START_TEST(fc46_text_around_a_uuid_is_refused)
{
	t_assert_refused(sf_uuid_parse, &no_uuid[_i]);
	t_assert_refused(sf_uuid7_parse, &no_uuid[_i]);
}
END_TEST

static const struct t_refusal shuffled[] = {
	{"53-8aeb5878a9-4d9b-b0dfc-ec2f0e7f8f8", 0, -EINVAL, "character 3 is '-'"},
	{"6ba7b8109-dad-11d1-80b4-00c04fd430c8", 0, -EINVAL, "character 9 is '9'"},
	{"6ba7b810-9dad-11d1-80b400c04fd430c8-", 0, -EINVAL, "character 24 is '0'"},
	{"------------------------------------", 0, -EINVAL, "character 1 is '-'"},
};

START_TEST(fc47_uuid_with_displaced_hyphens_is_refused_with_the_position)
{
	t_assert_refused(sf_uuid_parse, &shuffled[_i]);
	t_assert_refused(sf_uuid7_parse, &shuffled[_i]);
}
END_TEST

static const struct {
	const char *text;
	int version;
	const char *said;
} not_7[] = {
	{"e86160d3-beff-443c-b9b5-1f8197ccb12e", 4, "character 15 is '4'"},
	{"E86160D3-BEFF-F43C-B9B5-1F8197CCB12E", 15, "character 15 is 'F'"},
	{"018e3f04-0218-7f62-cf86-6a3cfe5a42fb", -EINVAL, "character 20 is 'c'"},
	{"018e3f04-0218-7f62-7f86-6a3cfe5a42fb", -EINVAL, "character 20 is '7'"},
	{"00000000-0000-0000-0000-000000000000", -EINVAL, "character 15 is '0'"},
	{"ffffffff-ffff-ffff-ffff-ffffffffffff", -EINVAL, "character 15 is 'f'"},
};

START_TEST(fc48_uuid_of_another_version_or_variant_is_no_uuid7)
{
	const struct t_refusal refusal = {not_7[_i].text, 0, -EINVAL, not_7[_i].said};
	struct sf_wide id = t_read_ok(sf_uuid_parse, not_7[_i].text);

	ck_assert_int_eq(sf_uuid_version(&id), not_7[_i].version);
	t_assert_refused(sf_uuid7_parse, &refusal);
}
END_TEST

START_TEST(fc48_time_of_a_uuid7_is_its_48_bits)
{
	struct sf_wide id = t_read_ok(sf_uuid7_parse, "018e3f04-0218-7f62-8f86-6a3cfe5a42fb");

	ck_assert_int_eq(sf_uuid_version(&id), 7);
	t_assert_iso(sf_uuid7_unix_ms(&id), "2024-03-14T22:10:11.096Z");
	id = t_read_ok(sf_uuid7_parse, SAMPLE);
	t_assert_iso(sf_uuid7_unix_ms(&id), "2022-02-22T19:22:22.000Z");
}
END_TEST

static const struct {
	int64_t unix_ms;
	struct sf_wide counter;
	const char *text;
} packed[] = {
	{0, {0, 1}, "00000000-0000-7000-8000-000000000001"},
	{0, {0, UINT64_C(0x3fffffffffffffff)}, "00000000-0000-7000-bfff-ffffffffffff"},
	{0, {0, UINT64_C(0x4000000000000000)}, "00000000-0000-7001-8000-000000000000"},
	{1645557742000, {0x330, UINT64_C(0xd8c4dc0c0c07398f)}, SAMPLE},
	{SF_WIDE_MS_MAX, {0x3ff, UINT64_MAX}, "ffffffff-ffff-7fff-bfff-ffffffffffff"},
};

START_TEST(compose_uuid7_known_counters_give_known_texts)
{
	char text[SF_UUID_TEXT + 1];
	struct sf_wide id;
	struct sf_why why;

	ck_assert_int_eq(sf_uuid7_compose(packed[_i].unix_ms, &packed[_i].counter, &id, &why), 0);
	ck_assert_str_eq(why.text, "");
	sf_uuid_format(&id, text);
	ck_assert_str_eq(text, packed[_i].text);
}
END_TEST

START_TEST(compose_uuid7_counter_of_75_bits_is_out_of_range)
{
	struct sf_wide id = {7, 7};
	struct sf_why why;

	ck_assert_int_eq(sf_uuid7_compose(0, &(struct sf_wide){0x400, 0}, &id, &why), -ERANGE);
	ck_assert_ptr_nonnull(strstr(why.text, "upper half is 1024"));
	ck_assert_uint_eq(id.high, 7);
}
END_TEST

/* Order as text is order of (time, counter), and version and variant are always there. */
START_TEST(compose_uuid7_random_counters_order_as_text)
{
	t_formats_seed();
	for (int i = 0; i < T_ROUNDS; i++) {
		int64_t unix_ms = (int64_t)(t_formats_bits() >> 16);
		struct sf_wide counter[2] = {t_formats_wide(), t_formats_wide()};
		struct sf_wide id[2];
		char text[2][SF_UUID_TEXT + 1];
		int order;

		counter[1].high = i % 2 ? counter[0].high : counter[1].high;
		for (int k = 0; k < 2; k++) {
			counter[k].high &= 0x3ff;
			T_EXPECT(sf_uuid7_compose(unix_ms, &counter[k], &id[k], NULL) == 0,
				 "%" PRId64, unix_ms);
			sf_uuid_format(&id[k], text[k]);
			T_EXPECT(text[k][14] == '7' && strchr("89ab", text[k][19]), "%s", text[k]);
			T_EXPECT(sf_uuid7_unix_ms(&id[k]) == unix_ms, "%s: time", text[k]);
		}
		order = strcmp(text[0], text[1]);
		T_EXPECT((order > 0) - (order < 0) == sf_wide_compare(&counter[0], &counter[1]),
			 "%s %s", text[0], text[1]);
	}
}
END_TEST

void t_add_formats_uuid(Suite *suite)
{
	TCase *uuid = tcase_create("uuid");
	TCase *uuid7 = tcase_create("uuid7");

	tcase_add_test(uuid, format_random_uuid_equals_the_model_and_reads_back);
	tcase_add_test(uuid, parse_uuid_with_any_byte_in_any_place_takes_digits_and_hyphens_only);
	tcase_add_loop_test(uuid, fc46_text_around_a_uuid_is_refused, 0, T_COUNT(no_uuid));
	tcase_add_loop_test(uuid, fc47_uuid_with_displaced_hyphens_is_refused_with_the_position, 0,
			    T_COUNT(shuffled));
	suite_add_tcase(suite, uuid);
	tcase_add_test(uuid7,
		       parse_uuid7_with_any_byte_in_any_place_takes_version_and_variant_only);
	tcase_add_loop_test(uuid7, fc48_uuid_of_another_version_or_variant_is_no_uuid7, 0,
			    T_COUNT(not_7));
	tcase_add_test(uuid7, fc48_time_of_a_uuid7_is_its_48_bits);
	tcase_add_loop_test(uuid7, compose_uuid7_known_counters_give_known_texts, 0,
			    T_COUNT(packed));
	tcase_add_test(uuid7, compose_uuid7_counter_of_75_bits_is_out_of_range);
	tcase_add_test(uuid7, compose_uuid7_random_counters_order_as_text);
	suite_add_tcase(suite, uuid7);
}
