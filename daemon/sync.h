/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Whether the kernel thinks that its wall clock is right: adjtimex(2), read only. Any thread.
 */
#ifndef SFD_SYNC_H
#define SFD_SYNC_H

#include <stdint.h>

enum sfd_sync_state {
	SFD_SYNC_UNKNOWN, /* the kernel does not tell: a filter forbids the call */
	SFD_SYNC_GOOD,
	SFD_SYNC_BAD,
};

/** A leap second, as the kernel keeps it. */
enum sfd_leap {
	SFD_LEAP_NONE,
	SFD_LEAP_INSERT, /* at the end of the day */
	SFD_LEAP_DELETE,
	SFD_LEAP_NOW,
	SFD_LEAP_PASSED,
};

struct sfd_sync {
	enum sfd_sync_state state;
	enum sfd_leap leap;
	int64_t error_max_us;
	int64_t error_est_us;
	int error; /* UNKNOWN: the negative errno */
};

struct sfd_sync sfd_sync_read(void);

#endif
