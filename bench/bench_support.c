/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Helpers of the benchmark programs; see bench_support.h. None is called inside a timed loop.
 */
#include "bench/bench_support.h"

#include <errno.h>
#include <jansson.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WARM_UP_NS INT64_C(500000000)
#define WARM_BATCH 64

int64_t bench_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/*
 * The CPUs at the first call, because pinning narrows what the kernel reports. That call comes from
 * main(), before any thread.
 */
static const cpu_set_t *cpus(void)
{
	static cpu_set_t set;

	if (CPU_COUNT(&set) == 0 && sched_getaffinity(0, sizeof(set), &set) < 0)
		CPU_SET(0, &set);
	return &set;
}

int bench_cpu_count(void)
{
	return CPU_COUNT(cpus());
}

int bench_pin(int index)
{
	cpu_set_t one;

	for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--) {
		if (!CPU_ISSET((size_t)cpu, cpus()) || index-- > 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET((size_t)cpu, &one);
		return sched_setaffinity(0, sizeof(one), &one) < 0 ? -errno : 0;
	}
	return -EINVAL;
}

static void show(void *data, int level, const char *message)
{
	(void)data;
	if (level <= SF_LOG_WARNING)
		(void)fprintf(stderr, "bench: %s\n", message);
}

int bench_client_open(const char *stream, struct bench_client *ret_client)
{
	struct sf_options options = {.size = sizeof(options), .stream = stream, .log = show};
	struct bench_client client = {0};
	int error = sf_open(&options, &client.client);

	if (error == 0)
		error = sf_cursor_open(client.client, &client.cursor);
	if (error < 0) {
		sf_close(client.client);
		(void)bench_fail("cannot open a client and a cursor", error);
		return error;
	}
	*ret_client = client;
	return 0;
}

void bench_client_close(struct bench_client *client)
{
	sf_cursor_close(client->cursor);
	sf_close(client->client);
}

/** Any ID: a cursor alone does not tell how wide its stream's are. */
static int fetch(struct sf_cursor *cursor)
{
	struct sf_wide wide;
	uint64_t id;
	int error = sf_next(cursor, &id);

	return error == -ENOTSUP ? sf_next128(cursor, &wide) : error;
}

int bench_warm_up(struct sf_cursor *cursor)
{
	int64_t until = bench_now_ns() + WARM_UP_NS;

	do {
		for (int i = 0; i < WARM_BATCH; i++) {
			int error = fetch(cursor);

			if (error < 0)
				return error;
		}
	} while (cursor->next == cursor->end && cursor->low == cursor->low_end &&
		 bench_now_ns() < until);
	return 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static void sorted(const double *values, double *ret_sorted)
{
	memcpy(ret_sorted, values, BENCH_ROUNDS * sizeof(values[0]));
	qsort(ret_sorted, BENCH_ROUNDS, sizeof(ret_sorted[0]), compare);
}

static json_t *to_array(const double *values)
{
	json_t *array = json_array();

	for (int i = 0; i < BENCH_ROUNDS; i++)
		(void)json_array_append_new(array, json_real(values[i]));
	return array;
}

void bench_emit(const struct bench_result *result)
{
	double ns[BENCH_ROUNDS];
	double per_second[BENCH_ROUNDS];
	json_t *line;

	sorted(result->ns, ns);
	sorted(result->per_second, per_second);
	line = json_pack("{ss ss sf sf sf sf sf si so so}", "question", result->question, "name",
			 result->name, "ns", ns[BENCH_ROUNDS / 2], "least_ns", ns[0], "greatest_ns",
			 ns[BENCH_ROUNDS - 1], "per_second", per_second[BENCH_ROUNDS / 2],
			 "ops_per_round", result->ops, "rounds", BENCH_ROUNDS, "round_ns",
			 to_array(result->ns), "round_per_second", to_array(result->per_second));
	/* A line that is missing makes the report fail; there is nothing else to do here. */
	if (line && json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0)
		(void)putchar('\n');
	json_decref(line);
}

int bench_fail(const char *what, int error)
{
	(void)fprintf(stderr, "bench: %s: %s\n", what, sf_strerror(error));
	return EXIT_FAILURE;
}
