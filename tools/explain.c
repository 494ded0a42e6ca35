/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Taking IDs apart for people and for programs. Any thread.
 */
#include "tools/explain.h"

#include "tools/number.h"
#include "tools/sfctl.h"

#include <stdlib.h>
#include <string.h>

/** Shortest text of any double fits. */
#define SECONDS_MAX 32

/** What a wide ID holds besides its format. */
struct sight {
	bool has_time;
	int64_t unix_ms;
	int version;      /* UUID; negative without one */
	const char *note; /* UUID: why it has no version; Hound: what is wrong with it; else NULL */
	struct sf_hound hound;
};

/**
 * Milliseconds of a Hound ID's time, cut down. A time that is as close to a millisecond as a double
 * can be stands for that millisecond.
 */
static bool hound_ms(double seconds, int64_t *ret_unix_ms)
{
	const double limit = 9e12; /* far inside of what is exact, as seconds and as milliseconds */
	int64_t ms;

	if (!(seconds >= -limit && seconds <= limit)) /* a NaN, too */
		return false;
	ms = (int64_t)(seconds * 1000);
	ms -= (double)ms / 1000 > seconds;
	ms += (double)(ms + 1) / 1000 <= seconds;
	*ret_unix_ms = ms;
	return true;
}

static void look_at_uuid(const struct sf_wide *id, struct sight *sight)
{
	sight->version = sf_uuid_version(id);
	sight->has_time = sight->version == 7;
	if (sight->version >= 0)
		return;
	if ((id->high | id->low) == 0)
		sight->note = "nil";
	else if ((id->high & id->low) == UINT64_MAX)
		sight->note = "max";
	else
		sight->note = "not a variant of RFC 9562";
}

static struct sight look(const struct sfctl_id *id)
{
	struct sight sight = {.version = -1};

	if (id->format == SF_FORMAT_HOUND) {
		if (sf_hound_unpack(id->hound, SF_HOUND_BYTES, 1, &sight.hound, NULL) < 0)
			sight.note = "wrong checksum";
		(void)sf_hound_unpack(id->hound, SF_HOUND_BYTES, 0, &sight.hound, NULL);
		sight.has_time = hound_ms(sight.hound.time, &sight.unix_ms);
		return sight;
	}
	sight.has_time = true;
	if (id->format == SF_FORMAT_UUID7)
		look_at_uuid(&id->wide, &sight);
	if (sight.has_time)
		(void)sf_wide_unix_ms(id->format, &id->wide, &sight.unix_ms);
	return sight;
}

/** Name of the format; only a UUID of version 7 is called so. */
static const char *format_name(const struct sfctl_id *id, const struct sight *sight)
{
	return id->format == SF_FORMAT_UUID7 && sight->version != 7 ? "uuid"
								    : sf_format_name(id->format);
}

/** Fewest digits that read back as the same double. */
static void seconds_text(double seconds, char ret_text[SECONDS_MAX])
{
	for (int digits = 1; digits <= 17; digits++) {
		(void)snprintf(ret_text, SECONDS_MAX, "%.*g", digits, seconds);
		if (strtod(ret_text, NULL) == seconds)
			return;
	}
}

static void row_time(struct sfctl_row *row, bool has_time, int64_t unix_ms)
{
	(void)strcpy(row->time, "-");
	(void)strcpy(row->unix_ms, "-");
	if (!has_time)
		return;
	sfctl_rfc3339_format(unix_ms, row->time);
	(void)snprintf(row->unix_ms, sizeof(row->unix_ms), "%lld", (long long)unix_ms);
}

void sfctl_explain_number(const struct sf_layout *layout, uint64_t id, const struct sf_parts *parts,
			  struct sfctl_row *ret_row)
{
	ret_row->id[sfctl_number_format(id, ret_row->id)] = '\0';
	ret_row->format = sf_format_name(SF_FORMAT_SNOWFLAKE);
	row_time(ret_row, true, parts->unix_ms);
	if (layout->worker_bits + layout->process_bits > 0)
		(void)snprintf(ret_row->details, sizeof(ret_row->details),
			       "worker=%u process=%u sequence=%u", parts->worker, parts->process,
			       parts->sequence);
	else
		(void)snprintf(ret_row->details, sizeof(ret_row->details), "node=%u sequence=%u",
			       parts->node, parts->sequence);
}

void sfctl_explain_wide(const struct sfctl_id *id, struct sfctl_row *ret_row)
{
	struct sight sight = look(id);
	char *details = ret_row->details;

	(void)sfctl_id_text(id, ret_row->id);
	ret_row->format = format_name(id, &sight);
	row_time(ret_row, sight.has_time, sight.unix_ms);
	details[0] = '\0';
	if (id->format == SF_FORMAT_HOUND)
		(void)snprintf(
			details, SFCTL_DETAILS_MAX, "machine=%012llx client=%u sequence=%u%s%s",
			(unsigned long long)sight.hound.machine, sight.hound.client,
			sight.hound.sequence, sight.note ? " " : "", sight.note ? sight.note : "");
	else if (sight.note)
		(void)snprintf(details, SFCTL_DETAILS_MAX, "%s", sight.note);
	else if (id->format == SF_FORMAT_UUID7)
		(void)snprintf(details, SFCTL_DETAILS_MAX, "version=%d", sight.version);
}

/** What only some formats have. @return below 0 when memory is out */
static int add_parts(json_t *object, const struct sfctl_id *id, const struct sight *sight)
{
	char seconds[SECONDS_MAX] = "";
	char machine[20];

	switch (id->format) {
	case SF_FORMAT_UUID7:
		return json_object_update_new(
			object,
			json_pack("{s:o?, s:s*}", "version",
				  sight->version < 0 ? json_null() : json_integer(sight->version),
				  "note", sight->note));
	case SF_FORMAT_OBJECTID:
		return json_object_set_new(object, "unix_s",
					   json_integer(sf_objectid_unix_s(&id->wide)));
	case SF_FORMAT_HOUND:
		seconds_text(sight->hound.time, seconds);
		(void)snprintf(machine, sizeof(machine), "%012llx",
			       (unsigned long long)sight->hound.machine);
		return json_object_update_new(
			object, json_pack("{s:s, s:s, s:i, s:i, s:s*}", "seconds", seconds,
					  "machine", machine, "client", sight->hound.client,
					  "sequence", sight->hound.sequence, "note", sight->note));
	default:
		return 0;
	}
}

json_t *sfctl_wide_json(const struct sfctl_id *id)
{
	struct sight sight = look(id);
	char text[SFCTL_ID_TEXT_MAX];
	char hex[SFCTL_ID_TEXT_MAX];
	char time[SFCTL_RFC3339_MAX];
	json_t *object;

	(void)sfctl_id_text(id, text);
	(void)sfctl_id_hex(id, hex);
	if (sight.has_time)
		sfctl_rfc3339_format(sight.unix_ms, time);
	object =
		json_pack("{s:s, s:s, s:s, s:s?, s:o}", "id", text, "format",
			  format_name(id, &sight), "hex", hex, "time", sight.has_time ? time : NULL,
			  "unix_ms", sight.has_time ? json_integer(sight.unix_ms) : json_null());
	if (object && add_parts(object, id, &sight) < 0) {
		json_decref(object);
		return NULL;
	}
	return object;
}
