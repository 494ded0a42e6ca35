/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * See record.h.
 */
#include "tests/chaos/record.h"

#define FULL_NAP_US 200

static struct chaos_run *run_at(struct chaos_lane *lane, uint64_t at)
{
	return &lane->run[at % CHAOS_RUNS];
}

/** Makes the entry after the tail empty, then makes it the tail. */
static void close_run(struct chaos_lane *lane, uint64_t tail)
{
	/* relaxed: ordered by the release of the tail */
	atomic_store_explicit(&run_at(lane, tail + 1)->count, 0, memory_order_relaxed);
	atomic_store_explicit(&lane->tail, tail + 1, memory_order_release);
}

static bool has_room(const struct chaos_lane *lane, uint64_t tail)
{
	/* Acquire, pairs with the checker's release: it has read what is overwritten now. */
	return tail + 2 - atomic_load_explicit(&lane->head, memory_order_acquire) <= CHAOS_RUNS;
}

/** @return how long that took */
static int64_t wait_for_room(const struct chaos_lane *lane, uint64_t tail)
{
	int64_t began_ns;

	if (has_room(lane, tail))
		return 0;
	began_ns = chaos_mono_ns();
	do
		chaos_nap_us(FULL_NAP_US);
	while (!has_room(lane, tail));
	return chaos_mono_ns() - began_ns;
}

static void begin_run(struct chaos_recorder *recorder, uint64_t high, uint64_t low, uint32_t count)
{
	struct chaos_lane *lane = recorder->lane;

	if (recorder->count != 0) {
		recorder->waited_ns += wait_for_room(lane, recorder->tail);
		close_run(lane, recorder->tail);
		recorder->tail++;
	}
	recorder->run = run_at(lane, recorder->tail);
	recorder->run->high = high;
	recorder->run->low = low;
	recorder->run->mode = recorder->mode;
	recorder->count = count;
	recorder->high = high;
	recorder->next = low + count * recorder->step;
	/* Release, pairs with the checker's acquire: the count makes the run. */
	atomic_store_explicit(&recorder->run->count, count, memory_order_release);
}

void chaos_record_run(struct chaos_recorder *recorder, uint64_t high, uint64_t low, uint32_t count)
{
	begin_run(recorder, high, low, count);
}

void chaos_record_begin(struct chaos_recorder *recorder, unsigned lane, struct chaos_id after)
{
	struct chaos_lane *own = &chaos->lane[lane];
	enum chaos_mode mode = recorder->mode;

	/* relaxed: whoever wrote here before has been waited for, or was this thread */
	*recorder = (struct chaos_recorder){
		.lane = own,
		.step = chaos->stream[own->stream].step,
		.tail = atomic_load_explicit(&own->tail, memory_order_relaxed),
	};
	recorder->run = run_at(own, recorder->tail);
	recorder->count = atomic_load_explicit(&recorder->run->count, memory_order_relaxed);
	recorder->mode = CHAOS_CURSOR;
	begin_run(recorder, after.high, after.low, 1);
	chaos_record_mode(recorder, mode);
}

void chaos_record_close(struct chaos_lane *lane)
{
	/* relaxed: the writer has ended */
	uint64_t tail = atomic_load_explicit(&lane->tail, memory_order_relaxed);

	if (atomic_load_explicit(&run_at(lane, tail)->count, memory_order_relaxed) == 0)
		return;
	(void)wait_for_room(lane, tail);
	close_run(lane, tail);
}
