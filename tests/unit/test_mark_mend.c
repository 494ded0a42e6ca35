/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A state directory under a running sfd: what others do to the mark file, the lock and the
 * directory, and a directory that came from another host. daemon/mark_file.c, lock.c, host.c.
 */
#include "daemon/host.h"
#include "daemon/lock.h"
#include "daemon/mark_record.h"

#include "tests/support/state.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sfd_identity twitter;
static struct sfd_mark *mark;
static uint8_t image[SFD_MARK_FILE_BYTES];
static struct sf_why why;

/* A mark of 100 and 200, kept as the older copy, and open at 400. */
static void set_up(void)
{
	struct sfd_mark_found found;

	t_state_init();
	twitter = t_identity("twitter", 5, 1);
	ck_assert_int_eq(t_mark_open("own", &twitter, &mark, &found), 0);
	ck_assert_int_eq(sfd_mark_store(mark, 100), 0);
	ck_assert_int_eq(sfd_mark_store(mark, 200), 0);
	ck_assert_uint_eq(t_state_read("own.mark", image, sizeof(image)), sizeof(image));
	ck_assert_int_eq(sfd_mark_store(mark, 300), 0);
	ck_assert_int_eq(sfd_mark_store(mark, 400), 0);
}

static void tear_down(void)
{
	mark = sfd_mark_close(mark);
	t_state_deinit();
}

/** What a daemon would find after a crash and a reboot. */
static uint64_t found_tick(void)
{
	struct sfd_mark_found found = {0};

	ck_assert_msg(sfd_mark_look(t_state_dir(), "own", &twitter, &found, &why) == 0, "%s",
		      why.text);
	return found.tick;
}

static void expect_mended(const char *sentence)
{
	ck_assert_int_eq(sfd_mark_mend(mark, &why), 1);
	ck_assert_msg(strstr(why.text, sentence) != NULL, "no \"%s\" in: %s", sentence, why.text);
	ck_assert_uint_eq(found_tick(), 400);
	/* Once, and what follows is as ever. */
	ck_assert_int_eq(sfd_mark_mend(mark, &why), 0);
	ck_assert_str_eq(why.text, "");
	ck_assert_int_eq(sfd_mark_store(mark, 500), 0);
	ck_assert_uint_eq(found_tick(), 500);
	ck_assert_int_eq(sfd_mark_mend(mark, &why), 0);
}

START_TEST(mend_of_a_file_as_it_was_written_changes_nothing)
{
	uint8_t before[SFD_MARK_FILE_BYTES];
	uint8_t after[SFD_MARK_FILE_BYTES];

	(void)t_state_read("own.mark", before, sizeof(before));
	ck_assert_int_eq(sfd_mark_mend(mark, &why), 0);
	(void)t_state_read("own.mark", after, sizeof(after));
	ck_assert_mem_eq(before, after, sizeof(after));
}
END_TEST

START_TEST(fc85_mend_of_a_removed_file_makes_it_anew)
{
	ck_assert_int_eq(unlink(t_state_path("own.mark")), 0);
	expect_mended("own.mark was removed or replaced");
	ck_assert_uint_eq(t_state_count(), 1);
}
END_TEST

START_TEST(fc85_mend_of_an_older_copy_put_in_its_place_makes_it_anew)
{
	ck_assert_int_eq(unlink(t_state_path("own.mark")), 0);
	t_state_write("own.mark", image, sizeof(image));
	ck_assert_uint_eq(found_tick(), 200);
	expect_mended("own.mark was removed or replaced");
}
END_TEST

START_TEST(fc85_mend_of_a_file_that_was_written_over_writes_it_anew)
{
	uint8_t after[SFD_MARK_FILE_BYTES];
	struct sfd_mark_record record;

	if (_i == 1) { /* emptied */
		t_state_write("own.mark", image, 0);
	} else if (_i == 2) { /* of a host on which it had been written more often */
		memcpy(&record, image, sizeof(record));
		record.sequence += 1000;
		sfd_mark_record_seal(&record);
		memcpy(image, &record, sizeof(record));
		t_state_write("own.mark", image, sizeof(image));
		ck_assert_uint_lt(found_tick(), 400);
	} else {
		t_state_write("own.mark", image, sizeof(image));
		ck_assert_uint_eq(found_tick(), 200);
	}
	expect_mended("own.mark was written over");
	/* Theirs would win over ours between the two writes, if it had the higher number. */
	(void)t_state_read("own.mark", after, sizeof(after));
	memcpy(&record, after + (_i == 2 ? SFD_MARK_PLACE_BYTES : 0), sizeof(record));
	ck_assert_uint_gt(record.sequence, _i == 2 ? 1000 : 4);
}
END_TEST

START_TEST(fc85_mend_without_the_directory_refuses_until_it_is_there)
{
	char away[64];

	(void)snprintf(away, sizeof(away), "%s-away", t_state_dir());
	ck_assert_int_eq(rename(t_state_dir(), away), 0);
	ck_assert_int_eq(sfd_mark_mend(mark, &why), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why.text, t_state_dir()));
	ck_assert_int_eq(mkdir(t_state_dir(), 0700), 0);
	expect_mended("own.mark was removed or replaced");
	ck_assert_int_eq(unlink(t_state_path("own.mark")), 0);
	ck_assert_int_eq(rmdir(t_state_dir()), 0);
	ck_assert_int_eq(rename(away, t_state_dir()), 0);
}
END_TEST

START_TEST(only_a_mark_that_a_daemon_of_this_boot_wrote_has_a_twin)
{
	struct sfd_mark_found found;

	mark = sfd_mark_close(mark);
	ck_assert(t_mark_found("own", &twitter).is_of_boot);
	ck_assert(!t_mark_found("other", &twitter).is_of_boot);
	ck_assert_int_eq(t_mark_open("own", &twitter, &mark, &found), 0);
	ck_assert_int_eq(sfd_mark_set(mark, 700), 0);
	mark = sfd_mark_close(mark);
	found = t_mark_found("own", &twitter);
	ck_assert(!found.is_of_boot);
	ck_assert_uint_eq(found.tick, 700);
}
END_TEST

/* ---- the lock ---- */

START_TEST(lock_dir_again_follows_a_lock_that_was_removed)
{
	pid_t pid;
	int status;
	int fd = -1;

	ck_assert_int_eq(sfd_lock_dir("state", t_state_dir(), 0700, &fd, &why), 0);
	ck_assert_int_eq(sfd_lock_dir_again("state", t_state_dir(), 0700, &fd, &why), 0);
	ck_assert_int_eq(unlink(t_state_path("sfd.lock")), 0);
	ck_assert_int_eq(sfd_lock_dir_again("state", t_state_dir(), 0700, &fd, &why), 1);
	ck_assert_int_eq(sfd_lock_dir_again("state", t_state_dir(), 0700, &fd, &why), 0);
	pid = fork();
	if (pid == 0) {
		pid_t holder = 0;

		_exit(sfd_lock_dir_holder(t_state_dir(), &holder) == 1 && holder == getppid()
			      ? EXIT_SUCCESS
			      : EXIT_FAILURE);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	(void)close(fd);
}
END_TEST

START_TEST(lock_dir_holder_of_a_directory_without_a_lock_is_nobody)
{
	pid_t holder = 77;

	ck_assert_int_eq(sfd_lock_dir_holder(t_state_dir(), &holder), 0);
	ck_assert_int_eq(sfd_lock_dir_holder(t_state_path("no"), &holder), 0);
	ck_assert_int_eq(holder, 77);
}
END_TEST

/* ---- the host ---- */

START_TEST(fc10_directory_of_another_host_is_refused_until_it_is_adopted)
{
	static const char other[] = "0123456789abcdef elsewhere\n";

	if (sfd_host_check(t_state_dir(), false, &why) == 1)
		return; /* no machine-id here */
	ck_assert(t_state_exists("host"));
	t_state_write("host", other, sizeof(other) - 1);
	ck_assert_int_eq(sfd_host_check(t_state_dir(), false, &why), -EXDEV);
	ck_assert_ptr_nonnull(strstr(why.text, "host elsewhere"));
	ck_assert_ptr_nonnull(strstr(why.text, "sfctl mark adopt"));
	ck_assert_int_eq(sfd_host_check(t_state_dir(), true, &why), 0);
	ck_assert_int_eq(sfd_host_check(t_state_dir(), false, &why), 0);
	/* What says nothing is no other host's. */
	t_state_write("host", "x", 1);
	ck_assert_int_eq(sfd_host_check(t_state_dir(), false, &why), 0);
	t_state_write("host", other, sizeof(other) - 1);
	ck_assert_int_eq(sfd_host_check(t_state_dir(), false, &why), -EXDEV);
	ck_assert_int_eq(sfd_host_check(t_state_path("no"), false, &why), -ENOENT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mark_mend");
	TCase *tests = tcase_create("mend");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, mend_of_a_file_as_it_was_written_changes_nothing);
	tcase_add_test(tests, fc85_mend_of_a_removed_file_makes_it_anew);
	tcase_add_test(tests, fc85_mend_of_an_older_copy_put_in_its_place_makes_it_anew);
	tcase_add_loop_test(tests, fc85_mend_of_a_file_that_was_written_over_writes_it_anew, 0, 3);
	tcase_add_test(tests, fc85_mend_without_the_directory_refuses_until_it_is_there);
	tcase_add_test(tests, only_a_mark_that_a_daemon_of_this_boot_wrote_has_a_twin);
	tcase_add_test(tests, lock_dir_again_follows_a_lock_that_was_removed);
	tcase_add_test(tests, lock_dir_holder_of_a_directory_without_a_lock_is_nobody);
	tcase_add_test(tests, fc10_directory_of_another_host_is_refused_until_it_is_adopted);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
