/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What the daemon's small files have in common: room that is reserved before it is used, and one
 * sentence for every way in which the file system can say no. Any thread.
 */
#ifndef SFD_FSYS_H
#define SFD_FSYS_H

#include "shm/sflayout.h"

#include <stddef.h>
#include <stdint.h>

/** Room for a path in a sentence; a longer one is cut, as the sentence would be. */
#define SFD_FSYS_SHOWN_BYTES 160

/**
 * Says that `action` ("create the lock file") on `path` failed, and what helps against it.
 * @param bytes what the action needs, for "no space left"
 * @return `error`, a negative errno
 */
int sfd_fsys_refuse(struct sf_why *why, int error, const char *path, const char *action,
		    uint32_t bytes);

/** Gives a file blocks for its first `bytes` bytes, and at least that size. @return 0 or -errno */
int sfd_fsys_reserve(int fd, uint32_t bytes);

/** Text of this boot's id, cut to fit; empty when the kernel does not tell. */
void sfd_fsys_boot_id(char *text, size_t size);

/** Writes "DIR/NAME", cut if need be. Returns `buffer`. */
const char *sfd_fsys_show(char buffer[SFD_FSYS_SHOWN_BYTES], const char *dir, const char *name);

#endif
