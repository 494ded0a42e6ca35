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
#include <time.h>
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

/** @return whether there is a place for it: those that had to go may still be on their way out */
static bool turn_away(const struct sfd_control_state *state, struct sfd_crowd *crowd,
		      struct sfd_loop *loop, struct sfd_connection *connection)
{
	struct sfd_connection **place = &crowd->parting[crowd->next++ % SFD_CROWD_PARTING];
	char text[256];

	for (size_t i = 0; i < state->stream_count; i++)
		sfd_stats_add(state->stream[i].stats, SF_COUNTER_connections_refused, 1);
	sfd_crowd_explain(state, connection, text, sizeof(text));
	sfd_log_limited(&crowd->turned_away_log, SFD_LOG_WARNING, "pid %d was turned away: %s",
			(int)connection->peer.pid, text);
	if (*place)
		sfd_loop_cancel(loop, &(*place)->request);
	if (sfd_crowd_turned_away(state) > 2 * SFD_CROWD_PARTING)
		return false;
	*place = connection;
	return true;
}

bool sfd_crowd_admit(const struct sfd_control_state *state, struct sfd_crowd *crowd,
		     struct sfd_loop *loop, struct sfd_connection *connection)
{
	connection->standing = SFD_STANDING_TURNED_AWAY; /* itself it does not count */
	connection->standing = sfd_crowd_judge(state, &connection->peer);
	return connection->standing != SFD_STANDING_TURNED_AWAY ||
	       turn_away(state, crowd, loop, connection);
}

void sfd_crowd_forget(struct sfd_crowd *crowd, const struct sfd_connection *connection)
{
	for (size_t i = 0; i < SFD_CROWD_PARTING; i++)
		if (crowd->parting[i] == connection)
			crowd->parting[i] = NULL;
}

int64_t sfd_crowd_mono_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

bool sfd_crowd_sweep(const struct sfd_control_state *state, struct sfd_crowd *crowd,
		     struct sfd_loop *loop)
{
	const int64_t now_ns = sfd_crowd_mono_ns();
	bool is_any_left = false;

	for (struct sfd_connection *c = state->connections; c != NULL; c = c->next) {
		if (c->sent_mono_ns == 0)
			continue;
		is_any_left = true;
		if (now_ns - c->sent_mono_ns < crowd->reply_ns)
			continue;
		sfd_log_limited(
			&crowd->slow_log, SFD_LOG_WARNING,
			"pid %d of user %u does not read its reply: the connection is closed",
			(int)c->peer.pid, c->peer.uid);
		sfd_loop_cancel(loop, &c->request);
	}
	return is_any_left;
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
