/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * One-off IDs of the wide formats: random tails are the library's, Hound parts are the user's. Main
 * thread.
 */
#include "tools/encode_wide.h"

#include "tools/rfc3339.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/** Seconds that hold the milliseconds, rounded down. */
static int64_t seconds_of(int64_t unix_ms)
{
	return unix_ms / 1000 - (unix_ms % 1000 < 0);
}

static int make_random(const struct sfctl *sfctl, const struct sfctl_wide_request *request,
		       struct sfctl_id *ret_id)
{
	int64_t unix_ms = sfctl_now_ms();
	struct sf_why why;
	int error;

	if (request->time_text && sfctl_time_parse(request->time_text, &unix_ms, &why) < 0)
		return sfctl_usage(sfctl, "%s", why.text);
	if (request->format == SF_FORMAT_ULID)
		error = sf_ulid_make(unix_ms, &ret_id->wide, &why);
	else if (request->format == SF_FORMAT_UUID7)
		error = sf_uuid7_make(unix_ms, &ret_id->wide, &why);
	else
		error = sf_objectid_make(seconds_of(unix_ms), &ret_id->wide, &why);
	return error < 0 ? sfctl_fail(sfctl, "%s", why.text) : SFCTL_GO_ON;
}

/** Digits, a point, digits. */
static bool is_seconds(const char *text)
{
	size_t whole = strspn(text, "0123456789");
	size_t fraction = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;

	return whole > 0 && fraction > 0 && text[whole + 1 + fraction] == '\0';
}

/** The time as a double, as exact as it was given. */
static int hound_time(const struct sfctl *sfctl, const char *text, double *ret_time)
{
	struct timespec now;
	struct sf_why why;
	int64_t unix_ms;

	if (!text) {
		(void)clock_gettime(CLOCK_REALTIME, &now);
		*ret_time = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	} else if (is_seconds(text)) {
		*ret_time = strtod(text, NULL);
	} else {
		if (sfctl_time_parse(text, &unix_ms, &why) < 0)
			return sfctl_usage(sfctl, "%s", why.text);
		*ret_time = (double)unix_ms / 1000;
	}
	if (*ret_time < 0)
		return sfctl_fail(sfctl,
				  "time %.60s lies before 1970: a Hound ID of then sorts behind "
				  "all others",
				  text);
	return SFCTL_GO_ON;
}

static int make_hound(const struct sfctl *sfctl, const struct sfctl_wide_request *request,
		      struct sfctl_id *ret_id)
{
	struct sf_hound parts = {
		.machine = request->machine,
		.client = (uint16_t)request->client,
		.sequence = (uint16_t)request->sequence,
	};
	int status = hound_time(sfctl, request->time_text, &parts.time);

	if (status != SFCTL_GO_ON)
		return status;
	if (request->sequence > UINT16_MAX)
		return sfctl_fail(sfctl, "sequence %u does not fit 16 bits; legal is [0,%d]",
				  request->sequence, UINT16_MAX);
	sf_hound_pack(&parts, ret_id->hound);
	return SFCTL_GO_ON;
}

int sfctl_wide_make(const struct sfctl *sfctl, const struct sfctl_wide_request *request,
		    struct sfctl_id *ret_id)
{
	struct sfctl_id id = {.format = request->format};
	int status = request->format == SF_FORMAT_HOUND ? make_hound(sfctl, request, &id)
							: make_random(sfctl, request, &id);

	if (status == SFCTL_GO_ON)
		*ret_id = id;
	return status;
}
