/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * See check.h.
 */
#include "tests/chaos/check.h"

#include "tests/chaos/marks.h"

#include <pthread.h>
#include <stdlib.h>

#define IDLE_NAP_US 500

struct checker {
	unsigned stream;
	pthread_t thread;
	struct chaos_marks marks;
	struct chaos_totals totals;
	struct chaos_id last[CHAOS_LANES_MAX]; /* of the lane's cursor */
};

static struct checker checker[CHAOS_STREAMS];
/* Set once nothing more comes. */
static _Atomic bool is_closing;

static void complain(const char *what, const struct checker *own, unsigned lane,
		     const struct chaos_run *run)
{
	chaos_find("%s: stream %s, lane %u, %s: %u IDs from %016llx%016llx on, after "
		   "%016llx%016llx",
		   what, chaos_stream_name(own->stream), lane, chaos_mode_name(run->mode),
		   atomic_load_explicit(&run->count, memory_order_relaxed),
		   (unsigned long long)run->high, (unsigned long long)run->low,
		   (unsigned long long)own->last[lane].high,
		   (unsigned long long)own->last[lane].low);
}

static void check_run(struct checker *own, unsigned lane, const struct chaos_run *run)
{
	/* relaxed: read after the tail */
	uint32_t count = atomic_load_explicit(&run->count, memory_order_relaxed);
	const struct chaos_stream_state *state = &chaos->stream[own->stream];
	struct chaos_id first = {.low = run->low, .high = run->high};
	int64_t duplicates;

	if (run->mode == CHAOS_CURSOR) {
		own->last[lane] = first;
		return;
	}
	own->totals.ids[run->mode] += count;
	if (!chaos_is_less(own->last[lane], first)) {
		own->totals.order[run->mode]++;
		complain("order", own, lane, run);
	}
	if (!chaos_is_less(own->marks.sealed, first)) {
		own->totals.order[run->mode]++;
		complain("an ID of minutes ago", own, lane, run);
	}
	duplicates = chaos_marks_add(&own->marks, first, count, state->shift);
	if (duplicates < 0) {
		chaos_find("out of memory for the IDs of stream %s",
			   chaos_stream_name(own->stream));
		abort();
	}
	if (duplicates > 0) {
		own->totals.duplicates[run->mode] += (uint64_t)duplicates;
		complain("duplicate", own, lane, run);
	}
	own->last[lane] =
		(struct chaos_id){.low = first.low + (count - 1) * state->step, .high = first.high};
}

/** @return how many runs there were */
static uint64_t check_lane(struct checker *own, unsigned number)
{
	struct chaos_lane *lane = &chaos->lane[number];
	/* Acquire, pairs with the client's release: the runs below are whole. */
	uint64_t tail = atomic_load_explicit(&lane->tail, memory_order_acquire);
	/* relaxed: this thread is the only writer */
	uint64_t head = atomic_load_explicit(&lane->head, memory_order_relaxed);
	uint64_t count = tail - head;

	for (; head < tail; head++)
		check_run(own, number, &lane->run[head % CHAOS_RUNS]);
	/* Release: what was read may be overwritten. */
	atomic_store_explicit(&lane->head, head, memory_order_release);
	return count;
}

static void *run_checker(void *argument)
{
	struct checker *own = argument;

	for (;;) {
		/* Acquire, before the lanes: what is closed by then is complete. */
		bool was_closing = atomic_load_explicit(&is_closing, memory_order_acquire);
		uint64_t count = 0;

		for (unsigned i = 0; i < CHAOS_LANES_MAX; i++)
			if (chaos->lane[i].stream == own->stream)
				count += check_lane(own, i);
		if (count == 0 && was_closing)
			return NULL;
		if (chaos_marks_age(&own->marks, (chaos_mono_ns() - chaos->began_ns) / 1000000000))
			abort();
		if (count == 0)
			chaos_nap_us(IDLE_NAP_US);
	}
}

int chaos_check_start(void)
{
	for (unsigned i = 0; i < CHAOS_STREAMS; i++) {
		checker[i].stream = i;
		if (chaos_marks_init(&checker[i].marks) < 0 ||
		    pthread_create(&checker[i].thread, NULL, run_checker, &checker[i]) != 0)
			return -1;
	}
	return 0;
}

void chaos_check_finish(struct chaos_totals *ret_totals)
{
	*ret_totals = (struct chaos_totals){0};
	atomic_store_explicit(&is_closing, true, memory_order_release);
	for (unsigned i = 0; i < CHAOS_STREAMS; i++) {
		(void)pthread_join(checker[i].thread, NULL);
		for (unsigned mode = 0; mode < CHAOS_MODES; mode++) {
			ret_totals->ids[mode] += checker[i].totals.ids[mode];
			ret_totals->duplicates[mode] += checker[i].totals.duplicates[mode];
			ret_totals->order[mode] += checker[i].totals.order[mode];
		}
		chaos_marks_deinit(&checker[i].marks);
	}
}
