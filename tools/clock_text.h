/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What a stream's statistics say of its clock, in words for `sfctl stats` and `sfctl doctor`. Pure
 * functions; any thread.
 */
#ifndef SFCTL_CLOCK_TEXT_H
#define SFCTL_CLOCK_TEXT_H

#include "shm/control.h"

/** Room for any of the texts. */
#define SFCTL_CLOCK_TEXT_MAX 160

/** "59m59s ahead of the wall", "40us behind the wall" */
void sfctl_clock_offset(const struct sf_control_stats *stats, char text[SFCTL_CLOCK_TEXT_MAX]);

/** What holds until the wall has caught up: "time runs at half speed"; NULL when it has. */
const char *sfctl_clock_meanwhile(const struct sf_control_stats *stats);

/** Embedded time may be further ahead of the wall than this only by a mistake, microseconds: what
 * is borrowed, slewed or left of a runway is much less. */
#define SFCTL_CLOCK_LEAD_MOST_US (INT64_C(4) * 3600 * 1000000)
/** Room for all that is to be said of a lead. */
#define SFCTL_CLOCK_LEAD_MAX 480

/** "embedded time is 1h00m ahead of the wall: callers wait until the wall has caught up, in ..., at
 *  ...; set the clock, ..."; only while it has not. */
void sfctl_clock_lead(const struct sf_control_stats *stats, char text[SFCTL_CLOCK_LEAD_MAX]);

/** When the wall will have caught up: "in 2h00m, at 2026-01-01T00:00:00Z". */
void sfctl_clock_end(const struct sf_control_stats *stats, char text[SFCTL_CLOCK_TEXT_MAX]);

/** "synchronised, to 12ms at most, 3ms as estimated" */
void sfctl_clock_sync(const struct sf_control_stats *stats, char text[SFCTL_CLOCK_TEXT_MAX]);

/** "a leap second comes at the day's end"; NULL when none is near. */
const char *sfctl_clock_leap(const struct sf_control_stats *stats);

#endif
