/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What a cycle of the time-stamp counter is worth, and what timing something with it costs. Any
 * thread.
 */
#ifndef SFCTL_TRACE_TSC_H
#define SFCTL_TRACE_TSC_H

#include <stdint.h>

/** One look at both clocks. */
struct sfctl_tsc {
	uint64_t tsc;
	int64_t mono_ns;
};

struct sfctl_tsc sfctl_tsc_now(void);
/** Cycles a nanosecond, between two looks; the further they are apart, the better. */
double sfctl_tsc_ghz(struct sfctl_tsc begin, struct sfctl_tsc end);

/** What the library's stopwatch is like. */
struct sfctl_stopwatch {
	double cost; /* cycles that it counts when there is nothing between start and stop */
	double step; /* cycles that the counter moves by: a single time is no finer than that */
};

struct sfctl_stopwatch sfctl_stopwatch_try(void);

#endif
