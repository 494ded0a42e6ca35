/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Notations of 64-bit IDs: writing, and strict reading. The expected texts were made with another
 * program, digit by digit.
 */
#include "tests/support/random.h"

#include <check.h>
#include <errno.h>
#include <sftext.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define ROUNDS 20000u
#define SIGNED_MAX UINT64_C(9223372036854775807)

static const char *const kinds[] = {
	[SF_TEXT_DECIMAL] = "decimal",     [SF_TEXT_DECIMAL20] = "decimal20",
	[SF_TEXT_DECIMAL19] = "decimal19", [SF_TEXT_HEX] = "hex",
	[SF_TEXT_BASE32] = "base32",       [SF_TEXT_BASE58] = "base58",
	[SF_TEXT_BASE62] = "base62",       [SF_TEXT_BASE32_CHECK] = "base32check",
};

static void check_both_ways(unsigned kind, uint64_t id, const char *want)
{
	char text[SF_TEXT_MAX];
	uint64_t back = ~id;
	struct sf_why why;

	ck_assert_int_eq(sf_text_format(kind, id, text), (int)strlen(want));
	ck_assert_str_eq(text, want);
	ck_assert_msg(sf_text_parse(kind, want, strlen(want), &back, &why) == 0, "%s: %s", want,
		      why.text);
	ck_assert_str_eq(why.text, "");
	ck_assert_uint_eq(back, id);
}

static const struct {
	unsigned kind;
	uint64_t id;
	const char *text;
} known[] = {
	{SF_TEXT_DECIMAL, 0, "0"},
	{SF_TEXT_DECIMAL, 7, "7"},
	{SF_TEXT_DECIMAL, UINT64_MAX, "18446744073709551615"},
	{SF_TEXT_DECIMAL20, 0, "00000000000000000000"},
	{SF_TEXT_DECIMAL20, SIGNED_MAX, "09223372036854775807"},
	{SF_TEXT_DECIMAL20, UINT64_MAX, "18446744073709551615"},
	{SF_TEXT_DECIMAL19, 0, "0000000000000000000"},
	{SF_TEXT_DECIMAL19, SIGNED_MAX, "9223372036854775807"},
	{SF_TEXT_HEX, 0, "0000000000000000"},
	{SF_TEXT_HEX, 1593572310593806338, "161d8192c8d7a002"},
	{SF_TEXT_HEX, UINT64_MAX, "ffffffffffffffff"},
	{SF_TEXT_BASE32, 0, "0000000000000"},
	{SF_TEXT_BASE32, 31, "000000000000Z"},
	{SF_TEXT_BASE32, 1593572310593806338, "1C7C1JB4DF802"},
	{SF_TEXT_BASE32, UINT64_MAX, "FZZZZZZZZZZZZ"},
	{SF_TEXT_BASE58, 0, "11111111111"},
	{SF_TEXT_BASE58, 57, "1111111111z"},
	{SF_TEXT_BASE58, 58, "11111111121"},
	{SF_TEXT_BASE58, 1593572310593806338, "4hYemNrAYM7"},
	{SF_TEXT_BASE58, UINT64_MAX, "jpXCZedGfVQ"},
	{SF_TEXT_BASE62, 1593572310593806338, "1tiZqAomlYg"},
};

START_TEST(text_format_and_parse_known_ids_agree)
{
	check_both_ways(known[_i].kind, known[_i].id, known[_i].text);
}
END_TEST

START_TEST(fc54_every_notation_holds_the_value_and_is_short)
{
	static const char *const texts[] = {
		[SF_TEXT_DECIMAL] = "1800774833102905344",
		[SF_TEXT_DECIMAL20] = "01800774833102905344",
		[SF_TEXT_DECIMAL19] = "1800774833102905344",
		[SF_TEXT_HEX] = "18fda32b778fe000",
		[SF_TEXT_BASE32] = "1HZD35DVRZR00",
		[SF_TEXT_BASE58] = "5BSdAHnbAs9",
		[SF_TEXT_BASE62] = "291ZCmHJVhY",
		[SF_TEXT_BASE32_CHECK] = "1HZD35DVRZR00P",
	};

	ck_assert_uint_le(strlen(texts[_i]), 20);
	check_both_ways((unsigned)_i, 1800774833102905344, texts[_i]);
}
END_TEST

static const struct {
	uint64_t id;
	const char *text;
} base62[] = {
	{0, "00000000000"},          {1, "00000000001"},          {61, "0000000000z"},
	{62, "00000000010"},         {SIGNED_MAX, "AzL8n0Y58m7"}, {SIGNED_MAX + 1, "AzL8n0Y58m8"},
	{UINT64_MAX, "LygHa16AHYF"},
};

START_TEST(fc55_base62_has_one_width)
{
	check_both_ways(SF_TEXT_BASE62, base62[_i].id, base62[_i].text);
}
END_TEST

/* ---- refusals ---- */

struct refusal {
	unsigned kind;
	int error;
	const char *text;
	size_t length;        /* 0: that of the text */
	const char *sentence; /* a part of it */
};

static void check_refusal(const struct refusal *refusal)
{
	size_t length = refusal->length ? refusal->length : strlen(refusal->text);
	uint64_t id = 7;
	struct sf_why why;

	ck_assert_int_eq(sf_text_parse(refusal->kind, refusal->text, length, &id, &why),
			 refusal->error);
	ck_assert_msg(strstr(why.text, refusal->sentence), "\"%s\": %s", refusal->text, why.text);
	ck_assert_uint_eq(id, 7);
	ck_assert_int_eq(sf_text_parse(refusal->kind, refusal->text, length, &id, NULL),
			 refusal->error);
}

static const struct refusal base62_refusals[] = {
	{SF_TEXT_BASE62, -EINVAL, "", 0, "the text is empty; write a base62 ID"},
	{SF_TEXT_BASE62, -EINVAL, "0291ZCmHJVhY", 0, "character 12 is 'Y', but a base62 ID ends"},
	{SF_TEXT_BASE62, -ERANGE, "LygHa16AHYG", 0,
	 "too large for a base62 ID; the largest is "
	 "LygHa16AHYF"},
	{SF_TEXT_BASE62, -ERANGE, "zzzzzzzzzzz", 0, "too large"},
};

START_TEST(fc55_empty_overlong_and_overrange_base62_are_refused)
{
	check_refusal(&base62_refusals[_i]);
}
END_TEST

static const struct refusal refusals[] = {
	{0, -EINVAL, "1", 0, "notation 0 is unknown; legal is [1,8]"},
	{9, -EINVAL, "1", 0, "notation 9 is unknown; legal is [1,8]"},
	{SF_TEXT_DECIMAL, -EINVAL, "", 0, "the text is empty; write a decimal ID"},
	{SF_TEXT_DECIMAL, -EINVAL, "007", 0, "character 1 is a leading zero"},
	{SF_TEXT_DECIMAL, -EINVAL, "00", 0, "character 1 is a leading zero"},
	{SF_TEXT_DECIMAL, -EINVAL, "+7", 0, "character 1 is '+'; a decimal ID has a digit there"},
	{SF_TEXT_DECIMAL, -EINVAL, "-7", 0, "character 1 is '-'"},
	{SF_TEXT_DECIMAL, -EINVAL, " 7", 0, "character 1 is ' '"},
	{SF_TEXT_DECIMAL, -EINVAL, "7 ", 0, "character 2 is ' '"},
	{SF_TEXT_DECIMAL, -EINVAL, "7\n", 0, "character 2 is byte 0x0a"},
	{SF_TEXT_DECIMAL, -EINVAL, "7\0", 2, "character 2 is byte 0x00"},
	{SF_TEXT_DECIMAL, -EINVAL, "0x7", 0, "character 2 is 'x'"},
	{SF_TEXT_DECIMAL, -EINVAL, "7a", 0, "character 2 is 'a'"},
	{SF_TEXT_DECIMAL, -EINVAL, "1_000", 0, "character 2 is '_'"},
	{SF_TEXT_DECIMAL, -EINVAL, "1e3", 0, "character 2 is 'e'"},
	{SF_TEXT_DECIMAL, -EINVAL, "\xd9\xa7", 0, "character 1 is byte 0xd9"},
	{SF_TEXT_DECIMAL, -ERANGE, "18446744073709551616", 0, "largest is 18446744073709551615"},
	{SF_TEXT_DECIMAL, -ERANGE, "20000000000000000000", 0, "too large"},
	{SF_TEXT_DECIMAL, -EINVAL, "184467440737095516150", 0, "ends after 20 characters"},
	{SF_TEXT_DECIMAL20, -EINVAL, "7", 0, "character 2 is missing"},
	{SF_TEXT_DECIMAL20, -ERANGE, "18446744073709551616", 0, "largest is 18446744073709551615"},
	{SF_TEXT_DECIMAL20, -EINVAL, "000000000000000000007", 0, "character 21 is '7', but"},
	{SF_TEXT_DECIMAL19, -EINVAL, "000000000000000007", 0, "character 19 is missing"},
	{SF_TEXT_DECIMAL19, -ERANGE, "9223372036854775808", 0, "largest is 9223372036854775807"},
	{SF_TEXT_DECIMAL19, -ERANGE, "9999999999999999999", 0, "too large for a decimal19 ID"},
	{SF_TEXT_DECIMAL19, -EINVAL, "00000000000000000007", 0, "ends after 19 characters"},
	{SF_TEXT_HEX, -EINVAL, "7", 0, "character 2 is missing; a hex ID has 16 characters"},
	{SF_TEXT_HEX, -EINVAL, "0x0000000000000f", 0, "character 2 is 'x'"},
	{SF_TEXT_HEX, -EINVAL, "000000000000000g", 0, "character 16 is 'g'"},
	{SF_TEXT_HEX, -EINVAL, "0ffffffffffffffff", 0, "character 17 is 'f', but"},
	{SF_TEXT_BASE32, -ERANGE, "G000000000000", 0, "largest is FZZZZZZZZZZZZ"},
	{SF_TEXT_BASE32, -ERANGE, "ZZZZZZZZZZZZZ", 0, "too large"},
	{SF_TEXT_BASE32, -EINVAL, "000000000000", 0, "character 13 is missing"},
	{SF_TEXT_BASE32, -EINVAL, "00000000000000", 0, "character 14 is '0', but"},
	{SF_TEXT_BASE32, -EINVAL, "000000U000000", 0, "character 7 is 'U'"},
	{SF_TEXT_BASE32, -EINVAL, "000000-000000", 0, "character 7 is '-'"},
	{SF_TEXT_BASE58, -ERANGE, "jpXCZedGfVR", 0, "largest is jpXCZedGfVQ"},
	{SF_TEXT_BASE58, -EINVAL, "1111111111", 0, "character 11 is missing"},
	{SF_TEXT_BASE58, -EINVAL, "111111111111", 0, "character 12 is '1', but"},
	{SF_TEXT_BASE58, -EINVAL, "01111111111", 0, "character 1 is '0'"},
	{SF_TEXT_BASE58, -EINVAL, "11111I11111", 0, "character 6 is 'I'"},
	{SF_TEXT_BASE58, -EINVAL, "1111111111O", 0, "character 11 is 'O'"},
	{SF_TEXT_BASE58, -EINVAL, "1l111111111", 0, "character 2 is 'l'"},
	{SF_TEXT_BASE58, -EINVAL, "1111111111\0", 11, "character 11 is byte 0x00"},
	{SF_TEXT_BASE62, -EINVAL, "0000000000\0", 11, "character 11 is byte 0x00"},
	{SF_TEXT_BASE62, -EINVAL, "0000-000000", 0, "character 5 is '-'"},
	/* a bad character is told of before a number that is too large, wherever they are */
	{SF_TEXT_BASE62, -EINVAL, "zzzzzzzzzz!", 0, "character 11 is '!'"},
	{SF_TEXT_BASE32_CHECK, -EINVAL, "", 0, "the text is empty; write a base32check ID"},
	{SF_TEXT_BASE32_CHECK, -EINVAL, "0", 0, "the text ends after 1 character;"},
	{SF_TEXT_BASE32_CHECK, -EINVAL, "*", 0, "the text ends after 1 character;"},
	{SF_TEXT_BASE32_CHECK, -EINVAL, "01", 0, "character 2, the check symbol, does not fit"},
	{SF_TEXT_BASE32_CHECK, -EINVAL, "-00", 0, "character 1 is '-'"},
	{SF_TEXT_BASE32_CHECK, -EINVAL, "00-", 0,
	 "character 3 is '-'; a base32check ID has a "
	 "check symbol"},
	{SF_TEXT_BASE32_CHECK, -EINVAL, "U0", 0, "character 1 is 'U'"},
	{SF_TEXT_BASE32_CHECK, -EINVAL, "1*0*", 0, "character 2 is '*'"},
	{SF_TEXT_BASE32_CHECK, -EINVAL, "10!", 0, "character 3 is '!'"},
	{SF_TEXT_BASE32_CHECK, -EINVAL, "10* ", 0, "character 3 is '*'"},
	{SF_TEXT_BASE32_CHECK, -EINVAL, "10*\0", 4, "character 3 is '*'"},
	/* 2^64 and its check symbol */
	{SF_TEXT_BASE32_CHECK, -ERANGE, "G000000000000C", 0, "largest is FZZZZZZZZZZZZB"},
};

START_TEST(text_parse_what_format_does_not_write_is_refused)
{
	check_refusal(&refusals[_i]);
}
END_TEST

START_TEST(text_format_of_no_notation_or_too_large_an_id_is_refused)
{
	char text[SF_TEXT_MAX] = "untouched";

	ck_assert_int_eq(sf_text_format(0, 1, text), -EINVAL);
	ck_assert_int_eq(sf_text_format(9, 1, text), -EINVAL);
	ck_assert_int_eq(sf_text_format(UINT32_MAX, 1, text), -EINVAL);
	ck_assert_int_eq(sf_text_format(SF_TEXT_DECIMAL19, SIGNED_MAX + 1, text), -ERANGE);
	ck_assert_str_eq(text, "untouched");
}
END_TEST

static const struct {
	unsigned kind;
	const char *text;
	uint64_t id;
} tolerated[] = {
	{SF_TEXT_HEX, "161D8192C8D7A002", 1593572310593806338},
	{SF_TEXT_HEX, "161d8192C8D7a002", 1593572310593806338},
	{SF_TEXT_BASE32, "1c7c1jb4df802", 1593572310593806338},
	{SF_TEXT_BASE32, "Ic7cLjB4df8o2", 1593572310593806338},
	{SF_TEXT_BASE32, "iC7ClJb4Df8O2", 1593572310593806338},
};

START_TEST(text_parse_either_case_where_it_says_so_gives_the_id)
{
	uint64_t id;

	ck_assert_int_eq(sf_text_parse(tolerated[_i].kind, tolerated[_i].text,
				       strlen(tolerated[_i].text), &id, NULL),
			 0);
	ck_assert_uint_eq(id, tolerated[_i].id);
}
END_TEST

/* ---- FC-45: Base32 with a check symbol ---- */

static const struct {
	uint64_t id;
	const char *text;
} checked[] = {
	{0, "00"},
	{31, "ZZ"},
	{32, "10*"},
	{33, "11~"},
	{34, "12$"},
	{35, "13="},
	{36, "14U"},
	{37, "150"},
	{1234, "16JD"},
	{1593572310593806338, "1C7C1JB4DF802Z"},
	{UINT64_MAX, "FZZZZZZZZZZZZB"},
};

START_TEST(fc45_base32_with_check_symbol_is_as_published)
{
	check_both_ways(SF_TEXT_BASE32_CHECK, checked[_i].id, checked[_i].text);
}
END_TEST

START_TEST(fc45_hyphens_lower_case_and_zeros_read_the_same)
{
	static const struct {
		const char *text;
		uint64_t id;
	} same[] = {
		{"1C7C-1JB4-DF80-2Z", 1593572310593806338},
		{"1c7c1jb4df802z", 1593572310593806338},
		{"ic7cLjb4df8o2-z", 1593572310593806338},
		{"1-C--7C1JB4DF802Z", 1593572310593806338},
		{"00000000000000000000000000016JD", 1234},
		{"14u", 36},
		{"1-4-U", 36},
		{"15o", 37},
		{"0000000-0", 0},
	};
	uint64_t id;

	for (int i = 0; i < LENGTH(same); i++) {
		ck_assert_msg(sf_text_parse(SF_TEXT_BASE32_CHECK, same[i].text,
					    strlen(same[i].text), &id, NULL) == 0,
			      "%s", same[i].text);
		ck_assert_uint_eq(id, same[i].id);
	}
}
END_TEST

static void check_is_refused(const char *text, size_t length, const char *made_from)
{
	uint64_t id;

	ck_assert_msg(sf_text_parse(SF_TEXT_BASE32_CHECK, text, length, &id, NULL) == -EINVAL,
		      "%s, made from %s", text, made_from);
}

START_TEST(fc45_every_single_change_and_neighbour_swap_is_refused)
{
	static const char symbols[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=U";
	char text[SF_TEXT_MAX];
	char other[SF_TEXT_MAX];

	t_random_seed();
	for (unsigned round = 0; round < ROUNDS / 50; round++) {
		/* below 60 bits, so that no change makes the number too large instead */
		int length =
			sf_text_format(SF_TEXT_BASE32_CHECK, t_random_of_any_width() >> 4, text);

		memcpy(other, text, sizeof(text));
		for (int i = 0; i < length; i++) {
			for (const char *symbol = symbols; *symbol; symbol++) {
				other[i] = *symbol;
				if (*symbol != text[i])
					check_is_refused(other, (size_t)length, text);
			}
			other[i] = text[i];
		}
		for (int i = 0; i + 1 < length; i++) {
			other[i] = text[i + 1];
			other[i + 1] = text[i];
			if (text[i] != text[i + 1])
				check_is_refused(other, (size_t)length, text);
			memcpy(other, text, sizeof(text));
		}
	}
}
END_TEST

/* ---- properties ---- */

START_TEST(text_format_and_parse_any_id_goes_round)
{
	unsigned kind = (unsigned)_i;
	char text[SF_TEXT_MAX];

	t_random_seed();
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t id = t_random_of_any_width();
		uint64_t back = ~id;
		int length;

		if (kind == SF_TEXT_DECIMAL19)
			id &= SIGNED_MAX;
		length = sf_text_format(kind, id, text);
		ck_assert_int_eq(length, (int)strlen(text));
		ck_assert_int_lt(length, SF_TEXT_MAX);
		ck_assert_int_eq(sf_text_parse(kind, text, (size_t)length, &back, NULL), 0);
		ck_assert_uint_eq(back, id);
	}
}
END_TEST

START_TEST(text_of_each_name_is_its_notation)
{
	ck_assert_int_eq(sf_text_of(kinds[_i]), _i);
}
END_TEST

START_TEST(text_of_another_name_is_refused)
{
	static const char *const names[] = {"", "base", "base64", "Hex", "decimal2", "base321"};

	for (int i = 0; i < LENGTH(names); i++)
		ck_assert_int_eq(sf_text_of(names[i]), -EINVAL);
}
END_TEST

static Suite *text_suite(void)
{
	Suite *suite = suite_create("text");
	TCase *notations = tcase_create("notations");
	TCase *check = tcase_create("check symbol");

	tcase_add_loop_test(notations, text_format_and_parse_known_ids_agree, 0, LENGTH(known));
	tcase_add_loop_test(notations, fc54_every_notation_holds_the_value_and_is_short, 1,
			    LENGTH(kinds));
	tcase_add_loop_test(notations, fc55_base62_has_one_width, 0, LENGTH(base62));
	tcase_add_loop_test(notations, fc55_empty_overlong_and_overrange_base62_are_refused, 0,
			    LENGTH(base62_refusals));
	tcase_add_loop_test(notations, text_parse_what_format_does_not_write_is_refused, 0,
			    LENGTH(refusals));
	tcase_add_test(notations, text_format_of_no_notation_or_too_large_an_id_is_refused);
	tcase_add_loop_test(notations, text_parse_either_case_where_it_says_so_gives_the_id, 0,
			    LENGTH(tolerated));
	tcase_add_loop_test(notations, text_format_and_parse_any_id_goes_round, 1, LENGTH(kinds));
	tcase_add_loop_test(notations, text_of_each_name_is_its_notation, 1, LENGTH(kinds));
	tcase_add_test(notations, text_of_another_name_is_refused);
	suite_add_tcase(suite, notations);
	tcase_add_loop_test(check, fc45_base32_with_check_symbol_is_as_published, 0,
			    LENGTH(checked));
	tcase_add_test(check, fc45_hyphens_lower_case_and_zeros_read_the_same);
	tcase_add_test(check, fc45_every_single_change_and_neighbour_swap_is_refused);
	suite_add_tcase(suite, check);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(text_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
