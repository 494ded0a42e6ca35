/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Reserving and refusing. Keeps no state; any thread. Never logs: the caller decides whether a
 * refusal is an error.
 */
#include "daemon/fsys.h"

#include "shm/why.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void remedy(int error, uint32_t bytes, char *buffer, size_t size)
{
	switch (-error) {
	case EACCES:
	case EPERM:
		(void)snprintf(buffer, size, "let uid %u read and write there", geteuid());
		break;
	case EROFS:
		(void)snprintf(buffer, size,
			       "mount its file system writable, or configure another directory");
		break;
	case ENOSPC:
	case EDQUOT:
		(void)snprintf(buffer, size, "free %u bytes on its file system", bytes);
		break;
	case EFBIG:
		(void)snprintf(buffer, size,
			       "allow files of %u bytes (ulimit -f, LimitFSIZE=, RLIMIT_FSIZE)",
			       bytes);
		break;
	case ENOENT:
	case ENOTDIR:
		(void)snprintf(buffer, size, "make the directory, or configure another one");
		break;
	case ELOOP:
		(void)snprintf(buffer, size,
			       "put a regular file there, symbolic links are refused");
		break;
	default:
		(void)snprintf(buffer, size, "mend that, or configure another directory");
		break;
	}
}

int sfd_fsys_refuse(struct sf_why *why, int error, const char *path, const char *action,
		    uint32_t bytes)
{
	const char *reason = strerrordesc_np(-error);
	char help[96];

	remedy(error, bytes, help, sizeof(help));
	return SF_SHM_REFUSE(why, error, "%s: cannot %s: %s; %s", path, action,
			     reason != NULL ? reason : "unknown error", help);
}

int sfd_fsys_reserve(int fd, uint32_t bytes)
{
	int r;

	/* It returns its error, and neither sets errno nor goes on after a signal. */
	do
		r = posix_fallocate(fd, 0, bytes);
	while (r == EINTR);
	return -r;
}

const char *sfd_fsys_show(char buffer[SFD_FSYS_SHOWN_BYTES], const char *dir, const char *name)
{
	(void)snprintf(buffer, SFD_FSYS_SHOWN_BYTES, "%s/%s", dir, name);
	return buffer;
}

void sfd_fsys_boot_id(char *text, size_t size)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		(void)close(fd);
	text[length > 0 ? length : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
}
