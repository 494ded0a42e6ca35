/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The table of clients; see view.h.
 */
#include "tools/top/columns.h"
#include "tools/top/text.h"
#include "tools/top/view.h"

#include <string.h>

enum column {
	PID,
	USER,
	STREAM,
	RATE,
	SHARE,
	TRACE,
	IDS,
	AGE,
	COMMAND,
	COLUMNS,
};

static const struct sfctl_top_column columns[COLUMNS] = {
	[PID] = {"PID", 7, 0, 0, true},
	[USER] = {"USER", 8, SFCTL_USER_MAX - 1, 4, false},
	[STREAM] = {"STREAM", 8, SF_SHM_STREAM_NAME_MAX, 5, false},
	[RATE] = {"IDs/s", 7, 0, 1, true},
	[SHARE] = {"SHARE", 6, 0, 3, true},
	[TRACE] = {"BEFORE", 6, SFCTL_TOP_TRACE_LENGTH, 8, false},
	[IDS] = {"IDs", 7, 0, 6, true},
	[AGE] = {"AGE", 7, 0, 7, true},
	[COMMAND] = {"COMMAND", 10, 15, 2, false},
};

static enum column sort_column(enum sfctl_top_sort sort)
{
	static const enum column columns_of[SFCTL_TOP_SORTS] = {
		[SFCTL_TOP_BY_RATE] = RATE,      [SFCTL_TOP_BY_IDS] = IDS,
		[SFCTL_TOP_BY_PID] = PID,        [SFCTL_TOP_BY_USER] = USER,
		[SFCTL_TOP_BY_STREAM] = STREAM,  [SFCTL_TOP_BY_AGE] = AGE,
		[SFCTL_TOP_BY_COMMAND] = COMMAND};

	return columns_of[sort];
}

/** Texts get no more room than the longest needs; one stream needs no name. */
static void fit(const struct sfctl_top_model *model, uint32_t count,
		struct sfctl_top_column fitting[COLUMNS])
{
	size_t user = 0;
	size_t stream = 0;

	memcpy(fitting, columns, sizeof(columns));
	for (uint32_t i = 0; i < count; i++) {
		size_t length = strlen(model->order[i]->user);

		user = length > user ? length : user;
	}
	for (uint32_t i = 0; i < model->stream_count; i++) {
		size_t length = strlen(model->stream[i].stats.stream);

		stream = length > stream ? length : stream;
	}
	fitting[USER].most = (int)user;
	fitting[STREAM].most = (int)stream;
	if (model->stream_count == 1)
		fitting[STREAM].rank = -1;
}

static void put(const struct sfctl_top_row *row, const struct sfctl_top_model *model,
		const struct sfctl_top_client *client)
{
	const struct sfctl_top_stream *stream = &model->stream[client->stream];
	bool is_counted = client->client.ids != SF_CONTROL_NOT_COUNTED;
	double share = stream->rate > 0 ? client->rate / stream->rate : client->rate;
	char text[SFCTL_TOP_TEXT_MAX];

	(void)snprintf(text, sizeof(text), "%u", client->client.pid);
	sfctl_top_row_put(row, PID, SFCTL_TOP_PLAIN, text);
	sfctl_top_row_put(row, USER, SFCTL_TOP_PLAIN, client->user);
	sfctl_top_row_put(row, STREAM, SFCTL_TOP_PLAIN, stream->stats.stream);
	sfctl_top_number(client->rate, text);
	sfctl_top_row_put(row, RATE, SFCTL_TOP_BRIGHT, is_counted ? text : "?");
	sfctl_top_share(share > 1 ? 1 : share, text);
	sfctl_top_row_put(row, SHARE, SFCTL_TOP_PLAIN, is_counted ? text : "?");
	sfctl_top_row_spark(row, TRACE, &client->trace);
	sfctl_top_number((double)client->client.ids, text);
	sfctl_top_row_put(row, IDS, SFCTL_TOP_PLAIN, is_counted ? text : "?");
	sfctl_top_duration((stream->stats.now_unix_ns - client->client.since_unix_ns) / 1000000,
			   text);
	sfctl_top_row_put(row, AGE, SFCTL_TOP_PLAIN, text);
	sfctl_top_row_put(row, COMMAND, SFCTL_TOP_PLAIN, client->client.command);
}

void sfctl_top_view_clients(const struct sfctl_top_scene *scene, const struct sfctl_top_page *page,
			    int row, int rows, uint32_t count)
{
	const struct sfctl_top_model *model = scene->model;
	struct sfctl_top_scroll *scroll = &scene->ui->clients;
	struct sfctl_top_column fitting[COLUMNS];
	struct sfctl_top_row line;

	fit(model, count, fitting);
	sfctl_top_row_init(&line, page, fitting, COLUMNS);
	line.has_utf8 = scene->has_utf8;
	line.row = row;
	sfctl_top_row_heading(&line, (int)sort_column(scene->ui->sort));
	sfctl_top_view_scroll(scroll, page, row, rows - 1, count);
	line.style = model->away_since_ms != 0 ? SFCTL_TOP_PALE : SFCTL_TOP_PLAIN;
	for (uint32_t i = (uint32_t)scroll->offset;
	     i < count && i < (uint32_t)scroll->offset + (uint32_t)(rows - 1); i++) {
		line.row++;
		put(&line, model, model->order[i]);
	}
}
