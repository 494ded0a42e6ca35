/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What the processes of a benchmark share: the plan, the gate, and each worker's results. One
 * anonymous mapping, made before the processes are, so that addresses are the same in all of them.
 */
#ifndef SFCTL_BENCH_MEMORY_H
#define SFCTL_BENCH_MEMORY_H

#include "tools/bench_gate.h"
#include "tools/bench_loop.h"
#include "tools/bench_verify.h"
#include "tools/sfctl.h"

#include <stdalign.h>

/** What the command line asked for. A worker is one thread of one process. */
struct sfctl_bench_plan {
	enum sfctl_bench_mode mode;
	uint32_t processes;
	uint32_t threads; /* of each process */
	uint32_t wait;    /* SF_WAIT_... */
	uint64_t ids;     /* for each worker, timed as a whole */
	uint64_t samples; /* calls for each worker, timed one by one */
	bool verify;
};

/** Phases of the gate; the parent opens them. */
enum sfctl_bench_phase {
	SFCTL_BENCH_WARM,   /* open from the start: fetch, so that the daemon begins to beat */
	SFCTL_BENCH_ARM,    /* stop fetching and wait for the start */
	SFCTL_BENCH_RUN,    /* the timed pass */
	SFCTL_BENCH_SAMPLE, /* the sampled pass */
};

/** One worker's results: written by it before it arrives, read by the parent afterwards. */
struct sfctl_bench_worker {
	alignas(128) int64_t start_ns; /* of the timed pass */
	int64_t finish_ns;
	uint64_t sampled_ids; /* IDs that the sampled calls took */
	uint64_t *cycles;     /* plan.samples entries */
	/* what the worker took; NULL and 0 without plan.verify */
	struct sfctl_bench_list list;
	uint64_t *begin_ns; /* the list's times, as the worker writes them */
	uint64_t *end_ns;
};

struct sfctl_bench_memory {
	struct sfctl_bench_plan plan;
	struct sfctl_bench_gate *gate;
	struct sfctl_bench_worker *worker;
	uint32_t worker_count;
	void *map;
	size_t bytes;
};

/**
 * Map what the plan needs.
 * @return SFCTL_OK, or SFCTL_FAILED after one sentence on stderr that names what is needed
 */
int sfctl_bench_memory_init(struct sfctl_bench_memory *memory, const struct sfctl *sfctl,
			    const struct sfctl_bench_plan *plan);
void sfctl_bench_memory_deinit(struct sfctl_bench_memory *memory);

#endif
