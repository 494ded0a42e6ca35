/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The well-formed byte sequences of the Unicode standard, table 3-7: only the second byte's range
 * depends on the first. Any thread.
 */
#include "libclient/content/utf8.h"

/** Begins a character of several bytes. @return false for a byte that begins none */
static bool begin(struct sf_utf8 *utf8, uint8_t first)
{
	*utf8 = (struct sf_utf8){.low = 0x80, .high = 0xbf};
	if (first >= 0xc2 && first <= 0xdf)
		utf8->left = 1;
	else if (first >= 0xe0 && first <= 0xef)
		utf8->left = 2;
	else if (first >= 0xf0 && first <= 0xf4)
		utf8->left = 3;
	if (first == 0xe0)
		utf8->low = 0xa0; /* below: overlong */
	else if (first == 0xed)
		utf8->high = 0x9f; /* above: surrogates */
	else if (first == 0xf0)
		utf8->low = 0x90; /* below: overlong */
	else if (first == 0xf4)
		utf8->high = 0x8f; /* above: beyond U+10FFFF */
	return utf8->left > 0;
}

size_t sf_utf8_scan(struct sf_utf8 *utf8, const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		uint8_t byte = bytes[i];

		if (utf8->left > 0) {
			if (byte < utf8->low || byte > utf8->high)
				return i;
			*utf8 = (struct sf_utf8){(uint8_t)(utf8->left - 1), 0x80, 0xbf};
		} else if (byte >= 0x80 && !begin(utf8, byte)) {
			return i;
		}
	}
	return length;
}
