/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Cursors: a thread's position in the range it claimed last, and the calls that use it. A cursor
 * is two pages: the public part on a page that fork wipes, the private part on the page after it.
 * A wiped cursor reads as an empty range, so a child's next call starts with a claim of its own.
 */
#include "libclient/client.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int sf_cursor_open(struct sf_client *client, struct sf_cursor **ret_cursor)
{
	struct sf_cursor_private *private;
	char *pages;

	if (!client || !ret_cursor)
		return -EINVAL;
	if (page_bytes() > SF_CURSOR_PAGE) {
		sf_log(client, SF_LOG_ERROR,
		       "pages of %zu bytes: this build of libsfclient knows pages of %u",
		       page_bytes(), SF_CURSOR_PAGE);
		return -EINVAL;
	}
	pages = mmap(NULL, (size_t)2 * SF_CURSOR_PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (pages == MAP_FAILED)
		return -errno;
	if (madvise(pages, SF_CURSOR_PAGE, MADV_WIPEONFORK) < 0) {
		int error = -errno;

		sf_log(client, SF_LOG_ERROR,
		       "MADV_WIPEONFORK: %s; IDs could repeat after fork, so no cursor is made",
		       strerrordesc_np(-error));
		(void)munmap(pages, (size_t)2 * SF_CURSOR_PAGE);
		return error;
	}
	private = sf_cursor_private((struct sf_cursor *)pages);
	private->client = client;
	private->attachment = sf_attachment_get(client);
	private->wait = client->wait;
	private->timeout_ns = client->timeout_ns;
	private->claim_size = 1;
	/* relaxed: the caller holds a reference of its own meanwhile */
	atomic_fetch_add_explicit(&client->refs, 1, memory_order_relaxed);
	*ret_cursor = (struct sf_cursor *)pages;
	return 0;
}

void sf_cursor_close(struct sf_cursor *cursor)
{
	struct sf_cursor_private *private;
	struct sf_client *client;

	if (!cursor)
		return;
	private = sf_cursor_private(cursor);
	client = private->client;
	sf_cursor_drop(cursor, private);
	sf_attachment_put(private->attachment);
	(void)munmap(cursor, (size_t)2 * SF_CURSOR_PAGE);
	sf_client_unref(client);
}

int sf_cursor_set_wait(struct sf_cursor *cursor, uint32_t wait, int64_t timeout_ns)
{
	if (!cursor || wait < SF_WAIT_SLEEP || wait > SF_WAIT_NONE || timeout_ns == 0 ||
	    timeout_ns < SF_TIMEOUT_NONE)
		return -EINVAL;
	sf_cursor_private(cursor)->wait = wait;
	sf_cursor_private(cursor)->timeout_ns = timeout_ns;
	return 0;
}

/** Gives up what is left of the range, so that a later ID of this cursor is always larger. */
void sf_cursor_drop(struct sf_cursor *cursor, struct sf_cursor_private *private)
{
	if (cursor->next == cursor->end)
		return;
	sf_count_dropped(&private->attachment->ring, (cursor->end - cursor->next) / cursor->step);
	cursor->next = cursor->end;
}

/** Before the cursor's ring may be unmapped: nothing of the public part points into it any more. */
void sf_cursor_leave(struct sf_cursor_private *private)
{
	struct sf_cursor *cursor = (struct sf_cursor *)((char *)private - SF_CURSOR_PAGE);

	sf_cursor_drop(cursor, private);
	cursor->shared_beat = NULL;
}

/** The range may still be used: it has IDs, and its tick is the current one. */
static bool cursor_is_fresh(const struct sf_cursor *cursor)
{
	/* relaxed: as in sf_next() */
	return cursor->next != cursor->end &&
	       __atomic_load_n(cursor->shared_beat, __ATOMIC_RELAXED) == cursor->beat;
}

/** Doubles after a range that was used up within its tick, halves after one thrown away. */
static void adapt_claim_size(struct sf_cursor *cursor, struct sf_cursor_private *private)
{
	uint32_t limit = sf_claim_limit(&private->attachment->ring);

	if (cursor->next != cursor->end)
	private->claim_size = private->claim_size > 1 ? private->claim_size / 2 : 1;
	else if (cursor->shared_beat && __atomic_load_n(cursor->shared_beat, __ATOMIC_RELAXED) ==
						cursor->beat) private->claim_size =
		private->claim_size > limit / 2 ? limit : private->claim_size * 2;
	if (private->claim_size > limit)
	private->claim_size = limit;
}

/**
 * Gives the cursor a new range: of `n` IDs while the daemon beats, else of `n_idle`, which the
 * caller must use up before it returns, since nothing tells when they grow old.
 */
static int refill(struct sf_cursor *cursor, struct sf_cursor_private *private, uint32_t n,
		  uint32_t n_idle, int64_t *deadline_ns)
{
	struct sf_take take;
	int error;

	sf_cursor_drop(cursor, private);
	error = sf_take(private, n, n_idle, deadline_ns, &take);
	if (error < 0)
		return error;
	cursor->next = take.first;
	cursor->end = take.first + take.step * take.count;
	cursor->step = take.step;
	cursor->beat = take.beat;
	cursor->shared_beat =
		take.live ? (const uint64_t *)&private->attachment->ring.grants->beat : NULL;
	return 0;
}

__attribute__((cold, noinline)) int sf_next_slow(struct sf_cursor *cursor, uint64_t *ret_id)
{
	struct sf_cursor_private *private = sf_cursor_private(cursor);
	int64_t deadline_ns = 0;
	int error;

	adapt_claim_size(cursor, private);
	error = refill(cursor, private, private->claim_size, 1, &deadline_ns);
	if (error < 0)
		return error;
	*ret_id = cursor->next;
	cursor->next += cursor->step;
	return 0;
}

/* Two IDs side by side; the compiler picks the machine's vectors, or two words where it has none.
 */
typedef uint64_t id_pair __attribute__((vector_size(16)));

/**
 * Two chains of pairs, since one addition after another would take longer than the stores; aligned,
 * since every fourth pair would straddle two cache lines otherwise.
 */
static void store_ids(uint64_t *ids, uint64_t first, uint64_t step, size_t count)
{
	size_t i = 0;

	if (count > 0 && (uintptr_t)ids % sizeof(id_pair) != 0) {
		ids[i++] = first;
		first += step;
	}

	id_pair even = {first, first + step};
	id_pair two = {2 * step, 2 * step};
	id_pair four = two + two;
	id_pair odd = even + two;

	for (; i + 4 <= count; i += 4, even += four, odd += four) {
		memcpy(ids + i, &even, sizeof(even));
		memcpy(ids + i + 2, &odd, sizeof(odd));
	}
	for (first = even[0]; i < count; i++, first += step)
		ids[i] = first;
}

/** Takes up to `count` IDs out of the cursor's range. */
static size_t take_range(struct sf_cursor *cursor, uint64_t *ids, size_t count)
{
	uint64_t left = (cursor->end - cursor->next) / cursor->step;
	size_t n = count < left ? count : (size_t)left;

	store_ids(ids, cursor->next, cursor->step, n);
	cursor->next += n * cursor->step;
	return n;
}

int sf_fill(struct sf_cursor *cursor, uint64_t *ret_ids, size_t count)
{
	struct sf_cursor_private *private = sf_cursor_private(cursor);
	int64_t deadline_ns = 0;
	size_t done = 0;

	if (cursor_is_fresh(cursor))
		done = take_range(cursor, ret_ids, count);
	while (done < count) {
		uint32_t limit = sf_claim_limit(&private->attachment->ring);
		uint32_t wanted = count - done < limit ? (uint32_t)(count - done) : limit;
		int error;

		adapt_claim_size(cursor, private);
		error = refill(cursor, private,
			       wanted > private->claim_size ? wanted : private->claim_size, wanted,
			       &deadline_ns);
		if (error < 0) {
			sf_count_dropped(&private->attachment->ring, done);
			return error;
		}
		done += take_range(cursor, ret_ids + done, count - done);
	}
	return 0;
}

int sf_claim_range(struct sf_cursor *cursor, uint32_t count, struct sf_range *ret_range)
{
	struct sf_cursor_private *private = sf_cursor_private(cursor);
	uint32_t limit = sf_claim_limit(&private->attachment->ring);
	int64_t deadline_ns = 0;
	struct sf_take take;
	int error;

	if (count < 1 || count > SF_SHM_CLAIM_MAX)
		return -EINVAL;
	if (count > limit)
		count = limit;
	sf_cursor_drop(cursor, private);
	error = sf_take(private, count, count, &deadline_ns, &take);
	if (error < 0)
		return error;
	*ret_range = (struct sf_range){.first = take.first, .step = take.step, .count = take.count};
	return 0;
}
