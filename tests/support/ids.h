/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * IDs of many processes and threads, and whether any came twice.
 *
 * A collection keeps every ID and sorts them at the end. A map has one bit for each (tick,
 * sequence) of one node id from a tick on: for tests that take too many IDs to keep, and for
 * clients that are killed. Both lie in memory that children share.
 */
#ifndef T_IDS_H
#define T_IDS_H

#include <sflayout.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct t_ids {
	size_t capacity;
	_Atomic size_t count;
	uint64_t id[];
};

/** Room for `capacity` IDs, in shared memory. */
struct t_ids *t_ids_new(size_t capacity);
/** The same in a memfd, which a program started afresh can open again. */
struct t_ids *t_ids_new_fd(size_t capacity, int *ret_fd);
/** Maps what t_ids_new_fd() made. @return NULL on failure */
struct t_ids *t_ids_open_fd(int fd);
/** Adds IDs. Any process and thread. @return false when they do not fit */
bool t_ids_add(struct t_ids *ids, const uint64_t *id, size_t count);
/** Fails the test unless there are exactly `count` IDs and all are distinct; empties it. */
void t_ids_check(struct t_ids *ids, size_t count);

struct t_map {
	struct sf_layout layout;
	uint32_t node;
	uint64_t first_tick;
	uint64_t ticks;
	_Atomic uint64_t duplicates;
	_Atomic uint64_t strangers; /* IDs of another node id, or outside the ticks */
	_Atomic uint64_t highest;   /* ID */
	_Atomic uint64_t bit[];
};

/** A map of `seconds` from `first_tick` on. */
struct t_map *t_map_new(const struct sf_layout *layout, uint32_t node, uint64_t first_tick,
			unsigned seconds);
/** Enters IDs. Any process and thread. */
void t_map_add(struct t_map *map, const uint64_t *id, size_t count);
/** Fails the test if an ID came twice or does not belong here. @return how many IDs came */
uint64_t t_map_check(const struct t_map *map);

#endif
