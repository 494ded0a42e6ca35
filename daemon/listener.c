/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Where clients find sfd; see listener.h.
 */
#include "daemon/listener.h"

#include "shm/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG SOMAXCONN

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
static int make_path(struct sfd_listener *listener, const char *runtime_dir, struct sf_why *why)
{
	int length = snprintf(listener->path, sizeof(listener->path), "%s/" SF_CONTROL_SOCKET_NAME,
			      runtime_dir);

	if (length >= 0 && (size_t)length < sizeof(listener->path))
		return 0;
	(void)snprintf(why->text, sizeof(why->text),
		       "%.100s/" SF_CONTROL_SOCKET_NAME
		       ": a socket's path has at most %zu characters: shorten runtime_dir",
		       runtime_dir, sizeof(listener->path) - 1);
	return -ENAMETOOLONG;
}

/** A socket that was passed in: where it listens. An abstract name reads as the empty path. */
static void read_path(struct sfd_listener *listener)
{
	struct sockaddr_un address = {0};
	socklen_t length = sizeof(address);

	if (getsockname(listener->fd, (struct sockaddr *)&address, &length) == 0)
		(void)snprintf(listener->path, sizeof(listener->path), "%.*s",
			       (int)sizeof(address.sun_path), address.sun_path);
}

static void remember(struct sfd_listener *listener)
{
	struct stat status;

	listener->inode = 0;
	if (lstat(listener->path, &status) < 0)
		return;
	listener->device = status.st_dev;
	listener->inode = status.st_ino;
}

static bool is_ours(const struct sfd_listener *listener)
{
	struct stat status;

	return listener->inode != 0 && lstat(listener->path, &status) == 0 &&
	       status.st_dev == listener->device && status.st_ino == listener->inode;
}

/* The directory as it is now: one that was removed and made again is another. Without a watch (none
 * is left, or an older sfd's filter is in force) a removed socket is missed, nothing else. */
static void watch(struct sfd_listener *listener)
{
	char directory[sizeof(listener->path)];
	char *slash;

	(void)snprintf(directory, sizeof(directory), "%s", listener->path);
	slash = strrchr(directory, '/');
	if (!slash)
		return;
	*slash = '\0';
	if (listener->watch_fd < 0)
		listener->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (listener->watch_fd >= 0)
		(void)inotify_add_watch(listener->watch_fd, directory,
					IN_DELETE | IN_MOVED_FROM | IN_MOVE_SELF | IN_ONLYDIR);
}

int sfd_listener_open(struct sfd_listener *listener, const char *runtime_dir, struct sf_why *why)
{
	int error = 0;

	listener->watch_fd = -1;
	if (listener->fd >= 0) {
		read_path(listener);
	} else {
		error = make_path(listener, runtime_dir, why);
		if (error == 0)
			error = listen_at(listener->path, &listener->fd, why);
	}
	if (error == 0) {
		remember(listener);
		watch(listener);
	} else if (!why->text[0]) {
		(void)snprintf(why->text, sizeof(why->text), "%s: %s", listener->path,
			       strerrordesc_np(-error));
	}
	return error;
}

void sfd_listener_close(struct sfd_listener *listener)
{
	if (!listener->is_managers && !listener->keeps_path && is_ours(listener))
		(void)unlink(listener->path);
	(void)close(listener->fd);
	if (listener->watch_fd >= 0)
		(void)close(listener->watch_fd);
}

bool sfd_listener_is_gone(const struct sfd_listener *listener)
{
	struct stat status;

	return listener->path[0] != '\0' && lstat(listener->path, &status) < 0 &&
	       (errno == ENOENT || errno == ENOTDIR);
}

void sfd_listener_drain_watch(const struct sfd_listener *listener)
{
	char events[4096];

	while (read(listener->watch_fd, events, sizeof(events)) > 0)
		continue;
}

int sfd_listener_make_anew(struct sfd_listener *listener)
{
	struct sf_why why = {0};
	int fd = -1;
	int error = listen_at(listener->path, &fd, &why);

	if (error < 0)
		return error;
	remember(listener);
	watch(listener);
	return fd;
}

void sfd_listener_replace(struct sfd_listener *listener, int fd)
{
	(void)close(listener->fd);
	listener->fd = fd;
}
