/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfd that becomes the next sfd, under load: upgrades, and those that are refused or fail.
 * Clients notice nothing, counts go on, and what cannot be taken over leaves sfd as it was.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/load.h"
#include "tests/support/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAYOUT "t41 n10 s12 epoch=1577836800000"
#define CLIENTS 3
#define UPGRADES ((T_ASAN || T_TSAN) ? 10 : 40)

static struct t_daemon daemon_now;

/** Asks for an upgrade, and waits for the answer. @return its status; `text` says why not */
static int upgrade(const char *path, char text[240], struct sf_control_upgraded *ret_upgraded)
{
	struct sf_control_upgrade request = {.head = {.magic = SF_CONTROL_MAGIC,
						      .version = SF_CONTROL_VERSION,
						      .type = SF_CONTROL_UPGRADE,
						      .length = sizeof(request)}};
	union {
		struct sf_control_head head;
		struct sf_control_refused refused;
		struct sf_control_upgraded upgraded;
	} reply = {0};
	int fd = t_connect(daemon_now.socket);
	size_t length;

	(void)snprintf(request.path, sizeof(request.path), "%s", path);
	length = t_exchange(fd, &request, sizeof(request), &reply, sizeof(reply));
	(void)close(fd);
	ck_assert_uint_ge(length, sizeof(reply.head));
	if (reply.head.status == 0 && ret_upgraded)
		*ret_upgraded = reply.upgraded;
	text[0] = '\0';
	if (reply.head.status < 0)
		(void)snprintf(text, 240, "%s", reply.refused.text);
	return reply.head.status;
}

static void upgrade_to_itself(void)
{
	char text[240];
	int status = upgrade("", text, NULL);

	ck_assert_msg(status == 0, "%s", text);
}

static void assert_refused(const char *path, int status, const char *part)
{
	char text[240];

	ck_assert_int_eq(upgrade(path, text, NULL), status);
	ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in: %s", part, text);
}

/** Writes a program for sfd to become. */
static const char *script(const char *name, const char *lines)
{
	const char *path = t_path(daemon_now.directory, name);
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	(void)fprintf(file, "#!/bin/sh\n%s", lines);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(chmod(path, 0755), 0);
	return path;
}

START_TEST(upgrade_under_load_is_not_noticed_and_counts_go_on)
{
	struct sf_control_stats before;
	struct sf_control_stats after;
	struct t_load *load;
	uint64_t attaches;

	t_daemon_run(&daemon_now, LAYOUT, "");
	load = t_load_start(&daemon_now, CLIENTS);
	t_daemon_stats(&daemon_now, &before);
	attaches = before.counter[SF_COUNTER_attaches];
	for (int i = 0; i < UPGRADES; i++) {
		struct sf_control_upgraded upgraded = {0};
		char text[240];

		ck_assert_int_eq(upgrade("", text, &upgraded), 0);
		ck_assert_int_eq((pid_t)upgraded.pid, daemon_now.pid);
		ck_assert_str_eq(upgraded.version, SF_VERSION);
		ck_assert_str_eq(upgraded.before, SF_VERSION);
		t_daemon_stats(&daemon_now, &after);
		for (int k = 0; k < SF_COUNTER_clock_steps_back; k++)
			if (k == SF_COUNTER_ids_claimed || k == SF_COUNTER_ticks_published ||
			    k == SF_COUNTER_wakeups || k == SF_COUNTER_beats)
				ck_assert_uint_ge(after.counter[k], before.counter[k]);
		before = after;
	}
	/* each of them has moved to the ring of now, with a new connection in place of the old */
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_attaches) >= attaches + CLIENTS,
		     10000);
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_clients) == CLIENTS, 10000);
	t_load_stop(load); /* checks every ID, and that none was refused */
	t_daemon_stats(&daemon_now, &after);
	/* every counter that anyone has is one that was claimed */
	ck_assert_uint_gt(after.counter[SF_COUNTER_ids_claimed],
			  after.counter[SF_COUNTER_ids_dropped]);
	ck_assert_uint_eq(after.counter[SF_COUNTER_slots_spoilt], 0);
	t_daemon_stop(&daemon_now);
}
END_TEST

/* Claimed is exact: what one client took one by one, over upgrades, is the number that sfd has. */
START_TEST(upgrade_loses_no_count_of_ids)
{
	struct sf_client *client;
	struct sf_cursor *cursor;

	t_daemon_run(&daemon_now, LAYOUT, "");
	client = t_open(daemon_now.socket, INT64_C(5000000000));
	cursor = t_cursor(client);
	for (uint64_t taken = 1; taken <= 500; taken++) {
		(void)t_next(cursor);
		if (taken % 50 == 0)
			upgrade_to_itself();
		if (taken % 25 == 0)
			ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_ids_claimed),
					  taken);
	}
	sf_cursor_close(cursor);
	sf_close(client);
	t_daemon_stop(&daemon_now);
}
END_TEST

/* A client that does not come by keeps its place in the list, and goes on when it does. */
START_TEST(upgrade_keeps_idle_clients_and_their_connections)
{
	struct sf_client *client;
	struct sf_cursor *cursor;
	uint64_t last;

	t_daemon_run(&daemon_now, LAYOUT, "runway_ms = 500\n");
	client = t_open(daemon_now.socket, INT64_C(5000000000));
	cursor = t_cursor(client);
	last = t_next(cursor);
	upgrade_to_itself();
	upgrade_to_itself();
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_clients), 1);
	t_nap_ms(700); /* past the runway of what it is mapped to */
	ck_assert_uint_gt(t_next(cursor), last);
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_clients) == 1, 5000);
	sf_cursor_close(cursor);
	sf_close(client);
	t_daemon_stop(&daemon_now);
}
END_TEST

/* Who does not wait hears "try again" while it moves over, and nothing worse. */
START_TEST(upgrade_tells_an_idle_client_that_does_not_wait_to_try_again)
{
	struct sf_client *client;
	struct sf_cursor *cursor;
	uint64_t last;

	t_daemon_run(&daemon_now, LAYOUT, "runway_ms = 500\n");
	client = t_open(daemon_now.socket, INT64_C(5000000000));
	cursor = t_cursor(client);
	ck_assert_int_eq(sf_cursor_set_wait(cursor, SF_WAIT_NONE, SF_TIMEOUT_NONE), 0);
	T_WAIT_UNTIL(sf_next(cursor, &last) == 0, 5000);
	for (int i = 0; i < 5; i++) {
		const int64_t end_ns = t_mono_ns() + INT64_C(5000000000);
		uint64_t id;
		int error;

		upgrade_to_itself();
		upgrade_to_itself();
		t_nap_ms(i % 2 ? 0 : 700); /* before or past the runway of what it is mapped to */
		while ((error = sf_next(cursor, &id)) < 0) {
			ck_assert_int_eq(error, -EAGAIN);
			ck_assert_int_lt(t_mono_ns(), end_ns);
			t_nap_ms(1);
		}
		ck_assert_uint_gt(id, last);
		last = id;
	}
	sf_cursor_close(cursor);
	sf_close(client);
	t_daemon_stop(&daemon_now);
}
END_TEST

/* Wherever in a hand-over the signal comes, sfd ends as cleanly as ever, and the next one starts
 * above. */
START_TEST(stop_at_any_moment_of_an_upgrade_is_clean)
{
	enum {
		TIMES = 24
	};
	const struct sf_control_upgrade request = {.head = {.magic = SF_CONTROL_MAGIC,
							    .version = SF_CONTROL_VERSION,
							    .type = SF_CONTROL_UPGRADE,
							    .length = sizeof(request)}};
	uint64_t last = 0;

	t_daemon_run(&daemon_now, LAYOUT, "");
	for (unsigned i = 0; i < TIMES; i++) {
		struct sf_client *client = t_open(daemon_now.socket, INT64_C(5000000000));
		struct sf_cursor *cursor = t_cursor(client);
		uint64_t id = t_next(cursor);
		int fd = t_connect(daemon_now.socket);

		ck_assert_uint_gt(id, last);
		last = id;
		ck_assert_int_eq((int)send(fd, &request, sizeof(request), 0), (int)sizeof(request));
		t_nap_ms(i);
		t_daemon_stop(&daemon_now);
		(void)close(fd);
		sf_cursor_close(cursor);
		sf_close(client);
		t_daemon_start(&daemon_now);
	}
	t_daemon_stop(&daemon_now);
}
END_TEST

/* A process names itself as it likes, also like a line of what is handed over. */
START_TEST(upgrade_is_not_misled_by_the_name_of_a_client)
{
	struct sf_client *client;

	t_daemon_run(&daemon_now, LAYOUT, "");
	ck_assert_int_eq(prctl(PR_SET_NAME, "x\n5 @previous"), 0);
	client = t_open(daemon_now.socket, INT64_C(5000000000));
	upgrade_to_itself();
	ck_assert(strstr(t_daemon_said(&daemon_now), "cannot be read") == NULL);
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_clients), 1);
	sf_close(client);
	t_daemon_stop(&daemon_now);
}
END_TEST

START_TEST(upgrade_to_what_would_not_start_is_refused)
{
	t_daemon_run(&daemon_now, LAYOUT, "");
	assert_refused("/no/such/sfd", -ENOENT, "No such file");
	assert_refused("relative/sfd", -EINVAL, "absolute path");
	assert_refused("/bin/true", -ENOEXEC, "is no sfd");
	assert_refused(script("refuses", "echo it has no time; exit 1\n"), -ENOEXEC,
		       "it has no time");
	assert_refused(script("dies", "kill -9 $$\n"), -ENOEXEC, "ended by signal 9");
	ck_assert(t_daemon_lives(&daemon_now));
	upgrade_to_itself();
	t_daemon_stop(&daemon_now);
}
END_TEST

/* It passes the check, and then cannot be executed: sfd had let go of its beat by then. */
START_TEST(upgrade_to_what_cannot_be_executed_leaves_sfd_as_it_was)
{
	struct t_load *load;

	t_daemon_run(&daemon_now, LAYOUT, "");
	load = t_load_start(&daemon_now, CLIENTS);
	/* removes itself while it is asked */
	assert_refused(script("once", "rm -f \"$0\"; echo the configuration is valid\n"), -ENOEXEC,
		       "No such file");
	upgrade_to_itself();
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_clients) == CLIENTS, 10000);
	t_load_stop(load);
	t_daemon_stop(&daemon_now);
}
END_TEST

/* The next sfd has a configuration that is valid, but another sfd has the machine id of its new
 * stream: it cannot start, and the one before takes its place again. */
START_TEST(upgrade_to_an_sfd_that_cannot_start_returns_to_the_one_before)
{
	struct t_daemon other;
	struct t_load *load;
	char lines[512];
	char text[240];
	int status;

	t_daemon_run(&daemon_now, LAYOUT, "");
	t_daemon_init(&other, 1);
	t_daemon_configure(&other, LAYOUT, "");
	t_daemon_start(&other);
	load = t_load_start(&daemon_now, CLIENTS);
	(void)snprintf(lines, sizeof(lines), "[stream taken]\nlayout = %s\nmachine_id = %u\n",
		       LAYOUT, other.machine_id);
	t_daemon_configure(&daemon_now, LAYOUT, lines);
	status = upgrade("", text, NULL);
	ck_assert_int_eq(status, -ENOEXEC);
	ck_assert_msg(strstr(text, "could not start") != NULL, "%s", text);
	t_daemon_assert_said(&daemon_now, "in use on this host");
	t_daemon_configure(&daemon_now, LAYOUT, "");
	upgrade_to_itself();
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_clients) == CLIENTS, 10000);
	t_load_stop(load);
	t_daemon_stop(&other);
	t_daemon_stop(&daemon_now);
}
END_TEST

/* In other directories the next sfd would find neither marks nor records. */
START_TEST(upgrade_with_other_directories_returns_to_the_one_before)
{
	struct t_daemon moved;
	struct t_load *load;
	char text[240];

	t_daemon_run(&daemon_now, LAYOUT, "");
	load = t_load_start(&daemon_now, CLIENTS);
	moved = daemon_now;
	(void)snprintf(moved.runtime_dir, sizeof(moved.runtime_dir), "%s/other-run",
		       daemon_now.directory);
	(void)snprintf(moved.state_dir, sizeof(moved.state_dir), "%s/other-state",
		       daemon_now.directory);
	t_daemon_configure(&moved, LAYOUT, "");
	ck_assert_int_eq(upgrade("", text, NULL), -ENOEXEC);
	t_daemon_assert_said(&daemon_now, "runtime_dir");
	t_daemon_configure(&daemon_now, LAYOUT, "");
	upgrade_to_itself();
	t_load_stop(load);
	t_daemon_stop(&daemon_now);
}
END_TEST

/* What no sfd could open anew would end the next one, and this one when it returns. */
START_TEST(upgrade_without_a_readable_mark_is_refused)
{
	static const char nothing[8192];
	const char *path;
	int fd;

	t_daemon_run(&daemon_now, LAYOUT, "");
	path = t_path(daemon_now.state_dir, "default.mark");
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, nothing, sizeof(nothing)), (ssize_t)sizeof(nothing));
	ck_assert_int_eq(close(fd), 0);
	assert_refused("", -EUCLEAN, "default.mark");
	ck_assert(t_daemon_lives(&daemon_now));
	t_daemon_stop(&daemon_now); /* which mends the file */
	t_daemon_start(&daemon_now);
	upgrade_to_itself();
	t_daemon_stop(&daemon_now);
}
END_TEST

static int as_nobody(void *argument)
{
	char text[240];

	(void)argument;
	t_become(65534);
	T_CHECK(upgrade("", text, NULL) == -EPERM);
	T_CHECK(strstr(text, "may not upgrade sfd") != NULL);
	return 0;
}

START_TEST(upgrade_by_another_user_is_refused)
{
	if (!t_has_root(__func__))
		return;
	t_daemon_run(&daemon_now, LAYOUT, "allow = *\n");
	ck_assert_int_eq(t_reap(t_child(as_nobody, NULL)), 0);
	t_daemon_stop(&daemon_now);
}
END_TEST

/* A signal to stop that comes while the next program is asked wins. */
START_TEST(sigterm_during_an_upgrade_stops_cleanly)
{
	struct sf_control_upgrade request = {.head = {.magic = SF_CONTROL_MAGIC,
						      .version = SF_CONTROL_VERSION,
						      .type = SF_CONTROL_UPGRADE,
						      .length = sizeof(request)}};
	int fd;

	t_daemon_run(&daemon_now, LAYOUT, "");
	(void)snprintf(request.path, sizeof(request.path), "%s", script("slow", "exec sleep 5\n"));
	fd = t_connect(daemon_now.socket);
	ck_assert_int_eq(send(fd, &request, sizeof(request), 0), (ssize_t)sizeof(request));
	t_nap_ms(100);
	t_daemon_stop(&daemon_now);
	(void)close(fd);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		upgrade_under_load_is_not_noticed_and_counts_go_on,
		upgrade_loses_no_count_of_ids,
		upgrade_keeps_idle_clients_and_their_connections,
		upgrade_tells_an_idle_client_that_does_not_wait_to_try_again,
		stop_at_any_moment_of_an_upgrade_is_clean,
		upgrade_is_not_misled_by_the_name_of_a_client,
		upgrade_to_what_would_not_start_is_refused,
		upgrade_to_what_cannot_be_executed_leaves_sfd_as_it_was,
		upgrade_to_an_sfd_that_cannot_start_returns_to_the_one_before,
		upgrade_with_other_directories_returns_to_the_one_before,
		upgrade_without_a_readable_mark_is_refused,
		upgrade_by_another_user_is_refused,
		sigterm_during_an_upgrade_stops_cleanly,
	};
	const struct t_program program = {.name = "upgrade",
					  .machine_id = 704,
					  .timeout_seconds = 120,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
