/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * ObjectIds as text, and single ones.
 */
#include "tests/unit/formats_suite.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

START_TEST(format_random_objectid_equals_the_model_and_reads_back)
{
	t_formats_seed();
	for (int i = 0; i < T_ROUNDS; i++) {
		struct sf_wide id = t_formats_wide();
		char want[SF_OBJECTID_TEXT + 1];
		char text[SF_OBJECTID_TEXT + 1];
		struct sf_wide again;

		id.high &= UINT32_MAX;
		(void)snprintf(want, sizeof(want), "%08" PRIx64 "%016" PRIx64, id.high, id.low);
		sf_objectid_format(&id, text);
		T_EXPECT(strcmp(text, want) == 0, "%s, not %s", text, want);
		again = t_read_ok(sf_objectid_parse, text);
		T_EXPECT(sf_wide_compare(&id, &again) == 0, "%s does not read back", text);
	}
}
END_TEST

static bool objectid_takes(size_t at, char byte)
{
	(void)at;
	return strchr("0123456789abcdef", byte) != NULL;
}

START_TEST(parse_objectid_with_any_byte_in_any_place_takes_lower_case_digits_only)
{
	t_assert_each_byte(sf_objectid_parse, "507f1f77bcf86cd799439011", objectid_takes);
}
END_TEST

static const struct {
	const char *text;
	const char *iso;
	int64_t unix_s;
} past_31_bits[] = {
	{"7fffffff0000000000000000", "2038-01-19T03:14:07.000Z", INT64_C(2147483647)},
	{"800000000000000000000000", "2038-01-19T03:14:08.000Z", INT64_C(2147483648)},
	{"ffffffff0000000000000000", "2106-02-07T06:28:15.000Z", INT64_C(4294967295)},
};

START_TEST(fc49_objectid_seconds_have_32_bits_without_a_sign)
{
	struct sf_wide id = t_read_ok(sf_objectid_parse, past_31_bits[_i].text);
	char text[SF_OBJECTID_TEXT + 1];

	t_assert_iso(sf_objectid_unix_s(&id) * 1000, past_31_bits[_i].iso);
	ck_assert_int_eq(sf_objectid_compose(past_31_bits[_i].unix_s, 0, &id, NULL), 0);
	sf_objectid_format(&id, text);
	ck_assert_str_eq(text, past_31_bits[_i].text);
}
END_TEST

static const int64_t no_seconds[] = {INT64_C(4294967296), -1, INT64_MIN, INT64_MAX};

START_TEST(fc49_objectid_of_other_seconds_is_out_of_range)
{
	struct sf_wide id = {7, 7};
	struct sf_why why;
	char said[64];

	(void)snprintf(said, sizeof(said), "time %" PRId64 " does not fit", no_seconds[_i]);
	ck_assert_int_eq(sf_objectid_compose(no_seconds[_i], 0, &id, &why), -ERANGE);
	ck_assert_ptr_nonnull(strstr(why.text, said));
	ck_assert_ptr_nonnull(strstr(why.text, "[0,4294967295]"));
	ck_assert_int_eq(sf_objectid_make(no_seconds[_i], &id, &why), -ERANGE);
	ck_assert_ptr_nonnull(strstr(why.text, said));
	ck_assert_uint_eq(id.high, 7);
}
END_TEST

static const struct t_refusal no_objectid[] = {
	{"123456789012", 0, -EINVAL, "character 13 is missing"},
	{"JGL-24423/TL", 0, -EINVAL, "character 1 is 'J'"},
	{"5fd0f17e8e840df1c9687g37", 0, -EINVAL, "character 22 is 'g'"},
	{"gggggggggggggggggggggggg", 0, -EINVAL, "character 1 is 'g'"},
	{"5FD0F17E8E840DF1C9687F37", 0, -EINVAL, "character 2 is 'F'"},
};

START_TEST(fc50_text_that_is_no_lower_case_hexadecimal_is_no_objectid)
{
	t_assert_refused(sf_objectid_parse, &no_objectid[_i]);
}
END_TEST

START_TEST(fc50_lower_case_objectid_gives_its_time)
{
	struct sf_wide id = t_read_ok(sf_objectid_parse, "5fd0f17e8e840df1c9687f37");

	t_assert_iso(sf_objectid_unix_s(&id) * 1000, "2020-12-09T15:47:10.000Z");
}
END_TEST

void t_add_formats_objectid(Suite *suite)
{
	TCase *objectid = tcase_create("objectid");

	tcase_add_test(objectid, format_random_objectid_equals_the_model_and_reads_back);
	tcase_add_test(objectid,
		       parse_objectid_with_any_byte_in_any_place_takes_lower_case_digits_only);
	tcase_add_loop_test(objectid, fc49_objectid_seconds_have_32_bits_without_a_sign, 0,
			    T_COUNT(past_31_bits));
	tcase_add_loop_test(objectid, fc49_objectid_of_other_seconds_is_out_of_range, 0,
			    T_COUNT(no_seconds));
	tcase_add_loop_test(objectid, fc50_text_that_is_no_lower_case_hexadecimal_is_no_objectid, 0,
			    T_COUNT(no_objectid));
	tcase_add_test(objectid, fc50_lower_case_objectid_gives_its_time);
	suite_add_tcase(suite, objectid);
}
