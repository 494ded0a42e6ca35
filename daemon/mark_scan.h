/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Looking through the mark files of a state directory; for mark_file.c, and for those who show
 * them.
 */
#ifndef SFD_MARK_SCAN_H
#define SFD_MARK_SCAN_H

#include "daemon/mark_record.h"

#include <dirent.h>

/** The marks of the directory, as seen from one stream. */
struct sfd_mark_directory {
	const char *path;
	int fd;
	const char *stream;
	const struct sfd_identity *identity;
	char own_name[SFD_MARK_NAME_BYTES];
	char kept_name[SFD_MARK_NAME_BYTES]; /* what our file was renamed to; empty: it was not */
	bool has_own;
	struct sfd_mark_record own; /* valid when has_own */
	uint64_t tick;              /* the highest that binds us */
	uint64_t others;            /* the highest of those in files that are not our own */
	int64_t written_unix_ns;    /* when the newest of them was */
};

/** Says that `action` on a file of the directory failed. @return `error` */
int sfd_mark_refuse(const struct sfd_mark_directory *dir, const char *name, int error,
		    const char *action, struct sf_why *why);

/**
 * Reads a mark file as it is. Does not hang on what lies there, and follows no link.
 * @return 0 or a negative errno
 */
int sfd_mark_read_bytes(int dir_fd, const char *name, uint8_t ret_bytes[SFD_MARK_FILE_BYTES],
			size_t *ret_length);

/** Names of the mark files, sorted; every one and the array are the caller's to free. @return their
 *  number or a negative errno */
int sfd_mark_list(int dir_fd, struct dirent ***ret_entry);

/** Takes every mark of the directory into account; changes nothing. */
int sfd_mark_scan(struct sfd_mark_directory *dir, struct sf_why *why);

/** The stream's own file has this layout and these node ids. */
bool sfd_mark_is_ours(const struct sfd_mark_directory *dir);

/** Renames our file to a name that is free, so that what it promises goes on being read. */
int sfd_mark_set_aside(struct sfd_mark_directory *dir, struct sf_why *why);

#endif
