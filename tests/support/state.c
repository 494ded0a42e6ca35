/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Directories, mounts and bytes for tests. Whatever fails here fails the test.
 */
#include "tests/support/state.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];
static bool is_mounted;
struct sf_why t_mark_why;

void t_state_init(void)
{
	/* in memory: the tests open files by the thousand */
	(void)snprintf(dir, sizeof(dir), "/dev/shm/sfd-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	is_mounted = false;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

void t_state_deinit(void)
{
	if (is_mounted)
		(void)umount2(dir, MNT_DETACH);
	(void)nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *t_state_dir(void)
{
	return dir;
}

const char *t_state_path(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

bool t_state_mount(const char *options)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", dir, "tmpfs", 0, options) < 0) {
		(void)fprintf(stderr, "skipped: no mount of one's own here: %s\n", strerror(errno));
		return false;
	}
	is_mounted = true;
	return true;
}

void t_state_remount(const char *options)
{
	const bool read_only = strcmp(options, "ro") == 0;

	ck_assert_int_eq(mount(NULL, dir, NULL, MS_REMOUNT | (read_only ? MS_RDONLY : 0UL),
			       read_only ? NULL : options),
			 0);
}

void t_state_write(const char *name, const void *bytes, size_t length)
{
	int fd = open(t_state_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq((int)write(fd, bytes, length), (int)length);
	ck_assert_int_eq(close(fd), 0);
}

size_t t_state_read(const char *name, void *bytes, size_t size)
{
	struct stat status;
	int fd = open(t_state_path(name), O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &status), 0);
	ck_assert_int_ge((int)read(fd, bytes, size), 0);
	ck_assert_int_eq(close(fd), 0);
	return (size_t)status.st_size;
}

bool t_state_exists(const char *name)
{
	return access(t_state_path(name), F_OK) == 0;
}

unsigned t_state_count(void)
{
	struct dirent **entry;
	int count = scandir(dir, &entry, NULL, NULL);

	ck_assert_int_ge(count, 2);
	for (int i = 0; i < count; i++)
		free(entry[i]);
	free(entry);
	return (unsigned)count - 2;
}

struct sfd_identity t_identity(const char *layout, uint32_t first, uint32_t count)
{
	struct sfd_identity identity = {.node_count = count};

	ck_assert_int_eq(sf_layout_parse(layout, &identity.layout, NULL), 0);
	for (uint32_t i = 0; i < count; i++)
		identity.node[i] = first + i;
	return identity;
}

int t_mark_open(const char *stream, const struct sfd_identity *identity, struct sfd_mark **ret_mark,
		struct sfd_mark_found *ret_found)
{
	int r = sfd_mark_open(dir, stream, identity, ret_mark, ret_found, &t_mark_why);

	ck_assert_msg((r == 0) == (t_mark_why.text[0] == '\0'), "%d goes with: %s", r,
		      t_mark_why.text);
	return r;
}

struct sfd_mark_found t_mark_found(const char *stream, const struct sfd_identity *identity)
{
	struct sfd_mark_found found = {0};
	struct sfd_mark *mark = NULL;
	int r = t_mark_open(stream, identity, &mark, &found);

	ck_assert_msg(r == 0, "%s", t_mark_why.text);
	ck_assert_ptr_null(sfd_mark_close(mark));
	return found;
}

void t_mark_store(const char *stream, const struct sfd_identity *identity, const uint64_t *tick,
		  unsigned count)
{
	struct sfd_mark_found found;
	struct sfd_mark *mark = NULL;
	int r = t_mark_open(stream, identity, &mark, &found);

	ck_assert_msg(r == 0, "%s", t_mark_why.text);
	for (unsigned i = 0; i < count; i++)
		ck_assert_int_eq(sfd_mark_store(mark, tick[i]), 0);
	(void)sfd_mark_close(mark);
}

void t_mark_refused(const struct sfd_identity *identity, int error, const char *sentence)
{
	struct sfd_mark_found found = {.tick = 77};
	struct sfd_mark *mark = NULL;
	const unsigned count = t_state_count();

	ck_assert_int_eq(t_mark_open("own", identity, &mark, &found), error);
	ck_assert_msg(strstr(t_mark_why.text, sentence) != NULL, "no \"%s\" in: %s", sentence,
		      t_mark_why.text);
	ck_assert_ptr_null(mark);
	ck_assert_uint_eq(found.tick, 77);
	ck_assert_uint_eq(t_state_count(), count);
}
