/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What the benchmark programs share: time, CPUs, a cursor to fetch from, and how a result is
 * printed. Main thread, unless a function says otherwise. Every program prints one JSON object a
 * line; those that take IDs look for the daemon at SFD_SOCKET.
 */
#ifndef BENCH_SUPPORT_H
#define BENCH_SUPPORT_H

#include <sfclient.h>
#include <stdint.h>

/** Rounds of every measurement: all are done once before any is done again. */
#define BENCH_ROUNDS 15

/** The compiler must believe that all memory was read and written here. */
#define BENCH_BARRIER() __asm__ volatile("" : : : "memory")
/** Likewise, and that the value is used. */
#define BENCH_KEEP(value) __asm__ volatile("" : : "r"(value) : "memory")

/** `count` calls of the sf_next() in the library; bench_call.c. @return 0 or a negative errno */
int bench_next_called(struct sf_cursor *cursor, uint64_t count);

/** CLOCK_MONOTONIC. Any thread. */
int64_t bench_now_ns(void);

/** Number of CPUs that this process may use. */
int bench_cpu_count(void);

/** Pin the calling thread to the `index`-th of these, counted from the last. Any thread. */
int bench_pin(int index);

/** A client and a cursor of it. */
struct bench_client {
	struct sf_client *client;
	struct sf_cursor *cursor;
};

/**
 * @param stream NULL: the one that SFD_STREAM names
 * @return 0, or a negative errno after one sentence on stderr
 */
int bench_client_open(const char *stream, struct bench_client *ret_client);
void bench_client_close(struct bench_client *client);

/**
 * Fetch until the daemon beats, which shows in that the cursor keeps a range; half a second at
 * most. Any thread.
 * @return 0 or an error of sf_next() or sf_next128()
 */
int bench_warm_up(struct sf_cursor *cursor);

/** One result: every round's time for one operation, and what all workers did a second. */
struct bench_result {
	const char *question;
	const char *name;
	double ops; /* of a round, about */
	double ns[BENCH_ROUNDS];
	double per_second[BENCH_ROUNDS];
};

/** Print a result: median, least and greatest, and all rounds in the order they were measured. */
void bench_emit(const struct bench_result *result);

/** One sentence on stderr. @return 1, an exit code */
int bench_fail(const char *what, int error);

#endif
