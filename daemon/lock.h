/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Who else is running: locks on the two directories and on machine ids. All are POSIX record locks:
 * the kernel drops them when the process ends, and tells the holder's pid.
 */
#ifndef SFD_LOCK_H
#define SFD_LOCK_H

#include "shm/sflayout.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** Mode of a state directory that is made. */
#define SFD_STATE_MODE 0700
/** Makes `dir` (and its parents) with `mode` if it is missing. @return 0 or a negative errno */
int sfd_lock_make_dir(const char *what, const char *dir, mode_t mode, struct sf_why *why);

/**
 * Makes `dir` (and its parents) with `mode` if it is missing, and locks `dir/sfd.lock`.
 * @param what "runtime" or "state", for the sentence
 * @return 0; -EBUSY with a sentence naming the other daemon's pid; or another negative errno
 */
int sfd_lock_dir(const char *what, const char *dir, mode_t mode, int *ret_fd, struct sf_why *why);

/**
 * Makes and locks the directory again, if it or its lock file was removed; `*fd` is the lock to
 * keep.
 * @return 0 when all was as it should be; 1 when it was done; or as sfd_lock_dir()
 */
int sfd_lock_dir_again(const char *what, const char *dir, mode_t mode, int *fd, struct sf_why *why);

/**
 * Asks who has locked a directory.
 * @return 1 with its pid (0: outside this pid namespace), 0 for nobody, or a negative errno
 */
int sfd_lock_dir_holder(const char *dir, pid_t *ret_pid);

/** What is locked for a machine id of 48 bits of format hound, clear of all node ids. */
#define SFD_LOCK_HOUND (UINT64_C(1) << 48)

/**
 * Locks machine ids for the whole host: one byte each in a file under /run/lock (else /tmp).
 * @param id node ids, or SFD_LOCK_HOUND | machine id
 * @return 0; -EBUSY with a sentence naming the machine id and the other daemon's pid; or another
 *         negative errno
 */
int sfd_lock_nodes(const uint64_t *id, uint32_t count, int *ret_fd, struct sf_why *why);

/** Locks further machine ids with the descriptor of sfd_lock_nodes(); those that this process has
 *  already stay locked. Results as there. */
int sfd_lock_more_nodes(int fd, const uint64_t *id, uint32_t count, struct sf_why *why);

/** The descriptor, which another program of this process got from sfd_lock_dir(), is the lock of
 *  this directory. */
bool sfd_lock_is_of(const char *dir, int fd);

#endif
