/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A stream in a world where a script says what the wall clock shows: a ring and its engine, the
 * daemon's clock with its policy, and a client. The monotonic clock goes on by what the wall goes
 * forward, and stands still when the wall goes back. One world at a time; main thread of a test.
 */
#ifndef T_VECTORS_WORLD_H
#define T_VECTORS_WORLD_H

#include "tests/support/ring_fixture.h"

struct t_world_setup {
	struct t_ring_setup ring; /* the first tick is that of `unix_ns` */
	enum sfd_clock_policy policy;
	int64_t unix_ns;  /* what the wall shows first */
	uint64_t machine; /* format hound */
	uint32_t wait;    /* SF_WAIT_...; default SF_WAIT_NONE */
	bool beating;     /* the daemon beats; else it is idle, and every call looks at the clock */
};

struct t_world {
	struct t_ring ring;
	struct sfd_clock clock;
	struct sf_client *client;
	struct sf_cursor *cursor;
	int64_t wall_ns;
};

void t_world_open(struct t_world *world, const struct t_world_setup *setup);
void t_world_close(struct t_world *world);
/** The wall shows another time, and the daemon has its turn. */
void t_world_wall(struct t_world *world, int64_t unix_ns);
/** Gives a tick a random base of the test's choice, as long as it is published. */
void t_world_base(struct t_world *world, uint64_t tick, const struct sf_wide *base);

#endif
