/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What happens to sfd and its host, one thing after the other, in an order that a seed repeats.
 */
#ifndef CHAOS_EVENTS_H
#define CHAOS_EVENTS_H

#include "tests/chaos/sfd.h"

/** splitmix64. */
static inline uint64_t chaos_random(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/** What is known of an event for the report. */
struct chaos_survival {
	bool can_happen;
	const char *why_not;
	int64_t longest_ns[2];  /* as of a lane */
	unsigned longest_of[2]; /* streams */
	uint64_t failed;
	int64_t absent_ns; /* longest that there was no sfd */
};

struct chaos_events {
	struct chaos_sfd *sfd;
	uint64_t random;
	double clock;   /* of sfd, seconds from the host's */
	double highest; /* that it ever was: embedded time is no further ahead */
	struct chaos_survival survival[CHAOS_EVENTS];
	struct chaos_survival all; /* of the whole run */
	enum chaos_event order[CHAOS_HOST_EVENTS];
	unsigned count;
	unsigned next;
};

void chaos_events_init(struct chaos_events *events, struct chaos_sfd *sfd, uint64_t seed);
/** Lets the next thing happen. @return false when the run cannot go on */
bool chaos_events_next(struct chaos_events *events);
/** Whether a run that is asked for so many seconds has seen everything; a slow host takes longer.
 */
bool chaos_events_are_complete(const struct chaos_events *events, double seconds);
/** Calls that failed so far. */
uint64_t chaos_events_failed(void);

/* disk.c */
bool chaos_disk_fill(struct chaos_events *events);
bool chaos_disk_lock(struct chaos_events *events);

/* events.c, for disk.c */
void chaos_events_step_clock(struct chaos_events *events, double seconds);
int64_t chaos_events_pause_us(struct chaos_events *events, int64_t least, int64_t most);

#endif
