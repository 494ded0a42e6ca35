/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Checksummed ids. getrandom() is this file's own: it asks the kernel, or plays a script.
 */
#include "tests/support/random.h"

#include <check.h>
#include <ctype.h>
#include <errno.h>
#include <sftext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define DIGITS "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
#define SYMBOLS DIGITS "*~$=U"
#define MADE 20000u
#define CHANGED 300u
/* The longest id there is: a separator of 8 after each of 1024 characters, the symbol, a NUL. */
#define TEXT_MAX (1024 * 9 + 2)

/* What getrandom() answers instead of the kernel: error by error, then bytes. */
static struct {
	int errors[4]; /* 0 ends them */
	int error_count;
	const char *digits; /* NULL: the kernel's */
	size_t at_once;     /* most bytes an answer; 0: all */
	unsigned calls;
} script;

static void reset_script(void)
{
	memset(&script, 0, sizeof(script));
}

ssize_t getrandom(void *buffer, size_t length, unsigned flags)
{
	char *bytes = buffer;
	int error = script.errors[script.error_count];

	script.calls++;
	if (error) {
		script.error_count++;
		errno = error;
		return -1;
	}
	if (script.at_once && length > script.at_once)
		length = script.at_once;
	if (!script.digits)
		return syscall(SYS_getrandom, buffer, length, flags);
	for (size_t i = 0; i < length; i++) {
		const char *digit = strchr(DIGITS, *script.digits++);

		ck_assert_ptr_nonnull(digit);
		/* only 5 of the 8 bits may count */
		bytes[i] = (char)((digit - DIGITS) | (long)(t_random() % 8 * 32));
	}
	return (ssize_t)length;
}

/* ---- making checksummed ids ---- */

START_TEST(checksum_new_by_default_has_the_documented_shape)
{
	struct sf_checksum_options options = {.size = sizeof(options)};
	char text[17];
	struct sf_why why;

	ck_assert_int_eq(sf_checksum_new(_i ? &options : NULL, text, sizeof(text), &why), 16);
	ck_assert_str_eq(why.text, "");
	ck_assert_uint_eq(strlen(text), 16);
	for (int i = 0; i < 16; i++)
		ck_assert(i % 5 == 4 ? text[i] == '-' : strchr(DIGITS, text[i]) != NULL);
	ck_assert_int_eq(sf_checksum_verify(text, 16, NULL), 1);
}
END_TEST

START_TEST(fc45_generator_never_emits_the_extra_symbols)
{
	const struct sf_checksum_options options = {
		.size = sizeof(options), .length = (uint32_t)_i, .sep = ""};
	char text[32];

	for (unsigned i = 0; i < MADE; i++) {
		int length = sf_checksum_new(&options, text, sizeof(text), NULL);

		ck_assert_int_eq(length, _i + 1);
		ck_assert_uint_eq(strspn(text, DIGITS), (size_t)length);
		ck_assert_int_eq(sf_checksum_verify(text, (size_t)length, ""), 1);
	}
}
END_TEST

/* An even spread is MADE * 12 / 32 = 7500 of each, give or take 86; a fair source is never ten
 * times as far off. */
START_TEST(checksum_new_uses_each_digit_as_often)
{
	const struct sf_checksum_options options = {.size = sizeof(options), .sep = ""};
	unsigned count[256] = {0};
	char text[14];

	for (unsigned i = 0; i < MADE; i++) {
		ck_assert_int_eq(sf_checksum_new(&options, text, sizeof(text), NULL), 13);
		for (int k = 0; k < 12; k++)
			count[(unsigned char)text[k]]++;
	}
	for (const char *digit = DIGITS; *digit; digit++) {
		ck_assert_uint_gt(count[(unsigned char)*digit], 7500 - 860);
		ck_assert_uint_lt(count[(unsigned char)*digit], 7500 + 860);
	}
}
END_TEST

/* 10, 14: symbols * and U; 15: symbol 0. */
START_TEST(checksum_new_draws_all_anew_after_an_extra_symbol)
{
	const struct sf_checksum_options options = {.size = sizeof(options), .length = 2};
	char text[4];

	t_random_seed();
	script.digits = "101415ZZ";
	ck_assert_int_eq(sf_checksum_new(&options, text, sizeof(text), NULL), 3);
	ck_assert_str_eq(text, "150");
	ck_assert_uint_eq(script.calls, 3);
}
END_TEST

START_TEST(checksum_new_when_the_kernel_gives_little_or_is_interrupted_asks_again)
{
	char text[17];

	t_random_seed();
	script.errors[0] = EINTR;
	script.errors[1] = EINTR;
	script.at_once = 5;
	script.digits = "0123456789ABZZZZ";
	errno = E2BIG;
	ck_assert_int_eq(sf_checksum_new(NULL, text, sizeof(text), NULL), 16);
	ck_assert_str_eq(text, "0123-4567-89AB-Y");
	ck_assert_uint_eq(script.calls, 2 + 3);
	ck_assert_int_eq(errno, E2BIG);
}
END_TEST

START_TEST(checksum_new_when_the_kernel_refuses_makes_nothing)
{
	char text[17] = "untouched";
	struct sf_why why;

	script.at_once = 5;
	script.errors[0] = EINTR;
	script.errors[1] = EPERM;
	errno = E2BIG;
	ck_assert_int_eq(sf_checksum_new(NULL, text, sizeof(text), &why), -EPERM);
	ck_assert_ptr_nonnull(strstr(why.text, "getrandom: Operation not permitted"));
	ck_assert_str_eq(text, "untouched");
	ck_assert_int_eq(errno, E2BIG);
}
END_TEST

static const struct {
	uint32_t group_size;
	const char *sep;
	const char *text;
} shapes[] = {
	{0, NULL, "0123-4567-89AB-Y"},         {4, "-", "0123-4567-89AB-Y"},
	{1, "-", "0-1-2-3-4-5-6-7-8-9-A-B-Y"}, {5, " ", "01234 56789 ABY"},
	{12, "-", "0123456789AB-Y"},           {13, "-", "0123456789ABY"},
	{UINT32_MAX, "-", "0123456789ABY"},    {4, "", "0123456789ABY"},
	{3, ".", "012.345.678.9AB.Y"},         {6, "<.:|:.>;", "012345<.:|:.>;6789AB<.:|:.>;Y"},
};

START_TEST(checksum_complete_in_each_shape_fits_exactly_and_verifies)
{
	const char *payload = "0123456789AB";
	const struct sf_checksum_options options = {.size = sizeof(options),
						    .length = 5000, /* does not count */
						    .group_size = shapes[_i].group_size,
						    .sep = shapes[_i].sep};
	size_t length = strlen(shapes[_i].text);
	char text[64] = "untouched";
	struct sf_why why;

	ck_assert_int_eq(sf_checksum_complete(&options, payload, 12, text, length, &why), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(why.text, "this id needs"));
	ck_assert_str_eq(text, "untouched");
	memset(text, '#', sizeof(text));
	ck_assert_int_eq(sf_checksum_complete(&options, payload, 12, text, length + 1, &why),
			 (int)length);
	ck_assert_str_eq(why.text, "");
	ck_assert_str_eq(text, shapes[_i].text);
	ck_assert_int_eq(text[length + 1], '#');
	ck_assert_int_eq(sf_checksum_verify(text, length, shapes[_i].sep), 1);
}
END_TEST

START_TEST(checksum_of_the_longest_shape_fits_and_verifies)
{
	const struct sf_checksum_options options = {.size = sizeof(options),
						    .length = SF_CHECKSUM_LENGTH_MAX,
						    .group_size = 1,
						    .sep = "--------"};
	static char text[TEXT_MAX];

	ck_assert_int_eq(sf_checksum_new(&options, text, TEXT_MAX - 1, NULL), -ENOSPC);
	ck_assert_int_eq(sf_checksum_new(&options, text, TEXT_MAX, NULL), TEXT_MAX - 1);
	ck_assert_int_eq(sf_checksum_verify(text, TEXT_MAX - 1, NULL), 1);
	text[0] = text[0] == '0' ? '1' : '0';
	ck_assert_int_eq(sf_checksum_verify(text, TEXT_MAX - 1, NULL), 0);
}
END_TEST

static void check_options(const struct sf_checksum_options *options, const char *sentence)
{
	char text[64] = "untouched";
	struct sf_why why;

	ck_assert_int_eq(sf_checksum_new(options, text, sizeof(text), &why), -EINVAL);
	ck_assert_msg(strstr(why.text, sentence), "%s", why.text);
	ck_assert_str_eq(text, "untouched");
}

START_TEST(checksum_new_with_options_that_make_no_sense_is_refused)
{
	const uint32_t size = sizeof(struct sf_checksum_options);

	check_options(&(struct sf_checksum_options){.size = size, .length = 1025},
		      "of 1025 characters before its check symbol; legal is [1,1024]");
	check_options(&(struct sf_checksum_options){.size = size, .sep = "---------"},
		      "\"---------\": a separator has at most 8 characters");
	check_options(&(struct sf_checksum_options){.size = size, .sep = "-Z"},
		      "\"-Z\": character 2 cannot be in a separator");
	check_options(&(struct sf_checksum_options){.size = size, .pad0 = 1}, "padding 1");
	check_options(&(struct sf_checksum_options){.size = size - 1}, "have size 23");
	check_options(&(struct sf_checksum_options){.size = 0}, "set size to 24");
}
END_TEST

/* Every byte but NUL; also that verify() takes none for a separator that new() refuses. */
START_TEST(checksum_separator_is_ascii_that_readers_take_for_nothing_else)
{
	for (int c = 1; c < 256; c++) {
		const char sep[] = {(char)c, '\0'};
		const struct sf_checksum_options options = {.size = sizeof(options), .sep = sep};
		char text[17] = "0123-4567-89AB-Y";

		text[4] = text[9] = text[14] = sep[0];
		if (c < 128 && !isalnum(c) && !strchr("*~$=", c)) {
			ck_assert_int_eq(sf_checksum_verify(text, 16, sep), 1);
			ck_assert_int_eq(sf_checksum_new(&options, text, sizeof(text), NULL), 16);
			ck_assert_int_eq(text[4], sep[0]);
		} else {
			ck_assert_int_eq(sf_checksum_verify(text, 16, sep), 0);
			ck_assert_int_eq(sf_checksum_verify("00", 2, sep), 0);
			check_options(&options, "character 1 cannot be in a separator");
		}
	}
	ck_assert_int_eq(sf_checksum_verify("00", 2, "---------"), 0);
	ck_assert_int_eq(sf_checksum_verify("00", 2, "--------"), 1);
}
END_TEST

START_TEST(checksum_complete_of_no_payload_is_refused)
{
	char text[64] = "untouched";
	struct sf_why why;

	ck_assert_int_eq(sf_checksum_complete(NULL, "", 0, text, sizeof(text), &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, "legal is [1,1024]"));
	ck_assert_int_eq(sf_checksum_complete(NULL, "01a", 3, text, sizeof(text), &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, "\"01a\": character 3 is none"));
	ck_assert_int_eq(sf_checksum_complete(NULL, "01\0", 3, text, sizeof(text), &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, "character 3 is none"));
	ck_assert_int_eq(sf_checksum_complete(NULL, "0-1", 3, text, sizeof(text), &why), -EINVAL);
	ck_assert_int_eq(sf_checksum_complete(NULL, "LO", 2, text, sizeof(text), &why), -EINVAL);
	ck_assert_str_eq(text, "untouched");
	/* looks no further than the length */
	ck_assert_int_eq(sf_checksum_complete(NULL, "14a", 2, text, sizeof(text), &why), 3);
	ck_assert_str_eq(text, "14U");
}
END_TEST

/* ---- verifying ---- */

static const struct {
	const char *text;
	const char *sep;
	int valid;
} verdicts[] = {
	{"0123-4567-89AB-Y", NULL, 1},
	{"0123-4567-89ab-y", "-", 1},
	{"oI23-4567-89AB-Y", "-", 1},
	{"OL23-4567-89AB-Y", "-", 1},
	{"-0--123456789ABY-", "-", 1},
	{"0123::4567::89AB::Y", "::", 1},
	{"0123:4567::89AB::Y", "::", 0},
	{"0123::::4567:::89AB::Y", "::", 0},
	{"0123.4567.89AB.Y", "-", 0},
	{"0123-4567-89AB-Y", "", 0},
	/* extra symbols, in last place only */
	{"10*", NULL, 1},
	{"11~", NULL, 1},
	{"12$", NULL, 1},
	{"13=", NULL, 1},
	{"14U", NULL, 1},
	{"1-4-u", NULL, 1},
	{"U4Z", NULL, 0},
	{"*0", NULL, 0},
	{"**", NULL, 0},
	{"UU", NULL, 0},
	{"00", NULL, 1},
	{"0O", NULL, 1},
	{"0", NULL, 0},
	{"*", NULL, 0},
	{"", NULL, 0},
	{"----", NULL, 0},
	{"0123-4567-89AB-Y ", NULL, 0},
	{"0123-4567-89AB-Y\n", NULL, 0},
	{"\xc4\xb1"
	 "1",
	 NULL, 0},
};

START_TEST(fc45_verify_ignores_separators_as_configured_and_extra_symbols_come_last)
{
	ck_assert_msg(sf_checksum_verify(verdicts[_i].text, strlen(verdicts[_i].text),
					 verdicts[_i].sep) == verdicts[_i].valid,
		      "%s", verdicts[_i].text);
}
END_TEST

START_TEST(checksum_verify_looks_at_the_length_only)
{
	ck_assert_int_eq(sf_checksum_verify("0123-4567-89AB-Yx", 16, NULL), 1);
	ck_assert_int_eq(sf_checksum_verify("01234\00056789ABY", 14, NULL), 0);
	ck_assert_int_eq(sf_checksum_verify("00::", 3, "::"), 0);
	ck_assert_int_eq(sf_checksum_verify(NULL, 0, NULL), 0);
}
END_TEST

static void check_changes(char *text, int length)
{
	for (int i = 0; i < length; i++) {
		char before = text[i];

		for (const char *symbol = SYMBOLS; *symbol; symbol++) {
			text[i] = *symbol;
			ck_assert_int_eq(sf_checksum_verify(text, (size_t)length, ""),
					 *symbol == before);
		}
		text[i] = before;
	}
}

static void check_swaps(char *text, int length)
{
	for (int i = 0; i + 1 < length; i++) {
		char left = text[i];
		char right = text[i + 1];

		text[i] = right;
		text[i + 1] = left;
		ck_assert_int_eq(sf_checksum_verify(text, (size_t)length, ""), left == right);
		text[i] = left;
		text[i + 1] = right;
	}
}

/* Also of payloads whose symbol is an extra one. */
START_TEST(fc45_verify_refuses_every_single_change_and_neighbour_swap)
{
	const struct sf_checksum_options options = {.size = sizeof(options), .sep = ""};
	char payload[24];
	char text[26];

	t_random_seed();
	for (unsigned round = 0; round < CHANGED; round++) {
		size_t length = 1 + t_random() % sizeof(payload);
		int whole;

		for (size_t i = 0; i < length; i++)
			payload[i] = DIGITS[t_random() % 32];
		whole = sf_checksum_complete(&options, payload, length, text, sizeof(text), NULL);
		ck_assert_int_eq(whole, (int)length + 1);
		check_changes(text, whole);
		check_swaps(text, whole);
	}
}
END_TEST

static Suite *checksum_suite(void)
{
	Suite *suite = suite_create("text checksum");
	TCase *make = tcase_create("new");
	TCase *verify = tcase_create("verify");

	tcase_add_checked_fixture(make, reset_script, NULL);
	tcase_add_loop_test(make, checksum_new_by_default_has_the_documented_shape, 0, 2);
	tcase_add_loop_test(make, fc45_generator_never_emits_the_extra_symbols, 1, 4);
	tcase_add_test(make, checksum_new_uses_each_digit_as_often);
	tcase_add_test(make, checksum_new_draws_all_anew_after_an_extra_symbol);
	tcase_add_test(make,
		       checksum_new_when_the_kernel_gives_little_or_is_interrupted_asks_again);
	tcase_add_test(make, checksum_new_when_the_kernel_refuses_makes_nothing);
	tcase_add_loop_test(make, checksum_complete_in_each_shape_fits_exactly_and_verifies, 0,
			    LENGTH(shapes));
	tcase_add_test(make, checksum_of_the_longest_shape_fits_and_verifies);
	tcase_add_test(make, checksum_new_with_options_that_make_no_sense_is_refused);
	tcase_add_test(make, checksum_separator_is_ascii_that_readers_take_for_nothing_else);
	tcase_add_test(make, checksum_complete_of_no_payload_is_refused);
	suite_add_tcase(suite, make);
	tcase_add_loop_test(
		verify, fc45_verify_ignores_separators_as_configured_and_extra_symbols_come_last, 0,
		LENGTH(verdicts));
	tcase_add_test(verify, checksum_verify_looks_at_the_length_only);
	tcase_add_test(verify, fc45_verify_refuses_every_single_change_and_neighbour_swap);
	suite_add_tcase(suite, verify);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(checksum_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
