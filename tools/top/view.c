/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The page of sfctl top; see view.h. Here the head and where the tables go.
 */
#include "tools/top/view.h"

#include "tools/clock_text.h"
#include "tools/top/order.h"
#include "tools/top/text.h"

#include "shm/words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Rows: the title, two of summary, and the line for messages. */
#define SUMMARY 1
#define SUMMARY_ROWS 2
#define MESSAGE 3
#define HEAD_ROWS 4
/* For so many looks one is told that sfd is back. */
#define NEWS_LOOKS 5
/* Answers that take longer are missed. */
#define AWAITED_MS 1500
#define LINE_MAX 512

static void title(const struct sfctl_top_scene *scene, const struct sfctl_top_page *page)
{
	const struct sfctl_top_model *model = scene->model;
	const struct sf_control_stats *first = &model->stream[0].stats;
	bool is_beating = false;
	char clock[SFCTL_TOP_TEXT_MAX];
	char up[SF_WORDS_MAX];
	char line[LINE_MAX];

	for (uint32_t i = 0; i < model->stream_count; i++)
		is_beating |= sfctl_counter(&model->stream[i].stats, SF_COUNTER_beating) != 0;
	sfctl_top_clock(scene->unix_ms, clock);
	sf_duration_words((int64_t)sfctl_counter(first, SF_COUNTER_uptime_ms), up);
	(void)snprintf(line, sizeof(line), "sfctl top - %s  sfd %s  pid %u  up %s  %s  beat: %s",
		       clock, first->version, first->pid, up,
		       first->loop == 0 ? "io_uring" : "poll", is_beating ? "beating" : "idle");
	(void)sfctl_top_page_put(page, 0, 0,
				 model->away_since_ms ? SFCTL_TOP_PALE : SFCTL_TOP_BRIGHT, line);
}

/** "all running", or how many are not. */
static int states(const struct sfctl_top_model *model, char *text, size_t size)
{
	uint32_t others = 0;

	for (uint32_t i = 0; i < model->stream_count; i++)
		others += model->stream[i].stats.state != SF_SHM_RUNNING;
	if (others == 0)
		return snprintf(text, size, "all running");
	return snprintf(text, size, "%u not running", others);
}

static void totals(const struct sfctl_top_scene *scene, const struct sfctl_top_page *page)
{
	const struct sfctl_top_model *model = scene->model;
	const struct sfctl_top_ui *ui = scene->ui;
	double rate = 0;
	char number[SFCTL_TOP_TEXT_MAX];
	char delay[SFCTL_TOP_TEXT_MAX];
	char state[SFCTL_TOP_TEXT_MAX];
	char line[LINE_MAX];

	for (uint32_t i = 0; i < model->stream_count; i++)
		rate += model->stream[i].rate;
	(void)states(model, state, sizeof(state));
	sfctl_top_number(rate, number);
	sfctl_top_delay(ui->delay_ms, delay);
	(void)snprintf(line, sizeof(line),
		       "Streams: %u, %s  Clients: %u  IDs/s: %s  every %ss  by %s%s%s%s%s%s%s",
		       model->stream_count, state, model->client_count, number, delay,
		       sfctl_top_sort_word(ui->sort), ui->is_reversed ? " reversed" : "",
		       ui->hides_idle ? "  not idle" : "", ui->user[0] ? "  user " : "", ui->user,
		       ui->filter[0] ? "  /" : "", ui->filter);
	(void)sfctl_top_page_put(page, SUMMARY, 0, SFCTL_TOP_PLAIN, line);
}

/** The stream whose time is furthest from the wall's, one that waits for the wall before others. */
static const struct sf_control_stats *furthest(const struct sfctl_top_model *model)
{
	const struct sf_control_stats *found = &model->stream[0].stats;

	for (uint32_t i = 1; i < model->stream_count; i++) {
		const struct sf_control_stats *stats = &model->stream[i].stats;
		bool is_behind = sfctl_clock_meanwhile(stats) != NULL;
		int64_t us = (int64_t)sfctl_counter(stats, SF_COUNTER_wall_offset_us);
		int64_t most = (int64_t)sfctl_counter(found, SF_COUNTER_wall_offset_us);

		if (is_behind != (sfctl_clock_meanwhile(found) != NULL)) {
			if (is_behind)
				found = stats;
		} else if ((us < 0 ? -(uint64_t)us : (uint64_t)us) >
			   (most < 0 ? -(uint64_t)most : (uint64_t)most)) {
			found = stats;
		}
	}
	return found;
}

/** The kernel's clock, and the time in the IDs. */
static void clocks(const struct sfctl_top_scene *scene, const struct sfctl_top_page *page)
{
	const struct sfctl_top_model *model = scene->model;
	const struct sf_control_stats *stats = furthest(model);
	const char *meanwhile = sfctl_clock_meanwhile(stats);
	bool is_synced = sfctl_counter(stats, SF_COUNTER_clock_sync) == 1;
	enum sfctl_top_style style = is_synced ? SFCTL_TOP_PLAIN : SFCTL_TOP_WARNING;
	char text[SFCTL_CLOCK_TEXT_MAX];
	char line[LINE_MAX];
	char *estimate;
	int column;

	sfctl_clock_sync(stats, text);
	estimate = strchr(text, ','); /* one bound is enough here */
	if (estimate && is_synced && strchr(estimate + 1, ','))
		*strchr(estimate + 1, ',') = '\0';
	column = sfctl_top_page_put(page, SUMMARY + 1, 0, SFCTL_TOP_PLAIN, "Clock: ");
	column = sfctl_top_page_put(page, SUMMARY + 1, column, style, text);
	if (meanwhile) {
		sfctl_clock_end(stats, text);
		text[strcspn(text, ",")] = '\0'; /* the date is in sfctl stats */
		(void)snprintf(line, sizeof(line), "; %s: %s, %s it ends", stats->stream, meanwhile,
			       text);
		(void)sfctl_top_page_put(page, SUMMARY + 1, column, SFCTL_TOP_BAD, line);
		return;
	}
	sfctl_clock_offset(stats, text);
	if (model->stream_count > 1)
		(void)snprintf(line, sizeof(line), "; in IDs of %s: %s", stats->stream, text);
	else
		(void)snprintf(line, sizeof(line), "; in IDs: %s", text);
	(void)sfctl_top_page_put(page, SUMMARY + 1, column, SFCTL_TOP_PLAIN, line);
}

/** In place of the summary, which is no longer true. Broken between words. */
static void absence(const struct sfctl_top_scene *scene, const struct sfctl_top_page *page)
{
	const struct sfctl_top_model *model = scene->model;
	char since[SFCTL_TOP_TEXT_MAX];
	char away[SFCTL_TOP_TEXT_MAX];
	char line[LINE_MAX];
	const char *rest = line;

	sfctl_top_clock(model->away_since_ms, since);
	sfctl_top_duration(scene->unix_ms - model->away_since_ms, away);
	(void)snprintf(line, sizeof(line), "sfd is away since %s (%s): %s", since, away,
		       model->why.text);
	for (int row = SUMMARY; row < SUMMARY + SUMMARY_ROWS; row++) {
		int length = (int)strlen(rest);

		if (length > page->width)
			for (length = page->width; length > 0 && rest[length] != ' '; length--)
				;
		if (length == 0)
			length = page->width;
		(void)snprintf(line + sizeof(line) / 2, sizeof(line) / 2, "%.*s", length, rest);
		(void)sfctl_top_page_put(page, row, 0, SFCTL_TOP_BAD, line + sizeof(line) / 2);
		rest += length + (rest[length] == ' ');
	}
}

/** Clients of an older library, which do not count: what is left for them. */
static void uncounted(const struct sfctl_top_model *model, char *text, size_t size)
{
	char number[SFCTL_TOP_TEXT_MAX];
	uint32_t clients = 0;
	double rate = 0;

	for (uint32_t i = 0; i < model->stream_count; i++) {
		const struct sfctl_top_stream *stream = &model->stream[i];

		if (stream->uncounted == 0)
			continue;
		clients += stream->uncounted;
		if (stream->rate > stream->counted_rate)
			rate += stream->rate - stream->counted_rate;
	}
	sfctl_top_number(rate, number);
	if (clients > 0)
		(void)snprintf(text, size,
			       "Not counted (older libsfclient): %u; the others leave %s IDs/s",
			       clients, number);
}

static void prompt(const struct sfctl_top_ui *ui, char *text, size_t size)
{
	char delay[SFCTL_TOP_TEXT_MAX];

	sfctl_top_delay(ui->delay_ms, delay);
	if (ui->prompt == SFCTL_TOP_ASKS_DELAY)
		(void)snprintf(text, size, "Seconds between two looks, instead of %s: %s_", delay,
			       ui->typed);
	else
		(void)snprintf(text, size, "%s (nothing: all): %s_",
			       ui->prompt == SFCTL_TOP_ASKS_USER
				       ? "Only clients of user"
				       : "Only where command, user or stream has",
			       ui->typed);
}

/** The line for messages: the most pressing one. */
static void message(const struct sfctl_top_scene *scene, const struct sfctl_top_page *page)
{
	const struct sfctl_top_model *model = scene->model;
	const struct sfctl_top_ui *ui = scene->ui;
	enum sfctl_top_style style = SFCTL_TOP_BRIGHT;
	char duration[SFCTL_TOP_TEXT_MAX];
	char text[LINE_MAX] = "";

	if (ui->prompt != SFCTL_TOP_ASKS_NOTHING) {
		prompt(ui, text, sizeof(text));
	} else if (scene->awaited_ms >= AWAITED_MS) {
		style = SFCTL_TOP_WARNING;
		sfctl_top_duration(scene->awaited_ms, duration);
		(void)snprintf(text, sizeof(text), "sfd owes an answer for %s", duration);
	} else if (ui->message[0] != '\0') {
		(void)snprintf(text, sizeof(text), "%s", ui->message);
	} else if (model->away_since_ms != 0) {
		style = SFCTL_TOP_PALE;
		(void)snprintf(text, sizeof(text), "the last figures:");
	} else if (model->away_ms != 0 && model->looks_since < NEWS_LOOKS) {
		style = SFCTL_TOP_GOOD;
		sfctl_top_duration(model->away_ms, duration);
		(void)snprintf(text, sizeof(text), "sfd is back, after %s", duration);
	} else {
		style = SFCTL_TOP_PALE;
		uncounted(model, text, sizeof(text));
	}
	(void)sfctl_top_page_put(page, MESSAGE, 0, style, text);
}

void sfctl_top_view_scroll(struct sfctl_top_scroll *scroll, const struct sfctl_top_page *page,
			   int heading, int rows, uint32_t count)
{
	int64_t most = (int64_t)count - rows;
	char part[64];

	scroll->rows = rows;
	if (scroll->offset > most)
		scroll->offset = most;
	if (scroll->offset < 0)
		scroll->offset = 0;
	if (most <= 0)
		return;
	(void)snprintf(part, sizeof(part), " %" PRId64 "-%" PRId64 "/%u", scroll->offset + 1,
		       scroll->offset + rows, count);
	(void)sfctl_top_page_put(page, heading, page->width - (int)strlen(part), SFCTL_TOP_HEADING,
				 part);
}

static void help(const struct sfctl_top_page *page)
{
	for (int row = 0; sfctl_top_help[row]; row++)
		(void)sfctl_top_page_put(page, row, 0, SFCTL_TOP_PLAIN, sfctl_top_help[row]);
}

static void too_small(const struct sfctl_top_page *page)
{
	char line[LINE_MAX];

	(void)snprintf(line, sizeof(line), "%dx%d: sfctl top needs %dx%d", page->width,
		       page->height, SFCTL_TOP_WIDTH_MIN, SFCTL_TOP_HEIGHT_MIN);
	(void)sfctl_top_page_put(page, 0, 0, SFCTL_TOP_PLAIN, line);
}

/** The streams get a third of what there is, and what the clients leave. */
static int rows_for_streams(const struct sfctl_top_model *model, int rows, uint32_t clients)
{
	int64_t most = rows / 3 > 1 ? rows / 3 : 1;

	if (rows - (int64_t)clients > most)
		most = rows - (int64_t)clients;
	return (int64_t)model->stream_count < most ? (int)model->stream_count : (int)most;
}

void sfctl_top_view(const struct sfctl_top_scene *scene, const struct sfctl_top_page *page)
{
	const struct sfctl_top_model *model = scene->model;
	uint32_t clients;
	int blank;
	int rows;
	int streams;

	if (page->width < SFCTL_TOP_WIDTH_MIN || page->height < SFCTL_TOP_HEIGHT_MIN) {
		too_small(page);
		return;
	}
	if (scene->ui->shows_help) {
		help(page);
		return;
	}
	clients = sfctl_top_order(model, scene->ui);
	title(scene, page);
	if (model->away_since_ms != 0) {
		absence(scene, page);
	} else {
		totals(scene, page);
		clocks(scene, page);
	}
	message(scene, page);
	blank = page->height > SFCTL_TOP_HEIGHT_MIN + 2;
	rows = page->height - HEAD_ROWS - 2 - blank;
	streams = rows_for_streams(model, rows, clients);
	sfctl_top_view_streams(scene, page, HEAD_ROWS, 1 + streams);
	sfctl_top_view_clients(scene, page, HEAD_ROWS + 1 + streams + blank, 1 + rows - streams,
			       clients);
}

int sfctl_top_view_height(const struct sfctl_top_scene *scene)
{
	uint32_t clients = sfctl_top_order(scene->model, scene->ui);
	int height = HEAD_ROWS + 3 + (int)scene->model->stream_count + (int)clients;

	return height > SFCTL_TOP_HEIGHT_MIN + 2 ? height : SFCTL_TOP_HEIGHT_MIN + 3;
}
