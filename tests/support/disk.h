/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Disks that go bad when a test says so. A trap holds the system calls by which sfd makes its
 * writes durable, so it reaches what sfd does in a thread, not what io_uring does for it; a mount
 * is a file system of its own that can be frozen. Whatever fails here fails the test.
 */
#ifndef T_DISK_H
#define T_DISK_H

#include "tests/support/daemon.h"

struct t_disk;

/** Or an errno with which each call fails. */
enum {
	T_DISK_WORKS = 0,
	T_DISK_HANGS = -1,
};

/** Traps fdatasync() of a daemon from its next start on. @return NULL where that is not possible */
struct t_disk *t_disk_trap(struct t_daemon *daemon);
void t_disk_answer(struct t_disk *disk, int answer);

/** Makes `path` a small file system whose image lies in `directory`. @return as above */
struct t_disk *t_disk_mount(const char *directory, const char *path);
/** Also thawed when the test ends in whatever way. */
void t_disk_freeze(struct t_disk *disk);
void t_disk_thaw(struct t_disk *disk);

/** NULL is fine. */
void t_disk_release(struct t_disk *disk);

#endif
