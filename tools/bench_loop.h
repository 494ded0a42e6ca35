/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The loops that a benchmark times. Each runs on a worker thread with a cursor of its own and does
 * nothing but take IDs: no output, no allocation.
 */
#ifndef SFCTL_BENCH_LOOP_H
#define SFCTL_BENCH_LOOP_H

#include <sfclient.h>
#include <stdint.h>

/** How IDs are taken. */
enum sfctl_bench_mode {
	SFCTL_BENCH_NEXT,    /* sf_next, inlined */
	SFCTL_BENCH_CALL,    /* sf_next as the library exports it */
	SFCTL_BENCH_ORDERED, /* sf_next_ordered */
	SFCTL_BENCH_FILL,    /* sf_fill in batches */
	SFCTL_BENCH_RANGE,   /* sf_claim_range */
	SFCTL_BENCH_MODES,
};

/** sf_next() in the library, called as other languages call it; bench_call.c. */
extern int (*const sfctl_bench_exported_next)(struct sf_cursor *cursor, uint64_t *ret_id);

/** IDs of one sf_fill() call, and most IDs of one sf_claim_range() call. */
#define SFCTL_BENCH_FILL_IDS 1000
#define SFCTL_BENCH_RANGE_IDS 1024

/** Most IDs that one call of a mode takes. */
uint64_t sfctl_bench_ids_per_call(enum sfctl_bench_mode mode);

/** What one worker takes, and where it goes. */
struct sfctl_bench_lane {
	struct sf_cursor *cursor;
	enum sfctl_bench_mode mode;
	/* where the IDs go, in the order they came; NULL: nowhere, and nothing is stored */
	uint64_t *ids;
	/* clock before and after each call; only for mode ordered with `ids` */
	uint64_t *begin_ns;
	uint64_t *end_ns;
	/* the ID that was refused last with -EAGAIN, and since when */
	uint64_t refused_at;
	int64_t refused_since_ns;
};

/** CLOCK_MONOTONIC. */
int64_t sfctl_bench_now_ns(void);

/** The CPU's time-stamp counter, ordered against everything before and after it. */
uint64_t sfctl_bench_cycles(void);

/**
 * Take `count` IDs, as fast as the mode allows. A cursor that does not wait is asked again, for at
 * most five seconds for one ID.
 * @return 0, or what the library refused with
 */
int sfctl_bench_take(struct sfctl_bench_lane *lane, uint64_t count);

/**
 * Make `calls` calls and measure each by itself. IDs go behind the `offset` IDs taken before.
 * @param ret_cycles `calls` entries; @param ret_ids how many IDs the calls took
 * @return as sfctl_bench_take()
 */
int sfctl_bench_sample(struct sfctl_bench_lane *lane, uint64_t offset, uint64_t calls,
		       uint64_t *ret_cycles, uint64_t *ret_ids);

#endif
