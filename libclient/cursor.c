/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Cursors: a thread's position in the range it claimed last. A cursor
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

int64_t sf_cursor_remaining_ms(const struct sf_cursor *cursor)
{
	int64_t ns;

	if (!cursor)
		cursor = sf_default_cursor();
	if (!cursor)
		return 0;
	ns = sf_cursor_private_of(cursor)->remaining_ns;
	return ns / 1000000 + (ns % 1000000 != 0);
}

bool sf_cursor_is_wide(const struct sf_cursor_private *private)
{
	return private->client->layout.format != SF_FORMAT_SNOWFLAKE;
}

/* The range is empty in the half that the stream's format does not use. */
uint64_t sf_cursor_left(const struct sf_cursor *cursor)
{
	uint64_t shown = cursor->next == cursor->end ? cursor->low_end - cursor->low
						     : (cursor->end - cursor->next) / cursor->step;

	return shown + sf_held_of(cursor)->ids;
}

void sf_cursor_settle(struct sf_cursor *cursor)
{
	struct sf_held *held = sf_held(cursor);
	uint64_t shown = sf_cursor_left(cursor) - held->ids;
	uint64_t gone = held->shown > shown ? held->shown - shown : 0;

	held->fetches += gone;
	held->until -= gone < held->until ? gone : held->until;
	held->shown = 0;
}

/** Gives up what is left of the range, so that a later ID of this cursor is always larger; and
 * tells the tally what was taken without it. */
void sf_cursor_drop(struct sf_cursor *cursor, struct sf_cursor_private *private)
{
	struct sf_held *held = sf_held(cursor);
	uint64_t left = sf_cursor_left(cursor);

	if (held->uncounted != 0) {
		sf_count_taken(private->attachment, held->uncounted);
		held->uncounted = 0;
	}
	if (left == 0)
		return;
	sf_cursor_settle(cursor);
	sf_count_dropped(private->attachment, left);
	cursor->next = cursor->end;
	cursor->low = cursor->low_end;
	held->ids = 0;
}

/** Before the cursor's ring may be unmapped: nothing of the public part points into it any more. */
void sf_cursor_leave(struct sf_cursor_private *private)
{
	struct sf_cursor *cursor = sf_cursor_public(private);

	sf_cursor_drop(cursor, private);
	cursor->shared_beat = NULL;
}

static bool beat_stands(const struct sf_cursor *cursor)
{
	/* relaxed: as in sf_next() */
	return cursor->shared_beat &&
	       __atomic_load_n(cursor->shared_beat, __ATOMIC_RELAXED) == cursor->beat;
}

bool sf_cursor_is_fresh(const struct sf_cursor *cursor)
{
	return sf_cursor_left(cursor) != 0 && beat_stands(cursor);
}

/** Doubles after a range that was used up within its tick, halves after one thrown away. */
static void adapt_claim_size(struct sf_cursor *cursor)
{
	struct sf_cursor_private *private = sf_cursor_private(cursor);
	uint32_t limit = sf_claim_limit(&private->attachment->ring);
	uint32_t size = private->claim_size;

	if (sf_cursor_left(cursor) != 0)
		size = size > 1 ? size / 2 : 1;
	else if (beat_stands(cursor))
		size = size > limit / 2 ? limit : size * 2;
	private->claim_size = size < limit ? size : limit;
}

/**
 * Gives the cursor a new range: of `n` IDs while the daemon beats, else of `n_idle`, which the
 * caller must use up before it returns, since nothing tells when they grow old.
 */
static int refill(struct sf_cursor *cursor, uint32_t n, uint32_t n_idle, int64_t *deadline_ns)
{
	struct sf_cursor_private *private = sf_cursor_private(cursor);
	struct sf_take take;
	int error;

	sf_cursor_drop(cursor, private);
	error = sf_take(private, n, n_idle, deadline_ns, &take);
	if (error < 0)
		return error;
	if (sf_cursor_is_wide(private)) {
		cursor->low = take.wide.low;
		cursor->low_end = take.wide.low + take.count;
		cursor->high = take.wide.high;
	} else {
		cursor->next = take.first;
		cursor->end = take.first + take.step * take.count;
		cursor->step = take.step;
	}
	sf_held(cursor)->shown = 0;
	cursor->beat = take.beat;
	cursor->shared_beat =
		take.live ? (const uint64_t *)&private->attachment->ring.grants->beat : NULL;
	return 0;
}

int sf_cursor_refill_one(struct sf_cursor *cursor)
{
	int64_t deadline_ns = 0;

	adapt_claim_size(cursor);
	return refill(cursor, sf_cursor_private(cursor)->claim_size, 1, &deadline_ns);
}

int sf_cursor_refill_batch(struct sf_cursor *cursor, size_t left, int64_t *deadline_ns)
{
	const struct sf_cursor_private *private = sf_cursor_private(cursor);
	uint32_t limit = sf_claim_limit(&private->attachment->ring);
	uint32_t wanted = left < limit ? (uint32_t)left : limit;

	adapt_claim_size(cursor);
	return refill(cursor, wanted > private->claim_size ? wanted : private->claim_size, wanted,
		      deadline_ns);
}
