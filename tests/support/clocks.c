/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * See clocks.h.
 */
#include "tests/support/clocks.h"

#include "tests/support/e2e.h"
#include "tests/support/process.h"
#include "tests/support/wall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

struct t_daemon t_clocks_daemon;
struct sf_cursor *t_clocks_cursor;
uint64_t t_clocks_last;

static struct sf_client *client;
static char said[T_SAID_BYTES];

static const char *const policies[] = {"slew", "wait", "refuse", "ahead"};

void t_clocks_configure(enum t_policy policy)
{
	char further[96];

	(void)snprintf(further, sizeof(further), "clock_backward = %s\nrunway_ms = 400\n",
		       policies[policy]);
	t_daemon_init(&t_clocks_daemon, 0);
	t_daemon_configure(&t_clocks_daemon, T_CLOCKS_LAYOUT, further);
	t_wall_init(&t_clocks_daemon);
	t_clocks_last = 0;
}

void t_clocks_open(void)
{
	client = t_open(t_clocks_daemon.socket, 5 * T_SECOND);
	t_clocks_cursor = t_cursor(client);
}

void t_clocks_close(void)
{
	sf_cursor_close(t_clocks_cursor);
	sf_close(client);
}

void t_clocks_take(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint64_t id = 0;
		int error = i % 2 ? sf_next_ordered(t_clocks_cursor, &id)
				  : sf_next(t_clocks_cursor, &id);

		ck_assert_msg(error == 0, "no ID: %s", sf_strerror(error));
		ck_assert_msg(id > t_clocks_last, "%llu is not above %llu", (unsigned long long)id,
			      (unsigned long long)t_clocks_last);
		t_clocks_last = id;
	}
}

void t_clocks_end(void)
{
	t_clocks_close();
	t_daemon_stop(&t_clocks_daemon);
}

void t_clocks_step(int64_t ns)
{
	enum sf_counter counter =
		ns < 0 ? SF_COUNTER_clock_steps_back : SF_COUNTER_clock_steps_forward;
	uint64_t before = t_daemon_counter(&t_clocks_daemon, counter);

	t_wall_step(ns);
	T_WAIT_UNTIL(t_daemon_counter(&t_clocks_daemon, counter) == before + 1, 5000);
}

void t_clocks_assert_fresh(void)
{
	struct sf_layout layout;
	struct sf_parts parts;
	int64_t wall_ms = t_wall_now() / 1000000;

	ck_assert_int_eq(sf_layout_parse(T_CLOCKS_LAYOUT, &layout, NULL), 0);
	ck_assert_int_eq(sf_decompose(&layout, t_clocks_last, &parts, NULL), 0);
	ck_assert_int_le(parts.unix_ms, wall_ms + 1000);
	ck_assert_int_ge(parts.unix_ms, wall_ms - 10000);
}

int t_clocks_sfctl(const char *arguments)
{
	const char *path = getenv("SFCTL_BIN");
	char command[512];
	size_t length;
	FILE *pipe;
	int status;

	ck_assert_ptr_nonnull(path);
	(void)snprintf(command, sizeof(command), "SFD_SOCKET='%s' '%s' %s 2>&1",
		       t_clocks_daemon.socket, path, arguments);
	pipe = popen(command, "re");
	ck_assert_ptr_nonnull(pipe);
	length = fread(said, 1, sizeof(said) - 1, pipe);
	said[length] = '\0';
	status = pclose(pipe);
	ck_assert_msg(WIFEXITED(status), "%s", said);
	return WEXITSTATUS(status);
}

void t_clocks_assert_said(const char *text)
{
	ck_assert_msg(strstr(said, text) != NULL, "no \"%s\" in: %s", text, said);
}
