/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A worker of bench/peers; see worker.h. The threads wait for each other at a barrier; each keeps
 * its own time, and nothing but the way's own code runs inside it.
 */
#include "bench/peers/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 2
#define WARM_NS INT64_C(20000000)
/* About how long a worker goes on between two looks at the clock. */
#define CHUNK_NS INT64_C(20000)
/* IDs that are taken before a fork. */
#define BEFORE_FORK 1000

/** What the command line asks for. */
struct order {
	const struct peer_way *way;
	bool counts; /* `amount` is a number of IDs, not a time in ns */
	bool forks;
	int threads;
	int64_t amount;
	uint64_t cap; /* of the IDs that a thread collects; 0: none are collected */
	const char *path;
	pthread_barrier_t barrier; /* of all threads and the main one */
};

/** A thread's part. */
struct part {
	struct order *order;
	void *state;
	union peer_id *ids; /* `cap` of them, or NULL */
	int index;
	uint64_t chunk;
	uint64_t taken;
	int64_t begin_ns;
	int64_t end_ns;
	int error;
};

static int64_t cpu_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/** Finds how many IDs a chunk has, by taking ever more of them. */
static int calibrate(struct part *part)
{
	const struct peer_way *way = part->order->way;
	int64_t until = bench_now_ns() + WARM_NS;
	int64_t start;
	int64_t now;
	int error;

	part->chunk = way->multiple;
	do {
		start = bench_now_ns();
		error = way->run(part->state, part->chunk, NULL);
		now = bench_now_ns();
		if (now - start < CHUNK_NS / 2)
			part->chunk *= 2;
	} while (error >= 0 && now < until);
	return error;
}

static int prepare(struct part *part)
{
	struct order *order = part->order;
	size_t size = order->cap * sizeof(part->ids[0]);
	int error = order->threads > 1 ? bench_pin(part->index) : 0;

	if (error == 0 && order->way->open)
		error = order->way->open(&part->state);
	if (error == 0 && order->way->warm)
		error = order->way->warm(part->state);
	if (error == 0)
		error = calibrate(part);
	if (error < 0 || order->cap == 0)
		return error;
	part->ids = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (part->ids == MAP_FAILED) {
		part->ids = NULL;
		return -ENOMEM;
	}
	return 0;
}

/** IDs that the next chunk may have; 0: the part is done. */
static uint64_t next_chunk(const struct part *part, int64_t now)
{
	const struct order *order = part->order;
	uint64_t limit = order->counts ? (uint64_t)order->amount : order->cap;
	uint64_t left = limit - part->taken;

	if (!order->counts && now - part->begin_ns >= order->amount)
		return 0;
	if (limit == 0)
		return part->chunk;
	left -= left % order->way->multiple;
	return left < part->chunk ? left : part->chunk;
}

/** Takes IDs until the order is carried out. */
static int work(struct part *part)
{
	const struct peer_way *way = part->order->way;
	uint64_t chunk;
	int error = way->warm ? way->warm(part->state) : 0;

	part->begin_ns = bench_now_ns();
	part->end_ns = part->begin_ns;
	for (; error >= 0; part->taken += chunk) {
		chunk = next_chunk(part, part->end_ns);
		if (chunk == 0)
			break;
		error = way->run(part->state, chunk, part->ids ? part->ids + part->taken : NULL);
		part->end_ns = bench_now_ns();
	}
	return error;
}

static void *thread_main(void *data)
{
	struct part *part = data;

	part->error = prepare(part);
	(void)pthread_barrier_wait(&part->order->barrier); /* ready */
	(void)pthread_barrier_wait(&part->order->barrier); /* go */
	if (part->error >= 0)
		part->error = work(part);
	return NULL;
}

static int save(const char *path, const char *mode, const struct part *part)
{
	FILE *file = fopen(path, mode);
	int error = 0;

	if (!file)
		return -errno;
	if (fwrite(part->ids, sizeof(part->ids[0]), part->taken, file) != part->taken)
		error = -EIO;
	if (fclose(file) != 0)
		error = -EIO;
	return error;
}

/** Says that it is ready, and waits for the word to go. */
static int meet(void)
{
	char line[16];

	if (puts("ready") < 0 || fflush(stdout) != 0)
		return -EPIPE;
	return fgets(line, sizeof(line), stdin) ? 0 : -EPIPE;
}

static void report(const struct part *parts, int n, int64_t cpu)
{
	uint64_t ids = 0;
	double rate = 0;

	for (int i = 0; i < n; i++) {
		ids += parts[i].taken;
		rate += (double)parts[i].taken / (double)(parts[i].end_ns - parts[i].begin_ns);
	}
	(void)printf("{\"ids\":%llu,\"ns\":%.6g,\"per_second\":%.9g,\"cpu_ns\":%lld,"
		     "\"begin_ns\":%lld,\"end_ns\":%lld}\n",
		     (unsigned long long)ids, n / rate, rate * 1e9, (long long)cpu,
		     (long long)parts[0].begin_ns, (long long)parts[0].end_ns);
}

/** The order, on threads of its own. */
static int run_threads(struct order *order)
{
	struct part parts[THREADS_MAX] = {0};
	pthread_t threads[THREADS_MAX] = {0};
	int64_t cpu;
	int error = -pthread_barrier_init(&order->barrier, NULL, (unsigned)order->threads + 1);

	for (int i = 0; i < order->threads && error == 0; i++) {
		parts[i] = (struct part){.order = order, .index = i};
		error = -pthread_create(&threads[i], NULL, thread_main, &parts[i]);
	}
	if (error < 0)
		return error; /* the end of the process ends the threads */
	(void)pthread_barrier_wait(&order->barrier);
	for (int i = 0; i < order->threads && error >= 0; i++)
		error = parts[i].error;
	if (error >= 0)
		error = meet();
	if (error < 0)
		return error;
	cpu = cpu_ns();
	(void)pthread_barrier_wait(&order->barrier);
	for (int i = 0; i < order->threads; i++)
		(void)pthread_join(threads[i], NULL);
	cpu = cpu_ns() - cpu;
	for (int i = 0; i < order->threads && error >= 0; i++) {
		error = parts[i].error;
		if (error >= 0 && order->cap)
			error = save(order->path, i ? "ab" : "wb", &parts[i]);
	}
	if (error >= 0)
		report(parts, order->threads, cpu);
	return error;
}

/** The child's half of run_fork(). */
static int work_in_child(struct part *part)
{
	char path[4096];

	if (bench_pin(1) == -EINVAL) /* there is one CPU */
		(void)bench_pin(0);
	part->error = work(part);
	(void)snprintf(path, sizeof(path), "%s.child", part->order->path);
	return part->error < 0 ? part->error : save(path, "wb", part);
}

/** Takes some IDs, forks, and goes on in both processes. */
static int run_fork(struct order *order)
{
	struct part part = {.order = order};
	const struct peer_way *way = order->way;
	uint64_t before = BEFORE_FORK - BEFORE_FORK % way->multiple;
	int status = 0;
	pid_t child;
	int error = bench_pin(0);

	if (error == 0)
		error = prepare(&part);
	if (error >= 0)
		error = meet();
	if (error >= 0)
		error = way->run(part.state, before, part.ids);
	if (error < 0)
		return error;
	part.ids += before;
	order->cap -= before;
	child = fork();
	if (child < 0)
		return -errno;
	if (child == 0) {
		error = work_in_child(&part);
		_exit(error < 0 ? bench_fail("in the child", error) : EXIT_SUCCESS);
	}
	error = work(&part);
	part.ids -= before;
	part.taken += before;
	if (waitpid(child, &status, 0) < 0 || status != 0)
		error = error < 0 ? error : -ECHILD;
	if (error >= 0)
		error = save(order->path, "wb", &part);
	if (error >= 0)
		report(&part, 1, 0);
	return error;
}

/** The first ID of a fresh process. */
static int run_first(const struct peer_way *way, int64_t start)
{
	union peer_id *ids = calloc(way->multiple, sizeof(*ids));
	void *state = NULL;
	int error = ids ? 0 : -ENOMEM;

	if (error == 0 && way->open)
		error = way->open(&state);
	if (error >= 0)
		error = way->run(state, way->multiple, ids);
	if (error >= 0)
		(void)printf("{\"start_ns\":%lld,\"first_ns\":%lld}\n", (long long)start,
			     (long long)bench_now_ns());
	free(ids);
	return error;
}

static bool is_number(const char *text, int64_t most, int64_t *ret_number)
{
	char *end;
	long long number;

	errno = 0;
	number = strtoll(text, &end, 10);
	*ret_number = number;
	return end != text && *end == '\0' && errno == 0 && number > 0 && number <= most;
}

/** @return false when the command line is none */
static bool parse(int argc, char **argv, struct order *order)
{
	int64_t threads;
	int64_t cap = 0;

	if (argc < 5 || !is_number(argv[3], THREADS_MAX, &threads) ||
	    !is_number(argv[4], INT64_C(1000000000), &order->amount))
		return false;
	order->threads = (int)threads;
	order->counts = strcmp(argv[2], "count") == 0;
	order->forks = strcmp(argv[2], "fork") == 0;
	if (!order->counts)
		order->amount *= 1000000;
	if (argc == 5)
		return order->counts || strcmp(argv[2], "time") == 0;
	if (argc != 7 || !is_number(argv[5], INT64_C(100000000), &cap) || cap <= BEFORE_FORK)
		return false;
	order->cap = (uint64_t)cap;
	order->path = argv[6];
	return order->forks || strcmp(argv[2], "collect") == 0;
}

static const struct peer_way *find(const char *name, const struct peer_way *ways, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(name, ways[i].name) == 0)
			return &ways[i];
	}
	return NULL;
}

int peer_main(int argc, char **argv, const struct peer_way *ways, size_t n)
{
	int64_t start = bench_now_ns();
	struct order order = {.way = argc > 1 ? find(argv[1], ways, n) : NULL};
	int error;

	(void)bench_cpu_count(); /* before any thread is pinned */
	if (order.way && argc == 3 && strcmp(argv[2], "first") == 0) {
		error = run_first(order.way, start);
	} else if (order.way && parse(argc, argv, &order)) {
		error = order.forks ? run_fork(&order) : run_threads(&order);
	} else {
		(void)fprintf(stderr, "usage: %s WAY first|time|count|collect|fork ...\n", argv[0]);
		return 2;
	}
	return error < 0 ? bench_fail(argv[1], error) : EXIT_SUCCESS;
}
