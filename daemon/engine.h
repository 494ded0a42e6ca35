/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The tick engine of one stream: publishes ahead, beats while there is demand, counts what was
 * claimed, gives the unused runway back. Pure: a function of its state, the ring, and the tick and
 * time it is given; no clock, no system call, no log. Called by the beat thread only, except
 * sfd_engine_claimed(), which any thread may call.
 */
#ifndef SFD_ENGINE_H
#define SFD_ENGINE_H

#include "daemon/mark.h"
#include "daemon/stats.h"
#include "shm/ring.h"

#include "shm/timepage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** Claims a second from which on the daemon beats, and below which it stops. */
#define SFD_BEAT_START_RATE 20000
#define SFD_BEAT_STOP_RATE 10000
#define SFD_RATE_SECONDS 60

/** Claims by second, for the rates and for the choice between beating and idling. */
struct sfd_demand {
	uint64_t counted_below; /* ticks below have been looked at */
	uint64_t open_tick;     /* while ticks are borrowed: one that stands, and has been, too */
	uint64_t open_claims;   /* as far as this */
	int64_t window_start_ns;
	uint64_t window;
	int64_t second_start_ns;
	uint64_t second; /* claims of the second that runs */
	uint64_t seconds[SFD_RATE_SECONDS];
	uint32_t seconds_known;
};

/** Random bits of wide formats, drawn many ticks at a time. */
struct sfd_bases {
	/* fills the buffer, as getrandom(2) does; replaceable by tests */
	ssize_t (*draw)(void *buffer, size_t bytes, unsigned flags);
	uint64_t pool[256];
	uint32_t left; /* of the pool, from its start */
};

struct sfd_engine {
	struct sf_shm_ring ring; /* writable */
	struct sfd_runtime *runtime;
	struct sfd_stats *stats;
	uint64_t horizon;
	uint32_t owner;  /* thread id for the beat's futex half */
	uint32_t spread; /* random start of a tick's sequence: 0 .. spread - 1; 0 = always 0 */
	uint64_t random; /* state of the generator behind it, never 0 */
	bool beating;
	/* set before each turn: the clock's policy in force, and the last tick that may be borrowed
	 * while that is to borrow */
	enum sf_shm_behind behind;
	uint64_t borrow_tick;
	struct sfd_bases bases;
	struct sfd_demand demand;
};

/** `ring` is zeroed memory with its constant header filled in, nothing is published yet; or one
 * that was adopted, which goes on above its horizon. */
void sfd_engine_init(struct sfd_engine *engine, const struct sf_shm_ring *ring,
		     struct sfd_runtime *runtime, struct sfd_stats *stats);

/**
 * Publishes every tick above the horizon up to now + runway, as far as the mark and the layout
 * allow, and sets the stream's state. While ticks are borrowed the runway begins at the last one
 * claimed from, but no later than at borrow_tick.
 * @return whether the state is another one
 */
bool sfd_engine_publish(struct sfd_engine *engine, uint64_t now, uint64_t mark);

/**
 * Draws random bits for the wide formats' bases, if there are none left. Publishing does so by
 * itself; the first time is at start, where a failure can be told.
 * @return 0 or what getrandom(2) failed with
 */
int sfd_engine_draw(struct sfd_engine *engine);

/** The highest tick that anyone claimed from, as far as clients can be believed. */
uint64_t sfd_engine_claimed_up_to(const struct sfd_engine *engine);

/** Counts claims since the last call and decides whether to beat from now on. */
void sfd_engine_measure(struct sfd_engine *engine, uint64_t now, int64_t mono_ns);

/** Shows `now` in the beat, or the idle value. */
void sfd_engine_beat(struct sfd_engine *engine, uint64_t now);

/**
 * Clean stop: claims the rest of every slot beyond now + `keep` ticks. Nothing is published
 * afterwards. @return the last tick that was or may still be used
 */
uint64_t sfd_engine_stop(struct sfd_engine *engine, uint64_t now, uint32_t keep);

/** Exact number of counters claimed since the start. Any thread. */
uint64_t sfd_engine_claimed(const struct sfd_engine *engine);

#endif
