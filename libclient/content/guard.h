/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What JSON demands of the inside of strings, and of white space, checked before the parser sees
 * it: the parser takes half of a surrogate pair for a question mark, lets malformed UTF-8 pass, and
 * knows two kinds of white space too many. Pure functions of the state; any thread.
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
	SF_GUARD_STRING,
	SF_GUARD_ESCAPE, /* after a backslash */
	SF_GUARD_HEX,    /* within the four digits of \u */
};

/** All zero before the first byte. */
struct sf_guard {
	enum sf_guard_place place;
	struct sf_utf8 utf8;
	unsigned digits; /* of SF_GUARD_HEX, read */
	unsigned unit;   /* their value */
	bool is_half;    /* the escape before was the high half of a pair */
};

/**
 * Checks a piece.
 * @param ret_error -EILSEQ or -EBADMSG, and
 * @param ret_reason a sentence, when a byte is bad
 * @return number of good bytes: `length`, or the index of the bad one
 */
size_t sf_guard_scan(struct sf_guard *guard, const char *text, size_t length, int *ret_error,
		     const char **ret_reason);

#endif
