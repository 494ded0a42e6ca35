/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A stream's statistics, by the list in shm/counters.def. Each value has one writing thread; any
 * thread may read. Relaxed throughout: they are statistics. They lie in a memfd of their own, with
 * their names, so that the next sfd can go on counting where this one ended, however it ended.
 */
#ifndef SFD_STATS_H
#define SFD_STATS_H

#include "shm/control.h"
#include "shm/sflayout.h"

#include <stdatomic.h>
#include <stdint.h>

struct sfd_stats {
	_Atomic uint64_t value[SF_COUNTER_COUNT];
};

/**
 * Makes the statistics of a stream, all zero, and takes over the counters (not the gauges) of the
 * same names from `old_fd`, the descriptor of an earlier sfd's; -1: there is none. What is no such
 * descriptor is ignored.
 * @return 0 or a negative errno with a sentence in `why`
 */
int sfd_stats_open(const char *stream, int old_fd, struct sfd_stats **ret_stats, int *ret_fd,
		   struct sf_why *why);
/** Unmaps. Returns NULL; NULL is fine. The descriptor is the caller's. */
struct sfd_stats *sfd_stats_close(struct sfd_stats *stats);

static inline uint64_t sfd_stats_get(const struct sfd_stats *stats, enum sf_counter counter)
{
	return atomic_load_explicit(&stats->value[counter], memory_order_relaxed);
}

static inline void sfd_stats_set(struct sfd_stats *stats, enum sf_counter counter, uint64_t value)
{
	atomic_store_explicit(&stats->value[counter], value, memory_order_relaxed);
}

/** Load and store, no read-modify-write: the caller's thread is the only writer. */
static inline void sfd_stats_add(struct sfd_stats *stats, enum sf_counter counter, uint64_t value)
{
	sfd_stats_set(stats, counter, sfd_stats_get(stats, counter) + value);
}

#endif
