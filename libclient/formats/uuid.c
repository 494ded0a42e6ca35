/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * UUIDs; see sfformats.h. Any thread and any signal handler, so it must never allocate, keep state
 * or call stdio.
 */
#include <sfformats.h>

#include "libclient/formats/hex.h"
#include "libclient/formats/random.h"
#include "libclient/formats/refuse.h"
#include "libclient/formats/uuid.h"
#include "shm/why.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

/* Indices of the two digits that tell the version and the variant. */
#define VERSION_AT 14u
#define VARIANT_AT 19u
#define COUNTER_HIGH_MAX UINT64_C(0x3ff)

void sf_uuid_format(const struct sf_wide *id, char *ret_text)
{
	char digits[16];

	/* xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx */
	sf_hex_put((uint32_t)(id->high >> 32), ret_text);
	ret_text[8] = '-';
	sf_hex_put((uint32_t)id->high, digits);
	memcpy(ret_text + 9, digits, 4);
	ret_text[13] = '-';
	memcpy(ret_text + 14, digits + 4, 4);
	ret_text[18] = '-';
	sf_hex_put((uint32_t)(id->low >> 32), digits + 8);
	memcpy(ret_text + 19, digits + 8, 4);
	ret_text[23] = '-';
	memcpy(ret_text + 24, digits + 12, 4);
	sf_hex_put((uint32_t)id->low, ret_text + 28);
	ret_text[SF_UUID_TEXT] = '\0';
}

static bool is_hyphen_at(size_t at)
{
	return at == 8 || at == 13 || at == 18 || at == 23;
}

int sf_uuid_parse(const char *text, size_t length, struct sf_wide *ret_id, struct sf_why *why)
{
	const struct sf_reading reading = {"a UUID", text, length, SF_UUID_TEXT};
	struct sf_wide id = {0, 0};

	for (size_t i = 0; i < SF_UUID_TEXT; i++) {
		int value = i < length ? sf_hex_value((unsigned char)text[i]) : -1;

		if (is_hyphen_at(i)) {
			if (i >= length || text[i] != '-')
				return sf_refuse_character(why, &reading, i, "a hyphen");
			continue;
		}
		if (value < 0)
			return sf_refuse_character(why, &reading, i, "a hexadecimal digit");
		id.high = id.high << 4 | id.low >> 60;
		id.low = id.low << 4 | (unsigned)value;
	}
	if (length > SF_UUID_TEXT)
		return sf_refuse_character(why, &reading, SF_UUID_TEXT, "nothing");
	*ret_id = id;
	sf_shm_clear(why);
	return 0;
}

int sf_uuid_version(const struct sf_wide *id)
{
	return id->low >> 62 == 2 ? (int)(id->high >> 12 & 15) : -EINVAL;
}

int sf_uuid7_check(const char *text, const struct sf_wide *id, struct sf_why *why)
{
	const struct sf_reading reading = {"a UUIDv7", text, SF_UUID_TEXT, SF_UUID_TEXT};

	if ((id->high >> 12 & 15) != 7)
		return sf_refuse_character(why, &reading, VERSION_AT, "the version 7");
	if (id->low >> 62 != 2)
		return sf_refuse_character(why, &reading, VARIANT_AT,
					   "8, 9, a or b (the variant of RFC 9562)");
	return 0;
}

int sf_uuid7_parse(const char *text, size_t length, struct sf_wide *ret_id, struct sf_why *why)
{
	struct sf_wide id = {0, 0};
	int r = sf_uuid_parse(text, length, &id, why);

	if (r == 0)
		r = sf_uuid7_check(text, &id, why);
	if (r == 0)
		*ret_id = id;
	return r;
}

int64_t sf_uuid7_unix_ms(const struct sf_wide *id)
{
	return (int64_t)(id->high >> 16);
}

int sf_uuid7_compose(int64_t unix_ms, const struct sf_wide *counter, struct sf_wide *ret_id,
		     struct sf_why *why)
{
	int r = sf_check_time(why, unix_ms, SF_WIDE_MS_MAX, "a UUIDv7", "milliseconds");

	if (r < 0)
		return r;
	if (counter->high > COUNTER_HIGH_MAX)
		return SF_SHM_REFUSE(why, -ERANGE,
				     "the counter's upper half is %" PRIu64
				     "; the 74 bits of a UUIDv7's counter leave it [0,%" PRIu64 "]",
				     counter->high, COUNTER_HIGH_MAX);
	*ret_id = sf_uuid7_pack((uint64_t)unix_ms, counter->high << 2 | counter->low >> 62,
				counter->low);
	sf_shm_clear(why);
	return 0;
}

int sf_uuid7_make(int64_t unix_ms, struct sf_wide *ret_id, struct sf_why *why)
{
	struct sf_wide counter;
	int r = sf_random_fill(&counter, sizeof(counter), why);

	if (r < 0)
		return r;
	counter.high &= COUNTER_HIGH_MAX;
	return sf_uuid7_compose(unix_ms, &counter, ret_id, why);
}
