/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What the processes of a chaos run share. One program in several roles: the conductor starts sfd
 * and the clients, lets things happen to them, and checks every ID; the clients only take IDs and
 * note them.
 *
 * A lane belongs to one cursor at a time: a ring of runs that the client fills and a checker
 * thread of the conductor empties. It lies in shared memory, so that what a client noted outlives
 * its death at any instruction.
 */
#ifndef CHAOS_H
#define CHAOS_H

#include <sfclient.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CHAOS_LANES_PER_JOB 4
#define CHAOS_JOBS_MAX 20
#define CHAOS_LANES_MAX (CHAOS_JOBS_MAX * CHAOS_LANES_PER_JOB)
#define CHAOS_RUNS 2048u
/** Longest run, so that the checker is never far behind. */
#define CHAOS_RUN_MAX 8192u
#define CHAOS_FINDINGS_MAX 40
#define CHAOS_FINDING_BYTES 240
#define CHAOS_PATH_BYTES 128

/** The streams of the sfd under test. */
enum chaos_stream {
	CHAOS_DEFAULT,
	CHAOS_FAST,
	CHAOS_LOW,
	CHAOS_AHEAD,
	CHAOS_REFUSE,
	CHAOS_WAIT,
	CHAOS_ULID,
	CHAOS_UUID7,
	CHAOS_OBJECTID,
	CHAOS_HOUND,
	CHAOS_STREAMS, /* that are checked */
	CHAOS_HOSTILE = CHAOS_STREAMS,
	CHAOS_STREAMS_ALL,
};

/** Ways to take IDs. */
enum chaos_mode {
	CHAOS_NEXT, /* inlined */
	CHAOS_NEXT_LIBRARY,
	CHAOS_ORDERED,
	CHAOS_FILL,
	CHAOS_RANGE,
	CHAOS_NEXT128,
	CHAOS_NEXT128_LIBRARY,
	CHAOS_ORDERED128,
	CHAOS_FILL128,
	CHAOS_RANGE128,
	CHAOS_MODES,
	CHAOS_CURSOR = CHAOS_MODES, /* of a run: no IDs, a new cursor begins here */
	CHAOS_NARROW_MODES = CHAOS_NEXT128,
};

/** What may happen. The first come from the conductor, the others from the clients themselves. */
enum chaos_event {
	CHAOS_SFD_KILL,
	CHAOS_SFD_TERM,
	CHAOS_SFD_STOP,
	CHAOS_SFD_UPGRADE,
	CHAOS_SFD_RELOAD,
	CHAOS_CLOCK_BACK,
	CHAOS_CLOCK_FORWARD,
	CHAOS_DISK_FULL,
	CHAOS_DISK_READ_ONLY,
	CHAOS_HOST_EVENTS,
	CHAOS_CLIENT_KILL = CHAOS_HOST_EVENTS,
	CHAOS_CLIENT_STOP,
	CHAOS_CREW_EVENTS,
	CHAOS_FORK = CHAOS_CREW_EVENTS,
	CHAOS_CLONE,
	CHAOS_VFORK,
	CHAOS_SPAWN,
	CHAOS_CHILD_KILL,
	CHAOS_ATTACH,
	CHAOS_SCRIBBLE,
	CHAOS_EVENTS,
};

/** Faults that a self-test plants; the run must then find them. */
enum chaos_plant {
	CHAOS_PLANT_NONE,
	CHAOS_PLANT_DUPLICATE,
	CHAOS_PLANT_ORDER,
	CHAOS_PLANT_ORDERED,
	CHAOS_PLANT_FAILURE,
	CHAOS_PLANTS,
};

struct chaos_id {
	uint64_t low;
	uint64_t high;
} __attribute__((aligned(16)));

/** Evenly spaced IDs, in the order they were given. */
struct chaos_run {
	uint64_t high;
	uint64_t low; /* of the first */
	/* W: client | R: checker | release, acquire; the last thing written of a run */
	_Atomic uint32_t count;
	uint32_t mode; /* enum chaos_mode */
};

struct chaos_lane {
	/* runs that are closed; the one at `tail` is still growing | W: client, release | R:
	 * checker, acquire */
	_Atomic uint64_t tail;
	/* runs that are checked | W: checker, release | R: client, acquire */
	_Atomic uint64_t head;
	/* IDs, and refusals that the stream's policy asks for: signs of life | relaxed */
	_Atomic uint64_t progress;
	/* longest block of calls since the conductor looked, of cursors that had given IDs before
	 * and of new ones | relaxed */
	_Atomic int64_t longest_ns[2];
	/* raised around each SIGSTOP: a block in which it changes is not timed | relaxed */
	_Atomic uint32_t stops;
	/* somebody takes IDs here | W: conductor or parent | relaxed */
	_Atomic uint32_t used;
	uint32_t stream;
	uint32_t pad0;
	struct chaos_run run[CHAOS_RUNS];
};

/** What is known of a stream, once sfd serves it. */
struct chaos_stream_state {
	/* the highest ID that a call has returned | 16-byte compare-and-swap */
	struct chaos_id returned;
	uint64_t step;
	uint32_t shift; /* of the sequence */
	uint32_t is_wide;
};

struct chaos_shared {
	_Atomic uint32_t stop;
	_Atomic uint32_t event; /* enum chaos_event that happens now, or CHAOS_EVENTS */
	uint32_t plant;         /* enum chaos_plant */
	_Atomic uint32_t planted;
	struct chaos_id plant_id;
	int64_t began_ns;
	_Atomic uint64_t happened[CHAOS_EVENTS];
	_Atomic uint64_t failed[CHAOS_MODES];
	_Atomic uint64_t refused; /* as the policy of the stream says */
	_Atomic uint64_t order_ordered[CHAOS_MODES];
	_Atomic uint32_t findings;
	char finding[CHAOS_FINDINGS_MAX][CHAOS_FINDING_BYTES];
	char socket[CHAOS_PATH_BYTES];
	struct chaos_stream_state stream[CHAOS_STREAMS_ALL];
	struct chaos_lane lane[CHAOS_LANES_MAX];
};

/* names.c */
const char *chaos_stream_name(unsigned stream);
const char *chaos_mode_name(unsigned mode);
const char *chaos_event_name(unsigned event);

/* shared.c */
extern struct chaos_shared *chaos;
/** The memfd behind it. */
extern int chaos_fd;

int chaos_share_new(void);
int chaos_share_open(int fd);
int64_t chaos_mono_ns(void);
void chaos_nap_us(int64_t us);
bool chaos_is_over(void);
void chaos_happened(enum chaos_event event);
/** Something that must not be: printed at the end, and the run fails. */
void chaos_find(const char *format, ...) __attribute__((format(printf, 1, 2)));
struct chaos_id chaos_returned(unsigned stream);
void chaos_returned_raise(unsigned stream, struct chaos_id id);

static inline bool chaos_is_less(struct chaos_id a, struct chaos_id b)
{
	return a.high != b.high ? a.high < b.high : a.low < b.low;
}

/* worker.c, family.c, hostile.c: the roles of clients. @return the exit code */
int chaos_mill(unsigned job);
int chaos_attacher(unsigned job);
int chaos_family(unsigned job);
int chaos_spawned(unsigned lane);
int chaos_hostile(unsigned job);
int chaos_victim(unsigned job);

#endif
