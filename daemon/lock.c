/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * POSIX record locks. Called by the control thread before other threads exist. The kernel drops all
 * locks that a process has on a file as soon as the process closes any descriptor of that file: so
 * each lock file is opened exactly once, and the descriptor kept until the process ends.
 */
#include "daemon/lock.h"

#include "daemon/fsys.h"
#include "shm/nodes.h"
#include "shm/why.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARENT_MODE 0755
#define LOCK_NAME "sfd.lock"
/* The holder may end between our attempt and our question who it is. */
#define LOCK_TRIES 8

/** The first lock in our way. */
struct holder {
	pid_t pid;
	off_t at;
	bool is_reader; /* no sfd: those that make IDs of the past share a machine id */
};

/** @return 0; -EBUSY with `ret_holder`; or another negative errno */
static int lock_range(int fd, off_t start, off_t length, struct holder *ret_holder)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		struct flock lock = {
			.l_type = F_WRLCK,
			.l_whence = SEEK_SET,
			.l_start = start,
			.l_len = length,
		};

		if (fcntl(fd, F_SETLK, &lock) == 0)
			return 0;
		if (errno != EACCES && errno != EAGAIN)
			return -errno;
		if (fcntl(fd, F_GETLK, &lock) < 0)
			return -errno;
		if (lock.l_type == F_UNLCK)
			continue;
		*ret_holder = (struct holder){
			.pid = lock.l_pid,
			.at = lock.l_start > start ? lock.l_start : start,
			.is_reader = lock.l_type == F_RDLCK,
		};
		return -EBUSY;
	}
	return -EAGAIN;
}

/* A process outside our pid namespace has no number here. */
static const char *show_pid(pid_t pid, char *buffer, size_t size)
{
	if (pid > 0)
		(void)snprintf(buffer, size, "pid %d", (int)pid);
	else
		(void)snprintf(buffer, size, "a process outside this pid namespace");
	return buffer;
}

static const char *show_id(uint64_t id, char *buffer, size_t size)
{
	if ((id & SFD_LOCK_HOUND) != 0)
		(void)snprintf(buffer, size, "0x%012" PRIx64, id & (SFD_LOCK_HOUND - 1));
	else
		(void)snprintf(buffer, size, "%" PRIu64, id);
	return buffer;
}

/** @return 0, or a negative errno and the directory that could not be made in `path` */
static int make_path(char *path, mode_t mode)
{
	for (size_t end = strlen(path); end > 1 && path[end - 1] == '/'; end--)
		path[end - 1] = '\0';
	for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, PARENT_MODE) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	if (mkdir(path, mode) < 0)
		return errno == EEXIST ? 0 : -errno;
	/* The umask may have taken from the mode that was asked for. */
	return chmod(path, mode) < 0 ? -errno : 0;
}

int sfd_lock_make_dir(const char *what, const char *dir, mode_t mode, struct sf_why *why)
{
	char path[PATH_MAX];
	char action[96];
	int r;

	if (strlen(dir) >= sizeof(path) || dir[0] == '\0')
		return SF_SHM_REFUSE(why, -ENAMETOOLONG,
				     "the %s directory's path has %u bytes; legal is [1,%u]", what,
				     (unsigned)strlen(dir), PATH_MAX - 1u);
	(void)snprintf(path, sizeof(path), "%s", dir);
	r = make_path(path, mode);
	if (r == 0)
		return 0;
	(void)snprintf(action, sizeof(action), "make this part of the %s directory (mode %04o)",
		       what, (unsigned)mode);
	return sfd_fsys_refuse(why, r, path, action, 0);
}

int sfd_lock_dir(const char *what, const char *dir, mode_t mode, int *ret_fd, struct sf_why *why)
{
	struct holder holder = {0};
	char path[PATH_MAX];
	char pid[64];
	int fd;
	int r;

	sf_shm_clear(why);
	r = sfd_lock_make_dir(what, dir, mode, why);
	if (r < 0)
		return r;
	if ((size_t)snprintf(path, sizeof(path), "%s/" LOCK_NAME, dir) >= sizeof(path))
		return sfd_fsys_refuse(why, -ENAMETOOLONG, dir, "hold the lock file", 0);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return sfd_fsys_refuse(why, -errno, path, "open the lock file", 0);
	r = lock_range(fd, 0, 1, &holder);
	if (r == 0) {
		*ret_fd = fd;
		return 0;
	}
	(void)close(fd);
	if (r != -EBUSY)
		return sfd_fsys_refuse(why, r, path, "lock", 0);
	return SF_SHM_REFUSE(why, r,
			     "%s: the %s directory is in use by another sfd, %s; stop that one, or "
			     "give this one another --%s-dir",
			     dir, what, show_pid(holder.pid, pid, sizeof(pid)), what);
}

int sfd_lock_dir_again(const char *what, const char *dir, mode_t mode, int *fd, struct sf_why *why)
{
	int again = -1;
	int r;

	if (sfd_lock_is_of(dir, *fd))
		return 0;
	r = sfd_lock_dir(what, dir, mode, &again, why);
	if (r < 0)
		return r;
	(void)close(*fd);
	*fd = again;
	return 1;
}

int sfd_lock_dir_holder(const char *dir, pid_t *ret_pid)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
	char path[PATH_MAX];
	int r = 0;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/sfd.lock", dir);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fcntl(fd, F_GETLK, &lock) < 0)
		r = -errno;
	else if (lock.l_type != F_UNLCK)
		r = 1;
	(void)close(fd);
	if (r == 1)
		*ret_pid = lock.l_pid > 0 ? lock.l_pid : 0;
	return r;
}

/** @return a descriptor, or a negative errno with a sentence */
static int open_nodes(const char **ret_path, struct sf_why *why)
{
	int fd = sf_shm_nodes_open(ret_path);

	if (fd == -ENXIO)
		return SF_SHM_REFUSE(why, -EINVAL,
				     "%s is not a regular file, machine ids cannot be locked in "
				     "it; remove it",
				     *ret_path);
	return fd < 0 ? sfd_fsys_refuse(why, fd, *ret_path, "open the lock file of machine ids", 0)
		      : fd;
}

/** Locks neighbours together. Results as for lock_range(). */
static int lock_each(int fd, const uint64_t *id, uint32_t count, struct holder *ret_holder)
{
	uint32_t first = 0;
	int r = 0;

	for (uint32_t i = 1; r == 0 && i <= count; i++) {
		if (i < count && id[i] == id[i - 1] + 1)
			continue;
		r = lock_range(fd, (off_t)id[first], (off_t)(i - first), ret_holder);
		first = i;
	}
	return r;
}

/** @param path of the file, for the sentence */
static int lock_ids(int fd, const char *path, const uint64_t *id, uint32_t count,
		    struct sf_why *why)
{
	struct holder holder = {0};
	char shown[32];
	char pid[64];
	int r;

	r = lock_each(fd, id, count, &holder);
	if (r == 0)
		return 0;
	if (r != -EBUSY)
		return sfd_fsys_refuse(why, r, path, "lock machine ids", 0);
	return SF_SHM_REFUSE(why, r,
			     "machine id %s is in use on this host by %s%s (%s); give this one "
			     "another machine id, or stop that one",
			     show_id((uint64_t)holder.at, shown, sizeof(shown)),
			     holder.is_reader ? "an open store of aliases" : "another sfd, ",
			     holder.is_reader ? "" : show_pid(holder.pid, pid, sizeof(pid)), path);
}

int sfd_lock_more_nodes(int fd, const uint64_t *id, uint32_t count, struct sf_why *why)
{
	sf_shm_clear(why);
	return lock_ids(fd, "the host's file of machine ids", id, count, why);
}

int sfd_lock_nodes(const uint64_t *id, uint32_t count, int *ret_fd, struct sf_why *why)
{
	const char *path = NULL;
	int fd;
	int r;

	sf_shm_clear(why);
	fd = open_nodes(&path, why);
	if (fd < 0)
		return fd;
	r = lock_ids(fd, path, id, count, why);
	if (r < 0)
		(void)close(fd);
	else
		*ret_fd = fd;
	return r;
}

bool sfd_lock_is_of(const char *dir, int fd)
{
	char path[PATH_MAX];
	struct stat there;
	struct stat here;

	return (size_t)snprintf(path, sizeof(path), "%s/" LOCK_NAME, dir) < sizeof(path) &&
	       lstat(path, &there) == 0 && fstat(fd, &here) == 0 && there.st_dev == here.st_dev &&
	       there.st_ino == here.st_ino;
}
