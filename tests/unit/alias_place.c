/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Stores that are not where, or in the process in which, they were opened: forked children, files
 * that are renamed, removed or replaced, and paths where no store can be.
 */
#include "tests/unit/alias_suite.h"

#include "daemon/lock.h"
#include "tests/support/state.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t locked[] = {T_ALIAS_NODE};

/* ---- forks ---- */

/** What sf_alias_open() answers in a forked child. */
static int open_in_child(void)
{
	const struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);
	struct sf_alias *alias;
	int status;
	int r;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		r = sf_alias_open(&options, &alias, &t_alias_why);
		if (r == 0)
			sf_alias_close(alias);
		else if (!strstr(t_alias_why.text, "forked while a store was open"))
			r = -1;
		_exit(-r);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

START_TEST(open_in_a_child_that_was_forked_while_a_store_was_open_is_refused)
{
	struct sf_alias *first = t_alias_open_default();
	struct sf_alias *second = t_alias_open_default();

	ck_assert_int_eq(open_in_child(), -EINVAL);
	sf_alias_close(first);
	ck_assert_int_eq(open_in_child(), -EINVAL);
	(void)t_alias_get_at(second, "a", T_ALIAS_MS); /* the parent is none the worse */
	sf_alias_close(second);
	ck_assert_int_eq(open_in_child(), 0);
}
END_TEST

/* SQLite's table of locks is the child's for good, whatever it closes. */
START_TEST(open_in_a_child_is_refused_after_the_inherited_handle_is_closed)
{
	struct sf_alias *alias = t_alias_open_default();
	int status;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		sf_alias_close(alias);
		_exit(open_in_child() == -EINVAL ? 0 : 1); /* in a grandchild, too */
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	sf_alias_close(alias);
}
END_TEST

START_TEST(open_that_fails_does_not_count)
{
	struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);

	options.flags |= SF_ALIAS_MUST_EXIST;
	t_alias_refused(&options, -ENOENT, "there is no store");
	ck_assert_int_eq(open_in_child(), 0);
}
END_TEST

START_TEST(close_gives_the_machine_id_back_although_a_child_lives)
{
	struct sf_alias *alias = t_alias_open_default();
	int fd = -1;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		for (;;)
			(void)pause();
	sf_alias_close(alias);
	ck_assert_int_eq(sfd_lock_nodes(locked, 1, &fd, &t_alias_why), 0);
	(void)close(fd);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

/* ---- files that went ---- */

static void move_away(void)
{
	ck_assert_int_eq(chdir(t_state_dir()), 0);
	ck_assert_int_eq(rename("a.db", "old.db"), 0);
}

static void remove_it(void)
{
	ck_assert_int_eq(unlink(t_state_path("a.db")), 0);
}

static void replace_it(void)
{
	move_away();
	sf_alias_close(t_alias_open_default());
}

static void (*const ways[])(void) = {move_away, remove_it, replace_it};

START_TEST(store_that_went_is_refused_by_every_call)
{
	struct sf_alias *alias = t_alias_open_default();
	char key[SF_ALIAS_KEY_MAX + 1];
	uint64_t made = t_alias_get_at(alias, "a", T_ALIAS_MS);
	uint64_t id = 77;

	ways[_i]();
	ck_assert_int_eq(sf_alias_get_at(alias, "b", 1, T_ALIAS_MS, &id, &t_alias_why), -ESTALE);
	t_alias_said("was renamed, removed or replaced while it was open");
	ck_assert_int_eq(t_alias_put(alias, "c", 5), -ESTALE);
	ck_assert_int_eq(sf_alias_find(alias, "a", 1, &id, NULL), -ESTALE);
	ck_assert_int_eq(sf_alias_reverse(alias, made, key, NULL), -ESTALE);
	ck_assert_uint_eq(id, 77);
	sf_alias_close(alias);
}
END_TEST

struct mover {
	struct sf_alias *alias;
	unsigned heard;
};

/** Hears of a record that is refused, which is before the store is locked. */
static void on_refused(void *data, size_t index, const char *sentence)
{
	struct mover *mover = data;

	(void)index;
	(void)sentence;
	if (mover->heard++ == 0)
		move_away();
}

START_TEST(store_that_goes_while_a_batch_is_looked_up_is_not_written)
{
	struct sf_alias_record records[] = {
		{.key = ""},
		{.key = "b", .key_length = 1, .flags = SF_ALIAS_ID, .id = 5},
	};
	struct mover mover = {.alias = t_alias_open_default()};
	const struct sf_alias_batch batch = {
		.size = sizeof(batch),
		.flags = SF_ALIAS_SKIP,
		.records = records,
		.count = 2,
		.refused = on_refused,
		.data = &mover,
	};
	uint64_t id;

	ck_assert_int_eq(sf_alias_apply(mover.alias, &batch, &t_alias_why), -ESTALE);
	sf_alias_close(mover.alias);
	ck_assert_int_eq(rename("old.db", "a.db"), 0);
	mover.alias = t_alias_open_default();
	ck_assert_int_eq(sf_alias_find(mover.alias, "b", 1, &id, NULL), -ENOENT);
	sf_alias_close(mover.alias);
}
END_TEST

/* ---- where no store can be ---- */

START_TEST(open_of_what_is_no_regular_file_is_refused)
{
	struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);
	const char *paths[3];

	ck_assert_int_eq(mkdir(t_state_path("directory"), 0700), 0);
	ck_assert_int_eq(mkfifo(t_state_path("fifo"), 0600), 0);
	paths[0] = strdup(t_state_path("directory"));
	paths[1] = strdup(t_state_path("fifo"));
	paths[2] = strdup("/dev/null");
	for (size_t i = 0; i < T_COUNT(paths); i++) {
		options.path = paths[i];
		options.flags &= ~SF_ALIAS_READ_ONLY;
		t_alias_refused(&options, -EPROTO, "is no regular file");
		options.flags |= SF_ALIAS_READ_ONLY;
		t_alias_refused(&options, -EPROTO, "is no regular file");
		free((char *)paths[i]);
	}
}
END_TEST

START_TEST(open_of_a_new_store_with_a_wrong_machine_id_makes_no_file)
{
	struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);
	int fd;

	options.machine_id = 1u << 20;
	t_alias_refused(&options, -EINVAL, "machine id 1048576");
	ck_assert_uint_eq(t_state_count(), 0);
	options.machine_id = T_ALIAS_NODE;
	ck_assert_int_eq(sfd_lock_nodes(locked, 1, &fd, NULL), 0);
	t_alias_refused(&options, -EBUSY, "machine id 900000 is in use");
	(void)close(fd);
	ck_assert_uint_eq(t_state_count(), 0);
	sf_alias_close(t_alias_open_default());
}
END_TEST

/** A user who may read the test's directory and not write it. */
static void become_reader(void)
{
	ck_assert_int_eq(chmod(t_state_dir(), 0555), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
}

START_TEST(open_of_a_new_store_in_a_directory_that_cannot_be_written_says_so)
{
	struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);

	options.flags = 0;
	become_reader();
	t_alias_refused(&options, -EACCES,
			"cannot open it: Permission denied; name a directory that this user can "
			"write");
	(void)seteuid(getuid());
}
END_TEST

START_TEST(read_only_open_in_a_directory_that_cannot_be_written_says_what_it_needs)
{
	struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);

	sf_alias_close(t_alias_open_default());
	ck_assert(!t_state_exists("a.db-wal"));
	ck_assert_int_eq(chmod(t_state_path("a.db"), 0644), 0);
	options.flags = SF_ALIAS_READ_ONLY;
	become_reader();
	t_alias_refused(&options, -EACCES, "let this user write its directory");
	(void)seteuid(getuid());
}
END_TEST

/* Its log is there, and then nothing needs to be made. */
START_TEST(read_only_open_of_a_store_in_use_needs_no_directory_that_can_be_written)
{
	struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);
	struct sf_alias *writer = t_alias_open_default();
	struct sf_alias *reader;
	uint64_t made = t_alias_get_at(writer, "a", T_ALIAS_MS);

	ck_assert_int_eq(chmod(t_state_path("a.db"), 0644), 0);
	options.flags = SF_ALIAS_READ_ONLY;
	become_reader();
	reader = t_alias_open(&options);
	ck_assert_uint_eq(t_alias_find(reader, "a"), made);
	sf_alias_close(reader);
	(void)seteuid(getuid());
	sf_alias_close(writer);
}
END_TEST

/* ---- what is no fault of a record ---- */

START_TEST(apply_fails_as_a_whole_when_the_store_has_no_machine_id)
{
	struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);
	struct sf_alias_record records[] = {
		{.key = "a", .key_length = 1, .flags = SF_ALIAS_ID, .id = 5},
		{.key = "b",
		 .key_length = 1,
		 .flags = SF_ALIAS_CREATED,
		 .created_unix_ms = T_ALIAS_MS},
	};
	const struct sf_alias_batch batch = {
		.size = sizeof(batch), .flags = SF_ALIAS_SKIP, .records = records, .count = 2};
	struct sf_alias *alias;
	uint64_t id;

	options.flags = 0;
	alias = t_alias_open(&options);
	ck_assert_int_eq(sf_alias_apply(alias, &batch, &t_alias_why), -EADDRNOTAVAIL);
	t_alias_said("no machine id");
	ck_assert_int_eq(sf_alias_find(alias, "a", 1, &id, NULL), -ENOENT);
	/* a known key needs none */
	ck_assert_int_eq(t_alias_put(alias, "b", 6), 0);
	ck_assert_int_eq(sf_alias_apply(alias, &batch, &t_alias_why), 0);
	ck_assert_uint_eq(records[1].id, 6);
	sf_alias_close(alias);
}
END_TEST

void t_add_alias_place(Suite *suite)
{
	TCase *places = tcase_create("places");

	tcase_add_checked_fixture(places, t_alias_set_up, t_alias_tear_down);
	tcase_add_test(places, open_in_a_child_that_was_forked_while_a_store_was_open_is_refused);
	tcase_add_test(places, open_in_a_child_is_refused_after_the_inherited_handle_is_closed);
	tcase_add_test(places, open_that_fails_does_not_count);
	tcase_add_test(places, close_gives_the_machine_id_back_although_a_child_lives);
	tcase_add_loop_test(places, store_that_went_is_refused_by_every_call, 0, T_COUNT(ways));
	tcase_add_test(places, store_that_goes_while_a_batch_is_looked_up_is_not_written);
	tcase_add_test(places, open_of_what_is_no_regular_file_is_refused);
	tcase_add_test(places, open_of_a_new_store_with_a_wrong_machine_id_makes_no_file);
	tcase_add_test(places, open_of_a_new_store_in_a_directory_that_cannot_be_written_says_so);
	tcase_add_test(places,
		       read_only_open_in_a_directory_that_cannot_be_written_says_what_it_needs);
	tcase_add_test(places,
		       read_only_open_of_a_store_in_use_needs_no_directory_that_can_be_written);
	tcase_add_test(places, apply_fails_as_a_whole_when_the_store_has_no_machine_id);
	suite_add_tcase(suite, places);
}
