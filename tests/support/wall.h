/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A wall clock of the test's own for a real sfd: it runs with the host's and steps when the test
 * says so, at once and without a word of it (no timer is cancelled, as the kernel would). What the
 * kernel thinks of its clock can be set, too. The host's clock is never touched, and the monotonic
 * clock is the true one. Goes by LD_PRELOAD: sfd is the one that is installed.
 */
#ifndef T_WALL_H
#define T_WALL_H

#include <stdatomic.h>
#include <stdint.h>

/** Names the shared file to the preloaded library. */
#define T_WALL_VARIABLE "T_WALL_FILE"

/** The shared file. */
struct t_wall {
	_Atomic int64_t offset_ns; /* added to the host's wall clock */
	/* what adjtimex(2) answers */
	_Atomic int clock_state; /* TIME_OK ... TIME_ERROR */
	_Atomic int status;      /* STA_... */
	_Atomic long max_error_us;
	_Atomic int sync_errno; /* not 0: it fails with this */
};

struct t_daemon;

/**
 * From its next start on the daemon has a wall of the test's own, which shows the host's time and
 * is in synchronisation. Takes the daemon's before_exec; one that is needed besides calls
 * t_wall_preload(). There is one wall a process: the daemon named last has it.
 */
void t_wall_init(struct t_daemon *daemon);
/** In the child that becomes sfd. */
void t_wall_preload(void);

/** The wall steps by so much; an sfd that idles sees it within an eighth of a second. */
void t_wall_step(int64_t ns);
/** The wall steps to this time. */
void t_wall_set(int64_t unix_ns);
/** What it shows now. */
int64_t t_wall_now(void);
/** What the kernel says of its clock from now on; in synchronisation while max_error_us is below
 *  16 s. */
void t_wall_sync(int clock_state, int status, long max_error_us);
/** The kernel refuses to say; 0: it does not. */
void t_wall_sync_fails(int error);

#endif
