/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Hound IDs; see sfformats.h. Any thread and any signal handler, so it must never allocate, keep
 * state or call stdio.
 */
#include <sfformats.h>

#include "libclient/formats/hex.h"
#include "libclient/formats/refuse.h"
#include "shm/why.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

/* Where the fields begin; the time is at 0. */
#define MACHINE_AT 8
#define CLIENT_AT 16
#define SEQUENCE_AT 18
#define ZERO_AT 20
#define SUM_AT 21

static_assert(sizeof(double) == sizeof(uint64_t), "an IEEE 754 double");

/** Sum of the bytes before the zero, which adds nothing to it. */
static uint8_t sum_of(const uint8_t *bytes)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < ZERO_AT; i++)
		sum += bytes[i];
	return (uint8_t)sum;
}

void sf_hound_pack(const struct sf_hound *id, uint8_t *ret_bytes)
{
	uint64_t machine = htobe64(id->machine);
	uint16_t client = htobe16(id->client);
	uint16_t sequence = htobe16(id->sequence);
	uint64_t time;

	memcpy(&time, &id->time, sizeof(time));
	time = htobe64(time);
	memcpy(ret_bytes, &time, sizeof(time));
	memcpy(ret_bytes + MACHINE_AT, &machine, sizeof(machine));
	memcpy(ret_bytes + CLIENT_AT, &client, sizeof(client));
	memcpy(ret_bytes + SEQUENCE_AT, &sequence, sizeof(sequence));
	ret_bytes[ZERO_AT] = 0;
	ret_bytes[SUM_AT] = sum_of(ret_bytes);
}

int sf_hound_unpack(const uint8_t *bytes, size_t length, int validate, struct sf_hound *ret_id,
		    struct sf_why *why)
{
	struct sf_hound id = {0};
	char text[SF_HOUND_TEXT + 1];
	uint64_t time;

	if (length != SF_HOUND_BYTES)
		return SF_SHM_REFUSE(why, -EMSGSIZE, "a Hound ID has %u bytes; these are %" PRIu64,
				     SF_HOUND_BYTES, (uint64_t)length);
	if (validate && bytes[SUM_AT] != sum_of(bytes)) {
		sf_hound_format(bytes, text);
		return SF_SHM_REFUSE(why, -EBADMSG,
				     "Hound ID %s: the last byte is %u, but the first 20 add up to "
				     "%u modulo 256; look for a typing error",
				     text, (unsigned)bytes[SUM_AT], (unsigned)sum_of(bytes));
	}
	memcpy(&time, bytes, sizeof(time));
	time = be64toh(time);
	memcpy(&id.time, &time, sizeof(time));
	memcpy(&id.machine, bytes + MACHINE_AT, sizeof(id.machine));
	memcpy(&id.client, bytes + CLIENT_AT, sizeof(id.client));
	memcpy(&id.sequence, bytes + SEQUENCE_AT, sizeof(id.sequence));
	id.machine = be64toh(id.machine);
	id.client = be16toh(id.client);
	id.sequence = be16toh(id.sequence);
	*ret_id = id;
	sf_shm_clear(why);
	return 0;
}

void sf_hound_format(const uint8_t *bytes, char *ret_text)
{
	char last[8];
	uint32_t word;

	for (unsigned i = 0; i < 5; i++) {
		memcpy(&word, bytes + (size_t)4 * i, sizeof(word));
		sf_hex_put(be32toh(word), ret_text + (size_t)8 * i);
	}
	sf_hex_put((uint32_t)bytes[ZERO_AT] << 8 | bytes[SUM_AT], last);
	memcpy(ret_text + 40, last + 4, 4);
	ret_text[SF_HOUND_TEXT] = '\0';
}

/** What bytes.fromhex() of the original skips. */
static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

int sf_hound_parse(const char *text, size_t length, uint8_t *ret_bytes, struct sf_why *why)
{
	/* the blanks make the number of characters whatever it is */
	const struct sf_reading reading = {"a Hound ID", text, length, length};
	uint8_t bytes[SF_HOUND_BYTES];
	uint64_t count = 0;

	for (size_t i = 0; i < length; i++) {
		int high = sf_hex_value((unsigned char)text[i]);
		int low;

		if (is_space(text[i]))
			continue;
		if (high < 0)
			return sf_refuse_character(why, &reading, i, "a hexadecimal digit");
		if (++i == length)
			return SF_SHM_REFUSE(why, -EINVAL,
					     "character %" PRIu64
					     " is missing: the text ends between the two digits of "
					     "byte %" PRIu64,
					     (uint64_t)length + 1, count + 1);
		low = sf_hex_value((unsigned char)text[i]);
		if (low < 0)
			return sf_refuse_character(why, &reading, i,
						   "the second hexadecimal digit of a byte");
		if (count < SF_HOUND_BYTES)
			bytes[count] = (uint8_t)(high << 4 | low);
		count++;
	}
	if (count != SF_HOUND_BYTES)
		return SF_SHM_REFUSE(
			why, -EMSGSIZE,
			"a Hound ID has %u bytes, %u hexadecimal digits; this text has "
			"%" PRIu64 " bytes",
			SF_HOUND_BYTES, SF_HOUND_TEXT, count);
	memcpy(ret_bytes, bytes, sizeof(bytes));
	sf_shm_clear(why);
	return 0;
}

void sf_hound_from_wide(const struct sf_wide *id, struct sf_hound *ret_id)
{
	*ret_id = (struct sf_hound){
		.time = (double)(id->high >> 16) / 1000,
		.machine = (id->high & 0xffff) << 32 | id->low >> 32,
		.client = (uint16_t)(id->low >> 16),
		.sequence = (uint16_t)id->low,
	};
}
