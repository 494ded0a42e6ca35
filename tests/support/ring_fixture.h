/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A stream without a daemon: its ring and engine, a clock that moves when the test says so, and
 * clients that map the ring as they would map a daemon's. One clock for the whole test; the
 * functions belong to the test's main thread, unless they say otherwise.
 */
#ifndef T_RING_FIXTURE_H
#define T_RING_FIXTURE_H

#include "daemon/config.h"
#include "daemon/engine.h"
#include "daemon/ring.h"
#include "libclient/client.h"

#include <check.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define T_COUNT(array) (sizeof(array) / sizeof((array)[0]))
/** Tick of a ring that does not ask for another. */
#define T_TICK UINT64_C(1000000)
/** Thread id that the engine writes into the beat. */
#define T_OWNER 4242u
#define T_MS INT64_C(1000000)
/** Machine id of a ring of format hound. */
#define T_MACHINE UINT64_C(0x0242ac110002)
/** ck_assert_msg() notes every pass on disk; this one, for the inner loops, only a failure. */
#define T_EXPECT(condition, ...)                                                                   \
	do {                                                                                       \
		if (!(condition))                                                                  \
			ck_abort_msg(__VA_ARGS__);                                                 \
	} while (0)

/** Zero in a field means its default. */
struct t_ring_setup {
	const char *layout; /* default twitter; also the name of a wide format */
	uint32_t node[8];
	uint32_t node_count; /* default: node 5 alone; the wide formats have none */
	uint32_t ahead_ms;
	uint32_t runway_ticks; /* default 8, which makes 16 slots */
	uint64_t first_tick;   /* default T_TICK */
};

struct t_ring {
	struct sfd_stream_config config;
	struct sfd_ring memory;
	struct sfd_engine engine;
	struct sfd_runtime runtime;
	struct sfd_stats stats;
	uint64_t mark; /* default: none in the way */
};

/** Makes a ring and stops the clock at the start of its first tick. Nothing is published. */
void t_ring_init(struct t_ring *ring, const struct t_ring_setup *setup);
void t_ring_deinit(struct t_ring *ring);
/** Tick that the clock shows. */
uint64_t t_ring_now(const struct t_ring *ring);
/** Monotonic time of a tick's start. Any thread. */
int64_t t_ring_mono_ns(const struct t_ring *ring, uint64_t tick);
/** Moves the clock to the start of a tick, forward or back. Any thread. */
void t_ring_clock(const struct t_ring *ring, uint64_t tick);
/** The daemon's turn: publishes and beats by the clock. */
void t_ring_turn(struct t_ring *ring);
/** Clock, then turn. */
void t_ring_go(struct t_ring *ring, uint64_t tick);
/** Goes to a tick and beats there. */
void t_ring_beat(struct t_ring *ring, uint64_t tick);
/** Claim word of a tick's slot. */
_Atomic uint64_t *t_ring_word(const struct t_ring *ring, uint64_t tick);
uint64_t t_ring_word_now(const struct t_ring *ring, uint64_t tick);
/** Punches a hole into the claims: every byte of it reads as zero. */
void t_ring_punch(const struct t_ring *ring);
uint64_t t_ring_dropped(const struct t_ring *ring);
uint64_t t_ring_waits(const struct t_ring *ring);

/** The clock. Each reading moves it on by t_mono_step_ns. */
extern _Atomic int64_t t_mono_ns;
extern int64_t t_mono_step_ns;
/** What clients asked to sleep for: the clock jumps there, then t_sleep_ring has its turn, and what
 *  t_woken is set to happens. */
extern int64_t t_slept_until[64];
extern unsigned t_sleeps;
extern struct t_ring *t_sleep_ring;
extern void (*t_woken)(void);

/** A client on the ring with the test's clock. The time-out is 1 s. */
struct sf_client *t_client_open(const struct t_ring *ring, uint32_t wait);
/** The same on no ring yet. */
struct sf_client *t_client_new(uint32_t wait);
void t_client_attach(struct sf_client *client, const struct t_ring *ring);
struct sf_cursor *t_cursor_open(struct sf_client *client);
/** Last sentence of any client. */
extern char t_client_said[256];

struct sf_parts t_parts(const struct t_ring *ring, uint64_t id);
/** Fails the test when two are equal. Sorts. */
void t_ids_assert_distinct(uint64_t *ids, size_t count);
void t_ids_assert_rising(const uint64_t *ids, size_t count);

/** Pseudo-random numbers from a seed, which is printed: SFD_TEST_SEED repeats a run. */
uint64_t t_seed(void);
uint64_t t_random(uint64_t *state);

#endif
