/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A progress line on stderr, for a person who waits. Main thread only; silent where stderr is no
 * terminal or stdout is one, whose lines it would disturb.
 */
#ifndef SFCTL_PROGRESS_H
#define SFCTL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct sfctl_progress {
	uint64_t total_bytes; /* 0: unknown */
	int64_t started_ns;
	int64_t shown_ns;
	bool is_on;
};

/** `fd` is what will be read: a regular file's size gives the percentage. */
void sfctl_progress_init(struct sfctl_progress *progress, int fd);

/** Redraws the line a few times a second, and at once when `is_last`, which ends it. */
void sfctl_progress_show(struct sfctl_progress *progress, uint64_t bytes, uint64_t records,
			 bool is_last);

/** Takes the line away, before a message is printed. */
void sfctl_progress_clear(struct sfctl_progress *progress);

#endif
