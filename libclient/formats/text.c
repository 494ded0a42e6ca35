/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * 64-bit IDs in other notations, and the order of decimal ones; see sftext.h. Pure functions: any
 * thread and any signal handler.
 */
#include <sftext.h>

#include "libclient/formats/base32.h"
#include "libclient/formats/hex.h"
#include "libclient/formats/refuse.h"
#include "shm/why.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define BASE62_DIGITS "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define BASE58_DIGITS "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
/* The first ten are the decimal ones. */
#define HEX_DIGITS "0123456789abcdef"

struct notation {
	const char *name;
	/** Name and article, for sentences. */
	const char *what;
	/** What readers take, for sentences. */
	const char *wanted;
	const char *digits;
	/** Value of a digit as readers take it, or -1. */
	int (*value)(unsigned char c);
	/** Number of digits. */
	uint8_t base;
	/** Fewest and most digits of an ID. */
	uint8_t width_min;
	uint8_t width_max;
	/** Largest ID. */
	uint64_t last;
};

static int decimal_value(unsigned char c)
{
	return c >= '0' && c <= '9' ? c - '0' : -1;
}

static int base58_value(unsigned char c)
{
	const char *at = memchr(BASE58_DIGITS, c, sizeof(BASE58_DIGITS) - 1);

	return at ? (int)(at - BASE58_DIGITS) : -1;
}

static int base62_value(unsigned char c)
{
	const char *at = memchr(BASE62_DIGITS, c, sizeof(BASE62_DIGITS) - 1);

	return at ? (int)(at - BASE62_DIGITS) : -1;
}

static const struct notation notations[] = {
	[SF_TEXT_DECIMAL] = {"decimal", "a decimal ID", "a digit", HEX_DIGITS, decimal_value, 10, 1,
			     20, UINT64_MAX},
	[SF_TEXT_DECIMAL20] = {"decimal20", "a decimal20 ID", "a digit", HEX_DIGITS, decimal_value,
			       10, 20, 20, UINT64_MAX},
	[SF_TEXT_DECIMAL19] = {"decimal19", "a decimal19 ID", "a digit", HEX_DIGITS, decimal_value,
			       10, 19, 19, INT64_MAX},
	[SF_TEXT_HEX] = {"hex", "a hex ID", "one of 0-9, a-f, A-F", HEX_DIGITS, sf_hex_value, 16,
			 16, 16, UINT64_MAX},
	[SF_TEXT_BASE32] = {"base32", "a base32 ID", SF_BASE32_READ, SF_BASE32_DIGITS,
			    sf_base32_value, 32, 13, 13, UINT64_MAX},
	[SF_TEXT_BASE58] = {"base58", "a base58 ID",
			    "one of 1-9, A-Z without I and O, a-z without l", BASE58_DIGITS,
			    base58_value, 58, 11, 11, UINT64_MAX},
	[SF_TEXT_BASE62] = {"base62", "a base62 ID", "one of 0-9, A-Z, a-z", BASE62_DIGITS,
			    base62_value, 62, 11, 11, UINT64_MAX},
	[SF_TEXT_BASE32_CHECK] = {"base32check", "a base32check ID", SF_BASE32_READ,
				  SF_BASE32_DIGITS, sf_base32_value, 32, 1, 13, UINT64_MAX},
};

#define NOTATION_COUNT (sizeof(notations) / sizeof(notations[0]))

/** NULL for what is no notation. */
static const struct notation *find(unsigned kind)
{
	return kind >= SF_TEXT_DECIMAL && kind < NOTATION_COUNT ? &notations[kind] : NULL;
}

/** Without a NUL. @return number of digits */
static size_t write_digits(const struct notation *notation, uint64_t id, char *ret_text)
{
	char text[SF_TEXT_MAX];
	size_t first = sizeof(text);
	size_t length;

	do {
		text[--first] = notation->digits[id % notation->base];
		id /= notation->base;
	} while (id > 0 || sizeof(text) - first < notation->width_min);
	length = sizeof(text) - first;
	memcpy(ret_text, text + first, length);
	return length;
}

int sf_text_format(unsigned kind, uint64_t id, char *ret_text)
{
	const struct notation *notation = find(kind);
	size_t length;

	if (!notation)
		return -EINVAL;
	if (id > notation->last)
		return -ERANGE;
	length = write_digits(notation, id, ret_text);
	if (kind == SF_TEXT_BASE32_CHECK)
		ret_text[length++] = SF_BASE32_SYMBOLS[id % SF_BASE32_CHECK_BASE];
	ret_text[length] = '\0';
	return (int)length;
}

static int refuse_range(unsigned kind, struct sf_why *why)
{
	char largest[SF_TEXT_MAX];

	(void)sf_text_format(kind, notations[kind].last, largest);
	return SF_SHM_REFUSE(why, -ERANGE, "the number is too large for %s; the largest is %s",
			     notations[kind].what, largest);
}

static int parse_plain(unsigned kind, const struct sf_reading *reading, uint64_t *ret_id,
		       struct sf_why *why)
{
	const struct notation *notation = &notations[kind];
	bool is_over = false;
	uint64_t id = 0;

	for (size_t i = 0; i < reading->length && i < notation->width_max; i++) {
		int value = notation->value((unsigned char)reading->text[i]);

		if (value < 0)
			return sf_refuse_character(why, reading, i, notation->wanted);
		is_over |= __builtin_mul_overflow(id, (uint64_t)notation->base, &id);
		is_over |= __builtin_add_overflow(id, (uint64_t)value, &id);
	}
	if (reading->length < notation->width_min)
		return sf_refuse_character(why, reading, reading->length, notation->wanted);
	if (reading->length > notation->width_max)
		return sf_refuse_character(why, reading, notation->width_max, notation->wanted);
	if (reading->length > notation->width_min && reading->text[0] == '0')
		return SF_SHM_REFUSE(why, -EINVAL,
				     "character 1 is a leading zero, and %s has none; leave it "
				     "out, or read it as decimal20 or decimal19",
				     notation->what);
	if (is_over || id > notation->last)
		return refuse_range(kind, why);
	*ret_id = id;
	return 0;
}

static int parse_check(const struct sf_reading *reading, uint64_t *ret_id, struct sf_why *why)
{
	const char *text = reading->text;
	size_t last = reading->length - 1;
	uint64_t lost = 0;
	uint64_t id = 0;
	int symbol = sf_base32_symbol_value((unsigned char)text[last]);

	for (size_t i = 0; i < last; i++) {
		int value = sf_base32_value((unsigned char)text[i]);

		if (text[i] == '-' && i > 0)
			continue;
		if (value < 0)
			return sf_refuse_character(why, reading, i, SF_BASE32_READ);
		lost |= id >> 59;
		id = id << 5 | (uint64_t)value;
	}
	if (last == 0)
		return SF_SHM_REFUSE(why, -EINVAL,
				     "the text ends after 1 character; a base32check ID has a "
				     "digit or more, and then its check symbol");
	if (symbol < 0)
		return sf_refuse_character(why, reading, last,
					   "a check symbol (0-9, A-Z, *, ~, $, =)");
	if (lost)
		return refuse_range(SF_TEXT_BASE32_CHECK, why);
	if (id % SF_BASE32_CHECK_BASE != (unsigned)symbol)
		return SF_SHM_REFUSE(why, -EINVAL,
				     "character %" PRIu64 ", the check symbol, does not fit those "
				     "before it; one of them is mistyped, or two are swapped",
				     (uint64_t)last + 1);
	*ret_id = id;
	return 0;
}

int sf_text_parse(unsigned kind, const char *text, size_t length, uint64_t *ret_id,
		  struct sf_why *why)
{
	const struct notation *notation = find(kind);
	struct sf_reading reading = {.text = text, .length = length};

	sf_shm_clear(why);
	if (!notation)
		return SF_SHM_REFUSE(why, -EINVAL, "notation %u is unknown; legal is [%u,%u]", kind,
				     (unsigned)SF_TEXT_DECIMAL, (unsigned)NOTATION_COUNT - 1);
	if (length == 0)
		return SF_SHM_REFUSE(why, -EINVAL, "the text is empty; write %s", notation->what);
	reading.what = notation->what;
	if (kind == SF_TEXT_BASE32_CHECK) {
		/* leading zeros and hyphens: of any length */
		reading.length_wanted = length;
		return parse_check(&reading, ret_id, why);
	}
	reading.length_wanted = notation->width_max;
	return parse_plain(kind, &reading, ret_id, why);
}

int sf_text_of(const char *name)
{
	for (unsigned kind = SF_TEXT_DECIMAL; kind < NOTATION_COUNT; kind++)
		if (strcmp(notations[kind].name, name) == 0)
			return (int)kind;
	return -EINVAL;
}

static bool is_number(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (decimal_value((unsigned char)text[i]) < 0)
			return false;
	return length > 0;
}

static void skip_zeros(const char **text, size_t *length)
{
	while (*length > 0 && **text == '0') {
		(*text)++;
		(*length)--;
	}
}

static int compare_sizes(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

int sf_decimal_compare(const char *a, size_t a_length, const char *b, size_t b_length)
{
	bool is_number_a = is_number(a, a_length);
	bool is_number_b = is_number(b, b_length);
	size_t shorter;
	int order;

	if (is_number_a != is_number_b)
		return is_number_a ? -1 : 1;
	if (is_number_a) {
		skip_zeros(&a, &a_length);
		skip_zeros(&b, &b_length);
		/* without zeros in front, more digits are a larger number */
		if (a_length != b_length)
			return compare_sizes(a_length, b_length);
	}
	shorter = a_length < b_length ? a_length : b_length;
	order = shorter > 0 ? memcmp(a, b, shorter) : 0;
	return order ? order : compare_sizes(a_length, b_length);
}
