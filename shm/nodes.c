/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Opening the file of machine ids. Keeps no state. Never locks: who does knows which kind of lock
 * its process can hold.
 */
#include "shm/nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* Any user may have machine ids, and all must see each other's. */
#define FILE_MODE 0666
/* The file may be made or removed by others meanwhile. */
#define OPEN_TRIES 8

/* Without O_CREAT first: the kernel may refuse that flag for a file of another user's (see
 * fs.protected_regular), although opening it is fine. */
static int open_or_make(const char *path)
{
	for (int i = 0; i < OPEN_TRIES; i++) {
		int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

		if (fd >= 0 || errno != ENOENT)
			return fd < 0 ? -errno : fd;
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
		if (fd < 0 && errno == EEXIST)
			continue;
		/* The umask may have taken from the others what they need. */
		if (fd >= 0 && fchmod(fd, FILE_MODE) < 0) {
			int r = -errno;

			(void)close(fd);
			return r;
		}
		return fd < 0 ? -errno : fd;
	}
	return -EAGAIN;
}

/* The next place is right only where nobody can use this one. A file that exists and cannot be
 * opened is an error: others hold their locks there. */
static bool is_out_of_reach(const char *path, int error)
{
	return error < 0 && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
}

int sf_shm_nodes_open(const char **ret_path)
{
	static const char *const paths[] = {"/run/lock/sfd.nodes", "/tmp/sfd.nodes"};
	struct stat status;
	size_t i = 0;
	int fd = open_or_make(paths[0]);

	if (is_out_of_reach(paths[0], fd))
		fd = open_or_make(paths[++i]);
	*ret_path = paths[i];
	if (fd >= 0 && (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))) {
		(void)close(fd);
		return -ENXIO;
	}
	return fd;
}
