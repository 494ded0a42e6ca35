/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The kernel's opinion of its clock; see sync.h.
 */
#include "daemon/sync.h"

#include <errno.h>
#include <sys/timex.h>

/* NTP_PHASE_LIMIT of the kernel: where its bound of the error ends, half a day after the last
 * correction. */
#define ERROR_LIMIT_US 16000000

struct sfd_sync sfd_sync_read(void)
{
	static const enum sfd_leap leap[] = {
		[TIME_INS] = SFD_LEAP_INSERT,
		[TIME_DEL] = SFD_LEAP_DELETE,
		[TIME_OOP] = SFD_LEAP_NOW,
		[TIME_WAIT] = SFD_LEAP_PASSED,
	};
	struct timex timex = {.modes = 0};
	struct sfd_sync sync = {.state = SFD_SYNC_GOOD};
	int state = adjtimex(&timex);

	if (state < 0)
		return (struct sfd_sync){.state = SFD_SYNC_UNKNOWN, .error = -errno};
	sync.error_max_us = timex.maxerror;
	sync.error_est_us = timex.esterror;
	/* Not STA_UNSYNC: chronyd leaves it set to keep the kernel's hands off the hardware clock,
	 * and tells the truth in the error. systemd goes by it, too. */
	if (timex.maxerror >= ERROR_LIMIT_US)
		sync.state = SFD_SYNC_BAD;
	if (state <= TIME_WAIT) /* else TIME_ERROR: STA_UNSYNC */
		sync.leap = leap[state];
	return sync;
}
