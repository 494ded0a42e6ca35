/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * One stream of a daemon, whole but for the daemon: its stores in a directory of the test's own,
 * its turns when the test says so, and clients on it. Both clocks are the test's: the monotonic one
 * is that of ring_fixture.h, the wall lies beside it and steps. Belongs to the test's main thread.
 */
#ifndef T_STREAM_FIXTURE_H
#define T_STREAM_FIXTURE_H

#include "daemon/stream.h"
#include "tests/support/ring_fixture.h"

#include <sfformats.h>

#define T_SECOND (1000 * T_MS)
#define T_HOUR (3600 * T_SECOND)

/** Zero in a field means its default. */
struct t_stream_setup {
	const char *layout; /* default snowflakex; also the name of a wide format */
	enum sfd_clock_policy policy;
	uint32_t runway_ms; /* default 3000, at least 4 ticks */
	uint32_t ahead_ms;
	bool is_beating; /* whatever the demand; else as the demand has it */
	uint32_t wait;   /* of the client; default SF_WAIT_NONE */
	/* The wall is ahead of the host's, which mark files say that they were written at: so it
	 * has not gone back since. Else it has, when only the mark is left. */
	bool is_later;
	int64_t wall_ns; /* the wall at the start, if neither */
};

/** The stream of now. */
extern struct sfd_stream t_stream;
extern struct sfd_stream_config t_stream_config;
/** A client of it, with a time-out of 1 s, and its cursor. */
extern struct sf_client *t_stream_client;
extern struct sf_cursor *t_stream_cursor;
/** What the turns wanted since the last raise of the mark; enum sfd_turn_news. */
extern unsigned t_stream_news;
/** Time that passes after the next reading of the clocks: a stream opens, and the disk is slow. */
extern int64_t t_stream_reading_ns;
/** Marks are raised as wanted after each turn; true unless a test says otherwise. */
extern bool t_stream_raises;

/** Makes the directory, opens the stream, gives it a turn, and opens the client. The wall shows a
 *  whole second. */
void t_stream_init(const struct t_stream_setup *setup);
void t_stream_deinit(void);

/** Without a clean stop: what is there is what a killed daemon leaves. Its ring stays mapped by
 *  clients, and its beat has no owner. */
void t_stream_kill(void);
/** A clean stop, its last tick stored. */
void t_stream_stop(void);
/** The host boots anew: the record of this boot is none any more. */
void t_stream_reboot(void);
/** The next daemon: opens the stream again, with a turn, under the same or another policy. */
void t_stream_start(enum sfd_clock_policy policy);
/** The stream ends in one of these ways, and the next daemon is given what it left: its ring, if it
 *  may go on, and its statistics. */
void t_stream_hand_over(void (*end)(void));
/** What the stream would leave now, for t_stream_start_on(). */
struct sfd_stream_legacy t_stream_legacy(void);
/** The next daemon is given this, and the descriptors are closed. */
void t_stream_start_on(const struct sfd_stream_legacy *legacy);
/** The client attaches to the daemon of now, and keeps its cursor. */
void t_stream_follow(void);
/** The client moves to the ring of now: a new one is opened. */
void t_stream_reopen_client(void);

int64_t t_stream_mono(void);
int64_t t_stream_wall(void);
/** Time passes on both clocks; no turn. */
void t_stream_pass(int64_t ns);
/** The wall steps; no turn. */
void t_stream_step(int64_t ns);
/** A turn of the daemon. @return monotonic time of the next */
int64_t t_stream_turn(void);
/** Time passes as the daemon sees it: with a turn whenever it wants one. */
void t_stream_run(int64_t ns);

/** What the time page shows to clients. */
int64_t t_stream_shown(void);
uint64_t t_stream_shown_tick(void);
uint64_t t_stream_horizon(void);
uint64_t t_stream_stat(enum sf_counter counter);
/** Tick of the wall. */
uint64_t t_stream_wall_tick(void);

/** sf_next() or sf_next128(), as the stream's IDs need it. A 64-bit ID is `low`. */
int t_stream_next(struct sf_cursor *cursor, struct sf_wide *ret_id);
/** sf_next_ordered() or its twin. */
int t_stream_ordered(struct sf_cursor *cursor, struct sf_wide *ret_id);
/** sf_fill() or its twin. */
int t_stream_fill(struct sf_cursor *cursor, struct sf_wide *ret_ids, size_t count);
/** Fails the test on an error, and unless the ID is larger than `*last`, which it becomes. */
void t_stream_take(struct sf_cursor *cursor, struct sf_wide *last);
/** The tick in an ID. */
uint64_t t_stream_tick_of(const struct sf_wide *id);
/** Every call fails so, gives no ID, and takes no counter out of the ring. */
void t_stream_assert_refused(int error);

#endif
