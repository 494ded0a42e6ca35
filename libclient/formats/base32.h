/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The characters of Crockford's Base32, for every format that is written with them. Pure; any
 * thread and any signal handler. It knows ASCII only, whatever the locale.
 */
#ifndef SF_FORMATS_BASE32_H
#define SF_FORMATS_BASE32_H

#include <stdint.h>

/** Digits: 0 to 31. */
#define SF_BASE32_DIGITS "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
/** What readers take for a digit, for sentences. */
#define SF_BASE32_READ "one of 0-9, A-Z without U, in either case"
/** What check symbols count to. */
#define SF_BASE32_CHECK_BASE 37u
/** Check symbols: 0 to 36. */
#define SF_BASE32_SYMBOLS SF_BASE32_DIGITS "*~$=U"

/**
 * Value of a digit of either case; O is read as 0, I and L as 1.
 * @return 0 to 31, or -1 for another byte
 */
static inline int sf_base32_value(unsigned char c)
{
	/* one more than the value, so that 0 stands for no digit */
	static const uint8_t one_more[256] = {
		['0'] = 1,  ['O'] = 1,  ['o'] = 1,  ['1'] = 2,  ['I'] = 2,  ['L'] = 2,  ['i'] = 2,
		['l'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
		['8'] = 9,  ['9'] = 10, ['A'] = 11, ['a'] = 11, ['B'] = 12, ['b'] = 12, ['C'] = 13,
		['c'] = 13, ['D'] = 14, ['d'] = 14, ['E'] = 15, ['e'] = 15, ['F'] = 16, ['f'] = 16,
		['G'] = 17, ['g'] = 17, ['H'] = 18, ['h'] = 18, ['J'] = 19, ['j'] = 19, ['K'] = 20,
		['k'] = 20, ['M'] = 21, ['m'] = 21, ['N'] = 22, ['n'] = 22, ['P'] = 23, ['p'] = 23,
		['Q'] = 24, ['q'] = 24, ['R'] = 25, ['r'] = 25, ['S'] = 26, ['s'] = 26, ['T'] = 27,
		['t'] = 27, ['V'] = 28, ['v'] = 28, ['W'] = 29, ['w'] = 29, ['X'] = 30, ['x'] = 30,
		['Y'] = 31, ['y'] = 31, ['Z'] = 32, ['z'] = 32};

	return one_more[c] - 1;
}

/**
 * Value of a check symbol; read as sf_base32_value() does.
 * @return 0 to 36, or -1 for another byte
 */
static inline int sf_base32_symbol_value(unsigned char c)
{
	switch (c) {
	case '*':
		return 32;
	case '~':
		return 33;
	case '$':
		return 34;
	case '=':
		return 35;
	case 'U':
	case 'u':
		return 36;
	default:
		return sf_base32_value(c);
	}
}

#endif
