/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The pairs that an alias import writes: into a file that a later run can go on with, or into a
 * stream (stdout, a pipe, a device), which nobody can take back. How far the file has come is for
 * the caller to keep; what lies behind that is cut off. Main thread.
 */
#ifndef SFCTL_ALIAS_OUTPUT_H
#define SFCTL_ALIAS_OUTPUT_H

#include "tools/alias_record.h"
#include "tools/sfctl.h"

/** The beginning of a file, as a later run can find it again. */
struct sfctl_alias_extent {
	uint64_t device;
	uint64_t inode;
	uint64_t length; /* bytes */
	uint64_t digest; /* of them */
};

struct sfctl_alias_output {
	const struct sfctl *sfctl;
	const char *path; /* "-" is stdout; NULL: there is no output, and calls do nothing */
	enum sfctl_alias_format format;
	FILE *file;                       /* NULL: not open */
	bool is_file;                     /* a regular one; else a stream */
	struct sfctl_alias_extent all;    /* written */
	struct sfctl_alias_extent marked; /* on disk, and a place to go on at */
};

/** Opens, and changes nothing in it yet. @return SFCTL_OK, or SFCTL_FAILED after a sentence */
int sfctl_alias_output_open(struct sfctl_alias_output *output);

/** Refuses an output that is the input or a file of the store. @return as above */
int sfctl_alias_output_check(const struct sfctl_alias_output *output, int input_fd,
			     const char *store_path);

/** Whether there is something in it. */
bool sfctl_alias_output_has_bytes(const struct sfctl_alias_output *output);

/** Begins anew: what is in it goes. @return as above */
int sfctl_alias_output_begin(struct sfctl_alias_output *output);

/** Goes on behind what an earlier run wrote. @return as above */
int sfctl_alias_output_go_on(struct sfctl_alias_output *output,
			     const struct sfctl_alias_extent *extent);

/**
 * Writes pairs, to the disk where it is a file.
 * @param marked number of records before the place to go on at
 * @return as above
 */
int sfctl_alias_output_write(struct sfctl_alias_output *output,
			     const struct sf_alias_record *records, size_t count, size_t marked);

/** Closes; fine when it is not open. @return as above */
int sfctl_alias_output_close(struct sfctl_alias_output *output);

#endif
