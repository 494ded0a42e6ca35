/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What the log says of a stream; see report.h.
 */
#include "daemon/report.h"

#include "daemon/log.h"

/** What holds until a wall that is behind has caught up. */
static const char *meanwhile(enum sfd_clock_policy policy)
{
	static const char *const text[] = {
		[SFD_CLOCK_SLEW] = "embedded time runs at half speed",
		[SFD_CLOCK_WAIT] = "callers wait",
		[SFD_CLOCK_REFUSE] = "callers are refused",
		[SFD_CLOCK_AHEAD] = "ticks are borrowed",
	};

	return text[policy];
}

/** The wall went back while no sfd ran, or the mark lies ahead of it. */
static void log_lead(const struct sfd_stream *stream)
{
	if (stream->clock.lead_ns > 0)
		sfd_log(SFD_LOG_WARNING,
			"stream %s: the wall clock is %lld ms behind what was promised before; %s "
			"until it has caught up",
			stream->config->name, (long long)(stream->clock.lead_ns / 1000000),
			meanwhile(stream->clock.in_force));
}

static void log_stream(const struct sfd_stream *stream)
{
	const struct sfd_stream_config *config = stream->config;
	char layout[SF_LAYOUT_TEXT_MAX] = "?";
	char nodes[64];
	const char *name = sf_layout_name(&config->layout);

	if (config->layout.format == SF_FORMAT_HOUND) {
		sfd_log(SFD_LOG_INFO, "stream %s: format hound, machine id 0x%012llx", config->name,
			(unsigned long long)config->machine);
		return;
	}
	if (config->layout.format != SF_FORMAT_SNOWFLAKE) {
		sfd_log(SFD_LOG_INFO, "stream %s: format %s", config->name, name);
		return;
	}
	(void)sf_layout_format(&config->layout, layout, sizeof(layout));
	sfd_nodes_format(config->node, config->node_count, nodes, sizeof(nodes));
	sfd_log(SFD_LOG_INFO, "stream %s: machine id %s, layout %s%s%s%s", config->name, nodes,
		name ? name : "", name ? " (" : "", layout, name ? ")" : "");
}

static void log_steps(const struct sfd_stream *stream)
{
	int64_t offset_us = (int64_t)sfd_stats_get(stream->stats, SF_COUNTER_wall_offset_us);

	sfd_log(SFD_LOG_WARNING,
		"stream %s: the wall clock stepped (%llu forward, %llu back so far); embedded time "
		"is %lld us ahead of it%s%s%s",
		stream->config->name,
		(unsigned long long)sfd_stats_get(stream->stats, SF_COUNTER_clock_steps_forward),
		(unsigned long long)sfd_stats_get(stream->stats, SF_COUNTER_clock_steps_back),
		(long long)offset_us, offset_us > 0 ? "; " : "",
		offset_us > 0 ? meanwhile(stream->config->clock_backward) : "",
		offset_us > 0 ? " until the wall has caught up" : "");
}

void sfd_report_start(const struct sfd_stream *stream)
{
	log_stream(stream);
	log_lead(stream);
}

void sfd_report_news(struct sfd_stream *stream)
{
	if (sfd_stream_has_caught_up(stream))
		sfd_log(SFD_LOG_INFO, "stream %s: the wall clock has caught up",
			stream->config->name);
	if (sfd_stream_has_stepped(stream))
		log_steps(stream);
}
