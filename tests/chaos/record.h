/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Noting IDs in a lane. One thread; a forked child begins a lane of its own.
 *
 * The run that grows is the ring's entry at the tail, and its count is the last thing written: a
 * client that is killed between any two instructions has noted each ID once or, the one in its
 * hands, not at all.
 */
#ifndef CHAOS_RECORD_H
#define CHAOS_RECORD_H

#include "tests/chaos/chaos.h"

struct chaos_recorder {
	struct chaos_lane *lane;
	struct chaos_run *run;
	uint64_t next; /* lower half of the ID that would extend the run */
	uint64_t high;
	uint64_t step;
	uint64_t tail;
	uint32_t count; /* of the run; 0: it is not begun */
	uint32_t mode;
	int64_t waited_ns; /* for the checker, in all */
};

/** Begins with a new cursor; its IDs must be above `after`. */
void chaos_record_begin(struct chaos_recorder *recorder, unsigned lane, struct chaos_id after);
/** Begins a run. Waits while the checker has too much to do. */
void chaos_record_run(struct chaos_recorder *recorder, uint64_t high, uint64_t low, uint32_t count);
/** The conductor, or a parent: closes the lane of a process that has ended. */
void chaos_record_close(struct chaos_lane *lane);

/** What follows was taken in this way. */
static inline void chaos_record_mode(struct chaos_recorder *recorder, enum chaos_mode mode)
{
	recorder->mode = mode;
	recorder->high = UINT64_MAX; /* no ID extends the run before */
}

static inline void chaos_record(struct chaos_recorder *recorder, uint64_t high, uint64_t low)
{
	if (__builtin_expect(low != recorder->next || high != recorder->high ||
				     recorder->count - 1 >= CHAOS_RUN_MAX - 1,
			     0)) {
		chaos_record_run(recorder, high, low, 1);
		return;
	}
	recorder->next = low + recorder->step;
	/* Release: the ID is counted when it has been given. */
	atomic_store_explicit(&recorder->run->count, ++recorder->count, memory_order_release);
}

#endif
