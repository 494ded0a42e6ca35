/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * ULIDs; see sfformats.h. Any thread and any signal handler, so it must never allocate, keep state
 * or call stdio.
 */
#include <sfformats.h>

#include "libclient/formats/base32.h"
#include "libclient/formats/random.h"
#include "libclient/formats/refuse.h"
#include "shm/why.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* A digit holds 5 bits; 26 of them are two bits more than there are. */
#define FIRST_DIGIT_MAX 7
#define COUNTER_HIGH_MAX UINT64_C(0xffff)

/** In each byte, all below 128 - `from`: 1 where it is at least `from`, else 0. */
static inline uint64_t reaches(uint64_t bytes, unsigned from)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);

	return (bytes + ones * (128 - from)) >> 7 & ones;
}

/**
 * Writes the 8 digits of the low 40 bits. All of them are made at once, side by side in a 64-bit
 * word: neither a branch nor a table.
 */
static inline void put_digits(uint64_t bits, char *text)
{
	const uint64_t zeros = UINT64_C(0x3030303030303030);
	uint64_t values = bits;
	uint64_t digits;

	values = (values << 12 & UINT64_C(0x000fffff00000000)) |
		 (values & UINT64_C(0x00000000000fffff));
	values = (values << 6 & UINT64_C(0x03ff000003ff0000)) |
		 (values & UINT64_C(0x000003ff000003ff));
	values = (values << 3 & UINT64_C(0x1f001f001f001f00)) |
		 (values & UINT64_C(0x001f001f001f001f));
	/* 7 characters lie between '9' and 'A'; then I, L, O and U are left out */
	digits = values + zeros + reaches(values, 10) * 7 + reaches(values, 18) +
		 reaches(values, 20) + reaches(values, 22) + reaches(values, 27);
	digits = htobe64(digits);
	memcpy(text, &digits, sizeof(digits));
}

void sf_ulid_format(const struct sf_wide *id, char *ret_text)
{
	static const char digits[] = SF_BASE32_DIGITS;

	ret_text[0] = digits[id->high >> 61];
	ret_text[1] = digits[id->high >> 56 & 31];
	put_digits(id->high >> 16, ret_text + 2);
	put_digits(id->high << 24 | id->low >> 40, ret_text + 10);
	put_digits(id->low, ret_text + 18);
	ret_text[SF_ULID_TEXT] = '\0';
}

int sf_ulid_parse(const char *text, size_t length, struct sf_wide *ret_id, struct sf_why *why)
{
	const struct sf_reading reading = {"a ULID", text, length, SF_ULID_TEXT};
	struct sf_wide id = {0, 0};

	for (size_t i = 0; i < SF_ULID_TEXT; i++) {
		int value = i < length ? sf_base32_value((unsigned char)text[i]) : -1;

		if (value < 0)
			return sf_refuse_character(why, &reading, i, SF_BASE32_READ);
		id.high = id.high << 5 | id.low >> 59;
		id.low = id.low << 5 | (unsigned)value;
	}
	if (length > SF_ULID_TEXT)
		return sf_refuse_character(why, &reading, SF_ULID_TEXT, "nothing");
	if (sf_base32_value((unsigned char)text[0]) > FIRST_DIGIT_MAX)
		return SF_SHM_REFUSE(why, -ERANGE,
				     "character 1 is '%s': more than the 128 bits of a ULID, whose "
				     "first character is 0 to 7",
				     ((const char[]){text[0], '\0'}));
	*ret_id = id;
	sf_shm_clear(why);
	return 0;
}

int64_t sf_ulid_unix_ms(const struct sf_wide *id)
{
	return (int64_t)(id->high >> 16);
}

int sf_ulid_compose(int64_t unix_ms, const struct sf_wide *counter, struct sf_wide *ret_id,
		    struct sf_why *why)
{
	int r = sf_check_time(why, unix_ms, SF_WIDE_MS_MAX, "a ULID", "milliseconds");

	if (r < 0)
		return r;
	if (counter->high > COUNTER_HIGH_MAX)
		return SF_SHM_REFUSE(why, -ERANGE,
				     "the counter's upper half is %" PRIu64
				     "; the 80 bits of a ULID's counter leave it [0,%" PRIu64 "]",
				     counter->high, COUNTER_HIGH_MAX);
	*ret_id = (struct sf_wide){(uint64_t)unix_ms << 16 | counter->high, counter->low};
	sf_shm_clear(why);
	return 0;
}

int sf_ulid_make(int64_t unix_ms, struct sf_wide *ret_id, struct sf_why *why)
{
	struct sf_wide counter;
	int r = sf_random_fill(&counter, sizeof(counter), why);

	if (r < 0)
		return r;
	counter.high &= COUNTER_HIGH_MAX;
	return sf_ulid_compose(unix_ms, &counter, ret_id, why);
}
