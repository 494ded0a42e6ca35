/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The metric families that sfd's statistics make: every counter of shm/counters.def, in base units,
 * and what else its answer tells. Adds text, asks nobody. Any thread.
 */
#ifndef SFCTL_EXPORTER_FAMILIES_H
#define SFCTL_EXPORTER_FAMILIES_H

#include "shm/control.h"
#include "tools/exporter/metrics.h"

#define SFCTL_FAMILY_NAME_MAX 64

/** A counter of the list as a metric. */
struct sfctl_counter_family {
	struct sfctl_family family; /* its name is the one below: do not copy */
	char name[SFCTL_FAMILY_NAME_MAX];
	unsigned decimals;       /* what the base unit makes of the integer */
	bool is_shared;          /* the same for all streams: no label */
	const char *const *word; /* of a state set */
	size_t word_count;
};

/** Makes the family of a counter. */
void sfctl_counter_family(enum sf_counter counter, struct sfctl_counter_family *family);

/** Adds the families of all streams that sfd described; `count` is at least 1. */
void sfctl_families(struct sfctl_metrics *metrics, const struct sf_control_stats *stream,
		    uint32_t count);

#endif
