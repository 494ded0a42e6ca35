/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfd that reads its configuration anew, under load: what it takes over, what it refuses, and what
 * the log says of it.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/load.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define LAYOUT "t41 n10 s12 epoch=1577836800000"
#define CLIENTS 3

static struct t_daemon daemon_now;

static bool has_said(const char *part)
{
	return strstr(t_daemon_said(&daemon_now), part) != NULL;
}

static bool has_stream(const char *name)
{
	struct sf_control_request request = t_request(SF_CONTROL_STATS, name);
	union {
		struct sf_control_head head;
		uint8_t bytes[SF_CONTROL_MESSAGE_MAX];
	} reply;
	int fd = t_connect(daemon_now.socket);
	size_t length = t_exchange(fd, &request, sizeof(request), &reply, sizeof(reply));

	(void)close(fd);
	return length >= sizeof(reply.head) && reply.head.status == 0;
}

static unsigned count_said(const char *part)
{
	unsigned count = 0;

	for (const char *at = t_daemon_said(&daemon_now); (at = strstr(at, part)) != NULL; at++)
		count++;
	return count;
}

/** Reloads, and waits until that is done. */
static void reload(void)
{
	unsigned before = count_said("info: serving ");

	ck_assert_int_eq(kill(daemon_now.pid, SIGHUP), 0);
	T_WAIT_UNTIL(count_said("info: serving ") == before + 1, 10000);
}

START_TEST(hand_over_logs_what_has_changed_and_no_start)
{
	t_daemon_run(&daemon_now, LAYOUT, "");
	reload();
	t_daemon_assert_said(&daemon_now, "info: 1 stream taken over from sfd " SF_VERSION);
	t_daemon_configure(&daemon_now, LAYOUT, "[stream more]\nformat = ulid\n");
	reload();
	t_daemon_assert_said(&daemon_now, "info: reloaded: stream more added: format ulid\n");
	reload();
	t_daemon_assert_said(&daemon_now, "info: 2 streams taken over from sfd " SF_VERSION);
	t_daemon_configure(&daemon_now, LAYOUT, "");
	reload();
	t_daemon_assert_said(&daemon_now, "info: reloaded: stream more gone\n");
	ck_assert_uint_eq(count_said("stream default"), 1);
	ck_assert_uint_eq(count_said("reloaded: "), 2);
	ck_assert_uint_le(count_said("clock is"), 1);
	ck_assert_uint_le(count_said("running as"), 1);
	t_daemon_stop(&daemon_now);
	t_daemon_start(&daemon_now);
	ck_assert_uint_eq(count_said("stream default: machine id"), 2);
	t_daemon_stop(&daemon_now);
}
END_TEST

START_TEST(sighup_takes_over_streams_and_refuses_what_ids_are_made_of)
{
	struct t_load *load;

	t_daemon_run(&daemon_now, LAYOUT, "");
	load = t_load_start(&daemon_now, CLIENTS);
	t_daemon_configure(&daemon_now, LAYOUT, "[stream more]\nformat = ulid\n");
	ck_assert_int_eq(kill(daemon_now.pid, SIGHUP), 0);
	T_WAIT_UNTIL(has_stream("more"), 10000);
	/* another layout for the same machine id */
	t_daemon_configure(&daemon_now, "t41 n10 s12 epoch=1577836800001",
			   "[stream more]\nformat = ulid\n");
	ck_assert_int_eq(kill(daemon_now.pid, SIGHUP), 0);
	T_WAIT_UNTIL(has_said("the configuration was not reloaded: stream default"), 10000);
	/* and what is no configuration at all */
	t_daemon_configure(&daemon_now, LAYOUT, "no_such_key = 1\n");
	ck_assert_int_eq(kill(daemon_now.pid, SIGHUP), 0);
	T_WAIT_UNTIL(has_said("mend it, and send SIGHUP again"), 10000);
	t_daemon_configure(&daemon_now, LAYOUT, "");
	ck_assert_int_eq(kill(daemon_now.pid, SIGHUP), 0);
	T_WAIT_UNTIL(!has_stream("more"), 10000);
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_clients) == CLIENTS, 10000);
	t_load_stop(load);
	t_daemon_stop(&daemon_now);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		hand_over_logs_what_has_changed_and_no_start,
		sighup_takes_over_streams_and_refuses_what_ids_are_made_of,
	};
	const struct t_program program = {.name = "reloads",
					  .machine_id = 720,
					  .timeout_seconds = 120,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
