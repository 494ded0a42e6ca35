/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * How long does a single fetch take at worst while something happens to sfd? One thread fetches and
 * times every call; the main thread runs a command again and again, and notes the longest fetch
 * around each run, and around as long a pause without one, which shows what the machine itself
 * adds. Of a fetch that took long it also notes how much of it the thread was ready to run and had
 * no CPU: on a small machine the command's own processes take one away. usage: bench_restart COUNT
 * COMMAND [ARGUMENT]...
 */
#include "bench/bench_support.h"

#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT_MAX 10000
/* A fetch that took longer is looked into. */
#define LONG_NS INT64_C(20000)
/* After a command, until clients have moved over and the beat is live again. */
#define SETTLE_NS INT64_C(60000000)

struct fetcher {
	struct sf_cursor *cursor;
	_Atomic int stop;
	_Atomic int64_t longest_ns;     /* since it was taken last */
	_Atomic int64_t longest_own_ns; /* the same, less the time without a CPU */
	_Atomic uint64_t fetched;
	_Atomic uint64_t failed;
};

/** How long this thread has waited for a CPU so far. */
static int64_t queued_ns(int schedstat)
{
	char text[96];
	ssize_t length = pread(schedstat, text, sizeof(text) - 1, 0);
	char *end;

	if (length <= 0)
		return 0;
	text[length] = '\0';
	(void)strtoll(text, &end, 10); /* on a CPU */
	return strtoll(end, NULL, 10);
}

static void raise_to(_Atomic int64_t *longest_ns, int64_t ns)
{
	/* relaxed: a figure on its own */
	if (ns > atomic_load_explicit(longest_ns, memory_order_relaxed))
		atomic_store_explicit(longest_ns, ns, memory_order_relaxed);
}

static void *fetch(void *argument)
{
	struct fetcher *fetcher = argument;
	int schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	int64_t queued = queued_ns(schedstat);
	int64_t before = bench_now_ns();

	/* relaxed throughout: figures, each on its own */
	while (!atomic_load_explicit(&fetcher->stop, memory_order_relaxed)) {
		uint64_t id;
		int error = sf_next(fetcher->cursor, &id);
		int64_t after = bench_now_ns();

		atomic_fetch_add_explicit(error < 0 ? &fetcher->failed : &fetcher->fetched, 1,
					  memory_order_relaxed);
		raise_to(&fetcher->longest_ns, after - before);
		if (after - before > LONG_NS) {
			int64_t now = queued_ns(schedstat);

			raise_to(&fetcher->longest_own_ns, after - before - (now - queued));
			queued = now;
			after = bench_now_ns();
		}
		before = after;
	}
	(void)close(schedstat);
	return NULL;
}

static void nap(int64_t ns)
{
	struct timespec time = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	(void)nanosleep(&time, NULL);
}

/** @return 0 when the command ended well */
static int run(char *const *argv)
{
	pid_t pid;
	int status;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) != 0)
		return -1;
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0
		       ? 0
		       : -1;
}

static int64_t take(_Atomic int64_t *longest_ns)
{
	return atomic_exchange_explicit(longest_ns, 0, memory_order_relaxed);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/** The longest fetch of each run. */
struct longest {
	int64_t wall[COUNT_MAX];
	int64_t own[COUNT_MAX];
};

static json_t *summary_of(int64_t *longest, int count)
{
	int64_t p50;
	int64_t p99;
	int64_t p100;

	qsort(longest, (size_t)count, sizeof(*longest), compare);
	p50 = longest[count / 2];
	p99 = longest[(count * 99 - 1) / 100];
	p100 = longest[count - 1];
	return json_pack("{s:f, s:f, s:f}", "p50_us", (double)p50 / 1e3, "p99_us",
			 (double)p99 / 1e3, "p100_us", (double)p100 / 1e3);
}

static json_t *summary(struct longest *longest, int count)
{
	return json_pack("{s:o, s:o}", "wall", summary_of(longest->wall, count),
			 "less_wait_for_a_cpu", summary_of(longest->own, count));
}

/** Runs the command `count` times. @return how often it failed */
static int measure(struct fetcher *fetcher, int count, char *const *argv, struct longest *quiet,
		   struct longest *busy)
{
	int failures = 0;

	for (int i = 0; i < count; i++) {
		int64_t begin;
		int64_t took;

		(void)take(&fetcher->longest_ns);
		(void)take(&fetcher->longest_own_ns);
		begin = bench_now_ns();
		if (run(argv) < 0)
			failures++;
		nap(SETTLE_NS);
		took = bench_now_ns() - begin;
		busy->wall[i] = take(&fetcher->longest_ns);
		busy->own[i] = take(&fetcher->longest_own_ns);
		nap(took);
		quiet->wall[i] = take(&fetcher->longest_ns);
		quiet->own[i] = take(&fetcher->longest_own_ns);
	}
	return failures;
}

int main(int argc, char **argv)
{
	static struct longest quiet;
	static struct longest busy;
	struct bench_client client;
	struct fetcher fetcher = {0};
	pthread_t thread;
	json_t *report;
	int failures;
	long count = argc > 2 ? strtol(argv[1], NULL, 10) : 0;

	if (count < 1 || count > COUNT_MAX) {
		(void)fprintf(stderr, "usage: bench_restart COUNT COMMAND [ARGUMENT]...\n");
		return 2;
	}
	if (bench_client_open(NULL, &client) < 0)
		return 1;
	fetcher.cursor = client.cursor;
	if (bench_warm_up(client.cursor) < 0 || pthread_create(&thread, NULL, fetch, &fetcher) != 0)
		return 1;
	failures = measure(&fetcher, (int)count, argv + 2, &quiet, &busy);
	atomic_store_explicit(&fetcher.stop, 1, memory_order_relaxed);
	(void)pthread_join(thread, NULL);
	report = json_pack("{s:I, s:i, s:I, s:I, s:o, s:o}", "runs", (json_int_t)count,
			   "commands_failed", failures, "fetched",
			   (json_int_t)atomic_load_explicit(&fetcher.fetched, memory_order_relaxed),
			   "failed",
			   (json_int_t)atomic_load_explicit(&fetcher.failed, memory_order_relaxed),
			   "longest_around", summary(&busy, (int)count), "longest_without",
			   summary(&quiet, (int)count));
	(void)json_dumpf(report, stdout, JSON_INDENT(2));
	(void)putchar('\n');
	json_decref(report);
	bench_client_close(&client);
	return failures != 0;
}
