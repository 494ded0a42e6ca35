/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Question: what does one fetch cost one thread, beside the cheapest things it could be compared
 * with, and one of a wide format beside one of 64 bits? Pinned to one CPU. Arguments are the names
 * of the streams of wide formats to measure.
 */
#include "bench/bare.h"
#include "bench/bench_rounds.h"

#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FILL_SMALL 1000
#define FILL_LARGE 100000
#define STREAMS_MAX 4

/** What the ways work on. */
struct field {
	struct sf_cursor *cursor;
	uint64_t *ids;            /* FILL_LARGE entries */
	struct sf_wide *wide_ids; /* FILL_SMALL entries */
};

static __thread uint64_t thread_word;

static struct sf_cursor *cursor_of(const void *field)
{
	return ((const struct field *)field)->cursor;
}

static int increment(const void *field, uint64_t count)
{
	(void)field;
	for (uint64_t i = 0; i < count; i++) {
		thread_word++;
		BENCH_BARRIER();
	}
	return 0;
}

static int bare_call(const void *field, uint64_t count)
{
	uint64_t word = 0;

	(void)field;
	for (uint64_t i = 0; i < count; i++)
		BENCH_KEEP(bench_bare_next(&word));
	return 0;
}

static int locked_add(const void *field, uint64_t count)
{
	static alignas(128) _Atomic uint64_t word;

	(void)field;
	for (uint64_t i = 0; i < count; i++)
		/* relaxed: x86 has but one locked add */
		BENCH_KEEP(atomic_fetch_add_explicit(&word, 1, memory_order_relaxed));
	return 0;
}

static int clock_read(const void *field, uint64_t count)
{
	struct timespec now;

	(void)field;
	for (uint64_t i = 0; i < count; i++) {
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
		BENCH_BARRIER();
	}
	return 0;
}

static int next_inline(const void *field, uint64_t count)
{
	struct sf_cursor *cursor = cursor_of(field);
	uint64_t id;

	for (uint64_t i = 0; i < count; i++) {
		int error = sf_next(cursor, &id);

		if (error < 0)
			return error;
		BENCH_KEEP(id);
	}
	return 0;
}

static int next_called(const void *field, uint64_t count)
{
	return bench_next_called(cursor_of(field), count);
}

static int next_ordered(const void *field, uint64_t count)
{
	struct sf_cursor *cursor = cursor_of(field);
	uint64_t id;

	for (uint64_t i = 0; i < count; i++) {
		int error = sf_next_ordered(cursor, &id);

		if (error < 0)
			return error;
		BENCH_KEEP(id);
	}
	return 0;
}

static int claim_one(const void *field, uint64_t count)
{
	struct sf_cursor *cursor = cursor_of(field);
	struct sf_range range;

	for (uint64_t i = 0; i < count; i++) {
		int error = sf_claim_range(cursor, 1, &range);

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

static int fill_small(const void *field, uint64_t count)
{
	return fill(field, count, FILL_SMALL);
}

static int fill_large(const void *field, uint64_t count)
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

static int store_small(const void *field, uint64_t count)
{
	return store(field, count, FILL_SMALL);
}

static int store_large(const void *field, uint64_t count)
{
	return store(field, count, FILL_LARGE);
}

static int next128_inline(const void *field, uint64_t count)
{
	struct sf_cursor *cursor = cursor_of(field);
	struct sf_wide id;

	for (uint64_t i = 0; i < count; i++) {
		int error = sf_next128(cursor, &id);

		if (error < 0)
			return error;
		BENCH_KEEP(&id);
	}
	return 0;
}

static int next128_ordered(const void *field, uint64_t count)
{
	struct sf_cursor *cursor = cursor_of(field);
	struct sf_wide id;

	for (uint64_t i = 0; i < count; i++) {
		int error = sf_next128_ordered(cursor, &id);

		if (error < 0)
			return error;
		BENCH_KEEP(&id);
	}
	return 0;
}

/** What fill128() fills, from a counter. */
static int store128(const void *field, uint64_t count)
{
	struct sf_wide *ids = ((const struct field *)field)->wide_ids;
	uint64_t word = thread_word;

	for (uint64_t done = 0; done < count; done += FILL_SMALL) {
		for (uint64_t i = 0; i < FILL_SMALL; i++)
			ids[i] = (struct sf_wide){.high = count, .low = word++};
		BENCH_BARRIER();
	}
	thread_word = word;
	return 0;
}

/** As fill_small(). */
static int fill128(const void *field, uint64_t count)
{
	struct sf_wide *ids = ((const struct field *)field)->wide_ids;

	for (uint64_t done = 0; done < count; done += FILL_SMALL) {
		int error = sf_fill128(cursor_of(field), ids, FILL_SMALL);

		if (error < 0)
			return error;
		BENCH_BARRIER();
	}
	return 0;
}

static int attach(const void *field, uint64_t count)
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

/** A row of the table. */
struct row {
	const char *name;
	bench_run_fn run;
	uint64_t multiple;
};

static const struct row rows[] = {
	{"increment", increment, 1000},
	{"bare_call", bare_call, 1000},
	{"xadd", locked_add, 1000},
	{"clock", clock_read, 1000},
	{"next_inline", next_inline, 1000},
	{"next_called", next_called, 1000},
	{"next_ordered", next_ordered, 1000},
	{"store_1000", store_small, FILL_SMALL},
	{"fill_1000", fill_small, FILL_SMALL},
	{"store_100000", store_large, FILL_LARGE},
	{"fill_100000", fill_large, FILL_LARGE},
	{"store128_1000", store128, FILL_SMALL},
	{"claim", claim_one, 1000},
	{"attach", attach, 1},
};

/* Of each stream of a wide format, whose name is put behind. */
static const struct row wide_rows[] = {
	{"next128", next128_inline, 1000},
	{"next128_ordered", next128_ordered, 1000},
	{"fill128_1000", fill128, FILL_SMALL},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))
#define WIDE_ROWS (sizeof(wide_rows) / sizeof(wide_rows[0]))

/** Everything that is measured: the stream of 64-bit IDs first. */
struct plan {
	struct bench_client client[1 + STREAMS_MAX];
	struct field field[1 + STREAMS_MAX];
	size_t streams;
	struct bench_way way[ROWS + STREAMS_MAX * WIDE_ROWS];
	char name[ROWS + STREAMS_MAX * WIDE_ROWS][48];
	size_t ways;
};

/** @param stream a suffix of the rows' names; NULL: the stream of 64-bit IDs */
static int plan_stream(struct plan *plan, const char *stream, const struct row *row, size_t n)
{
	struct field *field = &plan->field[plan->streams];
	int error = bench_client_open(stream, &plan->client[plan->streams]);

	if (error < 0)
		return error;
	field->cursor = plan->client[plan->streams++].cursor;
	for (size_t i = 0; i < n; i++, plan->ways++) {
		char *name = plan->name[plan->ways];

		(void)snprintf(name, sizeof(plan->name[0]), "%s%s%s", row[i].name,
			       stream ? "_" : "", stream ? stream : "");
		plan->way[plan->ways] = (struct bench_way){
			.result = {.question = "fetch", .name = name},
			.run = row[i].run,
			.field = field,
			.cursor = field->cursor,
			.multiple = row[i].multiple,
		};
	}
	return 0;
}

static int plan_all(struct plan *plan, char **streams)
{
	int error = plan_stream(plan, NULL, rows, ROWS);

	for (; *streams && error == 0; streams++)
		error = plan_stream(plan, *streams, wide_rows, WIDE_ROWS);
	return error;
}

int main(int argc, char **argv)
{
	static uint64_t ids[FILL_LARGE];
	static struct sf_wide wide_ids[FILL_SMALL];
	static struct plan plan;
	int error = bench_pin(0);

	if (argc > 1 + STREAMS_MAX)
		return bench_fail("too many streams", -E2BIG);
	if (error < 0)
		return bench_fail("cannot pin to a CPU", error);
	for (size_t i = 0; i < 1 + STREAMS_MAX; i++)
		plan.field[i] = (struct field){.ids = ids, .wide_ids = wide_ids};
	if (plan_all(&plan, argv + 1) < 0)
		return EXIT_FAILURE;
	error = bench_rounds(plan.way, plan.ways);
	while (plan.streams > 0)
		bench_client_close(&plan.client[--plan.streams]);
	return error < 0 ? bench_fail("cannot take an ID", error) : EXIT_SUCCESS;
}
