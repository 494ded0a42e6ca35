/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/runtime.c: what of a boot's record the next daemon may use, and where none can be made.
 */
#include "daemon/mark.h"

#include "tests/support/state.h"
#include "tests/support/stderr.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD_BYTES 4096
#define BOOT "11111111-2222-3333-4444-555555555555"

static const struct sf_shm_clock clock_left = {
	.base_mono_ns = 12345, .base_unix_ns = INT64_C(1700000000000000000), .shift = 1};
static struct sfd_identity twitter;
static struct sfd_runtime *runtime;
static struct sfd_runtime_found found;
static struct sf_why why;

static int open_with(const struct sfd_identity *identity, const char *boot_id)
{
	int r = sfd_runtime_open(t_state_dir(), "own", identity, boot_id, &runtime, &found, &why);

	ck_assert_msg((r == 0) == (why.text[0] == '\0'), "%d goes with: %s", r, why.text);
	return r;
}

/* The record that a daemon left: horizon 1000, and a clock. */
static void leave_record(void)
{
	ck_assert_int_eq(open_with(&twitter, BOOT), 0);
	sf_shm_time_write(&runtime->time, &clock_left);
	/* relaxed: nobody else has it mapped */
	atomic_store_explicit(&runtime->horizon, 1000, memory_order_relaxed);
	runtime = sfd_runtime_close(runtime);
}

static void set_up(void)
{
	t_state_init();
	twitter = t_identity("twitter", 5, 2);
	runtime = NULL;
	found = (struct sfd_runtime_found){.horizon = 77};
}

static void tear_down(void)
{
	runtime = sfd_runtime_close(runtime);
	t_state_deinit();
}

/* Opening finds nothing of use, makes a record that can be used, and says `reason`. */
static void expect_anew(const struct sfd_identity *identity, const char *boot_id,
			const char *reason)
{
	const char *log;

	t_stderr_begin();
	ck_assert_int_eq(open_with(identity, boot_id), 0);
	log = t_stderr_end();
	ck_assert_msg(strstr(log, reason) != NULL, "no \"%s\" in: %s", reason, log);
	ck_assert_msg(strstr(log, "own.runtime ") != NULL, "%s", log);
	ck_assert_uint_eq(found.horizon, 0);
	ck_assert_str_eq(runtime->boot_id, boot_id);
	/* relaxed: nobody else has it mapped */
	atomic_store_explicit(&runtime->horizon, 9, memory_order_relaxed);
	runtime = sfd_runtime_close(runtime);
	t_stderr_begin();
	ck_assert_int_eq(open_with(identity, boot_id), 0);
	ck_assert_str_eq(t_stderr_end(), "");
	ck_assert_uint_eq(found.horizon, 9);
}

START_TEST(runtime_open_without_a_record_makes_a_whole_private_one)
{
	struct stat status;

	t_stderr_begin();
	ck_assert_int_eq(open_with(&twitter, BOOT), 0);
	ck_assert_str_eq(t_stderr_end(), "");
	ck_assert_uint_eq(found.horizon, 0);
	ck_assert_int_eq(stat(t_state_path("own.runtime"), &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0600);
	ck_assert_int_eq(status.st_size, RECORD_BYTES);
	ck_assert_int_ge(status.st_blocks * 512, RECORD_BYTES);
	ck_assert_uint_eq(t_state_count(), 1);
}
END_TEST

START_TEST(runtime_open_of_the_same_boot_gives_horizon_and_clock)
{
	leave_record();
	ck_assert_int_eq(open_with(&twitter, BOOT), 0);
	ck_assert_uint_eq(found.horizon, 1000);
	ck_assert_int_eq(found.clock.base_mono_ns, clock_left.base_mono_ns);
	ck_assert_int_eq(found.clock.base_unix_ns, clock_left.base_unix_ns);
	ck_assert_uint_eq(found.clock.shift, clock_left.shift);
}
END_TEST

START_TEST(runtime_open_after_another_boot_makes_it_anew)
{
	leave_record();
	expect_anew(&twitter, "99999999-2222-3333-4444-555555555555", "before the last boot");
}
END_TEST

START_TEST(fc62_runtime_open_with_another_layout_makes_it_anew)
{
	const struct sfd_identity layout = t_identity("discord", 5, 2);

	leave_record();
	expect_anew(&layout, BOOT, "another layout");
}
END_TEST

START_TEST(runtime_open_without_a_boot_id_trusts_no_record)
{
	leave_record();
	expect_anew(&twitter, "other", "before the last boot");
	runtime = sfd_runtime_close(runtime);
	t_stderr_begin();
	ck_assert_int_eq(open_with(&twitter, ""), 0);
	ck_assert_ptr_nonnull(strstr(t_stderr_end(), "cannot be told from this one"));
	ck_assert_uint_eq(found.horizon, 0);
}
END_TEST

/* The record is made anew, but the stream's IDs go on above the old horizon. */
START_TEST(fc62_runtime_open_with_other_machine_ids_keeps_the_horizon)
{
	const struct sfd_identity more = t_identity("twitter", 5, 3);

	leave_record();
	t_stderr_begin();
	ck_assert_int_eq(open_with(&more, BOOT), 0);
	ck_assert_ptr_nonnull(strstr(t_stderr_end(),
				     "own.runtime belongs to other machine ids; it "
				     "was made anew, and the IDs go on above those"));
	ck_assert_uint_eq(found.horizon, 1000);
	ck_assert_uint_eq(found.clock.shift, clock_left.shift);
	ck_assert_uint_eq(runtime->identity.node_count, 3);
	/* relaxed: nobody else has it mapped */
	ck_assert_uint_eq(atomic_load_explicit(&runtime->horizon, memory_order_relaxed), 0);
}
END_TEST

START_TEST(runtime_open_of_another_size_makes_it_anew)
{
	static const off_t sizes[] = {0, 100, RECORD_BYTES - 1, RECORD_BYTES + 1};

	leave_record();
	ck_assert_int_eq(truncate(t_state_path("own.runtime"), sizes[_i]), 0);
	expect_anew(&twitter, BOOT, "has another size");
}
END_TEST

static const struct {
	size_t at;
	uint64_t value;
	const char *reason;
} wrong_words[] = {
	{offsetof(struct sfd_runtime, magic), 0, "is not a whole record"},
	{offsetof(struct sfd_runtime, version), 3, "another version of sfd"},
	{offsetof(struct sfd_runtime, identity.node_count), 1000, "list of machine ids"},
	{offsetof(struct sfd_runtime, horizon), UINT64_C(1) << 41, "outside its layout"},
	{offsetof(struct sfd_runtime, time.copy[1].shift), 64, "malformed clock"},
};

START_TEST(runtime_open_of_a_malformed_record_makes_it_anew)
{
	uint8_t bytes[RECORD_BYTES];

	leave_record();
	ck_assert_uint_eq(t_state_read("own.runtime", bytes, sizeof(bytes)), sizeof(bytes));
	memcpy(bytes + wrong_words[_i].at, &wrong_words[_i].value, sizeof(uint64_t));
	t_state_write("own.runtime", bytes, sizeof(bytes));
	expect_anew(&twitter, BOOT, wrong_words[_i].reason);
}
END_TEST

START_TEST(runtime_open_of_what_is_no_file_replaces_or_refuses)
{
	t_state_write("victim", "x", 1);
	ck_assert_int_eq(symlink("victim", t_state_path("own.runtime")), 0);
	expect_anew(&twitter, BOOT, "is a symbolic link");
	runtime = sfd_runtime_close(runtime);
	ck_assert_int_eq(unlink(t_state_path("own.runtime")), 0);
	ck_assert_int_eq(mkfifo(t_state_path("own.runtime"), 0600), 0);
	expect_anew(&twitter, BOOT, "is not a regular file");
	runtime = sfd_runtime_close(runtime);
	ck_assert_int_eq(unlink(t_state_path("own.runtime")), 0);
	ck_assert_int_eq(mkdir(t_state_path("own.runtime"), 0700), 0);
	ck_assert_int_eq(open_with(&twitter, BOOT), -EISDIR);
	ck_assert_ptr_nonnull(strstr(why.text, "own.runtime: cannot make the runtime record"));
	ck_assert_uint_eq(t_state_count(), 2);
}
END_TEST

START_TEST(runtime_open_beside_what_a_crash_left_makes_the_record)
{
	t_state_write(".own.runtime.new", "half", 4);
	ck_assert_int_eq(open_with(&twitter, BOOT), 0);
	ck_assert_uint_eq(t_state_count(), 1);
}
END_TEST

START_TEST(runtime_open_with_wrong_arguments_touches_nothing)
{
	ck_assert_int_eq(
		sfd_runtime_open(t_state_path("no"), "own", &twitter, BOOT, &runtime, &found, &why),
		-ENOENT);
	ck_assert_ptr_nonnull(strstr(why.text, "/no: cannot open the runtime directory"));
	ck_assert_int_eq(open_with(&twitter, "0123456789012345678901234567890123456789"), -EINVAL);
	ck_assert_ptr_null(runtime);
	ck_assert_uint_eq(found.horizon, 77);
	ck_assert_uint_eq(t_state_count(), 0);
	ck_assert_ptr_null(sfd_runtime_close(NULL));
}
END_TEST

START_TEST(fc60_runtime_open_on_a_full_tmpfs_refuses_and_leaves_nothing)
{
	static const uint8_t filler[64 * 1024];

	if (!t_state_mount("size=64k"))
		return;
	t_state_write("filler", filler, sizeof(filler));
	ck_assert_int_eq(open_with(&twitter, BOOT), -ENOSPC);
	ck_assert_msg(strstr(why.text, "own.runtime: cannot make the runtime record: No space") &&
			      strstr(why.text, "free 4096 bytes"),
		      "%s", why.text);
	ck_assert_uint_eq(t_state_count(), 1);
	ck_assert_uint_eq(found.horizon, 77);
}
END_TEST

/* A record with a hole, in a tmpfs without a page to fill it with: SIGBUS, if it were mapped. */
START_TEST(fc60_runtime_open_of_a_record_with_a_hole_on_a_full_tmpfs_refuses)
{
	static const uint8_t filler[64 * 1024];

	if (!t_state_mount("size=64k"))
		return;
	t_state_write("own.runtime", "", 0);
	ck_assert_int_eq(truncate(t_state_path("own.runtime"), RECORD_BYTES), 0);
	t_state_write("filler", filler, sizeof(filler));
	ck_assert_int_eq(open_with(&twitter, BOOT), -ENOSPC);
	ck_assert_uint_eq(t_state_count(), 2);
}
END_TEST

START_TEST(fc60_runtime_open_above_the_file_size_limit_refuses)
{
	struct rlimit limit = {.rlim_cur = 1000, .rlim_max = RLIM_INFINITY};

	ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR); /* as the daemon does */
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(open_with(&twitter, BOOT), -EFBIG);
	limit.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_msg(strstr(why.text, "allow files of 4096 bytes") != NULL, "%s", why.text);
	ck_assert_uint_eq(t_state_count(), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("runtime");
	TCase *record = tcase_create("record");
	TCase *room = tcase_create("room");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(record, set_up, tear_down);
	tcase_add_test(record, runtime_open_without_a_record_makes_a_whole_private_one);
	tcase_add_test(record, runtime_open_of_the_same_boot_gives_horizon_and_clock);
	tcase_add_test(record, runtime_open_after_another_boot_makes_it_anew);
	tcase_add_test(record, fc62_runtime_open_with_another_layout_makes_it_anew);
	tcase_add_test(record, runtime_open_without_a_boot_id_trusts_no_record);
	tcase_add_test(record, fc62_runtime_open_with_other_machine_ids_keeps_the_horizon);
	tcase_add_loop_test(record, runtime_open_of_another_size_makes_it_anew, 0, 4);
	tcase_add_loop_test(record, runtime_open_of_a_malformed_record_makes_it_anew, 0,
			    sizeof(wrong_words) / sizeof(wrong_words[0]));
	tcase_add_test(record, runtime_open_of_what_is_no_file_replaces_or_refuses);
	tcase_add_test(record, runtime_open_beside_what_a_crash_left_makes_the_record);
	tcase_add_test(record, runtime_open_with_wrong_arguments_touches_nothing);
	tcase_add_checked_fixture(room, set_up, tear_down);
	tcase_add_test(room, fc60_runtime_open_on_a_full_tmpfs_refuses_and_leaves_nothing);
	tcase_add_test(room, fc60_runtime_open_of_a_record_with_a_hole_on_a_full_tmpfs_refuses);
	tcase_add_test(room, fc60_runtime_open_above_the_file_size_limit_refuses);
	suite_add_tcase(suite, record);
	suite_add_tcase(suite, room);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
