/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Times for people, the same in the daemon's log and in sfctl.
 */
#ifndef SF_SHM_WORDS_H
#define SF_SHM_WORDS_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/** Room for either. */
#define SF_WORDS_MAX 40

/** A duration of 0 or more in its two largest units: "250ms", "59s", "59m59s", "2d03h", "56y120d".
 */
static inline void sf_duration_words(int64_t ms, char text[SF_WORDS_MAX])
{
	const int64_t minute = 60;
	const int64_t hour = 3600;
	const int64_t day = 86400;
	const int64_t year = 31556952; /* of the Gregorian calendar, on average */
	int64_t s = ms / 1000;

	if (s < 1)
		(void)snprintf(text, SF_WORDS_MAX, "%" PRId64 "ms", ms);
	else if (s < minute)
		(void)snprintf(text, SF_WORDS_MAX, "%" PRId64 "s", s);
	else if (s < hour)
		(void)snprintf(text, SF_WORDS_MAX, "%" PRId64 "m%02" PRId64 "s", s / minute,
			       s % minute);
	else if (s < day)
		(void)snprintf(text, SF_WORDS_MAX, "%" PRId64 "h%02" PRId64 "m", s / hour,
			       s / minute % 60);
	else if (s < year)
		(void)snprintf(text, SF_WORDS_MAX, "%" PRId64 "d%02" PRId64 "h", s / day,
			       s / hour % 24);
	else
		(void)snprintf(text, SF_WORDS_MAX, "%" PRId64 "y%" PRId64 "d", s / year,
			       s % year / day);
}

/** A Unix time to the second: "2026-01-01T00:00:00Z". */
static inline void sf_time_words(int64_t unix_ms, char text[SF_WORDS_MAX])
{
	time_t seconds = (time_t)(unix_ms / 1000);
	struct tm date;

	if (gmtime_r(&seconds, &date) == NULL ||
	    strftime(text, SF_WORDS_MAX, "%Y-%m-%dT%H:%M:%SZ", &date) == 0)
		(void)snprintf(text, SF_WORDS_MAX, "%" PRId64 " s", unix_ms / 1000);
}

#endif
