/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The stream of `sfctl stamp`: reads lines, stamps them in order, writes whole records. One thread.
 * What has been read is written at once, never held back for more input. Never writes a part of a
 * record, unless the reader of a pipe goes away or the process is killed.
 */
#ifndef SFCTL_STAMP_STREAM_H
#define SFCTL_STAMP_STREAM_H

#include "tools/stamp_record.h"

#include <signal.h>

/** Longest line, its newline included. */
#define SFCTL_STAMP_LINE_MAX (64u << 20)

/** IDs asked for at a time: few, so that even a layout of a few hundred a second has them in time.
 */
#define SFCTL_STAMP_TAKE_MAX 256

/** Gives `count` IDs, rising within and between calls. @return 0, or a negative errno, with why */
typedef int (*sfctl_take_fn)(void *data, struct sfctl_stamp_id *ret_ids, size_t count,
			     struct sf_why *why);
/** Hears of a line that was passed on unstamped, and why. */
typedef void (*sfctl_bad_fn)(void *data, uint64_t line, const char *reason);
/** Hears after each piece of work. */
typedef void (*sfctl_done_fn)(void *data);

struct sfctl_stamper {
	/* set by the caller */
	const struct sfctl_scanner *scanner;
	int in_fd;
	int out_fd;
	bool stops_at_bad;
	sfctl_take_fn take;
	sfctl_bad_fn bad;
	sfctl_done_fn done;
	void *data; /* first argument of the three */
	/* nonzero once SIGINT or SIGTERM was caught: stop at the next whole record */
	const volatile sig_atomic_t *stop;

	/* what was done */
	uint64_t lines;
	uint64_t stamped;
	uint64_t bad_lines;
	uint64_t bytes; /* of input */
};

/**
 * Runs until the end of the input, an error, or `stop`. The records before an error are written.
 * @return 0 at the end of the input, -EINTR after `stop`, or another negative errno with the reason
 *         in `why`
 */
int sfctl_stamper_run(struct sfctl_stamper *stamper, struct sf_why *why);

#endif
