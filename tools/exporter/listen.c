/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Where the exporter listens; see listen.h.
 */
#include "tools/exporter/listen.h"

#include "tools/number.h"
#include "tools/sfctl.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define UNIX_PREFIX "unix:"
#define PORT_MAX 65535
/* When slow clients are many, a scraper that finds no place here tries again after a second. */
#define BACKLOG SOMAXCONN

static int parse_unix(const char *path, struct sfctl_listen *where, struct sf_why *why)
{
	if (*path == '\0' || strlen(path) >= sizeof(where->path)) {
		SFCTL_WHY(why, "the path of a Unix socket has 1 to %zu characters, \"%.60s\" %zu",
			  sizeof(where->path) - 1, path, strlen(path));
		return -EINVAL;
	}
	where->is_unix = true;
	memcpy(where->path, path, strlen(path) + 1);
	return 0;
}

/** HOST in HOST:PORT or [V6]:PORT, whose last colon is known. */
static bool parse_host(const char *text, const char *colon, struct sfctl_listen *where)
{
	size_t length = (size_t)(colon - text);
	bool is_bracketed = length > 2 && text[0] == '[' && colon[-1] == ']';

	if (is_bracketed) {
		text++;
		length -= 2;
	}
	/* Without brackets nobody knows which colon ends the address. */
	if (length == 0 || length >= sizeof(where->host) ||
	    (memchr(text, ':', length) && !is_bracketed) || memchr(text, '[', length))
		return false;
	memcpy(where->host, text, length);
	return true;
}

int sfctl_listen_parse(const char *text, struct sfctl_listen *ret_listen, struct sf_why *why)
{
	struct sfctl_listen listen = {0};
	const char *colon = strrchr(text, ':');
	uint64_t port;
	int error = 0;

	if (strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0) {
		error = parse_unix(text + strlen(UNIX_PREFIX), &listen, why);
	} else if (!colon || !parse_host(text, colon, &listen)) {
		SFCTL_WHY(why,
			  "\"%.60s\" is no place to listen: say HOST:PORT, [IPV6]:PORT or "
			  "unix:PATH",
			  text);
		error = -EINVAL;
	} else if (sfctl_number_parse_range(colon + 1, 0, PORT_MAX, &port) < 0) {
		SFCTL_WHY(why, "port \"%.60s\" is not a number from 0 to %d", colon + 1, PORT_MAX);
		error = -EINVAL;
	} else {
		(void)snprintf(listen.port, sizeof(listen.port), "%u", (unsigned)port);
	}
	if (error == 0)
		*ret_listen = listen;
	return error;
}

/** Removes a socket that nobody serves. */
static int make_way(const struct sockaddr_un *address, struct sf_why *why)
{
	struct stat status;
	int fd;
	int error;

	if (lstat(address->sun_path, &status) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(status.st_mode)) {
		SFCTL_WHY(why,
			  "%s is in the way and is not a socket: move it, or name another path",
			  address->sun_path);
		return -EEXIST;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	error = connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? errno : 0;
	(void)close(fd);
	if (error == ECONNREFUSED)
		return unlink(address->sun_path) < 0 ? -errno : 0;
	SFCTL_WHY(why, "somebody else listens at %s: stop that program, or name another path",
		  address->sun_path);
	return -EADDRINUSE;
}

static int open_unix(const struct sfctl_listen *where, mode_t mode, struct sfctl_listener *listener,
		     struct sf_why *why)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat status;
	mode_t mask;
	int error;

	memcpy(address.sun_path, where->path, sizeof(address.sun_path));
	error = make_way(&address, why);
	if (error < 0)
		return error;
	listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0)
		return -errno;
	/* By the mask, so that there is no moment with another mode. */
	mask = umask(~mode & 0777);
	error = bind(listener->fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno
											   : 0;
	(void)umask(mask);
	if (error < 0)
		return error;
	memcpy(listener->path, where->path, sizeof(listener->path));
	if (lstat(listener->path, &status) == 0) {
		listener->device = status.st_dev;
		listener->inode = status.st_ino;
	}
	(void)snprintf(listener->name, sizeof(listener->name), "/metrics at " UNIX_PREFIX "%s",
		       listener->path);
	return 0;
}

/** An address of a host's, until one can be had. */
static int bind_one(struct sfctl_listener *listener, const struct addrinfo *info)
{
	int on = 1;
	int off = 0;
	int error;

	listener->fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0)
		return -errno;
	/* Old connections of an exporter that ended keep nobody from the port. */
	(void)setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* [::] takes IPv4, too, on any host. */
	if (info->ai_family == AF_INET6)
		(void)setsockopt(listener->fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(listener->fd, info->ai_addr, info->ai_addrlen) == 0)
		return 0;
	error = -errno;
	(void)close(listener->fd);
	listener->fd = -1;
	return error;
}

/** What the address really is: port 0 takes any that is free. */
static void name_it(struct sfctl_listener *listener)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	char host[SFCTL_HOST_MAX] = "?";
	char port[8] = "?";
	bool is_v6;

	if (getsockname(listener->fd, (struct sockaddr *)&address, &size) == 0)
		(void)getnameinfo((struct sockaddr *)&address, size, host, sizeof(host), port,
				  sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	is_v6 = strchr(host, ':') != NULL;
	(void)snprintf(listener->name, sizeof(listener->name), "http://%s%s%s:%s/metrics",
		       is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
}

static int open_tcp(const struct sfctl_listen *where, struct sfctl_listener *listener,
		    struct sf_why *why)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct addrinfo *found;
	int error = getaddrinfo(where->host, where->port, &hints, &found);

	if (error != 0) {
		SFCTL_WHY(why, "\"%.100s\" is no address of this host: %s", where->host,
			  error == EAI_SYSTEM ? strerrordesc_np(errno) : gai_strerror(error));
		return -EADDRNOTAVAIL;
	}
	error = -EADDRNOTAVAIL;
	for (const struct addrinfo *info = found; info && error < 0; info = info->ai_next)
		error = bind_one(listener, info);
	freeaddrinfo(found);
	if (error == 0)
		name_it(listener);
	return error;
}

static const char *remedy(int error)
{
	switch (error) {
	case -EADDRINUSE:
		return "; choose another with --listen";
	case -EADDRNOTAVAIL:
		return "; choose an address of this host";
	case -EACCES:
		return "; run as root, or choose a port from 1024 on or a directory that you may "
		       "write to";
	default:
		return "";
	}
}

int sfctl_listener_open(const struct sfctl_listen *where, mode_t mode,
			struct sfctl_listener *ret_listener, struct sf_why *why)
{
	struct sfctl_listener listener = {.fd = -1};
	int error;

	why->text[0] = '\0';
	error = where->is_unix ? open_unix(where, mode, &listener, why)
			       : open_tcp(where, &listener, why);
	if (error == 0 && listen(listener.fd, BACKLOG) < 0)
		error = -errno;
	if (error == 0) {
		*ret_listener = listener;
		return 0;
	}
	if (why->text[0] == '\0')
		SFCTL_WHY(why, "cannot listen at %.100s%s%s: %s%s",
			  where->is_unix ? where->path : where->host, where->is_unix ? "" : ":",
			  where->port, strerrordesc_np(-error), remedy(error));
	sfctl_listener_close(&listener);
	return error;
}

void sfctl_listener_close(struct sfctl_listener *listener)
{
	struct stat status;

	if (listener->inode != 0 && lstat(listener->path, &status) == 0 &&
	    status.st_dev == listener->device && status.st_ino == listener->inode)
		(void)unlink(listener->path);
	if (listener->fd >= 0)
		(void)close(listener->fd);
	listener->fd = -1;
}
