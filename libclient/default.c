/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sf_id and sf_id128: one default client for the process, one cursor for each thread, both made at
 * first use.
 *
 * Pairs in this file:  D1 -> D2   the default client is open before another thread uses it
 */
#include "libclient/client.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

/*
 * Initial-exec: the thread-local pointer is one load away, without a call to __tls_get_addr(). It
 * takes 8 bytes of the static TLS that the loader reserves, so dlopen() works too.
 */
static __thread struct sf_cursor *thread_cursor __attribute__((tls_model("initial-exec")));

static _Atomic(struct sf_client *) default_client;
static _Atomic int default_key_made;
static pthread_key_t default_key;

/*
 * Who opens the default client: 0 nobody, else a process id. A process id and not a flag, because a
 * fork during the opening leaves the child with a lock whose owner does not exist in it.
 */
static _Atomic pid_t opener;

static void close_thread_cursor(void *cursor)
{
	thread_cursor = NULL;
	sf_cursor_close(cursor);
}

static int open_locked(struct sf_client **ret_client)
{
	/* relaxed: written under the same lock */
	struct sf_client *client = atomic_load_explicit(&default_client, memory_order_relaxed);
	int error;

	if (!client) {
		if (!atomic_load_explicit(&default_key_made, memory_order_relaxed)) {
			error = pthread_key_create(&default_key, close_thread_cursor);
			if (error != 0)
				return -error;
			atomic_store_explicit(&default_key_made, 1, memory_order_relaxed);
		}
		error = sf_open(NULL, &client);
		if (error < 0)
			return error;
		/* D1, pairs with D2 */
		atomic_store_explicit(&default_client, client, memory_order_release);
	}
	*ret_client = client;
	return 0;
}

static int open_default(struct sf_client **ret_client)
{
	pid_t self = getpid();
	pid_t owner = 0;
	int error;

	/* D2, pairs with D1 */
	*ret_client = atomic_load_explicit(&default_client, memory_order_acquire);
	if (*ret_client)
		return 0;
	/* Acquire on success: sees what the last owner made; relaxed on failure: only compared. */
	while (!atomic_compare_exchange_weak_explicit(&opener, &owner, self, memory_order_acquire,
						      memory_order_relaxed)) {
		if (owner == self) { /* another thread is at it */
			(void)sched_yield();
			owner = 0;
		}
		/* else: left over from before a fork; the next try replaces it */
	}
	error = open_locked(ret_client);
	/* Release, pairs with the acquire above. */
	atomic_store_explicit(&opener, 0, memory_order_release);
	return error;
}

__attribute__((cold, noinline)) static int open_thread_cursor(void)
{
	struct sf_client *client;
	struct sf_cursor *cursor;
	int error = open_default(&client);

	if (error < 0)
		return error;
	error = sf_cursor_open(client, &cursor);
	if (error < 0)
		return error;
	error = pthread_setspecific(default_key, cursor);
	if (error != 0) {
		sf_cursor_close(cursor);
		return -error;
	}
	thread_cursor = cursor;
	return 0;
}

int sf_id(uint64_t *ret_id)
{
	if (__builtin_expect(thread_cursor == NULL, 0)) {
		int error = open_thread_cursor();

		if (error < 0)
			return error;
	}
	return sf_next_inline(thread_cursor, ret_id);
}

int sf_id128(struct sf_wide *ret_id)
{
	if (__builtin_expect(thread_cursor == NULL, 0)) {
		int error = open_thread_cursor();

		if (error < 0)
			return error;
	}
	return sf_next128_inline(thread_cursor, ret_id);
}

const struct sf_cursor *sf_default_cursor(void)
{
	return thread_cursor;
}
