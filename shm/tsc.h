/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The time-stamp counter around a few instructions. What lies between sf_tsc_begin() and
 * sf_tsc_end() neither begins before the one nor goes on after the other; what the two cost
 * themselves is in the difference, and whoever shows it measures an empty pair and takes that off.
 */
#ifndef SF_SHM_TSC_H
#define SF_SHM_TSC_H

#include <stdint.h>
#include <x86intrin.h>

static inline uint64_t sf_tsc_begin(void)
{
	uint64_t tsc;

	_mm_lfence(); /* what came before has ended */
	tsc = __rdtsc();
	_mm_lfence(); /* what is measured has not begun */
	return tsc;
}

static inline uint64_t sf_tsc_end(void)
{
	unsigned core;
	uint64_t tsc = __rdtscp(&core); /* waits for what was measured */

	_mm_lfence();
	return tsc;
}

#endif
