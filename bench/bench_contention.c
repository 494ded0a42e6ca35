/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Question: what do two cores cost each other? A bare locked add on one cache line, ordered fetches
 * and plain fetches, by one thread alone, by two threads of one process, and by two processes. The
 * first worker is this process's main thread and keeps the time; the second follows it.
 */
#include "bench/bench_support.h"

#include <errno.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long both workers run against each other, and the longest wait for the second one. */
#define WINDOW_NS INT64_C(100000000)
#define READY_NS INT64_C(5000000000)
/* Operations between two looks at the clock or at the stop flag. */
#define CHUNK 4096

/** What one worker did; each on cache lines of its own. */
struct result {
	alignas(128) uint64_t ops;
	int64_t ns;
};

/** Shared by both workers, also across processes. */
struct field {
	alignas(128) _Atomic uint64_t word; /* what the locked adds fight over */
	/* workers that are ready | W: both | release, acquire: nothing but the start hangs on it */
	alignas(128) _Atomic uint32_t ready;
	/* end of the window | W: first worker | relaxed: carries no data */
	alignas(128) _Atomic uint32_t stop;
	struct result result[2];
};

enum shape {
	SHAPE_ONE,
	SHAPE_THREADS,
	SHAPE_PROCESSES,
	SHAPES,
};

/** CHUNK operations. @return 0 or a negative errno */
typedef int (*chunk_fn)(struct field *field, struct sf_cursor *cursor);

static int chunk_xadd(struct field *field, struct sf_cursor *cursor)
{
	(void)cursor;
	for (int i = 0; i < CHUNK; i++)
		/* relaxed: x86 has but one locked add */
		BENCH_KEEP(atomic_fetch_add_explicit(&field->word, 1, memory_order_relaxed));
	return 0;
}

static int chunk_ordered(struct field *field, struct sf_cursor *cursor)
{
	uint64_t id;

	(void)field;
	for (int i = 0; i < CHUNK; i++) {
		int error = sf_next_ordered(cursor, &id);

		if (error < 0)
			return error;
		BENCH_KEEP(id);
	}
	return 0;
}

static int chunk_next(struct field *field, struct sf_cursor *cursor)
{
	uint64_t id;

	(void)field;
	for (int i = 0; i < CHUNK; i++) {
		int error = sf_next(cursor, &id);

		if (error < 0)
			return error;
		BENCH_KEEP(id);
	}
	return 0;
}

struct measure {
	struct bench_result result[SHAPES];
	chunk_fn chunk;
};

#define RESULT(label)                                                                              \
	{                                                                                          \
		.question = "contention", .name = (label)                                          \
	}

static struct measure measures[] = {
	{.result = {RESULT("xadd_one"), RESULT("xadd_two_threads"), RESULT("xadd_two_processes")},
	 .chunk = chunk_xadd},
	{.result = {RESULT("ordered_one"), RESULT("ordered_two_threads"),
		    RESULT("ordered_two_processes")},
	 .chunk = chunk_ordered},
	{.result = {RESULT("next_one"), RESULT("next_two_threads"), RESULT("next_two_processes")},
	 .chunk = chunk_next},
};

#define MEASURES (sizeof(measures) / sizeof(measures[0]))

/** What a worker starts with. */
struct worker {
	struct field *field;
	struct sf_client *client;
	struct sf_cursor *cursor;
	chunk_fn chunk;
	uint32_t index;
	uint32_t workers;
	int error;
};

static bool is_over(const struct worker *worker, int64_t start)
{
	struct field *field = worker->field;

	/* relaxed, both: the flag carries no data */
	if (worker->index > 0)
		return atomic_load_explicit(&field->stop, memory_order_relaxed) != 0;
	if (bench_now_ns() - start < WINDOW_NS)
		return false;
	atomic_store_explicit(&field->stop, 1, memory_order_relaxed);
	return true;
}

/** Waits for the other worker. A worker that failed never comes. */
static int meet(const struct worker *worker)
{
	int64_t until = bench_now_ns() + READY_NS;

	atomic_fetch_add_explicit(&worker->field->ready, 1, memory_order_release);
	while (atomic_load_explicit(&worker->field->ready, memory_order_acquire) <
	       worker->workers) {
		if (bench_now_ns() > until)
			return -ETIMEDOUT;
	}
	return 0;
}

/** A worker's part, from its first fetch to its result. */
static int work(const struct worker *worker)
{
	struct result *result = &worker->field->result[worker->index];
	uint64_t ops = 0;
	int64_t start;
	int error = bench_pin((int)worker->index);

	if (error == 0)
		error = bench_warm_up(worker->cursor);
	if (error == 0)
		error = meet(worker);
	start = bench_now_ns();
	while (error == 0 && !is_over(worker, start)) {
		error = worker->chunk(worker->field, worker->cursor);
		ops += CHUNK;
	}
	result->ops = ops;
	result->ns = bench_now_ns() - start;
	return error;
}

static void *thread_main(void *data)
{
	struct worker *worker = data;

	worker->error = sf_cursor_open(worker->client, &worker->cursor);
	if (worker->error < 0)
		return NULL;
	worker->error = work(worker);
	sf_cursor_close(worker->cursor);
	return NULL;
}

static int run_threads(struct worker *first, struct worker *second)
{
	pthread_t thread;
	int error = -pthread_create(&thread, NULL, thread_main, second);

	if (error < 0)
		return error;
	error = work(first);
	(void)pthread_join(thread, NULL);
	return error < 0 ? error : second->error;
}

/** A process of its own, with a client of its own. */
_Noreturn static void process_main(struct worker *worker)
{
	struct bench_client client;

	if (bench_client_open(NULL, &client) < 0)
		_exit(EXIT_FAILURE);
	worker->cursor = client.cursor;
	_exit(work(worker) < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

static int run_processes(struct worker *first, struct worker *second)
{
	int status = 0;
	int error;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0)
		process_main(second);
	error = work(first);
	/* After a failure of ours the other one must not go on. */
	atomic_store_explicit(&first->field->stop, 1, memory_order_relaxed);
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return error < 0 || status == 0 ? error : -ECHILD;
}

static void record(const struct field *field, uint32_t workers, struct bench_result *result,
		   size_t round)
{
	for (uint32_t i = 0; i < workers; i++) {
		double ops = (double)field->result[i].ops;
		double ns = (double)field->result[i].ns / ops;

		result->ops += ops / BENCH_ROUNDS;
		result->ns[round] += ns / workers; /* the mean of the workers */
		result->per_second[round] += 1e9 / ns;
	}
}

/** One measurement of one round. */
static int run(struct field *field, const struct bench_client *client, struct measure *measure,
	       enum shape shape, size_t round)
{
	uint32_t workers = shape == SHAPE_ONE ? 1 : 2;
	struct worker first = {.field = field,
			       .client = client->client,
			       .cursor = client->cursor,
			       .chunk = measure->chunk,
			       .workers = workers};
	struct worker second = first;
	int error = 0;

	second.index = 1;
	*field = (struct field){0};
	if (shape == SHAPE_ONE)
		error = work(&first);
	else if (shape == SHAPE_THREADS)
		error = run_threads(&first, &second);
	else
		error = run_processes(&first, &second);
	if (error < 0)
		return error;
	record(field, workers, &measure->result[shape], round);
	return 0;
}

static int measure_all(struct field *field, const struct bench_client *client)
{
	int error = 0;

	for (size_t n = 0; n < BENCH_ROUNDS * MEASURES * SHAPES && error == 0; n++)
		error = run(field, client, &measures[n / SHAPES % MEASURES],
			    (enum shape)(n % SHAPES), n / SHAPES / MEASURES);
	return error;
}

int main(void)
{
	struct bench_client client;
	struct field *field;
	int error;

	if (bench_cpu_count() < 2) {
		(void)fputs("bench: contention needs two CPUs, this process may use one\n", stderr);
		return EXIT_FAILURE;
	}
	field = mmap(NULL, sizeof(*field), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (field == MAP_FAILED)
		return bench_fail("cannot map shared memory", -errno);
	if (bench_client_open(NULL, &client) < 0)
		return EXIT_FAILURE;
	error = measure_all(field, &client);
	bench_client_close(&client);
	if (error < 0)
		return bench_fail("cannot measure", error);
	for (size_t i = 0; i < MEASURES * SHAPES; i++)
		bench_emit(&measures[i / SHAPES].result[i % SHAPES]);
	return EXIT_SUCCESS;
}
