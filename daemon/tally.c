/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Tallies; see tally.h. Which ones are taken is found out anew each time: the connections know.
 */
#include "daemon/tally.h"

#include "daemon/config.h"

#include <stdbool.h>

/* One more than there can be connections, so that only a small ring has too few. */
#define TALLIES_USED (SFD_CONNECTIONS_MAX + 1)

static bool has_room(const struct sfd_stream *stream, int64_t number)
{
	return number <= (int64_t)sf_shm_tallies((uint32_t)stream->ring.shm.mask + 1);
}

uint32_t sfd_tally_adopt(const struct sfd_stream *stream, int64_t number)
{
	return number > 0 && number < TALLIES_USED && has_room(stream, number) ? (uint32_t)number
									       : 0;
}

uint32_t sfd_tally_assign(const struct sfd_control_state *state, const struct sfd_stream *stream)
{
	bool taken[TALLIES_USED + 1] = {true};
	uint32_t number = 0;

	for (const struct sfd_connection *c = state->connections; c; c = c->next)
		if (c->attached == stream && c->tally < TALLIES_USED)
			taken[c->tally] = true;
	while (taken[number])
		number++;
	if (!has_room(stream, number))
		return 0;
	/* relaxed: a statistic */
	atomic_store_explicit(sf_shm_tally(&stream->ring.shm, number), 0, memory_order_relaxed);
	return number;
}

uint64_t sfd_tally_read(const struct sfd_stream *stream, uint32_t number)
{
	/* relaxed: a statistic */
	uint64_t ids =
		atomic_load_explicit(sf_shm_tally(&stream->ring.shm, number), memory_order_relaxed);

	/* Less than nothing: what was dropped had been counted elsewhere, or nonsense. */
	return ids > INT64_MAX ? 0 : ids;
}
