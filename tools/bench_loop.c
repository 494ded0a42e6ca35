/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The timed loops, one a mode, with and without storing the IDs. Worker threads. The loop is
 * written once and inlined with a constant mode, so that each mode's machine code holds nothing of
 * the others.
 */
#include "tools/bench_loop.h"

#include <errno.h>
#include <stdbool.h>
#include <time.h>
#include <x86intrin.h>

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Longest that one ID may be refused to a cursor that does not wait. */
#define REFUSED_MAX_NS INT64_C(5000000000)

static ALWAYS_INLINE uint64_t ids_per_call(enum sfctl_bench_mode mode)
{
	if (mode == SFCTL_BENCH_FILL)
		return SFCTL_BENCH_FILL_IDS;
	return mode == SFCTL_BENCH_RANGE ? SFCTL_BENCH_RANGE_IDS : 1;
}

uint64_t sfctl_bench_ids_per_call(enum sfctl_bench_mode mode)
{
	return ids_per_call(mode);
}

int64_t sfctl_bench_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* The fences keep what is measured from moving out from between two readings. */
static ALWAYS_INLINE uint64_t cycles(void)
{
	uint64_t now;

	_mm_lfence();
	now = __rdtsc();
	_mm_lfence();
	return now;
}

uint64_t sfctl_bench_cycles(void)
{
	return cycles();
}

/** @return 0 to ask again, or the error to give up with */
__attribute__((cold, noinline)) static int refused(struct sfctl_bench_lane *lane, uint64_t at,
						   int error)
{
	int64_t now = sfctl_bench_now_ns();

	if (error != -EAGAIN)
		return error;
	if (lane->refused_since_ns == 0 || lane->refused_at != at) {
		lane->refused_at = at;
		lane->refused_since_ns = now;
	}
	return now - lane->refused_since_ns < REFUSED_MAX_NS ? 0 : -ETIMEDOUT;
}

/** @return how many IDs the range has, or a negative errno */
static ALWAYS_INLINE int take_range(struct sf_cursor *cursor, uint64_t *ids, uint64_t count,
				    bool keep)
{
	struct sf_range range;
	int error = sf_claim_range(cursor, (uint32_t)count, &range);

	if (error < 0)
		return error;
	ids[0] = range.first;
	for (uint32_t i = 1; keep && i < range.count; i++)
		ids[i] = range.first + i * range.step;
	return (int)range.count;
}

/**
 * One call that takes up to `count` IDs, which is at most what the mode takes at once.
 * @return how many it took, or a negative errno
 */
static ALWAYS_INLINE int take_once(struct sf_cursor *cursor, enum sfctl_bench_mode mode, bool keep,
				   uint64_t *ids, uint64_t count)
{
	int error = -EINVAL;

	switch (mode) {
	case SFCTL_BENCH_NEXT:
		error = sf_next(cursor, ids);
		break;
	case SFCTL_BENCH_CALL:
		error = sfctl_bench_exported_next(cursor, ids);
		break;
	case SFCTL_BENCH_ORDERED:
		error = sf_next_ordered(cursor, ids);
		break;
	case SFCTL_BENCH_FILL:
		error = sf_fill(cursor, ids, count);
		return error < 0 ? error : (int)count;
	case SFCTL_BENCH_RANGE:
		return take_range(cursor, ids, count, keep);
	case SFCTL_BENCH_MODES:
		break;
	}
	return error < 0 ? error : 1;
}

/*
 * The compiler must believe that the ID is used and that anything may have changed since, as in a
 * program that does something with its IDs; otherwise it would take all of a range at once.
 */
static ALWAYS_INLINE void keep_live(uint64_t id)
{
	__asm__ volatile("" : : "r"(id) : "memory");
}

static ALWAYS_INLINE int take_all(struct sfctl_bench_lane *lane, enum sfctl_bench_mode mode,
				  bool keep, uint64_t count)
{
	const uint64_t most = ids_per_call(mode);
	const bool keep_times = keep && mode == SFCTL_BENCH_ORDERED;
	/* Held in a register, as by any program that fetches in a loop. */
	struct sf_cursor *cursor = lane->cursor;
	uint64_t scratch[SFCTL_BENCH_FILL_IDS];
	uint64_t done = 0;

	while (done < count) {
		uint64_t *ids = keep ? lane->ids + done : scratch;
		uint64_t n = count - done < most ? count - done : most;
		int got;

		if (keep_times)
			lane->begin_ns[done] = (uint64_t)sfctl_bench_now_ns();
		got = take_once(cursor, mode, keep, ids, n);
		if (keep_times)
			lane->end_ns[done] = (uint64_t)sfctl_bench_now_ns();
		if (__builtin_expect(got < 0, 0)) {
			got = refused(lane, done, got);
			if (got < 0)
				return got;
			continue;
		}
		keep_live(ids[0]);
		done += (uint64_t)got;
	}
	return 0;
}

int sfctl_bench_take(struct sfctl_bench_lane *lane, uint64_t count)
{
	bool keep = lane->ids != NULL;

	switch (lane->mode) {
	case SFCTL_BENCH_NEXT:
		return keep ? take_all(lane, SFCTL_BENCH_NEXT, true, count)
			    : take_all(lane, SFCTL_BENCH_NEXT, false, count);
	case SFCTL_BENCH_CALL:
		return keep ? take_all(lane, SFCTL_BENCH_CALL, true, count)
			    : take_all(lane, SFCTL_BENCH_CALL, false, count);
	case SFCTL_BENCH_ORDERED:
		return keep ? take_all(lane, SFCTL_BENCH_ORDERED, true, count)
			    : take_all(lane, SFCTL_BENCH_ORDERED, false, count);
	case SFCTL_BENCH_FILL:
		return keep ? take_all(lane, SFCTL_BENCH_FILL, true, count)
			    : take_all(lane, SFCTL_BENCH_FILL, false, count);
	case SFCTL_BENCH_RANGE:
		return keep ? take_all(lane, SFCTL_BENCH_RANGE, true, count)
			    : take_all(lane, SFCTL_BENCH_RANGE, false, count);
	case SFCTL_BENCH_MODES:
		break;
	}
	return -EINVAL;
}

static ALWAYS_INLINE int sample_all(struct sfctl_bench_lane *lane, enum sfctl_bench_mode mode,
				    uint64_t *ids, uint64_t calls, uint64_t *ret_cycles,
				    uint64_t *ret_ids)
{
	uint64_t scratch[SFCTL_BENCH_RANGE_IDS];
	uint64_t taken = 0;
	uint64_t call = 0;

	while (call < calls) {
		uint64_t *to = ids ? ids + taken : scratch;
		uint64_t begin = cycles();
		int got = take_once(lane->cursor, mode, true, to, ids_per_call(mode));

		ret_cycles[call] = cycles() - begin;
		if (__builtin_expect(got < 0, 0)) {
			int error = refused(lane, call, got);

			if (error < 0)
				return error;
			continue; /* the same call again: only one that gives an ID is a sample */
		}
		taken += (uint64_t)got;
		call++;
	}
	*ret_ids = taken;
	return 0;
}

int sfctl_bench_sample(struct sfctl_bench_lane *lane, uint64_t offset, uint64_t calls,
		       uint64_t *ret_cycles, uint64_t *ret_ids)
{
	uint64_t *ids = lane->ids ? lane->ids + offset : NULL;

	/* The two passes count their refusals apart. */
	lane->refused_since_ns = 0;
	switch (lane->mode) {
	case SFCTL_BENCH_NEXT:
		return sample_all(lane, SFCTL_BENCH_NEXT, ids, calls, ret_cycles, ret_ids);
	case SFCTL_BENCH_CALL:
		return sample_all(lane, SFCTL_BENCH_CALL, ids, calls, ret_cycles, ret_ids);
	case SFCTL_BENCH_ORDERED:
		return sample_all(lane, SFCTL_BENCH_ORDERED, ids, calls, ret_cycles, ret_ids);
	case SFCTL_BENCH_FILL:
		return sample_all(lane, SFCTL_BENCH_FILL, ids, calls, ret_cycles, ret_ids);
	case SFCTL_BENCH_RANGE:
		return sample_all(lane, SFCTL_BENCH_RANGE, ids, calls, ret_cycles, ret_ids);
	case SFCTL_BENCH_MODES:
		break;
	}
	return -EINVAL;
}
