/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Crockford's Base32 for numbers of up to 128 bits, and its check symbol; see sftext.h. Pure
 * functions: any thread and any signal handler.
 */
#include <sftext.h>

#include "libclient/formats/base32.h"
#include "libclient/formats/refuse.h"
#include "shm/why.h"

#include <errno.h>
#include <string.h>

/* Characters that 128 bits need. */
#define LENGTH_MAX 26u

int sf_crockford_format(const struct sf_wide *value, unsigned length, char *ret_text)
{
	struct sf_wide rest = *value;
	char text[LENGTH_MAX + 1];

	if (length == 0 || length > LENGTH_MAX)
		return -EINVAL;
	text[length] = '\0';
	for (unsigned i = length; i-- > 0;) {
		text[i] = SF_BASE32_DIGITS[rest.low & 31];
		rest.low = rest.low >> 5 | rest.high << 59;
		rest.high >>= 5;
	}
	if (rest.low | rest.high)
		return -ERANGE;
	memcpy(ret_text, text, length + 1);
	return 0;
}

int sf_crockford_parse(const char *text, size_t length, struct sf_wide *ret_value,
		       struct sf_why *why)
{
	const struct sf_reading reading = {"a Base32 number", text, length, LENGTH_MAX};
	struct sf_wide value = {0, 0};
	uint64_t lost = 0;

	sf_shm_clear(why);
	if (length == 0)
		return SF_SHM_REFUSE(why, -EINVAL,
				     "the text is empty; a Base32 number has 1 to %u characters",
				     LENGTH_MAX);
	if (length > LENGTH_MAX)
		return sf_refuse_character(why, &reading, LENGTH_MAX, SF_BASE32_READ);
	for (size_t i = 0; i < length; i++) {
		int digit = sf_base32_value((unsigned char)text[i]);

		if (digit < 0)
			return sf_refuse_character(why, &reading, i, SF_BASE32_READ);
		lost |= value.high >> 59;
		value.high = value.high << 5 | value.low >> 59;
		value.low = value.low << 5 | (uint64_t)digit;
	}
	if (lost)
		return SF_SHM_REFUSE(why, -ERANGE,
				     "character 1 of %u is above 7: more than 128 bits; the "
				     "largest number is 7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
				     LENGTH_MAX);
	*ret_value = value;
	return 0;
}

int sf_crockford_check(const char *payload, size_t length)
{
	unsigned remainder = 0;

	if (length == 0)
		return -EINVAL;
	for (size_t i = 0; i < length; i++) {
		int digit = sf_base32_value((unsigned char)payload[i]);

		/* read, but never written so: lower case, I, L, O */
		if (digit < 0 || SF_BASE32_DIGITS[digit] != payload[i])
			return -EINVAL;
		remainder = (remainder * 32 + (unsigned)digit) % SF_BASE32_CHECK_BASE;
	}
	return SF_BASE32_SYMBOLS[remainder];
}
