/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * ObjectIds; see sfformats.h. Any thread and any signal handler, so it must never allocate, keep
 * state or call stdio.
 */
#include <sfformats.h>

#include "libclient/formats/hex.h"
#include "libclient/formats/random.h"
#include "libclient/formats/refuse.h"
#include "shm/why.h"

void sf_objectid_format(const struct sf_wide *id, char *ret_text)
{
	sf_hex_put((uint32_t)id->high, ret_text);
	sf_hex_put((uint32_t)(id->low >> 32), ret_text + 8);
	sf_hex_put((uint32_t)id->low, ret_text + 16);
	ret_text[SF_OBJECTID_TEXT] = '\0';
}

/** @return 0 to 15, or -1 for all but lower-case digits */
static int lower_value(char c)
{
	return c >= 'A' && c <= 'F' ? -1 : sf_hex_value((unsigned char)c);
}

int sf_objectid_parse(const char *text, size_t length, struct sf_wide *ret_id, struct sf_why *why)
{
	const struct sf_reading reading = {"an ObjectId", text, length, SF_OBJECTID_TEXT};
	struct sf_wide id = {0, 0};

	for (size_t i = 0; i < SF_OBJECTID_TEXT; i++) {
		int value = i < length ? lower_value(text[i]) : -1;

		if (value < 0)
			return sf_refuse_character(why, &reading, i,
						   "a lower-case hexadecimal digit");
		id.high = id.high << 4 | id.low >> 60;
		id.low = id.low << 4 | (unsigned)value;
	}
	if (length > SF_OBJECTID_TEXT)
		return sf_refuse_character(why, &reading, SF_OBJECTID_TEXT, "nothing");
	*ret_id = id;
	sf_shm_clear(why);
	return 0;
}

int64_t sf_objectid_unix_s(const struct sf_wide *id)
{
	return (int64_t)id->high;
}

int sf_objectid_compose(int64_t unix_s, uint64_t counter, struct sf_wide *ret_id,
			struct sf_why *why)
{
	int r = sf_check_time(why, unix_s, SF_OBJECTID_S_MAX, "an ObjectId", "seconds");

	if (r < 0)
		return r;
	*ret_id = (struct sf_wide){(uint64_t)unix_s, counter};
	sf_shm_clear(why);
	return 0;
}

int sf_objectid_make(int64_t unix_s, struct sf_wide *ret_id, struct sf_why *why)
{
	uint64_t counter;
	int r = sf_random_fill(&counter, sizeof(counter), why);

	return r < 0 ? r : sf_objectid_compose(unix_s, counter, ret_id, why);
}
