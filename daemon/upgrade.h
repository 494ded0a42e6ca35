/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Before sfd becomes another program: that program is asked whether it would start with this one's
 * arguments and the configuration as it is now (--check-config), in a process of its own, which
 * inherits nothing. The control loop's thread.
 */
#ifndef SFD_UPGRADE_H
#define SFD_UPGRADE_H

#include "daemon/loop.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct sfd_upgrade {
	struct sfd_loop *loop;
	char *const *argv;
	/* `text`: why not; empty when it would start */
	void (*checked)(void *owner, const char *text);
	void *owner;
	char path[PATH_MAX];
	char why[240];
	bool timed_out;
	pid_t pid; /* 0: none runs */
	int pid_fd;
	int said_fd; /* what the program says */
	struct sfd_request ended;
	struct sfd_request timeout;
};

void sfd_upgrade_init(struct sfd_upgrade *upgrade, struct sfd_loop *loop, char *const *argv);
/** Kills a program that still runs. After the loop was freed, or before a first beginning. */
void sfd_upgrade_deinit(struct sfd_upgrade *upgrade);
/**
 * Starts to ask the program at `path`; empty: the file that this one was started from, as it is
 * now. One at a time. @return 0, and `checked` is called later, or a negative errno
 */
int sfd_upgrade_begin(struct sfd_upgrade *upgrade, const char *path);

#endif
