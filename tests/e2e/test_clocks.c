/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A real sfd under a wall clock that steps while it runs, or is wrong when it starts: years behind,
 * before the layout's epoch, past its end, not synchronised. Clients live on the true monotonic
 * clock.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/process.h"
#include "tests/support/wall.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

/* It ends in 2089. */
#define LAYOUT "t41 n10 s12 epoch=1577836800000"
#define SECOND INT64_C(1000000000)
#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)

static struct t_daemon daemon_now;
static struct sf_client *client;
static struct sf_cursor *cursor;
static uint64_t last;

static const char *const policies[] = {"slew", "wait", "refuse", "ahead"};
enum policy {
	SLEW,
	WAIT,
	REFUSE,
	AHEAD,
	POLICIES
};

static void configure(enum policy policy)
{
	char further[96];

	(void)snprintf(further, sizeof(further), "clock_backward = %s\nrunway_ms = 400\n",
		       policies[policy]);
	t_daemon_init(&daemon_now, 0);
	t_daemon_configure(&daemon_now, LAYOUT, further);
	t_wall_init(&daemon_now);
	last = 0;
}

static void open_client(void)
{
	client = t_open(daemon_now.socket, 5 * SECOND);
	cursor = t_cursor(client);
}

static void close_client(void)
{
	sf_cursor_close(cursor);
	sf_close(client);
}

/** IDs in both ways, each above all before. */
static void take(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint64_t id = 0;
		int error = i % 2 ? sf_next_ordered(cursor, &id) : sf_next(cursor, &id);

		ck_assert_msg(error == 0, "no ID: %s", sf_strerror(error));
		ck_assert_msg(id > last, "%llu is not above %llu", (unsigned long long)id,
			      (unsigned long long)last);
		last = id;
	}
}

static void end(void)
{
	close_client();
	t_daemon_stop(&daemon_now);
}

/** What a boot leaves. */
static void lose_the_runtime_directory(void)
{
	t_remove_tree(daemon_now.runtime_dir);
}

/* The runtime directory is gone and the clock went back an hour: the durable mark alone is left. */
static void reboot(enum policy policy, bool is_crash)
{
	uint64_t id = 0;

	configure(policy);
	t_daemon_start(&daemon_now);
	open_client();
	take(20000);
	close_client();
	if (is_crash)
		t_daemon_kill(&daemon_now);
	else
		t_daemon_stop(&daemon_now);
	lose_the_runtime_directory();
	t_wall_step(-HOUR);
	t_daemon_start(&daemon_now);
	open_client();
	if (policy == WAIT || policy == REFUSE) {
		ck_assert_int_eq(sf_cursor_set_wait(cursor, SF_WAIT_NONE, 1), 0);
		ck_assert_int_eq(sf_next(cursor, &id), policy == WAIT ? -EAGAIN : -ETIME);
		t_wall_step(HOUR + 60 * SECOND);
		T_WAIT_UNTIL(sf_next(cursor, &id) == 0, 5000);
		ck_assert_uint_gt(id, last);
		last = id;
		ck_assert_int_eq(sf_cursor_set_wait(cursor, SF_WAIT_SLEEP, 5 * SECOND), 0);
	}
	take(20000);
	end();
}

START_TEST(reboot_with_a_clock_an_hour_back_starts_above_the_last_id)
{
	for (int policy = 0; policy < POLICIES; policy++) {
		reboot((enum policy)policy, false);
		reboot((enum policy)policy, true);
	}
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		reboot_with_a_clock_an_hour_back_starts_above_the_last_id,
	};
	const struct t_program program = {.name = "clocks",
					  .machine_id = 256,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
