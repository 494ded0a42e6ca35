/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libFuzzer over the configuration file: any bytes are either refused, or become a configuration
 * that keeps every promise of config.h. Run it with -close_fd_mask=2: each problem is logged.
 */
#include "daemon/config_draft.h"

#include <stdlib.h>
#include <string.h>

/* 2026-01-01T00:00:00Z */
#define NOW_MS INT64_C(1767225600000)
#define PROMISE(condition) ((condition) ? (void)0 : abort())

/* NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_stream(const struct sfd_stream_config *stream)
{
	PROMISE(memchr(stream->name, '\0', sizeof(stream->name)) != NULL);
	PROMISE(stream->name[0] != '\0' && stream->name[0] != '.');
	PROMISE(sf_layout_check(&stream->layout, NULL) == 0);
	PROMISE(sf_layout_last_ms(&stream->layout) >= NOW_MS);
	PROMISE(stream->node_count >= 1 && stream->node_count <= SF_NODES_MAX);
	for (uint32_t i = 0; i < stream->node_count; i++) {
		PROMISE(stream->node[i] >> sf_layout_node_bits(&stream->layout) == 0);
		PROMISE(i == 0 || stream->node[i] > stream->node[i - 1]);
	}
	PROMISE(stream->runway_ms >= SFD_RUNWAY_MS_MIN && stream->runway_ms <= SFD_RUNWAY_MS_MAX);
	PROMISE(stream->runway_ms / stream->layout.tick_ms >= 4);
	PROMISE(stream->ahead_ms <= SFD_AHEAD_MS_MAX && stream->ahead_ms * 2 < stream->runway_ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* without directories, the outcome would hang on who runs this */
	const struct sfd_flags flags = {
		.config_file = "fuzz", .runtime_dir = "/r", .state_dir = "/s"};
	struct sfd_config config;

	if (sfd_config_load_text(&flags, (const char *)data, size, NOW_MS, &config) < 0) {
		PROMISE(config.stream == NULL && config.runtime_dir == NULL);
		return 0;
	}
	PROMISE(config.stream_count >= 1 && config.stream_count <= SFD_STREAMS_MAX);
	PROMISE(config.runtime_dir != NULL && config.state_dir != NULL);
	for (size_t i = 0; i < config.stream_count; i++)
		check_stream(&config.stream[i]);
	sfd_config_deinit(&config);
	return 0;
}
