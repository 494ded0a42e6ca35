/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What the log says of a stream; see report.h.
 */
#include "daemon/report.h"

#include "daemon/log.h"
#include "shm/words.h"

#include <string.h>

#define NS_PER_MS INT64_C(1000000)
#define DAY_MS INT64_C(86400000)
/* A wall that steps all the time is told of once a second: the counts miss nothing. */
#define STEPS_PAUSE_NS INT64_C(1000000000)

/** Room for what is said of a wall that is behind. */
#define BEHIND_MAX 400
/** Room for what a stream is. */
#define DESCRIPTION_MAX 240

/** What holds until a wall that is behind has caught up. */
static const char *meanwhile(uint64_t clock_behind)
{
	static const char *const text[] = {
		[SFD_CLOCK_SLEW + 1] = "embedded time runs at half speed",
		[SFD_CLOCK_WAIT + 1] = "callers wait",
		[SFD_CLOCK_REFUSE + 1] = "callers are refused",
		[SFD_CLOCK_AHEAD + 1] = "ticks are borrowed",
	};

	return text[clock_behind];
}

/**
 * What helps against a lead that is no fault of the clock of now. A stream of the same name goes on
 * above its last ID whatever machine id it has, as long as this boot's record is there; one with
 * the same machine id always does.
 */
static const char *remedy(const struct sfd_stream_config *config)
{
	return config->node_count > 0 || config->layout.format == SF_FORMAT_HOUND
		       ? "a stream of another name and machine id"
		       : "a stream of another name";
}

/** "embedded time runs at half speed until it has caught up, in 2h00m, at ...; ..." */
static void behind_words(const struct sfd_stream *stream, char text[BEHIND_MAX])
{
	const struct sfd_stats *stats = stream->stats;
	int64_t left_ms = (int64_t)sfd_stats_get(stats, SF_COUNTER_clock_behind_ms);
	int64_t wall_ms = sfd_clock_now().wall_ns / NS_PER_MS;
	char left[SF_WORDS_MAX];
	char date[SF_WORDS_MAX];
	int length;

	sf_duration_words(left_ms, left);
	sf_time_words(wall_ms + left_ms, date);
	length = snprintf(text, BEHIND_MAX, "%s until it has caught up, in %s, at %s",
			  meanwhile(sfd_stats_get(stats, SF_COUNTER_clock_behind)), left, date);
	if (left_ms >= DAY_MS)
		(void)snprintf(text + length, BEHIND_MAX - (size_t)length,
			       "; if it is wrong, set it, a forward step is taken at once; if it "
			       "was wrong before, %s begins at the right time",
			       remedy(stream->config));
}

/** The wall went back while no sfd ran, or the mark lies ahead of it. */
static void log_lead(const struct sfd_stream *stream)
{
	char text[BEHIND_MAX];
	char lead[SF_WORDS_MAX];

	if (sfd_stats_get(stream->stats, SF_COUNTER_clock_behind) == 0)
		return;
	behind_words(stream, text);
	sf_duration_words(stream->clock.lead_ns / NS_PER_MS, lead);
	sfd_log(SFD_LOG_WARNING,
		"stream %s: the wall clock is %s behind what was promised before; %s",
		stream->config->name, lead, text);
}

/** "machine id 7, layout twitter (t41 n10 s12 ...)" */
static void describe(const struct sfd_stream_config *config, char text[DESCRIPTION_MAX])
{
	char layout[SF_LAYOUT_TEXT_MAX] = "?";
	char nodes[64];
	const char *name = sf_layout_name(&config->layout);

	if (config->layout.format == SF_FORMAT_HOUND) {
		(void)snprintf(text, DESCRIPTION_MAX, "format hound, machine id 0x%012llx",
			       (unsigned long long)config->machine);
		return;
	}
	if (config->layout.format != SF_FORMAT_SNOWFLAKE) {
		(void)snprintf(text, DESCRIPTION_MAX, "format %s", name);
		return;
	}
	(void)sf_layout_format(&config->layout, layout, sizeof(layout));
	sfd_nodes_format(config->node, config->node_count, nodes, sizeof(nodes));
	(void)snprintf(text, DESCRIPTION_MAX, "machine id %s, layout %s%s%s%s", nodes,
		       name ? name : "", name ? " (" : "", layout, name ? ")" : "");
}

/** @param is_added by a new configuration */
static void log_stream(const struct sfd_stream *stream, bool is_added)
{
	char text[DESCRIPTION_MAX];

	describe(stream->config, text);
	sfd_log(SFD_LOG_INFO, "%sstream %s%s: %s", is_added ? "reloaded: " : "",
		stream->config->name, is_added ? " added" : "", text);
	log_lead(stream);
}

static void log_steps(const struct sfd_stream *stream)
{
	const struct sfd_stats *stats = stream->stats;
	int64_t offset_us = (int64_t)sfd_stats_get(stats, SF_COUNTER_wall_offset_us);
	bool is_behind = sfd_stats_get(stats, SF_COUNTER_clock_behind) != 0;
	char offset[SF_WORDS_MAX];
	char text[BEHIND_MAX];

	sf_duration_words(offset_us / 1000, offset);
	behind_words(stream, text);
	sfd_log(SFD_LOG_WARNING,
		"stream %s: the wall clock stepped (%llu forward, %llu back so far); embedded time "
		"is %s%s%s",
		stream->config->name,
		(unsigned long long)sfd_stats_get(stats, SF_COUNTER_clock_steps_forward),
		(unsigned long long)sfd_stats_get(stats, SF_COUNTER_clock_steps_back),
		is_behind ? offset : "the wall's", is_behind ? " ahead of it; " : "",
		is_behind ? text : "");
}

static void log_waiting(const struct sfd_stream *stream)
{
	const struct sf_layout *layout = &stream->config->layout;
	char wall[SF_WORDS_MAX];
	char epoch[SF_WORDS_MAX];

	sf_time_words(sfd_clock_now().wall_ns / NS_PER_MS, wall);
	sf_time_words(layout->epoch_ms, epoch);
	sfd_log(SFD_LOG_WARNING,
		"stream %s: waiting for clock: it shows %s, the layout begins at %s; no ID until "
		"the clock is set, which is taken over at once",
		stream->config->name, wall, epoch);
}

static void log_exhausted(const struct sfd_stream *stream)
{
	char end[SF_WORDS_MAX];

	sf_time_words(sf_layout_last_ms(&stream->config->layout), end);
	sfd_log(SFD_LOG_ERROR,
		"stream %s: the layout's time field ended at %s: no ID; set the clock if it is "
		"wrong and restart sfd, else choose a layout with a later end",
		stream->config->name, end);
}

/** The states that a clock makes; a mark that holds is told by marks.c. */
static void report_state(struct sfd_stream *stream)
{
	/* relaxed: a statistic */
	uint32_t state =
		atomic_load_explicit(&stream->ring.shm.grants->state, memory_order_relaxed);
	uint32_t before = stream->state_told;

	if (state == before)
		return;
	stream->state_told = state;
	if (state == SF_SHM_WAITING)
		log_waiting(stream);
	else if (state == SF_SHM_EXHAUSTED)
		log_exhausted(stream);
	else if (before == SF_SHM_WAITING)
		sfd_log(SFD_LOG_INFO, "stream %s: the clock is in the layout's time, IDs are given",
			stream->config->name);
}

void sfd_report_start(struct sfd_stream *stream)
{
	log_stream(stream, false);
}

static bool is_configured(const struct sfd_stream *stream, size_t stream_count, const char *name,
			  size_t length)
{
	for (size_t i = 0; i < stream_count; i++)
		if (strncmp(stream[i].config->name, name, length) == 0 &&
		    stream[i].config->name[length] == '\0')
			return true;
	return false;
}

/** By the rings that nobody wants any more. */
static void log_gone(const struct sfd_handover *handover, const struct sfd_stream *stream,
		     size_t stream_count)
{
	static const char suffix[] = ".grants"; /* see sfd_handover_add_stream() */

	for (size_t i = 0; i < handover->passed_count; i++) {
		const char *name = handover->passed[i].name;
		size_t length = strlen(name);

		if (length < sizeof(suffix))
			continue;
		length -= sizeof(suffix) - 1;
		if (strcmp(name + length, suffix) == 0 &&
		    !is_configured(stream, stream_count, name, length))
			sfd_log(SFD_LOG_INFO, "reloaded: stream %.*s gone", (int)length, name);
	}
}

void sfd_report_taken_over(const struct sfd_handover *handover, struct sfd_stream *stream,
			   size_t stream_count)
{
	size_t staying = 0;

	for (size_t i = 0; i < stream_count; i++) {
		if (stream[i].adopted) {
			(void)sfd_stream_has_stepped(&stream[i]); /* told by the one before */
			staying++;
			continue;
		}
		log_stream(&stream[i],
			   sfd_handover_legacy(handover, stream[i].config->name).grants_fd < 0);
	}
	log_gone(handover, stream, stream_count);
	sfd_log(SFD_LOG_INFO, "%zu stream%s taken over from sfd %s", staying,
		staying == 1 ? "" : "s", handover->version);
}

void sfd_report_news(struct sfd_stream *stream)
{
	int64_t mono_ns = sfd_clock_now().mono_ns;

	if (sfd_stream_has_caught_up(stream))
		sfd_log(SFD_LOG_INFO, "stream %s: the wall clock has caught up",
			stream->config->name);
	if (mono_ns - stream->steps_told_mono_ns >= STEPS_PAUSE_NS &&
	    sfd_stream_has_stepped(stream)) {
		stream->steps_told_mono_ns = mono_ns;
		log_steps(stream);
	}
	report_state(stream);
}

void sfd_report_sync(enum sfd_sync_state *told)
{
	struct sfd_sync sync = sfd_sync_read();

	if (sync.state == *told)
		return;
	*told = sync.state;
	if (sync.state == SFD_SYNC_GOOD)
		sfd_log(SFD_LOG_INFO, "the kernel's clock is synchronised, to %lld us",
			(long long)sync.error_max_us);
	else if (sync.state == SFD_SYNC_BAD)
		sfd_log(SFD_LOG_WARNING,
			"the kernel's clock is not synchronised: IDs carry its time, right or "
			"wrong; run chronyd or systemd-timesyncd");
	else
		sfd_log(SFD_LOG_INFO,
			"the kernel does not tell whether its clock is synchronised: "
			"clock_adjtime: %s; IDs are not affected",
			strerrordesc_np(-sync.error));
}
