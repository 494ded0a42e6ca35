/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The bytes of a daemon's mark file, to be kept, spoilt and put back.
 */
#ifndef T_MARK_FILE_H
#define T_MARK_FILE_H

#include "daemon/mark_record.h"
#include "tests/support/daemon.h"

struct t_mark_file {
	uint8_t byte[SFD_MARK_FILE_BYTES];
	size_t length;
};

/** Of the stream `default`. */
void t_mark_file_read(const struct t_daemon *daemon, struct t_mark_file *ret_file);
void t_mark_file_write(const struct t_daemon *daemon, const struct t_mark_file *file);
/** Moves the promise of both records on, as if there had been IDs of a later time. */
void t_mark_file_promise_more(struct t_mark_file *file, uint64_t ticks);
/** Moves it back, in a file that has been written more often (an even number). */
void t_mark_file_promise_less(struct t_mark_file *file, uint64_t ticks, uint64_t writes);
/** Flips a bit of the record with the higher sequence number. */
void t_mark_file_flip_newest(struct t_mark_file *file);

#endif
