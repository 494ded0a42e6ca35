/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * One claim out of the ring: which tick, and what to do when no ID can be given. Runs on the
 * caller's thread; enters the kernel only to sleep when the caller chose that, and to re-attach
 * when the daemon is gone.
 */
#include "libclient/client.h"

#include "libclient/formats/pack.h"
#include "libclient/probe.h"

#include "shm/beat.h"
#include "shm/pack.h"
#include "shm/tsc.h"

#include <errno.h>
#include <unistd.h>

/* Longest nap: bounds how late a change of the time page or a new ring is noticed. */
#define NAP_MAX_NS INT64_C(20000000)
/* Nap while the horizon is the obstacle: nobody knows when it will move. */
#define NAP_HORIZON_NS INT64_C(1000000)
/* A sleeper that finds its slot recycled looks at the clock again; this often in a row means more.
 */
#define STALE_MAX 64

enum ring_status {
	RING_OK,
	RING_AHEAD,   /* the tick lies past the ahead limit */
	RING_HORIZON, /* the tick is not published */
	RING_STALE,   /* the slot was recycled: the clock must be read again */
	RING_CLOSED,  /* the ring takes over from one that may still be claimed from */
	RING_BEHIND,  /* the wall went back, and the stream makes callers wait */
	RING_REFUSED, /* the same, and the stream refuses */
};

/** The slow path's view of one moment. */
struct moment {
	int64_t mono_ns; /* the daemon's monotonic clock */
	struct sf_shm_clock clock;
	uint64_t now_tick;
	uint64_t beat;
	bool live;
};

uint32_t sf_claim_limit(const struct sf_shm_ring *ring)
{
	uint32_t sixteenth = ring->grants->capacity / 16;

	if (sixteenth < 1)
		return 1;
	return sixteenth < SF_SHM_CLAIM_MAX ? sixteenth : SF_SHM_CLAIM_MAX;
}

void sf_count_taken(const struct sf_attachment *attachment, uint64_t count)
{
	/* Relaxed: a statistic. Once another attachment has taken over, sfd may have given the
	 * tally to the next client. */
	if (attachment->tally && !atomic_load_explicit(&attachment->newer, memory_order_relaxed))
		atomic_fetch_add_explicit(attachment->tally, count, memory_order_relaxed);
}

void sf_count_dropped(const struct sf_attachment *attachment, uint64_t count)
{
	/* relaxed: a statistic */
	atomic_fetch_add_explicit(&attachment->ring.claims->dropped, count, memory_order_relaxed);
	sf_count_taken(attachment, -count);
}

static int moment_read(const struct sf_client *client, const struct sf_attachment *attachment,
		       struct moment *ret)
{
	const struct sf_shm_grants *grants = attachment->ring.grants;

	/*
	 * Acquire, before the clock: the tick of a beat seen here is not behind the clock read
	 * after it. Pairs with the release in the daemon's beat.
	 */
	ret->beat = atomic_load_explicit(&grants->beat, memory_order_acquire);
	ret->mono_ns = client->mono_ns() + attachment->mono_offset_ns;
	if (sf_shm_time_read(&grants->time, &ret->clock) < 0)
		return -EAGAIN;
	ret->now_tick =
		sf_shm_tick_at(&grants->layout, sf_shm_clock_unix_ns(&ret->clock, ret->mono_ns));
	ret->live = sf_shm_beat_is_live(ret->beat, ret->now_tick);
	return 0;
}

/** Last tick that may be claimed from, whether published or not. */
static uint64_t ahead_limit(const struct sf_shm_ring *ring, const struct moment *moment)
{
	if (sf_shm_clock_behind(&moment->clock, moment->mono_ns) == SF_SHM_BEHIND_BORROW)
		return UINT64_MAX;
	return moment->now_tick + ring->grants->ahead_ticks;
}

/**
 * A floor above the horizon: clients of the sfd that this ring was handed over to are past this
 * one's horizon, or one is hostile, and its floor does not count.
 * @return whether the horizon is to be waited for
 */
static bool judge_floor(const struct sf_shm_ring *ring, uint64_t horizon, uint64_t *floor)
{
	uint64_t first_tick = ring->grants->first_tick;

	if (*floor <= horizon)
		return false;
	/* Relaxed: whoever let them was after this beat's owner, and the floor shows it. */
	if (!sf_shm_beat_has_owner(atomic_load_explicit(&ring->grants->beat, memory_order_relaxed)))
		return true;
	*floor = horizon < first_tick ? first_tick : horizon;
	return false;
}

/** The engine's three cases. `ret_tick` is the tick that could not be had, on failure. */
static enum ring_status ring_take(const struct sf_shm_ring *ring, const struct moment *moment,
				  uint32_t n, struct sf_shm_range *ret, uint64_t *ret_tick)
{
	/* Before the horizon: who raised the floor had seen one that covers it. */
	uint64_t floor = sf_shm_floor(ring);
	uint64_t horizon = sf_shm_horizon(ring);
	uint64_t limit = ahead_limit(ring, moment);
	uint64_t now = moment->now_tick;
	uint64_t tick;

	*ret_tick = floor;
	if (judge_floor(ring, horizon, &floor))
		return RING_HORIZON;
	for (tick = now > floor ? now : floor;; tick++) {
		*ret_tick = tick;
		if (tick > limit)
			return RING_AHEAD;
		if (tick > horizon)
			return RING_HORIZON;
		switch (sf_shm_claim(ring, tick, n, ret)) {
		case SF_SHM_CLAIM_OK:
			sf_shm_floor_raise(ring, tick);
			return RING_OK;
		case SF_SHM_CLAIM_WRONG_TAG:
			/* Far behind: we slept. Near: the word is spoilt, go past it. */
			if (sf_shm_horizon(ring) - tick > ring->grants->runway_ticks)
				return RING_STALE;
			break;
		case SF_SHM_CLAIM_EXHAUSTED:
			break;
		}
	}
}

/** Turns claimed counters into evenly spaced IDs; what does not fit the run is dropped. */
static void pack_range(const struct sf_attachment *attachment, struct sf_take *take)
{
	const struct sf_shm_ring *ring = &attachment->ring;
	uint32_t counter = take->range.start + take->range.first;
	uint32_t run = sf_shm_run(ring->grants, counter);

	take->count = take->range.count < run ? take->range.count : run;
	if (take->count < take->range.count)
		sf_count_dropped(attachment, take->range.count - take->count);
	take->first = sf_shm_pack(ring->grants, take->range.tick, counter);
	take->step = sf_shm_step(ring->grants);
}

/** The same in a wide format, where every range is a run. */
static void pack_wide(const struct sf_shm_ring *ring, struct sf_take *take)
{
	sf_wide_pack(ring->grants->layout.format, &take->range, ring->grants->node_packed[0],
		     take->range.first, &take->wide);
	take->count = take->range.count;
}

/** The ring after the cursor's that is still mapped, held; NULL if there is none. */
static struct sf_attachment *next_ring(struct sf_attachment *attachment)
{
	do /* N4, pairs with N3 */
		attachment = atomic_load_explicit(&attachment->newer, memory_order_acquire);
	while (attachment && !sf_attachment_try_hold(attachment));
	return attachment;
}

/** Moves the cursor to the ring after its own, if there is one. */
static bool move_over(struct sf_cursor_private *cursor)
{
	struct sf_attachment *old = cursor->attachment;
	struct sf_attachment *next = next_ring(old);

	if (!next)
		return false;
	sf_cursor_leave(cursor);
	cursor->attachment = next;
	cursor->ordered.ready = 0;
	sf_attachment_release(old);
	sf_attachment_put(old);
	return true;
}

/**
 * The cursor's ring goes on under another sfd: the claim words and the floor are the same, so there
 * is no runway to wait out. Until then both sfds' grants may be claimed from, each up to its
 * horizon, since no tick is granted twice with different counters.
 */
static void follow_ring(struct sf_cursor_private *cursor)
{
	for (;;) {
		const struct sf_attachment *own = cursor->attachment;
		/* N4, pairs with N3 */
		const struct sf_attachment *newer =
			atomic_load_explicit(&own->newer, memory_order_acquire);

		if (!newer || newer->claims_inode != own->claims_inode ||
		    newer->claims_device != own->claims_device || !move_over(cursor))
			return;
	}
}

/** What the caller hears when its time is up. */
static int give_up(const struct sf_cursor_private *cursor, const struct moment *moment,
		   enum ring_status status)
{
	if (status == RING_HORIZON && !sf_shm_beat_has_owner(moment->beat) &&
	    sf_reattach_is_away(cursor->client))
		return -ESHUTDOWN;
	return cursor->wait == SF_WAIT_NONE ? -EAGAIN : -ETIMEDOUT;
}

/** When to look again, on our own monotonic clock. */
static int64_t wake_time(const struct sf_attachment *attachment, const struct moment *moment,
			 enum ring_status status, uint64_t tick)
{
	const struct sf_shm_grants *grants = attachment->ring.grants;
	int64_t here = moment->mono_ns - attachment->mono_offset_ns;
	int64_t until;

	if (status == RING_CLOSED)
		until = grants->open_mono_ns;
	else if (status == RING_BEHIND)
		until = moment->clock.base_mono_ns;
	else if (status == RING_AHEAD)
		until = sf_shm_clock_mono_ns(
			&moment->clock,
			sf_shm_tick_start_ns(&grants->layout, tick - grants->ahead_ticks));
	else
		return here + NAP_HORIZON_NS;
	if (until - moment->mono_ns > NAP_MAX_NS)
		return here + NAP_MAX_NS;
	return until - attachment->mono_offset_ns;
}

static void count_wait(const struct sf_shm_ring *ring)
{
	/* relaxed: a statistic */
	atomic_fetch_add_explicit(&ring->claims->waits, 1, memory_order_relaxed);
}

/** No ID now. @return 0 to try again, or the error to give up with */
static int wait_or_give_up(struct sf_cursor_private *cursor, const struct moment *moment,
			   enum ring_status status, uint64_t tick, int64_t *deadline_ns)
{
	const struct sf_attachment *attachment = cursor->attachment;
	int64_t here = moment->mono_ns - attachment->mono_offset_ns;
	int64_t wake;

	if (tick > attachment->ring.grants->last_tick)
		return -EOVERFLOW;
	if (status == RING_REFUSED) {
		count_wait(&attachment->ring);
		return -ETIME;
	}
	if (*deadline_ns == 0) {
		count_wait(&attachment->ring);
		*deadline_ns = cursor->timeout_ns < 0 || cursor->timeout_ns > INT64_MAX - here
				       ? INT64_MAX
				       : here + cursor->timeout_ns;
	}
	if (cursor->wait == SF_WAIT_NONE || here >= *deadline_ns)
		return give_up(cursor, moment, status);
	if (cursor->wait == SF_WAIT_SPIN) {
		__builtin_ia32_pause();
		return 0;
	}
	wake = wake_time(attachment, moment, status, tick);
	cursor->client->sleep_until(wake < *deadline_ns ? wake : *deadline_ns);
	return 0;
}

/**
 * Whether the stream's policy lets IDs be given at this moment. A ring that is behind ends with its
 * daemon: nobody is left to hear of the wall, and the next ring may be claimed from at once.
 */
static enum ring_status behind_status(const struct moment *moment)
{
	if (moment->clock.behind != SF_SHM_BEHIND_NOTHING && !sf_shm_beat_has_owner(moment->beat))
		return RING_HORIZON;
	switch (sf_shm_clock_behind(&moment->clock, moment->mono_ns)) {
	case SF_SHM_BEHIND_WAIT:
		return RING_BEHIND;
	case SF_SHM_BEHIND_REFUSE:
		return RING_REFUSED;
	case SF_SHM_BEHIND_NOTHING:
	case SF_SHM_BEHIND_BORROW:
	default:
		return RING_OK;
	}
}

/** One try at the ring. A page that cannot be read counts as a slot that was recycled. */
static enum ring_status try_take(struct sf_cursor_private *cursor, uint32_t n, uint32_t n_idle,
				 struct moment *moment, struct sf_take *take, uint64_t *ret_tick)
{
	struct sf_attachment *attachment = cursor->attachment;
	enum ring_status status;

	if (moment_read(cursor->client, attachment, moment) < 0)
		return RING_STALE;
	if (!sf_shm_beat_has_owner(moment->beat))
		sf_reattach_step(cursor->client, moment->mono_ns - attachment->mono_offset_ns);
	*ret_tick = moment->now_tick;
	status = behind_status(moment);
	if (status == RING_OK && moment->mono_ns < attachment->ring.grants->open_mono_ns)
		status = RING_CLOSED;
	if (status == RING_OK)
		status = ring_take(&attachment->ring, moment, moment->live ? n : n_idle,
				   &take->range, ret_tick);
	if (status != RING_OK)
		return status;
	sf_count_taken(attachment, take->range.count);
	take->beat = moment->beat;
	take->live = moment->live;
	if (attachment->ring.grants->layout.format == SF_FORMAT_SNOWFLAKE)
		pack_range(attachment, take);
	else
		pack_wide(&attachment->ring, take);
	return RING_OK;
}

/** What is left until the wall has caught up, for who waits for that. */
static int64_t remaining_ns(const struct moment *moment, enum ring_status status)
{
	return status == RING_BEHIND || status == RING_REFUSED
		       ? moment->clock.base_mono_ns - moment->mono_ns
		       : 0;
}

/** The probes of a claim that ends well. `begin`: as sf_tsc_begin(), or 0 if nobody asked then. */
static void tell_claim(struct sf_cursor_private *cursor, const struct sf_take *take, uint64_t begin)
{
	struct sf_held *held = sf_held(sf_cursor_public(cursor));

	if (begin != 0 && SF_PROBE_IS_ON(claim))
		SF_PROBE4(claim, cursor->client->stream, take->range.tick, take->range.count,
			  sf_tsc_end() - begin);
	if (SF_PROBE_IS_ON(fork) && cursor->is_used && !held->is_used)
		SF_PROBE2(fork, cursor->client->stream, (int32_t)getpid());
	cursor->is_used = 1;
	held->is_used = 1;
}

/** The probe of a wait that has ended, one way or the other. */
static void tell_wait(const struct sf_cursor_private *cursor, enum ring_status status,
		      int64_t begin_ns)
{
	if (SF_PROBE_IS_ON(wait))
		SF_PROBE3(wait, cursor->client->stream, (int32_t)status,
			  cursor->client->mono_ns() - begin_ns);
}

/** Waits until the ring gives, or the caller's time is up. `*status` is what it said last. */
static int take_waiting(struct sf_cursor_private *cursor, uint32_t n, uint32_t n_idle,
			int64_t *deadline_ns, struct sf_take *ret_take, enum ring_status *status)
{
	struct moment moment = {0};
	uint64_t tick = 0;
	int stale = 0;

	for (;;) {
		enum ring_status now;
		int error;

		follow_ring(cursor);
		now = try_take(cursor, n, n_idle, &moment, ret_take, &tick);
		cursor->remaining_ns = remaining_ns(&moment, now);
		if (now == RING_OK)
			return 0;
		*status = now;
		if (now == RING_STALE && ++stale < STALE_MAX)
			continue;
		stale = 0;
		if (now == RING_HORIZON && move_over(cursor))
			continue;
		if (cursor->wait_begin_ns == 0)
			cursor->wait_begin_ns = moment.mono_ns - cursor->attachment->mono_offset_ns;
		error = wait_or_give_up(cursor, &moment, now, tick, deadline_ns);
		if (error < 0)
			return error;
	}
}

int sf_take(struct sf_cursor_private *cursor, uint32_t n, uint32_t n_idle, int64_t *deadline_ns,
	    struct sf_take *ret_take)
{
	enum ring_status status = RING_OK;
	uint64_t begin = SF_PROBE_IS_ON(claim) ? sf_tsc_begin() : 0;
	int error;

	cursor->wait_begin_ns = 0;
	error = take_waiting(cursor, n, n_idle, deadline_ns, ret_take, &status);
	if (cursor->wait_begin_ns != 0)
		tell_wait(cursor, status, cursor->wait_begin_ns);
	if (error == 0)
		tell_claim(cursor, ret_take, begin);
	return error;
}
