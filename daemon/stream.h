/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * One stream of the daemon: its ring, engine, clock, mark and statistics, wired together. Opened
 * and closed by the main thread; sfd_stream_turn() and sfd_stream_stop() belong to the beat thread.
 *
 * Pairs in this file:
 *   M1 mark_tick release -> M2 acquire     the mark is durable before a tick below it is published
 *   M3 mark_wanted release -> M4 acquire   only a number; ordered for the reader's convenience
 */
#ifndef SFD_STREAM_H
#define SFD_STREAM_H

#include "daemon/clock.h"
#include "daemon/config.h"
#include "daemon/engine.h"
#include "daemon/mark.h"
#include "daemon/ring.h"
#include "daemon/stats.h"

/** How far the mark is raised ahead of the horizon; half of it used up asks for the next raise. */
#define SFD_MARK_AHEAD_MS SFD_MARK_LEAD_MS
/** What a clean stop leaves to clients beyond now. */
#define SFD_STOP_KEEP_MS 300u

struct sfd_stream {
	const struct sfd_stream_config *config;
	struct sfd_ring ring;
	struct sfd_engine engine;
	struct sfd_clock clock;
	struct sfd_runtime *runtime;
	struct sfd_mark *mark;
	struct sfd_stats *stats;
	int stats_fd;
	bool adopted;     /* its ring is that of the sfd before */
	uint64_t session; /* starts on this state, this one included */
	int64_t started_unix_ns;
	int64_t started_mono_ns;
	/* no tick above was promised to the disk | W: control loop M1 | R: beat thread M2 */
	_Atomic uint64_t mark_tick;
	/* raise it to here | W: beat thread M3 | R: control loop M4 | 0 = as it is */
	_Atomic uint64_t mark_wanted;
	uint64_t last_beat_tick;
	uint64_t steps_told;        /* control loop: clock steps already logged */
	bool behind_told;           /* control loop: the wall was behind at the last look */
	uint32_t state_told;        /* control loop: enum sf_shm_state, as logged */
	int64_t steps_told_mono_ns; /* control loop: when steps were logged */
};

/** What the control loop should look at after a turn. */
enum sfd_turn_news {
	SFD_TURN_QUIET = 0,
	SFD_TURN_MARK = 1, /* mark_wanted was raised */
	/* a clock step was counted, the wall has caught up, or the stream's state has changed */
	SFD_TURN_CLOCK = 2,
};

/** What an sfd that has ended left for a stream; -1: nothing. */
struct sfd_stream_legacy {
	int grants_fd;
	int claims_fd;
	int stats_fd;
};

/**
 * Opens the stream's stores, makes the ring above everything they promise, and stores the first
 * mark. With a legacy (NULL: there is none) whose ring is the last that the stores know of, that
 * ring goes on instead; its descriptors stay the caller's. @return 0 or a negative errno with a
 * sentence in `why`
 */
int sfd_stream_open(struct sfd_stream *stream, const struct sfd_config *config,
		    const struct sfd_stream_config *stream_config, const char *boot_id,
		    const struct sfd_stream_legacy *legacy, struct sf_why *why);
void sfd_stream_close(struct sfd_stream *stream);
/** Whether another sfd could open the stream's mark now. @return 0, or a negative errno with a
 *  sentence in `why` */
int sfd_stream_check_mark(const struct sfd_stream *stream, const char *state_dir,
			  struct sf_why *why);
/** A mark of this session is durable: from here on the runtime record counts. Idempotent. */
void sfd_stream_session_begin(struct sfd_stream *stream);

/** Shows to the control loop how far the wall is behind, and how that will go on. */
void sfd_stream_tell_clock(struct sfd_stream *stream);
/** What the mark should be when `tick` is the first of a runway. */
uint64_t sfd_stream_mark_for(const struct sfd_stream *stream, uint64_t tick);

/** Beat thread: one turn. @return monotonic time of the next, ns */
int64_t sfd_stream_turn(struct sfd_stream *stream, struct sfd_now now, unsigned *news);

/** Control loop: embedded time less wall time, measured now. */
int64_t sfd_stream_offset_ns(const struct sfd_stream *stream);
/** Control loop: the wall was behind at the last call, and is not any more. */
bool sfd_stream_has_caught_up(struct sfd_stream *stream);
/** Control loop: clock steps were counted since the last call. */
bool sfd_stream_has_stepped(struct sfd_stream *stream);

/** Beat thread: clean stop. @return the last tick used, which becomes the mark */
uint64_t sfd_stream_stop(struct sfd_stream *stream, struct sfd_now now);

#endif
