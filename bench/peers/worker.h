/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What every C program of bench/peers is: a worker that takes IDs in one way, under the command of
 * measure.py. The workers in other languages follow the same rules (bench/README.md).
 *
 *   PROGRAM WAY first                             one ID: prints when it started and when it had it
 *   PROGRAM WAY time THREADS MS                   as many as it can
 *   PROGRAM WAY count THREADS N                   exactly N, about
 *   PROGRAM WAY collect THREADS MS CAP FILE       as time, at most CAP a thread, which go to FILE
 *   PROGRAM WAY fork THREADS MS CAP FILE          takes some, forks, and both go on: the parent's
 * go to FILE, the child's to FILE.child
 *
 * All but `first` print "ready", wait for a line on stdin, work, and print one JSON object: ids,
 * ns (of one thread), cpu_ns, begin_ns and end_ns (CLOCK_MONOTONIC).
 */
#ifndef BENCH_PEERS_WORKER_H
#define BENCH_PEERS_WORKER_H

#include "bench/bench_support.h"

#include <stddef.h>
#include <stdint.h>

#define PEER_ID_SIZE 32

/** An ID of whatever length, padded with zeros. */
union peer_id {
	uint64_t words[PEER_ID_SIZE / 8];
	unsigned char bytes[PEER_ID_SIZE];
};

/** A way to get IDs. Errors are negative errno values, after a sentence on stderr where one helps.
 */
struct peer_way {
	const char *name;
	/** Opens what one thread needs, on that thread. NULL: nothing. */
	int (*open)(void **ret_state);
	/** Before each measurement, untimed; NULL: take some. */
	int (*warm)(void *state);
	/** Takes `count` IDs, into `ids` unless that is NULL. */
	int (*run)(void *state, uint64_t count, union peer_id *ids);
	/** Counts come in multiples of this. */
	uint64_t multiple;
};

/** One ID. What it does not write of *ret_id is zero already. */
typedef int (*peer_next_fn)(void *state, union peer_id *ret_id);

/** The loop of peer_way.run over `next`, which is inlined when it is a constant. */
static inline __attribute__((always_inline)) int peer_loop(peer_next_fn next, void *state,
							   uint64_t count, union peer_id *ids)
{
	union peer_id id = {{0}};
	int error = 0;

	if (ids) {
		for (uint64_t i = 0; i < count && error >= 0; i++)
			error = next(state, &ids[i]);
		return error;
	}
	for (uint64_t i = 0; i < count; i++) {
		error = next(state, &id);
		if (error < 0)
			return error;
		BENCH_KEEP(&id);
	}
	return error;
}

/** main() of a worker. @return an exit code */
int peer_main(int argc, char **argv, const struct peer_way *ways, size_t n);

#endif
