/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Clients that only take IDs: a mill with a thread for each of its lanes, and one that comes and
 * goes.
 */
#include "tests/chaos/actor.h"

#include <pthread.h>
#include <stdlib.h>

#define VISIT_TURNS 2

/** One client a stream, which the threads of the process share. */
static struct sf_client *client_of[CHAOS_STREAMS_ALL];

static void *run_thread(void *argument)
{
	unsigned lane = *(const unsigned *)argument;
	struct chaos_actor actor;

	chaos_actor_begin(&actor, client_of[chaos->lane[lane].stream], lane);
	actor.turn = lane; /* not all in the same way at the same time */
	while (!chaos_is_over())
		chaos_actor_turn(&actor);
	chaos_actor_end(&actor);
	return NULL;
}

static bool is_used(unsigned lane)
{
	/* relaxed: set before this process began */
	return atomic_load_explicit(&chaos->lane[lane].used, memory_order_relaxed) != 0;
}

int chaos_mill(unsigned job)
{
	pthread_t thread[CHAOS_LANES_PER_JOB];
	unsigned lane[CHAOS_LANES_PER_JOB];
	unsigned first = job * CHAOS_LANES_PER_JOB;
	unsigned count = 0;

	for (; count < CHAOS_LANES_PER_JOB && is_used(first + count); count++) {
		unsigned stream = chaos->lane[first + count].stream;

		lane[count] = first + count;
		if (!client_of[stream])
			client_of[stream] = chaos_open(stream);
	}
	for (unsigned i = 0; i < count; i++)
		if (pthread_create(&thread[i], NULL, run_thread, &lane[i]) != 0)
			return EXIT_FAILURE;
	for (unsigned i = 0; i < count; i++)
		(void)pthread_join(thread[i], NULL);
	for (unsigned i = 0; i < CHAOS_STREAMS_ALL; i++)
		sf_close(client_of[i]);
	return EXIT_SUCCESS;
}

int chaos_attacher(unsigned job)
{
	unsigned lane = job * CHAOS_LANES_PER_JOB;

	while (!chaos_is_over()) {
		struct sf_client *client = chaos_open(chaos->lane[lane].stream);
		struct chaos_actor actor;

		chaos_actor_begin(&actor, client, lane);
		for (unsigned i = 0; i < VISIT_TURNS; i++)
			chaos_actor_turn(&actor);
		chaos_actor_end(&actor);
		sf_close(client);
		chaos_happened(CHAOS_ATTACH);
	}
	return EXIT_SUCCESS;
}
