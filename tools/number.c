/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Strict number parsing and quick formatting. Any thread; never touches the locale.
 */
#include "tools/number.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

int sfctl_number_parse(const char *text, size_t length, uint64_t *ret_value)
{
	uint64_t value = 0;
	bool too_large = false;

	if (length == 0)
		return -EINVAL;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		too_large |= __builtin_mul_overflow(value, UINT64_C(10), &value);
		too_large |= __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value);
	}
	if (too_large)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int sfctl_number_parse_hex(const char *text, size_t length, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (length > 2 && text[0] == '0' && text[1] == 'x') {
		text += 2;
		length -= 2;
	}
	if (length == 0)
		return -EINVAL;
	for (size_t i = 0; i < length; i++) {
		int digit = hex_digit(text[i]);

		if (digit < 0)
			return -EINVAL;
		value = value << 4 | (unsigned)digit;
	}
	if (length > 16)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

int sfctl_number_parse_range(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
	uint64_t value;
	int r = sfctl_number_parse(text, strlen(text), &value);

	if (r < 0)
		return r;
	if (value < min || value > max)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

size_t sfctl_number_format(uint64_t value, char *buffer)
{
	/* Two digits a division: half as many divisions, which are most of the cost. */
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	char digits[SFCTL_NUMBER_DIGITS];
	size_t at = sizeof(digits);

	while (value >= 10) {
		at -= 2;
		memcpy(&digits[at], &pairs[value % 100 * 2], 2);
		value /= 100;
	}
	if (value > 0 || at == sizeof(digits))
		digits[--at] = (char)('0' + value);
	memcpy(buffer, &digits[at], sizeof(digits) - at);
	return sizeof(digits) - at;
}

void sfctl_number_format_hex(uint64_t value, char *buffer)
{
	for (int i = 15; i >= 0; i--) {
		buffer[i] = "0123456789abcdef"[value & 15];
		value >>= 4;
	}
}
