/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What an sfd that was started as root gives to the user that it becomes, and what it leaves alone.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/process.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAYOUT "t41 n10 s12 epoch=1577836800000"
#define NOBODY 65534
#define STRANGER 54321
#define NODES "/run/lock/sfd.nodes"

static struct t_daemon daemon_now;

static void assert_owner(const char *path, uid_t uid)
{
	struct stat status;

	ck_assert_msg(lstat(path, &status) == 0, "%s", path);
	ck_assert_msg(status.st_uid == uid, "%s belongs to %u", path, status.st_uid);
}

/** Plants what looks like sfd's own and is not. */
static void plant_traps(const char *precious)
{
	FILE *file = fopen(precious, "we");

	ck_assert_ptr_nonnull(file);
	(void)fputs("root's\n", file);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(symlink(precious, t_path(daemon_now.state_dir, "a.new")), 0);
	ck_assert_int_eq(link(precious, t_path(daemon_now.state_dir, "b.new")), 0);
}

START_TEST(state_of_an_sfd_of_root_is_handed_over_and_nothing_else)
{
	char precious[128];
	uint64_t last;

	if (!t_has_root(__func__))
		return;
	t_daemon_run_with(&daemon_now, "user = root\n", LAYOUT);
	last = t_take_one(daemon_now.socket);
	t_daemon_stop(&daemon_now);
	(void)snprintf(precious, sizeof(precious), "%s/precious", daemon_now.directory);
	plant_traps(precious);
	daemon_now.lines = "user = nobody\n";
	t_daemon_configure(&daemon_now, LAYOUT, "");
	t_daemon_start(&daemon_now);
	ck_assert_uint_gt(t_take_one(daemon_now.socket), last);
	assert_owner(daemon_now.state_dir, NOBODY);
	assert_owner(daemon_now.runtime_dir, NOBODY);
	assert_owner(t_path(daemon_now.state_dir, "default.mark"), NOBODY);
	assert_owner(t_path(daemon_now.runtime_dir, "default.runtime"), NOBODY);
	assert_owner(daemon_now.socket, NOBODY);
	assert_owner(precious, 0);
	t_daemon_stop(&daemon_now);
}
END_TEST

static void make_directory_inside(void)
{
	ck_assert_int_eq(mkdir(t_path(daemon_now.state_dir, "others"), 0755), 0);
}

static void make_writable_for_all(void)
{
	ck_assert_int_eq(chmod(daemon_now.state_dir, 01777), 0);
}

static void make_another_users(void)
{
	ck_assert_int_eq(chown(daemon_now.state_dir, STRANGER, STRANGER), 0);
}

static void make_link(void)
{
	ck_assert_int_eq(rmdir(daemon_now.state_dir), 0);
	ck_assert_int_eq(mkdir(t_path(daemon_now.directory, "elsewhere"), 0700), 0);
	ck_assert_int_eq(symlink("elsewhere", daemon_now.state_dir), 0);
}

START_TEST(directory_that_is_not_sfds_alone_is_not_given_away)
{
	void (*const spoil[])(void) = {make_directory_inside, make_writable_for_all,
				       make_another_users, make_link};

	if (!t_has_root(__func__))
		return;
	for (size_t i = 0; i < sizeof(spoil) / sizeof(spoil[0]); i++) {
		char said[T_SAID_BYTES];
		struct stat before;
		struct stat after;

		t_daemon_init(&daemon_now, 0);
		daemon_now.lines = "user = nobody\n";
		t_daemon_configure(&daemon_now, LAYOUT, "");
		ck_assert_int_eq(mkdir(daemon_now.state_dir, 0755), 0);
		spoil[i]();
		ck_assert_int_eq(stat(daemon_now.state_dir, &before), 0);
		ck_assert_int_eq(t_daemon_start_refused(&daemon_now, said), 1);
		ck_assert_msg(strstr(said, "the state directory is not sfd's alone") != NULL,
			      "row %zu: %s", i, said);
		ck_assert_int_eq(stat(daemon_now.state_dir, &after), 0);
		ck_assert_uint_eq(after.st_uid, before.st_uid);
	}
}
END_TEST

/* Whoever owns the file in a directory for all could put another one in its place. */
START_TEST(machine_id_file_of_a_user_is_taken_over_by_root_as_it_is)
{
	struct stat before;
	struct stat after;
	FILE *file;

	if (!t_may_mount()) {
		t_skip(__func__, "needs a /run/lock of its own");
		return;
	}
	(void)unlink(NODES);
	file = fopen(NODES, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fchown(fileno(file), STRANGER, STRANGER), 0);
	ck_assert_int_eq(fchmod(fileno(file), 0600), 0);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(stat(NODES, &before), 0);
	t_daemon_run_with(&daemon_now, "", LAYOUT);
	ck_assert_int_eq(stat(NODES, &after), 0);
	ck_assert_uint_eq(after.st_ino, before.st_ino);
	ck_assert_uint_eq(after.st_uid, 0);
	ck_assert_uint_eq(after.st_mode & 07777, 0666);
	t_daemon_stop(&daemon_now);
	/* One with a second name may be anything of root's: it is left as it is. */
	ck_assert_int_eq(chown(NODES, STRANGER, STRANGER), 0);
	ck_assert_int_eq(link(NODES, "/run/lock/second"), 0);
	t_daemon_run_with(&daemon_now, "", LAYOUT);
	assert_owner(NODES, STRANGER);
	t_daemon_stop(&daemon_now);
	ck_assert_int_eq(unlink("/run/lock/second"), 0);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		state_of_an_sfd_of_root_is_handed_over_and_nothing_else,
		directory_that_is_not_sfds_alone_is_not_given_away,
		machine_id_file_of_a_user_is_taken_over_by_root_as_it_is,
	};
	const struct t_program program = {.name = "owners",
					  .machine_id = 624,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
