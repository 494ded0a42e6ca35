/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * How long fetches take, for who traces them. The fast path knows nothing of it: while the probe is
 * on, a cursor shows only the first IDs of its range and holds the others back, so that every
 * SF_TRACE_EVERY-th fetch comes to the slow path; there one fetch takes the fast path and is timed.
 */
#ifndef SF_CLIENT_TRACE_H
#define SF_CLIENT_TRACE_H

#include "libclient/client.h"
#include "libclient/probe.h"

/** One fetch in this many is timed. */
#define SF_TRACE_EVERY 1024u

/** Whether the slow path goes through sf_trace_next(): also for what is still held back. */
static inline bool sf_trace_is_on(const struct sf_cursor *cursor)
{
	return SF_PROBE_IS_ON(fetch) || __builtin_expect(sf_held_of(cursor)->ids != 0, 0);
}

/** The slow path of sf_next() and sf_next128(), whose results it has; `ret_id` is a uint64_t or a
 *  struct sf_wide, as the cursor's stream demands. */
int sf_trace_next(struct sf_cursor *cursor, void *ret_id);

/** What was held back is part of the range again: before whoever looks at the whole range. */
void sf_trace_show_all(struct sf_cursor *cursor);

#endif
