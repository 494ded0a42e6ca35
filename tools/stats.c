/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Collecting statistics from the daemon, and the JSON form. Main thread only. Trusts no text or
 * count of a reply beyond what control.c has checked.
 */
#include "tools/stats.h"

#include "tools/layout_option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *sfctl_state_word(uint32_t state)
{
	switch (state) {
	case SF_SHM_RUNNING:
		return "running";
	case SF_SHM_WAITING:
		return "waiting";
	case SF_SHM_EXHAUSTED:
		return "exhausted";
	case SF_SHM_STOPPED:
		return "stopped";
	case SF_SHM_HELD:
		return "held";
	case SF_SHM_BEHIND:
		return "behind";
	default:
		return "unknown";
	}
}

void sfctl_command_clean(char *command)
{
	for (; *command; command++) {
		if (*command < ' ' || *command > '~')
			*command = '?';
	}
}

static int out_of_memory(struct sf_why *why)
{
	SFCTL_WHY(why, "out of memory");
	return -ENOMEM;
}

static int clients_add(struct sfctl_stream_stats *stream, const struct sf_control_clients *page,
		       struct sf_why *why)
{
	struct sf_control_client *grown = reallocarray(
		stream->client, (size_t)stream->client_count + page->count, sizeof(*grown));

	if (!grown)
		return out_of_memory(why);
	stream->client = grown;
	memcpy(&grown[stream->client_count], page->client, page->count * sizeof(*grown));
	stream->client_count += page->count;
	return 0;
}

/** Asks page by page. Clients that come and go meanwhile may be missed or seen twice. */
static int clients_init(struct sfctl_stream_stats *stream, int fd, struct sf_why *why)
{
	struct sf_control_clients page;
	int error;

	do {
		error = sfctl_control_clients(fd, stream->stats.stream, stream->client_count, &page,
					      why);
		if (error == 0 && page.count > 0)
			error = clients_add(stream, &page, why);
	} while (error == 0 && page.count > 0 && stream->client_count < page.total);
	for (uint32_t i = 0; i < stream->client_count; i++)
		sfctl_command_clean(stream->client[i].command);
	return error;
}

static int stream_add(struct sfctl_stats *stats, int fd, const char *name, struct sf_why *why)
{
	struct sfctl_stream_stats *stream = reallocarray(
		stats->stream, (size_t)stats->stream_count + 1, sizeof(*stats->stream));
	int error;

	if (!stream)
		return out_of_memory(why);
	stats->stream = stream;
	stream += stats->stream_count;
	*stream = (struct sfctl_stream_stats){0};
	error = sfctl_control_stats(fd, name, stats->stream_count, &stream->stats, why);
	if (error < 0)
		return error;
	stats->stream_count++;
	return clients_init(stream, fd, why);
}

int sfctl_stats_init(struct sfctl_stats *stats, int fd, const char *stream, struct sf_why *why)
{
	int error;

	*stats = (struct sfctl_stats){0};
	do
		error = stream_add(stats, fd, stream, why);
	while (error == 0 && !stream && stats->stream_count < stats->stream[0].stats.stream_count);
	if (error < 0)
		sfctl_stats_deinit(stats);
	return error;
}

void sfctl_stats_deinit(struct sfctl_stats *stats)
{
	for (uint32_t i = 0; i < stats->stream_count; i++)
		free(stats->stream[i].client);
	free(stats->stream);
	*stats = (struct sfctl_stats){0};
}

static json_t *time_json(int64_t unix_ns)
{
	char time[SFCTL_RFC3339_MAX];

	sfctl_rfc3339_format(unix_ns / 1000000, time);
	return json_string(time);
}

static json_t *counters_json(const struct sf_control_stats *stats)
{
	static const char *const names[] = {
#define SF_COUNTER(name, kind, unit, help) #name,
#include "shm/counters.def"
#undef SF_COUNTER
	};
	json_t *object = json_object();

	/* JSON integers are signed here: a gauge below zero comes out right, none reaches 2^63. */
	for (int i = 0; i < SF_COUNTER_COUNT; i++) {
		if (json_object_set_new(object, names[i],
					json_integer((json_int_t)stats->counter[i])) < 0) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

static json_t *nodes_json(const struct sf_control_stats *stats)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < stats->node_count; i++) {
		if (json_array_append_new(array, json_integer(stats->node[i])) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *clients_json(const struct sfctl_stream_stats *stream)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < stream->client_count; i++) {
		const struct sf_control_client *client = &stream->client[i];
		bool is_counted = client->ids != SF_CONTROL_NOT_COUNTED;
		json_t *ids = is_counted ? json_integer((json_int_t)client->ids) : json_null();
		json_t *object =
			json_pack("{s:I, s:I, s:s, s:o, s:o}", "pid", (json_int_t)client->pid,
				  "uid", (json_int_t)client->uid, "command", client->command,
				  "since", time_json(client->since_unix_ns), "ids", ids);

		if (json_array_append_new(array, object) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *layout_json(const struct sf_layout *layout)
{
	char notation[SF_LAYOUT_TEXT_MAX] = "";
	char end[SFCTL_RFC3339_MAX];

	(void)sf_layout_format(layout, notation, sizeof(notation));
	sfctl_rfc3339_format(sf_layout_last_ms(layout), end);
	return json_pack("{s:s?, s:s, s:s}", "name", sf_layout_name(layout), "notation", notation,
			 "end", end);
}

static json_t *stream_json(const struct sfctl_stream_stats *stream)
{
	const struct sf_control_stats *stats = &stream->stats;
	uint64_t out = sfctl_counter(stats, SF_COUNTER_ids_claimed) -
		       sfctl_counter(stats, SF_COUNTER_ids_dropped);
	json_t *object = json_pack(
		"{s:s, s:s, s:s?, s:o, s:o, s:I, s:I, s:I, s:o}", "stream", stats->stream, "state",
		sfctl_state_word(stats->state), "format", sf_format_name(stats->layout.format),
		"layout", layout_json(&stats->layout), "nodes", nodes_json(stats), "ahead_ticks",
		(json_int_t)stats->ahead_ticks, "runway_ticks", (json_int_t)stats->runway_ticks,
		"ids_handed_out", (json_int_t)out, "counters", counters_json(stats));

	if (json_object_set_new(object, "attached_clients", clients_json(stream)) < 0) {
		json_decref(object);
		return NULL;
	}
	return object;
}

json_t *sfctl_stats_json(const struct sfctl_stats *stats)
{
	const struct sf_control_stats *first = &stats->stream[0].stats;
	json_t *streams = json_array();
	json_t *object;

	for (uint32_t i = 0; i < stats->stream_count; i++) {
		if (json_array_append_new(streams, stream_json(&stats->stream[i])) < 0) {
			json_decref(streams);
			return NULL;
		}
	}
	object = json_pack("{s:s, s:I, s:s, s:o, s:o, s:o}", "version", first->version, "pid",
			   (json_int_t)first->pid, "loop", first->loop == 0 ? "io_uring" : "poll",
			   "started", time_json(first->started_unix_ns), "time",
			   time_json(first->now_unix_ns), "streams", streams);
	return object;
}
