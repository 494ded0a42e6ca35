/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sf_next_ordered and its wide twin: one counter a call, straight from the claim word. While the
 * beat stands still the tick is the one of the last call, unless the floor has passed it, so
 * neither the clock nor the grant is looked at.
 */
#include "libclient/client.h"

#include "shm/pack.h"

#include <errno.h>

/*
 * Counters of a tick between two looks at the clock, by whoever takes that counter. A daemon that
 * is stopped without dying leaves a beat that looks live: this bounds how many IDs carry its old
 * tick, for who looks claims from the present one and so raises the floor for all. A power of two.
 */
#define CLOCK_EVERY 256u

/** What a cursor's cached tick is good for: IDs of one width. */
enum readiness {
	READY_NARROW = 1,
	READY_WIDE = 2,
};

/** Makes the tick of a claim ready for the next calls. */
static void reuse(struct sf_ordered *ordered, const struct sf_shm_ring *ring,
		  const struct sf_take *take)
{
	uint64_t slot = take->range.tick & ring->mask;
	bool is_wide = ring->grants->layout.format != SF_FORMAT_SNOWFLAKE;

	/* Node ids that are not neighbours: a counter's ID takes more than a shift. */
	if (sf_shm_run(ring->grants, 0) < take->range.start + take->range.capacity)
		return;
	*ordered = (struct sf_ordered){
		.ready = is_wide ? READY_WIDE : READY_NARROW,
		.capacity = take->range.capacity,
		.beat = take->beat,
		.tick = take->range.tick,
		.first = is_wide ? take->wide.low - take->range.first
				 : sf_shm_pack(ring->grants, take->range.tick, take->range.start),
		.high = take->wide.high,
		.shift = ring->grants->layout.sequence_shift,
		.shared_beat = &ring->grants->beat,
		.floor = &ring->claims->floor,
		.grant_tick = &ring->grant[slot].tick,
		.word = &ring->claim[slot].word,
	};
}

/** A claim by the clock. */
static int claim_one(struct sf_cursor *cursor, bool is_wide, struct sf_take *ret_take)
{
	struct sf_cursor_private *private = sf_cursor_private(cursor);
	int64_t deadline_ns = 0;
	int error;

	if (sf_cursor_is_wide(private) != is_wide)
		return -ENOTSUP;
	sf_cursor_drop(cursor, private);
	private->ordered.ready = 0;
	error = sf_take(private, 1, 1, &deadline_ns, ret_take);
	if (error == 0 && ret_take->live)
		reuse(&private->ordered, &private->attachment->ring, ret_take);
	return error;
}

__attribute__((cold, noinline)) static int ordered_slow(struct sf_cursor *cursor, uint64_t *ret_id)
{
	struct sf_take take;
	int error = claim_one(cursor, false, &take);

	if (error < 0)
		return error;
	*ret_id = take.first;
	return 0;
}

__attribute__((cold, noinline)) static int ordered128_slow(struct sf_cursor *cursor,
							   struct sf_wide *ret_id)
{
	struct sf_take take;
	int error = claim_one(cursor, true, &take);

	if (error < 0)
		return error;
	*ret_id = take.wide;
	return 0;
}

/** The add took nothing of the cached tick; what it took of another is lost. */
static void count_missed(const struct sf_cursor_private *private, uint64_t word)
{
	const struct sf_shm_ring *ring = &private->attachment->ring;

	if (sf_shm_word_tag(word) != (uint32_t) private->ordered.tick)
		sf_shm_count_lost(ring, private->ordered.tick & ring->mask, word, 1);
}

__attribute__((cold, noinline)) static int ordered_missed(struct sf_cursor *cursor, uint64_t word,
							  uint64_t *ret_id)
{
	count_missed(sf_cursor_private(cursor), word);
	return ordered_slow(cursor, ret_id);
}

__attribute__((cold, noinline)) static int ordered128_missed(struct sf_cursor *cursor,
							     uint64_t word, struct sf_wide *ret_id)
{
	count_missed(sf_cursor_private(cursor), word);
	return ordered128_slow(cursor, ret_id);
}

/** The cursor has no range of its own, and the cached tick is still the one to claim from. */
static inline bool may_reuse(const struct sf_cursor *cursor, const struct sf_ordered *ordered,
			     enum readiness readiness)
{
	/* Relaxed beat: as in sf_next(). Acquire floor: A4 of shm/ring.h, makes the order. */
	return cursor->next == cursor->end && cursor->low == cursor->low_end &&
	       ordered->ready == readiness &&
	       atomic_load_explicit(ordered->shared_beat, memory_order_relaxed) == ordered->beat &&
	       atomic_load_explicit(ordered->floor, memory_order_acquire) <= ordered->tick;
}

/** The add took a free counter of the cached tick. */
static inline bool has_taken(const struct sf_ordered *ordered, uint64_t word)
{
	/* Acquire: A3 of shm/ring.h; a tag that matches 2^32 ticks later fails here. */
	return sf_shm_word_tag(word) == (uint32_t)ordered->tick &&
	       sf_shm_word_counter(word) < ordered->capacity &&
	       atomic_load_explicit(ordered->grant_tick, memory_order_acquire) == ordered->tick;
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

	if (__builtin_expect(!may_reuse(cursor, ordered, READY_NARROW), 0))
		return ordered_slow(cursor, ret_id);
	/*
	 * No look before the add: the last call saw a free counter, so this thread overshoots a
	 * tick at most once. A1 of shm/ring.h.
	 */
	word = atomic_fetch_add_explicit(ordered->word, 1, memory_order_acquire);
	counter = sf_shm_word_counter(word);
	if (__builtin_expect(!has_taken(ordered, word), 0))
		return ordered_missed(cursor, word, ret_id);
	if (__builtin_expect(counter % CLOCK_EVERY == 0, 0))
		ordered->ready = 0;
	sf_held(cursor)->uncounted++;
	*ret_id = ordered->first + ((uint64_t)counter << ordered->shift);
	return 0;
}

int sf_next128_ordered(struct sf_cursor *cursor, struct sf_wide *ret_id)
{
	struct sf_ordered *ordered = &sf_cursor_private(cursor)->ordered;
	uint32_t counter;
	uint64_t word;

	if (__builtin_expect(!may_reuse(cursor, ordered, READY_WIDE), 0))
		return ordered128_slow(cursor, ret_id);
	/* As above. */
	word = atomic_fetch_add_explicit(ordered->word, 1, memory_order_acquire);
	counter = sf_shm_word_counter(word);
	if (__builtin_expect(!has_taken(ordered, word), 0))
		return ordered128_missed(cursor, word, ret_id);
	if (__builtin_expect(counter % CLOCK_EVERY == 0, 0))
		ordered->ready = 0;
	sf_held(cursor)->uncounted++;
	*ret_id = (struct sf_wide){.high = ordered->high, .low = ordered->first + counter};
	return 0;
}
