/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What a request on the control channel asks for, and the reply to it. Called on the control loop's
 * thread; never blocks.
 */
#ifndef SFD_REPLY_H
#define SFD_REPLY_H

#include "daemon/access.h"
#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/stream.h"
#include "shm/control.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/uio.h>

struct sfd_control;

/** What a connection may do. */
enum sfd_standing {
	SFD_STANDING_GUEST,       /* all that its user may */
	SFD_STANDING_ASKING,      /* one beyond its user's limit: anything but attach */
	SFD_STANDING_TURNED_AWAY, /* hear why not, and go */
};

/** One connection: its message, its reply, and what it attached to. */
struct sfd_connection {
	struct sfd_control *control;
	struct sfd_connection *next;
	struct sfd_connection **link; /* what points to this one */
	int fd;
	struct sfd_peer peer;
	struct sfd_stream *attached; /* NULL: none */
	uint32_t tally; /* where it counts its IDs, in that stream's ring; 0: nowhere */
	int64_t since_unix_ns;
	char command[16];
	int64_t sent_mono_ns; /* since when the reply is on its way; 0: none is */
	struct sfd_request request;
	enum sfd_standing standing;
	bool close_after_reply;
	bool awaits; /* it asked for an upgrade; the reply comes later, perhaps from the next sfd */
	union {
		struct sf_control_head head;
		struct sf_control_request request;
		struct sf_control_upgrade upgrade;
	} message;
	/* the reply and what sendmsg() needs */
	union {
		struct sf_control_head head;
		struct sf_control_refused refused;
		struct sf_control_attached attached;
		struct sf_control_stats stats;
		struct sf_control_clients clients;
		struct sf_control_upgraded upgraded;
	} reply;
	struct msghdr header;
	struct iovec part;
	_Alignas(struct cmsghdr) char descriptors[CMSG_SPACE(2 * sizeof(int))];
};

/** What replies are made from. */
struct sfd_control_state {
	struct sfd_stream *stream;
	size_t stream_count;
	struct sfd_connection *connections;
	size_t connection_count;
	uint32_t connections_max; /* in all */
	uint32_t connections_per_user;
	bool loop_is_poll;
	struct sfd_log_limit refused_log;
};

void sfd_connection_add(struct sfd_control_state *state, struct sfd_connection *connection);
void sfd_connection_forget(struct sfd_control_state *state, struct sfd_connection *connection);

/**
 * Reads connection->message (`length` bytes arrived) and fills reply and header.
 * @return false: an UPGRADE that the peer may ask for; there is no reply yet
 */
bool sfd_reply_make(struct sfd_control_state *state, struct sfd_connection *connection,
		    size_t length);
/** Fills in a refusal, of whatever was asked last. */
void sfd_reply_refuse(struct sfd_connection *connection, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/** Fills in the reply to UPGRADE. */
void sfd_reply_upgraded(struct sfd_connection *connection, const char *before);
/** The connection is attached to this stream from now on, and counts its IDs there. */
void sfd_connection_attach(struct sfd_connection *connection, struct sfd_stream *stream,
			   uint32_t tally);
struct sfd_stream *sfd_reply_find_stream(struct sfd_control_state *state, const char *name);

#endif
