/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Statistics as text for people, less than 80 columns wide. Main thread only.
 */
#include "shm/words.h"
#include "tools/clock_text.h"
#include "tools/layout_option.h"
#include "tools/number.h"
#include "tools/stats.h"
#include "tools/user.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define DAY_MS INT64_C(86400000)
/* So that a crowd does not push the rest off the screen. */
#define CLIENTS_SHOWN 16
#define LABEL "  %-13s"
#define CLIENT_HEAD "  %7s %-12s %19s %-20s %s\n"
#define CLIENT_ROW "  %7u %-12.12s %19s %-20s %s\n"

/** A number with its digits in groups of three; holds any. */
struct grouped {
	char text[32];
};

static struct grouped group(uint64_t value)
{
	struct grouped grouped = {{0}};
	char digits[SFCTL_NUMBER_DIGITS];
	size_t count = sfctl_number_format(value, digits);
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		if (i > 0 && (count - i) % 3 == 0)
			grouped.text[at++] = ',';
		grouped.text[at++] = digits[i];
	}
	return grouped;
}

static const char *counter(const struct sf_control_stats *stats, enum sf_counter which,
			   struct grouped *text)
{
	*text = group(sfctl_counter(stats, which));
	return text->text;
}

static void head_print(const struct sfctl_stats *stats)
{
	const struct sf_control_stats *first = &stats->stream[0].stats;
	bool is_beating = false;
	char up[SF_WORDS_MAX];

	for (uint32_t i = 0; i < stats->stream_count; i++)
		is_beating |= sfctl_counter(&stats->stream[i].stats, SF_COUNTER_beating) != 0;
	sf_duration_words((int64_t)sfctl_counter(first, SF_COUNTER_uptime_ms), up);
	printf("sfd %s  pid %u  up %s  %s  beat: %s\n", first->version, first->pid, up,
	       first->loop == 0 ? "io_uring" : "poll", is_beating ? "beating" : "idle");
}

static const char *state_explained(uint32_t state)
{
	switch (state) {
	case SF_SHM_WAITING:
		return "waiting for clock: it is before the layout's epoch";
	case SF_SHM_EXHAUSTED:
		return "exhausted: the clock is past the layout's end";
	case SF_SHM_STOPPED:
		return "stopped";
	case SF_SHM_HELD:
		return "held: the mark cannot be raised, see the daemon's log";
	case SF_SHM_BEHIND:
		return "behind: the wall clock went back, callers wait or are refused";
	default:
		return sfctl_state_word(state);
	}
}

static void layout_print(const struct sf_control_stats *stats)
{
	const char *name = sf_layout_name(&stats->layout);
	char notation[SF_LAYOUT_TEXT_MAX] = "";
	int64_t last_ms = sf_layout_last_ms(&stats->layout);
	int64_t left_days = last_ms / DAY_MS - stats->now_unix_ns / 1000000 / DAY_MS;
	char end[SFCTL_RFC3339_MAX];

	(void)sf_layout_format(&stats->layout, notation, sizeof(notation));
	if (stats->layout.format != SF_FORMAT_SNOWFLAKE) {
		printf(LABEL " %s\n", "format", notation);
	} else {
		if (name)
			printf(LABEL " %s\n", "layout", name);
		printf(LABEL " %s\n", name ? "" : "layout", notation);
	}
	sfctl_rfc3339_format(last_ms, end);
	printf(LABEL " ends %s", "", end);
	/* A new layout takes time to bring in: say so a year before it is needed. */
	if (left_days < 366)
		printf(", in %" PRId64 " days: plan its successor", left_days);
	printf("\n");
}

/** Node ids as ranges, "0-3, 7", broken into lines. */
static void nodes_print(const struct sf_control_stats *stats)
{
	size_t column = 0;

	printf(LABEL, "node ids");
	for (uint32_t i = 0; i < stats->node_count;) {
		uint32_t last = i;
		const char *comma;
		char text[32];

		while (last + 1 < stats->node_count &&
		       stats->node[last + 1] == stats->node[last] + 1)
			last++;
		comma = last + 1 < stats->node_count ? "," : "";
		if (last > i)
			(void)snprintf(text, sizeof(text), " %u-%u%s", stats->node[i],
				       stats->node[last], comma);
		else
			(void)snprintf(text, sizeof(text), " %u%s", stats->node[i], comma);
		column += strlen(text);
		if (column > 60) {
			printf("\n" LABEL, "");
			column = strlen(text);
		}
		printf("%s", text);
		i = last + 1;
	}
	printf("\n");
}

static void ids_print(const struct sf_control_stats *stats)
{
	struct grouped a;
	struct grouped b;
	uint64_t used = sfctl_counter(stats, SF_COUNTER_capacity_used_ppm);

	printf(LABEL " %s\n", "IDs given",
	       group(sfctl_counter(stats, SF_COUNTER_ids_claimed) -
		     sfctl_counter(stats, SF_COUNTER_ids_dropped))
		       .text);
	printf(LABEL " %s claimed, %s dropped\n", "", counter(stats, SF_COUNTER_ids_claimed, &a),
	       counter(stats, SF_COUNTER_ids_dropped, &b));
	printf(LABEL " %s IDs/s over 1 s, %s over 60 s\n", "rate",
	       counter(stats, SF_COUNTER_rate_1s, &a), counter(stats, SF_COUNTER_rate_60s, &b));
	printf(LABEL " %s IDs/s, %" PRIu64 ".%02" PRIu64 " %% used\n", "capacity",
	       counter(stats, SF_COUNTER_capacity_per_second, &a), used / 10000,
	       used % 10000 / 100);
	printf(LABEL " %s calls\n", "waits", counter(stats, SF_COUNTER_waits, &a));
}

/** A tick relative to the clock: "+3,000 ticks (+3,000 ms)". */
static void tick_print(const struct sf_control_stats *stats, const char *label,
		       enum sf_counter which)
{
	uint64_t now = sfctl_counter(stats, SF_COUNTER_now_tick);
	uint64_t tick = sfctl_counter(stats, which);
	char sign = tick < now ? '-' : '+';
	uint64_t distance = tick < now ? now - tick : tick - now;

	if (tick == 0)
		printf(LABEL " none yet\n", label);
	else
		printf(LABEL " now %c%s ticks, %c%s ms\n", label, sign, group(distance).text, sign,
		       group(distance * stats->layout.tick_ms).text);
}

static void ring_print(const struct sf_control_stats *stats)
{
	struct grouped a;
	struct grouped b;

	printf(LABEL " %s ms, %s ticks when full; ahead limit %s ticks\n", "runway",
	       counter(stats, SF_COUNTER_runway_ms, &a), group(stats->runway_ticks).text,
	       group(stats->ahead_ticks).text);
	tick_print(stats, "horizon", SF_COUNTER_horizon_tick);
	tick_print(stats, "floor", SF_COUNTER_floor_tick);
	tick_print(stats, "mark", SF_COUNTER_mark_tick);
	printf(LABEL " %s writes, %s errors\n", "", counter(stats, SF_COUNTER_mark_writes, &a),
	       counter(stats, SF_COUNTER_mark_errors, &b));
	printf(LABEL " %s published, %s slots spoilt\n", "ticks",
	       counter(stats, SF_COUNTER_ticks_published, &a),
	       counter(stats, SF_COUNTER_slots_spoilt, &b));
}

static void clock_print(const struct sf_control_stats *stats)
{
	const char *meanwhile = sfctl_clock_meanwhile(stats);
	const char *leap = sfctl_clock_leap(stats);
	char text[SFCTL_CLOCK_TEXT_MAX];
	struct grouped a;
	struct grouped b;

	sfctl_clock_sync(stats, text);
	printf(LABEL " %s\n", "clock", text);
	if (leap)
		printf(LABEL " %s\n", "", leap);
	printf(LABEL " %s steps forward, %s back\n", "",
	       counter(stats, SF_COUNTER_clock_steps_forward, &a),
	       counter(stats, SF_COUNTER_clock_steps_back, &b));
	sfctl_clock_offset(stats, text);
	printf(LABEL " %s\n", "embedded time", text);
	if (!meanwhile)
		return;
	sfctl_clock_end(stats, text);
	printf(LABEL " %s until the wall has caught up,\n", "", meanwhile);
	printf(LABEL " %s\n", "", text);
}

static void daemon_print(const struct sf_control_stats *stats)
{
	struct grouped a;
	struct grouped b;
	struct grouped c;

	printf(LABEL " %s, %s beats, %s wake-ups\n", "beat",
	       sfctl_counter(stats, SF_COUNTER_beating) ? "beating" : "idle",
	       counter(stats, SF_COUNTER_beats, &a), counter(stats, SF_COUNTER_wakeups, &b));
	printf(LABEL " latest %s us after its tick, %s late by a tick or more\n", "",
	       counter(stats, SF_COUNTER_beat_late_max_us, &a),
	       counter(stats, SF_COUNTER_beats_late, &b));
	clock_print(stats);
	printf(LABEL " %s\n", "memory",
	       sfctl_counter(stats, SF_COUNTER_memory_locked)
		       ? "locked"
		       : "not all locked, it may be paged out: see the daemon's log");
	printf(LABEL " %s\n", "restarts", counter(stats, SF_COUNTER_restarts, &a));
	printf(LABEL " %s attached, %s attaches, %s refused, %s bad requests\n", "clients",
	       group(sfctl_counter(stats, SF_COUNTER_clients)).text,
	       counter(stats, SF_COUNTER_attaches, &a),
	       counter(stats, SF_COUNTER_attaches_refused, &b),
	       counter(stats, SF_COUNTER_requests_bad, &c));
	printf(LABEL " %s connections turned away at a limit\n", "",
	       counter(stats, SF_COUNTER_connections_refused, &a));
}

static void client_print(const struct sf_control_client *client)
{
	bool is_counted = client->ids != SF_CONTROL_NOT_COUNTED;
	char since[SF_WORDS_MAX];
	char user[SFCTL_USER_MAX];

	sf_time_words(client->since_unix_ns / 1000000, since);
	sfctl_user_name(client->uid, user);
	printf(CLIENT_ROW, client->pid, user, is_counted ? group(client->ids).text : "?", since,
	       client->command);
}

static void clients_print(const struct sfctl_stream_stats *stream)
{
	if (stream->client_count > 0)
		printf(CLIENT_HEAD, "pid", "user", "IDs given", "since", "command");
	for (uint32_t i = 0; i < stream->client_count && i < CLIENTS_SHOWN; i++)
		client_print(&stream->client[i]);
	if (stream->client_count > CLIENTS_SHOWN)
		printf("  ... and %u more: see --json\n", stream->client_count - CLIENTS_SHOWN);
}

void sfctl_stats_print(const struct sfctl_stats *stats)
{
	head_print(stats);
	for (uint32_t i = 0; i < stats->stream_count; i++) {
		const struct sfctl_stream_stats *stream = &stats->stream[i];

		printf("\nstream %s: %s\n", stream->stats.stream,
		       state_explained(stream->stats.state));
		layout_print(&stream->stats);
		if (stream->stats.node_count > 0) /* the wide formats have none */
			nodes_print(&stream->stats);
		ids_print(&stream->stats);
		ring_print(&stream->stats);
		daemon_print(&stream->stats);
		clients_print(stream);
	}
}
