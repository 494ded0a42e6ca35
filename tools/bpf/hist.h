/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Histograms that the kernel fills and sfctl reads: exact up to 511, then eight buckets for each
 * power of two. Both sides include this.
 */
#ifndef SF_BPF_HIST_H
#define SF_BPF_HIST_H

#include <stdint.h>

#define SF_HIST_LINEAR_BITS 9
#define SF_HIST_LINEAR (1u << SF_HIST_LINEAR_BITS)
#define SF_HIST_SUB_BITS 3
#define SF_HIST_SUB (1u << SF_HIST_SUB_BITS)
#define SF_HIST_BUCKETS (SF_HIST_LINEAR + (64 - SF_HIST_LINEAR_BITS) * SF_HIST_SUB)
/* A power of two, so that a mask tells the kernel that an index is in range. */
#define SF_HIST_SLOTS 1024u

struct sf_hist {
	uint64_t count;
	uint64_t sum;
	uint64_t max;
	uint64_t bucket[SF_HIST_SLOTS]; /* those from SF_HIST_BUCKETS on stay 0 */
};

/** Position of the highest bit set, for a value above 0: no instruction of the kernel's machine. */
static inline uint32_t sf_hist_log2(uint64_t value)
{
	uint32_t log = 0;

	for (uint32_t step = 32; step > 0; step /= 2) {
		if (value >> step != 0) {
			value >>= step;
			log += step;
		}
	}
	return log;
}

static inline uint32_t sf_hist_bucket(uint64_t value)
{
	uint32_t log;

	if (value < SF_HIST_LINEAR)
		return (uint32_t)value;
	log = sf_hist_log2(value);
	return SF_HIST_LINEAR + (log - SF_HIST_LINEAR_BITS) * SF_HIST_SUB +
	       ((uint32_t)(value >> (log - SF_HIST_SUB_BITS)) & (SF_HIST_SUB - 1));
}

/** Smallest value of a bucket, one up to SF_HIST_BUCKETS - 1. The one after ends it. */
static inline uint64_t sf_hist_first(uint32_t bucket)
{
	uint32_t log;
	uint32_t sub;

	if (bucket < SF_HIST_LINEAR)
		return bucket;
	log = SF_HIST_LINEAR_BITS + (bucket - SF_HIST_LINEAR) / SF_HIST_SUB;
	sub = (bucket - SF_HIST_LINEAR) % SF_HIST_SUB;
	return (uint64_t)(SF_HIST_SUB + sub) << (log - SF_HIST_SUB_BITS);
}

#endif
