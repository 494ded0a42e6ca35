/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The machine id of backfilled IDs is kept from every sfd of the host: a read lock on its byte in
 * the file where an sfd write-locks its own. Locks of an open file description, not of the process:
 * those would vanish when any descriptor of the file is closed anywhere in the process. Stores
 * share the lock, so it never keeps one store from another.
 */
#include "libclient/alias/alias.h"

#include "shm/nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The holder may end between our attempt and our question who it is. */
#define LOCK_TRIES 8

static struct flock byte_lock(short type, uint32_t node)
{
	return (struct flock){
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = node,
		.l_len = 1,
	};
}

/** @return 0; -EBUSY with the holder's pid, below 1 when it has none here; or a negative errno */
static int lock_byte(int fd, uint32_t node, pid_t *ret_pid)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		struct flock lock = byte_lock(F_RDLCK, node);

		if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
			return 0;
		if (errno != EACCES && errno != EAGAIN)
			return -errno;
		lock = byte_lock(F_RDLCK, node);
		if (fcntl(fd, F_OFD_GETLK, &lock) < 0)
			return -errno;
		if (lock.l_type == F_UNLCK)
			continue;
		*ret_pid = lock.l_pid;
		return -EBUSY;
	}
	return -EAGAIN;
}

int sf_alias_node_lock(uint32_t node, int *ret_fd, struct sf_why *why)
{
	const char *path;
	pid_t pid = 0;
	char holder[32] = "outside this pid namespace";
	int fd = sf_shm_nodes_open(&path);
	int r;

	if (fd == -ENXIO)
		return SF_ALIAS_REFUSE(why, fd,
				       "%s is not a regular file, machine ids cannot be locked in "
				       "it; remove it",
				       path);
	if (fd < 0)
		return SF_ALIAS_REFUSE(why, fd,
				       "%s: cannot open the lock file of machine ids: %s; let this "
				       "user read and write it",
				       path, strerrordesc_np(-fd));
	r = lock_byte(fd, node, &pid);
	if (r == 0) {
		*ret_fd = fd;
		return 0;
	}
	(void)close(fd);
	if (pid > 0)
		(void)snprintf(holder, sizeof(holder), "pid %d", (int)pid);
	if (r == -EBUSY)
		return SF_ALIAS_REFUSE(why, r,
				       "machine id %u is in use on this host by an sfd, %s (%s); "
				       "backfill needs one that no stream has",
				       node, holder, path);
	return SF_ALIAS_REFUSE(why, r, "%s: cannot lock machine id %u: %s", path, node,
			       strerrordesc_np(-r));
}

void sf_alias_node_unlock(uint32_t node, int fd)
{
	struct flock lock = byte_lock(F_UNLCK, node);

	/* Not left to the close: a forked child has the same description open. */
	(void)fcntl(fd, F_OFD_SETLK, &lock);
	(void)close(fd);
}
