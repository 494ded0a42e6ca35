/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * How many connections a user may have, and what becomes of one too many: it is told so, and
 * closed. Pure but for the clock-free state it is given; called on the control loop's thread.
 */
#ifndef SFD_CROWD_H
#define SFD_CROWD_H

#include "daemon/reply.h"

/** Connections of root and of sfd's own user beyond their limit: for questions, not for clients. */
#define SFD_CROWD_HEADROOM 16
/** Of all connections, those that nobody but these two get. */
#define SFD_CROWD_RESERVE 64

/** What one more connection of this peer may do. */
enum sfd_standing sfd_crowd_judge(const struct sfd_control_state *state,
				  const struct sfd_peer *peer);

/** The sentence for a connection that may not do what it asked for. */
void sfd_crowd_explain(const struct sfd_control_state *state, const struct sfd_connection *peer,
		       char *text, size_t size);

/** Connections that were turned away and are not gone yet. */
uint32_t sfd_crowd_turned_away(const struct sfd_control_state *state);

/** Connections that this process can serve within its limit of descriptors, and will. */
uint32_t sfd_crowd_total(size_t stream_count);

#endif
