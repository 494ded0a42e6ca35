/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Peers that a user could write in an hour: a word in shared memory (the file that PEERS_WORD
 * names) with a locked add or a compare-and-swap, a Snowflake in such a word, and a Snowflake of
 * each process's own, as most libraries have it. The first is no ID, but the floor of what is
 * ordered over processes; the last repeats IDs as soon as two processes use it, which shows that
 * the counting of duplicates sees them.
 */
#include "bench/peers/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* The layout of twitter: 41 bits of milliseconds, 10 of the machine, 12 of the sequence. */
#define SEQUENCE_BITS 12
#define TICK_SHIFT 22
#define MACHINE UINT64_C(7)
#define RANGE 1000

/* One word of any number of processes | W, R: all workers | relaxed: nothing hangs on it */
typedef _Atomic uint64_t peer_word;

static int open_word(void **ret_state)
{
	const char *path = getenv("PEERS_WORD"); // NOLINT(concurrency-mt-unsafe): nobody sets it
	void *map;
	int fd;

	if (!path) {
		(void)fputs("PEERS_WORD must name the file with the shared word\n", stderr);
		return -EINVAL;
	}
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, 4096) < 0)
		return -errno;
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (map == MAP_FAILED)
		return -errno;
	*ret_state = map;
	return 0;
}

static inline int add(void *state, union peer_id *ret_id)
{
	peer_word *word = state;

	ret_id->words[0] = atomic_fetch_add_explicit(word, 1, memory_order_relaxed);
	return 0;
}

static int run_add(void *state, uint64_t count, union peer_id *ids)
{
	return peer_loop(add, state, count, ids);
}

/** A thread's range. */
struct range {
	peer_word *word;
	uint64_t next;
	uint64_t end;
};

static int open_range(void **ret_state)
{
	struct range *range = calloc(1, sizeof(*range));
	void *word = NULL;
	int error = range ? open_word(&word) : -ENOMEM;

	if (error < 0) {
		free(range);
		return error;
	}
	range->word = word;
	*ret_state = range;
	return 0;
}

static inline int from_range(void *state, union peer_id *ret_id)
{
	struct range *range = state;

	if (range->next == range->end) {
		range->next = atomic_fetch_add_explicit(range->word, RANGE, memory_order_relaxed);
		range->end = range->next + RANGE;
	}
	ret_id->words[0] = range->next++;
	return 0;
}

static int run_ranges(void *state, uint64_t count, union peer_id *ids)
{
	return peer_loop(from_range, state, count, ids);
}

static inline int swap(void *state, union peer_id *ret_id)
{
	peer_word *word = state;
	uint64_t old = atomic_load_explicit(word, memory_order_relaxed);

	while (!atomic_compare_exchange_weak_explicit(word, &old, old + 1, memory_order_relaxed,
						      memory_order_relaxed))
		;
	ret_id->words[0] = old;
	return 0;
}

static int run_swap(void *state, uint64_t count, union peer_id *ids)
{
	return peer_loop(swap, state, count, ids);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/** The word holds (ms, sequence) of the last ID; a full tick is waited out. */
static inline int snowflake(void *state, union peer_id *ret_id)
{
	peer_word *word = state;
	uint64_t old = atomic_load_explicit(word, memory_order_relaxed);
	uint64_t id;

	do {
		uint64_t start = now_ms() << SEQUENCE_BITS;

		while (old >= start + (1 << SEQUENCE_BITS) - 1) {
			start = now_ms() << SEQUENCE_BITS;
			old = atomic_load_explicit(word, memory_order_relaxed);
		}
		id = old < start ? start : old + 1;
	} while (!atomic_compare_exchange_weak_explicit(word, &old, id, memory_order_relaxed,
							memory_order_relaxed));
	ret_id->words[0] = id >> SEQUENCE_BITS << TICK_SHIFT | MACHINE << SEQUENCE_BITS |
			   (id & ((1 << SEQUENCE_BITS) - 1));
	return 0;
}

static int run_snowflake(void *state, uint64_t count, union peer_id *ids)
{
	return peer_loop(snowflake, state, count, ids);
}

/** The same with a lock, and in this process alone. */
static int own(void *state, union peer_id *ret_id)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static uint64_t tick;
	static uint64_t sequence;
	uint64_t now;

	(void)state;
	(void)pthread_mutex_lock(&mutex);
	do {
		now = now_ms();
	} while (now < tick || (now == tick && sequence == 1 << SEQUENCE_BITS));
	if (now != tick)
		sequence = 0;
	tick = now;
	ret_id->words[0] = tick << TICK_SHIFT | MACHINE << SEQUENCE_BITS | sequence++;
	(void)pthread_mutex_unlock(&mutex);
	return 0;
}

static int run_own(void *state, uint64_t count, union peer_id *ids)
{
	return peer_loop(own, state, count, ids);
}

int main(int argc, char **argv)
{
	static const struct peer_way ways[] = {
		{"xadd", open_word, NULL, run_add, 1},
		{"ranges", open_range, NULL, run_ranges, 1},
		{"cas", open_word, NULL, run_swap, 1},
		{"shared", open_word, NULL, run_snowflake, 1},
		{"own", NULL, NULL, run_own, 1},
	};

	return peer_main(argc, argv, ways, sizeof(ways) / sizeof(ways[0]));
}
