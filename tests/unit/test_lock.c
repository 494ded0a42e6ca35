/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/lock.c. A process never stands in its own way with POSIX locks, so each of these tests has
 * a child that holds some.
 */
#include "daemon/lock.h"

#include "tests/support/state.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN_FILE "/run/lock/sfd.nodes"
#define TMP_FILE "/tmp/sfd.nodes"

static struct sf_why why;
static pid_t child;
static int child_pipe[2];

/* Ids that no running sfd has, and no other test that runs now. */
static uint32_t node_base(void)
{
	return (UINT32_C(1) << 30) + (uint32_t)getppid() * 64;
}

static void set_up(void)
{
	t_state_init();
	child = -1;
}

static void end_child(void)
{
	if (child > 0) {
		ck_assert_int_eq(kill(child, SIGKILL), 0);
		ck_assert_int_eq(waitpid(child, NULL, 0), child);
		(void)close(child_pipe[0]);
		child = -1;
	}
}

static void tear_down(void)
{
	end_child();
	t_state_deinit();
}

/* Forks. @return true in the child, which then calls hold_on() */
static bool fork_child(void)
{
	ck_assert_int_eq(pipe2(child_pipe, O_CLOEXEC), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	return child == 0;
}

/* In the child: reports `r`, and holds what it has until it is killed. */
static void hold_on(int r)
{
	(void)!write(child_pipe[1], &r, sizeof(r));
	for (;;)
		(void)pause();
}

static void expect_child(int expected)
{
	int r = 1;

	ck_assert_int_eq(close(child_pipe[1]), 0);
	ck_assert_int_eq((int)read(child_pipe[0], &r, sizeof(r)), (int)sizeof(r));
	ck_assert_int_eq(r, expected);
}

static void child_locks_dir(const char *dir)
{
	int fd;

	if (fork_child())
		hold_on(sfd_lock_dir("state", dir, 0755, &fd, NULL));
	expect_child(0);
}

static void child_locks_nodes(const uint64_t *node, uint32_t count)
{
	int fd;

	if (fork_child())
		hold_on(sfd_lock_nodes(node, count, &fd, NULL));
	expect_child(0);
}

static void expect_sentence(const char *part)
{
	ck_assert_msg(strstr(why.text, part) != NULL, "no \"%s\" in: %s", part, why.text);
}

static void expect_pid_of_child(void)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "another sfd, pid %d", (int)child);
	expect_sentence(text);
}

START_TEST(lock_dir_makes_the_directory_whatever_the_umask)
{
	char dir[256];
	struct stat status;
	int fd = -1;

	(void)snprintf(dir, sizeof(dir), "%s", t_state_path(_i == 0 ? "a/b/c" : "a//b/c//"));
	(void)umask(_i == 0 ? 0027 : 0000);
	ck_assert_int_eq(sfd_lock_dir("runtime", dir, 0751, &fd, &why), 0);
	ck_assert_str_eq(why.text, "");
	ck_assert_int_eq(stat(t_state_path("a/b/c"), &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0751);
	ck_assert_int_eq(stat(t_state_path("a"), &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, _i == 0 ? 0750 : 0755);
	ck_assert_int_eq(stat(t_state_path("a/b/c/sfd.lock"), &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0600);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	(void)close(fd);
}
END_TEST

START_TEST(lock_dir_leaves_the_mode_of_an_existing_directory)
{
	struct stat status;
	int fd;

	ck_assert_int_eq(chmod(t_state_dir(), 0711), 0);
	ck_assert_int_eq(sfd_lock_dir("state", t_state_dir(), 0755, &fd, &why), 0);
	ck_assert_int_eq(stat(t_state_dir(), &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0711);
	(void)close(fd);
}
END_TEST

START_TEST(lock_dir_held_by_another_names_its_pid)
{
	int fd = 77;

	child_locks_dir(t_state_dir());
	ck_assert_int_eq(sfd_lock_dir("state", t_state_dir(), 0755, &fd, &why), -EBUSY);
	expect_pid_of_child();
	expect_sentence(t_state_dir());
	expect_sentence("--state-dir");
	ck_assert_int_eq(fd, 77);
}
END_TEST

START_TEST(lock_dir_after_the_holder_was_killed_succeeds)
{
	int fd;

	child_locks_dir(t_state_dir());
	end_child();
	ck_assert_int_eq(sfd_lock_dir("state", t_state_dir(), 0755, &fd, &why), 0);
	(void)close(fd);
}
END_TEST

START_TEST(fc82_lock_dir_below_a_file_names_it)
{
	char dir[256];
	int fd;

	t_state_write("file", "x", 1);
	(void)snprintf(dir, sizeof(dir), "%s", t_state_path("file/state"));
	ck_assert_int_eq(sfd_lock_dir("state", dir, 0750, &fd, &why), -ENOTDIR);
	expect_sentence("/file/state: cannot make this part of the state directory (mode 0750)");
	*strrchr(dir, '/') = '\0';
	ck_assert_int_eq(sfd_lock_dir("state", dir, 0750, &fd, &why), -ENOTDIR);
	expect_sentence("/file/sfd.lock: cannot open the lock file: Not a directory");
	ck_assert_int_eq(sfd_lock_dir("state", "", 0750, &fd, &why), -ENAMETOOLONG);
}
END_TEST

START_TEST(lock_dir_never_follows_a_link)
{
	int fd;

	ck_assert_int_eq(symlink("victim", t_state_path("sfd.lock")), 0);
	ck_assert_int_eq(sfd_lock_dir("state", t_state_dir(), 0755, &fd, &why), -ELOOP);
	expect_sentence("symbolic links are refused");
	ck_assert(!t_state_exists("victim"));
}
END_TEST

START_TEST(fc82_lock_dir_in_a_read_only_place_names_path_and_remedy)
{
	char dir[256];
	int fd;

	if (!t_state_mount("size=64k"))
		return;
	t_state_remount("ro");
	(void)snprintf(dir, sizeof(dir), "%s", t_state_path("state"));
	ck_assert_int_eq(sfd_lock_dir("state", dir, 0750, &fd, &why), -EROFS);
	expect_sentence("/state: cannot make this part of the state directory (mode 0750)");
	expect_sentence("mount its file system writable");
	ck_assert_int_eq(sfd_lock_dir("state", t_state_dir(), 0750, &fd, &why), -EROFS);
	expect_sentence("/sfd.lock: cannot open the lock file");
	t_state_remount("size=64k");
}
END_TEST

/* In the child: what a user without rights there is told. */
START_TEST(fc82_lock_dir_without_permission_names_path_and_user)
{
	int fd;

	if (geteuid() != 0) {
		(void)fprintf(stderr, "skipped: only root can become another user\n");
		return;
	}
	if (fork_child()) {
		int r = setresuid(54321, 54321, 54321) < 0 ? -errno : 0;

		if (r == 0)
			r = sfd_lock_dir("state", t_state_path("state"), 0750, &fd, &why);
		hold_on(strstr(why.text, "let uid 54321 read and write there") ? r : 0);
	}
	expect_child(-EACCES);
}
END_TEST

START_TEST(lock_nodes_held_by_another_names_the_id_and_its_pid)
{
	const uint32_t base = node_base();
	const uint64_t theirs[] = {base + 3, base + 4, base + 5, base + 9};
	const uint64_t at_range[] = {base + 1, base + 2, base + 4};
	const uint64_t at_single[] = {base + 7, base + 8, base + 9, base + 10};
	const uint64_t below_range[] = {base + 2, base + 3, base + 4};
	char text[32];
	int fd = 77;

	child_locks_nodes(theirs, 4);
	ck_assert_int_eq(sfd_lock_nodes(at_range, 3, &fd, &why), -EBUSY);
	(void)snprintf(text, sizeof(text), "machine id %u is in use", base + 4);
	expect_sentence(text);
	expect_pid_of_child();
	ck_assert_int_eq(sfd_lock_nodes(at_single, 4, &fd, &why), -EBUSY);
	(void)snprintf(text, sizeof(text), "machine id %u is in use", base + 9);
	expect_sentence(text);
	ck_assert_int_eq(sfd_lock_nodes(below_range, 3, &fd, &why), -EBUSY);
	(void)snprintf(text, sizeof(text), "machine id %u is in use", base + 3);
	expect_sentence(text);
	ck_assert_int_eq(fd, 77);
}
END_TEST

START_TEST(lock_nodes_beside_those_of_another_succeeds)
{
	const uint32_t base = node_base();
	const uint64_t theirs[] = {base + 3, base + 4, base + 9};
	const uint64_t ours[] = {base, base + 2, base + 5, base + 6, base + 8, base + 10};
	int fd = -1;

	child_locks_nodes(theirs, 3);
	ck_assert_int_eq(sfd_lock_nodes(ours, 6, &fd, &why), 0);
	ck_assert_str_eq(why.text, "");
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	(void)close(fd);
}
END_TEST

START_TEST(lock_nodes_refused_in_part_holds_none)
{
	const uint32_t base = node_base();
	const uint64_t theirs[] = {base + 3};
	const uint64_t ours[] = {base + 1, base + 3};
	int fd = -1;

	child_locks_nodes(theirs, 1);
	ck_assert_int_eq(sfd_lock_nodes(ours, 2, &fd, &why), -EBUSY);
	end_child();
	child_locks_nodes(ours, 2);
}
END_TEST

START_TEST(lock_nodes_after_the_holder_was_killed_succeeds)
{
	const uint64_t node[] = {node_base()};
	int fd = -1;

	child_locks_nodes(node, 1);
	end_child();
	ck_assert_int_eq(sfd_lock_nodes(node, 1, &fd, &why), 0);
	(void)close(fd);
}
END_TEST

/* /run/lock and /tmp of the test's own, from here on. */
static bool mount_both(void)
{
	if (!t_state_mount("size=64k"))
		return false;
	ck_assert_int_eq(mount("tmpfs", "/run/lock", "tmpfs", 0, "mode=1777"), 0);
	ck_assert_int_eq(mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777"), 0);
	return true;
}

START_TEST(lock_nodes_makes_a_file_for_every_user_whatever_the_umask)
{
	const uint64_t node[] = {7};
	struct stat status;
	int fd = -1;

	if (!mount_both())
		return;
	(void)umask(0077);
	ck_assert_int_eq(sfd_lock_nodes(node, 1, &fd, &why), 0);
	ck_assert_int_eq(stat(RUN_FILE, &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0666);
	ck_assert_int_eq(access(TMP_FILE, F_OK), -1);
}
END_TEST

START_TEST(lock_nodes_meets_another_user_in_the_same_file)
{
	const uint64_t node[] = {7};
	int fd = -1;

	if (!mount_both())
		return;
	if (fork_child()) {
		int r = setresuid(54321, 54321, 54321) < 0 ? -errno : 0;

		hold_on(r < 0 ? r : sfd_lock_nodes(node, 1, &fd, NULL));
	}
	expect_child(0);
	ck_assert_int_eq(sfd_lock_nodes(node, 1, &fd, &why), -EBUSY);
	expect_pid_of_child();
	expect_sentence(RUN_FILE);
}
END_TEST

START_TEST(lock_nodes_without_run_lock_uses_tmp)
{
	const uint64_t node[] = {7};
	int fd = -1;

	if (!mount_both())
		return;
	ck_assert_int_eq(mount(NULL, "/run/lock", NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	ck_assert_int_eq(sfd_lock_nodes(node, 1, &fd, &why), 0);
	ck_assert_int_eq(access(TMP_FILE, F_OK), 0);
	(void)close(fd);
	ck_assert_int_eq(mount("tmpfs", "/tmp", "tmpfs", MS_RDONLY, NULL), 0);
	ck_assert_int_eq(sfd_lock_nodes(node, 1, &fd, &why), -EROFS);
	expect_sentence(TMP_FILE ": cannot open the lock file of machine ids: Read-only");
}
END_TEST

/* Hound's are of another kind: clear of all node ids, and named as addresses are. */
START_TEST(lock_nodes_of_hound_ids_names_them_in_hexadecimal)
{
	const uint32_t base = node_base();
	const uint64_t theirs[] = {SFD_LOCK_HOUND | UINT64_C(0x020000000000) | base};
	const uint64_t node[] = {base};
	const uint64_t ours[] = {base, SFD_LOCK_HOUND | (UINT64_C(0x020000000000) + base - 1),
				 theirs[0]};
	char text[64];
	int fd = -1;

	child_locks_nodes(theirs, 1);
	(void)snprintf(text, sizeof(text), "machine id 0x02%010x is in use", base);
	ck_assert_int_eq(sfd_lock_nodes(ours, 3, &fd, &why), -EBUSY);
	expect_sentence(text);
	expect_pid_of_child();
	ck_assert_int_eq(fd, -1);
	ck_assert_int_eq(sfd_lock_nodes(node, 1, &fd, &why), 0);
	(void)close(fd);
	ck_assert_int_eq(sfd_lock_nodes(ours, 2, &fd, &why), 0);
	(void)close(fd);
}
END_TEST

/* The highest of 48 bits, and 0, beside node id 0. */
START_TEST(lock_nodes_of_hound_ids_at_both_ends_are_told_apart)
{
	const uint64_t theirs[] = {0, SFD_LOCK_HOUND | (SFD_LOCK_HOUND - 1)};
	const uint64_t lowest[] = {SFD_LOCK_HOUND};
	const uint64_t highest[] = {SFD_LOCK_HOUND | (SFD_LOCK_HOUND - 1)};
	int fd = -1;

	if (!mount_both())
		return;
	child_locks_nodes(theirs, 2);
	ck_assert_int_eq(sfd_lock_nodes(lowest, 1, &fd, &why), 0);
	(void)close(fd);
	ck_assert_int_eq(sfd_lock_nodes(highest, 1, &fd, &why), -EBUSY);
	expect_sentence("machine id 0xffffffffffff is in use");
}
END_TEST

/* Falling back would make two files, and two holders of one machine id. */
START_TEST(lock_nodes_in_a_file_that_cannot_be_used_never_falls_back)
{
	const uint64_t node[] = {7};
	int fd = -1;

	if (!mount_both())
		return;
	ck_assert_int_eq(mkfifo(RUN_FILE, 0666), 0);
	ck_assert_int_eq(sfd_lock_nodes(node, 1, &fd, &why), -EINVAL);
	expect_sentence(RUN_FILE " is not a regular file");
	ck_assert_int_eq(unlink(RUN_FILE), 0);
	ck_assert_int_eq(symlink("/tmp/victim", RUN_FILE), 0);
	ck_assert_int_eq(sfd_lock_nodes(node, 1, &fd, &why), -ELOOP);
	expect_sentence("symbolic links are refused");
	ck_assert_int_eq(access("/tmp/victim", F_OK), -1);
	ck_assert_int_eq(access(TMP_FILE, F_OK), -1);
	ck_assert_int_eq(fd, -1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lock");
	TCase *dir = tcase_create("dir");
	TCase *nodes = tcase_create("nodes");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(dir, set_up, tear_down);
	tcase_add_loop_test(dir, lock_dir_makes_the_directory_whatever_the_umask, 0, 2);
	tcase_add_test(dir, lock_dir_leaves_the_mode_of_an_existing_directory);
	tcase_add_test(dir, lock_dir_held_by_another_names_its_pid);
	tcase_add_test(dir, lock_dir_after_the_holder_was_killed_succeeds);
	tcase_add_test(dir, fc82_lock_dir_below_a_file_names_it);
	tcase_add_test(dir, lock_dir_never_follows_a_link);
	tcase_add_test(dir, fc82_lock_dir_in_a_read_only_place_names_path_and_remedy);
	tcase_add_test(dir, fc82_lock_dir_without_permission_names_path_and_user);
	tcase_add_checked_fixture(nodes, set_up, tear_down);
	tcase_add_test(nodes, lock_nodes_held_by_another_names_the_id_and_its_pid);
	tcase_add_test(nodes, lock_nodes_beside_those_of_another_succeeds);
	tcase_add_test(nodes, lock_nodes_refused_in_part_holds_none);
	tcase_add_test(nodes, lock_nodes_after_the_holder_was_killed_succeeds);
	tcase_add_test(nodes, lock_nodes_of_hound_ids_names_them_in_hexadecimal);
	tcase_add_test(nodes, lock_nodes_of_hound_ids_at_both_ends_are_told_apart);
	tcase_add_test(nodes, lock_nodes_makes_a_file_for_every_user_whatever_the_umask);
	tcase_add_test(nodes, lock_nodes_meets_another_user_in_the_same_file);
	tcase_add_test(nodes, lock_nodes_without_run_lock_uses_tmp);
	tcase_add_test(nodes, lock_nodes_in_a_file_that_cannot_be_used_never_falls_back);
	suite_add_tcase(suite, dir);
	suite_add_tcase(suite, nodes);
	/* whatever $CK_FORK says: the tests change the umask and mount over /tmp */
	srunner_set_fork_status(runner, CK_FORK);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
