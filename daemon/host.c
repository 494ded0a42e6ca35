/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Which host a state directory belongs to; see host.h. Runs while only one thread exists.
 */
#include "daemon/host.h"

#include "daemon/fsys.h"
#include "shm/why.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MACHINE_ID_BYTES 32
#define HASH_DIGITS 16
#define LINE_BYTES 128
#define NAME "host"

/** What the file holds: a hash, because the machine id itself is meant to stay on its host. */
struct host {
	uint64_t hash; /* 0: unknown */
	char name[_UTSNAME_NODENAME_LENGTH];
};

static ssize_t read_text(int dir_fd, const char *path, char *text, size_t size)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t length = fd < 0 ? -errno : read(fd, text, size - 1);

	if (fd >= 0)
		(void)close(fd);
	text[length > 0 ? length : 0] = '\0';
	return length;
}

/** FNV-1a, 64 bits. Nobody gains from a collision but by losing their own IDs. */
static uint64_t hash_of(const char *text, size_t length)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/** An image that is yet to boot has an empty file, or "uninitialized". */
static struct host this_host(void)
{
	struct host host = {0};
	struct utsname names;
	char id[MACHINE_ID_BYTES + 2];
	int fd = open("/etc/machine-id", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return host;
	if (read(fd, id, sizeof(id) - 1) >= MACHINE_ID_BYTES) {
		id[MACHINE_ID_BYTES] = '\0';
		if (strspn(id, "0123456789abcdef") == MACHINE_ID_BYTES)
			host.hash = hash_of(id, MACHINE_ID_BYTES);
	}
	(void)close(fd);
	(void)snprintf(host.name, sizeof(host.name), "%s",
		       uname(&names) == 0 && names.nodename[0] ? names.nodename : "?");
	return host;
}

/** @return 0; -ENOENT for no file; -EINVAL for one that says nothing; or another negative errno */
static int read_host(int dir_fd, struct host *ret_host)
{
	char line[LINE_BYTES] = "";
	ssize_t length = read_text(dir_fd, NAME, line, sizeof(line));

	if (length < 0)
		return (int)length;
	if (strspn(line, "0123456789abcdef") != HASH_DIGITS || line[HASH_DIGITS] != ' ')
		return -EINVAL;
	ret_host->hash = strtoull(line, NULL, 16);
	(void)snprintf(ret_host->name, sizeof(ret_host->name), "%.*s",
		       (int)strcspn(line + HASH_DIGITS + 1, "\n"), line + HASH_DIGITS + 1);
	return 0;
}

static int write_host(int dir_fd, const struct host *host)
{
	char line[LINE_BYTES];
	const int length =
		snprintf(line, sizeof(line), "%016" PRIx64 " %s\n", host->hash, host->name);
	int fd = openat(dir_fd, "." NAME ".new",
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, line, (size_t)length) != length || fsync(fd) < 0 ||
	    renameat(dir_fd, "." NAME ".new", dir_fd, NAME) < 0)
		r = errno != 0 ? -errno : -EIO;
	(void)close(fd);
	if (r < 0)
		(void)unlinkat(dir_fd, "." NAME ".new", 0);
	else if (fsync(dir_fd) < 0)
		r = -errno;
	return r;
}

static int check(int dir_fd, const char *state_dir, bool adopt, struct sf_why *why)
{
	const struct host ours = this_host();
	struct host theirs = {0};
	char path[SFD_FSYS_SHOWN_BYTES];
	int r;

	if (ours.hash == 0)
		return 1;
	r = read_host(dir_fd, &theirs);
	if (r == 0 && theirs.hash == ours.hash)
		return 0;
	if (r == 0 && !adopt)
		return SF_SHM_REFUSE(why, -EXDEV,
				     "%s comes from host %s, which may use its machine ids still: "
				     "give this host others, and a directory of its own; or, when "
				     "that sfd has stopped for good, run sfctl mark adopt",
				     state_dir, theirs.name);
	if (r == 0 || r == -ENOENT || r == -EINVAL)
		r = write_host(dir_fd, &ours);
	if (r < 0)
		return sfd_fsys_refuse(why, r, sfd_fsys_show(path, state_dir, NAME),
				       "write down whose state this is", LINE_BYTES);
	return 0;
}

int sfd_host_check(const char *state_dir, bool adopt, struct sf_why *why)
{
	int fd = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	sf_shm_clear(why);
	if (fd < 0)
		return sfd_fsys_refuse(why, -errno, state_dir, "open the state directory", 0);
	r = check(fd, state_dir, adopt, why);
	(void)close(fd);
	return r;
}
