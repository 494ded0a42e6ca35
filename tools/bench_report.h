/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The results of a benchmark, worked out and printed. Main thread, after the workers have ended.
 */
#ifndef SFCTL_BENCH_REPORT_H
#define SFCTL_BENCH_REPORT_H

#include "shm/control.h"
#include "tools/bench_memory.h"

/** The time-stamp counter against the clock, and what reading it costs. */
struct sfctl_bench_tsc {
	double ns_per_cycle;
	double pair_ns; /* two readings with nothing in between, median */
};

/** Measure the time-stamp counter. Takes 20 ms. */
void sfctl_bench_tsc_init(struct sfctl_bench_tsc *tsc);

/** What the parent learned on the way. */
struct sfctl_bench_outcome {
	struct sfctl_bench_tsc tsc;
	/* the daemon before and after the timed pass */
	struct sf_control_stats before;
	struct sf_control_stats after;
	/* the two come from one daemon, so that their difference means something */
	bool has_difference;
	/* only with plan.verify */
	struct sfctl_bench_findings findings;
};

/**
 * Prints text of less than 80 columns, or with --json an object, on stdout. Sorts the samples.
 * @return SFCTL_OK, or SFCTL_FAILED after one sentence on stderr
 */
int sfctl_bench_report(const struct sfctl *sfctl, const struct sfctl_bench_memory *memory,
		       const struct sfctl_bench_outcome *outcome);

/** Name of a mode, as the command line has it. */
const char *sfctl_bench_mode_word(enum sfctl_bench_mode mode);

#endif
