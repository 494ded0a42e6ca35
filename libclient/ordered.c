/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sf_next_ordered: one counter a call, straight from the claim word. While the beat stands still
 * the tick is the one of the last call, unless the floor has passed it, so neither the clock nor
 * the grant is looked at.
 */
#include "libclient/client.h"

#include "shm/pack.h"

/*
 * Counters of a tick between two looks at the clock, by whoever takes that counter. A daemon that
 * is stopped without dying leaves a beat that looks live: this bounds how many IDs carry its old
 * tick, for who looks claims from the present one and so raises the floor for all. A power of two.
 */
#define CLOCK_EVERY 256u

/** Makes the tick of a claim ready for the next calls. */
static void reuse(struct sf_ordered *ordered, const struct sf_shm_ring *ring,
		  const struct sf_take *take)
{
	uint64_t slot = take->range.tick & ring->mask;

	/* Node ids that are not neighbours: a counter's ID takes more than a shift. */
	if (sf_shm_run(ring->grants, 0) < take->range.start + take->range.capacity)
		return;
	*ordered = (struct sf_ordered){
		.ready = 1,
		.capacity = take->range.capacity,
		.beat = take->beat,
		.tick = take->range.tick,
		.first = sf_shm_pack(ring->grants, take->range.tick, take->range.start),
		.shift = ring->grants->layout.sequence_shift,
		.shared_beat = &ring->grants->beat,
		.floor = &ring->claims->floor,
		.grant_tick = &ring->grant[slot].tick,
		.word = &ring->claim[slot].word,
	};
}

__attribute__((cold, noinline)) static int ordered_slow(struct sf_cursor *cursor, uint64_t *ret_id)
{
	struct sf_cursor_private *private = sf_cursor_private(cursor);
	int64_t deadline_ns = 0;
	struct sf_take take;
	int error;

	sf_cursor_drop(cursor, private);
	private->ordered.ready = 0;
	error = sf_take(private, 1, 1, &deadline_ns, &take);
	if (error < 0)
		return error;
	if (take.live)
		reuse(&private->ordered, &private->attachment->ring, &take);
	*ret_id = take.first;
	return 0;
}

/** The add took nothing of the cached tick. */
__attribute__((cold, noinline)) static int ordered_missed(struct sf_cursor *cursor, uint64_t word,
							  uint64_t *ret_id)
{
	const struct sf_cursor_private *private = sf_cursor_private(cursor);
	const struct sf_shm_ring *ring = &private->attachment->ring;

	if (sf_shm_word_tag(word) != (uint32_t) private->ordered.tick)
		sf_shm_count_lost(ring, private->ordered.tick & ring->mask, word, 1);
	return ordered_slow(cursor, ret_id);
}

/** The cursor has no range of its own, and the cached tick is still the one to claim from. */
static bool may_reuse(const struct sf_cursor *cursor, const struct sf_ordered *ordered)
{
	/* Relaxed beat: as in sf_next(). Acquire floor: A4 of shm/ring.h, makes the order. */
	return cursor->next == cursor->end && ordered->ready &&
	       atomic_load_explicit(ordered->shared_beat, memory_order_relaxed) == ordered->beat &&
	       atomic_load_explicit(ordered->floor, memory_order_acquire) <= ordered->tick;
}

/*
 * Two cores fight over the claim word, so what counts is the time from one add to the next: nothing
 * is stored here but the result, and the rare cases are tail calls that save no registers first.
 */
int sf_next_ordered(struct sf_cursor *cursor, uint64_t *ret_id)
{
	struct sf_ordered *ordered = &sf_cursor_private(cursor)->ordered;
	uint32_t counter;
	uint64_t word;

	if (__builtin_expect(!may_reuse(cursor, ordered), 0))
		return ordered_slow(cursor, ret_id);
	/*
	 * No look before the add: the last call saw a free counter, so this thread overshoots a
	 * tick at most once. A1 of shm/ring.h.
	 */
	word = atomic_fetch_add_explicit(ordered->word, 1, memory_order_acquire);
	counter = sf_shm_word_counter(word);
	/* Acquire: A3 of shm/ring.h; a tag that matches 2^32 ticks later fails here. */
	if (__builtin_expect(sf_shm_word_tag(word) != (uint32_t)ordered->tick ||
				     counter >= ordered->capacity ||
				     atomic_load_explicit(ordered->grant_tick,
							  memory_order_acquire) != ordered->tick,
			     0))
		return ordered_missed(cursor, word, ret_id);
	if (__builtin_expect(counter % CLOCK_EVERY == 0, 0))
		ordered->ready = 0;
	*ret_id = ordered->first + ((uint64_t)counter << ordered->shift);
	return 0;
}
