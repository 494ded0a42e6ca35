/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A synchronous client of sfd's control channel, for what operators ask. It never attaches, so it
 * does not count as a client of a stream. A connection belongs to one thread.
 */
#ifndef SFCTL_CONTROL_H
#define SFCTL_CONTROL_H

#include "shm/control.h"
#include "tools/sfctl.h"

/** Longest wait for one answer. */
#define SFCTL_CONTROL_TIMEOUT_S 5

/**
 * Connect to the daemon's control socket.
 * @return 0, or -ENOTCONN (nothing listens), -EACCES, -ENOMEM or another negative errno of the
 *         socket calls, with the reason in `why`
 */
int sfctl_control_open(const struct sfctl *sfctl, int *ret_fd, struct sf_why *why);

/** Sets the longest wait for one answer, at least 1 ms; else it is SFCTL_CONTROL_TIMEOUT_S. */
void sfctl_control_patience(int fd, unsigned ms);

/** Closes; -1 is fine. @return -1 */
int sfctl_control_close(int fd);

/**
 * Ask for one stream's statistics, by name, or by number where the name is NULL. Texts of the reply
 * are NUL-terminated and counts are within their arrays.
 * @return 0, -ENOENT (no such stream), -EPROTO (another version, or malformed), -ETIMEDOUT,
 *         -ENOTCONN (the daemon went away), or what else the daemon refused with
 */
int sfctl_control_stats(int fd, const char *stream, uint32_t index,
			struct sf_control_stats *ret_stats, struct sf_why *why);

/** Ask for a page of the clients attached to a stream, from number `offset` on. @return as above */
int sfctl_control_clients(int fd, const char *stream, uint32_t offset,
			  struct sf_control_clients *ret_clients, struct sf_why *why);

/** Longest wait for an upgrade: the new program checks its configuration and starts. */
#define SFCTL_UPGRADE_TIMEOUT_S 30

/** Have sfd become the program at `path`, an absolute path as sfd sees it; empty: the file that sfd
 *  was started from. @return as above; -EPERM, or -ENOEXEC when sfd stays what it is */
int sfctl_control_upgrade(int fd, const char *path, struct sf_control_upgraded *ret_upgraded,
			  struct sf_why *why);

#endif
