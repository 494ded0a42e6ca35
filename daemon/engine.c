/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The tick engine; see engine.h.
 */
#include "daemon/engine.h"

#include "shm/beat.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define NS_PER_SECOND INT64_C(1000000000)
/* How long the claims are watched before beating stops; starting needs one wake-up. */
#define WINDOW_NS INT64_C(250000000)

void sfd_engine_init(struct sfd_engine *engine, const struct sf_shm_ring *ring,
		     struct sfd_runtime *runtime, struct sfd_stats *stats)
{
	uint64_t first = ring->grants->first_tick;

	memset(engine, 0, sizeof(*engine));
	engine->ring = *ring;
	engine->runtime = runtime;
	engine->stats = stats;
	engine->random = 1;
	engine->bases.draw = getrandom;
	engine->horizon = sf_shm_horizon(ring);
	engine->demand.counted_below = engine->horizon + 1;
	if (engine->horizon != 0) /* adopted */
		return;
	engine->horizon = first - 1;
	engine->demand.counted_below = first;
	/* Relaxed: the descriptors have not been handed out, nobody reads yet. */
	atomic_store_explicit(&ring->claims->floor, first, memory_order_relaxed);
	sf_shm_horizon_set(&engine->ring, engine->horizon);
}

/** xorshift64: cheap, and no secret; only spreads sequence numbers. */
static uint32_t random_below(struct sfd_engine *engine, uint32_t limit)
{
	engine->random ^= engine->random << 13;
	engine->random ^= engine->random >> 7;
	engine->random ^= engine->random << 17;
	return (uint32_t)((engine->random >> 32) * limit >> 32);
}

int sfd_engine_draw(struct sfd_engine *engine)
{
	struct sfd_bases *bases = &engine->bases;
	size_t got = 0;

	if (bases->left > 0)
		return 0;
	while (got < sizeof(bases->pool)) {
		ssize_t n = bases->draw((char *)bases->pool + got, sizeof(bases->pool) - got, 0);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			got += (size_t)n;
	}
	bases->left = sizeof(bases->pool) / sizeof(bases->pool[0]);
	return 0;
}

/** A random base; without one the tick grants nothing, since its IDs would be guessable or equal to
 *  another host's. */
static void draw_base(struct sfd_engine *engine, struct sf_shm_range *grant)
{
	struct sfd_bases *bases = &engine->bases;

	if (sfd_engine_draw(engine) < 0) {
		grant->capacity = 0;
		return;
	}
	grant->base_high = bases->pool[bases->left - 1];
	grant->base_low = bases->pool[bases->left - 2];
	bases->left -= 2;
}

static struct sf_shm_range make_grant(struct sfd_engine *engine, uint64_t tick)
{
	struct sf_shm_range grant = {.tick = tick, .capacity = engine->ring.grants->capacity};

	if (engine->spread) {
		grant.start = random_below(engine, engine->spread);
		grant.capacity -= grant.start;
	}
	if (engine->ring.grants->layout.format != SF_FORMAT_SNOWFLAKE)
		draw_base(engine, &grant);
	/* Tag 0 is what a claim word reads after a hole was punched: such a tick grants nothing. */
	if ((uint32_t)tick == 0)
		grant.capacity = 0;
	return grant;
}

/**
 * An sfd before this one granted the tick and took it back before anyone had a counter of it. The
 * grant stays as it was: a client that still looks at that sfd's grants may claim from it, too.
 */
static void publish_again(struct sfd_engine *engine, const struct sf_shm_range *grant)
{
	/* Before the word, which lets nobody claim until then: whoever claims from the tick, and
	 * raises the floor to it, finds a horizon that covers it. */
	sf_shm_horizon_set(&engine->ring, grant->tick);
	/* What the word says is what was added to take the tick back: nobody's IDs. */
	(void)sf_shm_publish(&engine->ring, grant);
}

static void publish_tick(struct sfd_engine *engine, uint64_t tick)
{
	struct sf_shm_range grant;
	struct sf_shm_retired retired;

	if (sf_shm_grant_read(&engine->ring, tick, &grant)) {
		publish_again(engine, &grant);
		return;
	}
	grant = make_grant(engine, tick);
	retired = sf_shm_publish(&engine->ring, &grant);
	if (retired.spoilt)
		sfd_stats_add(engine->stats, SF_COUNTER_slots_spoilt, 1);
	sfd_stats_add(engine->stats, SF_COUNTER_ids_recycled, retired.claimed);
	sfd_stats_add(engine->stats, SF_COUNTER_ticks_published, 1);
}

/** Callers wait or are refused, because the wall went back: nobody may use up a range meanwhile. */
static bool holds_back(const struct sfd_engine *engine)
{
	return engine->behind == SF_SHM_BEHIND_WAIT || engine->behind == SF_SHM_BEHIND_REFUSE;
}

static uint32_t state_of(const struct sfd_engine *engine, uint64_t now, uint64_t mark)
{
	const struct sf_shm_grants *grants = engine->ring.grants;

	if (now == 0)
		return SF_SHM_WAITING;
	if (now > grants->last_tick)
		return SF_SHM_EXHAUSTED;
	if (holds_back(engine))
		return SF_SHM_BEHIND;
	return mark < now ? SF_SHM_HELD : SF_SHM_RUNNING;
}

uint64_t sfd_engine_claimed_up_to(const struct sfd_engine *engine)
{
	uint64_t floor = sf_shm_floor(&engine->ring);

	return floor < engine->horizon ? floor : engine->horizon;
}

/** Where the runway begins while ticks are borrowed: after what was claimed, but no further than
 *  time would have come by itself (nor below the ring's beginning, which a restart left ahead). */
static uint64_t borrowed_up_to(const struct sfd_engine *engine, uint64_t now)
{
	uint64_t most = engine->borrow_tick > engine->ring.grants->first_tick
				? engine->borrow_tick
				: engine->ring.grants->first_tick;
	uint64_t claimed = sfd_engine_claimed_up_to(engine);

	if (claimed < now)
		claimed = now;
	return claimed < most ? claimed : most;
}

/** Publishes up to the runway's end. */
static void publish_runway(struct sfd_engine *engine, uint64_t now, uint64_t mark)
{
	struct sf_shm_grants *grants = engine->ring.grants;
	uint64_t target = now + grants->runway_ticks;
	uint64_t tick = engine->horizon + 1;

	if (engine->behind == SF_SHM_BEHIND_BORROW)
		target = borrowed_up_to(engine, now) + grants->runway_ticks;
	if (now == 0)
		return;
	if (target > mark)
		target = mark;
	if (target > grants->last_tick)
		target = grants->last_tick;
	if (tick < now) /* a forward step: what lies behind is of no use to anyone */
		tick = now;
	if (tick > target)
		return;
	/*
	 * Before anything is published: a daemon that dies in the loop below leaves a record that
	 * covers it. Release, so that it is not seen later than the ring's words.
	 */
	atomic_store_explicit(&engine->runtime->horizon, target, memory_order_release);
	for (; tick <= target; tick++)
		publish_tick(engine, tick);
	engine->horizon = target;
	sf_shm_horizon_set(&engine->ring, target);
}

bool sfd_engine_publish(struct sfd_engine *engine, uint64_t now, uint64_t mark)
{
	struct sf_shm_grants *grants = engine->ring.grants;
	uint32_t state = state_of(engine, now, mark);
	/* relaxed: only picks an error message */
	bool changed = atomic_load_explicit(&grants->state, memory_order_relaxed) != state;

	/* From the first turn on the record speaks of this ring. */
	engine->runtime->generation = grants->generation;
	atomic_store_explicit(&grants->state, state, memory_order_relaxed);
	publish_runway(engine, now, mark);
	return changed;
}

/** Claims of a tick that have not been counted yet. */
static uint64_t count_tick(const struct sfd_engine *engine, uint64_t tick)
{
	const struct sfd_demand *demand = &engine->demand;
	uint64_t claimed = sf_shm_claimed(&engine->ring, tick);
	uint64_t before = tick == demand->open_tick ? demand->open_claims : 0;

	return claimed > before ? claimed - before : 0;
}

/** Claims in ticks that have passed since the last look; while time stands still, also in the tick
 *  that it stands at, or there would seem to be no demand. */
static uint64_t count_new(struct sfd_engine *engine, uint64_t now)
{
	struct sfd_demand *demand = &engine->demand;
	uint64_t tick = demand->counted_below;
	uint64_t claimed = 0;

	if (now > tick) {
		if (now - tick > engine->ring.mask)
			tick = now - engine->ring.mask;
		for (; tick < now; tick++)
			claimed += count_tick(engine, tick);
		demand->counted_below = now;
	}
	if (engine->behind == SF_SHM_BEHIND_BORROW) {
		uint64_t more = count_tick(engine, now);

		demand->open_claims = more + (demand->open_tick == now ? demand->open_claims : 0);
		demand->open_tick = now;
		claimed += more;
	}
	return claimed;
}

static void count_second(struct sfd_engine *engine, int64_t mono_ns)
{
	struct sfd_demand *demand = &engine->demand;
	int64_t passed = mono_ns - demand->second_start_ns;
	uint64_t minute = 0;
	uint64_t per_second;

	if (passed < NS_PER_SECOND)
		return;
	per_second = (uint64_t)((double)demand->second * NS_PER_SECOND / (double)passed);
	memmove(demand->seconds + 1, demand->seconds, sizeof(demand->seconds) - sizeof(uint64_t));
	demand->seconds[0] = per_second;
	if (demand->seconds_known < SFD_RATE_SECONDS)
		demand->seconds_known++;
	for (uint32_t i = 0; i < demand->seconds_known; i++)
		minute += demand->seconds[i];
	sfd_stats_set(engine->stats, SF_COUNTER_rate_1s, per_second);
	sfd_stats_set(engine->stats, SF_COUNTER_rate_60s, minute / demand->seconds_known);
	demand->second = 0;
	demand->second_start_ns = mono_ns;
}

void sfd_engine_measure(struct sfd_engine *engine, uint64_t now, int64_t mono_ns)
{
	struct sfd_demand *demand = &engine->demand;
	uint64_t claimed = count_new(engine, now);
	int64_t tick_ns = engine->ring.grants->layout.tick_ms * INT64_C(1000000);
	int64_t passed;

	if (demand->second_start_ns == 0) {
		demand->second_start_ns = mono_ns;
		demand->window_start_ns = mono_ns;
	}
	demand->second += claimed;
	demand->window += claimed;
	count_second(engine, mono_ns);
	passed = mono_ns - demand->window_start_ns;
	/* A tick's claims show when it has passed: judge whole ticks only. */
	if (passed < (engine->beating ? WINDOW_NS + 2 * tick_ns : tick_ns))
		return;
	engine->beating = (double)demand->window * NS_PER_SECOND / (double)passed >=
			  (engine->beating ? SFD_BEAT_STOP_RATE : SFD_BEAT_START_RATE);
	sfd_stats_set(engine->stats, SF_COUNTER_beating, engine->beating);
	demand->window = 0;
	demand->window_start_ns = mono_ns;
}

void sfd_engine_beat(struct sfd_engine *engine, uint64_t now)
{
	struct sf_shm_grants *grants = engine->ring.grants;
	uint64_t beat = engine->beating && !holds_back(engine)
				? sf_shm_beat_make(engine->owner, now)
				: sf_shm_beat_idle(engine->owner);

	/* relaxed: this thread is the only writer while it lives */
	if (atomic_load_explicit(&grants->beat, memory_order_relaxed) == beat)
		return;
	/* Release, pairs with the acquire before the clock in the client's slow path. */
	atomic_store_explicit(&grants->beat, beat, memory_order_release);
	sfd_stats_add(engine->stats, SF_COUNTER_beats, 1);
}

uint64_t sfd_engine_stop(struct sfd_engine *engine, uint64_t now, uint32_t keep)
{
	struct sf_shm_grants *grants = engine->ring.grants;
	uint64_t last = now + keep < engine->horizon ? now + keep : engine->horizon;
	uint64_t tick;

	/* The clock may not be there yet: what lies below is the ring's before this one. */
	if (last < grants->first_tick - 1)
		last = grants->first_tick - 1;
	for (tick = last + 1; tick <= engine->horizon; tick++) {
		_Atomic uint64_t *word = &engine->ring.claim[tick & engine->ring.mask].word;
		/*
		 * One add: nobody can win against it, and who came before is seen. Relaxed: only
		 * the number counts.
		 */
		uint64_t before =
			atomic_fetch_add_explicit(word, grants->capacity, memory_order_relaxed);

		if (sf_shm_word_counter(before) != 0)
			last = tick;
	}
	engine->horizon = last;
	sf_shm_horizon_set(&engine->ring, last);
	/* relaxed: only picks an error message */
	atomic_store_explicit(&grants->state, SF_SHM_STOPPED, memory_order_relaxed);
	/* No owner: every cursor leaves its range, and clients look for the next daemon. Release:
	 * whoever sees it sees the lowered horizon. */
	atomic_store_explicit(&grants->beat, 0, memory_order_release);
	atomic_store_explicit(&engine->runtime->horizon, last, memory_order_release);
	return last;
}

static uint64_t claimed_in_ring(const struct sfd_engine *engine)
{
	uint64_t horizon = sf_shm_horizon(&engine->ring);
	uint64_t claimed = 0;

	for (uint64_t slot = 0; slot <= engine->ring.mask; slot++) {
		/* relaxed: a statistic */
		uint64_t tick =
			atomic_load_explicit(&engine->ring.grant[slot].tick, memory_order_relaxed);

		/* above the horizon: taken back, its word says nothing */
		if (tick != 0 && tick <= horizon)
			claimed += sf_shm_claimed(&engine->ring, tick);
	}
	return claimed;
}

uint64_t sfd_engine_claimed(const struct sfd_engine *engine)
{
	uint64_t claimed;
	uint64_t retired;

	/* A slot that is reused while the ring is read would count twice or not at all. */
	for (int tries = 0; tries < 8; tries++) {
		retired = sfd_stats_get(engine->stats, SF_COUNTER_ids_recycled);
		claimed = claimed_in_ring(engine);
		if (sfd_stats_get(engine->stats, SF_COUNTER_ids_recycled) == retired)
			break;
	}
	return retired + claimed;
}
