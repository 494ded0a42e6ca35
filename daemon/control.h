/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The control channel: connections, requests, replies. Runs on the control loop's thread and never
 * blocks it. A connection has one request in work at a time: the next is read when the reply has
 * left, so a slow reader holds nothing but its own connection, and that not for long. A user has
 * only so many connections; one too many is told so when it asks, and closed.
 */
#ifndef SFD_CONTROL_H
#define SFD_CONTROL_H

#include "daemon/handover.h"
#include "daemon/loop.h"
#include "daemon/stream.h"

#include <stdbool.h>
#include <stddef.h>

struct sfd_control;

/** What the channel is made of. */
struct sfd_control_setup {
	const char *runtime_dir; /* the socket is sfd.sock in it, unless one is given */
	struct sfd_stream *stream;
	size_t stream_count;
	int listen_fd;    /* a listening socket, which becomes the channel's; -1: it makes one */
	bool is_managers; /* it belongs to the service manager */
	bool keeps_path;  /* its path stays when this sfd stops: the manager keeps the socket */
	/* A peer that may do so asks for an upgrade: 0, and sfd_control_answer() follows, or a
	 * negative errno. */
	int (*upgrade)(void *owner, const char *path);
	void *owner;
	uint32_t connections_per_user;
	int64_t reply_ns; /* longest that a reply waits for its reader; 0: some seconds */
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

/** Goes on with the connections that another sfd had. */
void sfd_control_adopt(struct sfd_control *control, struct sfd_handover *handover);
/** Tells those who asked for an upgrade: `text` is the version before, or with an error why not. */
void sfd_control_answer(struct sfd_control *control, int error, const char *text);

/** Ends every request, and calls `quiet` with the setup's owner when the channel is: no message was
 *  lost, what was not read yet is left in the sockets. */
void sfd_control_quiesce(struct sfd_control *control, void (*quiet)(void *owner));
/** Goes on after that. @return 0 or a negative errno */
int sfd_control_resume(struct sfd_control *control);
/** Adds socket and connections, when the channel is quiet. */
void sfd_control_hand_over(const struct sfd_control *control, struct sfd_handover_draft *draft);
/** The listening socket, if it is sfd's own, else -1. */
int sfd_control_fd(const struct sfd_control *control);

#endif
