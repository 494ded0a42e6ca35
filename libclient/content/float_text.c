/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Shortest round-trip text of doubles, by trial: print with few digits, read back, compare. Any
 * thread; the thread's locale is set aside meanwhile.
 */
#include "libclient/content/float_text.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Digits that always suffice. */
#define DIGITS_MAX 17

/** A positive decimal d.ddd * 10^exponent. */
struct decimal {
	char digit[DIGITS_MAX + 1]; /* NUL-terminated */
	int count;
	int exponent;
};

/** Switches the thread to the C locale. @return what to give to locale_restore() */
static locale_t locale_plain(void)
{
	/* glibc has the C locale built in: neither call fails or allocates */
	return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

static void locale_restore(locale_t before)
{
	(void)uselocale(before);
}

static double read_decimal(const struct decimal *decimal)
{
	char text[SF_FLOAT_TEXT_MAX];

	/* d.ddd as an integer, so that no point is needed */
	(void)snprintf(text, sizeof(text), "%se%d", decimal->digit,
		       decimal->exponent - decimal->count + 1);
	return strtod(text, NULL);
}

/** The decimal of so many digits nearest to the value. */
static void round_to(double value, int count, struct decimal *ret_decimal)
{
	char text[SF_FLOAT_TEXT_MAX];
	const char *exponent;

	(void)snprintf(text, sizeof(text), "%.*e", count - 1, value);
	exponent = strchr(text, 'e');
	ret_decimal->digit[0] = text[0];
	memcpy(ret_decimal->digit + 1, text + 2, (size_t)(count - 1));
	ret_decimal->digit[count] = '\0';
	ret_decimal->count = count;
	ret_decimal->exponent = (int)strtol(exponent + 1, NULL, 10);
}

/** Goes to the next larger decimal of as many digits. */
static void step_up(struct decimal *decimal)
{
	int i = decimal->count - 1;

	while (i >= 0 && decimal->digit[i] == '9')
		decimal->digit[i--] = '0';
	if (i >= 0) {
		decimal->digit[i]++;
		return;
	}
	decimal->digit[0] = '1';
	decimal->exponent++;
}

/**
 * Whether a decimal of so many digits reads as the value. Below a power of two doubles lie closer
 * than above it, so the nearest decimal, from below, may fail where the next one above does not.
 */
static bool fits(double value, int count, struct decimal *ret_decimal)
{
	round_to(value, count, ret_decimal);
	if (read_decimal(ret_decimal) == value)
		return true;
	step_up(ret_decimal);
	return read_decimal(ret_decimal) == value;
}

/** The shortest decimal of a positive finite value. */
static void shortest(double value, struct decimal *ret_decimal)
{
	/* What fits in fewer digits than DBL_DIG is found with that many, zeros at its end; but
	 * numbers below DBL_MIN do not have that precision. */
	int count = value < DBL_MIN ? 1 : DBL_DIG;

	while (!fits(value, count, ret_decimal))
		count++;
	while (ret_decimal->count > 1 && ret_decimal->digit[ret_decimal->count - 1] == '0')
		ret_decimal->digit[--ret_decimal->count] = '\0';
}

static int write_plain(const struct decimal *decimal, char *text)
{
	int whole = decimal->exponent + 1; /* digits before the point */

	if (whole <= 0)
		return snprintf(text, SF_FLOAT_TEXT_MAX, "0.%.*s%s", -whole, "0000",
				decimal->digit);
	if (decimal->count <= whole)
		return snprintf(text, SF_FLOAT_TEXT_MAX, "%s%.*s.0", decimal->digit,
				whole - decimal->count, "0000000000000000");
	return snprintf(text, SF_FLOAT_TEXT_MAX, "%.*s.%s", whole, decimal->digit,
			decimal->digit + whole);
}

static int write_decimal(const struct decimal *decimal, char *text)
{
	if (decimal->exponent >= -4 && decimal->exponent < 16)
		return write_plain(decimal, text);
	return snprintf(text, SF_FLOAT_TEXT_MAX, "%c%s%se%c%02d", decimal->digit[0],
			decimal->count > 1 ? "." : "", decimal->digit + 1,
			decimal->exponent < 0 ? '-' : '+', abs(decimal->exponent));
}

size_t sf_float_text(double value, char ret_text[SF_FLOAT_TEXT_MAX])
{
	struct decimal decimal = {.digit = "0", .count = 1};
	char text[SF_FLOAT_TEXT_MAX] = "inf";
	locale_t before;

	if (isnan(value))
		return (size_t)snprintf(ret_text, SF_FLOAT_TEXT_MAX, "nan");
	before = locale_plain();
	if (isfinite(value) && value != 0)
		shortest(fabs(value), &decimal);
	if (isfinite(value))
		(void)write_decimal(&decimal, text);
	locale_restore(before);
	return (size_t)snprintf(ret_text, SF_FLOAT_TEXT_MAX, "%s%.30s", signbit(value) ? "-" : "",
				text);
}

double sf_float_read(const char *text)
{
	locale_t before = locale_plain();
	double value = strtod(text, NULL);

	locale_restore(before);
	return value;
}
