/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What a client costs its host: callers that want more than a layout has share all of it and sleep
 * meanwhile, and taking IDs makes as many system calls as the manual says, with the vDSO and
 * without. Speed itself is not judged: a loaded machine is no failure.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/process.h"

#include <elf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static struct t_daemon daemon_now;

/* ---- more callers than capacity ---- */

#define THREADS 8
#define LEAST_MS 2000
#define TICKS_MAX 60000
/* Served, even on a machine that has little time for us. */
#define TICKS_LEAST 20
#define QUESTIONS 20
/* Cores that sleeping callers stay below; they take 0.1. The time is that in which ticks were
 * served: on a busy machine callers that spin get little of a core, and serve few. */
#define CORES_SMALL (T_ASAN || T_TSAN ? 1.5 : 0.5)

struct crowd {
	_Atomic int stop;
	char socket[112];
	uint32_t capacity;
	uint64_t all;    /* IDs */
	uint64_t issued; /* in whole ticks */
	uint64_t ticks;  /* of which at least one ID was given */
	uint64_t full;   /* of those: ticks that lack less than a twentieth */
	uint64_t beyond; /* ticks with more IDs than there are */
	uint64_t span;   /* from the first of those ticks to the last */
	int64_t cpu_ns;
};

struct caller {
	struct sf_client *client;
	uint64_t first_tick;
	const struct crowd *crowd;
	uint32_t count[TICKS_MAX]; /* IDs of a tick */
};

static void *ask(void *argument)
{
	struct caller *caller = argument;
	struct sf_cursor *cursor = t_cursor(caller->client);
	unsigned shift = sf_client_layout(caller->client)->time_shift;
	uint64_t last = 0;

	/* relaxed: says nothing of anything else */
	while (!atomic_load_explicit(&caller->crowd->stop, memory_order_relaxed)) {
		uint64_t id = t_next(cursor);
		uint64_t nth = (id >> shift) - caller->first_tick;

		T_CHECK(id > last);
		T_CHECK(nth < TICKS_MAX);
		caller->count[nth]++;
		last = id;
	}
	sf_cursor_close(cursor);
	return NULL;
}

static int64_t cpu_ns(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000000) +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * INT64_C(1000);
}

/** The first and the last tick are not whole. */
static void judge(struct crowd *crowd, struct caller *caller)
{
	uint32_t *count = caller[0].count;
	uint64_t first = UINT64_MAX;
	uint64_t last = 0;

	for (uint64_t i = 0; i < TICKS_MAX; i++) {
		for (int nth = 1; nth < THREADS; nth++)
			count[i] += caller[nth].count[i];
		if (count[i] == 0)
			continue;
		crowd->all += count[i];
		first = first == UINT64_MAX ? i : first;
		last = i;
	}
	T_CHECK(first + 2 < last);
	for (uint64_t i = first + 1; i < last; i++) {
		crowd->issued += count[i];
		crowd->ticks += count[i] != 0;
		crowd->full += count[i] * UINT64_C(20) >= crowd->capacity * UINT64_C(19);
		crowd->beyond += count[i] > crowd->capacity;
	}
	crowd->span = last - first - 1;
}

static int ask_too_much(void *argument)
{
	static struct caller caller[THREADS];
	struct crowd *crowd = argument;
	struct sf_client *client = t_open(crowd->socket, SF_TIMEOUT_NONE);
	struct sf_cursor *cursor = t_cursor(client);
	uint64_t first_tick = t_next(cursor) >> sf_client_layout(client)->time_shift;
	pthread_t thread[THREADS];
	int64_t started_cpu_ns = cpu_ns();

	crowd->all = 1;
	for (int i = 0; i < THREADS; i++) {
		caller[i].client = client;
		caller[i].first_tick = first_tick;
		caller[i].crowd = crowd;
		T_CHECK(pthread_create(&thread[i], NULL, ask, &caller[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		T_CHECK(pthread_join(thread[i], NULL) == 0);
	crowd->cpu_ns = cpu_ns() - started_cpu_ns;
	judge(crowd, caller);
	sf_cursor_close(cursor);
	sf_close(client);
	return 0;
}

static int by_value(const void *one, const void *other)
{
	int64_t a = *(const int64_t *)one;
	int64_t b = *(const int64_t *)other;

	return (a > b) - (a < b);
}

/** How long sfd takes to answer: the median of some questions. */
static int64_t answer_ns(void)
{
	int64_t taken_ns[QUESTIONS];
	struct sf_control_stats stats;

	for (int i = 0; i < QUESTIONS; i++) {
		int64_t asked_ns = t_mono_ns();

		t_daemon_stats(&daemon_now, &stats);
		taken_ns[i] = t_mono_ns() - asked_ns;
		t_nap_ms(20);
	}
	qsort(taken_ns, QUESTIONS, sizeof(taken_ns[0]), by_value);
	return taken_ns[QUESTIONS / 2];
}

static void judge_crowd(const struct crowd *crowd, double cores_most, int64_t answered_ns)
{
	double cores = (double)crowd->cpu_ns / 1e6 / (double)crowd->ticks;
	double all = (double)crowd->span * crowd->capacity;
	double served = (double)crowd->ticks * crowd->capacity;

	(void)printf("capacity %u: %.1f %% of %llu ticks, %.1f %% of the %llu that were served; "
		     "%.2f cores; stats after %.2f ms\n",
		     crowd->capacity, 100 * (double)crowd->issued / all,
		     (unsigned long long)crowd->span, 100 * (double)crowd->issued / served,
		     (unsigned long long)crowd->ticks, cores, (double)answered_ns / 1e6);
	ck_assert_uint_eq(crowd->beyond, 0);
	/*
	 * Ticks in which no caller had a CPU are the machine's. Those that were served are used up,
	 * but for some in which it took the CPU away: a busy one more of those that take long.
	 */
	ck_assert_uint_gt(crowd->ticks, TICKS_LEAST);
	ck_assert_uint_ge(crowd->full * 2, crowd->ticks);
	ck_assert((double)crowd->issued >= (double)served * (crowd->capacity > 4 ? 0.75 : 0.95));
	ck_assert(cores < cores_most);
	ck_assert_int_lt(answered_ns, (T_ASAN || T_TSAN ? 500 : 50) * INT64_C(1000000));
}

static void share_capacity(const char *layout, uint32_t capacity, double cores)
{
	struct crowd *crowd = t_shared(sizeof(*crowd));
	int64_t answered_ns;
	pid_t pid;

	t_daemon_run(&daemon_now, layout, "");
	memcpy(crowd->socket, daemon_now.socket, sizeof(crowd->socket));
	crowd->capacity = capacity;
	pid = t_child(ask_too_much, crowd);
	t_nap_ms(LEAST_MS);
	answered_ns = answer_ns();
	/* relaxed: as where it is read */
	atomic_store_explicit(&crowd->stop, 1, memory_order_relaxed);
	ck_assert_int_eq(t_reap(pid), 0);
	judge_crowd(crowd, cores, answered_ns);
	/* No counter is lost but those that sfd is told of. */
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_ids_claimed) -
				  t_daemon_counter(&daemon_now, SF_COUNTER_ids_dropped),
			  crowd->all);
	t_daemon_stop(&daemon_now);
}

START_TEST(fc86_callers_of_a_small_layout_get_all_of_it_and_sleep_meanwhile)
{
	share_capacity("t41 n10 s2 epoch=1577836800000", 4, CORES_SMALL);
}
END_TEST

START_TEST(fc86_callers_of_layout_twitter_get_all_of_it)
{
	share_capacity("twitter", 4096, THREADS);
}
END_TEST

/* ---- system calls ---- */

#define FULL_SPEED 1000000
#define FULL_SPEED_CALLS 1000
#define PACED 10000
/* Far below the 20,000 a second at which sfd starts to beat. */
#define PACE_NS 200000
#define TRIES 5
/* What the traced program does as a mark. */
#define MARK_BEGIN SIGUSR1
#define MARK_END SYS_getppid

struct calls {
	unsigned time_reads;
	unsigned sleeps;
	unsigned others;
	uint64_t other; /* the last of them */
};

/** The traced program: `full` or `paced`, and a socket. */
static int take_as_role(int argc, char **argv)
{
	const struct timespec pace = {.tv_nsec = PACE_NS};
	bool is_paced;
	struct sf_cursor *cursor;

	T_CHECK(argc == 3);
	is_paced = strcmp(argv[1], "paced") == 0;
	cursor = t_cursor(t_open(argv[2], SF_TIMEOUT_NONE));
	if (!is_paced)
		(void)t_warm(cursor, 1000);
	(void)t_next(cursor); /* the loader binds each function at its first call */
	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pace, NULL);
	(void)raise(MARK_BEGIN);
	for (int i = 0; i < (is_paced ? PACED : FULL_SPEED); i++) {
		uint64_t id = 0;

		T_CHECK(sf_next(cursor, &id) == 0);
		if (is_paced)
			(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pace, NULL);
	}
	(void)syscall(MARK_END);
	return 0;
}

/** The program that starts is told of no vDSO: its C library reads the clock by system calls. */
static bool hide_vdso(pid_t pid)
{
#ifdef __x86_64__
	struct user_regs_struct registers;
	unsigned long at;
	int nulls = 0;

	ck_assert_int_eq(ptrace(PTRACE_GETREGS, pid, NULL, &registers), 0);
	/* Above the stack pointer: argc, argv, NULL, environment, NULL, auxiliary vector. */
	for (at = registers.rsp + sizeof(long); nulls < 2; at += sizeof(long))
		nulls += ptrace(PTRACE_PEEKDATA, pid, at, NULL) == 0;
	for (; ptrace(PTRACE_PEEKDATA, pid, at, NULL) != AT_NULL; at += 2 * sizeof(long))
		if (ptrace(PTRACE_PEEKDATA, pid, at, NULL) == AT_SYSINFO_EHDR)
			return ptrace(PTRACE_POKEDATA, pid, at, AT_IGNORE) == 0;
#else
	(void)pid;
#endif
	return false;
}

static void wait_for_stop(pid_t pid, int signal)
{
	int status = 0;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFSTOPPED(status) && WSTOPSIG(status) == signal, "status %x", status);
}

static void count_call(struct calls *calls, uint64_t number)
{
	if (number == SYS_clock_gettime) {
		calls->time_reads++;
	} else if (number == SYS_clock_nanosleep) {
		calls->sleeps++;
	} else {
		calls->others++;
		calls->other = number;
	}
}

/** Counts up to the mark, which ends the program's usefulness. */
static struct calls count_calls(pid_t pid)
{
	struct calls calls = {0};

	for (;;) {
		struct __ptrace_syscall_info info;

		ck_assert_int_eq(ptrace(PTRACE_SYSCALL, pid, NULL, 0), 0);
		wait_for_stop(pid, SIGTRAP | 0x80);
		ck_assert_int_gt(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info), 0);
		if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
			continue;
		if (info.entry.nr == MARK_END)
			break;
		count_call(&calls, info.entry.nr);
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return calls;
}

static struct calls trace(const char *what, bool has_vdso)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
			(void)execl("/proc/self/exe", "client", what, daemon_now.socket, NULL);
		_exit(T_CHECK_FAILED);
	}
	wait_for_stop(pid, SIGTRAP);
	ck_assert_int_eq(
		ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL), 0);
	ck_assert(has_vdso || hide_vdso(pid));
	ck_assert_int_eq(ptrace(PTRACE_CONT, pid, NULL, 0), 0);
	wait_for_stop(pid, MARK_BEGIN);
	return count_calls(pid);
}

static bool can_count(const char *test)
{
#ifndef __x86_64__
	t_skip(test, "hides the vDSO on x86-64 only");
	return false;
#endif
	if (T_ASAN || T_TSAN) {
		t_skip(test, "a sanitizer makes calls of its own");
		return false;
	}
	/* More counters a tick than anybody can take: else callers wait. */
	t_daemon_run(&daemon_now, "t41 n1 s22 epoch=1577836800000", "");
	return true;
}

/* On a busy machine sfd may pause its beat between warming up and counting: then each ID is a
 * claim. Such a try says nothing of full speed. */
static void count_full_speed(bool has_vdso)
{
	struct calls least = {.time_reads = UINT32_MAX};

	for (int i = 0; i < TRIES && least.time_reads >= FULL_SPEED_CALLS; i++) {
		struct calls calls = trace("full", has_vdso);

		ck_assert_msg(calls.others == 0, "%u others, the last one %llu", calls.others,
			      (unsigned long long)calls.other);
		if (calls.time_reads < least.time_reads)
			least = calls;
	}
	(void)printf("%u sf_next at full speed, vDSO %d: %u time reads, %u sleeps\n", FULL_SPEED,
		     has_vdso, least.time_reads, least.sleeps);
	ck_assert_uint_lt(least.time_reads + least.sleeps, FULL_SPEED_CALLS);
}

static void count_paced(bool has_vdso)
{
	struct calls calls = trace("paced", has_vdso);

	(void)printf("%u sf_next paced, vDSO %d: %u time reads\n", PACED, has_vdso,
		     calls.time_reads);
	ck_assert_msg(calls.others == 0, "%u others, the last one %llu", calls.others,
		      (unsigned long long)calls.other);
	ck_assert_uint_eq(calls.sleeps, PACED); /* ours */
	if (has_vdso)
		ck_assert_uint_eq(calls.time_reads, 0);
	else /* the claims are what the test means: the vDSO was hidden */
		ck_assert_uint_gt(calls.time_reads, PACED / 2);
	ck_assert_uint_le(calls.time_reads, PACED);
}

START_TEST(fc87_a_million_ids_at_full_speed_make_fewer_than_a_thousand_calls)
{
	if (!can_count(__func__))
		return;
	count_full_speed(true);
	count_full_speed(false);
	t_daemon_stop(&daemon_now);
}
END_TEST

START_TEST(fc87_a_paced_id_makes_at_most_one_time_read)
{
	if (!can_count(__func__))
		return;
	count_paced(true);
	count_paced(false);
	t_daemon_stop(&daemon_now);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		fc86_callers_of_a_small_layout_get_all_of_it_and_sleep_meanwhile,
		fc86_callers_of_layout_twitter_get_all_of_it,
		fc87_a_million_ids_at_full_speed_make_fewer_than_a_thousand_calls,
		fc87_a_paced_id_makes_at_most_one_time_read,
	};
	/* The layout of one bit of node id has no others than those of `no_syscall`, which never
	 * runs at the same time. */
	const struct t_program program = {.name = "performance",
					  .machine_id = 0,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0]),
					  .role = take_as_role};

	return t_main(argc, argv, &program);
}
