/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/mark_file.c: the marks of a whole directory, what they belong to, and directories that
 * cannot be used.
 */
#include "daemon/mark_record.h"

#include "tests/support/state.h"
#include "tests/support/stderr.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct sfd_identity twitter;

static void set_up(void)
{
	t_state_init();
	twitter = t_identity("twitter", 5, 1);
}

static void store(const char *stream, const char *layout, uint32_t first, uint32_t count,
		  uint64_t tick)
{
	const struct sfd_identity identity = t_identity(layout, first, count);

	t_mark_store(stream, &identity, &tick, 1);
}

START_TEST(open_heeds_the_marks_of_other_streams_with_a_shared_node)
{
	const struct sfd_identity nodes = t_identity("twitter", 4, 3); /* 4-6 */
	struct sfd_mark_found found;

	store("alone", "twitter", 5, 1, 500);
	store("late", "twitter", 6, 1, 900);
	store("foreign", "twitter", 7, 1, 5000);
	store("other", "discord", 9, 1, 9000);
	found = t_mark_found("own", &nodes);
	ck_assert_uint_eq(found.tick, 900);
	ck_assert_uint_eq(found.others, 900);
	ck_assert_uint_eq(found.restarts, 0);
	/* also where its own file exists and says less, and where it says more */
	t_mark_store("own", &nodes, (uint64_t[]){700}, 1);
	ck_assert_uint_eq(t_mark_found("own", &nodes).tick, 900);
	t_mark_store("own", &nodes, (uint64_t[]){1000}, 1);
	ck_assert_uint_eq(t_mark_found("own", &nodes).tick, 1000);
	ck_assert_uint_eq(t_mark_found("own", &nodes).others, 900);
}
END_TEST

START_TEST(open_heeds_a_damaged_mark_of_another_stream_with_its_lead)
{
	uint8_t bytes[SFD_MARK_FILE_BYTES];

	t_mark_store("other", &twitter, (uint64_t[]){100, 200}, 2);
	ck_assert_uint_eq(t_state_read("other.mark", bytes, sizeof(bytes)), sizeof(bytes));
	bytes[24] ^= 1;
	t_state_write("other.mark", bytes, sizeof(bytes));
	t_stderr_begin();
	ck_assert_uint_eq(t_mark_found("own", &twitter).tick, 100 + SFD_MARK_LEAD_MS);
	ck_assert_ptr_nonnull(strstr(t_stderr_end(), "other.mark: one of its two records"));
}
END_TEST

START_TEST(open_beside_a_mark_that_cannot_be_read_refuses)
{
	t_state_write("other.mark", "", 0);
	t_mark_refused(&twitter, -EUCLEAN, "other.mark is empty");
	t_state_write("other.mark", "something else", 14);
	t_mark_refused(&twitter, -EUCLEAN, "other.mark is not a mark file of sfd");
	ck_assert_int_eq(unlink(t_state_path("other.mark")), 0);
	ck_assert_int_eq(symlink("/dev/zero", t_state_path("other.mark")), 0);
	t_mark_refused(&twitter, -ELOOP, "symbolic links are refused");
	ck_assert_int_eq(unlink(t_state_path("other.mark")), 0);
	ck_assert_int_eq(mkdir(t_state_path("other.mark"), 0700), 0);
	t_mark_refused(&twitter, -EISDIR, "other.mark: cannot read the mark file");
	ck_assert_int_eq(rmdir(t_state_path("other.mark")), 0);
	ck_assert_int_eq(mkfifo(t_state_path("other.mark"), 0600), 0);
	t_mark_refused(&twitter, -ESPIPE, "other.mark: cannot read the mark file");
}
END_TEST

START_TEST(open_ignores_files_with_other_names)
{
	t_state_write("sfd.lock", "", 0);
	t_state_write("other.mark.bak", "", 0);
	t_state_write("other.runtime", "", 0);
	t_state_write(".mark", "", 0);
	ck_assert_uint_eq(t_mark_found("own", &twitter).tick, 0);
}
END_TEST

static const struct {
	const char *layout;
	const char *sentence;
} other_layouts[] = {
	{"t41 n8 s14 epoch=1288834974657", "t41 n8 s14"},
	{"t41 n10 s12 epoch=1288834974656", "epoch=1288834974656"}, /* an earlier epoch */
	{"t41 n10 s12 epoch=1288834974657 tick=2ms", "tick=2ms"},
	{"discord", "t42 w5 p5 s12"},
};

START_TEST(fc25_open_with_another_layout_for_a_node_refuses)
{
	const struct sfd_identity other = t_identity(other_layouts[_i].layout, 4, 2); /* 4, 5 */

	store("own", "twitter", 5, 1, 500);
	t_mark_refused(&other, -EEXIST, "own.mark: machine id 5 had layout t41 n10 s12 epoch=");
	ck_assert_ptr_nonnull(strstr(t_mark_why.text, other_layouts[_i].sentence));
	ck_assert_msg(strstr(t_mark_why.text, "or remove the file") != NULL, "%s", t_mark_why.text);
	ck_assert_uint_eq(t_mark_found("own", &twitter).tick, 500);
	store("other", "twitter", 5, 1, 500);
	ck_assert_int_eq(unlink(t_state_path("own.mark")), 0);
	t_mark_refused(&other, -EEXIST, "other.mark: machine id 5 had layout");
}
END_TEST

START_TEST(fc62_open_with_another_node_and_layout_keeps_the_old_mark)
{
	const struct sfd_identity discord = t_identity("discord", 5, 1);
	const struct sfd_identity other = t_identity("twitter", 6, 1);
	struct sfd_mark_found found;

	store("own", "discord", 5, 1, 500);
	t_stderr_begin();
	found = t_mark_found("own", &other);
	ck_assert_ptr_nonnull(strstr(t_stderr_end(), "own.5.mark"));
	ck_assert_str_eq(found.kept_name, "own.5.mark");
	ck_assert_str_eq(t_mark_found("own", &other).kept_name, "");
	ck_assert_uint_eq(found.tick, 0);
	ck_assert_uint_eq(found.restarts, 1);
	t_mark_store("own", &other, (uint64_t[]){90}, 1);
	/* node 5 is as bound as before: by its mark, and to its layout */
	ck_assert_uint_eq(t_mark_found("new", &discord).tick, 500);
	ck_assert_int_eq(unlink(t_state_path("new.mark")), 0);
	t_mark_refused(&twitter, -EEXIST, "own.5.mark: machine id 5 had layout t42 w5 p5 s12");
	t_stderr_begin();
	ck_assert_uint_eq(t_mark_found("own", &discord).tick, 500);
	(void)t_stderr_end();
	t_stderr_begin();
	ck_assert_uint_eq(t_mark_found("own", &other).tick, 90);
	(void)t_stderr_end();
}
END_TEST

START_TEST(fc62_open_with_some_of_the_nodes_keeps_the_mark_of_the_others)
{
	const struct sfd_identity some = t_identity("twitter", 6, 4); /* 6-9 */
	const struct sfd_identity left = t_identity("twitter", 5, 1);

	store("own", "twitter", 5, 3, 500); /* 5-7 */
	t_stderr_begin();
	ck_assert_uint_eq(t_mark_found("own", &some).tick, 500);
	t_mark_store("own", &some, (uint64_t[]){900}, 1);
	(void)t_stderr_end();
	ck_assert_uint_eq(t_mark_found("left", &left).tick, 500);
	ck_assert_uint_eq(t_mark_found("own", &some).tick, 900);
}
END_TEST

START_TEST(fc62_open_with_the_first_of_the_nodes_keeps_the_mark_of_the_others)
{
	const struct sfd_identity left = t_identity("twitter", 6, 1);

	store("own", "twitter", 5, 3, 500); /* 5-7 */
	t_stderr_begin();
	t_mark_store("own", &twitter, (uint64_t[]){900, 1000}, 2);
	(void)t_stderr_end();
	ck_assert_uint_eq(t_mark_found("left", &left).tick, 500);
}
END_TEST

START_TEST(fc62_open_sets_every_old_mark_aside_under_a_name_of_its_own)
{
	t_stderr_begin();
	for (uint32_t i = 0; i < 4; i++)
		store("own", "twitter", 5, 1 + i, 1000 - i); /* 5, 5-6, 5-7, 5-8 */
	(void)t_stderr_end();
	ck_assert(t_state_exists("own.5.mark"));
	ck_assert(t_state_exists("own.5-2.mark"));
	ck_assert(t_state_exists("own.5-3.mark"));
	ck_assert_uint_eq(t_state_count(), 4);
	ck_assert_uint_eq(t_mark_found("new", &twitter).tick, 1000);
}
END_TEST

START_TEST(open_of_a_file_that_was_set_aside_for_another_stream_keeps_both)
{
	t_stderr_begin();
	store("own", "twitter", 5, 1, 500);
	store("own", "twitter", 6, 1, 600); /* now there is own.5.mark */
	store("own.5", "twitter", 7, 1, 700);
	(void)t_stderr_end();
	ck_assert_uint_eq(t_mark_found("new", &twitter).tick, 500);
}
END_TEST

START_TEST(open_carries_the_mark_into_the_new_file_at_once)
{
	const struct sfd_identity more = t_identity("twitter", 5, 2);

	store("own", "twitter", 5, 1, 500);
	t_stderr_begin();
	ck_assert_uint_eq(t_mark_found("own", &more).tick, 500);
	(void)t_stderr_end();
	ck_assert_int_eq(unlink(t_state_path("own.5.mark")), 0);
	ck_assert_uint_eq(t_mark_found("own", &more).tick, 500);
}
END_TEST

START_TEST(open_with_a_name_that_is_too_long_refuses)
{
	struct sfd_mark_found found;
	struct sfd_mark *mark;

	ck_assert_int_eq(t_mark_open("n2345678901234567890123456789012", &twitter, &mark, &found),
			 -EINVAL);
	ck_assert_uint_eq(t_mark_found("n234567890123456789012345678901", &twitter).tick, 0);
}
END_TEST

START_TEST(fc85_open_without_a_directory_refuses)
{
	struct sfd_mark_found found;
	struct sfd_mark *mark;
	struct sf_why why;

	ck_assert_int_eq(sfd_mark_open(t_state_path("no"), "own", &twitter, &mark, &found, &why),
			 -ENOENT);
	ck_assert_ptr_nonnull(strstr(why.text, "/no: cannot open the state directory: No such"));
	t_state_write("file", "x", 1);
	ck_assert_int_eq(sfd_mark_open(t_state_path("file"), "own", &twitter, &mark, &found, &why),
			 -ENOTDIR);
	ck_assert_ptr_nonnull(strstr(why.text, "make the directory"));
	ck_assert_int_eq(sfd_mark_open(t_state_path("no"), "own", &twitter, &mark, &found, NULL),
			 -ENOENT);
}
END_TEST

START_TEST(fc85_open_in_a_read_only_directory_refuses)
{
	if (!t_state_mount("size=64k"))
		return;
	t_state_remount("ro");
	t_mark_refused(&twitter, -EROFS, "cannot create the mark file: Read-only file system");
	t_state_remount("size=64k");
	t_mark_store("own", &twitter, (uint64_t[]){100}, 1);
	t_state_remount("ro");
	t_mark_refused(&twitter, -EROFS, "own.mark: cannot open the mark file: Read-only");
	t_state_remount("size=64k");
	ck_assert_uint_eq(t_mark_found("own", &twitter).tick, 100);
}
END_TEST

START_TEST(fc85_open_on_a_full_disk_refuses_and_leaves_nothing)
{
	static const uint8_t filler[64 * 1024 - 4096];

	if (!t_state_mount("size=64k"))
		return;
	t_state_write("filler", filler, sizeof(filler)); /* one page is left, a mark needs two */
	t_mark_refused(&twitter, -ENOSPC, "free 8192 bytes on its file system");
	ck_assert_uint_eq(t_state_count(), 1);
}
END_TEST

START_TEST(fc85_store_on_a_disk_that_became_full_has_its_room)
{
	static const uint8_t filler[64 * 1024 - SFD_MARK_FILE_BYTES];
	struct sfd_mark_found found;
	struct sfd_mark *mark;

	if (!t_state_mount("size=64k"))
		return;
	ck_assert_int_eq(t_mark_open("own", &twitter, &mark, &found), 0);
	t_state_write("filler", filler, sizeof(filler));
	for (uint64_t tick = 100; tick < 105; tick++)
		ck_assert_int_eq(sfd_mark_store(mark, tick), 0);
	(void)sfd_mark_close(mark);
	ck_assert_uint_eq(t_mark_found("own", &twitter).tick, 104);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mark_directory");
	TCase *identity = tcase_create("identity");
	TCase *directory = tcase_create("directory");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(identity, set_up, t_state_deinit);
	tcase_add_test(identity, open_heeds_the_marks_of_other_streams_with_a_shared_node);
	tcase_add_test(identity, open_heeds_a_damaged_mark_of_another_stream_with_its_lead);
	tcase_add_test(identity, open_beside_a_mark_that_cannot_be_read_refuses);
	tcase_add_test(identity, open_ignores_files_with_other_names);
	tcase_add_loop_test(identity, fc25_open_with_another_layout_for_a_node_refuses, 0,
			    sizeof(other_layouts) / sizeof(other_layouts[0]));
	tcase_add_test(identity, fc62_open_with_another_node_and_layout_keeps_the_old_mark);
	tcase_add_test(identity, fc62_open_with_some_of_the_nodes_keeps_the_mark_of_the_others);
	tcase_add_test(identity,
		       fc62_open_with_the_first_of_the_nodes_keeps_the_mark_of_the_others);
	tcase_add_test(identity, fc62_open_sets_every_old_mark_aside_under_a_name_of_its_own);
	tcase_add_test(identity, open_of_a_file_that_was_set_aside_for_another_stream_keeps_both);
	tcase_add_test(identity, open_carries_the_mark_into_the_new_file_at_once);
	tcase_add_checked_fixture(directory, set_up, t_state_deinit);
	tcase_add_test(directory, open_with_a_name_that_is_too_long_refuses);
	tcase_add_test(directory, fc85_open_without_a_directory_refuses);
	tcase_add_test(directory, fc85_open_in_a_read_only_directory_refuses);
	tcase_add_test(directory, fc85_open_on_a_full_disk_refuses_and_leaves_nothing);
	tcase_add_test(directory, fc85_store_on_a_disk_that_became_full_has_its_room);
	suite_add_tcase(suite, identity);
	suite_add_tcase(suite, directory);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
