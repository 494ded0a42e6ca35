/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The stream's clock: the policy that turns wall-clock readings into the time page's continuous,
 * never-decreasing time. Pure functions of (state, readings); sfd_clock_now() alone asks the
 * kernel.
 *
 * Policy `slew`: a forward step is taken at once; after a backward step time runs at half speed
 * until the wall has caught up.
 */
#ifndef SFD_CLOCK_H
#define SFD_CLOCK_H

#include "shm/timepage.h"

#include <stdint.h>

/** Both clocks at one moment. */
struct sfd_now {
	int64_t mono_ns;
	int64_t wall_ns;
	int64_t error_ns; /* how far the two may lie apart: the thread was away in between */
};

struct sfd_clock {
	struct sf_shm_clock page; /* what the time page shows */
	int64_t lead_ns;          /* page less wall at the last update, 0 when not slewing */
};

enum sfd_clock_event {
	SFD_CLOCK_STEADY,
	SFD_CLOCK_FORWARD,   /* the wall stepped forward; taken over */
	SFD_CLOCK_BACK,      /* the wall stepped back; slewing */
	SFD_CLOCK_CAUGHT_UP, /* slewing is over */
};

/** Reads both clocks, as close together as a few tries can get. */
struct sfd_now sfd_clock_now(void);

/** Starts at the wall, or at `not_before_ns` if the wall is behind that. */
void sfd_clock_init(struct sfd_clock *clock, struct sfd_now now, int64_t not_before_ns);

/** Holds the page against the wall. The page has changed when the result is not STEADY. */
enum sfd_clock_event sfd_clock_update(struct sfd_clock *clock, struct sfd_now now);

#endif
