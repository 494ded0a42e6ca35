/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Crockford's Base32: numbers of up to 128 bits, and the check symbol.
 */
#include "tests/support/random.h"

#include <check.h>
#include <ctype.h>
#include <errno.h>
#include <sftext.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define DIGITS "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
#define ROUNDS 20000u

static const struct {
	struct sf_wide value;
	unsigned length;
	const char *text;
} numbers[] = {
	{{0, 0}, 1, "0"},
	{{0, 0}, 26, "00000000000000000000000000"},
	{{0, 31}, 1, "Z"},
	{{0, 32}, 2, "10"},
	{{0, 1234}, 4, "016J"},
	{{0, UINT64_C(0xfffffffffffffff)}, 12, "ZZZZZZZZZZZZ"},
	{{0, UINT64_MAX}, 13, "FZZZZZZZZZZZZ"},
	{{1, 0}, 13, "G000000000000"},
	{{1, 0}, 14, "0G000000000000"},
	{{UINT64_C(0x0123456789abcdef), UINT64_C(0xfedcba9876543210)},
	 26,
	 "014D2PF2DBSQQZXQ5TK1V58CGG"},
	{{UINT64_MAX, UINT64_MAX}, 26, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"},
};

START_TEST(crockford_format_and_parse_known_numbers_agree)
{
	char text[27];
	struct sf_wide back = {7, 7};
	struct sf_why why;

	ck_assert_int_eq(sf_crockford_format(&numbers[_i].value, numbers[_i].length, text), 0);
	ck_assert_str_eq(text, numbers[_i].text);
	ck_assert_int_eq(sf_crockford_parse(text, strlen(text), &back, &why), 0);
	ck_assert_str_eq(why.text, "");
	ck_assert_uint_eq(back.high, numbers[_i].value.high);
	ck_assert_uint_eq(back.low, numbers[_i].value.low);
}
END_TEST

START_TEST(crockford_format_in_too_few_or_too_many_characters_is_refused)
{
	const struct sf_wide all = {UINT64_MAX, UINT64_MAX};
	char text[27] = "untouched";

	ck_assert_int_eq(sf_crockford_format(&(struct sf_wide){0, 32}, 1, text), -ERANGE);
	ck_assert_int_eq(sf_crockford_format(&(struct sf_wide){1, 0}, 12, text), -ERANGE);
	ck_assert_int_eq(sf_crockford_format(&(struct sf_wide){UINT64_C(1) << 63, 0}, 1, text),
			 -ERANGE);
	ck_assert_int_eq(sf_crockford_format(&all, 25, text), -ERANGE);
	ck_assert_int_eq(sf_crockford_format(&all, 0, text), -EINVAL);
	ck_assert_int_eq(sf_crockford_format(&all, 27, text), -EINVAL);
	ck_assert_str_eq(text, "untouched");
}
END_TEST

START_TEST(crockford_format_and_parse_any_number_goes_round)
{
	char text[27];
	struct sf_wide back;

	t_random_seed();
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct sf_wide value = {t_random_of_any_width(), t_random()};
		unsigned length = 26;

		if (round % 2)
			value.high = 0;
		while (sf_crockford_format(&value, length, text) == 0)
			length--;
		/* the shortest has no zero in front */
		ck_assert(text[0] != '0' || length == 0);
		ck_assert_int_eq(sf_crockford_parse(text, strlen(text), &back, NULL), 0);
		ck_assert_uint_eq(back.high, value.high);
		ck_assert_uint_eq(back.low, value.low);
	}
}
END_TEST

START_TEST(crockford_parse_takes_digits_of_either_case_and_three_letters_more)
{
	/* each beside the digit it is read as */
	static const char folded[] = "O0o0I1i1L1l1";

	for (int c = 0; c < 256; c++) {
		const char text[] = {'1', (char)c};
		const char *other = c ? strchr(folded, c) : NULL;
		int digit = other && !isdigit(c) ? other[1] : toupper(c);
		const char *at = c ? strchr(DIGITS, digit) : NULL;
		struct sf_wide value = {7, 7};

		if (at && c < 128) {
			ck_assert_int_eq(sf_crockford_parse(text, 2, &value, NULL), 0);
			ck_assert_uint_eq(value.high, 0);
			ck_assert_uint_eq(value.low, 32 + (uint64_t)(at - DIGITS));
		} else {
			ck_assert_int_eq(sf_crockford_parse(text, 2, &value, NULL), -EINVAL);
			ck_assert_uint_eq(value.high, 7);
		}
	}
}
END_TEST

static const struct {
	const char *text;
	int error;
	const char *sentence;
} number_refusals[] = {
	{"", -EINVAL, "the text is empty; a Base32 number has 1 to 26 characters"},
	{"000000000000000000000000000", -EINVAL, "character 27 is '0', but a Base32 number ends"},
	{"1U", -EINVAL, "character 2 is 'U'; a Base32 number has one of 0-9"},
	{"10*", -EINVAL, "character 3 is '*'"},
	{"8ZZZZZZZZZZZZZZZZZZZZZZZZZ", -ERANGE, "character 1 of 26 is above 7"},
	{"80000000000000000000000000", -ERANGE, "character 1 of 26 is above 7"},
	{"Z000000000000000000000000U", -EINVAL, "character 26 is 'U'"},
};

START_TEST(crockford_parse_of_no_number_is_refused)
{
	const char *text = number_refusals[_i].text;
	struct sf_wide value = {7, 7};
	struct sf_why why;

	ck_assert_int_eq(sf_crockford_parse(text, strlen(text), &value, &why),
			 number_refusals[_i].error);
	ck_assert_msg(strstr(why.text, number_refusals[_i].sentence), "%s", why.text);
	ck_assert_uint_eq(value.high, 7);
	ck_assert_uint_eq(value.low, 7);
}
END_TEST

START_TEST(fc45_check_symbol_is_as_published)
{
	static const char *const payloads[] = {"0",  "Z",  "10", "11",  "12",
					       "13", "14", "15", "16J", "1C7C1JB4DF802"};
	static const char symbols[] = "0Z*~$=U0DZ";

	for (int i = 0; i < LENGTH(payloads); i++)
		ck_assert_int_eq(sf_crockford_check(payloads[i], strlen(payloads[i])), symbols[i]);
}
END_TEST

START_TEST(crockford_check_of_other_than_canonical_characters_is_refused)
{
	static const char *const payloads[] = {"",  "a", "1a", "O",   "I", "L",
					       "U", "u", "*",  "1-1", " 1"};

	for (int i = 0; i < LENGTH(payloads); i++)
		ck_assert_int_eq(sf_crockford_check(payloads[i], strlen(payloads[i])), -EINVAL);
	ck_assert_int_eq(sf_crockford_check("1\0", 2), -EINVAL);
}
END_TEST

static Suite *crockford_suite(void)
{
	Suite *suite = suite_create("text crockford");
	TCase *number = tcase_create("numbers");

	tcase_add_loop_test(number, crockford_format_and_parse_known_numbers_agree, 0,
			    LENGTH(numbers));
	tcase_add_test(number, crockford_format_in_too_few_or_too_many_characters_is_refused);
	tcase_add_test(number, crockford_format_and_parse_any_number_goes_round);
	tcase_add_test(number, crockford_parse_takes_digits_of_either_case_and_three_letters_more);
	tcase_add_loop_test(number, crockford_parse_of_no_number_is_refused, 0,
			    LENGTH(number_refusals));
	tcase_add_test(number, fc45_check_symbol_is_as_published);
	tcase_add_test(number, crockford_check_of_other_than_canonical_characters_is_refused);
	suite_add_tcase(suite, number);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(crockford_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
