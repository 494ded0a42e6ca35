/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Limits on connections; see crowd.h. Counted anew for each connection: a walk over all of them
 * costs microseconds, and a number that is kept can be wrong.
 *
 * Root and sfd's own user are bounded like everybody, since clients run as root, too. But what
 * leaks there must not lock the operator out: so beyond their limit they still get a few
 * connections that may ask, and may not attach.
 */
#include "daemon/crowd.h"

#include "daemon/config.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Descriptors besides connections and rings: standard ones, locks, loop, timers, a file being read.
 */
#define OTHER_DESCRIPTORS 32
#define PER_STREAM_DESCRIPTORS 4
/* Even where that leaves nothing, one can try. */
#define TOTAL_MIN 8

static bool is_operator(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

/** @param uid whose; NULL: everybody's */
static uint32_t count(const struct sfd_control_state *state, const uid_t *uid)
{
	uint32_t n = 0;

	for (const struct sfd_connection *c = state->connections; c != NULL; c = c->next)
		n += c->standing != SFD_STANDING_TURNED_AWAY &&
		     (uid == NULL || c->peer.uid == *uid);
	return n;
}

static uint32_t total_for(const struct sfd_control_state *state, uid_t uid)
{
	const uint32_t total = state->connections_max;

	if (is_operator(uid))
		return total;
	return total > 2 * SFD_CROWD_RESERVE ? total - SFD_CROWD_RESERVE : total / 2;
}

enum sfd_standing sfd_crowd_judge(const struct sfd_control_state *state,
				  const struct sfd_peer *peer)
{
	const uint32_t own = count(state, &peer->uid);

	if (count(state, NULL) >= total_for(state, peer->uid))
		return SFD_STANDING_TURNED_AWAY;
	if (own < state->connections_per_user)
		return SFD_STANDING_GUEST;
	if (is_operator(peer->uid) && own < state->connections_per_user + SFD_CROWD_HEADROOM)
		return SFD_STANDING_ASKING;
	return SFD_STANDING_TURNED_AWAY;
}

void sfd_crowd_explain(const struct sfd_control_state *state, const struct sfd_connection *peer,
		       char *text, size_t size)
{
	const uid_t uid = peer->peer.uid;
	const uint32_t own = count(state, &uid);

	if (own >= state->connections_per_user)
		(void)snprintf(text, size,
			       "user %u has %u connections to sfd, as many as one user may have: "
			       "close some, or raise max_connections_per_user",
			       uid, state->connections_per_user);
	else
		(void)snprintf(text, size,
			       "sfd has %u connections, as many as user %u may bring it to: close "
			       "some, or lower max_connections_per_user for the others' sake",
			       count(state, NULL), uid);
}

uint32_t sfd_crowd_turned_away(const struct sfd_control_state *state)
{
	return (uint32_t)state->connection_count - count(state, NULL);
}

uint32_t sfd_crowd_total(size_t stream_count)
{
	const rlim_t others = OTHER_DESCRIPTORS + PER_STREAM_DESCRIPTORS * (rlim_t)stream_count;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= others + SFD_CONNECTIONS_MAX)
		return SFD_CONNECTIONS_MAX;
	return limit.rlim_cur < others + TOTAL_MIN ? TOTAL_MIN
						   : (uint32_t)(limit.rlim_cur - others);
}
