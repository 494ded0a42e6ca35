/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * IDs of the past. A table has the next counter of each tick that was ever backfilled; it changes
 * in the transaction that inserts the pair, which holds the store's only write lock: so no two
 * processes can give one ID twice. IDs that were put into the store from outside may lie in the
 * way; the insertion finds them, and the next counter is tried.
 */
#include "libclient/alias/alias.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

static int64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static uint64_t capacity(const struct sf_alias *alias)
{
	return UINT64_C(1) << alias->layout.sequence_bits;
}

static int64_t tick_start_ms(const struct sf_alias *alias, uint64_t tick)
{
	return alias->layout.epoch_ms + (int64_t)tick * alias->layout.tick_ms;
}

/** The tick of a time that may be backfilled. */
static int tick_of(const struct sf_alias *alias, int64_t unix_ms, uint64_t *ret_tick,
		   struct sf_why *why)
{
	const struct sf_parts at = {.unix_ms = unix_ms, .node = alias->machine_id};
	struct sf_parts parts = {0};
	uint64_t id;
	int r = sf_compose(&alias->layout, &at, &id, why);

	if (r == 0)
		r = sf_decompose(&alias->layout, id, &parts, why);
	if (r < 0)
		return r;
	if (parts.unix_ms > now_ms() + alias->layout.tick_ms)
		return SF_ALIAS_REFUSE(why, -ERANGE,
				       "creation time %" PRId64
				       " ms lies in the future; give a time "
				       "up to now, or none for an ID of now",
				       unix_ms);
	*ret_tick = parts.tick;
	return 0;
}

int sf_alias_place_store(struct sf_alias *alias, struct sf_alias_place *place, struct sf_why *why)
{
	sqlite3_stmt *set = alias->statement[SF_ALIAS_NEXT_SET];
	int code;

	if (!place->is_dirty)
		return 0;
	code = sqlite3_bind_int64(set, 1, (int64_t)place->tick);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(set, 2, (int64_t)place->next);
	if (code == SQLITE_OK)
		code = sqlite3_step(set);
	(void)sqlite3_reset(set);
	if (code != SQLITE_DONE)
		return sf_alias_refuse(alias, code, "note the counter of a tick", why);
	place->is_dirty = false;
	return 0;
}

/** Goes to a tick, where it was left. */
static int place_move(struct sf_alias *alias, struct sf_alias_place *place, uint64_t tick,
		      struct sf_why *why)
{
	sqlite3_stmt *get = alias->statement[SF_ALIAS_NEXT_GET];
	int r = sf_alias_place_store(alias, place, why);
	int code;

	if (r < 0)
		return r;
	code = sqlite3_bind_int64(get, 1, (int64_t)tick);
	if (code == SQLITE_OK)
		code = sqlite3_step(get);
	place->tick = tick;
	place->next = code == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(get, 0) : 0;
	(void)sqlite3_reset(get);
	if (code != SQLITE_ROW && code != SQLITE_DONE) {
		place->is_known = false;
		return sf_alias_refuse(alias, code, "read the counter of a tick", why);
	}
	return 0;
}

/** Goes to where the next ID of `tick` is to be tried. */
static int place_find(struct sf_alias *alias, struct sf_alias_place *place, uint64_t tick,
		      struct sf_why *why)
{
	int r;

	if (place->is_known && place->asked_tick == tick)
		return 0;
	r = place_move(alias, place, tick, why);
	if (r < 0)
		return r;
	place->asked_tick = tick;
	place->is_known = true;
	return 0;
}

/** The tick is full. @return 0 when there is another to try */
static int place_full(struct sf_alias *alias, struct sf_alias_place *place, struct sf_why *why)
{
	uint64_t following = place->tick + 1;

	if ((alias->flags & SF_ALIAS_NEXT_FREE) == 0)
		return SF_ALIAS_REFUSE(
			why, -EOVERFLOW,
			"all %" PRIu64 " IDs of the tick at %" PRId64
			" ms with machine id %u are given; give another time, or ask "
			"for the next free tick",
			capacity(alias), tick_start_ms(alias, place->tick), alias->machine_id);
	if (following > sf_layout_last_tick(&alias->layout) ||
	    tick_start_ms(alias, following) > now_ms() + alias->layout.tick_ms)
		return SF_ALIAS_REFUSE(why, -EOVERFLOW,
				       "no tick from %" PRId64 " ms up to now has a free ID with "
				       "machine id %u; give an earlier time",
				       tick_start_ms(alias, place->asked_tick), alias->machine_id);
	return place_move(alias, place, following, why);
}

/** The first free ID of the place's tick, or of a later one if the options say so. */
static int insert_next(struct sf_alias *alias, struct sf_alias_place *place,
		       const struct sf_alias_key *key, uint64_t *ret_id, struct sf_why *why)
{
	for (;;) {
		struct sf_parts parts = {.node = alias->machine_id};
		uint64_t id;
		int r;

		while (place->next >= capacity(alias)) {
			r = place_full(alias, place, why);
			if (r < 0)
				return r;
		}
		parts.unix_ms = tick_start_ms(alias, place->tick);
		parts.sequence = (uint32_t)place->next;
		r = sf_compose(&alias->layout, &parts, &id, why);
		if (r == 0)
			r = sf_alias_insert(alias, key, id, why);
		if (r == 0 || r == -EEXIST) {
			place->next++;
			place->is_dirty = true;
		}
		if (r == 0)
			*ret_id = id;
		if (r != -EEXIST)
			return r;
	}
}

int sf_alias_backfill(struct sf_alias *alias, struct sf_alias_place *place,
		      const struct sf_alias_key *key, int64_t unix_ms, uint64_t *ret_id,
		      struct sf_why *why)
{
	uint64_t known;
	uint64_t tick;
	int r;

	r = tick_of(alias, unix_ms, &tick, why);
	if (r == 0)
		r = place_find(alias, place, tick, why);
	if (r == 0)
		r = insert_next(alias, place, key, ret_id, why);
	/* The key may have come meanwhile, and then needs no room. */
	if (r == -EOVERFLOW && sf_alias_look_id(alias, key, &known, why) == 0)
		return 1;
	return r;
}
