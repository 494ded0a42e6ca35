/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * How many connections a user may have, and what becomes of one too many: it is told so, and
 * closed; and how long a reply waits for its reader. Called on the control loop's thread.
 */
#ifndef SFD_CROWD_H
#define SFD_CROWD_H

#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/reply.h"

#include <stdbool.h>
#include <stdint.h>

/** Connections of root and of sfd's own user beyond their limit: for questions, not for clients. */
#define SFD_CROWD_HEADROOM 16
/** Of all connections, those that nobody but these two get. */
#define SFD_CROWD_RESERVE 64

/** Connections that wait to hear why they are turned away; the oldest makes room for the next. */
#define SFD_CROWD_PARTING 16

struct sfd_crowd {
	struct sfd_connection *parting[SFD_CROWD_PARTING];
	size_t next;
	struct sfd_log_limit turned_away_log;
	struct sfd_log_limit slow_log;
	int64_t reply_ns; /* longest that a reply waits for its reader */
};

/** What one more connection of this peer may do. */
enum sfd_standing sfd_crowd_judge(const struct sfd_control_state *state,
				  const struct sfd_peer *peer);

/**
 * Judges a new connection, which is on the list already. @return whether it is to be read from: one
 * that was turned away, too, to hear why, unless too many such are still on their way out
 */
bool sfd_crowd_admit(const struct sfd_control_state *state, struct sfd_crowd *crowd,
		     struct sfd_loop *loop, struct sfd_connection *connection);
/** The connection goes. */
void sfd_crowd_forget(struct sfd_crowd *crowd, const struct sfd_connection *connection);

/** Ends the connections whose reply has waited for too long. @return whether any reply waits */
bool sfd_crowd_sweep(const struct sfd_control_state *state, struct sfd_crowd *crowd,
		     struct sfd_loop *loop);
/** CLOCK_MONOTONIC, in which waiting is measured. */
int64_t sfd_crowd_mono_ns(void);

/** The sentence for a connection that may not do what it asked for. */
void sfd_crowd_explain(const struct sfd_control_state *state, const struct sfd_connection *peer,
		       char *text, size_t size);

/** Connections that were turned away and are not gone yet. */
uint32_t sfd_crowd_turned_away(const struct sfd_control_state *state);

/** Connections that this process can serve within its limit of descriptors, and will. */
uint32_t sfd_crowd_total(size_t stream_count);

#endif
