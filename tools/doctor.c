/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The checks of `sfctl doctor`; see doctor.h.
 */
#include "tools/doctor.h"

#include "shm/words.h"
#include "tools/cause.h"

#include <stdarg.h>
#include <stdlib.h>

#define NS_PER_MS INT64_C(1000000)
#define DAY_MS INT64_C(86400000)
/* A new layout takes time to bring in. */
#define END_NEAR_MS (366 * DAY_MS)
/* Embedded time follows the wall closer than this, unless sfd does not get to run. */
#define OFFSET_MOST_US 10000
#define FULL_PPM 900000

void sfctl_doctor_add(struct sfctl_doctor *doctor, enum sfctl_level level, const char *stream,
		      const char *check, const char *format, ...)
{
	struct sfctl_finding *grown =
		reallocarray(doctor->finding, doctor->count + 1, sizeof(*grown));
	va_list arguments;

	if (!grown) {
		doctor->out_of_memory = true;
		return;
	}
	doctor->finding = grown;
	grown += doctor->count++;
	*grown = (struct sfctl_finding){.level = level, .check = check};
	if (stream)
		(void)snprintf(grown->stream, sizeof(grown->stream), "%s", stream);
	va_start(arguments, format);
	(void)vsnprintf(grown->text, sizeof(grown->text), format, arguments);
	va_end(arguments);
}

void sfctl_doctor_deinit(struct sfctl_doctor *doctor)
{
	free(doctor->finding);
	*doctor = (struct sfctl_doctor){0};
}

void sfctl_doctor_host(struct sfctl_doctor *doctor, const struct sf_control_stats *stats)
{
	bool is_bad = sfctl_counter(stats, SF_COUNTER_clock_sync) == 2;
	const char *leap = sfctl_clock_leap(stats);
	char text[SFCTL_CLOCK_TEXT_MAX];

	sfctl_clock_sync(stats, text);
	sfctl_doctor_add(doctor, is_bad ? SFCTL_LEVEL_WARNING : SFCTL_LEVEL_OK, NULL, "clock",
			 "%s%s%s%s", text, leap ? "; " : "", leap ? leap : "",
			 is_bad ? ": IDs carry the clock's time, right or wrong; run chronyd or "
				  "systemd-timesyncd"
				: "");
}

static void check_state(struct sfctl_doctor *doctor, const struct sf_control_stats *stats)
{
	char text[SFCTL_CAUSE_MAX];
	bool is_none = sfctl_cause_state(stats, text);

	sfctl_doctor_add(doctor, is_none ? SFCTL_LEVEL_FAILURE : SFCTL_LEVEL_OK, stats->stream,
			 "state", "%s", is_none ? text : "running");
}

static void check_time(struct sfctl_doctor *doctor, const struct sf_control_stats *stats)
{
	int64_t us = (int64_t)sfctl_counter(stats, SF_COUNTER_wall_offset_us);
	enum sfctl_level level =
		us > SFCTL_CLOCK_LEAD_MOST_US ? SFCTL_LEVEL_FAILURE : SFCTL_LEVEL_WARNING;
	char text[SFCTL_CLOCK_LEAD_MAX];

	if (sfctl_clock_meanwhile(stats)) {
		sfctl_clock_lead(stats, text);
		sfctl_doctor_add(doctor, level, stats->stream, "time", "%s", text);
		return;
	}
	sfctl_clock_offset(stats, text);
	if (us > OFFSET_MOST_US || us < -OFFSET_MOST_US)
		sfctl_doctor_add(doctor, level, stats->stream, "time",
				 "embedded time is %s: sfd did not get to run; look again, and at "
				 "the load of the host",
				 text);
	else
		sfctl_doctor_add(doctor, SFCTL_LEVEL_OK, stats->stream, "time",
				 "embedded time is %s", text);
}

static void check_layout(struct sfctl_doctor *doctor, const struct sf_control_stats *stats)
{
	int64_t last_ms = sf_layout_last_ms(&stats->layout);
	int64_t left_ms = last_ms - stats->now_unix_ns / NS_PER_MS;
	char end[SF_WORDS_MAX];
	char left[SF_WORDS_MAX];

	if (left_ms < 0) /* told with the state */
		return;
	sf_time_words(last_ms, end);
	sf_duration_words(left_ms, left);
	sfctl_doctor_add(doctor, left_ms < END_NEAR_MS ? SFCTL_LEVEL_WARNING : SFCTL_LEVEL_OK,
			 stats->stream, "layout", "ends at %s, in %s%s", end, left,
			 left_ms < END_NEAR_MS ? ": plan its successor" : "");
}

/** What clients could live on if sfd died now, and what a boot would go by. */
static void check_runway(struct sfctl_doctor *doctor, const struct sf_control_stats *stats)
{
	uint64_t runway_ms = sfctl_counter(stats, SF_COUNTER_runway_ms);
	uint64_t full_ms = (uint64_t)stats->runway_ticks * stats->layout.tick_ms;
	uint64_t errors = sfctl_counter(stats, SF_COUNTER_mark_errors);
	uint64_t mark = sfctl_counter(stats, SF_COUNTER_mark_tick);
	uint64_t now = sfctl_counter(stats, SF_COUNTER_now_tick);
	char ahead[SF_WORDS_MAX];

	if (stats->state != SF_SHM_RUNNING && stats->state != SF_SHM_HELD)
		return; /* nothing is published */
	sfctl_doctor_add(doctor, runway_ms < full_ms / 2 ? SFCTL_LEVEL_WARNING : SFCTL_LEVEL_OK,
			 stats->stream, "runway", "%llu of %llu ms%s",
			 (unsigned long long)runway_ms, (unsigned long long)full_ms,
			 runway_ms < full_ms / 2 ? ": sfd did not get to run, or waits for the mark"
						 : "");
	sf_duration_words(mark > now ? (int64_t)(mark - now) * (int64_t)stats->layout.tick_ms : 0,
			  ahead);
	sfctl_doctor_add(doctor, errors > 0 ? SFCTL_LEVEL_WARNING : SFCTL_LEVEL_OK, stats->stream,
			 "mark", "%s ahead of now, %llu writes, %llu failed%s", ahead,
			 (unsigned long long)sfctl_counter(stats, SF_COUNTER_mark_writes),
			 (unsigned long long)errors,
			 errors > 0 ? ": see sfd's log, and look at its state directory's disk"
				    : "");
}

static void check_capacity(struct sfctl_doctor *doctor, const struct sf_control_stats *stats)
{
	uint64_t ppm = sfctl_counter(stats, SF_COUNTER_capacity_used_ppm);

	sfctl_doctor_add(doctor, ppm > FULL_PPM ? SFCTL_LEVEL_WARNING : SFCTL_LEVEL_OK,
			 stats->stream, "capacity", "%llu.%02llu %% of %llu IDs/s used%s",
			 (unsigned long long)ppm / 10000, (unsigned long long)ppm % 10000 / 100,
			 (unsigned long long)sfctl_counter(stats, SF_COUNTER_capacity_per_second),
			 ppm > FULL_PPM ? ": callers wait; give the stream more machine ids" : "");
}

static void check_clients(struct sfctl_doctor *doctor, const struct sf_control_stats *stats)
{
	uint64_t refused = sfctl_counter(stats, SF_COUNTER_attaches_refused);
	uint64_t bad = sfctl_counter(stats, SF_COUNTER_requests_bad);
	uint64_t spoilt = sfctl_counter(stats, SF_COUNTER_slots_spoilt);

	sfctl_doctor_add(doctor, refused > 0 || bad > 0 ? SFCTL_LEVEL_WARNING : SFCTL_LEVEL_OK,
			 stats->stream, "clients",
			 "%llu attached; %llu requests to attach refused, %llu malformed%s",
			 (unsigned long long)sfctl_counter(stats, SF_COUNTER_clients),
			 (unsigned long long)refused, (unsigned long long)bad,
			 refused > 0 ? ": whom the stream's allow list leaves out, or too old a "
				       "libsfclient"
				     : "");
	sfctl_doctor_add(doctor, spoilt > 0 ? SFCTL_LEVEL_FAILURE : SFCTL_LEVEL_OK, stats->stream,
			 "memory", "%llu claim words found overwritten%s",
			 (unsigned long long)spoilt,
			 spoilt > 0 ? ": a client writes where it must not, IDs of this stream may "
				      "repeat; find it, and give those you do not trust a stream "
				      "of their own"
				    : "");
}

void sfctl_doctor_stream(struct sfctl_doctor *doctor, const struct sf_control_stats *stats)
{
	check_state(doctor, stats);
	check_time(doctor, stats);
	check_layout(doctor, stats);
	check_runway(doctor, stats);
	check_capacity(doctor, stats);
	check_clients(doctor, stats);
}
