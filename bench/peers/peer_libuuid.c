/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Peer: libuuid. Time-based UUIDs come in batches from the uuidd at /run/uuidd/request, where there
 * is one: without, this worker fails, for then they would be something else.
 */
#include "bench/peers/worker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uuid/uuid.h>

static const struct sockaddr_un uuidd = {.sun_family = AF_UNIX, .sun_path = "/run/uuidd/request"};

/** Fails unless a uuidd serves: libuuid goes on without one and says nothing. */
static int check_uuidd(void *state)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int error = 0;

	(void)state;
	if (fd < 0 || connect(fd, (const struct sockaddr *)&uuidd, sizeof(uuidd)) < 0) {
		error = -errno;
		(void)fprintf(stderr, "no uuidd at %s\n", uuidd.sun_path);
	}
	if (fd >= 0)
		(void)close(fd);
	return error;
}

static inline int next_time(void *state, union peer_id *ret_id)
{
	(void)state;
	/* -1: neither uuidd nor the clock file could be used, so that it may be a duplicate */
	return uuid_generate_time_safe(ret_id->bytes) < 0 ? -ENOTCONN : 0;
}

static int run_time(void *state, uint64_t count, union peer_id *ids)
{
	return peer_loop(next_time, state, count, ids);
}

static inline int next_random(void *state, union peer_id *ret_id)
{
	(void)state;
	uuid_generate_random(ret_id->bytes);
	return 0;
}

static int run_random(void *state, uint64_t count, union peer_id *ids)
{
	return peer_loop(next_random, state, count, ids);
}

int main(int argc, char **argv)
{
	static const struct peer_way ways[] = {
		{"time", NULL, check_uuidd, run_time, 1},
		{"random", NULL, NULL, run_random, 1},
	};

	return peer_main(argc, argv, ways, sizeof(ways) / sizeof(ways[0]));
}
