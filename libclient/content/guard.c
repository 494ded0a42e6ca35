/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The strings of a JSON text (RFC 8259, section 7), byte by byte, and where its numbers end. Knows
 * nothing else of its grammar, which is the parser's. Any thread.
 */
#include "libclient/content/guard.h"

#include <errno.h>
#include <string.h>

static const char lone_high[] = "the high half of a surrogate pair stands without its low half";
static const char lone_low[] = "the low half of a surrogate pair stands without its high half";
static const char not_utf8[] = "text is not UTF-8";

/** What is wrong with one byte. */
struct verdict {
	int error;
	const char *reason; /* NULL: nothing */
};

static struct verdict outside(struct sf_guard *guard, char c)
{
	if (c == '\v' || c == '\f')
		return (struct verdict){-EBADMSG, "a vertical tab or form feed is no white space"};
	if (c == '"')
		*guard = (struct sf_guard){.place = SF_GUARD_STRING};
	else if (c == '-' || (c >= '0' && c <= '9'))
		guard->place = SF_GUARD_NUMBER;
	return (struct verdict){0, NULL};
}

static struct verdict in_number(struct sf_guard *guard, char c)
{
	if ((c >= '0' && c <= '9') || (c != '\0' && strchr("+-.eE", c)))
		return (struct verdict){0, NULL};
	guard->place = SF_GUARD_OUTSIDE;
	return outside(guard, c);
}

static struct verdict in_string(struct sf_guard *guard, char c)
{
	uint8_t byte = (uint8_t)c;

	if (guard->is_half && c != '\\')
		return (struct verdict){-EILSEQ, lone_high};
	if (sf_utf8_scan(&guard->utf8, &byte, 1) == 0)
		return (struct verdict){-EILSEQ, not_utf8};
	if (byte < 0x20)
		return (struct verdict){-EBADMSG,
					"a control character in a string must be escaped"};
	if (c == '\\')
		guard->place = SF_GUARD_ESCAPE;
	else if (c == '"')
		guard->place = SF_GUARD_OUTSIDE;
	return (struct verdict){0, NULL};
}

static struct verdict in_escape(struct sf_guard *guard, char c)
{
	if (c == 'u') {
		guard->place = SF_GUARD_HEX;
		guard->digits = 0;
		guard->unit = 0;
		return (struct verdict){0, NULL};
	}
	if (guard->is_half)
		return (struct verdict){-EILSEQ, lone_high};
	if (c == '\0' || !strchr("\"\\/bfnrt", c))
		return (struct verdict){-EBADMSG, "no such escape"};
	guard->place = SF_GUARD_STRING;
	return (struct verdict){0, NULL};
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static struct verdict in_hex(struct sf_guard *guard, char c)
{
	int digit = hex_value(c);
	bool is_low;

	if (digit < 0)
		return (struct verdict){-EBADMSG, "\\u needs four hexadecimal digits"};
	guard->unit = guard->unit << 4 | (unsigned)digit;
	if (++guard->digits < 4)
		return (struct verdict){0, NULL};
	is_low = guard->unit >= 0xdc00 && guard->unit <= 0xdfff;
	if (is_low != guard->is_half)
		return (struct verdict){-EILSEQ, is_low ? lone_low : lone_high};
	guard->is_half = guard->unit >= 0xd800 && guard->unit <= 0xdbff;
	guard->place = SF_GUARD_STRING;
	return (struct verdict){0, NULL};
}

static struct verdict step(struct sf_guard *guard, char c)
{
	switch (guard->place) {
	case SF_GUARD_NUMBER:
		return in_number(guard, c);
	case SF_GUARD_STRING:
		return in_string(guard, c);
	case SF_GUARD_ESCAPE:
		return in_escape(guard, c);
	case SF_GUARD_HEX:
		return in_hex(guard, c);
	case SF_GUARD_OUTSIDE:
		break;
	}
	return outside(guard, c);
}

size_t sf_guard_scan(struct sf_guard *guard, const char *text, size_t length, int *ret_error,
		     const char **ret_reason)
{
	bool was_open = guard->open > 0;

	*ret_reason = NULL;
	for (size_t i = 0; i < length; i++) {
		struct verdict verdict = step(guard, text[i]);

		if (verdict.reason) {
			*ret_error = verdict.error;
			*ret_reason = verdict.reason;
			return i;
		}
		guard->open = guard->place == SF_GUARD_OUTSIDE ? 0 : guard->open + 1;
		if (was_open && guard->open == 0)
			return i + 1;
	}
	return length;
}
