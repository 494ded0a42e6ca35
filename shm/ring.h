/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The ring of one stream: publish (daemon), claim (clients), floor, and how a counter becomes an
 * ID. Pure operations on shared memory: no clock, no system call, no allocation.
 *
 * Pairs in this file:
 *   R1 publish -> A1 claim     the grant is visible before its claim word carries the tag
 *   R2 horizon -> A2 horizon   a tick at or below the horizon has its claim word installed
 *   R3 grant   -> A3, A5       a grant's fields belong to the tick read before and after them
 *   R4 floor   -> A4 floor     a caller that starts after another returned sees its tick
 */
#ifndef SF_SHM_RING_H
#define SF_SHM_RING_H

#include "shm/pack.h"

#include <stdbool.h>

/* Tests stretch race windows here; nothing otherwise. */
#ifndef SF_SHM_HOOK
#define SF_SHM_HOOK(place) ((void)0)
#endif
#define SF_SHM_HOOK_BEFORE_ADD 1  /* claim: tag and counter looked good, not yet added */
#define SF_SHM_HOOK_AFTER_ADD 2   /* claim: added, the result not yet judged */
#define SF_SHM_HOOK_GRANT_OPEN 3  /* publish: grant invalid, claim word still the old tick's */
#define SF_SHM_HOOK_BEFORE_WORD 4 /* publish: grant whole, claim word still the old tick's */

/** Where the parts of a mapped ring are. Clients cast away no const: grants are mapped read-only.
 */
struct sf_shm_ring {
	struct sf_shm_grants *grants;
	struct sf_shm_grant *grant;
	struct sf_shm_claims *claims;
	struct sf_shm_claim *claim;
	uint64_t mask; /* slots - 1 */
};

/** Counters of one tick that a claim took: first .. first + count - 1. */
struct sf_shm_range {
	uint64_t tick;
	uint32_t first;    /* counter */
	uint32_t count;    /* at least 1 */
	uint32_t start;    /* the grant's sequence offset */
	uint32_t capacity; /* the grant's */
	uint64_t base_high;
	uint64_t base_low;
};

enum sf_shm_claim_status {
	SF_SHM_CLAIM_OK,
	SF_SHM_CLAIM_EXHAUSTED, /* every counter of the tick is taken */
	SF_SHM_CLAIM_WRONG_TAG, /* the slot holds another tick */
};

static inline uint64_t sf_shm_word(uint64_t tick, uint32_t counter)
{
	return tick << 32 | counter;
}

static inline uint32_t sf_shm_word_tag(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

static inline uint32_t sf_shm_word_counter(uint64_t word)
{
	return (uint32_t)word;
}

static inline void sf_shm_ring_map(struct sf_shm_ring *ring, void *grants, void *claims,
				   uint32_t slots)
{
	ring->grants = grants;
	ring->grant = (struct sf_shm_grant *)((char *)grants + SF_SHM_HEADER_BYTES);
	ring->claims = claims;
	ring->claim = (struct sf_shm_claim *)((char *)claims + SF_SHM_HEADER_BYTES);
	ring->mask = slots - 1;
}

/**
 * Where tally `number` is, which is 1 .. sf_shm_tallies(slots): first one a line, the head's lines
 * before the slots', so that clients share a line, with each other or with a claim word, only when
 * they are many.
 */
static inline _Atomic uint64_t *sf_shm_tally(const struct sf_shm_ring *ring, uint32_t number)
{
	const uint64_t lines = SF_SHM_SPARE_LINES + ring->mask + 1;
	char *first = (char *)ring->claims + offsetof(struct sf_shm_claims, spare);
	struct sf_shm_claim *line = (struct sf_shm_claim *)first + (number - 1) % lines;

	return &line->tally[(number - 1) / lines];
}

static inline uint64_t sf_shm_horizon(const struct sf_shm_ring *ring)
{
	/* A2, pairs with R2 */
	return atomic_load_explicit(&ring->grants->horizon, memory_order_acquire);
}

/** The floor. Writable by clients: may hold anything. */
static inline uint64_t sf_shm_floor(const struct sf_shm_ring *ring)
{
	/* A4, pairs with R4 */
	return atomic_load_explicit(&ring->claims->floor, memory_order_acquire);
}

static inline void sf_shm_floor_raise(const struct sf_shm_ring *ring, uint64_t tick)
{
	/* relaxed: only a guess for the compare-and-swap, and never acted upon */
	uint64_t seen = atomic_load_explicit(&ring->claims->floor, memory_order_relaxed);

	while (seen < tick) {
		/* R4, pairs with A4. Relaxed on failure: the loop only compares what it saw. */
		if (atomic_compare_exchange_weak_explicit(&ring->claims->floor, &seen, tick,
							  memory_order_release,
							  memory_order_relaxed))
			return;
	}
}

/** Read a grant, and say whether it was that of `tick` all the while. */
static inline bool sf_shm_grant_read(const struct sf_shm_ring *ring, uint64_t tick,
				     struct sf_shm_range *ret)
{
	const struct sf_shm_grant *grant = &ring->grant[tick & ring->mask];

	/* A3, pairs with R3 */
	if (atomic_load_explicit(&grant->tick, memory_order_acquire) != tick)
		return false;
	/* relaxed: between A3 and A5 */
	ret->capacity = atomic_load_explicit(&grant->capacity, memory_order_relaxed);
	ret->start = atomic_load_explicit(&grant->start, memory_order_relaxed);
	ret->base_high = atomic_load_explicit(&grant->base_high, memory_order_relaxed);
	ret->base_low = atomic_load_explicit(&grant->base_low, memory_order_relaxed);
	ret->tick = tick;
	atomic_thread_fence(memory_order_acquire); /* A5, pairs with R3's fence in publish */
	/* relaxed: ordered after the fields by A5 */
	return atomic_load_explicit(&grant->tick, memory_order_relaxed) == tick;
}

/**
 * Counts what an add took from a slot that turned out to hold another tick: those counters are
 * gone, and nobody has them.
 */
static inline void sf_shm_count_lost(const struct sf_shm_ring *ring, uint64_t slot, uint64_t seen,
				     uint32_t n)
{
	/* relaxed: a statistic */
	uint32_t capacity = atomic_load_explicit(&ring->grant[slot].capacity, memory_order_relaxed);
	uint32_t counter = sf_shm_word_counter(seen);

	if (counter >= capacity)
		return;
	if (n > capacity - counter)
		n = capacity - counter;
	atomic_fetch_add_explicit(&ring->claims->dropped, n, memory_order_relaxed);
}

/**
 * Take up to `n` counters of `tick` (n is 1..SF_SHM_CLAIM_MAX). Looks before it adds: that keeps
 * the counter's overshoot below one claim a thread, far from the tag.
 */
static inline enum sf_shm_claim_status sf_shm_claim(const struct sf_shm_ring *ring, uint64_t tick,
						    uint32_t n, struct sf_shm_range *ret)
{
	_Atomic uint64_t *word = &ring->claim[tick & ring->mask].word;
	/* A1, pairs with R1 */
	uint64_t seen = atomic_load_explicit(word, memory_order_acquire);
	uint32_t run;

	if (sf_shm_word_tag(seen) != (uint32_t)tick || !sf_shm_grant_read(ring, tick, ret))
		return SF_SHM_CLAIM_WRONG_TAG;
	if (sf_shm_word_counter(seen) >= ret->capacity)
		return SF_SHM_CLAIM_EXHAUSTED;
	/* Not past the end of a run, unless somebody else claims in between. */
	run = sf_shm_run(ring->grants, ret->start + sf_shm_word_counter(seen));
	if (n > run)
		n = run;
	SF_SHM_HOOK(SF_SHM_HOOK_BEFORE_ADD);
	/* A1 again: the word may carry a newer tag by now, whose grant the re-read below sees */
	seen = atomic_fetch_add_explicit(word, n, memory_order_acquire);
	SF_SHM_HOOK(SF_SHM_HOOK_AFTER_ADD);
	/* A tag of another turn, or the same 32 bits 2^32 ticks later: drop what was taken. */
	if (sf_shm_word_tag(seen) != (uint32_t)tick || !sf_shm_grant_read(ring, tick, ret)) {
		sf_shm_count_lost(ring, tick & ring->mask, seen, n);
		return SF_SHM_CLAIM_WRONG_TAG;
	}
	if (sf_shm_word_counter(seen) >= ret->capacity)
		return SF_SHM_CLAIM_EXHAUSTED;
	ret->first = sf_shm_word_counter(seen);
	ret->count = n < ret->capacity - ret->first ? n : ret->capacity - ret->first;
	return SF_SHM_CLAIM_OK;
}

/** What publishing learned of the tick that held the slot before. */
struct sf_shm_retired {
	uint64_t tick;    /* 0: the slot was never used */
	uint32_t claimed; /* counters handed out, exact */
	bool spoilt;      /* a client wrote nonsense into the claim word */
};

/**
 * Daemon, beat thread only: publish one tick. The caller raises the horizon afterwards and has
 * checked tick <= mark. Returns the exact count of the tick that held the slot before.
 */
static inline struct sf_shm_retired sf_shm_publish(const struct sf_shm_ring *ring,
						   const struct sf_shm_range *grant)
{
	struct sf_shm_grant *slot = &ring->grant[grant->tick & ring->mask];
	/* relaxed: this thread is the only writer of grants */
	uint64_t old_tick = atomic_load_explicit(&slot->tick, memory_order_relaxed);
	uint32_t old_capacity = atomic_load_explicit(&slot->capacity, memory_order_relaxed);
	struct sf_shm_retired retired = {.tick = old_tick};
	uint64_t word;

	/* relaxed: the fence below orders it before the fields */
	atomic_store_explicit(&slot->tick, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release); /* R3's fence, pairs with A5 */
	SF_SHM_HOOK(SF_SHM_HOOK_GRANT_OPEN);
	atomic_store_explicit(&slot->capacity, grant->capacity, memory_order_relaxed);
	atomic_store_explicit(&slot->start, grant->start, memory_order_relaxed);
	atomic_store_explicit(&slot->base_high, grant->base_high, memory_order_relaxed);
	atomic_store_explicit(&slot->base_low, grant->base_low, memory_order_relaxed);
	/* R3, pairs with A3 */
	atomic_store_explicit(&slot->tick, grant->tick, memory_order_release);
	SF_SHM_HOOK(SF_SHM_HOOK_BEFORE_WORD);
	/*
	 * R1, pairs with A1. An exchange, not a store: an add that comes in between a load and a
	 * store would vanish from the count. Acquire is not needed: only the number is used.
	 */
	word = atomic_exchange_explicit(&ring->claim[grant->tick & ring->mask].word,
					sf_shm_word(grant->tick, 0), memory_order_release);
	if (old_tick == 0)
		return retired;
	retired.spoilt = sf_shm_word_tag(word) != (uint32_t)old_tick;
	if (!retired.spoilt)
		retired.claimed = sf_shm_word_counter(word) < old_capacity
					  ? sf_shm_word_counter(word)
					  : old_capacity;
	return retired;
}

/** Daemon, beat thread only: after every tick up to `tick` has been published (or given back). */
static inline void sf_shm_horizon_set(const struct sf_shm_ring *ring, uint64_t tick)
{
	/* R2, pairs with A2 */
	atomic_store_explicit(&ring->grants->horizon, tick, memory_order_release);
}

/** Counters claimed so far of a tick that is still in the ring; 0 when it is not. */
static inline uint32_t sf_shm_claimed(const struct sf_shm_ring *ring, uint64_t tick)
{
	const struct sf_shm_grant *grant = &ring->grant[tick & ring->mask];
	/* relaxed: a statistic */
	uint64_t word =
		atomic_load_explicit(&ring->claim[tick & ring->mask].word, memory_order_relaxed);
	uint32_t capacity = atomic_load_explicit(&grant->capacity, memory_order_relaxed);

	if (sf_shm_word_tag(word) != (uint32_t)tick ||
	    atomic_load_explicit(&grant->tick, memory_order_relaxed) != tick)
		return 0;
	return sf_shm_word_counter(word) < capacity ? sf_shm_word_counter(word) : capacity;
}

#endif
