/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Which daemon; see daemon.h. sfd tells its pid as its own pid namespace has it, which is the last
 * of those that /proc lists.
 */
#include "tools/trace/daemon.h"

#include "tools/control.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ask_pid(const struct sfctl *sfctl, uint32_t *ret_pid, struct sf_why *why)
{
	struct sf_control_stats stats;
	int fd;
	int error = sfctl_control_open(sfctl, &fd, why);

	if (error < 0)
		return error;
	error = sfctl_control_stats(fd, NULL, 0, &stats, why);
	(void)sfctl_control_close(fd);
	if (error == 0)
		*ret_pid = stats.pid;
	return error;
}

/** A process's number in its own pid namespace; 0 when it is gone. */
static uint32_t own_pid(pid_t pid)
{
	char line[256];
	char path[32];
	uint32_t own = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && own == 0 && fgets(line, sizeof(line), file))
		if (strncmp(line, "NSpid:", 6) == 0)
			own = (uint32_t)strtoul(strrchr(line, '\t') + 1, NULL, 10);
	if (file)
		(void)fclose(file);
	return own;
}

int sfctl_trace_daemon(const struct sfctl *sfctl, const struct sfctl_targets *targets,
		       pid_t *ret_pid, struct sf_why *why)
{
	uint32_t wanted = 0;
	int error = ask_pid(sfctl, &wanted, why);

	if (error < 0)
		return error;
	for (size_t i = 0; i < targets->pid_count; i++) {
		if (own_pid(targets->pid[i]) == wanted) {
			*ret_pid = targets->pid[i];
			return 0;
		}
	}
	SFCTL_WHY(why,
		  "the sfd at %.100s is process %" PRIu32
		  " of its pid namespace, and none of those "
		  "here: run sfctl where that one can be seen",
		  sfctl->socket, wanted);
	return -ENOENT;
}
