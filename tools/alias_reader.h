/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The input of an alias import: records out of a descriptor, and where in it each one ends, so that
 * a later run can go on there. One thread.
 */
#ifndef SFCTL_ALIAS_READER_H
#define SFCTL_ALIAS_READER_H

#include "tools/alias_csv.h"

#include <sys/types.h>

/** Longest record, bytes. A longer line is dropped and takes the place of a bad record. */
#define SFCTL_ALIAS_RECORD_MAX (1u << 20)

/** A place between two records. */
struct sfctl_alias_mark {
	uint64_t offset; /* bytes */
	uint64_t line;   /* lines */
	uint64_t digest; /* of the bytes before it */
};

struct sfctl_alias_reader {
	int fd;
	enum sfctl_alias_format format;
	struct sfctl_alias_mark at; /* everything before is read */
	/* where a later run can go on: never behind a line without its newline, which may be only
	 * the beginning of one */
	struct sfctl_alias_mark mark;
	uint64_t record_line; /* line in which the last record began, counted from 1 */

	char *buffer;
	size_t begin; /* of what is not read yet */
	size_t end;
	bool is_ended; /* the descriptor has no more */
	bool is_whole; /* the last line had its newline */
	struct sfctl_alias_csv csv;
};

/** Reads from where `fd` stands. @return 0; -EBADF or -EISDIR, of which nothing can be read;
 * -ENOMEM */
int sfctl_alias_reader_init(struct sfctl_alias_reader *reader, int fd,
			    enum sfctl_alias_format format);
void sfctl_alias_reader_deinit(struct sfctl_alias_reader *reader);

/**
 * Goes to a place that an earlier run had reached; before the first record. The header of a CSV is
 * read where it stands.
 * @return 0, -ENODATA when the input ends before it, -ESTALE when the bytes before it are others,
 * or another negative errno
 */
int sfctl_alias_reader_skip(struct sfctl_alias_reader *reader, const struct sfctl_alias_mark *mark,
			    struct sf_why *why);

/**
 * Reads the next record; blank lines are none, but for SFCTL_ALIAS_KEYS. Waits for input.
 * @return 1; 0 at the end; -EINVAL for a record that is wrong, after which the next can be read; or
 *         another negative errno, which ends it all. Sentences go on after "line N: ", which is
 *         `record_line`.
 */
int sfctl_alias_reader_next(struct sfctl_alias_reader *reader, struct sfctl_alias_entry *ret_entry,
			    struct sf_why *why);

/** Whether sfctl_alias_reader_next() would have to wait, as far as can be seen. */
bool sfctl_alias_reader_would_wait(const struct sfctl_alias_reader *reader);

#endif
