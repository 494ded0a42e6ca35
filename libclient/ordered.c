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
 * Calls between two looks at the clock. A daemon that is stopped without dying leaves a beat that
 * looks live: this bounds how many IDs carry its old tick. One clock read is 27 ns: 0.1 ns a call.
 */
#define CLOCK_BUDGET 256

__attribute__((cold, noinline)) static int ordered_slow(struct sf_cursor_private *private,
							uint64_t *ret_id)
{
	struct sf_ordered *ordered = &private->ordered;
	int64_t deadline_ns = 0;
	struct sf_take take;
	int error;

	ordered->budget = 0;
	error = sf_take(private, 1, 1, &deadline_ns, &take);
	if (error < 0)
		return error;
	if (take.live) {
		ordered->beat = take.beat;
		ordered->tick = take.range.tick;
		ordered->range = take.range;
		ordered->budget = CLOCK_BUDGET;
	}
	*ret_id = take.first;
	return 0;
}

int sf_next_ordered(struct sf_cursor *cursor, uint64_t *ret_id)
{
	struct sf_cursor_private *private = sf_cursor_private(cursor);
	const struct sf_shm_ring *ring = &private->attachment->ring;
	struct sf_ordered *ordered = &private->ordered;
	uint64_t word;

	if (__builtin_expect(cursor->next != cursor->end, 0))
		sf_cursor_drop(cursor, private);
	/* Relaxed beat: as in sf_next(). Acquire floor: A4 of shm/ring.h, makes the order. */
	if (ordered->budget == 0 ||
	    atomic_load_explicit(&ring->grants->beat, memory_order_relaxed) != ordered->beat ||
	    sf_shm_floor(ring) > ordered->tick)
		return ordered_slow(private, ret_id);
	ordered->budget--;
	/*
	 * No look before the add: the last call saw a free counter, so this thread overshoots a
	 * tick at most once. A1 of shm/ring.h.
	 */
	word = atomic_fetch_add_explicit(&ring->claim[ordered->tick & ring->mask].word, 1,
					 memory_order_acquire);
	/* Acquire: A3 of shm/ring.h; a tag that matches one turn of 2^32 ticks later fails here. */
	if (sf_shm_word_tag(word) != (uint32_t)ordered->tick ||
	    sf_shm_word_counter(word) >= ordered->range.capacity ||
	    atomic_load_explicit(&ring->grant[ordered->tick & ring->mask].tick,
				 memory_order_acquire) != ordered->tick)
		return ordered_slow(private, ret_id);
	*ret_id = sf_shm_pack(ring->grants, ordered->tick,
			      ordered->range.start + sf_shm_word_counter(word));
	return 0;
}
