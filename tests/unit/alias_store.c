/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Opening stores: what is refused and left as it was, whom a store is bound to, and what a disk
 * that is full, locked, damaged or read-only does to it.
 */
#include "tests/unit/alias_suite.h"

#include "daemon/lock.h"
#include "tests/support/state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/** Runs SQL on a file, with SQLite itself. */
static void run_sql(const char *name, const char *sql)
{
	sqlite3 *db = NULL;

	ck_assert_int_eq(sqlite3_open(t_state_path(name), &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

/** Opening "a.db" fails so, and leaves its bytes as they are. */
static void refused_unchanged(int error, const char *sentence)
{
	static char before[65536];
	static char after[65536];
	const struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);
	size_t length = t_state_read("a.db", before, sizeof(before));

	ck_assert_uint_le(length, sizeof(before));
	t_alias_refused(&options, error, sentence);
	ck_assert_uint_eq(t_state_read("a.db", after, sizeof(after)), length);
	ck_assert_mem_eq(before, after, length);
}

/* ---- other files ---- */

START_TEST(open_of_what_is_no_database_leaves_it_alone)
{
	t_state_write("a.db", "not a database, but long enough to look at: 0123456789", 54);
	refused_unchanged(-EPROTO, "no store of aliases");
}
END_TEST

START_TEST(open_of_another_programs_database_leaves_it_alone)
{
	run_sql("a.db", "CREATE TABLE alias(id INTEGER PRIMARY KEY, key)");
	refused_unchanged(-EPROTO, "another program (application id 0)");
	run_sql("a.db", "PRAGMA application_id = 4711");
	refused_unchanged(-EPROTO, "another program (application id 4711)");
}
END_TEST

START_TEST(open_of_a_newer_store_leaves_it_alone)
{
	sf_alias_close(t_alias_open_default());
	run_sql("a.db", "PRAGMA user_version = 2");
	refused_unchanged(-EPROTO, "a store of format 2, this library knows format 1");
}
END_TEST

START_TEST(open_of_an_empty_file_makes_a_store)
{
	t_state_write("a.db", "", 0);
	sf_alias_close(t_alias_open_default());
}
END_TEST

START_TEST(open_takes_every_path_for_a_file)
{
	static const char *const names[] = {":memory:", "file:x?mode=memory", "-wal"};
	struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);

	ck_assert_int_eq(chdir(t_state_dir()), 0);
	for (size_t i = 0; i < T_COUNT(names); i++) {
		options.path = names[i];
		sf_alias_close(t_alias_open(&options));
		ck_assert(t_state_exists(names[i]));
	}
}
END_TEST

START_TEST(open_that_fails_makes_no_file)
{
	struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);

	options.layout = NULL;
	t_alias_refused(&options, -ENOTCONN, "a new store needs a layout");
	options = t_alias_options(T_ALIAS_LAYOUT);
	options.flags |= SF_ALIAS_MUST_EXIST;
	t_alias_refused(&options, -ENOENT, "there is no store of aliases at");
	options.flags = SF_ALIAS_READ_ONLY;
	t_alias_refused(&options, -ENOENT, "there is no store of aliases at");
	options.flags = 1u << 31;
	t_alias_refused(&options, -EINVAL, "flags");
	options.flags = 0;
	options.path = "";
	t_alias_refused(&options, -EINVAL, "path");
	ck_assert_uint_eq(t_state_count(), 0);
	options.path = t_state_path("missing/a.db");
	t_alias_refused(&options, -ENOENT, "missing/a.db: cannot open it");
}
END_TEST

START_TEST(open_of_a_wide_layout_is_refused)
{
	const struct sf_alias_options options = t_alias_options("ulid");

	t_alias_refused(&options, -ENOTSUP, "format ulid is not");
}
END_TEST

/* ---- what a store is bound to ---- */

START_TEST(open_with_another_layout_is_refused)
{
	struct sf_alias_options options = t_alias_options("t41 n20 s1 epoch=1577836800000");

	sf_alias_close(t_alias_open_default());
	t_alias_refused(&options, -EINVAL,
			"layout is t41 n20 s2 epoch=1577836800000 tick=1ms, not");
	options.layout = NULL;
	sf_alias_close(t_alias_open(&options));
}
END_TEST

START_TEST(open_keeps_the_machine_id_and_refuses_another)
{
	struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);
	struct sf_alias *first;
	struct sf_alias *second;

	options.machine_id = 1u << 20;
	t_alias_refused(&options, -EINVAL,
			"machine id 1048576; the store's layout has [0,1048575]");
	options.flags = 0;
	first = t_alias_open(&options);
	/* set later, by another handle */
	second = t_alias_open_default();
	options = t_alias_options(T_ALIAS_LAYOUT);
	options.machine_id = T_ALIAS_NODE + 1;
	t_alias_refused(&options, -EINVAL, "machine id is 900000, not 900001");
	sf_alias_close(first);
	sf_alias_close(second);
}
END_TEST

/** A child that holds a machine id as an sfd does, or a store, until it is killed. */
static pid_t hold(int (*take)(void))
{
	int pipes[2];
	int r = -1;
	pid_t pid;

	ck_assert_int_eq(pipe(pipes), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		r = take();
		(void)!write(pipes[1], &r, sizeof(r));
		for (;;)
			(void)pause();
	}
	ck_assert_int_eq((int)read(pipes[0], &r, sizeof(r)), (int)sizeof(r));
	ck_assert_int_eq(r, 0);
	return pid;
}

static void let_go(pid_t pid)
{
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static const uint64_t locked[] = {T_ALIAS_NODE};

static int take_node(void)
{
	int fd;

	return sfd_lock_nodes(locked, 1, &fd, NULL);
}

static int take_store(void)
{
	const struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);
	struct sf_alias *alias;

	return sf_alias_open(&options, &alias, NULL);
}

START_TEST(open_with_the_machine_id_of_a_running_sfd_is_refused)
{
	struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);
	char text[80];
	pid_t pid;

	sf_alias_close(t_alias_open_default());
	pid = hold(take_node);
	(void)snprintf(text, sizeof(text),
		       "machine id 900000 is in use on this host by an sfd, pid %d", (int)pid);
	t_alias_refused(&options, -EBUSY, text);
	/* to look up, nobody is in the way */
	options.flags = SF_ALIAS_READ_ONLY;
	sf_alias_close(t_alias_open(&options));
	let_go(pid);
	sf_alias_close(t_alias_open_default());
}
END_TEST

START_TEST(sfd_with_the_machine_id_of_an_open_store_is_refused)
{
	pid_t pid = hold(take_store);
	struct sf_alias *second = t_alias_open_default(); /* stores share it */
	int fd = -1;

	sf_alias_close(second);
	ck_assert_int_eq(sfd_lock_nodes(locked, 1, &fd, &t_alias_why), -EBUSY);
	t_alias_said("machine id 900000 is in use on this host by an open store of aliases");
	let_go(pid);
	ck_assert_int_eq(sfd_lock_nodes(locked, 1, &fd, &t_alias_why), 0);
	(void)close(fd);
}
END_TEST

/* The locks of a process go when it closes any descriptor of the file: these must not. */
START_TEST(close_of_one_handle_leaves_the_lock_of_the_other)
{
	struct sf_alias *first = t_alias_open_default();
	pid_t pid;
	int status;

	sf_alias_close(t_alias_open_default());
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(take_node() == -EBUSY ? 0 : 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	sf_alias_close(first);
}
END_TEST

/* What spares a full tick from being tried from its first ID on. */
START_TEST(store_has_the_next_counter_of_each_tick)
{
	struct sf_alias *alias = t_alias_open_default();
	sqlite3_stmt *next = NULL;
	sqlite3 *db = NULL;

	(void)t_alias_get_at(alias, "a", T_ALIAS_MS);
	(void)t_alias_get_at(alias, "b", T_ALIAS_MS);
	(void)t_alias_get_at(alias, "b", T_ALIAS_MS + 1);
	ck_assert_int_eq(sqlite3_open(t_state_path("a.db"), &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT tick, next FROM backfill", -1, &next, NULL),
			 SQLITE_OK);
	ck_assert_int_eq(sqlite3_step(next), SQLITE_ROW);
	ck_assert_int_eq(sqlite3_column_int64(next, 0), T_ALIAS_MS - 1577836800000);
	ck_assert_int_eq(sqlite3_column_int64(next, 1), 2);
	ck_assert_int_eq(sqlite3_step(next), SQLITE_DONE);
	(void)sqlite3_finalize(next);
	ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
	sf_alias_close(alias);
}
END_TEST

/* ---- trouble ---- */

START_TEST(writer_that_holds_the_store_is_waited_for_in_vain_and_readers_do_not_wait)
{
	struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);
	struct sf_alias *alias;
	sqlite3 *other = NULL;
	uint64_t id = 0;

	options.busy_ms = 30;
	alias = t_alias_open(&options);
	(void)t_alias_get_at(alias, "a", T_ALIAS_MS);
	ck_assert_int_eq(sqlite3_open(t_state_path("a.db"), &other), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	ck_assert_int_eq(sf_alias_get_at(alias, "b", 1, T_ALIAS_MS, &id, &t_alias_why), -EBUSY);
	t_alias_said("another process held it too long");
	ck_assert_uint_eq(id, 0);
	ck_assert_int_eq(sf_alias_find(alias, "a", 1, &id, NULL), 0);
	ck_assert_uint_eq(t_alias_get_at(alias, "a", 0), id);
	ck_assert_int_eq(sqlite3_close(other), SQLITE_OK);
	(void)t_alias_get_at(alias, "b", T_ALIAS_MS);
	sf_alias_close(alias);
}
END_TEST

START_TEST(read_only_handle_looks_up_and_makes_nothing)
{
	struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);
	struct sf_alias *alias = t_alias_open(&options);
	uint64_t made = t_alias_get_at(alias, "a", T_ALIAS_MS);
	uint64_t id = 0;

	sf_alias_close(alias);
	options.flags = SF_ALIAS_READ_ONLY;
	alias = t_alias_open(&options);
	ck_assert_uint_eq(t_alias_get_at(alias, "a", T_ALIAS_MS), made);
	ck_assert_int_eq(sf_alias_get_at(alias, "b", 1, T_ALIAS_MS, &id, &t_alias_why), -EROFS);
	t_alias_said("read only");
	sf_alias_close(alias);
}
END_TEST

START_TEST(store_on_a_read_only_file_system_is_refused_for_writing)
{
	const struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);

	if (!t_state_mount("size=1m"))
		return;
	sf_alias_close(t_alias_open_default());
	t_state_remount("ro");
	t_alias_refused(&options, -EROFS, "let this user write the file and its directory");
}
END_TEST

START_TEST(store_on_a_full_disk_loses_nothing_and_goes_on)
{
	struct sf_alias *alias;
	char key[32];
	uint64_t id = 0;
	uint32_t made = 0;
	int r = 0;

	if (!t_state_mount("size=400k"))
		return;
	alias = t_alias_open_default();
	for (; r == 0 && made < 100000; made += r == 0) {
		(void)snprintf(key, sizeof(key), "a rather long key %u", made);
		r = sf_alias_get_at(alias, key, strlen(key), T_ALIAS_MS + made, &id, &t_alias_why);
	}
	ck_assert_int_eq(r, -ENOSPC);
	t_alias_said("free space");
	t_state_remount("size=4m");
	for (uint32_t i = 0; i <= made; i++) {
		(void)snprintf(key, sizeof(key), "a rather long key %u", i);
		r = sf_alias_find(alias, key, strlen(key), &id, NULL);
		ck_assert_int_eq(r, i < made ? 0 : -ENOENT);
		if (i < made)
			ck_assert_uint_eq(
				id, t_alias_id(T_ALIAS_LAYOUT, T_ALIAS_MS + i, T_ALIAS_NODE, 0));
	}
	(void)t_alias_get_at(alias, key, T_ALIAS_MS);
	sf_alias_close(alias);
}
END_TEST

START_TEST(damaged_store_is_an_error_and_no_wrong_answer)
{
	struct sf_alias *alias = t_alias_open_default();
	char garbage[8192];
	struct stat status;
	char key[16];
	uint64_t id = 77;
	int damaged = 0;
	int fd;

	for (unsigned i = 0; i < 2000; i++) {
		(void)snprintf(key, sizeof(key), "key %u", i);
		ck_assert_int_eq(sf_alias_put(alias, key, strlen(key), 1000 + i, NULL), 0);
	}
	sf_alias_close(alias);
	memset(garbage, 0xa5, sizeof(garbage));
	fd = open(t_state_path("a.db"), O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(fstat(fd, &status), 0);
	/* the first page of each table stays */
	for (off_t at = 8192L * 6; at < status.st_size; at += 8192)
		ck_assert_int_eq((int)pwrite(fd, garbage, sizeof(garbage), at),
				 (int)sizeof(garbage));
	ck_assert_int_eq(close(fd), 0);
	alias = t_alias_open_default();
	for (unsigned i = 0; i < 2000; i++) {
		(void)snprintf(key, sizeof(key), "key %u", i);
		damaged += sf_alias_find(alias, key, strlen(key), &id, &t_alias_why) == -EBADMSG;
		ck_assert(id == 77 || id == 1000 + i);
		id = 77;
	}
	ck_assert_int_gt(damaged, 0);
	t_alias_said("damaged");
	sf_alias_close(alias);
}
END_TEST

void t_add_alias_store(Suite *suite)
{
	TCase *files = tcase_create("files");
	TCase *bound = tcase_create("bound");
	TCase *trouble = tcase_create("trouble");

	tcase_add_checked_fixture(files, t_alias_set_up, t_alias_tear_down);
	tcase_add_test(files, open_of_what_is_no_database_leaves_it_alone);
	tcase_add_test(files, open_of_another_programs_database_leaves_it_alone);
	tcase_add_test(files, open_of_a_newer_store_leaves_it_alone);
	tcase_add_test(files, open_of_an_empty_file_makes_a_store);
	tcase_add_test(files, open_takes_every_path_for_a_file);
	tcase_add_test(files, open_that_fails_makes_no_file);
	tcase_add_test(files, open_of_a_wide_layout_is_refused);
	suite_add_tcase(suite, files);
	tcase_add_checked_fixture(bound, t_alias_set_up, t_alias_tear_down);
	tcase_add_test(bound, open_with_another_layout_is_refused);
	tcase_add_test(bound, open_keeps_the_machine_id_and_refuses_another);
	tcase_add_test(bound, open_with_the_machine_id_of_a_running_sfd_is_refused);
	tcase_add_test(bound, sfd_with_the_machine_id_of_an_open_store_is_refused);
	tcase_add_test(bound, close_of_one_handle_leaves_the_lock_of_the_other);
	tcase_add_test(bound, store_has_the_next_counter_of_each_tick);
	suite_add_tcase(suite, bound);
	tcase_add_checked_fixture(trouble, t_alias_set_up, t_alias_tear_down);
	tcase_set_timeout(trouble, 60);
	tcase_add_test(trouble,
		       writer_that_holds_the_store_is_waited_for_in_vain_and_readers_do_not_wait);
	tcase_add_test(trouble, read_only_handle_looks_up_and_makes_nothing);
	tcase_add_test(trouble, store_on_a_read_only_file_system_is_refused_for_writing);
	tcase_add_test(trouble, store_on_a_full_disk_loses_nothing_and_goes_on);
	tcase_add_test(trouble, damaged_store_is_an_error_and_no_wrong_answer);
	suite_add_tcase(suite, trouble);
}
