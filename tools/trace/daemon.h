/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Which of several daemons is meant. Main thread only.
 */
#ifndef SFCTL_TRACE_DAEMON_H
#define SFCTL_TRACE_DAEMON_H

#include "tools/sfctl.h"
#include "tools/trace/target.h"

/**
 * The process, of those found, that answers at the socket that --socket names.
 * @return 0, or a negative errno with the reason in `why`
 */
int sfctl_trace_daemon(const struct sfctl *sfctl, const struct sfctl_targets *targets,
		       pid_t *ret_pid, struct sf_why *why);

#endif
