/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Who is turned away, and how: a second sfd in every form, foreign files at the socket's path,
 * other versions in both directions, unknown streams, users that no access list names.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/fake.h"
#include "tests/support/process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAYOUT "t41 n10 s12 epoch=1577836800000"
#define NOBODY 65534
#define GROUP 54321

static struct t_daemon first;

static void assert_names_pid(const char *said, pid_t pid)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "pid %d", (int)pid);
	ck_assert_msg(strstr(said, text) != NULL, "\"%s\" not in: %s", text, said);
}

static void assert_first_is_well(void)
{
	struct sf_client *client = t_open(first.socket, 0);
	struct sf_cursor *cursor = t_cursor(client);

	(void)t_next(cursor);
	sf_cursor_close(cursor);
	sf_close(client);
}

/* ---- a second sfd ---- */

static void assert_second_refused(struct t_daemon *second, const char *sentence)
{
	char said[T_SAID_BYTES];

	t_daemon_configure(second, LAYOUT, "");
	ck_assert_int_eq(t_daemon_start_refused(second, said), 1);
	ck_assert_msg(strstr(said, sentence) != NULL, "\"%s\" not in: %s", sentence, said);
	assert_names_pid(said, first.pid);
	assert_first_is_well();
}

START_TEST(second_sfd_on_the_same_runtime_directory_is_refused_fc_84)
{
	struct t_daemon second;

	t_daemon_run(&first, LAYOUT, "");
	t_daemon_init(&second, 1);
	memcpy(second.runtime_dir, first.runtime_dir, sizeof(second.runtime_dir));
	assert_second_refused(&second, "the runtime directory is in use by another sfd");
	t_daemon_stop(&first);
}
END_TEST

START_TEST(second_sfd_on_the_same_state_directory_is_refused)
{
	struct t_daemon second;

	t_daemon_run(&first, LAYOUT, "");
	t_daemon_init(&second, 1);
	memcpy(second.state_dir, first.state_dir, sizeof(second.state_dir));
	assert_second_refused(&second, "the state directory is in use by another sfd");
	t_daemon_stop(&first);
}
END_TEST

START_TEST(second_sfd_with_the_same_machine_id_is_refused)
{
	struct t_daemon second;

	t_daemon_run(&first, LAYOUT, "");
	t_daemon_init(&second, 0);
	assert_second_refused(&second, "is in use on this host by another sfd");
	/* With another one it starts, and the two live side by side. */
	second.machine_id++;
	t_daemon_configure(&second, LAYOUT, "");
	t_daemon_start(&second);
	assert_first_is_well();
	t_daemon_stop(&second);
	t_daemon_stop(&first);
}
END_TEST

/* ---- what lies at the socket's path ---- */

START_TEST(stale_socket_is_replaced_fc_84)
{
	t_daemon_run(&first, LAYOUT, "runway_ms = 200\n");
	t_daemon_kill(&first);
	ck_assert_int_eq(access(first.socket, F_OK), 0);
	t_daemon_start(&first);
	assert_first_is_well();
	t_daemon_stop(&first);
	ck_assert_int_lt(access(first.socket, F_OK), 0);
}
END_TEST

static void put_file(const char *path)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	(void)fputs("precious\n", file);
	ck_assert_int_eq(fclose(file), 0);
}

static void put_directory(const char *path)
{
	ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void put_link(const char *path)
{
	ck_assert_int_eq(symlink("elsewhere", path), 0);
}

static void put_pipe(const char *path)
{
	ck_assert_int_eq(mkfifo(path, 0600), 0);
}

START_TEST(foreign_file_at_the_socket_path_is_left_alone_fc_84)
{
	void (*const put[])(const char *) = {put_file, put_directory, put_link, put_pipe};

	t_daemon_init(&first, 0);
	t_daemon_configure(&first, LAYOUT, "");
	ck_assert_int_eq(mkdir(first.runtime_dir, 0755), 0);
	for (size_t i = 0; i < sizeof(put) / sizeof(put[0]); i++) {
		char said[T_SAID_BYTES];
		struct stat before;
		struct stat after;

		put[i](first.socket);
		ck_assert_int_eq(lstat(first.socket, &before), 0);
		ck_assert_int_eq(t_daemon_start_refused(&first, said), 1);
		ck_assert_msg(strstr(said, first.socket) != NULL, "%s", said);
		ck_assert_int_eq(lstat(first.socket, &after), 0);
		ck_assert_uint_eq(after.st_ino, before.st_ino);
		ck_assert_uint_eq(after.st_mode, before.st_mode);
		ck_assert_int_eq(after.st_size, before.st_size);
		ck_assert_int_eq(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
		ck_assert_int_eq(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
		ck_assert_int_eq(remove(first.socket), 0);
	}
	t_daemon_start(&first);
	t_daemon_stop(&first);
}
END_TEST

/* ---- versions ---- */

static void assert_refused(const struct sf_control_request *request, int status,
			   const char *const parts[2])
{
	struct sf_control_refused refused = {0};
	int fd = t_connect(first.socket);

	ck_assert_uint_eq(t_exchange(fd, request, sizeof(*request), &refused, sizeof(refused)),
			  sizeof(refused));
	ck_assert_uint_eq(refused.head.magic, SF_CONTROL_MAGIC);
	ck_assert_uint_eq(refused.head.version, SF_CONTROL_VERSION);
	ck_assert_uint_eq(refused.head.length, sizeof(refused));
	ck_assert_int_eq(refused.head.status, status);
	ck_assert_ptr_nonnull(memchr(refused.text, '\0', sizeof(refused.text)));
	for (int i = 0; i < 2; i++)
		ck_assert_msg(strstr(refused.text, parts[i]) != NULL, "%s", refused.text);
	(void)close(fd);
}

static void assert_attached(unsigned abi_minor)
{
	struct sf_control_request request = t_request(SF_CONTROL_ATTACH, "default");
	struct sf_control_attached attached = {0};
	int fd = t_connect(first.socket);

	request.abi_minor = (uint16_t)abi_minor;
	ck_assert_uint_eq(t_exchange(fd, &request, sizeof(request), &attached, sizeof(attached)),
			  abi_minor < SF_SHM_ABI_MINOR_TALLIES ? SF_CONTROL_ATTACHED_SHORT
							       : sizeof(attached));
	ck_assert_int_eq(attached.head.status, 0);
	(void)close(fd);
}

/* It would take IDs while the stream refuses them: what says so came with minor version 1. */
START_TEST(older_client_of_a_stream_that_may_refuse_is_refused)
{
	static const char *const policies[] = {"wait", "refuse", "ahead"};
	const char *const parts[2] = {"stream default has a clock_backward", "upgrade the client"};

	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		struct sf_control_request request = t_request(SF_CONTROL_ATTACH, "default");
		char lines[64];

		(void)snprintf(lines, sizeof(lines), "clock_backward = %s\n", policies[i]);
		t_daemon_run(&first, LAYOUT, lines);
		request.abi_minor = 0;
		assert_refused(&request, -EPROTO, parts);
		assert_attached(SF_SHM_ABI_MINOR);
		t_daemon_stop(&first);
	}
}
END_TEST

START_TEST(request_of_another_version_is_refused_with_both_numbers_fc_63)
{
	struct sf_control_request request;
	char ours[32];
	char theirs[32];
	const char *const parts[2] = {ours, theirs};

	t_daemon_run(&first, LAYOUT, "");
	request = t_request(SF_CONTROL_ATTACH, "default");
	request.abi_major = SF_SHM_ABI_MAJOR + 1;
	(void)snprintf(ours, sizeof(ours), "ABI version %d", SF_SHM_ABI_MAJOR);
	(void)snprintf(theirs, sizeof(theirs), "knows %d", SF_SHM_ABI_MAJOR + 1);
	assert_refused(&request, -EPROTO, parts);
	request = t_request(SF_CONTROL_ATTACH, "default");
	request.head.version = SF_CONTROL_VERSION + 1;
	(void)snprintf(ours, sizeof(ours), "control version %d", SF_CONTROL_VERSION);
	(void)snprintf(theirs, sizeof(theirs), "client %d", SF_CONTROL_VERSION + 1);
	assert_refused(&request, -EPROTO, parts);
	/* A newer minor version only appends, and an older one lacks nothing here. */
	assert_attached(SF_SHM_ABI_MINOR + 1);
	assert_attached(0);
	ck_assert_uint_eq(t_daemon_counter(&first, SF_COUNTER_attaches_refused), 1);
	ck_assert_uint_eq(t_daemon_counter(&first, SF_COUNTER_requests_bad), 1);
	t_daemon_stop(&first);
}
END_TEST

/* The other direction: a library that meets a ring, or an answer, which it does not know. */
START_TEST(ring_of_another_version_or_shape_is_refused_by_the_library_fc_63)
{
	char path[128];
	char said[T_SAID_BYTES];

	(void)snprintf(path, sizeof(path), "%s/fake.sock", t_directory());
	for (size_t i = 0; i < t_fake_count; i++) {
		struct sf_client *client = NULL;
		int error;

		t_fake_start(path, i);
		error = t_try_open(path, "default", &client, said);
		ck_assert_msg(error == t_fake[i].error, "%s: %d: %s", t_fake[i].name, error, said);
		ck_assert_msg(strstr(said, t_fake[i].sentence) != NULL, "%s: %s", t_fake[i].name,
			      said);
		ck_assert_ptr_null(client);
		t_fake_stop();
	}
}
END_TEST

/* ---- streams and users ---- */

START_TEST(unknown_stream_is_refused)
{
	char said[T_SAID_BYTES];
	struct sf_client *client = NULL;

	t_daemon_run(&first, LAYOUT, "");
	ck_assert_int_eq(t_try_open(first.socket, "nowhere", &client, said), -ENOENT);
	ck_assert_ptr_null(client);
	ck_assert_msg(strstr(said, "nowhere") != NULL, "%s", said);
	t_daemon_stop(&first);
}
END_TEST

START_TEST(open_without_sfd_says_so)
{
	char said[T_SAID_BYTES];
	struct sf_client *client = NULL;

	t_daemon_init(&first, 0);
	ck_assert_int_eq(t_try_open(first.socket, "default", &client, said), -ENOTCONN);
	ck_assert_msg(strstr(said, first.socket) != NULL, "%s", said);
	ck_assert_ptr_null(client);
}
END_TEST

struct visitor {
	uid_t uid;
	gid_t gid;
	int error; /* what sf_open must say */
};

static int visit(void *argument)
{
	const struct visitor *visitor = argument;
	const gid_t groups[1] = {visitor->gid};
	char said[T_SAID_BYTES];
	char user[32];
	struct sf_client *client = NULL;
	uint64_t id;

	T_CHECK(setgroups(1, groups) == 0);
	T_CHECK(setgid(NOBODY) == 0);
	T_CHECK(setuid(visitor->uid) == 0);
	T_CHECK(t_try_open(first.socket, "default", &client, said) == visitor->error);
	if (visitor->error != 0) {
		(void)snprintf(user, sizeof(user), "user %u", visitor->uid);
		T_CHECK(strstr(said, user) != NULL);
		T_CHECK(strstr(said, "stream default") != NULL);
		return 0;
	}
	return sf_next(t_cursor(client), &id);
}

static void assert_visits(const char *allow, const struct visitor *visitors, int count)
{
	char line[64];

	(void)snprintf(line, sizeof(line), "%s%s\n", *allow ? "allow = " : "", allow);
	t_daemon_run(&first, LAYOUT, line);
	for (int i = 0; i < count; i++) {
		struct visitor visitor = visitors[i];

		ck_assert_msg(t_reap(t_child(visit, &visitor)) == 0, "allow \"%s\", visitor %d",
			      allow, i);
	}
	t_daemon_stop(&first);
}

START_TEST(access_list_decides_who_may_attach)
{
	const struct visitor nobody = {NOBODY, NOBODY, -EACCES};
	const struct visitor member = {NOBODY, GROUP, -EACCES};
	const struct visitor root = {0, NOBODY, 0};
	struct visitor visitors[3] = {nobody, member, root};

	if (geteuid() != 0) {
		t_skip(__func__, "needs root to become another user");
		return;
	}
	assert_visits("", visitors, 3);
	assert_visits("12345, @12345", visitors, 3);
	visitors[0].error = visitors[1].error = 0;
	assert_visits("*", visitors, 3);
	assert_visits("65534", visitors, 3);
	visitors[0].error = -EACCES;
	assert_visits("12345, @54321", visitors, 3);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		second_sfd_on_the_same_runtime_directory_is_refused_fc_84,
		second_sfd_on_the_same_state_directory_is_refused,
		second_sfd_with_the_same_machine_id_is_refused,
		stale_socket_is_replaced_fc_84,
		foreign_file_at_the_socket_path_is_left_alone_fc_84,
		older_client_of_a_stream_that_may_refuse_is_refused,
		request_of_another_version_is_refused_with_both_numbers_fc_63,
		ring_of_another_version_or_shape_is_refused_by_the_library_fc_63,
		unknown_stream_is_refused,
		open_without_sfd_says_so,
		access_list_decides_who_may_attach,
	};
	const struct t_program program = {.name = "refusals",
					  .machine_id = 80,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
