/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * See ids.h. Atomics are relaxed: what is read at the end was written by processes that were reaped
 * or threads that were joined.
 */
#include "tests/support/ids.h"

#include "tests/support/process.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- collection ---- */

static size_t ids_bytes(size_t capacity)
{
	return sizeof(struct t_ids) + capacity * sizeof(uint64_t);
}

struct t_ids *t_ids_new(size_t capacity)
{
	struct t_ids *ids = t_shared(ids_bytes(capacity));

	ids->capacity = capacity;
	return ids;
}

struct t_ids *t_ids_new_fd(size_t capacity, int *ret_fd)
{
	int fd = memfd_create("ids", 0); /* stays open over exec */
	struct t_ids *ids;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)ids_bytes(capacity)), 0);
	ids = t_ids_open_fd(fd);
	ck_assert_ptr_nonnull(ids);
	ids->capacity = capacity;
	*ret_fd = fd;
	return ids;
}

struct t_ids *t_ids_open_fd(int fd)
{
	struct stat status;
	void *memory;

	if (fstat(fd, &status) < 0)
		return NULL;
	memory = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

bool t_ids_add(struct t_ids *ids, const uint64_t *id, size_t count)
{
	size_t at = atomic_fetch_add_explicit(&ids->count, count, memory_order_relaxed);

	if (at + count > ids->capacity)
		return false;
	memcpy(&ids->id[at], id, count * sizeof(*id));
	return true;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void t_ids_check(struct t_ids *ids, size_t count)
{
	size_t taken = atomic_load_explicit(&ids->count, memory_order_relaxed);

	ck_assert_uint_eq(taken, count);
	qsort(ids->id, count, sizeof(ids->id[0]), compare);
	for (size_t i = 1; i < count; i++)
		ck_assert_msg(ids->id[i - 1] != ids->id[i], "ID %llu came twice",
			      (unsigned long long)ids->id[i]);
	atomic_store_explicit(&ids->count, 0, memory_order_relaxed);
}

/* ---- map ---- */

struct t_map *t_map_new(const struct sf_layout *layout, uint32_t node, uint64_t first_tick,
			unsigned seconds)
{
	uint64_t ticks = seconds * UINT64_C(1000) / layout->tick_ms;
	uint64_t bits = ticks << layout->sequence_bits;
	struct t_map *map = t_shared(sizeof(*map) + bits / 8 + 8);

	map->layout = *layout;
	map->node = node;
	map->first_tick = first_tick;
	map->ticks = ticks;
	return map;
}

static void raise_highest(struct t_map *map, uint64_t id)
{
	uint64_t seen = atomic_load_explicit(&map->highest, memory_order_relaxed);

	while (seen < id &&
	       !atomic_compare_exchange_weak_explicit(&map->highest, &seen, id,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

void t_map_add(struct t_map *map, const uint64_t *id, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct sf_parts parts;
		uint64_t bit;

		if (sf_decompose(&map->layout, id[i], &parts, NULL) < 0 ||
		    parts.node != map->node || parts.tick - map->first_tick >= map->ticks) {
			atomic_fetch_add_explicit(&map->strangers, 1, memory_order_relaxed);
			continue;
		}
		bit = (parts.tick - map->first_tick) << map->layout.sequence_bits | parts.sequence;
		if (atomic_fetch_or_explicit(&map->bit[bit / 64], UINT64_C(1) << bit % 64,
					     memory_order_relaxed) >>
			    bit % 64 &
		    1)
			atomic_fetch_add_explicit(&map->duplicates, 1, memory_order_relaxed);
		raise_highest(map, id[i]);
	}
}

uint64_t t_map_check(const struct t_map *map)
{
	uint64_t words = (map->ticks << map->layout.sequence_bits) / 64 + 1;
	uint64_t duplicates = atomic_load_explicit(&map->duplicates, memory_order_relaxed);
	uint64_t strangers = atomic_load_explicit(&map->strangers, memory_order_relaxed);
	uint64_t count = 0;

	for (uint64_t i = 0; i < words; i++)
		count += (uint64_t)__builtin_popcountll(
			atomic_load_explicit(&map->bit[i], memory_order_relaxed));
	ck_assert_uint_eq(duplicates, 0);
	ck_assert_uint_eq(strangers, 0);
	return count;
}
