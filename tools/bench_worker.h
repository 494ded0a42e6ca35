/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A worker process of a benchmark: one client, and a cursor for each of its threads.
 */
#ifndef SFCTL_BENCH_WORKER_H
#define SFCTL_BENCH_WORKER_H

#include "tools/bench_memory.h"

/**
 * Do the work of process number `process` and end it: exit code 0, or 1 after one sentence on
 * stderr. Leaves the parent's buffered output alone.
 */
_Noreturn void sfctl_bench_worker_main(const struct sfctl *sfctl, struct sfctl_bench_memory *memory,
				       uint32_t process);

#endif
