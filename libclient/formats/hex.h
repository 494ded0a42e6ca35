/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Hexadecimal digits, for every format that is written with them. Pure; any thread and any signal
 * handler. It knows ASCII only, whatever the locale.
 */
#ifndef SF_FORMATS_HEX_H
#define SF_FORMATS_HEX_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/**
 * Value of a digit of either case.
 * @return 0 to 15, or -1 for another byte
 */
static inline int sf_hex_value(unsigned char c)
{
	/* one more than the value, so that 0 stands for no digit */
	static const uint8_t one_more[256] = {
		['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
		['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['A'] = 11, ['a'] = 11,
		['B'] = 12, ['b'] = 12, ['C'] = 13, ['c'] = 13, ['D'] = 14, ['d'] = 14,
		['E'] = 15, ['e'] = 15, ['F'] = 16, ['f'] = 16};

	return one_more[c] - 1;
}

/**
 * Writes 8 lower-case digits, and no NUL. All of them are made at once, side by side in a 64-bit
 * word: neither a branch nor a table.
 */
static inline void sf_hex_put(uint32_t bits, char *ret_text)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t values = bits;
	uint64_t letters;
	uint64_t digits;

	values = (values << 16 | values) & UINT64_C(0x0000ffff0000ffff);
	values = (values << 8 | values) & UINT64_C(0x00ff00ff00ff00ff);
	values = (values << 4 | values) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	/* 1 in each byte of 10 or more: 6 more carry into its upper half */
	letters = (values + ones * 6) >> 4 & ones;
	digits = htobe64(values + ones * '0' + letters * ('a' - '0' - 10));
	memcpy(ret_text, &digits, sizeof(digits));
}

#endif
