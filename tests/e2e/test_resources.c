/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Too little of something: sfd says what is missing and ends with 1, never by a signal.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAYOUT "t41 n10 s12 epoch=1577836800000"

static struct t_daemon daemon_now;

static void limit(__rlimit_resource_t resource, rlim_t value)
{
	const struct rlimit to = {.rlim_cur = value, .rlim_max = value};

	(void)setrlimit(resource, &to);
}

/* Above the small files, below the ring, whose smaller half has 260 KiB. */
static void limit_file_size_below_ring(void)
{
	limit(RLIMIT_FSIZE, 65536);
}

static void limit_file_size_below_mark(void)
{
	limit(RLIMIT_FSIZE, 4096);
}

static void limit_descriptors(void)
{
	limit(RLIMIT_NOFILE, 8);
}

static const struct {
	void (*limit)(void);
	const char *sentence;
} limits[] = {
	{limit_file_size_below_ring, "stream default: grants of 260 KiB: File too large"},
	{limit_file_size_below_mark, "allow files of 8192 bytes"},
	{limit_descriptors, "Too many open files"},
};

/** Nothing that a crash leaves lies in a directory. */
static void assert_nothing_half_made(const char *directory)
{
	DIR *dir = opendir(directory);
	const struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)) != NULL)
		ck_assert_msg(strstr(entry->d_name, ".new") == NULL, "%s/%s", directory,
			      entry->d_name);
	(void)closedir(dir);
}

START_TEST(start_with_a_limit_too_low_is_refused_fc_60)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		char said[T_SAID_BYTES];
		int code;

		t_daemon_init(&daemon_now, 0);
		t_daemon_configure(&daemon_now, LAYOUT, "");
		daemon_now.before_exec = limits[i].limit;
		code = t_daemon_start_refused(&daemon_now, said);
		ck_assert_msg(code == 1, "row %zu: %d: %s", i, code, said);
		ck_assert_msg(strstr(said, limits[i].sentence) != NULL, "row %zu: %s", i, said);
		assert_nothing_half_made(daemon_now.runtime_dir);
		assert_nothing_half_made(daemon_now.state_dir);
		/* And it left nothing that keeps a start with enough of it from success. */
		daemon_now.before_exec = NULL;
		t_daemon_start(&daemon_now);
		t_daemon_stop(&daemon_now);
	}
}
END_TEST

/** Fills a file system to the last byte. */
static void fill(const char *directory)
{
	static const char zeros[4096];
	int fd = open(t_path(directory, "filler"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
	ck_assert_int_eq(errno, ENOSPC);
	(void)close(fd);
}

static void mount_small(const char *directory)
{
	ck_assert_int_eq(mkdir(directory, 0755), 0);
	ck_assert_int_eq(mount("tmpfs", directory, "tmpfs", 0, "size=64k"), 0);
}

static void assert_refused_while_full(const char *directory)
{
	char said[T_SAID_BYTES];
	int code;

	t_daemon_configure(&daemon_now, LAYOUT, "");
	mount_small(directory);
	fill(directory);
	code = t_daemon_start_refused(&daemon_now, said);
	ck_assert_msg(code == 1, "%d: %s", code, said);
	ck_assert_msg(strstr(said, directory) != NULL, "%s", said);
	ck_assert_msg(strstr(said, "No space left on device") != NULL, "%s", said);
	assert_nothing_half_made(directory);
	ck_assert_int_eq(unlink(t_path(directory, "filler")), 0);
	t_daemon_start(&daemon_now);
	t_daemon_stop(&daemon_now);
	ck_assert_int_eq(umount2(directory, MNT_DETACH), 0);
}

START_TEST(start_in_a_full_file_system_is_refused_fc_60)
{
	if (!t_may_mount()) {
		t_skip(__func__, "needs the right to mount");
		return;
	}
	t_daemon_init(&daemon_now, 0);
	assert_refused_while_full(daemon_now.runtime_dir);
	t_daemon_init(&daemon_now, 0);
	assert_refused_while_full(daemon_now.state_dir);
}
END_TEST

/* A file system that fills up while sfd runs: its files have their room already. */
START_TEST(full_file_systems_do_not_disturb_a_running_sfd_fc_60)
{
	struct sf_client *client;
	struct sf_cursor *cursor;

	if (!t_may_mount()) {
		t_skip(__func__, "needs the right to mount");
		return;
	}
	t_daemon_init(&daemon_now, 0);
	t_daemon_configure(&daemon_now, LAYOUT, "");
	mount_small(daemon_now.runtime_dir);
	mount_small(daemon_now.state_dir);
	t_daemon_start(&daemon_now);
	fill(daemon_now.runtime_dir);
	fill(daemon_now.state_dir);
	client = t_open(daemon_now.socket, 0);
	cursor = t_cursor(client);
	for (int i = 0; i < 100000; i++)
		(void)t_next(cursor);
	sf_cursor_close(cursor);
	sf_close(client);
	/* The last mark of a clean stop is written as well. */
	t_daemon_stop(&daemon_now);
	ck_assert_ptr_null(strstr(t_daemon_said(&daemon_now), "cannot be raised"));
	t_daemon_start(&daemon_now);
	t_daemon_stop(&daemon_now);
	ck_assert_int_eq(umount2(daemon_now.runtime_dir, MNT_DETACH), 0);
	ck_assert_int_eq(umount2(daemon_now.state_dir, MNT_DETACH), 0);
}
END_TEST

/* ---- clients ---- */

static int open_without_descriptors(void *argument)
{
	char said[T_SAID_BYTES];
	struct sf_client *client = NULL;
	int error;

	limit(RLIMIT_NOFILE, 3);
	error = t_try_open(argument, "default", &client, said);
	T_CHECK(error == -EMFILE);
	T_CHECK(client == NULL);
	return 0;
}

/* Enough for the socket, not for what comes over it. */
static int open_with_one_descriptor(void *argument)
{
	char said[T_SAID_BYTES];
	struct sf_client *client = NULL;
	int fd = dup(0);
	int error;

	T_CHECK(fd >= 0);
	(void)close(fd);
	limit(RLIMIT_NOFILE, (rlim_t)fd + 1);
	error = t_try_open(argument, "default", &client, said);
	T_CHECK(error < 0);
	T_CHECK(said[0] != '\0');
	T_CHECK(client == NULL);
	return 0;
}

static int open_without_memory(void *argument)
{
	char said[T_SAID_BYTES];
	struct sf_client *client = NULL;

	limit(RLIMIT_AS, 0);
	T_CHECK(t_try_open(argument, "default", &client, said) == -ENOMEM);
	T_CHECK(client == NULL);
	return 0;
}

START_TEST(open_without_enough_of_something_fails_with_its_error)
{
	t_daemon_run(&daemon_now, LAYOUT, "");
	ck_assert_int_eq(t_reap(t_child(open_without_descriptors, daemon_now.socket)), 0);
	ck_assert_int_eq(t_reap(t_child(open_with_one_descriptor, daemon_now.socket)), 0);
	if (T_ASAN || T_TSAN)
		t_skip(__func__, "without memory a sanitizer ends the program");
	else
		ck_assert_int_eq(t_reap(t_child(open_without_memory, daemon_now.socket)), 0);
	t_daemon_stop(&daemon_now);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		start_with_a_limit_too_low_is_refused_fc_60,
		start_in_a_full_file_system_is_refused_fc_60,
		full_file_systems_do_not_disturb_a_running_sfd_fc_60,
		open_without_enough_of_something_fails_with_its_error,
	};
	const struct t_program program = {.name = "resources",
					  .machine_id = 128,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
