/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Statistics as `sfctl stats` collects and shows them. Main thread only.
 */
#ifndef SFCTL_STATS_H
#define SFCTL_STATS_H

#include "tools/control.h"
#include "tools/sfctl.h"

#include <jansson.h>

/** One stream, as the daemon described it. */
struct sfctl_stream_stats {
	struct sf_control_stats stats;
	struct sf_control_client *client;
	uint32_t client_count;
};

/** What one look at the daemon found; at least one stream. */
struct sfctl_stats {
	struct sfctl_stream_stats *stream;
	uint32_t stream_count;
};

/**
 * Asks for the stream of --stream, or for all, and for their attached clients.
 * @return 0 or a negative errno with the reason in `why`
 */
int sfctl_stats_init(struct sfctl_stats *stats, int fd, const char *stream, struct sf_why *why);
void sfctl_stats_deinit(struct sfctl_stats *stats);

/** Counter of the list in shm/counters.def. */
static inline uint64_t sfctl_counter(const struct sf_control_stats *stats, enum sf_counter counter)
{
	return stats->counter[counter];
}

/** Word for an enum sf_shm_state. */
const char *sfctl_state_word(uint32_t state);

/** Makes a process's name, which it chose itself, fit to be shown: printable ASCII. */
void sfctl_command_clean(char *command);

/** Prints on stdout, less than 80 columns wide; of many clients only the first. */
void sfctl_stats_print(const struct sfctl_stats *stats);

/** The same as an object, every counter under its name; NULL when memory is out. */
json_t *sfctl_stats_json(const struct sfctl_stats *stats);

#endif
