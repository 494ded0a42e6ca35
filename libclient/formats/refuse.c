/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What the wide formats refuse in common; see refuse.h. Must never allocate or call stdio.
 */
#include "libclient/formats/refuse.h"

#include "shm/why.h"

#include <errno.h>
#include <inttypes.h>

/* Room for a shown character, the NUL included. */
#define SHOWN_MAX 10

/** 'x', or "byte 0xc4" for what a terminal or log could not show as it is. */
static void show(char character, char *ret_shown)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char byte = (unsigned char)character;
	struct sf_shm_text text = {ret_shown, SHOWN_MAX, 0};

	if (byte >= ' ' && byte <= '~') {
		sf_shm_put_string(&text, (const char[]){'\'', character, '\'', '\0'});
		return;
	}
	sf_shm_put_string(&text, "byte 0x");
	sf_shm_put_string(&text, (const char[]){digits[byte >> 4], digits[byte & 15], '\0'});
}

int sf_refuse_character(struct sf_why *why, const struct sf_reading *reading, size_t at,
			const char *wanted)
{
	char shown[SHOWN_MAX];

	if (at >= reading->length)
		return SF_SHM_REFUSE(why, -EINVAL,
				     "character %" PRIu64 " is missing; %s has %" PRIu64
				     " characters",
				     (uint64_t)reading->length + 1, reading->what,
				     (uint64_t)reading->length_wanted);
	show(reading->text[at], shown);
	if (at >= reading->length_wanted)
		return SF_SHM_REFUSE(why, -EINVAL,
				     "character %" PRIu64 " is %s, but %s ends after %" PRIu64
				     " characters; leave out what follows them",
				     (uint64_t)at + 1, shown, reading->what,
				     (uint64_t)reading->length_wanted);
	return SF_SHM_REFUSE(why, -EINVAL, "character %" PRIu64 " is %s; %s has %s there",
			     (uint64_t)at + 1, shown, reading->what, wanted);
}

int sf_check_time(struct sf_why *why, int64_t time, int64_t time_max, const char *what,
		  const char *unit)
{
	if (time >= 0 && time <= time_max)
		return 0;
	return SF_SHM_REFUSE(why, -ERANGE,
			     "time %" PRId64 " does not fit %s; legal Unix %s are [0,%" PRId64 "]",
			     time, what, unit, time_max);
}
