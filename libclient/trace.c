/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Timing fetches; see trace.h. On the caller's thread.
 */
#include "libclient/trace.h"

#include "shm/tsc.h"

/** Which way a fetch took, as the probe `fetch` tells it. */
enum path {
	PATH_FAST = 0,
	PATH_CLAIM = 1,
	PATH_WAIT = 2,
};

/** Moves the end of what the public part shows. */
static void move_end(struct sf_cursor *cursor, bool is_wide, int64_t ids)
{
	if (is_wide)
		cursor->low_end += (uint64_t)ids;
	else
		cursor->end += (uint64_t)ids * cursor->step;
}

void sf_trace_show_all(struct sf_cursor *cursor)
{
	struct sf_held *held = sf_held(cursor);

	sf_cursor_settle(cursor);
	move_end(cursor, sf_cursor_is_wide(sf_cursor_private(cursor)), (int64_t)held->ids);
	held->ids = 0;
}

/** Holds back what comes after the next fetch to be timed. A range has often less before it. */
static void cut(struct sf_cursor *cursor)
{
	struct sf_cursor_private *private = sf_cursor_private(cursor);
	struct sf_held *held = sf_held(cursor);
	uint64_t left = sf_cursor_left(cursor);

	/* never nothing: an empty range in hand is one that is used up */
	held->shown = held->until > 0 ? held->until : 1;
	if (held->shown > left)
		held->shown = left;
	held->ids = left - held->shown;
	if (held->ids == 0)
		return;
	move_end(cursor, sf_cursor_is_wide(private), -(int64_t)held->ids);
	/* An empty range and a ready tick would mean that no lower ID is to come. */
	private->ordered.ready = 0;
}

static void tell(struct sf_cursor *cursor, uint64_t cycles, enum path path)
{
	const struct sf_cursor_private *private = sf_cursor_private(cursor);
	struct sf_held *held = sf_held(cursor);
	uint64_t fetches = held->fetches + 1;

	held->fetches = 0;
	held->events++;
	SF_PROBE4(fetch, cycles, (uint32_t)path, fetches, private->client->stream);
}

/** The next ID of the range in hand: a fetch as all others, with a stopwatch. */
static int take_timed(struct sf_cursor *cursor, bool is_wide, void *ret_id)
{
	const uint32_t events = sf_held(cursor)->events;
	uint64_t begin;
	uint64_t end;
	int error;

	if (is_wide) {
		begin = sf_tsc_begin();
		error = sf_next128_inline(cursor, ret_id);
		end = sf_tsc_end();
	} else {
		begin = sf_tsc_begin();
		error = sf_next_inline(cursor, ret_id);
		end = sf_tsc_end();
	}
	/* The beat may have moved meanwhile: then it was no fast one, and it has told of itself. */
	if (error < 0 || sf_held(cursor)->events != events)
		return error;
	sf_held(cursor)->until = SF_TRACE_EVERY - 1;
	cut(cursor);
	tell(cursor, end - begin, PATH_FAST);
	return 0;
}

/** Claims a range, and takes its first ID. */
static int take_claimed(struct sf_cursor *cursor, bool is_wide, void *ret_id)
{
	const struct sf_cursor_private *private = sf_cursor_private(cursor);
	uint64_t begin = sf_tsc_begin();
	uint64_t end;
	int error = sf_cursor_refill_one(cursor);

	if (error < 0)
		return error;
	if (is_wide) {
		*(struct sf_wide *)ret_id =
			(struct sf_wide){.high = cursor->high, .low = cursor->low};
		cursor->low++;
	} else {
		*(uint64_t *)ret_id = cursor->next;
		cursor->next += cursor->step;
	}
	end = sf_tsc_end();
	cut(cursor);
	tell(cursor, end - begin, private->wait_begin_ns != 0 ? PATH_WAIT : PATH_CLAIM);
	return 0;
}

int sf_trace_next(struct sf_cursor *cursor, void *ret_id)
{
	const bool is_wide = sf_cursor_is_wide(sf_cursor_private(cursor));

	if (!sf_cursor_is_fresh(cursor)) {
		sf_cursor_settle(cursor);
		return take_claimed(cursor, is_wide, ret_id);
	}
	sf_trace_show_all(cursor);
	if (SF_PROBE_IS_ON(fetch))
		return take_timed(cursor, is_wide, ret_id);
	sf_held(cursor)->fetches = 0; /* nobody traces any more */
	return is_wide ? sf_next128_inline(cursor, ret_id) : sf_next_inline(cursor, ret_id);
}
