/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A stream's statistics, by the list in shm/counters.def. Each value has one writing thread; any
 * thread may read. Relaxed throughout: they are statistics.
 */
#ifndef SFD_STATS_H
#define SFD_STATS_H

#include "shm/control.h"

#include <stdatomic.h>
#include <stdint.h>

struct sfd_stats {
	_Atomic uint64_t value[SF_COUNTER_COUNT];
};

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
