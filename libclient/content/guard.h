/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What JSON demands of the inside of strings, and of white space, checked before the parser sees
 * it: the parser takes half of a surrogate pair for a question mark, lets malformed UTF-8 pass, and
 * knows two kinds of white space too many. It also reads a string or number anew from its beginning
 * whenever a piece ends within it, so the guard says how much of one is open. Pure functions of the
 * state; any thread.
 */
#ifndef SF_CONTENT_GUARD_H
#define SF_CONTENT_GUARD_H

#include "libclient/content/utf8.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Where the text stands. */
enum sf_guard_place {
	SF_GUARD_OUTSIDE,
	SF_GUARD_NUMBER, /* anything that numbers are made of; whether it is one, the parser says */
	SF_GUARD_STRING,
	SF_GUARD_ESCAPE, /* after a backslash */
	SF_GUARD_HEX,    /* within the four digits of \u */
};

/** All zero before the first byte. */
struct sf_guard {
	enum sf_guard_place place;
	size_t open; /* bytes at the end that belong to a string or number without an end yet */
	struct sf_utf8 utf8;
	unsigned digits; /* of SF_GUARD_HEX, read */
	unsigned unit;   /* their value */
	bool is_half;    /* the escape before was the high half of a pair */
};

/**
 * Checks a piece; when a string or number is open, no further than to its end. That is the quote,
 * or the byte behind the number.
 * @param ret_error -EILSEQ or -EBADMSG, when a byte is bad, and
 * @param ret_reason a sentence; else NULL
 * @return number of good bytes: as many as there are up to the end or to the bad one
 */
size_t sf_guard_scan(struct sf_guard *guard, const char *text, size_t length, int *ret_error,
		     const char **ret_reason);

#endif
