/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * IDs of the wide formats out of a cursor's range: the slow path of sf_next128(), and batches. On
 * the caller's thread. 64-bit IDs have the same in narrow.c.
 */
#include "libclient/trace.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

__attribute__((cold, noinline)) int sf_next128_slow(struct sf_cursor *cursor,
						    struct sf_wide *ret_id)
{
	int error;

	if (!sf_cursor_is_wide(sf_cursor_private(cursor)))
		return -ENOTSUP;
	if (sf_trace_is_on(cursor))
		return sf_trace_next(cursor, ret_id);
	error = sf_cursor_refill_one(cursor);
	if (error < 0)
		return error;
	*ret_id = (struct sf_wide){.high = cursor->high, .low = cursor->low};
	cursor->low++;
	return 0;
}

/* An ID as the machine stores it at once; the compiler uses two words where it has no vectors. */
typedef uint64_t id_words __attribute__((vector_size(16)));

static_assert(sizeof(struct sf_wide) == sizeof(id_words) && offsetof(struct sf_wide, low) == 8,
	      "high is the first word");

/** Two chains, since one addition after another would take longer than the stores. */
static void store_ids(struct sf_wide *ids, uint64_t high, uint64_t low, size_t count)
{
	id_words even = {high, low};
	id_words odd = {high, low + 1};
	const id_words two = {0, 2};
	size_t i = 0;

	for (; i + 2 <= count; i += 2, even += two, odd += two) {
		memcpy(ids + i, &even, sizeof(even));
		memcpy(ids + i + 1, &odd, sizeof(odd));
	}
	if (i < count)
		memcpy(ids + i, &even, sizeof(even));
}

/** Takes up to `count` IDs out of the cursor's range. */
static size_t take_range(struct sf_cursor *cursor, struct sf_wide *ids, size_t count)
{
	uint64_t left = cursor->low_end - cursor->low;
	size_t n = count < left ? count : (size_t)left;

	store_ids(ids, cursor->high, cursor->low, n);
	cursor->low += n;
	return n;
}

int sf_fill128(struct sf_cursor *cursor, struct sf_wide *ret_ids, size_t count)
{
	struct sf_cursor_private *private = sf_cursor_private(cursor);
	int64_t deadline_ns = 0;
	size_t done = 0;

	if (!sf_cursor_is_wide(private))
		return -ENOTSUP;
	if (__builtin_expect(sf_held(cursor)->shown != 0, 0))
		sf_trace_show_all(cursor);
	if (sf_cursor_is_fresh(cursor))
		done = take_range(cursor, ret_ids, count);
	while (done < count) {
		int error = sf_cursor_refill_batch(cursor, count - done, &deadline_ns);

		if (error < 0) {
			sf_count_dropped(private->attachment, done);
			return error;
		}
		done += take_range(cursor, ret_ids + done, count - done);
	}
	return 0;
}

int sf_claim_range128(struct sf_cursor *cursor, uint32_t count, struct sf_range128 *ret_range)
{
	struct sf_cursor_private *private = sf_cursor_private(cursor);
	int64_t deadline_ns = 0;
	struct sf_take take;
	int error;

	if (!sf_cursor_is_wide(private))
		return -ENOTSUP;
	if (count < 1 || count > SF_SHM_CLAIM_MAX)
		return -EINVAL;
	sf_cursor_drop(cursor, private);
	error = sf_take(private, count, count, &deadline_ns, &take);
	if (error < 0)
		return error;
	*ret_range = (struct sf_range128){.first = take.wide, .count = take.count};
	return 0;
}
