/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Re-attaching while the daemon is gone: one step a call, at a bounded pace, by whichever thread
 * comes along first; never waits, so that it delays no ID that the runway still covers. The new
 * ring becomes the client's newest; cursors move over when their own ring's runway ends.
 */
#include "libclient/client.h"
#include "libclient/probe.h"

#include "shm/beat.h"

#include <errno.h>
#include <unistd.h>

#define PACE_CONNECT_NS INT64_C(20000000)
#define PACE_REPLY_NS INT64_C(1000000)
#define REPLY_MAX_NS INT64_C(1000000000)

static void be_quiet(struct sf_client *client, uint32_t quiet)
{
	/* relaxed: only talk */
	atomic_store_explicit(&client->quiet, quiet, memory_order_relaxed);
}

static void set_waiting(struct sf_reattach *reattach, uint32_t waiting)
{
	/* relaxed: the holder of busy is the only one that acts upon it */
	atomic_store_explicit(&reattach->waiting_for_reply, waiting, memory_order_relaxed);
}

bool sf_reattach_is_waiting(const struct sf_client *client)
{
	/* relaxed, as above */
	return atomic_load_explicit(&client->reattach->waiting_for_reply, memory_order_relaxed) !=
	       0;
}

static void set_away(struct sf_reattach *reattach, uint32_t is_away)
{
	/* relaxed: only picks an error */
	atomic_store_explicit(&reattach->is_away, is_away, memory_order_relaxed);
}

bool sf_reattach_is_away(const struct sf_client *client)
{
	/* relaxed, as above */
	return atomic_load_explicit(&client->reattach->is_away, memory_order_relaxed) != 0;
}

/** Sends a request on a new connection. @return when to go on */
static int64_t begin(struct sf_client *client, struct sf_reattach *reattach, int64_t mono_ns)
{
	int fd = -1;
	int error;

	be_quiet(client, 1); /* a daemon that is away is no news fifty times a second */
	error = sf_socket_connect(client, &fd);
	if (error == 0)
		error = sf_attach_send(client, fd);
	be_quiet(client, 0);
	set_away(reattach, error < 0);
	if (error < 0) {
		if (fd >= 0)
			(void)close(fd);
		return mono_ns + PACE_CONNECT_NS;
	}
	reattach->fd = fd;
	reattach->sent_ns = mono_ns;
	set_waiting(reattach, 1);
	return mono_ns + PACE_REPLY_NS;
}

/** Takes the answer. What goes wrong is said once, until it goes right. */
static int receive(struct sf_client *client, struct sf_reattach *reattach)
{
	int error;

	be_quiet(client, reattach->complained);
	error = sf_attach_receive(client, reattach->fd, reattach->sent_ns);
	be_quiet(client, 0);
	if (error != -EAGAIN)
		reattach->complained = error < 0;
	return error;
}

/** Looks for the answer. @return when to go on */
static int64_t finish(struct sf_client *client, struct sf_reattach *reattach, int64_t mono_ns)
{
	int error = receive(client, reattach);

	if (error == -EAGAIN && mono_ns - reattach->sent_ns < REPLY_MAX_NS)
		return mono_ns + PACE_REPLY_NS;
	if (SF_PROBE_IS_ON(reattach))
		SF_PROBE3(reattach, client->stream, (int32_t)error, mono_ns - reattach->sent_ns);
	set_waiting(reattach, 0);
	set_away(reattach, error < 0);
	if (error < 0) {
		(void)close(reattach->fd);
		return mono_ns + PACE_CONNECT_NS;
	}
	if (client->fd >= 0)
		(void)close(client->fd);
	client->fd = reattach->fd;
	sf_log(client, SF_LOG_INFO, "stream %s: attached to a new sfd", client->stream);
	return mono_ns + PACE_CONNECT_NS;
}

/** The newest ring's daemon lives: there is nothing newer to be had. */
static bool is_attached(struct sf_client *client)
{
	struct sf_attachment *newest = sf_attachment_get(client);
	/* relaxed: a wrong guess costs one pace */
	uint64_t beat = atomic_load_explicit(&newest->ring.grants->beat, memory_order_relaxed);

	sf_attachment_put(newest);
	return sf_shm_beat_has_owner(beat);
}

void sf_reattach_step(struct sf_client *client, int64_t mono_ns)
{
	struct sf_reattach *reattach = client->reattach;
	int64_t next_ns;

	/* relaxed: a wrong guess costs one try of the lock */
	if (mono_ns < atomic_load_explicit(&reattach->next_ns, memory_order_relaxed))
		return;
	/* Acquire, pairs with the release below: the fields are the last holder's. */
	if (atomic_exchange_explicit(&reattach->busy, 1, memory_order_acquire) != 0)
		return;
	if (sf_reattach_is_waiting(client))
		next_ns = finish(client, reattach, mono_ns);
	else if (is_attached(client))
		next_ns = mono_ns + PACE_CONNECT_NS;
	else
		next_ns = begin(client, reattach, mono_ns);
	atomic_store_explicit(&reattach->next_ns, next_ns, memory_order_relaxed);
	atomic_store_explicit(&reattach->busy, 0, memory_order_release);
}
