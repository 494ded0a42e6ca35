/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Peer: a counter in Redis, one INCR an ID, or INCRBY for a range that the client hands out. The
 * Unix socket is the one that PEERS_REDIS names.
 */
#include "bench/peers/worker.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

/** A thread's connection, and what is left of its range. */
struct counter {
	redisContext *context;
	uint64_t next;
	uint64_t end;
	uint64_t batch;
};

static int open_batch(uint64_t batch, void **ret_state)
{
	const char *path = getenv("PEERS_REDIS"); // NOLINT(concurrency-mt-unsafe): nobody sets it
	struct counter *counter = calloc(1, sizeof(*counter));

	if (!counter)
		return -ENOMEM;
	counter->batch = batch;
	counter->context = path ? redisConnectUnix(path) : NULL;
	if (!counter->context || counter->context->err) {
		(void)fprintf(stderr, "no Redis at PEERS_REDIS: %s\n",
			      counter->context ? counter->context->errstr : "not set");
		free(counter);
		return -ENOTCONN;
	}
	*ret_state = counter;
	return 0;
}

static int open_1(void **ret_state)
{
	return open_batch(1, ret_state);
}

static int open_100(void **ret_state)
{
	return open_batch(100, ret_state);
}

static int open_1000(void **ret_state)
{
	return open_batch(1000, ret_state);
}

static __attribute__((noinline)) int refill(struct counter *counter)
{
	redisReply *reply = counter->batch == 1 ? redisCommand(counter->context, "INCR id")
						: redisCommand(counter->context, "INCRBY id %llu",
							       (unsigned long long)counter->batch);
	int error = 0;

	if (reply && reply->type == REDIS_REPLY_INTEGER) {
		counter->end = (uint64_t)reply->integer + 1;
		counter->next = counter->end - counter->batch;
	} else {
		(void)fprintf(stderr, "Redis: %s\n", reply ? reply->str : counter->context->errstr);
		error = -EPROTO;
	}
	freeReplyObject(reply);
	return error;
}

static inline int next(void *state, union peer_id *ret_id)
{
	struct counter *counter = state;
	int error = counter->next == counter->end ? refill(counter) : 0;

	ret_id->words[0] = counter->next++;
	return error;
}

static int run(void *state, uint64_t count, union peer_id *ids)
{
	return peer_loop(next, state, count, ids);
}

int main(int argc, char **argv)
{
	static const struct peer_way ways[] = {
		{"incr", open_1, NULL, run, 1},
		{"incrby100", open_100, NULL, run, 1},
		{"incrby1000", open_1000, NULL, run, 1},
	};

	return peer_main(argc, argv, ways, sizeof(ways) / sizeof(ways[0]));
}
