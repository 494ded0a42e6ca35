/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Calendar arithmetic on the proleptic Gregorian calendar. Not gmtime() and timegm(): they read
 * $TZ, count leap seconds in some zones, and take the 30th of February for the 1st of March.
 */
#include "tools/rfc3339.h"

#include "tools/number.h"
#include "tools/sfctl.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DAY_MS INT64_C(86400000)
/** Days of 400 years, after which the calendar repeats. */
#define ERA_DAYS 146097
/** Days from 0000-03-01 to 1970-01-01. Years begin in March, so that leap days come last. */
#define UNIX_EPOCH_DAYS 719468

struct civil {
	int64_t year;
	unsigned month;
	unsigned day;
};

static int64_t floor_div(int64_t value, int64_t by)
{
	return value / by - (value % by < 0);
}

static int64_t days_from_civil(const struct civil *civil)
{
	int64_t year = civil->year - (civil->month <= 2);
	int64_t era = floor_div(year, 400);
	int64_t of_era = year - era * 400;
	int64_t month = civil->month > 2 ? civil->month - 3 : civil->month + 9;
	int64_t of_year = (153 * month + 2) / 5 + civil->day - 1;

	return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year -
	       UNIX_EPOCH_DAYS;
}

static struct civil civil_from_days(int64_t days)
{
	int64_t era = floor_div(days + UNIX_EPOCH_DAYS, ERA_DAYS);
	int64_t day = days + UNIX_EPOCH_DAYS - era * ERA_DAYS;
	int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	int64_t of_year = day - (year * 365 + year / 4 - year / 100);
	int64_t month = (5 * of_year + 2) / 153;
	struct civil civil = {
		.month = (unsigned)(month < 10 ? month + 3 : month - 9),
		.day = (unsigned)(of_year - (153 * month + 2) / 5 + 1),
	};

	civil.year = year + era * 400 + (civil.month <= 2);
	return civil;
}

void sfctl_rfc3339_format(int64_t unix_ms, char buffer[SFCTL_RFC3339_MAX])
{
	int64_t days = floor_div(unix_ms, DAY_MS);
	unsigned ms = (unsigned)((unix_ms % DAY_MS + DAY_MS) % DAY_MS);
	struct civil civil = civil_from_days(days);
	bool is_rfc = civil.year >= 0 && civil.year <= 9999;

	(void)snprintf(buffer, SFCTL_RFC3339_MAX, is_rfc ? "%04lld" : "%+06lld",
		       (long long)civil.year);
	(void)snprintf(buffer + strlen(buffer), SFCTL_RFC3339_MAX - strlen(buffer),
		       "-%02u-%02uT%02u:%02u:%02u.%03uZ", civil.month, civil.day, ms / 3600000,
		       ms / 60000 % 60, ms / 1000 % 60, ms % 1000);
}

/** Reads exactly `digits` digits and moves past them. */
static bool take_number(const char **text, unsigned digits, unsigned *ret_value)
{
	uint64_t value;

	if (strnlen(*text, digits) < digits || sfctl_number_parse(*text, digits, &value) < 0)
		return false;
	*text += digits;
	*ret_value = (unsigned)value;
	return true;
}

static bool take_char(const char **text, const char *any_of)
{
	if (**text == '\0' || !strchr(any_of, **text))
		return false;
	(*text)++;
	return true;
}

static bool take_date(const char **text, struct civil *ret_civil)
{
	unsigned year;

	if (!take_number(text, 4, &year) || !take_char(text, "-"))
		return false;
	ret_civil->year = year;
	return take_number(text, 2, &ret_civil->month) && take_char(text, "-") &&
	       take_number(text, 2, &ret_civil->day);
}

/** Fraction of a second in milliseconds; further digits are read and cut off. */
static bool take_fraction(const char **text, unsigned *ret_ms)
{
	unsigned weight = 100;

	*ret_ms = 0;
	if (!take_char(text, "."))
		return true;
	if (**text < '0' || **text > '9')
		return false;
	for (; **text >= '0' && **text <= '9'; (*text)++) {
		*ret_ms += weight * (unsigned)(**text - '0');
		weight /= 10;
	}
	return true;
}

static bool take_offset(const char **text, int64_t *ret_ms)
{
	bool is_west = **text == '-';
	unsigned hours;
	unsigned minutes;

	*ret_ms = 0;
	if (take_char(text, "Zz"))
		return true;
	if (!take_char(text, "+-") || !take_number(text, 2, &hours) || !take_char(text, ":") ||
	    !take_number(text, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	*ret_ms = (is_west ? -1 : 1) * (int64_t)(hours * 60 + minutes) * 60000;
	return true;
}

static bool is_date(const struct civil *civil)
{
	struct civil back;

	if (civil->month < 1 || civil->month > 12 || civil->day < 1)
		return false;
	back = civil_from_days(days_from_civil(civil));
	return back.day == civil->day && back.month == civil->month;
}

int sfctl_rfc3339_parse(const char *text, int64_t *ret_unix_ms, struct sf_why *why)
{
	const char *at = text;
	struct civil civil;
	unsigned hour;
	unsigned minute;
	unsigned second;
	unsigned ms;
	int64_t offset_ms;
	bool has_date = take_date(&at, &civil);

	if (has_date && *at == '\0') {
		SFCTL_WHY(why,
			  "time \"%.60s\" is a day without a time: give the moment that is meant, "
			  "such as %.60sT00:00:00Z",
			  text, text);
		return -EINVAL;
	}
	if (!has_date || !take_char(&at, "Tt ") || !take_number(&at, 2, &hour) ||
	    !take_char(&at, ":") || !take_number(&at, 2, &minute) || !take_char(&at, ":") ||
	    !take_number(&at, 2, &second) || !take_fraction(&at, &ms) ||
	    !take_offset(&at, &offset_ms) || *at != '\0') {
		SFCTL_WHY(
			why,
			"time \"%.60s\" is neither RFC 3339, with Z or an offset at the end, such "
			"as 2024-06-01T22:15:27.123Z, nor Unix milliseconds",
			text);
		return -EINVAL;
	}
	/* Unix time has no leap second: 23:59:60 would be read as another second. */
	if (!is_date(&civil) || hour > 23 || minute > 59 || second > 59) {
		SFCTL_WHY(why,
			  "time \"%.60s\" names a day, hour, minute or second that does not "
			  "exist in Unix time",
			  text);
		return -EINVAL;
	}
	*ret_unix_ms = days_from_civil(&civil) * DAY_MS +
		       (int64_t)((hour * 60 + minute) * 60 + second) * 1000 + ms - offset_ms;
	return 0;
}

int sfctl_time_parse(const char *text, int64_t *ret_unix_ms, struct sf_why *why)
{
	bool is_negative = text[0] == '-';
	uint64_t ms;
	int r = sfctl_number_parse_range(text + is_negative, 0, INT64_MAX, &ms);

	if (r == -EINVAL)
		return sfctl_rfc3339_parse(text, ret_unix_ms, why);
	if (r < 0) {
		SFCTL_WHY(why, "time %.60s is outside the range of Unix milliseconds, 64 bits",
			  text);
		return -EINVAL;
	}
	*ret_unix_ms = is_negative ? -(int64_t)ms : (int64_t)ms;
	return 0;
}

int64_t sfctl_now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
