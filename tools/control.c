/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Control channel client: one request, one reply, bounded waiting. Everything
 * that was received is checked before it is handed on.
 */
#include "tools/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_failed(const char *path, int error, struct sf_why *why)
{
	if (error == ENOENT || error == ECONNREFUSED) {
		SFCTL_WHY(
			why,
			"no sfd listens at %.100s: start sfd, or name its socket with --socket or "
			"$SFD_SOCKET",
			path);
		return -ENOTCONN;
	}
	SFCTL_WHY(why, "cannot connect to %.100s: %s", path, strerrordesc_np(error));
	return -error;
}

static int connect_to(const char *path, int *ret_fd, struct sf_why *why)
{
	struct timeval timeout = {.tv_sec = SFCTL_CONTROL_TIMEOUT_S};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int r;
	int fd;

	if (path[0] == '\0' || strlen(path) >= sizeof(address.sun_path)) {
		SFCTL_WHY(why,
			  "socket path \"%.100s\" is empty or longer than the %zu bytes of a Unix "
			  "socket",
			  path, sizeof(address.sun_path) - 1);
		return -EINVAL;
	}
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return connect_failed(path, errno, why);
	/* The send time-out also bounds connect(), which waits while the daemon's backlog is full.
	 */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		r = connect_failed(path, errno, why);
		(void)sfctl_control_close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

int sfctl_control_open(const struct sfctl *sfctl, int *ret_fd, struct sf_why *why)
{
	char *path;
	int r = sfctl_socket_path(sfctl, &path);

	if (r < 0) {
		SFCTL_WHY(why, "out of memory");
		return r;
	}
	r = connect_to(path, ret_fd, why);
	free(path);
	return r;
}

void sfctl_control_patience(int fd, unsigned ms)
{
	struct timeval patience = {.tv_sec = ms / 1000, .tv_usec = (long)(ms % 1000) * 1000};

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

int sfctl_control_close(int fd)
{
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

static int transfer_failed(int fd, int error, struct sf_why *why)
{
	struct timeval patience = {0};
	socklen_t size = sizeof(patience);

	if (error == EAGAIN) {
		(void)getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, &size);
		SFCTL_WHY(why, "sfd did not answer within %.3g s: it is stopped or overloaded",
			  (double)patience.tv_sec + (double)patience.tv_usec / 1e6);
		return -ETIMEDOUT;
	}
	if (error == EPIPE || error == ECONNRESET) {
		SFCTL_WHY(why, "sfd closed the connection: it has stopped");
		return -ENOTCONN;
	}
	SFCTL_WHY(why, "control channel: %s", strerrordesc_np(error));
	return error > 0 ? -error : -EIO;
}

static int check_reply(const struct sf_control_head *head, size_t length, uint16_t type,
		       struct sf_why *why)
{
	if (length < sizeof(*head) || head->magic != SF_CONTROL_MAGIC) {
		SFCTL_WHY(why,
			  "what listens at the socket is not sfd: its reply of %zu bytes does not "
			  "start "
			  "with %#x",
			  length, SF_CONTROL_MAGIC);
		return -EPROTO;
	}
	if (head->version != SF_CONTROL_VERSION) {
		SFCTL_WHY(why,
			  "sfd speaks control version %u, this sfctl %u: install both from one "
			  "release",
			  head->version, SF_CONTROL_VERSION);
		return -EPROTO;
	}
	if (head->length != length || head->type != type ||
	    length != (head->status < 0 ? sizeof(struct sf_control_refused)
					: sf_control_reply_length(type))) {
		SFCTL_WHY(why,
			  "sfd sent a malformed reply: type %u, %u bytes announced, %zu received",
			  head->type, head->length, length);
		return -EPROTO;
	}
	return 0;
}

/** Sends a request, of which the type is filled in, and receives its reply into `buffer`, which
 *  holds any message. */
static int exchange(int fd, struct sf_control_head *request, void *buffer, struct sf_why *why)
{
	struct sf_control_refused *refused = buffer;
	ssize_t length;
	int r;

	request->magic = SF_CONTROL_MAGIC;
	request->version = SF_CONTROL_VERSION;
	request->length = sf_control_request_length(request->type);
	do
		length = send(fd, request, request->length, MSG_NOSIGNAL);
	while (length < 0 && errno == EINTR);
	if (length < 0)
		return transfer_failed(fd, errno, why);
	do
		length = recv(fd, buffer, SF_CONTROL_MESSAGE_MAX, MSG_TRUNC);
	while (length < 0 && errno == EINTR);
	if (length <= 0)
		return transfer_failed(fd, length < 0 ? errno : ECONNRESET, why);
	r = check_reply(buffer, (size_t)length, request->type, why);
	if (r < 0 || refused->head.status >= 0)
		return r;
	SFCTL_WHY(why, "%.*s", (int)strnlen(refused->text, sizeof(refused->text) - 1),
		  refused->text);
	return refused->head.status;
}

static int request_init(struct sf_control_request *request, const char *stream, struct sf_why *why)
{
	if (!stream)
		return 0;
	if (stream[0] == '\0' || strlen(stream) >= sizeof(request->stream)) {
		SFCTL_WHY(why, "stream name \"%.60s\" is empty or longer than %zu bytes", stream,
			  sizeof(request->stream) - 1);
		return -EINVAL;
	}
	memcpy(request->stream, stream, strlen(stream));
	return 0;
}

int sfctl_control_stats(int fd, const char *stream, uint32_t index,
			struct sf_control_stats *ret_stats, struct sf_why *why)
{
	struct sf_control_request request = {.head.type = SF_CONTROL_STATS, .index = index};
	union {
		struct sf_control_stats stats;
		uint8_t bytes[SF_CONTROL_MESSAGE_MAX];
	} reply;
	int r = request_init(&request, stream, why);

	if (r == 0)
		r = exchange(fd, &request.head, &reply, why);
	if (r < 0)
		return r;
	reply.stats.stream[sizeof(reply.stats.stream) - 1] = '\0';
	reply.stats.version[sizeof(reply.stats.version) - 1] = '\0';
	if (reply.stats.node_count > SF_NODES_MAX) {
		SFCTL_WHY(why, "sfd sent a malformed reply: %u node ids, at most %d exist",
			  reply.stats.node_count, SF_NODES_MAX);
		return -EPROTO;
	}
	r = sf_layout_check(&reply.stats.layout, why);
	if (r < 0)
		return -EPROTO;
	*ret_stats = reply.stats;
	return 0;
}

int sfctl_control_clients(int fd, const char *stream, uint32_t offset,
			  struct sf_control_clients *ret_clients, struct sf_why *why)
{
	struct sf_control_request request = {.head.type = SF_CONTROL_CLIENTS, .offset = offset};
	struct sf_control_clients reply = {.count = 0};
	int r = request_init(&request, stream, why);

	if (r == 0)
		r = exchange(fd, &request.head, &reply, why);
	if (r < 0)
		return r;
	if (reply.count > SF_CONTROL_CLIENTS_PAGE) {
		SFCTL_WHY(why, "sfd sent a malformed reply: %u clients in a page of %d",
			  reply.count, SF_CONTROL_CLIENTS_PAGE);
		return -EPROTO;
	}
	for (uint32_t i = 0; i < reply.count; i++)
		reply.client[i].command[sizeof(reply.client[i].command) - 1] = '\0';
	*ret_clients = reply;
	return 0;
}

int sfctl_control_upgrade(int fd, const char *path, struct sf_control_upgraded *ret_upgraded,
			  struct sf_why *why)
{
	struct sf_control_upgrade request = {.head.type = SF_CONTROL_UPGRADE};
	union {
		struct sf_control_upgraded upgraded;
		uint8_t bytes[SF_CONTROL_MESSAGE_MAX];
	} reply;
	int r;

	if (strlen(path) >= sizeof(request.path)) {
		SFCTL_WHY(why, "path %.60s... is longer than %zu bytes", path,
			  sizeof(request.path) - 1);
		return -EINVAL;
	}
	memcpy(request.path, path, strlen(path));
	sfctl_control_patience(fd, SFCTL_UPGRADE_TIMEOUT_S * 1000);
	r = exchange(fd, &request.head, &reply, why);
	if (r < 0)
		return r;
	reply.upgraded.version[sizeof(reply.upgraded.version) - 1] = '\0';
	reply.upgraded.before[sizeof(reply.upgraded.before) - 1] = '\0';
	*ret_upgraded = reply.upgraded;
	return 0;
}
