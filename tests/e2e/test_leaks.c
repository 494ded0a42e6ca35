/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What comes and goes leaves nothing behind: after thousands of attachments, threads, restarts and
 * upgrades the descriptors, mappings and memory of sfd and of a client are what they were.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/process.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAYOUT "t41 n10 s12 epoch=1577836800000"
/* What the sanitizers keep of freed memory says nothing, and they are slow. */
#define SANITIZED (T_ASAN || T_TSAN)
#define CYCLES (SANITIZED ? 1000 : 10000)
/* Cycles until everything that is kept for good has been made. */
#define WARM_UP 200
#define UPGRADES (SANITIZED ? 50 : 1000)
#define UPGRADES_BEFORE 10
/* Anonymous memory may differ by this; ten thousand times the least that malloc() gives is more. */
#define SLACK_KB 128

static struct t_daemon daemon_now;

/** What a process holds. */
struct held {
	unsigned descriptors;
	unsigned mappings;
	unsigned long anonymous_kb;
};

/** A sanitizer maps what it likes: then only the rings count. */
static unsigned count_mappings(pid_t pid)
{
	char path[32];
	char line[512];
	unsigned count = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	T_CHECK(file != NULL);
	while (fgets(line, sizeof(line), file))
		count += !SANITIZED || strstr(line, "memfd:sfd:") != NULL;
	(void)fclose(file);
	return count;
}

/** Exact, unlike what /proc/PID/status adds up for each CPU. */
static unsigned long read_anonymous_kb(pid_t pid)
{
	char path[40];
	char line[256];
	unsigned long kb = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	file = fopen(path, "re");
	T_CHECK(file != NULL);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, "Anonymous:", 10) == 0)
			kb = strtoul(line + 10, NULL, 10);
	(void)fclose(file);
	T_CHECK(kb != 0);
	return kb;
}

/** Without the connection that asked for the counters, which closes a moment later. */
static unsigned count_descriptors(pid_t pid)
{
	unsigned least = t_count_descriptors(pid);

	for (unsigned i = 0; i < 25; i++) {
		unsigned now;

		t_nap_ms(2);
		now = t_count_descriptors(pid);
		least = now < least ? now : least;
	}
	return least;
}

static struct held look_at(pid_t pid)
{
	return (struct held){.descriptors = count_descriptors(pid),
			     .mappings = count_mappings(pid),
			     .anonymous_kb = read_anonymous_kb(pid)};
}

/** sfd closes what a client left as soon as it hears of it. */
static void wait_for_clients(uint64_t count)
{
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_clients) == count, 10000);
}

static void assert_same(const char *who, const struct held *before, pid_t pid)
{
	struct held after = look_at(pid);

	(void)printf("%s: %u to %u descriptors, %u to %u mappings, %lu to %lu KiB\n", who,
		     before->descriptors, after.descriptors, before->mappings, after.mappings,
		     before->anonymous_kb, after.anonymous_kb);
	ck_assert_uint_le(after.descriptors, before->descriptors);
	ck_assert_uint_le(after.mappings, before->mappings);
	if (!SANITIZED)
		ck_assert_uint_le(after.anonymous_kb, before->anonymous_kb + SLACK_KB);
}

/** Attaches, takes IDs, and lets go in either order. */
static void attach_and_detach(unsigned number)
{
	struct sf_client *client = t_open(daemon_now.socket, 0);
	struct sf_cursor *one = t_cursor(client);
	struct sf_cursor *other = t_cursor(client);

	ck_assert_uint_ne(t_next(one), t_next(other));
	sf_cursor_close(one);
	if (number % 2)
		sf_close(client);
	sf_cursor_close(other);
	if (number % 2 == 0)
		sf_close(client);
}

START_TEST(ten_thousand_attachments_leave_nothing)
{
	struct held client;
	struct held sfd;
	size_t allocated = 0;

	t_daemon_run(&daemon_now, LAYOUT, "");
	for (unsigned i = 0; i < WARM_UP + CYCLES; i++) {
		if (i == WARM_UP) {
			wait_for_clients(0);
			sfd = look_at(daemon_now.pid);
			client = look_at(getpid());
			allocated = mallinfo2().uordblks;
		}
		attach_and_detach(i);
	}
	/* Not a byte. */
	ck_assert_uint_eq(mallinfo2().uordblks, allocated);
	wait_for_clients(0);
	assert_same("client", &client, getpid());
	assert_same("sfd", &sfd, daemon_now.pid);
	t_daemon_stop(&daemon_now);
}
END_TEST

static void *take_one(void *argument)
{
	uint64_t id;

	(void)argument;
	T_CHECK(sf_id(&id) == 0);
	return NULL;
}

START_TEST(threads_that_end_leave_nothing_of_sf_id)
{
	struct held client;

	t_daemon_run(&daemon_now, LAYOUT, "");
	ck_assert_int_eq(setenv("SFD_SOCKET", daemon_now.socket, 1), 0);
	for (unsigned i = 0; i < WARM_UP + CYCLES; i++) {
		pthread_t thread;

		if (i == WARM_UP)
			client = look_at(getpid());
		ck_assert_int_eq(pthread_create(&thread, NULL, take_one, NULL), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
	}
	assert_same("client", &client, getpid());
	t_daemon_stop(&daemon_now);
}
END_TEST

/* ---- a client that lives on ---- */

/** Takes IDs until the client has moved to the ring of now and let the old ones go. */
static bool has_moved(struct sf_cursor *cursor, const struct held *before)
{
	(void)t_next(cursor);
	return count_mappings(getpid()) <= before->mappings &&
	       t_count_descriptors(getpid()) <= before->descriptors &&
	       t_daemon_counter(&daemon_now, SF_COUNTER_clients) == 1;
}

START_TEST(restarts_leave_nothing_in_a_client)
{
	enum {
		RESTARTS = 20
	};
	struct sf_client *client;
	struct sf_cursor *cursor;
	struct held before = {0};

	t_daemon_run(&daemon_now, LAYOUT, "runway_ms = 100\n");
	client = t_open(daemon_now.socket, 0);
	cursor = t_cursor(client);
	(void)t_next(cursor);
	for (unsigned i = 0; i < RESTARTS; i++) {
		if (i == 2) /* not the first: by then everything has been made once */
			before = look_at(getpid());
		if (i % 2)
			t_daemon_stop(&daemon_now);
		else
			t_daemon_kill(&daemon_now);
		t_daemon_start(&daemon_now);
		if (i >= 2)
			T_WAIT_UNTIL(has_moved(cursor, &before), 10000);
		else
			T_WAIT_UNTIL(t_next(cursor) &&
					     t_daemon_counter(&daemon_now, SF_COUNTER_clients) == 1,
				     10000);
	}
	assert_same("client", &before, getpid());
	sf_cursor_close(cursor);
	sf_close(client);
	t_daemon_stop(&daemon_now);
}
END_TEST

/** sfd becomes the program it is, once more. */
static void upgrade(void)
{
	struct sf_control_upgrade request = {.head = {.magic = SF_CONTROL_MAGIC,
						      .version = SF_CONTROL_VERSION,
						      .type = SF_CONTROL_UPGRADE,
						      .length = sizeof(request)}};
	struct sf_control_upgraded reply = {0};
	int fd = t_connect(daemon_now.socket);

	ck_assert_uint_eq(t_exchange(fd, &request, sizeof(request), &reply, sizeof(reply)),
			  sizeof(reply));
	ck_assert_int_eq(reply.head.status, 0);
	ck_assert_uint_eq(reply.pid, (uint32_t)daemon_now.pid);
	(void)close(fd);
}

START_TEST(upgrades_leave_nothing)
{
	struct sf_client *client;
	struct sf_cursor *cursor;
	struct held before = {0};
	struct held sfd = {0};
	uint64_t last = 0;

	t_daemon_run(&daemon_now, LAYOUT, "");
	client = t_open(daemon_now.socket, 0);
	cursor = t_cursor(client);
	for (unsigned i = 0; i < UPGRADES_BEFORE + UPGRADES; i++) {
		uint64_t id = 0;
		int64_t began_ns = t_mono_ns();
		int error = sf_next(cursor, &id);

		ck_assert_msg(error == 0, "upgrade %u: after %lld ms: %s", i,
			      (long long)(t_mono_ns() - began_ns) / 1000000, sf_strerror(error));
		ck_assert_uint_gt(id, last);
		last = id;
		if (i == UPGRADES_BEFORE) {
			wait_for_clients(1);
			before = look_at(getpid());
			sfd = look_at(daemon_now.pid);
		}
		upgrade();
	}
	/* It goes from ring to ring at its calls. */
	T_WAIT_UNTIL(has_moved(cursor, &before), 10000);
	assert_same("client", &before, getpid());
	assert_same("sfd", &sfd, daemon_now.pid);
	ck_assert(t_daemon_lives(&daemon_now));
	sf_cursor_close(cursor);
	sf_close(client);
	t_daemon_stop(&daemon_now);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		ten_thousand_attachments_leave_nothing,
		threads_that_end_leave_nothing_of_sf_id,
		restarts_leave_nothing_in_a_client,
		upgrades_leave_nothing,
	};
	const struct t_program program = {.name = "leaks",
					  .machine_id = 352,
					  .timeout_seconds = 600,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
