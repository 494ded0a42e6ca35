/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The control channel's connections; see control.h. What a request asks for is in reply.c.
 */
#include "daemon/control.h"

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
};

static struct sfd_connection *connection_of(struct sfd_request *request)
{
	return request->owner;
}

/** Frees a connection whose request is idle. */
static void connection_free(struct sfd_connection *connection)
{
	struct sfd_control *control = connection->control;

	sfd_connection_forget(&control->state, connection);
	(void)close(connection->fd);
	sfd_peer_deinit(&connection->peer);
	free(connection);
}

static void on_request(struct sfd_request *request, int result);

static void receive_next(struct sfd_connection *connection)
{
	connection->request.done = on_request;
	if (sfd_loop_recv(connection->control->loop, connection->fd, &connection->message,
			  sizeof(connection->message), &connection->request) < 0)
		connection_free(connection);
}

static void on_sent(struct sfd_request *request, int result)
{
	struct sfd_connection *connection = connection_of(request);

	if (result < 0 || connection->close_after_reply)
		connection_free(connection);
	else
		receive_next(connection);
}

static void on_request(struct sfd_request *request, int result)
{
	struct sfd_connection *connection = connection_of(request);

	if (result <= 0) {
		connection_free(connection);
		return;
	}
	sfd_reply_make(&connection->control->state, connection, (size_t)result);
	connection->request.done = on_sent;
	if (sfd_loop_send(connection->control->loop, connection->fd, &connection->header,
			  &connection->request) < 0)
		connection_free(connection);
}

static int connection_new(struct sfd_control *control, int fd)
{
	struct sfd_connection *connection;
	int error;

	if (control->state.connection_count >= SFD_CONNECTIONS_MAX) {
		sfd_log(SFD_LOG_WARNING, "a connection was turned away: %d are open, the limit",
			SFD_CONNECTIONS_MAX);
		return -EMFILE;
	}
	connection = calloc(1, sizeof(*connection));
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
	receive_next(connection);
	return 0;
}

static void on_accept(struct sfd_request *request, int result)
{
	struct sfd_control *control = request->owner;

	if (result < 0) {
		if (result != -ECANCELED && !control->starved)
			sfd_log(SFD_LOG_ERROR, "%s: connections %s: %s", control->path,
				sfd_request_is_idle(request) ? "are no longer accepted"
							     : "have to wait",
				strerrordesc_np(-result));
		control->starved = true;
		return;
	}
	control->starved = false;
	if (connection_new(control, result) < 0)
		(void)close(result);
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
	control->state = (struct sfd_control_state){.stream = setup->stream,
						    .stream_count = setup->stream_count,
						    .loop_is_poll = sfd_loop_backend_of(loop) ==
								    SFD_LOOP_POLL};
	control->accept = (struct sfd_request){.done = on_accept, .owner = control};
	if (control->fd >= 0)
		read_path(control);
	else
		error = make_path(control, setup->runtime_dir, why);
	if (error == 0 && control->fd < 0)
		error = listen_at(control->path, &control->fd, why);
	if (error == 0 && !setup->is_managers)
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
