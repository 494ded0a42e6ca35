/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Doubles as the shortest text that reads as the same, in any locale.
 */
#include "libclient/content/float_text.h"
#include "tests/support/random.h"
#include "tests/unit/content_suite.h"

#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANDOM_DOUBLES 10000

static const struct {
	double value;
	const char *text;
} known[] = {
	/* powers of two, below which doubles lie closer: the nearest 16 digits read as another */
	{0x1p-44, "5.684341886080802e-14"},
	{0x1p-1022, "2.2250738585072014e-308"},
	{0x1p-24, "5.960464477539063e-08"},
	{0x1p97, "1.5845632502852868e+29"},
	{0x1p-1021, "4.450147717014403e-308"},
	/* below the normal numbers, few digits suffice */
	{0x1p-1074, "5e-324"},
	{0x1p-1073, "1e-323"},
	{0x1.8p-1073, "1.5e-323"},
	{0x1p-1050, "8.289046e-317"},
	/* nines that carry */
	{9.5367431640625e-7, "9.5367431640625e-07"},
	{9999999999999999.0, "1e+16"},
	{0.99999999999999989, "0.9999999999999999"},
	{99999.999999999985, "99999.99999999999"},
	/* every place of the point */
	{0.0001, "0.0001"},
	{0.00010000000000000002, "0.00010000000000000002"},
	{0.5, "0.5"},
	{123456.75, "123456.75"},
	{999999999999999.9, "999999999999999.9"},
	{1000000000000000.0, "1000000000000000.0"},
	{0.00001, "1e-05"},
	{1e300, "1e+300"},
	{-1.5, "-1.5"},
	{-0.0, "-0.0"},
	{-INFINITY, "-inf"},
};

START_TEST(float_text_of_known_values_agrees)
{
	char text[SF_FLOAT_TEXT_MAX];

	ck_assert_uint_eq(sf_float_text(known[_i].value, text), strlen(known[_i].text));
	ck_assert_str_eq(text, known[_i].text);
}
END_TEST

/** Digits of the text, without point, exponent and zeros at either end. */
static int digits_of(const char *text)
{
	int count = 0;
	int zeros = 0;

	for (; *text && *text != 'e'; text++) {
		if (*text == '0' && count > 0)
			zeros++;
		if (*text < '1' || *text > '9')
			continue;
		count += zeros + 1;
		zeros = 0;
	}
	return count;
}

/** Reads as the value; no %.{n}e with fewer digits does. */
static void assert_shortest(double value)
{
	char text[SF_FLOAT_TEXT_MAX];
	char shorter[SF_FLOAT_TEXT_MAX];
	size_t length = sf_float_text(value, text);

	ck_assert_uint_eq(length, strlen(text));
	ck_assert_msg(strtod(text, NULL) == value, "%s is not %a", text, value);
	ck_assert_msg(sf_float_read(text) == value, "%s is not %a", text, value);
	for (int digits = digits_of(text) - 1; digits > 0; digits--) {
		(void)snprintf(shorter, sizeof(shorter), "%.*e", digits - 1, value);
		ck_assert_msg(strtod(shorter, NULL) != value, "%s is not the shortest: %s", text,
			      shorter);
	}
}

START_TEST(float_text_of_random_doubles_is_the_shortest)
{
	t_random_seed();
	for (int i = 0; i < RANDOM_DOUBLES; i++) {
		uint64_t bits = i % 2 ? t_random() : t_random_of_any_width();
		double value;

		memcpy(&value, &bits, sizeof(value));
		if (isfinite(value))
			assert_shortest(value);
	}
}
END_TEST

START_TEST(float_text_of_powers_of_two_is_the_shortest)
{
	for (int exponent = -1074; exponent <= 1023; exponent++) {
		double value = ldexp(1.0, exponent);

		assert_shortest(value);
		assert_shortest(nextafter(value, INFINITY));
		assert_shortest(nextafter(value, 0));
	}
}
END_TEST

/** Makes and sets a locale whose decimal point is a comma; a host need not have one. */
static void set_comma_locale(void)
{
	/* LC_NUMERIC as glibc stores it: magic, number of items, where each begins, the items */
	const uint32_t head[] = {0x20031115u ^ LC_NUMERIC, 6, 32, 34, 35, 36, 40, 44};
	const uint32_t wide[] = {',', 0};
	char directory[] = "/tmp/sfd-locale-XXXXXX";
	char path[64];
	FILE *file;

	ck_assert_ptr_nonnull(mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/comma", directory);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/comma/LC_NUMERIC", directory);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(head, sizeof(head), 1, file), 1);
	ck_assert_uint_eq(fwrite(",\0\0", 4, 1, file), 1);
	ck_assert_uint_eq(fwrite(wide, sizeof(wide), 1, file), 1);
	ck_assert_uint_eq(fwrite("UTF-8\0\0", 8, 1, file), 1);
	ck_assert_int_eq(fclose(file), 0);
	setenv("LOCPATH", directory, 1);
	ck_assert_ptr_nonnull(setlocale(LC_NUMERIC, "comma"));
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/comma", directory);
	(void)rmdir(path);
	(void)rmdir(directory);
}

START_TEST(ids_do_not_depend_on_the_locale)
{
	static const char json[] = "[2.5, 1e-7, 12345.678, 1e22]";
	struct t_content before[3];
	locale_t locale = uselocale((locale_t)0);
	char text[SF_FLOAT_TEXT_MAX];

	for (uint32_t profile = 0; profile < 3; profile++)
		before[profile] = t_content_of_json(profile, 64, json, strlen(json), 3);
	set_comma_locale();
	(void)snprintf(text, sizeof(text), "%.1f", 2.5);
	ck_assert_str_eq(text, "2,5");
	for (uint32_t profile = 0; profile < 3; profile++) {
		ck_assert_uint_eq(strlen(before[profile].id), 64);
		ck_assert_str_eq(t_content_of_json(profile, 64, json, strlen(json), 3).id,
				 before[profile].id);
	}
	ck_assert_uint_eq(sf_float_text(2.5, text), 3);
	ck_assert_str_eq(text, "2.5");
	/* and the thread's own locale is as it was */
	ck_assert_ptr_eq(uselocale((locale_t)0), locale);
	(void)snprintf(text, sizeof(text), "%.1f", 2.5);
	ck_assert_str_eq(text, "2,5");
	ck_assert_ptr_nonnull(setlocale(LC_NUMERIC, "C"));
	unsetenv("LOCPATH");
}
END_TEST

void t_add_content_float(Suite *suite)
{
	TCase *texts = tcase_create("floats");

	tcase_add_loop_test(texts, float_text_of_known_values_agrees, 0, T_COUNT(known));
	tcase_add_test(texts, float_text_of_random_doubles_is_the_shortest);
	tcase_add_test(texts, float_text_of_powers_of_two_is_the_shortest);
	tcase_add_test(texts, ids_do_not_depend_on_the_locale);
	suite_add_tcase(suite, texts);
}
