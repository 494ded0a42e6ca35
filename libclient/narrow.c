/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * 64-bit IDs out of a cursor's range: the slow path of sf_next(), and batches. On the caller's
 * thread. The wide formats have the same in wide.c.
 */
#include "libclient/trace.h"

#include <errno.h>
#include <string.h>

__attribute__((cold, noinline)) int sf_next_slow(struct sf_cursor *cursor, uint64_t *ret_id)
{
	int error;

	if (sf_cursor_is_wide(sf_cursor_private(cursor)))
		return -ENOTSUP;
	if (sf_trace_is_on(cursor))
		return sf_trace_next(cursor, ret_id);
	error = sf_cursor_refill_one(cursor);
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

	if (sf_cursor_is_wide(private))
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

int sf_claim_range(struct sf_cursor *cursor, uint32_t count, struct sf_range *ret_range)
{
	struct sf_cursor_private *private = sf_cursor_private(cursor);
	uint32_t limit = sf_claim_limit(&private->attachment->ring);
	int64_t deadline_ns = 0;
	struct sf_take take;
	int error;

	if (sf_cursor_is_wide(private))
		return -ENOTSUP;
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
