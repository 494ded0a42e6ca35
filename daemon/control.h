/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The control channel: connections, requests, replies. Runs on the control loop's thread and never
 * blocks it. A connection has one request in work at a time: the next is read when the reply has
 * left, so a slow reader holds nothing but its own connection.
 */
#ifndef SFD_CONTROL_H
#define SFD_CONTROL_H

#include "daemon/loop.h"
#include "daemon/stream.h"

#include <stdbool.h>
#include <stddef.h>

/** Most connections at a time. */
#define SFD_CONNECTIONS_MAX 4096

struct sfd_control;

/** What the channel is made of. */
struct sfd_control_setup {
	const char *runtime_dir; /* the socket is sfd.sock in it, unless one is given */
	struct sfd_stream *stream;
	size_t stream_count;
	int listen_fd; /* a listening socket, which becomes the channel's; -1: it makes one */
	/* It is the service manager's: its path stays when this sfd stops. */
	bool is_managers;
};

/**
 * Makes the socket `runtime_dir/sfd.sock`, or takes the given one, and accepts on it. The caller
 * holds the directory's lock, so a socket found there is stale and is replaced; anything else is
 * left alone and refused.
 * @return 0 or a negative errno with a sentence in `why`; `listen_fd` is then closed
 */
int sfd_control_open(struct sfd_loop *loop, const struct sfd_control_setup *setup,
		     struct sfd_control **ret_control, struct sf_why *why);
/** Closes every connection and removes the socket, if it is still ours. Returns NULL; NULL is
 *  fine. */
struct sfd_control *sfd_control_close(struct sfd_control *control);

#endif
