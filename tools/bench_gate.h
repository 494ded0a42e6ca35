/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Where the workers of a benchmark meet: workers arrive and wait, the parent gathers them and opens
 * the next phase. Lies in memory shared by all processes. A worker that dies never arrives, so the
 * parent gathers with a time-out and looks after its children in between.
 *
 * The one place in tools/ with atomics: shm/ holds the stream's protocol, and this is none of it.
 *
 * Pairs in this file:
 *   G1 arrive -> G2 gather   the parent sees what a worker wrote before it arrived
 *   G3 open   -> G4 wait     a worker sees what the parent wrote before it opened the phase
 */
#ifndef SFCTL_BENCH_GATE_H
#define SFCTL_BENCH_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sfctl_bench_gate {
	/* phase that is open | W: parent | R: workers | release G3, acquire G4 */
	_Atomic uint32_t phase;
	uint8_t pad0[124];
	/* arrivals of all workers so far | W: workers | R: parent | release G1, acquire G2 */
	_Atomic uint32_t arrivals;
	uint8_t pad1[124];
};

/** Worker: say that all before this call is done. */
void sfctl_bench_gate_arrive(struct sfctl_bench_gate *gate);

/** Worker: whether a phase is open yet; cheap enough for a loop. */
static inline bool sfctl_bench_gate_is_open(struct sfctl_bench_gate *gate, uint32_t phase)
{
	/* G4, pairs with G3 */
	return atomic_load_explicit(&gate->phase, memory_order_acquire) >= phase;
}

/** Worker: wait until a phase is open. Spins first, so that all workers start close together. */
void sfctl_bench_gate_wait(struct sfctl_bench_gate *gate, uint32_t phase);

/** Parent: open a phase. */
void sfctl_bench_gate_open(struct sfctl_bench_gate *gate, uint32_t phase);

/** Parent: wait at most `timeout_ms` until there were `arrivals` since the start. */
bool sfctl_bench_gate_gather(struct sfctl_bench_gate *gate, uint32_t arrivals, int timeout_ms);

#endif
