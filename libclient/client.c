/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Clients: opening, closing, and who holds which attachment.
 *
 * Pairs in this file:  N1 (attach.c) -> N2   an attachment is whole before it can be taken
 */
#include "libclient/client.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define REATTACH_PAGE 4096u
#define CONNECT_PAUSE_NS INT64_C(2000000)
static_assert(sizeof(struct sf_reattach) <= REATTACH_PAGE, "one page");

void sf_log(const struct sf_client *client, int level, const char *format, ...)
{
	char text[256];
	va_list arguments;

	/* relaxed: only talk */
	if (!client->log || atomic_load_explicit(&client->quiet, memory_order_relaxed))
		return;
	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	client->log(client->log_data, level, text);
}

static int64_t clock_mono_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void clock_sleep_until(int64_t mono_ns)
{
	struct timespec until = {.tv_sec = mono_ns / 1000000000, .tv_nsec = mono_ns % 1000000000};

	/* A signal ends the sleep early, which is harmless: the caller looks again. */
	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static int copy_text(char *to, size_t size, const char *from)
{
	size_t length = strlen(from);

	if (length == 0 || length >= size)
		return -EINVAL;
	memcpy(to, from, length + 1);
	return 0;
}

static const char *or_environment(const char *given, const char *name)
{
	/* getenv is as safe as the program's own handling of its environment */
	const char *value = given ? given : getenv(name); /* NOLINT(concurrency-mt-unsafe) */

	return value && *value ? value : NULL;
}

/** The user's own daemon if there is one, else the host's. */
static void default_socket(char *path, size_t size)
{
	const char *runtime = or_environment(NULL, "XDG_RUNTIME_DIR");

	if (runtime) {
		int length = snprintf(path, size, "%s/sfd/" SF_CONTROL_SOCKET_NAME, runtime);

		if (length > 0 && (size_t)length < size && access(path, F_OK) == 0)
			return;
	}
	(void)snprintf(path, size, "/run/sfd/" SF_CONTROL_SOCKET_NAME);
}

static int client_names(struct sf_client *client, const struct sf_options *options)
{
	const char *socket = or_environment(options->socket, "SFD_SOCKET");
	const char *stream = or_environment(options->stream, "SFD_STREAM");

	if (!socket)
		default_socket(client->socket, sizeof(client->socket));
	else if (copy_text(client->socket, sizeof(client->socket), socket) < 0) {
		sf_log(client, SF_LOG_ERROR,
		       "socket path %.40s...: %zu characters, at most %zu fit", socket,
		       strlen(socket), sizeof(client->socket) - 1);
		return -EINVAL;
	}
	if (!stream)
		stream = "default";
	if (copy_text(client->stream, sizeof(client->stream), stream) < 0) {
		sf_log(client, SF_LOG_ERROR, "stream name %.40s: at most %zu characters fit",
		       stream, sizeof(client->stream) - 1);
		return -EINVAL;
	}
	return 0;
}

/** Copies what the caller's, possibly older and shorter, struct holds. */
static int options_copy(const struct sf_options *given, struct sf_options *ret)
{
	*ret = (struct sf_options){.size = sizeof(*ret)};
	if (!given)
		return 0;
	if (given->size < offsetof(struct sf_options, timeout_ns) || given->size > sizeof(*ret))
		return -EINVAL;
	memcpy(ret, given, given->size);
	return 0;
}

static int options_check(const struct sf_client *client, const struct sf_options *options)
{
	if (options->wait > SF_WAIT_NONE) {
		sf_log(client, SF_LOG_ERROR, "wait %u of the options is none of SF_WAIT_...",
		       options->wait);
		return -EINVAL;
	}
	if (options->timeout_ns < SF_TIMEOUT_NONE) {
		sf_log(client, SF_LOG_ERROR,
		       "timeout_ns %lld of the options is negative; SF_TIMEOUT_NONE is for ever",
		       (long long)options->timeout_ns);
		return -EINVAL;
	}
	return 0;
}

/** A client that is not attached yet. */
int sf_client_new(const struct sf_options *options, struct sf_client **ret_client)
{
	struct sf_options set;
	struct sf_client *client;
	int error = options_copy(options, &set);

	if (error < 0)
		return error;
	client = calloc(1, sizeof(*client));
	if (!client)
		return -ENOMEM;
	client->fd = -1;
	client->refs = 1;
	client->wait = set.wait ? set.wait : SF_WAIT_SLEEP;
	client->timeout_ns = set.timeout_ns ? set.timeout_ns : SF_TIMEOUT_DEFAULT_NS;
	client->log = set.log;
	client->log_data = set.log_data;
	client->mono_ns = clock_mono_ns;
	client->sleep_until = clock_sleep_until;
	client->reattach = mmap(NULL, REATTACH_PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (client->reattach == MAP_FAILED) {
		client->reattach = NULL;
		error = -errno;
	} else if (madvise(client->reattach, REATTACH_PAGE, MADV_WIPEONFORK) < 0) {
		error = -errno;
	} else {
		error = options_check(client, &set);
		if (error == 0)
			error = client_names(client, &set);
	}
	if (error < 0) {
		sf_client_unref(client);
		return error;
	}
	*ret_client = client;
	return 0;
}

static void attachments_free(struct sf_attachment *attachment)
{
	while (attachment) {
		struct sf_attachment *older = attachment->older;

		sf_attachment_release(attachment);
		free(attachment);
		attachment = older;
	}
}

void sf_client_unref(struct sf_client *client)
{
	struct sf_attachment *newest;

	/* Acquire and release: the last holder sees what the others wrote before they let go. */
	if (atomic_fetch_sub_explicit(&client->refs, 1, memory_order_acq_rel) != 1)
		return;
	/* relaxed: no other holder is left */
	newest = atomic_load_explicit(&client->newest, memory_order_relaxed);
	attachments_free(newest);
	if (client->fd >= 0)
		(void)close(client->fd);
	if (client->reattach) {
		if (sf_reattach_is_waiting(client))
			(void)close(client->reattach->fd);
		(void)munmap(client->reattach, REATTACH_PAGE);
	}
	free(client);
}

/** @return whether the ring is still mapped, and now held */
bool sf_attachment_try_hold(struct sf_attachment *attachment)
{
	/* relaxed: a guess for the compare-and-swap */
	uint32_t refs = atomic_load_explicit(&attachment->refs, memory_order_relaxed);

	while (refs != 0) {
		/* Acquire: the mapping is used after. Relaxed on failure: only compared. */
		if (atomic_compare_exchange_weak_explicit(&attachment->refs, &refs, refs + 1,
							  memory_order_acquire,
							  memory_order_relaxed))
			return true;
	}
	return false;
}

struct sf_attachment *sf_attachment_get(struct sf_client *client)
{
	for (;;) {
		/* N2, pairs with N1 */
		struct sf_attachment *attachment =
			atomic_load_explicit(&client->newest, memory_order_acquire);

		/* Not held: replaced between the two and over; the next load sees its heir. */
		if (sf_attachment_try_hold(attachment))
			return attachment;
	}
}

void sf_attachment_unmap(struct sf_attachment *attachment)
{
	(void)munmap(attachment->ring.grants, attachment->grants_bytes);
	(void)munmap(attachment->ring.claims, attachment->claims_bytes);
}

void sf_attachment_put(struct sf_attachment *attachment)
{
	/* Acquire and release: the last holder unmaps after all others' last use. */
	if (atomic_fetch_sub_explicit(&attachment->refs, 1, memory_order_acq_rel) != 1)
		return;
	sf_attachment_unmap(attachment);
	/* N5, pairs with N6 */
	atomic_store_explicit(&attachment->spent, 1, memory_order_release);
}

/** The ring's runway is over: the client holds it no longer. */
void sf_attachment_release(struct sf_attachment *attachment)
{
	/* relaxed: the put orders what matters */
	if (atomic_exchange_explicit(&attachment->retained, 0, memory_order_relaxed))
		sf_attachment_put(attachment);
}

/** Waits for the daemon's answer. */
static int wait_readable(const struct sf_client *client, int fd, int64_t deadline_ns)
{
	for (;;) {
		struct pollfd poller = {.fd = fd, .events = POLLIN};
		int64_t left = deadline_ns - client->mono_ns();
		int ready;

		if (left <= 0)
			return -ETIMEDOUT;
		left = left / 1000000 + 1;
		ready = poll(&poller, 1, left < 1000 ? (int)left : 1000);
		if (ready > 0)
			return 0;
		if (ready < 0 && errno != EINTR)
			return -errno;
	}
}

/** A crowd that attaches at once fills the socket's backlog: that is no reason to fail. */
static int connect_in_time(struct sf_client *client, int64_t deadline_ns)
{
	for (;;) {
		int64_t now = client->mono_ns();
		int error = sf_socket_connect(client, &client->fd);

		if (error != -EAGAIN)
			return error;
		if (now >= deadline_ns)
			return -ETIMEDOUT;
		client->sleep_until(now + CONNECT_PAUSE_NS);
	}
}

static int attach_and_wait(struct sf_client *client)
{
	int64_t started = client->mono_ns();
	int64_t deadline = client->timeout_ns < 0 || client->timeout_ns > INT64_MAX - started
				   ? INT64_MAX
				   : started + client->timeout_ns;
	int error = connect_in_time(client, deadline);

	if (error < 0)
		return error;
	error = sf_attach_send(client, client->fd);
	if (error < 0)
		return error;
	error = wait_readable(client, client->fd, deadline);
	if (error < 0) {
		sf_log(client, SF_LOG_ERROR, "%s: no answer from sfd: %s", client->socket,
		       sf_strerror(error));
		return error;
	}
	return sf_attach_receive(client, client->fd, started);
}

int sf_open(const struct sf_options *options, struct sf_client **ret_client)
{
	struct sf_client *client;
	int error;

	if (!ret_client)
		return -EINVAL;
	error = sf_client_new(options, &client);
	if (error < 0)
		return error;
	error = attach_and_wait(client);
	if (error < 0) {
		sf_client_unref(client);
		return error;
	}
	*ret_client = client;
	return 0;
}

void sf_close(struct sf_client *client)
{
	if (client)
		sf_client_unref(client);
}

const struct sf_layout *sf_client_layout(const struct sf_client *client)
{
	return &client->layout;
}

const char *sf_client_stream(const struct sf_client *client)
{
	return client->stream;
}

const uint32_t *sf_client_nodes(const struct sf_client *client, uint32_t *ret_count)
{
	*ret_count = client->node_count;
	return client->node;
}

uint64_t sf_client_machine(const struct sf_client *client)
{
	return client->machine;
}
