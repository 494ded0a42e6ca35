/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Fork in all its forms: whoever comes out of it takes IDs of its own, and the parent goes on with
 * its range. A tick lasts 100 ms, so that a range in hand at the fork is one that a copy of it
 * would really use.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/ids.h"
#include "tests/support/process.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAYOUT "t36 n8 s19 tick=100ms epoch=1577836800000"
#define CHILDREN 8
#define DRAWS ((size_t)5000)
#define LEFT 500
#define FC_02_CHILDREN ((size_t)1000)
#define STACK_BYTES 65536

extern char **environ;

static struct t_daemon daemon_now;
static struct sf_client *client;
static struct sf_cursor *cursor;
static struct t_ids *ids;

static void set_up(size_t capacity)
{
	t_daemon_run(&daemon_now, LAYOUT, "");
	client = t_open(daemon_now.socket, 0);
	cursor = t_cursor(client);
	ids = t_ids_new(capacity);
}

static void tear_down(void)
{
	sf_cursor_close(cursor);
	sf_close(client);
	t_daemon_stop(&daemon_now);
}

/* Only what a child between vfork and exec may do: calls of the library, and stores. */
static int draw(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t id;

		if (sf_next(cursor, &id) < 0 || !t_ids_add(ids, &id, 1))
			return 1;
	}
	return 0;
}

static int draw_as_child(void *argument)
{
	(void)argument;
	return draw(DRAWS);
}

/** A range in hand, the first ID of which is collected. */
static uint64_t take_range(void)
{
	uint64_t id = t_warm(cursor, LEFT);

	ck_assert(t_ids_add(ids, &id, 1));
	return id;
}

/** The parent went on with the range it had: unless the tick has ended meanwhile. */
static void draw_and_compare(uint64_t before)
{
	uint64_t id = t_next(cursor);
	const struct sf_layout *layout = sf_client_layout(client);

	if (t_tick(layout, id) == t_tick(layout, before))
		ck_assert_uint_eq(id, before + cursor->step);
	ck_assert_uint_gt(id, before);
	ck_assert(t_ids_add(ids, &id, 1));
	ck_assert_int_eq(draw(DRAWS - 1), 0);
}

static void reap_all(const pid_t *pid, int count)
{
	for (int i = 0; i < count; i++)
		ck_assert_int_eq(t_reap(pid[i]), 0);
}

START_TEST(fork_with_a_range_in_hand_shares_no_id_fc_01)
{
	pid_t pid[CHILDREN];
	uint64_t before;

	set_up(DRAWS * (CHILDREN + 1) + 1);
	before = take_range();
	for (int i = 0; i < CHILDREN; i++)
		pid[i] = t_child(draw_as_child, NULL);
	draw_and_compare(before);
	reap_all(pid, CHILDREN);
	t_ids_check(ids, 45001);
	tear_down();
}
END_TEST

static int draw_one(void *argument)
{
	(void)argument;
	return draw(1);
}

START_TEST(fork_of_1000_children_that_take_one_id_each_shares_none_fc_02)
{
	enum {
		BATCH = 125
	};
	pid_t pid[BATCH];
	size_t ranges = 0;

	set_up(FC_02_CHILDREN * 2);
	for (size_t done = 0; done < FC_02_CHILDREN; done += BATCH) {
		(void)take_range();
		ranges++;
		for (int i = 0; i < BATCH; i++)
			pid[i] = t_child(draw_one, NULL);
		reap_all(pid, BATCH);
	}
	t_ids_check(ids, FC_02_CHILDREN + ranges);
	tear_down();
}
END_TEST

static int draw_and_fork(void *argument)
{
	int *depth = argument;
	uint64_t id;
	pid_t pid;
	int status;

	if (draw(DRAWS / 2) != 0)
		return 1;
	if ((*depth)-- == 0)
		return 0;
	/* With a range of its own in hand. */
	id = t_warm(cursor, LEFT);
	T_CHECK(t_ids_add(ids, &id, 1));
	pid = fork();
	if (pid == 0)
		_exit(draw_and_fork(depth));
	if (draw(DRAWS / 2) != 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

START_TEST(fork_of_a_forked_child_shares_no_id)
{
	int depth = 3;
	uint64_t before;
	pid_t pid;

	set_up(10 * DRAWS);
	before = take_range();
	pid = t_child(draw_and_fork, &depth);
	draw_and_compare(before);
	ck_assert_int_eq(t_reap(pid), 0);
	/* Four generations below us: the last draws one half, the others two and a warm ID. */
	t_ids_check(ids, 1 + DRAWS + 3 * (DRAWS + 1) + DRAWS / 2);
	tear_down();
}
END_TEST

START_TEST(vfork_child_and_parent_share_no_id)
{
	uint64_t before;

	set_up(DRAWS * (CHILDREN + 1) + 1);
	before = take_range();
	for (int i = 0; i < CHILDREN; i++) {
		/* The very call that is under test. NOLINTNEXTLINE(clang-analyzer-security*) */
		pid_t pid = vfork();

		if (pid == 0)
			_exit(draw(DRAWS)); /* NOLINT(clang-analyzer-unix.Vfork) */
		ck_assert_int_eq(t_reap(pid), 0);
	}
	/* The child drew with the parent's own memory: only larger IDs are left. */
	ck_assert_uint_gt(t_next(cursor), before);
	ck_assert_int_eq(draw(DRAWS), 0);
	t_ids_check(ids, 45001);
	tear_down();
}
END_TEST

START_TEST(clone_without_shared_memory_shares_no_id)
{
	pid_t pid[CHILDREN];
	uint64_t before;

	if (T_TSAN) {
		t_skip(__func__, "the thread sanitizer does not see a raw clone");
		return;
	}
	set_up(DRAWS * (CHILDREN + 1) + 1);
	before = take_range();
	for (int i = 0; i < CHILDREN; i++) {
		pid[i] = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
		ck_assert_int_ge(pid[i], 0);
		if (pid[i] == 0)
			_exit(draw(DRAWS));
	}
	draw_and_compare(before);
	reap_all(pid, CHILDREN);
	t_ids_check(ids, 45001);
	tear_down();
}
END_TEST

START_TEST(clone_with_shared_memory_and_vfork_shares_no_id)
{
	static char stack[STACK_BYTES] __attribute__((aligned(16)));

	if (T_TSAN || T_ASAN) {
		t_skip(__func__, "a sanitizer does not know the child's stack");
		return;
	}
	set_up(DRAWS * (CHILDREN + 1) + 1);
	(void)take_range();
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = clone(draw_as_child, stack + sizeof(stack),
				  CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);

		ck_assert_int_ge(pid, 0);
		ck_assert_int_eq(t_reap(pid), 0);
	}
	ck_assert_int_eq(draw(DRAWS), 0);
	t_ids_check(ids, 45001);
	tear_down();
}
END_TEST

START_TEST(posix_spawn_children_share_no_id_with_the_parent_fc_01)
{
	char fd_text[16];
	char socket_text[128];
	const char *arguments[] = {"/proc/self/exe", "draw", socket_text, fd_text, NULL};
	pid_t pid[CHILDREN];
	uint64_t before;
	int fd;

	set_up(1);
	ids = t_ids_new_fd(DRAWS * (CHILDREN + 1) + 1, &fd);
	(void)snprintf(fd_text, sizeof(fd_text), "%d", fd);
	(void)snprintf(socket_text, sizeof(socket_text), "%s", daemon_now.socket);
	before = take_range();
	for (int i = 0; i < CHILDREN; i++)
		ck_assert_int_eq(posix_spawn(&pid[i], arguments[0], NULL, NULL,
					     (char *const *)arguments, environ),
				 0);
	draw_and_compare(before);
	reap_all(pid, CHILDREN);
	t_ids_check(ids, 45001);
	tear_down();
}
END_TEST

/* ---- threads ---- */

static _Atomic int threads_stop;

static void *draw_in_thread(void *argument)
{
	struct sf_cursor *own = t_cursor(client);

	(void)argument;
	/* relaxed: only ends the loop */
	while (!atomic_load_explicit(&threads_stop, memory_order_relaxed)) {
		for (int i = 0; i < 1000; i++) {
			uint64_t id = t_next(own);

			T_CHECK(t_ids_add(ids, &id, 1));
		}
		t_nap_ms(1);
	}
	sf_cursor_close(own);
	return NULL;
}

START_TEST(fork_of_a_process_with_threads_shares_no_id_fc_01)
{
	enum {
		THREADS = 3,
		ROOM = 8000000
	};
	pthread_t thread[THREADS];
	pid_t pid[CHILDREN];
	uint64_t before;
	size_t count;

	set_up(ROOM);
	before = take_range();
	atomic_store_explicit(&threads_stop, 0, memory_order_relaxed);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, draw_in_thread, NULL), 0);
	for (int i = 0; i < CHILDREN; i++)
		pid[i] = t_child(draw_as_child, NULL);
	draw_and_compare(before);
	reap_all(pid, CHILDREN);
	atomic_store_explicit(&threads_stop, 1, memory_order_relaxed);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
	count = atomic_load_explicit(&ids->count, memory_order_relaxed);
	ck_assert_uint_ge(count, 45001);
	t_ids_check(ids, count);
	tear_down();
}
END_TEST

/* ---- the default client ---- */

static int draw_default(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t id;

		if (sf_id(&id) < 0 || !t_ids_add(ids, &id, 1))
			return 1;
	}
	return 0;
}

static int draw_default_as_child(void *argument)
{
	(void)argument;
	return draw_default(DRAWS);
}

static void *draw_default_in_thread(void *argument)
{
	int *result = argument;

	*result = draw_default(DRAWS);
	return NULL;
}

static int fork_default(void *argument)
{
	pid_t pid[CHILDREN];

	(void)argument;
	/* Warm, with a range in hand, and then a fork inside. */
	if (draw_default(20 * DRAWS) != 0)
		return 1;
	for (int i = 0; i < CHILDREN; i++) {
		pid[i] = fork();
		if (pid[i] == 0)
			_exit(draw_default(DRAWS));
	}
	if (draw_default(DRAWS) != 0)
		return 1;
	for (int i = 0; i < CHILDREN; i++)
		if (t_reap(pid[i]) != 0)
			return 1;
	return 0;
}

START_TEST(fork_of_a_process_that_uses_sf_id_shares_no_id)
{
	set_up(50 * DRAWS);
	ck_assert_int_eq(setenv("SFD_SOCKET", daemon_now.socket, 1), 0);
	ck_assert_int_eq(t_reap(t_child(fork_default, NULL)), 0);
	t_ids_check(ids, (20 + 1 + CHILDREN) * DRAWS);
	tear_down();
}
END_TEST

/* Forks while other threads are in the middle of their, and the process's, first call. */
static int fork_during_first_call(void *argument)
{
	enum {
		THREADS = 4
	};
	pthread_t thread[THREADS];
	int result[THREADS];
	int failed = 0;
	pid_t pid;

	(void)argument;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, draw_default_in_thread, &result[i]) != 0)
			return 1;
	pid = fork();
	if (pid == 0)
		_exit(draw_default_as_child(NULL));
	for (int i = 0; i < THREADS; i++) {
		(void)pthread_join(thread[i], NULL);
		failed |= result[i];
	}
	return failed | t_reap(pid);
}

START_TEST(fork_during_the_first_call_of_sf_id_harms_neither_side)
{
	enum {
		ROUNDS = 20,
		TAKERS = 5
	};

	set_up(TAKERS * DRAWS);
	ck_assert_int_eq(setenv("SFD_SOCKET", daemon_now.socket, 1), 0);
	for (int i = 0; i < ROUNDS; i++) {
		ck_assert_int_eq(t_reap(t_child(fork_during_first_call, NULL)), 0);
		t_ids_check(ids, TAKERS * DRAWS);
	}
	tear_down();
}
END_TEST

static int role(int argc, char **argv)
{
	if (argc != 4)
		return T_CHECK_FAILED;
	ids = t_ids_open_fd((int)strtol(argv[3], NULL, 10));
	if (!ids)
		return T_CHECK_FAILED;
	client = t_open(argv[2], 0);
	cursor = t_cursor(client);
	return draw(DRAWS);
}

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		fork_with_a_range_in_hand_shares_no_id_fc_01,
		fork_of_1000_children_that_take_one_id_each_shares_none_fc_02,
		fork_of_a_forked_child_shares_no_id,
		vfork_child_and_parent_share_no_id,
		clone_without_shared_memory_shares_no_id,
		clone_with_shared_memory_and_vfork_shares_no_id,
		posix_spawn_children_share_no_id_with_the_parent_fc_01,
		fork_of_a_process_with_threads_shares_no_id_fc_01,
		fork_of_a_process_that_uses_sf_id_shares_no_id,
		fork_during_the_first_call_of_sf_id_harms_neither_side,
	};
	const struct t_program program = {.name = "fork",
					  .machine_id = 16,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0]),
					  .role = role};

	return t_main(argc, argv, &program);
}
