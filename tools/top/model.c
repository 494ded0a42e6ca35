/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What sfctl top knows; see model.h.
 */
#include "tools/top/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_SECOND 1e9

/** A model in the making, and what it is made of. */
struct change {
	const struct sfctl_top_model *old;
	const struct sfctl_top_look *look;
	struct sfctl_top_model made;
	double seconds; /* since the last look that was answered; 0: there was none */
};

/** Of a count that never goes back by itself. */
static double rate_of(const struct change *change, uint64_t now, uint64_t before)
{
	if (change->seconds <= 0 || now < before)
		return SFCTL_TOP_UNKNOWN;
	return (double)(now - before) / change->seconds;
}

/** Clients write what was dropped: it may be anything. */
uint64_t sfctl_top_given(const struct sf_control_stats *stats)
{
	uint64_t claimed = sfctl_counter(stats, SF_COUNTER_ids_claimed);
	uint64_t dropped = sfctl_counter(stats, SF_COUNTER_ids_dropped);

	return dropped < claimed ? claimed - dropped : 0;
}

static const struct sfctl_top_stream *find_stream(const struct sfctl_top_model *model,
						  const char *name)
{
	for (uint32_t i = 0; i < model->stream_count; i++)
		if (strcmp(model->stream[i].stats.stream, name) == 0)
			return &model->stream[i];
	return NULL;
}

static double counter_rate(const struct change *change, const struct sf_control_stats *now,
			   const struct sf_control_stats *before, enum sf_counter counter)
{
	return rate_of(change, sfctl_counter(now, counter), sfctl_counter(before, counter));
}

static void compare_streams(const struct change *change, struct sfctl_top_stream *stream,
			    const struct sfctl_top_stream *old)
{
	uint64_t given = sfctl_top_given(&stream->stats);
	uint64_t before = sfctl_top_given(&old->stats);

	stream->trace = old->trace;
	stream->claimed_rate =
		counter_rate(change, &stream->stats, &old->stats, SF_COUNTER_ids_claimed);
	stream->waits_rate = counter_rate(change, &stream->stats, &old->stats, SF_COUNTER_waits);
	stream->beats_rate = counter_rate(change, &stream->stats, &old->stats, SF_COUNTER_beats);
	/* What was dropped meanwhile may have been claimed before. */
	stream->rate = given > before ? rate_of(change, given, before) : 0;
}

static void make_stream(const struct change *change, struct sfctl_top_stream *stream,
			const struct sf_control_stats *now)
{
	const struct sfctl_top_stream *old = find_stream(change->old, now->stream);

	stream->stats = *now;
	stream->rate = SFCTL_TOP_UNKNOWN;
	stream->claimed_rate = SFCTL_TOP_UNKNOWN;
	stream->waits_rate = SFCTL_TOP_UNKNOWN;
	stream->beats_rate = SFCTL_TOP_UNKNOWN;
	if (old)
		compare_streams(change, stream, old);
	if (stream->claimed_rate < 0) { /* sfd's own, over its last second */
		stream->claimed_rate = (double)sfctl_counter(now, SF_COUNTER_rate_1s);
		stream->rate = stream->claimed_rate;
	}
	sfctl_top_trace_add(&stream->trace, stream->rate);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/** By stream, process, and time of attaching. */
static int compare_clients(const void *a_void, const void *b_void)
{
	const struct sfctl_top_client *a = a_void;
	const struct sfctl_top_client *b = b_void;
	int order = compare_numbers(a->stream, b->stream);

	if (order == 0)
		order = compare_numbers(a->client.pid, b->client.pid);
	if (order == 0)
		order = compare_numbers((uint64_t)a->client.since_unix_ns,
					(uint64_t)b->client.since_unix_ns);
	return order;
}

/** The streams are those of the last look, in the same order: so an index means the same. */
static bool has_same_streams(const struct change *change)
{
	if (change->old->stream_count != change->made.stream_count)
		return false;
	for (uint32_t i = 0; i < change->made.stream_count; i++)
		if (strcmp(change->old->stream[i].stats.stream,
			   change->made.stream[i].stats.stream) != 0)
			return false;
	return true;
}

static void name_user(const struct sfctl_top_look *look, struct sfctl_top_client *client)
{
	for (size_t i = 0; i < look->user_count; i++)
		if (look->user[i].uid == client->client.uid) {
			memcpy(client->user, look->user[i].name, sizeof(client->user));
			return;
		}
	(void)snprintf(client->user, sizeof(client->user), "%u", client->client.uid);
}

static bool is_counted(const struct sfctl_top_client *client)
{
	return client->client.ids != SF_CONTROL_NOT_COUNTED;
}

/** A client of the last look. What it gave back since may be more than what it took. */
static void go_on(const struct change *change, struct sfctl_top_client *client,
		  struct sfctl_top_client *old)
{
	old->is_followed = true;
	client->trace = old->trace;
	if (!is_counted(client) || !is_counted(old))
		return;
	client->rate = client->client.ids > old->client.ids
			       ? rate_of(change, client->client.ids, old->client.ids)
			       : 0;
}

/** First of the old clients that is not before the place of such a one. */
static uint32_t lower_bound(const struct sfctl_top_model *model,
			    const struct sfctl_top_client *client)
{
	uint32_t low = 0;
	uint32_t high = model->client_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (compare_clients(&model->client[middle], client) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/** The same process was attached until now: it has moved to another sfd, or its next ring. */
static struct sfctl_top_client *find_before(const struct sfctl_top_model *model,
					    const struct sfctl_top_client *client)
{
	struct sfctl_top_client first = {.stream = client->stream,
					 .client = {.pid = client->client.pid}};

	for (uint32_t i = lower_bound(model, &first); i < model->client_count; i++) {
		struct sfctl_top_client *old = &model->client[i];

		if (old->stream != client->stream || old->client.pid != client->client.pid)
			return NULL;
		if (!old->is_followed && old->client.uid == client->client.uid &&
		    strcmp(old->client.command, client->client.command) == 0)
			return old;
	}
	return NULL;
}

/** It attached since the last look, so what it has it got since then. */
static void begin(const struct change *change, struct sfctl_top_client *client)
{
	/* Processes of other pid namespaces all have the number 0. */
	struct sfctl_top_client *before =
		client->client.pid != 0 ? find_before(change->old, client) : NULL;

	if (before) {
		before->is_followed = true;
		client->trace = before->trace;
	}
	if (is_counted(client))
		client->rate = rate_of(change, client->client.ids, 0);
}

/** Finds each client among those of the last look: itself, or else the one that it was. */
static void follow_clients(struct change *change)
{
	struct sfctl_top_model *made = &change->made;
	const struct sfctl_top_model *old = change->old;

	for (uint32_t i = 0; i < old->client_count; i++)
		old->client[i].is_followed = false;
	for (uint32_t i = 0; i < made->client_count; i++) {
		uint32_t at = lower_bound(old, &made->client[i]);

		if (at < old->client_count &&
		    compare_clients(&old->client[at], &made->client[i]) == 0) {
			made->client[i].is_followed = true; /* for the moment: it has been found */
			go_on(change, &made->client[i], &old->client[at]);
		}
	}
	for (uint32_t i = 0; i < made->client_count; i++) {
		if (!made->client[i].is_followed)
			begin(change, &made->client[i]);
		made->client[i].is_followed = false;
	}
}

static void add_clients(struct change *change, uint32_t stream)
{
	const struct sfctl_stream_stats *stats = &change->look->stats.stream[stream];

	for (uint32_t i = 0; i < stats->client_count; i++) {
		struct sfctl_top_client *client = &change->made.client[change->made.client_count++];

		client->client = stats->client[i];
		client->stream = stream;
		client->rate = SFCTL_TOP_UNKNOWN;
		name_user(change->look, client);
	}
}

static void sum_up(struct sfctl_top_model *made)
{
	for (uint32_t i = 0; i < made->client_count; i++) {
		struct sfctl_top_client *client = &made->client[i];
		struct sfctl_top_stream *stream = &made->stream[client->stream];

		sfctl_top_trace_add(&client->trace, client->rate);
		stream->uncounted += !is_counted(client);
		if (client->rate > 0)
			stream->counted_rate += client->rate;
	}
}

/** @return 0 or -ENOMEM; what was made is then the caller's to free */
static int make(struct change *change)
{
	const struct sfctl_stats *stats = &change->look->stats;
	struct sfctl_top_model *made = &change->made;
	size_t clients = 0;

	for (uint32_t i = 0; i < stats->stream_count; i++)
		clients += stats->stream[i].client_count;
	made->stream = calloc((size_t)stats->stream_count + 1, sizeof(*made->stream));
	made->client = calloc(clients + 1, sizeof(*made->client));
	made->order = calloc(clients + 1, sizeof(struct sfctl_top_client *));
	if (!made->stream || !made->client || !made->order)
		return -ENOMEM;
	made->stream_count = stats->stream_count;
	for (uint32_t i = 0; i < stats->stream_count; i++) {
		make_stream(change, &made->stream[i], &stats->stream[i].stats);
		add_clients(change, i);
	}
	qsort(made->client, made->client_count, sizeof(*made->client), compare_clients);
	if (has_same_streams(change))
		follow_clients(change);
	sum_up(made);
	return 0;
}

static void free_lists(struct sfctl_top_model *model)
{
	free(model->stream);
	free(model->client);
	free((void *)model->order);
}

int sfctl_top_model_take(struct sfctl_top_model *model, const struct sfctl_top_look *look)
{
	struct change change = {.old = model, .look = look, .made = *model};

	change.made.client_count = 0;
	if (model->mono_ns != 0)
		change.seconds = (double)(look->mono_ns - model->mono_ns) / NS_PER_SECOND;
	if (make(&change) < 0) {
		free_lists(&change.made);
		return -ENOMEM;
	}
	free_lists(model);
	*model = change.made;
	model->mono_ns = look->mono_ns;
	model->looks_since++;
	if (model->away_since_ms != 0) {
		model->away_ms = look->unix_ms - model->away_since_ms;
		model->looks_since = 0;
	}
	model->away_since_ms = 0;
	return 0;
}

void sfctl_top_model_miss(struct sfctl_top_model *model, int64_t unix_ms, const struct sf_why *why)
{
	if (model->away_since_ms == 0)
		model->away_since_ms = unix_ms;
	model->why = *why;
	for (uint32_t i = 0; i < model->stream_count; i++)
		sfctl_top_trace_add(&model->stream[i].trace, SFCTL_TOP_UNKNOWN);
	for (uint32_t i = 0; i < model->client_count; i++)
		sfctl_top_trace_add(&model->client[i].trace, SFCTL_TOP_UNKNOWN);
}

void sfctl_top_model_deinit(struct sfctl_top_model *model)
{
	free_lists(model);
	*model = (struct sfctl_top_model){0};
}
