/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The table of streams; see view.h.
 */
#include "tools/top/columns.h"
#include "tools/top/text.h"
#include "tools/top/view.h"

#include <inttypes.h>
#include <string.h>

/* Names are whole up to here, if all others have room. */
#define NAME_WIDTH 14

enum column {
	STREAM,
	STATE,
	RATE,
	TRACE,
	CAPACITY,
	USED,
	RUNWAY,
	BEAT,
	OFFSET,
	LATEST,
	WAITS,
	CLIENTS,
	COLUMNS,
};

static const struct sfctl_top_column columns[COLUMNS] = {
	[STREAM] = {"STREAM", 8, SF_SHM_STREAM_NAME_MAX, 0, false},
	[STATE] = {"STATE", 9, 0, 3, false},
	[RATE] = {"IDs/s", 7, 0, 1, true},
	[TRACE] = {"BEFORE", 14, SFCTL_TOP_TRACE_LENGTH, 5, false},
	[CAPACITY] = {"CAPACITY", 8, 0, 6, true},
	[USED] = {"USED", 6, 0, 2, true},
	[RUNWAY] = {"RUNWAY", 6, 0, 4, true},
	[BEAT] = {"BEATS/s", 7, 0, 7, true},
	[OFFSET] = {"TIME", 8, 0, 8, true},
	[LATEST] = {"LATEST", 8, 0, 10, true},
	[WAITS] = {"WAITS/s", 7, 0, 9, true},
	[CLIENTS] = {"CLIENTS", 7, 0, 11, true},
};

static int64_t runway_full_ms(const struct sf_control_stats *stats)
{
	return (int64_t)stats->runway_ticks * stats->layout.tick_ms;
}

static enum sfctl_top_style state_style(uint32_t state)
{
	switch (state) {
	case SF_SHM_RUNNING:
		return SFCTL_TOP_GOOD;
	case SF_SHM_WAITING:
	case SF_SHM_BEHIND:
		return SFCTL_TOP_WARNING;
	default:
		return SFCTL_TOP_BAD;
	}
}

/** What is used up to a part is no worry; past another it is. */
static enum sfctl_top_style used_style(double used)
{
	if (used >= 0.9)
		return SFCTL_TOP_BAD;
	return used >= 0.7 ? SFCTL_TOP_WARNING : SFCTL_TOP_PLAIN;
}

static enum sfctl_top_style runway_style(const struct sf_control_stats *stats)
{
	int64_t ms = (int64_t)sfctl_counter(stats, SF_COUNTER_runway_ms);

	if (ms == 0)
		return SFCTL_TOP_BAD;
	return ms < runway_full_ms(stats) / 2 ? SFCTL_TOP_WARNING : SFCTL_TOP_PLAIN;
}

static void put_state(const struct sfctl_top_row *row, const struct sfctl_top_stream *stream)
{
	const struct sf_control_stats *stats = &stream->stats;
	bool is_late = sfctl_counter(stats, SF_COUNTER_clock_behind) != 0;
	char text[SFCTL_TOP_TEXT_MAX];

	sfctl_top_row_put(row, STREAM, SFCTL_TOP_PLAIN, stats->stream);
	sfctl_top_row_put(row, STATE, state_style(stats->state), sfctl_state_word(stats->state));
	sfctl_top_duration((int64_t)sfctl_counter(stats, SF_COUNTER_runway_ms), text);
	sfctl_top_row_put(row, RUNWAY, runway_style(stats), text);
	sfctl_top_offset((int64_t)sfctl_counter(stats, SF_COUNTER_wall_offset_us), text);
	sfctl_top_row_put(row, OFFSET, is_late ? SFCTL_TOP_BAD : SFCTL_TOP_PLAIN, text);
	sfctl_top_number(stream->beats_rate, text);
	sfctl_top_row_put(row, BEAT, SFCTL_TOP_PLAIN,
			  sfctl_counter(stats, SF_COUNTER_beating) ? text : "idle");
	sfctl_top_offset((int64_t)sfctl_counter(stats, SF_COUNTER_beat_late_max_us), text);
	sfctl_top_row_put(row, LATEST, SFCTL_TOP_PLAIN, text[0] == '+' ? text + 1 : text);
}

static void put_rates(const struct sfctl_top_row *row, const struct sfctl_top_stream *stream)
{
	const struct sf_control_stats *stats = &stream->stats;
	double capacity = (double)sfctl_counter(stats, SF_COUNTER_capacity_per_second);
	double used = capacity > 0 ? stream->claimed_rate / capacity : SFCTL_TOP_UNKNOWN;
	char text[SFCTL_TOP_TEXT_MAX];

	sfctl_top_number(stream->rate, text);
	sfctl_top_row_put(row, RATE, SFCTL_TOP_BRIGHT, text);
	sfctl_top_row_spark(row, TRACE, &stream->trace);
	sfctl_top_number(capacity, text);
	sfctl_top_row_put(row, CAPACITY, SFCTL_TOP_PLAIN, text);
	sfctl_top_share(used, text);
	sfctl_top_row_put(row, USED, used_style(used), text);
	sfctl_top_number(stream->waits_rate, text);
	sfctl_top_row_put(row, WAITS, SFCTL_TOP_PLAIN, text);
	(void)snprintf(text, sizeof(text), "%" PRIu64, sfctl_counter(stats, SF_COUNTER_clients));
	sfctl_top_row_put(row, CLIENTS, SFCTL_TOP_PLAIN, text);
}

/** Names get no more room than the longest needs. */
static int longest_name(const struct sfctl_top_model *model)
{
	int longest = columns[STREAM].width;

	for (uint32_t i = 0; i < model->stream_count; i++) {
		int length = (int)strlen(model->stream[i].stats.stream);

		longest = length > longest ? length : longest;
	}
	return longest;
}

void sfctl_top_view_streams(const struct sfctl_top_scene *scene, const struct sfctl_top_page *page,
			    int row, int rows)
{
	const struct sfctl_top_model *model = scene->model;
	struct sfctl_top_scroll *scroll = &scene->ui->streams;
	struct sfctl_top_column fitting[COLUMNS];
	struct sfctl_top_row line;

	memcpy(fitting, columns, sizeof(fitting));
	fitting[STREAM].most = longest_name(model);
	if (fitting[STREAM].most < NAME_WIDTH)
		fitting[STREAM].width = fitting[STREAM].most;
	else
		fitting[STREAM].width = NAME_WIDTH;
	sfctl_top_row_init(&line, page, fitting, COLUMNS);
	line.has_utf8 = scene->has_utf8;
	line.row = row;
	sfctl_top_row_heading(&line, -1);
	sfctl_top_view_scroll(scroll, page, row, rows - 1, model->stream_count);
	line.style = model->away_since_ms != 0 ? SFCTL_TOP_PALE : SFCTL_TOP_PLAIN;
	for (uint32_t i = (uint32_t)scroll->offset;
	     i < model->stream_count && i < (uint32_t)scroll->offset + (uint32_t)(rows - 1); i++) {
		line.row++;
		put_state(&line, &model->stream[i]);
		put_rates(&line, &model->stream[i]);
	}
}
