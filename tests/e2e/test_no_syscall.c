/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Taking IDs enters the kernel not once: a child takes millions of them under a seccomp filter that
 * kills it on every call but write and exit, over several turns of the ring.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/process.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One bit of node id: the program's ids are 0 and 1. */
#define LAYOUT "t41 n1 s22 epoch=1577836800000"
#define TICK_SHIFT 23
#define RUNWAY "runway_ms = 100\n"
/* 256 slots of 1 ms */
#define RING_TICKS 256
#define NEXT_LEAST 10000000u
#define NEXT_ROUND 100000u
#define ORDERED_ROUND 1000u
#define FILL_ROUND 4096u
#define CALLED_ROUND 10000u

/** What the child writes as its last act but one. */
struct outcome {
	uint64_t next;
	uint64_t called;
	uint64_t ordered;
	uint64_t filled;
	uint64_t ranges;
	uint64_t ticks;
	uint64_t errors;
	uint64_t order_violations;
};

struct taker {
	struct sf_cursor *cursor;
	uint64_t last;
	uint64_t first_tick;
	struct outcome outcome;
	uint64_t fill[FILL_ROUND];
};

struct job {
	const char *socket;
	int result_fd;
	bool one_call; /* one getpid under the filter */
};

static void note(struct taker *taker, int error, uint64_t id)
{
	taker->outcome.errors += error != 0;
	taker->outcome.order_violations += id <= taker->last;
	taker->last = id;
}

static void take_round(struct taker *taker, int (*called)(struct sf_cursor *, uint64_t *))
{
	struct sf_range range = {0};
	uint64_t id = 0;
	int error;

	for (unsigned i = 0; i < NEXT_ROUND; i++) {
		error = sf_next(taker->cursor, &id);
		note(taker, error, id);
	}
	for (unsigned i = 0; i < CALLED_ROUND; i++) {
		error = called(taker->cursor, &id);
		note(taker, error, id);
	}
	for (unsigned i = 0; i < ORDERED_ROUND; i++) {
		error = sf_next_ordered(taker->cursor, &id);
		note(taker, error, id);
	}
	error = sf_fill(taker->cursor, taker->fill, FILL_ROUND);
	for (unsigned i = 0; i < FILL_ROUND; i++)
		note(taker, error, taker->fill[i]);
	error = sf_claim_range(taker->cursor, 1000, &range);
	for (unsigned i = 0; i < range.count; i++)
		note(taker, error, range.first + i * range.step);
	taker->outcome.next += NEXT_ROUND;
	taker->outcome.called += CALLED_ROUND;
	taker->outcome.ordered += ORDERED_ROUND;
	taker->outcome.filled += FILL_ROUND;
	taker->outcome.ranges++;
	taker->outcome.ticks = (taker->last >> TICK_SHIFT) - taker->first_tick;
}

#define ALLOW(number)                                                                              \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),                                       \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int forbid_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_write),
		ALLOW(SYS_exit),
		ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) < 0)
		return -errno;
	return prctl(PR_SET_SECCOMP, (unsigned long)SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

static int take_under_filter(void *argument)
{
	static struct taker taker;
	const struct job *job = argument;
	int (*volatile called)(struct sf_cursor *, uint64_t *) = sf_next;
	struct sf_client *client = t_open(job->socket, SF_TIMEOUT_NONE);

	taker.cursor = t_cursor(client);
	T_CHECK(sf_cursor_set_wait(taker.cursor, SF_WAIT_SPIN, SF_TIMEOUT_NONE) == 0);
	taker.first_tick = t_warm(taker.cursor, 100) >> TICK_SHIFT;
	take_round(&taker, called); /* the loader binds each function at its first call */
	taker.outcome = (struct outcome){0};
	taker.first_tick = taker.last >> TICK_SHIFT;
	T_CHECK(forbid_calls() == 0);
	while (taker.outcome.next < NEXT_LEAST || taker.outcome.ticks < 3UL * RING_TICKS)
		take_round(&taker, called);
	if (job->one_call)
		(void)syscall(SYS_getpid);
	(void)syscall(SYS_write, job->result_fd, &taker.outcome, sizeof(taker.outcome));
	(void)syscall(SYS_exit_group, 0);
	return T_CHECK_FAILED;
}

/** @return how the child ended; what it wrote is in `ret_outcome` */
static int run_taker(bool one_call, struct outcome *ret_outcome)
{
	struct t_daemon daemon;
	struct job job = {.one_call = one_call};
	int channel[2];
	ssize_t length;
	int code;

	t_daemon_run(&daemon, LAYOUT, RUNWAY);
	ck_assert_int_eq(pipe(channel), 0);
	job.socket = daemon.socket;
	job.result_fd = channel[1];
	code = t_reap(t_child(take_under_filter, &job));
	(void)close(channel[1]);
	length = read(channel[0], ret_outcome, sizeof(*ret_outcome));
	(void)close(channel[0]);
	t_daemon_stop(&daemon);
	ck_assert_int_eq(length, code == 0 ? (ssize_t)sizeof(*ret_outcome) : 0);
	return code;
}

START_TEST(taking_ids_enters_the_kernel_not_once)
{
	struct outcome outcome = {0};

	if (T_ASAN || T_TSAN) {
		t_skip(__func__, "a sanitizer makes calls of its own");
		return;
	}
	ck_assert_int_eq(run_taker(false, &outcome), 0);
	ck_assert_uint_ge(outcome.next, NEXT_LEAST);
	ck_assert_uint_ge(outcome.ticks, 3UL * RING_TICKS);
	ck_assert_uint_gt(outcome.ordered, 0);
	ck_assert_uint_gt(outcome.filled, 0);
	ck_assert_uint_eq(outcome.errors, 0);
	ck_assert_uint_eq(outcome.order_violations, 0);
	(void)printf("%llu sf_next inlined, %llu called, %llu ordered, %llu filled, %llu ticks\n",
		     (unsigned long long)outcome.next, (unsigned long long)outcome.called,
		     (unsigned long long)outcome.ordered, (unsigned long long)outcome.filled,
		     (unsigned long long)outcome.ticks);
}
END_TEST

START_TEST(taking_ids_with_one_call_more_is_noticed)
{
	struct outcome outcome = {0};

	if (T_ASAN || T_TSAN) {
		t_skip(__func__, "a sanitizer makes calls of its own");
		return;
	}
	ck_assert_int_eq(run_taker(true, &outcome), -SIGSYS);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		taking_ids_enters_the_kernel_not_once,
		taking_ids_with_one_call_more_is_noticed,
	};
	const struct t_program program = {.name = "no_syscall",
					  .machine_id = 0,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
