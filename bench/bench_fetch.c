/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Question: what does one fetch cost one thread, beside the cheapest things it could be compared
 * with? Pinned to one CPU; every way is measured once a round, so that a change of the CPU's clock
 * meets all of them.
 */
#include "bench/bare.h"
#include "bench/bench_support.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* Shortest time that is measured. */
#define CHUNK_NS INT64_C(5000000)
#define FILL_SMALL 1000
#define FILL_LARGE 100000

/** What the ways work on. */
struct field {
	struct sf_cursor *cursor;
	uint64_t *ids; /* FILL_LARGE entries */
};

/** A way: does `count` operations. @return 0 or a negative errno */
typedef int (*way_fn)(const struct field *field, uint64_t count);

static __thread uint64_t thread_word;

static int increment(const struct field *field, uint64_t count)
{
	(void)field;
	for (uint64_t i = 0; i < count; i++) {
		thread_word++;
		BENCH_BARRIER();
	}
	return 0;
}

static int bare_call(const struct field *field, uint64_t count)
{
	uint64_t word = 0;

	(void)field;
	for (uint64_t i = 0; i < count; i++)
		BENCH_KEEP(bench_bare_next(&word));
	return 0;
}

static int locked_add(const struct field *field, uint64_t count)
{
	static alignas(128) _Atomic uint64_t word;

	(void)field;
	for (uint64_t i = 0; i < count; i++)
		/* relaxed: x86 has but one locked add */
		BENCH_KEEP(atomic_fetch_add_explicit(&word, 1, memory_order_relaxed));
	return 0;
}

static int clock_read(const struct field *field, uint64_t count)
{
	struct timespec now;

	(void)field;
	for (uint64_t i = 0; i < count; i++) {
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
		BENCH_BARRIER();
	}
	return 0;
}

static int next_inline(const struct field *field, uint64_t count)
{
	struct sf_cursor *cursor = field->cursor;
	uint64_t id;

	for (uint64_t i = 0; i < count; i++) {
		int error = sf_next(cursor, &id);

		if (error < 0)
			return error;
		BENCH_KEEP(id);
	}
	return 0;
}

static int next_called(const struct field *field, uint64_t count)
{
	return bench_next_called(field->cursor, count);
}

static int next_ordered(const struct field *field, uint64_t count)
{
	struct sf_cursor *cursor = field->cursor;
	uint64_t id;

	for (uint64_t i = 0; i < count; i++) {
		int error = sf_next_ordered(cursor, &id);

		if (error < 0)
			return error;
		BENCH_KEEP(id);
	}
	return 0;
}

static int claim_one(const struct field *field, uint64_t count)
{
	struct sf_range range;

	for (uint64_t i = 0; i < count; i++) {
		int error = sf_claim_range(field->cursor, 1, &range);

		if (error < 0)
			return error;
		BENCH_KEEP(range.first);
	}
	return 0;
}

/** `count` IDs, `batch` at a time, into the same array over and over. */
static int fill(const struct field *field, uint64_t count, uint64_t batch)
{
	for (uint64_t done = 0; done < count; done += batch) {
		int error = sf_fill(field->cursor, field->ids, batch);

		if (error < 0)
			return error;
		BENCH_BARRIER();
	}
	return 0;
}

static int fill_small(const struct field *field, uint64_t count)
{
	return fill(field, count, FILL_SMALL);
}

static int fill_large(const struct field *field, uint64_t count)
{
	return fill(field, count, FILL_LARGE);
}

/** The same array, filled from a counter. */
static int store(const struct field *field, uint64_t count, uint64_t batch)
{
	uint64_t *ids = field->ids;
	uint64_t word = thread_word;

	for (uint64_t done = 0; done < count; done += batch) {
		for (uint64_t i = 0; i < batch; i++)
			ids[i] = word++;
		BENCH_BARRIER();
	}
	thread_word = word;
	return 0;
}

static int store_small(const struct field *field, uint64_t count)
{
	return store(field, count, FILL_SMALL);
}

static int store_large(const struct field *field, uint64_t count)
{
	return store(field, count, FILL_LARGE);
}

static int attach(const struct field *field, uint64_t count)
{
	(void)field;
	for (uint64_t i = 0; i < count; i++) {
		struct sf_client *client;
		int error = sf_open(NULL, &client);

		if (error < 0)
			return error;
		sf_close(client);
	}
	return 0;
}

struct measure {
	struct bench_result result;
	way_fn way;
	uint64_t multiple; /* operations come in multiples of this */
	uint64_t count;    /* operations of a chunk */
};

#define WAY(label, function, unit)                                                                 \
	{                                                                                          \
		.result = {.question = "fetch", .name = (label)}, .way = (function),               \
		.multiple = (unit)                                                                 \
	}

static struct measure measures[] = {
	WAY("increment", increment, 1000),
	WAY("bare_call", bare_call, 1000),
	WAY("xadd", locked_add, 1000),
	WAY("clock", clock_read, 1000),
	WAY("next_inline", next_inline, 1000),
	WAY("next_called", next_called, 1000),
	WAY("next_ordered", next_ordered, 1000),
	WAY("store_1000", store_small, FILL_SMALL),
	WAY("fill_1000", fill_small, FILL_SMALL),
	WAY("store_100000", store_large, FILL_LARGE),
	WAY("fill_100000", fill_large, FILL_LARGE),
	WAY("claim", claim_one, 1000),
	WAY("attach", attach, 1),
};

#define MEASURES (sizeof(measures) / sizeof(measures[0]))

/** One chunk, with the daemon beating. @return its time, or a negative errno */
static int64_t chunk(const struct field *field, const struct measure *measure, uint64_t count)
{
	int error = bench_warm_up(field->cursor);
	int64_t start;

	if (error < 0)
		return error;
	start = bench_now_ns();
	error = measure->way(field, count);
	return error < 0 ? error : bench_now_ns() - start;
}

/** Finds how many operations fill a chunk. */
static int calibrate(const struct field *field, struct measure *measure)
{
	int64_t ns = 0;

	for (measure->count = measure->multiple; ns < CHUNK_NS; measure->count *= 2) {
		ns = chunk(field, measure, measure->count);
		if (ns < 0)
			return (int)ns;
	}
	return 0;
}

static int measure_all(const struct field *field)
{
	int error = 0;

	for (size_t i = 0; i < MEASURES && error == 0; i++)
		error = calibrate(field, &measures[i]);
	for (size_t n = 0; n < BENCH_ROUNDS * MEASURES && error == 0; n++) {
		struct measure *measure = &measures[n % MEASURES];
		int64_t ns = chunk(field, measure, measure->count);

		if (ns < 0)
			error = (int)ns;
		measure->result.ns[n / MEASURES] = (double)ns / (double)measure->count;
		measure->result.per_second[n / MEASURES] =
			(double)measure->count * 1e9 / (double)ns;
	}
	return error;
}

int main(void)
{
	static uint64_t ids[FILL_LARGE];
	struct bench_client client;
	struct field field = {.ids = ids};
	int error = bench_pin(0);

	if (error < 0)
		return bench_fail("cannot pin to a CPU", error);
	if (bench_client_open(&client) < 0)
		return EXIT_FAILURE;
	field.cursor = client.cursor;
	error = measure_all(&field);
	bench_client_close(&client);
	if (error < 0)
		return bench_fail("cannot take an ID", error);
	for (size_t i = 0; i < MEASURES; i++) {
		measures[i].result.ops = (double)measures[i].count;
		bench_emit(&measures[i].result);
	}
	return EXIT_SUCCESS;
}
