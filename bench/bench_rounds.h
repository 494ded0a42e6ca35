/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Ways of doing something, measured beside each other on the calling thread. In rounds: every way
 * is measured once before any is measured again, so that a change of the CPU's clock meets all.
 */
#ifndef BENCH_ROUNDS_H
#define BENCH_ROUNDS_H

#include "bench/bench_support.h"

#include <stddef.h>

/** Does `count` operations on what it knows. @return 0 or a negative errno */
typedef int (*bench_run_fn)(const void *field, uint64_t count);

/** A way, and what was measured of it. */
struct bench_way {
	struct bench_result result; /* the caller sets question and name */
	bench_run_fn run;
	const void *field;        /* first argument of `run` */
	struct sf_cursor *cursor; /* is warm when the way starts; NULL: there is none */
	uint64_t multiple;        /* operations come in multiples of this */
	uint64_t count;           /* operations of a round */
};

/** Measure all rounds of all ways, and print them. @return 0 or what a way failed with */
int bench_rounds(struct bench_way *ways, size_t n);

#endif
