/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The gate: two words and their futexes. Called by the parent and by every worker thread, as the
 * header says; must never wait without bound in the parent.
 */
#include "tools/bench_gate.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A fraction of a millisecond of spinning: longer than the parent needs between two phases. */
#define SPINS 20000

static void futex_wait(_Atomic uint32_t *word, uint32_t seen, const struct timespec *timeout)
{
	/* Any result means: look again. */
	(void)syscall(SYS_futex, word, FUTEX_WAIT, seen, timeout, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
	(void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void sfctl_bench_gate_arrive(struct sfctl_bench_gate *gate)
{
	/* G1, pairs with G2 */
	atomic_fetch_add_explicit(&gate->arrivals, 1, memory_order_release);
	futex_wake(&gate->arrivals);
}

void sfctl_bench_gate_wait(struct sfctl_bench_gate *gate, uint32_t phase)
{
	for (int i = 0; i < SPINS; i++) {
		if (sfctl_bench_gate_is_open(gate, phase))
			return;
		__builtin_ia32_pause();
	}
	while (!sfctl_bench_gate_is_open(gate, phase)) {
		/* relaxed: the loop's condition is what orders */
		uint32_t seen = atomic_load_explicit(&gate->phase, memory_order_relaxed);

		if (seen < phase)
			futex_wait(&gate->phase, seen, NULL);
	}
}

void sfctl_bench_gate_open(struct sfctl_bench_gate *gate, uint32_t phase)
{
	/* G3, pairs with G4 */
	atomic_store_explicit(&gate->phase, phase, memory_order_release);
	futex_wake(&gate->phase);
}

bool sfctl_bench_gate_gather(struct sfctl_bench_gate *gate, uint32_t arrivals, int timeout_ms)
{
	struct timespec timeout = {.tv_sec = timeout_ms / 1000,
				   .tv_nsec = timeout_ms % 1000 * 1000000L};
	/* G2, pairs with G1 */
	uint32_t seen = atomic_load_explicit(&gate->arrivals, memory_order_acquire);

	if (seen >= arrivals)
		return true;
	futex_wait(&gate->arrivals, seen, &timeout);
	/* G2 again */
	return atomic_load_explicit(&gate->arrivals, memory_order_acquire) >= arrivals;
}
