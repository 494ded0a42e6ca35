/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The clients of a run, as the conductor sees them: processes that are started, killed, held and
 * replaced, by one thread.
 */
#ifndef CHAOS_CREW_H
#define CHAOS_CREW_H

#include "tests/chaos/chaos.h"

/** Assigns the lanes to streams; before anything else. */
void chaos_crew_init(void);
int chaos_crew_start(void);
/** Lets something happen to one of them, or starts the next who is missing. */
void chaos_crew_harm(uint64_t random);
/** Ends all, and closes their lanes. */
void chaos_crew_stop(void);
/**
 * Waits until every lane that the conductor counts on has given IDs again.
 * @return false, after saying which did not
 */
bool chaos_crew_goes_on(void);

#endif
