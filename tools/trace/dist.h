/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Distributions, as histograms of the kernel's give them: in nanoseconds or another unit, with
 * percentiles. Pure functions; any thread.
 */
#ifndef SFCTL_TRACE_DIST_H
#define SFCTL_TRACE_DIST_H

#include "tools/bpf/hist.h"

#include <jansson.h>
#include <stddef.h>

/** Values from `from` to below `to`; equal: exactly that one. */
struct sfctl_bin {
	double from;
	double to;
	uint64_t count;
};

static inline double sfctl_bin_middle(const struct sfctl_bin *bin)
{
	return bin->from + (bin->to - bin->from) / 2;
}

struct sfctl_dist {
	struct sfctl_bin bin[SF_HIST_BUCKETS]; /* those with something in them, in order */
	size_t bin_count;
	uint64_t count;
	double typical; /* mean of the lower 99 %: what is rare and long does not drown the rest */
	double max;
};

/** How the kernel's values become those of a distribution: less `less`, not below 0, then divided.
 */
struct sfctl_scale {
	double less;
	double per_unit;
	double step; /* of the clock they come from: half a step either way is one; 0: exact */
};

void sfctl_dist_init(struct sfctl_dist *dist, const struct sf_hist *hist, struct sfctl_scale scale);
/** The value that `part` (0 to 1) of all are not above, interpolated in its bin; 0 when there are
 *  none. */
double sfctl_dist_percentile(const struct sfctl_dist *dist, double part);
/** Adds one histogram to another. */
void sfctl_hist_merge(struct sf_hist *into, const struct sf_hist *from);
/** Adds one value, as the kernel does. */
void sfctl_hist_add(struct sf_hist *hist, uint64_t value);

/**
 * Count, typical value, percentiles and the histogram, as an object whose names end in the unit;
 * NULL when memory is out.
 */
json_t *sfctl_dist_json(const struct sfctl_dist *dist, const char *unit);

/** Text of a time. */
struct sfctl_ns_text {
	char text[16];
};
/** Three digits or so and a unit: "0.8 ns", "12 us". */
struct sfctl_ns_text sfctl_ns_text(double ns);

#endif
