/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Why a stream gives no IDs now, in words: for `sfctl doctor`, and for the subcommands that take
 * IDs, whose library knows only that there are none. Main thread.
 */
#ifndef SFCTL_CAUSE_H
#define SFCTL_CAUSE_H

#include "tools/clock_text.h"
#include "tools/sfctl.h"

/** Room for a cause. */
#define SFCTL_CAUSE_MAX (SFCTL_CLOCK_LEAD_MAX + 16)

/**
 * By the stream's state: "waiting for clock: it shows ..., the layout begins at ...: set the clock,
 * ...". @return false, with an empty text: it gives IDs
 */
bool sfctl_cause_state(const struct sf_control_stats *stats, char text[SFCTL_CAUSE_MAX]);

/**
 * The same of the stream of the global options, whose sfd is asked; of a wall that went back also
 * when it will have caught up.
 * @return false: it gives IDs, or nobody answers
 */
bool sfctl_cause_ask(const struct sfctl *sfctl, char text[SFCTL_CAUSE_MAX]);

#endif
