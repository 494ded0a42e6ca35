/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The control channel's connections; see control.h. What a request asks for is in reply.c.
 */
#include "daemon/control.h"

#include "daemon/config.h"
#include "daemon/crowd.h"
#include "daemon/log.h"
#include "daemon/reply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG SOMAXCONN
#define REPLY_NS INT64_C(5000000000)

struct sfd_control {
	struct sfd_loop *loop;
	struct sfd_control_state state; /* what replies are made from */
	char path[108];
	int fd;
	/* What is removed at the end; a file that has taken the path's place since is another's. */
	dev_t device;
	ino_t inode; /* 0: nothing */
	struct sfd_request accept;
	bool starved; /* said so, and not again until a connection comes in */
	struct sfd_crowd crowd;
	struct sfd_request sweep; /* timeout: looks for replies that nobody reads */
	bool is_managers;
	int (*upgrade)(void *owner, const char *path);
	void *owner;
	/* set while every request ends: called when they all have */
	void (*quiet)(void *owner);
};

static struct sfd_connection *connection_of(struct sfd_request *request)
{
	return request->owner;
}

/** Frees a connection whose request is idle. */
static void connection_free(struct sfd_connection *connection)
{
	struct sfd_control *control = connection->control;

	sfd_crowd_forget(&control->crowd, connection);
	sfd_connection_forget(&control->state, connection);
	(void)close(connection->fd);
	sfd_peer_deinit(&connection->peer);
	free(connection);
}

/** Whether the channel has become quiet, while it is to. */
static void check_quiet(struct sfd_control *control)
{
	void (*quiet)(void *owner) = control->quiet;

	if (!quiet || !sfd_request_is_idle(&control->accept))
		return;
	for (struct sfd_connection *c = control->state.connections; c; c = c->next)
		if (!sfd_request_is_idle(&c->request))
			return;
	quiet(control->owner);
}

static void on_request(struct sfd_request *request, int result);

static void receive_next(struct sfd_connection *connection)
{
	if (connection->control->quiet) /* the next sfd reads it */
		return;
	connection->request.done = on_request;
	if (sfd_loop_recv(connection->control->loop, connection->fd, &connection->message,
			  sizeof(connection->message), &connection->request) < 0)
		connection_free(connection);
}

/** A reply that a hand-over interrupts: the next sfd does not know it. @return as of sendmsg() */
static int send_at_once(const struct sfd_connection *connection)
{
	ssize_t sent = sendmsg(connection->fd, &connection->header, MSG_NOSIGNAL | MSG_DONTWAIT);

	return sent < 0 ? -errno : (int)sent;
}

static void on_sent(struct sfd_request *request, int result)
{
	struct sfd_connection *connection = connection_of(request);
	struct sfd_control *control = connection->control;

	connection->sent_mono_ns = 0;
	if (result == -ECANCELED && control->quiet)
		result = send_at_once(connection);
	if (result < 0 || connection->close_after_reply)
		connection_free(connection);
	else
		receive_next(connection);
	check_quiet(control);
}

/** Sleeps while no reply is on its way. */
static void on_sweep(struct sfd_request *request, int result)
{
	struct sfd_control *control = request->owner;

	if (result == 0 && sfd_crowd_sweep(&control->state, &control->crowd, control->loop))
		(void)sfd_loop_timeout(control->loop, control->crowd.reply_ns, &control->sweep);
}

static void send_reply(struct sfd_connection *connection)
{
	struct sfd_control *control = connection->control;

	connection->request.done = on_sent;
	connection->sent_mono_ns = sfd_crowd_mono_ns();
	if (sfd_loop_send(control->loop, connection->fd, &connection->header,
			  &connection->request) < 0)
		connection_free(connection);
	else if (control->quiet) /* now or not at all */
		sfd_loop_cancel(control->loop, &connection->request);
	else if (sfd_request_is_idle(&control->sweep))
		(void)sfd_loop_timeout(control->loop, control->crowd.reply_ns, &control->sweep);
}

/** Asks for the upgrade; the reply comes when it is known how that went. */
static void begin_upgrade(struct sfd_connection *connection)
{
	struct sfd_control *control = connection->control;
	int error = control->upgrade(control->owner, connection->message.upgrade.path);

	connection->awaits = error == 0;
	if (error == 0)
		return;
	if (error == -EBUSY)
		sfd_reply_refuse(connection, error,
				 "sfd is stopping, or another upgrade is under way: try again");
	else
		sfd_reply_refuse(
			connection, error, "sfd cannot execute %.120s: %s; name an sfd that it can",
			connection->message.upgrade.path[0] ? connection->message.upgrade.path
							    : "the file that it was started from",
			strerrordesc_np(-error));
	sfd_log(SFD_LOG_WARNING, "%s", connection->reply.refused.text);
	send_reply(connection);
}

static void on_request(struct sfd_request *request, int result)
{
	struct sfd_connection *connection = connection_of(request);
	struct sfd_control *control = connection->control;

	if (result == -ECANCELED && control->quiet) {
		check_quiet(control);
		return;
	}
	if (result <= 0)
		connection_free(connection);
	else if (sfd_reply_make(&control->state, connection, (size_t)result))
		send_reply(connection);
	else
		begin_upgrade(connection);
	check_quiet(control);
}

/** @return 0 or a negative errno; the descriptor is then the caller's still */
static int connection_new(struct sfd_control *control, int fd, struct sfd_connection **ret)
{
	struct sfd_connection *connection = calloc(1, sizeof(*connection));
	int error;

	if (!connection)
		return -ENOMEM;
	error = sfd_peer_init(fd, &connection->peer);
	if (error < 0) {
		free(connection);
		return error;
	}
	connection->fd = fd;
	connection->control = control;
	connection->request.owner = connection;
	sfd_connection_add(&control->state, connection);
	*ret = connection;
	return 0;
}

static void on_accept(struct sfd_request *request, int result)
{
	struct sfd_control *control = request->owner;
	struct sfd_connection *connection;

	if (result < 0) {
		if (result != -ECANCELED && !control->starved)
			sfd_log(SFD_LOG_ERROR, "%s: connections %s: %s", control->path,
				sfd_request_is_idle(request) ? "are no longer accepted"
							     : "have to wait",
				strerrordesc_np(-result));
		control->starved = result != -ECANCELED;
		check_quiet(control);
		return;
	}
	control->starved = false;
	if (connection_new(control, result, &connection) < 0)
		(void)close(result);
	else if (sfd_crowd_admit(&control->state, &control->crowd, control->loop, connection))
		receive_next(connection);
	else
		connection_free(connection);
}

/** Removes a socket that a dead daemon left; refuses to touch anything else. */
static int remove_stale(const char *path, struct sf_why *why)
{
	struct stat status;

	if (lstat(path, &status) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(status.st_mode)) {
		(void)snprintf(why->text, sizeof(why->text),
			       "%s is in the way and is not a socket: move it, or choose another "
			       "runtime directory",
			       path);
		return -EEXIST;
	}
	return unlink(path) < 0 ? -errno : 0;
}

static int listen_at(const char *path, int *ret_fd, struct sf_why *why)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;
	int error = remove_stale(path, why);

	if (error < 0)
		return error;
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* The mode is set whatever the umask: who may attach is the access lists' matter. */
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    chmod(path, 0666) < 0 || listen(fd, BACKLOG) < 0) {
		error = -errno;
		(void)close(fd);
		return error;
	}
	*ret_fd = fd;
	return 0;
}

/** @return 0, or a negative errno with a sentence */
static int make_path(struct sfd_control *control, const char *runtime_dir, struct sf_why *why)
{
	int length = snprintf(control->path, sizeof(control->path), "%s/" SF_CONTROL_SOCKET_NAME,
			      runtime_dir);

	if (length >= 0 && (size_t)length < sizeof(control->path))
		return 0;
	(void)snprintf(why->text, sizeof(why->text),
		       "%.100s/" SF_CONTROL_SOCKET_NAME
		       ": a socket's path has at most %zu characters: shorten runtime_dir",
		       runtime_dir, sizeof(control->path) - 1);
	return -ENAMETOOLONG;
}

/** A socket that was passed in: where it listens. An abstract name reads as the empty path. */
static void read_path(struct sfd_control *control)
{
	struct sockaddr_un address = {0};
	socklen_t length = sizeof(address);

	if (getsockname(control->fd, (struct sockaddr *)&address, &length) == 0)
		(void)snprintf(control->path, sizeof(control->path), "%.*s",
			       (int)sizeof(address.sun_path), address.sun_path);
}

static void remember(struct sfd_control *control)
{
	struct stat status;

	if (lstat(control->path, &status) < 0)
		return;
	control->device = status.st_dev;
	control->inode = status.st_ino;
}

static void forget_path(const struct sfd_control *control)
{
	struct stat status;

	if (control->inode != 0 && lstat(control->path, &status) == 0 &&
	    status.st_dev == control->device && status.st_ino == control->inode)
		(void)unlink(control->path);
}

int sfd_control_open(struct sfd_loop *loop, const struct sfd_control_setup *setup,
		     struct sfd_control **ret_control, struct sf_why *why)
{
	struct sfd_control *control = calloc(1, sizeof(*control));
	int error = 0;

	if (!control) {
		if (setup->listen_fd >= 0)
			(void)close(setup->listen_fd);
		return -ENOMEM;
	}
	control->loop = loop;
	control->fd = setup->listen_fd;
	control->is_managers = setup->is_managers;
	control->upgrade = setup->upgrade;
	control->owner = setup->owner;
	control->state = (struct sfd_control_state){
		.stream = setup->stream,
		.stream_count = setup->stream_count,
		.connections_max = sfd_crowd_total(setup->stream_count),
		.connections_per_user = setup->connections_per_user,
		.loop_is_poll = sfd_loop_backend_of(loop) == SFD_LOOP_POLL};
	control->crowd.reply_ns = setup->reply_ns > 0 ? setup->reply_ns : REPLY_NS;
	control->sweep = (struct sfd_request){.done = on_sweep, .owner = control};
	control->accept = (struct sfd_request){.done = on_accept, .owner = control};
	if (control->fd >= 0)
		read_path(control);
	else
		error = make_path(control, setup->runtime_dir, why);
	if (error == 0 && control->fd < 0)
		error = listen_at(control->path, &control->fd, why);
	if (error == 0 && !setup->is_managers && !setup->keeps_path)
		remember(control);
	if (error == 0)
		error = sfd_loop_accept(loop, control->fd, &control->accept);
	if (error == 0) {
		*ret_control = control;
		return 0;
	}
	if (!why->text[0])
		(void)snprintf(why->text, sizeof(why->text), "%s: %s", control->path,
			       strerrordesc_np(-error));
	if (control->fd >= 0)
		(void)close(control->fd);
	free(control);
	return error;
}

void sfd_control_adopt(struct sfd_control *control, struct sfd_handover *handover)
{
	for (size_t i = 0; i < handover->client_count; i++) {
		struct sfd_handover_client *client = &handover->client[i];
		struct sfd_connection *connection;

		if (connection_new(control, client->fd, &connection) < 0)
			continue; /* the hand-over closes it: the client attaches anew */
		client->fd = -1;
		connection->since_unix_ns = client->since_unix_ns;
		memcpy(connection->command, client->command, sizeof(connection->command));
		if (client->attached)
			sfd_connection_attach(
				connection, sfd_reply_find_stream(&control->state, client->stream));
		connection->awaits = client->awaits;
		if (!client->awaits)
			receive_next(connection);
	}
}

void sfd_control_hand_over(const struct sfd_control *control, struct sfd_handover_draft *draft)
{
	sfd_handover_add(draft,
			 control->is_managers ? SFD_HANDOVER_MANAGERS_SOCKET : SFD_HANDOVER_SOCKET,
			 control->fd);
	for (const struct sfd_connection *c = control->state.connections; c; c = c->next) {
		struct sfd_handover_client client = {.fd = c->fd,
						     .awaits = c->awaits,
						     .attached = c->attached != NULL,
						     .since_unix_ns = c->since_unix_ns};

		if (c->standing == SFD_STANDING_TURNED_AWAY)
			continue; /* the exec closes it */
		if (c->attached)
			memcpy(client.stream, c->attached->config->name, sizeof(client.stream));
		memcpy(client.command, c->command, sizeof(client.command));
		sfd_handover_add_client(draft, &client);
	}
}

void sfd_control_answer(struct sfd_control *control, int error, const char *text)
{
	struct sfd_connection *next;

	for (struct sfd_connection *c = control->state.connections; c; c = next) {
		next = c->next;
		if (!c->awaits)
			continue;
		c->awaits = false;
		c->message.head.type = SF_CONTROL_UPGRADE;
		if (error < 0)
			sfd_reply_refuse(c, error, "%s", text);
		else
			sfd_reply_upgraded(c, text);
		send_reply(c);
	}
}

void sfd_control_quiesce(struct sfd_control *control, void (*quiet)(void *owner))
{
	control->quiet = quiet;
	sfd_loop_cancel(control->loop, &control->accept);
	for (struct sfd_connection *c = control->state.connections; c; c = c->next)
		sfd_loop_cancel(control->loop, &c->request);
}

int sfd_control_resume(struct sfd_control *control)
{
	struct sfd_connection *next;

	control->quiet = NULL;
	for (struct sfd_connection *c = control->state.connections; c; c = next) {
		next = c->next;
		if (!c->awaits)
			receive_next(c);
	}
	return sfd_loop_accept(control->loop, control->fd, &control->accept);
}

int sfd_control_fd(const struct sfd_control *control)
{
	return control->is_managers ? -1 : control->fd;
}

struct sfd_control *sfd_control_close(struct sfd_control *control)
{
	if (!control)
		return NULL;
	forget_path(control);
	(void)close(control->fd);
	for (struct sfd_connection *connection = control->state.connections; connection;) {
		struct sfd_connection *next = connection->next;

		connection_free(connection);
		connection = next;
	}
	free(control);
	return NULL;
}
