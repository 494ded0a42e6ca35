/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * UTF-8 (RFC 3629), checked piece by piece: no surrogates, no overlong forms, nothing above
 * U+10FFFF. Pure functions of the state; any thread.
 */
#ifndef SF_CONTENT_UTF8_H
#define SF_CONTENT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Where in a character the text is. All zero before the first byte. */
struct sf_utf8 {
	uint8_t left; /* bytes the character still needs */
	uint8_t low;  /* smallest and */
	uint8_t high; /* largest byte that may come next, while `left` is not 0 */
};

/** Checks a piece. @return number of good bytes: `length`, or the index of the first bad one */
size_t sf_utf8_scan(struct sf_utf8 *utf8, const uint8_t *bytes, size_t length);

/** Whether no character is half read. */
static inline bool sf_utf8_is_whole(const struct sf_utf8 *utf8)
{
	return utf8->left == 0;
}

#endif
