/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * See process.h.
 */
#include "tests/support/process.h"

#include "tests/support/daemon.h"
#include "tests/support/e2e.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROLE_ARGUMENTS_MAX 8

void t_become(uid_t id)
{
	const gid_t group = id;

	T_CHECK(setgroups(1, &group) == 0);
	T_CHECK(setresgid(id, id, id) == 0);
	T_CHECK(setresuid(id, id, id) == 0);
}

bool t_has_root(const char *test)
{
	if (geteuid() == 0)
		return true;
	t_skip(test, "needs root to become another user");
	return false;
}

static pid_t fork_bound(void)
{
	pid_t pid = fork();

	T_CHECK(pid >= 0);
	if (pid == 0)
		(void)prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL);
	return pid;
}

pid_t t_child(int (*run)(void *argument), void *argument)
{
	pid_t pid;

	(void)fflush(NULL);
	pid = fork_bound();
	if (pid == 0)
		_exit(run(argument));
	return pid;
}

int t_reap(pid_t pid)
{
	int status;
	pid_t reaped;

	do
		reaped = waitpid(pid, &status, 0);
	while (reaped < 0 && errno == EINTR);
	T_CHECK(reaped == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

pid_t t_spawn_role(const char *const *arguments)
{
	const char *all[ROLE_ARGUMENTS_MAX + 2] = {"/proc/self/exe"};
	pid_t pid;

	for (int i = 0; arguments[i]; i++) {
		T_CHECK(i < ROLE_ARGUMENTS_MAX);
		all[i + 1] = arguments[i];
	}
	(void)fflush(NULL);
	pid = fork_bound();
	if (pid == 0) {
		(void)execv(all[0], (char *const *)all);
		_exit(T_CHECK_FAILED);
	}
	return pid;
}

void *t_shared(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	T_CHECK(memory != MAP_FAILED);
	return memory;
}

void t_log(void *data, int level, const char *message)
{
	(void)data;
	if (level <= SF_LOG_WARNING)
		(void)fprintf(stderr, "client <%d>: %s\n", level, message);
}

struct sf_client *t_open(const char *socket, int64_t timeout_ns)
{
	struct sf_options options = {.size = sizeof(options),
				     .timeout_ns = timeout_ns,
				     .socket = socket,
				     .stream = "default",
				     .log = t_log};
	struct sf_client *client = NULL;

	T_CHECK(sf_open(&options, &client) == 0);
	return client;
}

static void note_message(void *data, int level, const char *message)
{
	char *said = data;
	size_t length = strlen(said);

	(void)level;
	(void)snprintf(said + length, T_SAID_BYTES - length, "%s\n", message);
}

int t_try_open(const char *socket, const char *stream, struct sf_client **ret_client, char *said)
{
	struct sf_options options = {.size = sizeof(options),
				     .socket = socket,
				     .stream = stream,
				     .log = note_message,
				     .log_data = said};

	said[0] = '\0';
	return sf_open(&options, ret_client);
}

struct sf_cursor *t_cursor(struct sf_client *client)
{
	struct sf_cursor *cursor = NULL;

	T_CHECK(sf_cursor_open(client, &cursor) == 0);
	return cursor;
}

uint64_t t_next(struct sf_cursor *cursor)
{
	uint64_t id = 0;

	T_CHECK(sf_next(cursor, &id) == 0);
	return id;
}

uint64_t t_take_one(const char *socket)
{
	struct sf_client *client = t_open(socket, 0);
	struct sf_cursor *cursor = t_cursor(client);
	uint64_t id = t_next(cursor);

	sf_cursor_close(cursor);
	sf_close(client);
	return id;
}

uint64_t t_tick(const struct sf_layout *layout, uint64_t id)
{
	struct sf_parts parts;

	T_CHECK(sf_decompose(layout, id, &parts, NULL) == 0);
	return parts.tick;
}

static bool has_range(const struct sf_cursor *cursor, uint64_t left)
{
	return cursor->shared_beat && (cursor->end - cursor->next) / cursor->step >= left;
}

uint64_t t_warm(struct sf_cursor *cursor, uint64_t left)
{
	int64_t deadline_ns = t_mono_ns() + INT64_C(20000000000);
	uint64_t first_beat = 0;

	/* Not in the first tick that has such a range, but in the next: that one has just begun. */
	for (;;) {
		uint64_t id = t_next(cursor);

		if (has_range(cursor, left)) {
			if (first_beat == 0)
				first_beat = cursor->beat;
			else if (cursor->beat != first_beat)
				return id;
		}
		T_CHECK(t_mono_ns() < deadline_ns); /* else sfd does not beat */
	}
}
