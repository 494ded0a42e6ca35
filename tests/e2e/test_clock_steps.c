/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A real sfd whose wall clock steps under load, that is stopped itself, and that has clients whose
 * monotonic clock is another one.
 */
#include "tests/support/clocks.h"
#include "tests/support/e2e.h"
#include "tests/support/ids.h"
#include "tests/support/process.h"
#include "tests/support/wall.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- steps while it runs ---- */

#define CLIENTS 3
#define IDS_MOST 4000000

/** What clients of a stream whose clock steps share with the test. */
struct crowd {
	_Atomic int stop;
	_Atomic uint64_t taken[CLIENTS];
	_Atomic uint64_t held_up; /* calls that got no ID because the wall is behind */
	struct t_ids *ids;
};
/** Which t_clocks_client a child becomes. */
static int next_client;

/** Takes IDs one by one and in batches, of which each must be above the t_clocks_last. */
static int run_client(void *argument)
{
	struct crowd *crowd = argument;
	int own = next_client;
	struct sf_client *mine = t_open(t_clocks_daemon.socket, T_SECOND);
	struct sf_cursor *at = t_cursor(mine);
	uint64_t id[256];
	uint64_t highest = 0;

	T_CHECK(sf_cursor_set_wait(at, SF_WAIT_NONE, 1) == 0);
	while (!atomic_load_explicit(&crowd->stop, memory_order_relaxed)) {
		size_t count = own == 0 ? 1 : own == 1 ? 64 : 256;
		int error = own == 0   ? sf_next(at, id)
			    : own == 1 ? sf_fill(at, id, count)
				       : sf_next_ordered(at, id);

		if (own == 2)
			count = 1;
		if (error < 0) {
			T_CHECK(error == -EAGAIN || error == -ETIME);
			atomic_fetch_add_explicit(&crowd->held_up, 1, memory_order_relaxed);
			t_nap_ms(1);
			continue;
		}
		for (size_t i = 0; i < count; i++) {
			T_CHECK(id[i] > highest);
			highest = id[i];
		}
		T_CHECK(t_ids_add(crowd->ids, id, count));
		/* relaxed: the test only wants to see it grow */
		if (atomic_fetch_add_explicit(&crowd->taken[own], count, memory_order_relaxed) %
			    64 <
		    count)
			t_nap_ms(1);
	}
	sf_cursor_close(at);
	sf_close(mine);
	return 0;
}

static uint64_t taken(const struct crowd *crowd, int i)
{
	return atomic_load_explicit(&crowd->taken[i], memory_order_relaxed);
}

static void assert_all_go_on(const struct crowd *crowd)
{
	for (int i = 0; i < CLIENTS; i++) {
		uint64_t before = taken(crowd, i);

		T_WAIT_UNTIL(taken(crowd, i) > before + 10, 10000);
	}
}

static void assert_nobody_goes_on(const struct crowd *crowd)
{
	uint64_t before[CLIENTS];

	t_nap_ms(20); /* who was in a call is out of it */
	for (int i = 0; i < CLIENTS; i++)
		before[i] = taken(crowd, i);
	t_nap_ms(100);
	for (int i = 0; i < CLIENTS; i++)
		ck_assert_uint_eq(taken(crowd, i), before[i]);
}

static void step_under_load(enum t_policy policy)
{
	const bool holds_up = policy == T_WAIT || policy == T_REFUSE;
	const int64_t back[] = {T_DAY, T_HOUR, 2 * T_SECOND};
	struct crowd *crowd = t_shared(sizeof(*crowd));
	pid_t pid[CLIENTS];
	uint64_t sum = 0;

	t_clocks_configure(policy);
	t_daemon_start(&t_clocks_daemon);
	crowd->ids = t_ids_new(IDS_MOST);
	for (int i = 0; i < CLIENTS; i++) {
		next_client = i;
		pid[i] = t_child(run_client, crowd);
	}
	assert_all_go_on(crowd);
	for (size_t i = 0; i < sizeof(back) / sizeof(back[0]); i++) {
		t_clocks_step(-back[i]);
		if (holds_up && back[i] >= T_HOUR)
			assert_nobody_goes_on(crowd);
		else if (!holds_up)
			assert_all_go_on(crowd);
		t_clocks_step(back[i] + T_DAY);
		assert_all_go_on(crowd);
	}
	atomic_store_explicit(&crowd->stop, 1, memory_order_relaxed);
	for (int i = 0; i < CLIENTS; i++) {
		ck_assert_int_eq(t_reap(pid[i]), 0);
		sum += taken(crowd, i);
	}
	t_ids_check(crowd->ids, sum);
	if (holds_up)
		ck_assert_uint_gt(atomic_load_explicit(&crowd->held_up, memory_order_relaxed), 0);
	t_daemon_assert_said(&t_clocks_daemon, "the wall clock stepped (");
	t_clocks_open();
	t_clocks_take(1000);
	t_clocks_assert_fresh();
	t_clocks_end();
}

START_TEST(fc12_steps_of_a_day_back_and_forward_under_load_repeat_no_id)
{
	for (int policy = 0; policy < T_POLICIES; policy++)
		step_under_load((enum t_policy)policy);
}
END_TEST

/* Killed at full rate, and the clock goes back a second; every other time the host boots. */
START_TEST(fc13_kill_and_a_step_back_each_time_repeat_no_id)
{
	t_clocks_configure(T_SLEW);
	for (int round = 0; round < 8; round++) {
		t_daemon_start(&t_clocks_daemon);
		t_clocks_open();
		t_clocks_take(2000U + 1000U * (unsigned)round);
		t_clocks_close();
		t_daemon_kill(&t_clocks_daemon);
		if (round % 2)
			t_remove_tree(t_clocks_daemon.runtime_dir);
		t_wall_step(-T_SECOND);
	}
}
END_TEST

/* sfd alone stands still, for longer than its runway; the wall goes back meanwhile, or not. */
START_TEST(fc15_stopped_process_goes_on_at_the_wall)
{
	uint64_t id = 0;

	t_clocks_configure(T_SLEW);
	t_daemon_start(&t_clocks_daemon);
	t_clocks_open();
	t_clocks_take(1000);
	ck_assert_int_eq(kill(t_clocks_daemon.pid, SIGSTOP), 0);
	ck_assert_int_eq(sf_cursor_set_wait(t_clocks_cursor, SF_WAIT_NONE, 1), 0);
	t_nap_ms(1000);
	ck_assert_int_eq(sf_next(t_clocks_cursor, &id), -EAGAIN);
	ck_assert_int_eq(kill(t_clocks_daemon.pid, SIGCONT), 0);
	ck_assert_int_eq(sf_cursor_set_wait(t_clocks_cursor, SF_WAIT_SLEEP, 20 * T_SECOND), 0);
	t_clocks_take(1000);
	t_clocks_assert_fresh();
	ck_assert_uint_eq(t_daemon_counter(&t_clocks_daemon, SF_COUNTER_clock_steps_back), 0);
	ck_assert_uint_eq(t_daemon_counter(&t_clocks_daemon, SF_COUNTER_clock_steps_forward), 0);
	ck_assert_int_eq(kill(t_clocks_daemon.pid, SIGSTOP), 0);
	t_wall_step(-T_HOUR);
	t_nap_ms(50);
	ck_assert_int_eq(kill(t_clocks_daemon.pid, SIGCONT), 0);
	t_clocks_take(1000);
	T_WAIT_UNTIL(t_daemon_counter(&t_clocks_daemon, SF_COUNTER_clock_steps_back) == 1, 5000);
	t_clocks_take(1000);
	t_clocks_end();
}
END_TEST

/* ---- time namespaces ---- */

/** An ordered ID of a t_clocks_client whose monotonic clock is a day ahead. */
static int take_elsewhere(void *argument)
{
	uint64_t *id = argument;
	struct sf_client *mine = t_open(t_clocks_daemon.socket, 5 * T_SECOND);
	struct sf_cursor *at = t_cursor(mine);

	T_CHECK(sf_next_ordered(at, id) == 0);
	for (int i = 0; i < 20000; i++) {
		uint64_t next = 0;

		T_CHECK(sf_next(at, &next) == 0);
		T_CHECK(next > *id);
		*id = next;
	}
	T_CHECK(sf_next_ordered(at, id) == 0);
	sf_cursor_close(at);
	sf_close(mine);
	return 0;
}

/** A time namespace holds for the children of who has made it. */
static int enter_namespace(void *argument)
{
	int64_t began_ns = t_mono_ns();
	int fd;

	if (unshare(CLONE_NEWTIME) < 0)
		return errno;
	fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	T_CHECK(fd >= 0);
	T_CHECK(dprintf(fd, "monotonic 86400 0\n") > 0);
	T_CHECK(close(fd) == 0);
	T_CHECK(t_reap(t_child(take_elsewhere, argument)) == 0);
	T_CHECK(t_mono_ns() - began_ns < T_HOUR); /* ours has not moved */
	return 0;
}

START_TEST(client_in_another_time_namespace_shares_the_order)
{
	uint64_t *id = t_shared(sizeof(*id));
	int error;

	t_clocks_configure(T_SLEW);
	t_daemon_start(&t_clocks_daemon);
	t_clocks_open();
	t_clocks_take(1000);
	error = t_reap(t_child(enter_namespace, id));
	if (error == EPERM || error == EINVAL || error == ENOSYS) {
		t_skip(__func__, "no time namespace may be made here");
	} else {
		ck_assert_int_eq(error, 0);
		ck_assert_uint_gt(*id, t_clocks_last);
		t_clocks_last = *id;
		t_clocks_assert_fresh();
		ck_assert_int_eq(sf_next_ordered(t_clocks_cursor, id), 0);
		ck_assert_uint_gt(*id, t_clocks_last);
	}
	t_clocks_end();
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		fc12_steps_of_a_day_back_and_forward_under_load_repeat_no_id,
		fc13_kill_and_a_step_back_each_time_repeat_no_id,
		fc15_stopped_process_goes_on_at_the_wall,
		client_in_another_time_namespace_shares_the_order,
	};
	const struct t_program program = {.name = "clock_steps",
					  .machine_id = 272,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
