/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Asks sfd for the statistics of all its streams, once a scrape and in bounded time, and makes
 * metrics of the answer and of the asking. One thread.
 */
#ifndef SFCTL_EXPORTER_ASK_H
#define SFCTL_EXPORTER_ASK_H

#include "tools/control.h"
#include "tools/exporter/metrics.h"

/** Longest wait for the answers of one scrape: Prometheus itself waits 10 s by default. */
#define SFCTL_ASK_TIMEOUT_MS 2000
#define SFCTL_ASK_BOUNDS 5

struct sfctl_asker {
	const struct sfctl *sfctl;
	struct sf_control_stats *stream; /* of the last answer, and room for the next */
	uint32_t stream_room;
	int64_t again_mono_ns; /* sfd kept us waiting: not asked before */
	bool is_told;          /* that sfd does not answer */
	struct sf_why why;     /* why it did not */
	uint64_t scrapes;
	uint64_t errors;
	uint64_t took[SFCTL_ASK_BOUNDS + 1]; /* how long answers took */
	uint64_t took_sum_ns;
};

/** `sfctl` says where sfd is, and must live as long. */
void sfctl_asker_init(struct sfctl_asker *asker, const struct sfctl *sfctl);
void sfctl_asker_deinit(struct sfctl_asker *asker);

/**
 * Asks, and adds what was learnt: sfd_up, all of sfd's families if it is 1, and the asker's own.
 * @param context the struct sfctl_asker
 */
void sfctl_asker_collect(void *context, struct sfctl_metrics *metrics);

#endif
