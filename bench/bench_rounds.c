/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Measuring in rounds; see bench_rounds.h. On the caller's thread, which should be pinned. Never
 * calls anything inside the timed part but the way itself.
 */
#include "bench/bench_rounds.h"

/* Shortest time that is measured. */
#define CHUNK_NS INT64_C(5000000)

/** One chunk, with the daemon beating. @return its time, or a negative errno */
static int64_t chunk(const struct bench_way *way, uint64_t count)
{
	int error = way->cursor ? bench_warm_up(way->cursor) : 0;
	int64_t start;

	if (error < 0)
		return error;
	start = bench_now_ns();
	error = way->run(way->field, count);
	return error < 0 ? error : bench_now_ns() - start;
}

/** Finds how many operations fill a chunk. */
static int calibrate(struct bench_way *way)
{
	int64_t ns = 0;

	for (way->count = way->multiple; ns < CHUNK_NS; way->count *= 2) {
		ns = chunk(way, way->count);
		if (ns < 0)
			return (int)ns;
	}
	way->result.ops = (double)way->count;
	return 0;
}

int bench_rounds(struct bench_way *ways, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int error = calibrate(&ways[i]);

		if (error < 0)
			return error;
	}
	for (size_t i = 0; i < n * BENCH_ROUNDS; i++) {
		struct bench_way *way = &ways[i % n];
		int64_t ns = chunk(way, way->count);

		if (ns < 0)
			return (int)ns;
		way->result.ns[i / n] = (double)ns / (double)way->count;
		way->result.per_second[i / n] = (double)way->count * 1e9 / (double)ns;
	}
	for (size_t i = 0; i < n; i++)
		bench_emit(&ways[i].result);
	return 0;
}
