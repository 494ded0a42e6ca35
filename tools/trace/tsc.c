/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The time-stamp counter; see tsc.h. An interruption between two readings makes a result larger,
 * never smaller: so each is tried a few times.
 */
#include "tools/trace/tsc.h"

#include "shm/tsc.h"
#include "tools/trace/dist.h"

#include <time.h>

#define LOOKS 16
#define PAIRS 20000
#define WORK_MAX 251

struct sfctl_tsc sfctl_tsc_now(void)
{
	struct sfctl_tsc best = {0};
	uint64_t best_gap = UINT64_MAX;

	for (int i = 0; i < LOOKS; i++) {
		uint64_t begin = sf_tsc_begin();
		struct timespec now;
		uint64_t gap;

		(void)clock_gettime(CLOCK_MONOTONIC, &now);
		gap = sf_tsc_end() - begin;
		if (gap >= best_gap)
			continue;
		best_gap = gap;
		best.tsc = begin + gap / 2;
		best.mono_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	}
	return best;
}

double sfctl_tsc_ghz(struct sfctl_tsc begin, struct sfctl_tsc end)
{
	return (double)(end.tsc - begin.tsc) / (double)(end.mono_ns - begin.mono_ns);
}

static void spin(unsigned times)
{
	for (; times > 0; times--)
		__asm__ volatile("" : : "r"(times));
}

/** As sfctl_dist has it for what the stopwatch is used for. */
static double typical_cost(void)
{
	static struct sf_hist hist;    /* large */
	static struct sfctl_dist dist; /* large */
	const struct sfctl_scale cycles = {.per_unit = 1};

	hist = (struct sf_hist){0};
	for (unsigned i = 0; i < PAIRS; i++) {
		uint64_t begin;

		/* at no fixed distance, or a counter of large steps always shows the same side */
		spin(i % WORK_MAX);
		begin = sf_tsc_begin();
		sfctl_hist_add(&hist, sf_tsc_end() - begin);
	}
	sfctl_dist_init(&dist, &hist, cycles);
	return dist.typical;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/** All times are multiples of it, whatever is timed. */
static uint64_t find_step(void)
{
	uint64_t step = 0;

	for (unsigned i = 0; i < PAIRS; i++) {
		uint64_t begin = sf_tsc_begin();

		spin(i % WORK_MAX);
		step = gcd(sf_tsc_end() - begin, step);
	}
	return step;
}

struct sfctl_stopwatch sfctl_stopwatch_try(void)
{
	return (struct sfctl_stopwatch){.cost = typical_cost(), .step = (double)find_step()};
}
