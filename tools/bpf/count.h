/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Adding to a histogram in the kernel, from any number of CPUs at once.
 */
#ifndef SF_BPF_COUNT_H
#define SF_BPF_COUNT_H

#include "hist.h"

/* Whoever is overtaken this often leaves it to the others. */
#define SF_MAX_TRIES 8

static inline void sf_raise(uint64_t *max, uint64_t value)
{
	for (int i = 0; i < SF_MAX_TRIES; i++) {
		uint64_t seen = *(volatile uint64_t *)max;

		if (seen >= value || __sync_val_compare_and_swap(max, seen, value) == seen)
			return;
	}
}

static inline void sf_hist_add(struct sf_hist *hist, uint64_t value)
{
	__sync_fetch_and_add(&hist->bucket[sf_hist_bucket(value) & (SF_HIST_SLOTS - 1)], 1);
	__sync_fetch_and_add(&hist->count, 1);
	__sync_fetch_and_add(&hist->sum, value);
	sf_raise(&hist->max, value);
}

#endif
