/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Peer: sfd itself. Compiled twice: with SF_NO_INLINE every call goes through the shared library.
 * SFD_SOCKET and SFD_STREAM choose the stream.
 */
#include "bench/peers/worker.h"

#define FILL 1000

static int open_cursor(void **ret_state)
{
	struct bench_client client;
	int error = bench_client_open(NULL, &client);

	if (error == 0)
		*ret_state = client.cursor;
	return error;
}

/** Until sfd beats: an idle one does not. */
static int warm(void *state)
{
	return bench_warm_up(state);
}

static inline int next(void *state, union peer_id *ret_id)
{
	return sf_next(state, &ret_id->words[0]);
}

static int run_next(void *state, uint64_t count, union peer_id *ids)
{
	return peer_loop(next, state, count, ids);
}

static inline int ordered(void *state, union peer_id *ret_id)
{
	return sf_next_ordered(state, &ret_id->words[0]);
}

static int run_ordered(void *state, uint64_t count, union peer_id *ids)
{
	return peer_loop(ordered, state, count, ids);
}

static inline int next128(void *state, union peer_id *ret_id)
{
	struct sf_wide id;
	int error = sf_next128(state, &id);

	ret_id->words[0] = id.high;
	ret_id->words[1] = id.low;
	return error;
}

static int run_next128(void *state, uint64_t count, union peer_id *ids)
{
	return peer_loop(next128, state, count, ids);
}

static int run_fill(void *state, uint64_t count, union peer_id *ids)
{
	uint64_t batch[FILL];

	for (uint64_t done = 0; done < count; done += FILL) {
		int error = sf_fill(state, batch, FILL);

		if (error < 0)
			return error;
		BENCH_KEEP(batch);
		for (uint64_t i = 0; ids && i < FILL; i++)
			ids[done + i].words[0] = batch[i];
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct peer_way ways[] = {
		{"next", open_cursor, warm, run_next, 1},
		{"ordered", open_cursor, warm, run_ordered, 1},
		{"next128", open_cursor, warm, run_next128, 1},
		{"fill", open_cursor, warm, run_fill, FILL},
	};

	return peer_main(argc, argv, ways, sizeof(ways) / sizeof(ways[0]));
}
