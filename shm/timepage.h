/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The time page: turns CLOCK_MONOTONIC into the stream's Unix time and tick.
 *
 * A latch: two copies and a sequence whose lowest bit says which one to read. The writer rewrites
 * the copy that nobody reads and then turns readers to it. So a daemon killed between any two
 * stores leaves a page that still reads, the next one may go on with it, and no reader ever waits.
 *
 * Pairs in this file:
 *   T1 release -> B1 acquire   a reader that sees the new sequence sees the copy it points to
 *   T2 release fence -> B2     a reader that saw a store into a copy fails its re-check, for the
 *                              sequence that turned it away from that copy comes before the fence
 */
#ifndef SF_SHM_TIMEPAGE_H
#define SF_SHM_TIMEPAGE_H

#include "shm/abi.h"

#include <errno.h>

/** What holds while time stands still at the base, because the wall went back behind it. */
enum sf_shm_behind {
	SF_SHM_BEHIND_NOTHING = 0, /* IDs of the base's tick go on; the ahead limit holds */
	SF_SHM_BEHIND_WAIT = 1,    /* no ID is given until the base */
	SF_SHM_BEHIND_REFUSE = 2,  /* the same, and callers are told at once */
	SF_SHM_BEHIND_BORROW = 3,  /* the ahead limit is lifted */
};

/** Plain copy of what the page says. Before `base_mono_ns` time stands still at the base. */
struct sf_shm_clock {
	int64_t base_mono_ns;
	int64_t base_unix_ns;
	uint32_t shift;
	uint32_t behind; /* enum sf_shm_behind: in force before the base */
};

/** The policy in force at a monotonic reading. */
static inline enum sf_shm_behind sf_shm_clock_behind(const struct sf_shm_clock *clock,
						     int64_t mono_ns)
{
	return mono_ns < clock->base_mono_ns ? (enum sf_shm_behind)clock->behind
					     : SF_SHM_BEHIND_NOTHING;
}

/** Time on the page at a monotonic reading; before the base pair it is the base. */
static inline int64_t sf_shm_clock_unix_ns(const struct sf_shm_clock *clock, int64_t mono_ns)
{
	int64_t passed = mono_ns - clock->base_mono_ns;

	return passed <= 0 ? clock->base_unix_ns : clock->base_unix_ns + (passed >> clock->shift);
}

/** Monotonic time at which the page will show `unix_ns`; INT64_MAX if time stands still. */
static inline int64_t sf_shm_clock_mono_ns(const struct sf_shm_clock *clock, int64_t unix_ns)
{
	int64_t ahead = unix_ns - clock->base_unix_ns;

	if (ahead <= 0)
		return clock->base_mono_ns;
	if (clock->shift >= 63 || ahead > ((INT64_MAX - clock->base_mono_ns) >> clock->shift))
		return INT64_MAX;
	return clock->base_mono_ns + (int64_t)((uint64_t)ahead << clock->shift);
}

/** Tick that holds a Unix time, rounded down; 0 before the second tick, which is never published.
 */
static inline uint64_t sf_shm_tick_at(const struct sf_layout *layout, int64_t unix_ns)
{
	int64_t since = unix_ns - layout->epoch_ms * INT64_C(1000000);

	return since <= 0 ? 0 : (uint64_t)since / (layout->tick_ms * UINT64_C(1000000));
}

/** Unix time at which a tick begins, ns. The tick lies inside the layout. */
static inline int64_t sf_shm_tick_start_ns(const struct sf_layout *layout, uint64_t tick)
{
	return (layout->epoch_ms + (int64_t)(tick * layout->tick_ms)) * INT64_C(1000000);
}

/** The last tick of a layout whose start still fits a signed 64-bit count of nanoseconds. */
static inline uint64_t sf_shm_last_tick(const struct sf_layout *layout)
{
	uint64_t representable = sf_shm_tick_at(layout, INT64_MAX);
	uint64_t last = sf_layout_last_tick(layout);

	return last < representable ? last : representable;
}

static inline void sf_shm_time_store(struct sf_shm_time *copy, const struct sf_shm_clock *clock)
{
	/* relaxed: the latch around it orders them */
	atomic_store_explicit(&copy->base_mono_ns, clock->base_mono_ns, memory_order_relaxed);
	atomic_store_explicit(&copy->base_unix_ns, clock->base_unix_ns, memory_order_relaxed);
	atomic_store_explicit(&copy->shift, (uint64_t)clock->behind << 32 | clock->shift,
			      memory_order_relaxed);
}

/** Daemon, beat thread only: show a new clock. */
static inline void sf_shm_time_write(struct sf_shm_timepage *page, const struct sf_shm_clock *clock)
{
	/* relaxed: this thread is the only writer */
	uint64_t next = atomic_load_explicit(&page->sequence, memory_order_relaxed) + 1;

	atomic_thread_fence(memory_order_release); /* T2, pairs with B2 */
	sf_shm_time_store(&page->copy[next & 1], clock);
	/* T1, pairs with B1 */
	atomic_store_explicit(&page->sequence, next, memory_order_release);
}

/**
 * Read the clock on the page.
 * @return 0, or -EAGAIN when the page changed under every try, which a sane daemon cannot cause
 */
static inline int sf_shm_time_read(const struct sf_shm_timepage *page, struct sf_shm_clock *ret)
{
	for (int tries = 0; tries < 64; tries++) {
		/* B1, pairs with T1 */
		uint64_t sequence = atomic_load_explicit(&page->sequence, memory_order_acquire);
		const struct sf_shm_time *copy = &page->copy[sequence & 1];
		uint64_t shift = atomic_load_explicit(&copy->shift, memory_order_relaxed);
		struct sf_shm_clock clock = {
			.base_mono_ns =
				atomic_load_explicit(&copy->base_mono_ns, memory_order_relaxed),
			.base_unix_ns =
				atomic_load_explicit(&copy->base_unix_ns, memory_order_relaxed),
			.shift = (uint32_t)shift,
			.behind = (uint32_t)(shift >> 32),
		};

		atomic_thread_fence(memory_order_acquire); /* B2, pairs with T2 */
		/* relaxed: ordered after the loads above by B2 */
		if (atomic_load_explicit(&page->sequence, memory_order_relaxed) == sequence) {
			*ret = clock;
			return 0;
		}
	}
	return -EAGAIN;
}

#endif
