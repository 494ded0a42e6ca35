/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Reaping; see orphans.h. The control loop's thread.
 */
#include "daemon/orphans.h"

#include <sys/wait.h>

void sfd_orphans_reap(pid_t own)
{
	for (;;) {
		siginfo_t info = {0};

		/* Look first: a child's end can be read only once. */
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0 ||
		    info.si_pid == own)
			return;
		(void)waitpid(info.si_pid, NULL, WNOHANG);
	}
}
