/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A cursor at work: takes IDs in one way after the other and notes each. One thread.
 */
#ifndef CHAOS_ACTOR_H
#define CHAOS_ACTOR_H

#include "tests/chaos/record.h"

struct chaos_actor {
	unsigned stream;
	struct sf_client *client;
	struct sf_cursor *cursor;
	struct chaos_recorder recorder;
	struct chaos_id last; /* taken */
	unsigned turn;
	bool is_new;         /* it has given no ID yet */
	int cpu_fd;          /* what the kernel knows of this thread's waits for a CPU */
	int64_t cpu_wait_ns; /* as of the last look */
	int64_t waiting_ns;  /* since when it waits in vain; 0: it does not */
};

/** Opens a client, however often sfd is on its way up or down. @return NULL after too long */
struct sf_client *chaos_open(unsigned stream);
/** Makes a cursor that notes in this lane. */
void chaos_actor_begin(struct chaos_actor *actor, struct sf_client *client, unsigned lane);
/** A forked child goes on with the cursor, in a lane of its own. */
void chaos_actor_inherit(struct chaos_actor *actor, unsigned lane);
/** Takes a block of IDs in the next way. */
void chaos_actor_turn(struct chaos_actor *actor);
void chaos_actor_end(struct chaos_actor *actor);

/** take_library.c: the calls that are not inlined. */
int chaos_next_library(struct sf_cursor *cursor, uint64_t *ret_id);
int chaos_next128_library(struct sf_cursor *cursor, struct sf_wide *ret_id);

#endif
