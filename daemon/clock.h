/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The stream's clock: the policy that turns wall-clock readings into the time page's continuous,
 * never-decreasing time. Pure functions of (state, readings); sfd_clock_now() alone asks the
 * kernel.
 *
 * A forward step of the wall is taken at once. After a backward step, until the wall has caught up,
 * the policy (`clock_backward` of a stream) decides:
 *   slew     time runs at half speed
 *   wait     time stands still, and callers wait
 *   refuse   time stands still, and callers get an error that says how long
 *   ahead    time stands still at the last tick claimed from, and ticks are borrowed as they would
 *            have passed without the step
 * A wall that merely runs at another rate than the monotonic clock does not step: the page follows
 * it, within 0.3 ms at 500 ppm, and no policy comes into force.
 */
#ifndef SFD_CLOCK_H
#define SFD_CLOCK_H

#include "shm/timepage.h"

#include <stdbool.h>
#include <stdint.h>

/** Both clocks at one moment. */
struct sfd_now {
	int64_t mono_ns;
	int64_t wall_ns;
	int64_t error_ns; /* how far the two may lie apart: the thread was away in between */
};

enum sfd_clock_policy {
	SFD_CLOCK_SLEW,
	SFD_CLOCK_WAIT,
	SFD_CLOCK_REFUSE,
	SFD_CLOCK_AHEAD,
};

struct sfd_clock {
	struct sf_shm_clock page; /* what the time page shows */
	int64_t lead_ns;          /* page less wall at the last update, 0 while they agree */
	bool drifts;              /* and that is because the wall is slow, not because it stepped */
	struct sfd_now seen;      /* by the last update */
	int64_t slews_from_ns;    /* at this time of the wall nobody is held up any more */
	/* policy `ahead`, while behind: the page had the wall not stepped */
	int64_t free_mono_ns;
	int64_t free_unix_ns;
	enum sfd_clock_policy policy;
	enum sfd_clock_policy in_force; /* how the present lead is worked off */
};

enum sfd_clock_event {
	SFD_CLOCK_STEADY,
	SFD_CLOCK_FOLLOWED,  /* the wall runs at another rate: a correction that nobody need hear of
			      */
	SFD_CLOCK_FORWARD,   /* the wall stepped forward; taken over */
	SFD_CLOCK_BACK,      /* the wall stepped back: the policy is in force */
	SFD_CLOCK_CAUGHT_UP, /* the wall has caught up */
};

/** Reads both clocks, as close together as a few tries can get. */
struct sfd_now sfd_clock_now(void);

/** Where the page starts, and why. */
struct sfd_clock_start {
	int64_t not_before_ns; /* the page starts at the wall, or here if the wall is behind that */
	/* The wall went back. Otherwise the lead is a mark's, which is raised ahead of the time
	 * that was ever shown: that is slewed, whatever the policy. */
	bool went_back;
	/* The wall's time when the mark was stored; 0: the lead is no mark's. What a wall that went
	 * back lacks beyond it is the mark's lead again. */
	int64_t stored_unix_ns;
};

void sfd_clock_init(struct sfd_clock *clock, enum sfd_clock_policy policy, struct sfd_now now,
		    const struct sfd_clock_start *start);

/** Holds the page against the wall. The page has changed when the result is not STEADY. */
enum sfd_clock_event sfd_clock_update(struct sfd_clock *clock, struct sfd_now now);

/** The wall went back, or lies behind what was promised, and has not caught up. */
bool sfd_clock_is_behind(const struct sfd_clock *clock);

/** How long it takes the wall to catch up, at the last update, if it does not step. */
int64_t sfd_clock_remaining_ns(const struct sfd_clock *clock);

/**
 * Policy `ahead`, while behind: the time that the page would show had the wall not stepped. Ticks
 * are borrowed at the pace at which it passes, or time would run away as fast as clients can claim.
 */
int64_t sfd_clock_free_ns(const struct sfd_clock *clock, int64_t mono_ns);

/**
 * Policy `ahead`, while behind: time stands still no earlier than the last tick claimed from.
 * @return whether the page has changed
 */
bool sfd_clock_borrow(struct sfd_clock *clock, struct sfd_now now, int64_t borrowed_unix_ns);

#endif
