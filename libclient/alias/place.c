/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Where the store lies: what is at its path, why it cannot be opened there, and whether it is still
 * there. Never opens or changes a file: to close one would drop SQLite's locks on it.
 */
#include "libclient/alias/alias.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int sf_alias_look_at_place(const struct sf_alias *alias, bool *ret_is_there, struct sf_why *why)
{
	struct stat status;
	bool is_there = stat(alias->path, &status) == 0;
	int error = is_there ? 0 : errno;

	if (error != 0 && error != ENOENT)
		return SF_ALIAS_REFUSE(why, -error, "%.80s: cannot open it: %s", alias->path,
				       strerrordesc_np(error));
	*ret_is_there = is_there;
	if (is_there && !S_ISREG(status.st_mode))
		return SF_ALIAS_REFUSE(why, -EPROTO,
				       "%.80s is no regular file, and no store of aliases; name "
				       "another path",
				       alias->path);
	return 0;
}

int sf_alias_refuse_place(const struct sf_alias *alias, int code, bool is_there, struct sf_why *why)
{
	char *directory = is_there ? NULL
				   : strndup(alias->path,
					     (size_t)(strrchr(alias->path, '/') - alias->path) + 1);
	int error = directory && eaccess(directory, W_OK | X_OK) < 0 ? errno : 0;

	free(directory);
	if (error == 0)
		return sf_alias_refuse(alias, code, "open it", why);
	return SF_ALIAS_REFUSE(
		why, -error, "%.80s: cannot open it: %s; name a directory that this user can write",
		alias->path, strerrordesc_np(error));
}

int sf_alias_check_place(const struct sf_alias *alias, struct sf_why *why)
{
	int has_moved = 0;

	(void)sqlite3_file_control(alias->db, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
	if (!has_moved)
		return 0;
	return SF_ALIAS_REFUSE(why, -ESTALE,
			       "%.80s was renamed, removed or replaced while it was open, or its "
			       "directory was closed to this user; open it anew",
			       alias->path);
}
