/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The order of IDs as text: notations that sort as they are, and the comparison of decimal numbers
 * for those that do not.
 */
#include "tests/support/random.h"

#include <check.h>
#include <sftext.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define SORTED 10000u

static const unsigned sortable[] = {SF_TEXT_DECIMAL20, SF_TEXT_DECIMAL19, SF_TEXT_HEX,
				    SF_TEXT_BASE32,    SF_TEXT_BASE58,    SF_TEXT_BASE62};

struct named {
	uint64_t id;
	char text[SF_TEXT_MAX];
};

static int compare_texts(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->text, ((const struct named *)b)->text);
}

START_TEST(fc55_text_order_is_number_order)
{
	unsigned kind = sortable[_i];
	struct named *ids = calloc(SORTED, sizeof(*ids));

	ck_assert_ptr_nonnull(ids);
	t_random_seed();
	for (unsigned i = 0; i < SORTED; i++) {
		ids[i].id = t_random_of_any_width();
		if (kind == SF_TEXT_DECIMAL19)
			ids[i].id &= INT64_MAX;
		ck_assert_int_gt(sf_text_format(kind, ids[i].id, ids[i].text), 0);
	}
	qsort(ids, SORTED, sizeof(*ids), compare_texts);
	for (unsigned i = 1; i < SORTED; i++)
		ck_assert_uint_le(ids[i - 1].id, ids[i].id);
	free(ids);
}
END_TEST

static int sign(int value)
{
	return (value > 0) - (value < 0);
}

static void check_order(const char *a, const char *b, int want)
{
	ck_assert_msg(sign(sf_decimal_compare(a, strlen(a), b, strlen(b))) == want, "%s, %s", a, b);
	ck_assert_msg(sign(sf_decimal_compare(b, strlen(b), a, strlen(a))) == -want, "%s, %s", b,
		      a);
}

static const struct {
	const char *a;
	const char *b;
	int order;
} orders[] = {
	/* discord.json, string_order: where the order as text is wrong, and where it is right */
	{"99999999999999999", "100000000000000000", -1},
	{"9999999999999999999", "10000000000000000000", -1},
	{"182955831900192769", "175928847299117063", 1},
	{"80351110224678912", "175928847299117063", -1},
	{"4194304", "999999", 1},
	{"1190760614364160000", "1190760614364160001", -1},
	{"7", "7", 0},
	{"0", "18446744073709551615", -1},
	/* leading zeros do not count */
	{"007", "7", 0},
	{"00", "0", 0},
	{"0009", "10", -1},
	/* of any size */
	{"99999999999999999999999999999999999999", "100000000000000000000000000000000000000", -1},
	/* anything else comes after all numbers, in byte order */
	{"", "0", 1},
	{"18446744073709551615", "", -1},
	{"99", "1a", -1},
	{"99", "-1", -1},
	{"", "a", -1},
	{"a", "ab", -1},
	{"ab", "b", -1},
	{"a", "\xff", -1},
	{"0x9", "0x10", 1},
	{"", "", 0},
};

START_TEST(decimal_compare_is_by_value_and_numbers_come_first)
{
	check_order(orders[_i].a, orders[_i].b, orders[_i].order);
}
END_TEST

START_TEST(decimal_compare_looks_at_no_byte_past_the_lengths)
{
	ck_assert_int_eq(sf_decimal_compare("12", 1, "13", 1), 0);
	ck_assert_int_eq(sf_decimal_compare("1x", 1, "1", 1), 0);
	ck_assert_int_lt(sf_decimal_compare("7", 1, "7\0", 2), 0);
	ck_assert_int_eq(sf_decimal_compare(NULL, 0, "", 0), 0);
}
END_TEST

static int compare_decimals(const void *a, const void *b)
{
	const char *left = *(const char *const *)a;
	const char *right = *(const char *const *)b;

	return sf_decimal_compare(left, strlen(left), right, strlen(right));
}

START_TEST(fc56_decimal_ids_sort_by_value_and_mixed_kinds_do_not_crash)
{
	const char *ids[] = {"999999999999999999", "x", "1000000000000000000", "7", "",
			     "254360814063058944"};
	static const char *const sorted[] = {
		"7", "254360814063058944", "999999999999999999", "1000000000000000000", "", "x"};

	qsort(ids, (size_t)LENGTH(ids), sizeof(ids[0]), compare_decimals);
	for (int i = 0; i < LENGTH(ids); i++)
		ck_assert_str_eq(ids[i], sorted[i]);
}
END_TEST

START_TEST(fc56_padded_decimal_sorts_as_text)
{
	static const uint64_t ids[] = {7, 254360814063058944, 999999999999999999,
				       1000000000000000000};
	static const unsigned padded[] = {SF_TEXT_DECIMAL20, SF_TEXT_DECIMAL19};
	char before[SF_TEXT_MAX] = "";
	char text[SF_TEXT_MAX];

	for (int i = 0; i < LENGTH(ids); i++) {
		ck_assert_int_eq(sf_text_format(padded[_i], ids[i], text), 20 - _i);
		ck_assert_str_lt(before, text);
		memcpy(before, text, sizeof(text));
	}
}
END_TEST

static Suite *order_suite(void)
{
	Suite *suite = suite_create("text order");
	TCase *text = tcase_create("as text");
	TCase *decimal = tcase_create("decimal");

	tcase_add_loop_test(text, fc55_text_order_is_number_order, 0, LENGTH(sortable));
	tcase_add_loop_test(text, fc56_padded_decimal_sorts_as_text, 0, 2);
	suite_add_tcase(suite, text);
	tcase_add_loop_test(decimal, decimal_compare_is_by_value_and_numbers_come_first, 0,
			    LENGTH(orders));
	tcase_add_test(decimal, decimal_compare_looks_at_no_byte_past_the_lengths);
	tcase_add_test(decimal, fc56_decimal_ids_sort_by_value_and_mixed_kinds_do_not_crash);
	suite_add_tcase(suite, decimal);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(order_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
