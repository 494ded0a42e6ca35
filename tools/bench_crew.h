/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The worker processes of a benchmark as their parent sees them. Main thread. When one of them
 * fails, all are ended: no benchmark goes on, or waits, for half of its workers.
 */
#ifndef SFCTL_BENCH_CREW_H
#define SFCTL_BENCH_CREW_H

#include "tools/bench_memory.h"

#include <sys/types.h>

/** Most processes, and most threads of one, of a benchmark. */
#define SFCTL_BENCH_PROCESSES_MAX 256
#define SFCTL_BENCH_THREADS_MAX 256

struct sfctl_bench_crew {
	const struct sfctl *sfctl;
	struct sfctl_bench_memory *memory;
	/* of the processes that were started; 0 = has been waited for */
	pid_t pid[SFCTL_BENCH_PROCESSES_MAX];
	uint32_t count;
};

/** Start the processes. @return SFCTL_OK, or SFCTL_FAILED after one sentence on stderr */
int sfctl_bench_crew_init(struct sfctl_bench_crew *crew, const struct sfctl *sfctl,
			  struct sfctl_bench_memory *memory);

/** End every process that still runs. */
void sfctl_bench_crew_deinit(struct sfctl_bench_crew *crew);

/**
 * Wait until every worker has arrived at the gate `times` times.
 * @return SFCTL_OK, or SFCTL_FAILED when a process failed, after one sentence on stderr
 */
int sfctl_bench_crew_gather(struct sfctl_bench_crew *crew, uint32_t times);

/** Wait until every process has ended. @return as sfctl_bench_crew_gather() */
int sfctl_bench_crew_join(struct sfctl_bench_crew *crew);

#endif
