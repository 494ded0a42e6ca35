/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Ranges of IDs and shards; see sfpaging.h. Pure functions: any thread and any signal handler. What
 * a tick is, and which layouts pack 64-bit IDs, is for sflayout.h to know.
 */
#include <sfpaging.h>

#include "shm/why.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

static int refuse_empty(int64_t since_ms, int64_t until_ms, uint32_t tick_ms, struct sf_why *why)
{
	return SF_SHM_REFUSE(why, -EINVAL,
			     "from %" PRId64 " ms up to, and without, %" PRId64
			     " ms there is no whole tick of %u ms; let the end lie in a later tick "
			     "than the start",
			     since_ms, until_ms, tick_ms);
}

/** Whether a time is where the next tick after the last would begin. */
static bool is_end(const struct sf_layout *layout, int64_t unix_ms)
{
	int64_t last_ms = sf_layout_last_ms(layout);

	return last_ms < INT64_MAX && unix_ms == last_ms + 1;
}

int sf_id_range(const struct sf_layout *layout, int64_t since_ms, int64_t until_ms,
		uint64_t *ret_first, uint64_t *ret_last, struct sf_why *why)
{
	uint64_t first;
	uint64_t last;
	int r;

	r = sf_id_min(layout, since_ms, &first, why);
	if (r < 0)
		return r;
	if (is_end(layout, until_ms)) {
		r = sf_id_max(layout, until_ms - 1, &last, why);
		if (r < 0)
			return r;
	} else {
		uint64_t end;

		r = sf_id_min(layout, until_ms, &end, why);
		if (r < 0)
			return r;
		if (end <= first)
			return refuse_empty(since_ms, until_ms, layout->tick_ms, why);
		last = end - 1;
	}
	*ret_first = first;
	*ret_last = last;
	return 0;
}

int sf_id_after(const struct sf_layout *layout, int64_t unix_ms, uint64_t *ret_id,
		struct sf_why *why)
{
	uint64_t first;
	int r;

	r = sf_id_min(layout, unix_ms, &first, why);
	if (r < 0)
		return r;
	if (first == 0)
		return SF_SHM_REFUSE(why, -ENOENT,
				     "no ID lies before the tick of %" PRId64
				     " ms, the layout's first; ask without \"after\"",
				     unix_ms);
	*ret_id = first - 1;
	return 0;
}

int sf_id_before(const struct sf_layout *layout, int64_t unix_ms, uint64_t *ret_id,
		 struct sf_why *why)
{
	uint64_t last;
	int r;

	r = sf_id_max(layout, unix_ms, &last, why);
	if (r < 0)
		return r;
	if (last == UINT64_MAX)
		return SF_SHM_REFUSE(why, -ENOENT,
				     "no 64-bit number lies past the tick of %" PRId64
				     " ms, the layout's last; ask without \"before\"",
				     unix_ms);
	*ret_id = last + 1;
	return 0;
}

int sf_shard(const struct sf_layout *layout, uint64_t id, uint32_t shards, uint32_t *ret_shard,
	     struct sf_why *why)
{
	struct sf_parts parts;
	int r;

	r = sf_decompose(layout, id, &parts, why);
	if (r < 0)
		return r;
	if (shards == 0)
		return SF_SHM_REFUSE(why, -EINVAL, "0 shards; legal is [1,%u]", UINT32_MAX);
	*ret_shard = (uint32_t)(parts.tick % shards);
	return 0;
}

/** The smallest and the largest value of a tick that the format can hold. */
static void tick_ends(unsigned format, int64_t tick, struct sf_wide *ret_first,
		      struct sf_wide *ret_last)
{
	const struct sf_wide none = {0, 0};

	if (format == SF_FORMAT_ULID) {
		(void)sf_ulid_compose(tick, &none, ret_first, NULL);
		(void)sf_ulid_compose(tick, &(struct sf_wide){UINT16_MAX, UINT64_MAX}, ret_last,
				      NULL);
	} else if (format == SF_FORMAT_UUID7) {
		(void)sf_uuid7_compose(tick, &none, ret_first, NULL);
		(void)sf_uuid7_compose(tick, &(struct sf_wide){0x3ff, UINT64_MAX}, ret_last, NULL);
	} else {
		(void)sf_objectid_compose(tick, 0, ret_first, NULL);
		(void)sf_objectid_compose(tick, UINT64_MAX, ret_last, NULL);
	}
}

static int check_time(const struct sf_layout *layout, int64_t unix_ms, int64_t last_ms,
		      struct sf_why *why)
{
	if (unix_ms < layout->epoch_ms || unix_ms > last_ms)
		return SF_SHM_REFUSE(why, -ERANGE,
				     "time %" PRId64 " ms lies outside the %s format; legal is "
				     "[%" PRId64 ",%" PRId64 "]",
				     unix_ms, sf_format_name(layout->format), layout->epoch_ms,
				     last_ms);
	return 0;
}

int sf_wide_range(unsigned format, int64_t since_ms, int64_t until_ms, struct sf_wide *ret_first,
		  struct sf_wide *ret_last, struct sf_why *why)
{
	struct sf_layout layout;
	struct sf_wide unused;
	int64_t last_ms;
	int r;

	sf_shm_clear(why);
	if (format == SF_FORMAT_HOUND || sf_layout_of_format(format, &layout) < 0)
		return SF_SHM_REFUSE(why, -EINVAL,
				     "format %s (%u) has no ranges of 128-bit values; ulid, uuid7 "
				     "and objectid have",
				     sf_format_name(format) ? sf_format_name(format) : "unknown",
				     format);
	last_ms = sf_layout_last_ms(&layout);
	r = check_time(&layout, since_ms, last_ms, why);
	if (r < 0)
		return r;
	r = check_time(&layout, until_ms, last_ms + 1, why);
	if (r < 0)
		return r;
	if (until_ms / layout.tick_ms <= since_ms / layout.tick_ms)
		return refuse_empty(since_ms, until_ms, layout.tick_ms, why);
	tick_ends(format, since_ms / layout.tick_ms, ret_first, &unused);
	tick_ends(format, until_ms / layout.tick_ms - 1, &unused, ret_last);
	return 0;
}
