/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Judges the streams of a draft: each value, the values of one stream against each other, and the
 * streams against each other. Runs while only one thread exists. Stops at nothing: every problem
 * that can be told without guessing what another one should have been is reported.
 */
#include "daemon/config_draft.h"

#include "shm/pack.h"
#include "shm/why.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Fewer, and the daemon could not wake up twice before the runway ends. */
#define RUNWAY_TICKS_MIN 4
/* A ring holds as many old ticks as published ones, so that a late claimer meets no reused slot. */
#define SLOTS_PER_RUNWAY_TICK 2
#define YEAR_MS (INT64_C(365) * 24 * 3600 * 1000)

/* What judging one stream needs. */
struct judge {
	struct sfd_draft *draft;
	const struct sfd_draft_section *section;
	struct sfd_stream_config *stream;
	bool has_layout;
	bool has_unknown_format; /* then what is legal elsewhere is unknown */
};

static const struct sfd_draft_value *value_of(const struct judge *judge, enum sfd_stream_key key)
{
	return &judge->section->value[key];
}

static void date_text(int64_t unix_ms, char *buffer, size_t size)
{
	const time_t seconds = unix_ms / 1000;
	struct tm date;

	if (gmtime_r(&seconds, &date) == NULL || strftime(buffer, size, "%F", &date) == 0)
		buffer[0] = '\0';
}

static void judge_lifetime(struct judge *judge, int64_t now_ms)
{
	const struct sfd_draft_value *value = value_of(judge, SFD_STREAM_LAYOUT);
	const int64_t last_ms = sf_layout_last_ms(&judge->stream->layout);
	char date[32];

	if (last_ms >= now_ms && last_ms - now_ms >= YEAR_MS)
		return;
	date_text(last_ms, date, sizeof(date));
	if (last_ms < now_ms)
		sfd_draft_report(
			judge->draft, SFD_LOG_ERROR, &value->place,
			"layout \"%s\" has no IDs left, its time field ended on %s: choose "
			"a layout with a later epoch or a wider time field",
			value->text, date);
	else
		sfd_draft_report(judge->draft, SFD_LOG_WARNING, &value->place,
				 "layout \"%s\" has less than a year left, its time field ends on "
				 "%s: plan the move to another one",
				 value->text, date);
}

static bool is_wide(const struct judge *judge)
{
	return judge->stream->layout.format != SF_FORMAT_SNOWFLAKE;
}

/* What a wide format's IDs have no room for. */
static void refuse_key(struct judge *judge, enum sfd_stream_key key, const char *name)
{
	const struct sfd_draft_value *value = value_of(judge, key);

	if (value->text != NULL)
		sfd_draft_report(judge->draft, SFD_LOG_ERROR, &value->place,
				 "%s has no meaning in format %s: leave it out", name,
				 sf_format_name(judge->stream->layout.format));
}

static void judge_format(struct judge *judge)
{
	const struct sfd_draft_value *value = value_of(judge, SFD_STREAM_FORMAT);
	const char *name;

	if (value->text == NULL)
		return;
	for (unsigned i = 0; (name = sf_format_name(i)) != NULL; i++) {
		if (strcmp(name, value->text) != 0)
			continue;
		judge->has_layout = sf_layout_of_format(i, &judge->stream->layout) == 0;
		if (is_wide(judge))
			refuse_key(judge, SFD_STREAM_LAYOUT, "layout");
		return;
	}
	judge->has_unknown_format = true;
	sfd_draft_report(judge->draft, SFD_LOG_ERROR, &value->place,
			 "format \"%s\" is unknown: use snowflake, ulid, uuid7, objectid or hound",
			 value->text);
}

static void judge_layout(struct judge *judge, int64_t now_ms)
{
	const struct sfd_draft_value *value = value_of(judge, SFD_STREAM_LAYOUT);
	struct sf_layout layout;
	struct sf_why why;

	if (is_wide(judge) || judge->has_unknown_format)
		return;

	if (value->text == NULL) {
		sfd_draft_report(judge->draft, SFD_LOG_ERROR, &judge->section->place,
				 "stream \"%s\" has no layout: write layout = twitter, another "
				 "preset, or a notation such as t41 n10 s12",
				 judge->section->name);
		return;
	}
	if (sf_layout_parse(value->text, &layout, &why) < 0) {
		sfd_draft_report(judge->draft, SFD_LOG_ERROR, &value->place, "layout: %s",
				 why.text);
		return;
	}
	if (layout.format != SF_FORMAT_SNOWFLAKE) {
		sfd_draft_report(judge->draft, SFD_LOG_ERROR, &value->place,
				 "layout \"%s\" is a format: write format = %s instead",
				 value->text, sf_format_name(layout.format));
		judge->has_unknown_format = true;
		return;
	}
	judge->stream->layout = layout;
	judge->has_layout = true;
	judge_lifetime(judge, now_ms);
}

static uint32_t largest_node(const struct sf_layout *layout)
{
	return (UINT32_C(1) << sf_layout_node_bits(layout)) - 1;
}

static void judge_missing_machine_id(struct judge *judge)
{
	char range[48] = "that no other host has";

	if (judge->has_layout)
		(void)snprintf(range, sizeof(range), "in [0,%u] that no other host has",
			       largest_node(&judge->stream->layout));
	sfd_draft_report(judge->draft, SFD_LOG_ERROR, &judge->section->place,
			 "stream \"%s\" has no machine id, and there is no default machine id: two "
			 "hosts with the same one make the same IDs; give one %s with %s",
			 judge->section->name, range,
			 judge->section->place.flag != NULL ? "--machine-id" : "machine_id =");
}

static void judge_hound_machine(struct judge *judge)
{
	const struct sfd_draft_value *value = value_of(judge, SFD_STREAM_MACHINE_ID);
	struct sf_why why;

	if (value->text == NULL)
		sfd_draft_report(judge->draft, SFD_LOG_ERROR, &judge->section->place,
				 "stream \"%s\" has no machine id: write machine_id = hardware for "
				 "this host's address, or an address such as 02:42:ac:11:00:02",
				 judge->section->name);
	else if (sfd_machine_parse(value->text, &judge->stream->machine, &why) < 0)
		sfd_draft_report(judge->draft, SFD_LOG_ERROR, &value->place, "machine_id: %s",
				 why.text);
}

static void judge_machine_id(struct judge *judge)
{
	const struct sfd_draft_value *value = value_of(judge, SFD_STREAM_MACHINE_ID);
	struct sfd_stream_config *stream = judge->stream;
	struct sf_why why;

	if (judge->has_unknown_format)
		return;
	if (stream->layout.format == SF_FORMAT_HOUND) {
		judge_hound_machine(judge);
		return;
	}
	if (is_wide(judge)) {
		refuse_key(judge, SFD_STREAM_MACHINE_ID, "machine_id");
		return;
	}
	if (value->text == NULL) {
		judge_missing_machine_id(judge);
		return;
	}
	if (!judge->has_layout)
		return; /* what is legal is unknown */
	if (sfd_nodes_parse(value->text, sf_layout_node_bits(&stream->layout), stream->node,
			    &stream->node_count, &why) < 0) {
		sfd_draft_report(judge->draft, SFD_LOG_ERROR, &value->place, "machine_id: %s",
				 why.text);
		return;
	}
	if (stream->node_count > 1 && sf_shm_node_is_split(&stream->layout))
		sfd_draft_report(judge->draft, SFD_LOG_ERROR, &value->place,
				 "machine_id: several ids do not go with layout \"%s\", whose node "
				 "bits lie on both sides of the sequence: give one id or move the "
				 "worker and process fields together",
				 value_of(judge, SFD_STREAM_LAYOUT)->text);
}

static bool read_ms(struct judge *judge, enum sfd_stream_key key, const char *name,
		    const uint32_t range[2], uint32_t *ret_ms)
{
	const struct sfd_draft_value *value = value_of(judge, key);
	const char *end = sfd_read_number(value->text, range[1], ret_ms);

	if (end != NULL && *end == '\0' && *ret_ms >= range[0])
		return true;
	sfd_draft_report(judge->draft, SFD_LOG_ERROR, &value->place,
			 "%s \"%s\" is not a whole number of milliseconds in [%u,%u]", name,
			 value->text, range[0], range[1]);
	return false;
}

/* The default grows with the tick, so that a layout of long ticks needs no runway_ms. */
static uint32_t default_runway_ms(const struct judge *judge)
{
	const uint32_t least_ms = RUNWAY_TICKS_MIN * judge->stream->layout.tick_ms;

	return judge->has_layout && least_ms > SFD_RUNWAY_MS_DEFAULT ? least_ms
								     : SFD_RUNWAY_MS_DEFAULT;
}

static void judge_runway_ticks(struct judge *judge)
{
	const struct sfd_draft_place *place = &value_of(judge, SFD_STREAM_RUNWAY_MS)->place;
	const uint32_t runway_ms = judge->stream->runway_ms;
	const uint32_t tick_ms = judge->stream->layout.tick_ms;
	const uint32_t ticks_max = SF_SHM_SLOTS_MAX / SLOTS_PER_RUNWAY_TICK;

	if (runway_ms / tick_ms < RUNWAY_TICKS_MIN)
		sfd_draft_report(
			judge->draft, SFD_LOG_ERROR, place,
			"runway_ms %u is less than %d ticks of %u ms: set it to %u or more",
			runway_ms, RUNWAY_TICKS_MIN, tick_ms, RUNWAY_TICKS_MIN * tick_ms);
	else if (runway_ms / tick_ms + (runway_ms % tick_ms != 0) > ticks_max)
		sfd_draft_report(judge->draft, SFD_LOG_ERROR, place,
				 "runway_ms %u needs more than the %u slots that a ring may have: "
				 "set it to %u or less",
				 runway_ms, SF_SHM_SLOTS_MAX, ticks_max * tick_ms);
}

static void judge_times(struct judge *judge)
{
	static const uint32_t ahead_range[2] = {0, SFD_AHEAD_MS_MAX};
	static const uint32_t runway_range[2] = {SFD_RUNWAY_MS_MIN, SFD_RUNWAY_MS_MAX};
	struct sfd_stream_config *stream = judge->stream;
	const struct sfd_draft_value *ahead = value_of(judge, SFD_STREAM_AHEAD_MS);
	const struct sfd_draft_value *runway = value_of(judge, SFD_STREAM_RUNWAY_MS);
	bool is_ahead_good = true;
	bool is_runway_good = true;

	stream->runway_ms = default_runway_ms(judge);
	if (ahead->text != NULL)
		is_ahead_good = read_ms(judge, SFD_STREAM_AHEAD_MS, "ahead_ms", ahead_range,
					&stream->ahead_ms);
	if (runway->text != NULL)
		is_runway_good = read_ms(judge, SFD_STREAM_RUNWAY_MS, "runway_ms", runway_range,
					 &stream->runway_ms);
	if (is_runway_good && judge->has_layout)
		judge_runway_ticks(judge);
	/* Borrowed ticks must be published ones, and published some time before they are needed. */
	if (is_ahead_good && stream->ahead_ms > 0 && stream->ahead_ms < stream->layout.tick_ms)
		sfd_draft_report(judge->draft, SFD_LOG_ERROR,
				 &value_of(judge, SFD_STREAM_AHEAD_MS)->place,
				 "ahead_ms %u is less than a tick of %u ms: give 0 or whole ticks",
				 stream->ahead_ms, stream->layout.tick_ms);
	if (is_ahead_good && is_runway_good && stream->ahead_ms >= (stream->runway_ms + 1) / 2)
		sfd_draft_report(judge->draft, SFD_LOG_ERROR, &ahead->place,
				 "ahead_ms %u must be smaller than half of runway_ms, which is %u: "
				 "lower the one or raise the other",
				 stream->ahead_ms, stream->runway_ms);
}

static void judge_clock_backward(struct judge *judge)
{
	static const char *const names[] = {
		[SFD_CLOCK_SLEW] = "slew",
		[SFD_CLOCK_WAIT] = "wait",
		[SFD_CLOCK_REFUSE] = "refuse",
		[SFD_CLOCK_AHEAD] = "ahead",
	};
	const struct sfd_draft_value *value = value_of(judge, SFD_STREAM_CLOCK_BACKWARD);

	if (value->text == NULL)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(value->text, names[i]) == 0) {
			judge->stream->clock_backward = (enum sfd_clock_policy)i;
			return;
		}
	}
	sfd_draft_report(judge->draft, SFD_LOG_ERROR, &value->place,
			 "clock_backward \"%s\" is unknown: use slew, wait, refuse or ahead",
			 value->text);
}

static void judge_sequence_start(struct judge *judge)
{
	const struct sfd_draft_value *value = value_of(judge, SFD_STREAM_SEQUENCE_START);

	if (is_wide(judge)) {
		refuse_key(judge, SFD_STREAM_SEQUENCE_START, "sequence_start");
		return;
	}
	if (value->text == NULL || strcmp(value->text, "zero") == 0)
		return;
	judge->stream->sequence_spread = true;
	if (strcmp(value->text, "spread") != 0)
		sfd_draft_report(judge->draft, SFD_LOG_ERROR, &value->place,
				 "sequence_start \"%s\" is unknown: use zero or spread",
				 value->text);
}

static void judge_allow(struct judge *judge)
{
	const struct sfd_draft_value *value = value_of(judge, SFD_STREAM_ALLOW);
	struct sf_why why;
	int r;

	if (value->text == NULL)
		return;
	r = sfd_access_parse(value->text, &judge->stream->access, &why);
	if (r == -ENOMEM)
		judge->draft->error = r;
	else if (r < 0)
		sfd_draft_report(judge->draft, SFD_LOG_ERROR, &value->place, "allow: %s", why.text);
}

void sfd_stream_config_fill(struct sfd_draft *draft, const struct sfd_draft_section *section,
			    int64_t now_ms, struct sfd_stream_config *stream)
{
	struct judge judge = {.draft = draft, .section = section, .stream = stream};

	memcpy(stream->name, section->name, sizeof(stream->name));
	judge_format(&judge);
	judge_layout(&judge, now_ms);
	judge_machine_id(&judge);
	judge_times(&judge);
	judge_clock_backward(&judge);
	judge_sequence_start(&judge);
	judge_allow(&judge);
}

/* ---- between streams ---- */

/* Both lists ascend. */
static bool has_common_node(const struct sfd_stream_config *a, const struct sfd_stream_config *b,
			    uint32_t *ret_node)
{
	uint32_t i = 0;
	uint32_t j = 0;

	while (i < a->node_count && j < b->node_count) {
		if (a->node[i] == b->node[j]) {
			*ret_node = a->node[i];
			return true;
		}
		if (a->node[i] < b->node[j])
			i++;
		else
			j++;
	}
	return false;
}

static bool has_common_machine(const struct sfd_stream_config *a, const struct sfd_stream_config *b)
{
	return a->layout.format == SF_FORMAT_HOUND && b->layout.format == SF_FORMAT_HOUND &&
	       a->machine == b->machine;
}

void sfd_stream_config_compare(struct sfd_draft *draft, const struct sfd_stream_config *stream,
			       size_t count)
{
	uint32_t node;

	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (has_common_machine(&stream[j], &stream[i]))
				sfd_draft_report(
					draft, SFD_LOG_ERROR,
					&draft->stream[i].value[SFD_STREAM_MACHINE_ID].place,
					"streams \"%s\" and \"%s\" have the same machine id of "
					"format hound: give each one of its own",
					stream[j].name, stream[i].name);
			if (!has_common_node(&stream[j], &stream[i], &node))
				continue;
			sfd_draft_report(draft, SFD_LOG_ERROR,
					 &draft->stream[i].value[SFD_STREAM_MACHINE_ID].place,
					 "machine id %u is in stream \"%s\" and in stream \"%s\": "
					 "give each stream ids of its own",
					 node, stream[j].name, stream[i].name);
		}
	}
}
