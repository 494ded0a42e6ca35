/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Whom to trace: the files with probes that processes have mapped. A probe is the kernel's by file,
 * so one attachment covers every process that maps the same file, also those that start later. A
 * file is kept open: so it can be attached to whatever mount namespace it lies in, and when its
 * path is another's by now. Main thread only.
 */
#ifndef SFCTL_TRACE_TARGET_H
#define SFCTL_TRACE_TARGET_H

#include "shm/sflayout.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** Whose probes. */
struct sfctl_provider {
	const char *name;    /* in the notes */
	const char *file;    /* how the name of a file begins that should have them */
	const char *program; /* for people */
};

extern const struct sfctl_provider sfctl_provider_client;
extern const struct sfctl_provider sfctl_provider_daemon;

struct sfctl_target_file {
	int fd;
	char *path; /* as a process sees it that maps it */
	pid_t pid;  /* that process */
	bool is_replaced;
	dev_t device;
	ino_t inode;
};

struct sfctl_targets {
	struct sfctl_target_file *file;
	size_t file_count;
	pid_t *pid; /* processes that have mapped one of them, this one left out */
	size_t pid_count;
	size_t hidden; /* processes that could not be looked at */
	/* a file that should have probes, of the last process that had one without; NULL: none */
	char *bare;
	/* one that was replaced and may not be opened; NULL: none */
	char *replaced;
	/* one that may not be opened; NULL: none */
	char *locked;
};

/**
 * Looks for files with probes of a provider in one process, or in all (`pid` 0).
 * @return 0, -ENOENT when there is none, or another negative errno, with the reason in `why`
 */
int sfctl_targets_init(struct sfctl_targets *targets, const struct sfctl_provider *provider,
		       pid_t pid, struct sf_why *why);
void sfctl_targets_deinit(struct sfctl_targets *targets);

#endif
