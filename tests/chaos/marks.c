/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * See marks.h.
 */
#include "tests/chaos/marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BITS 12
#define CHUNK_IDS (1u << CHUNK_BITS)
#define CHUNK_WORDS (CHUNK_IDS / 64)
#define FIRST_SIZE 4096u

/** A chunk of neighbours: an ID is (high, low), its place `low` turned, without the lowest bits. */
struct chaos_chunk {
	uint64_t high;
	uint64_t place;
	struct chaos_id latest; /* the highest ID in it */
	uint64_t *word;         /* CHUNK_WORDS; NULL once it is full */
	uint32_t count;         /* 0: an empty place of the table */
};

static uint64_t turn(uint64_t low, unsigned shift)
{
	return shift == 0 ? low : low >> shift | low << (64 - shift);
}

static size_t hash(uint64_t high, uint64_t place)
{
	uint64_t mixed =
		(high ^ place * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);

	return (size_t)(mixed ^ mixed >> 32);
}

static struct chaos_chunk *find(struct chaos_chunk *table, size_t size, uint64_t high,
				uint64_t place)
{
	size_t at = hash(high, place) & (size - 1);

	while (table[at].count != 0 && (table[at].high != high || table[at].place != place))
		at = (at + 1) & (size - 1);
	return &table[at];
}

/** Moves every chunk that is not sealed to a new table. */
static int rebuild(struct chaos_marks *marks, size_t size)
{
	struct chaos_chunk *table = calloc(size, sizeof(*table));
	size_t used = 0;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < marks->size; i++) {
		const struct chaos_chunk *chunk = &marks->table[i];

		if (chunk->count == 0)
			continue;
		if (!chaos_is_less(marks->sealed, chunk->latest)) {
			free(chunk->word);
			continue;
		}
		*find(table, size, chunk->high, chunk->place) = *chunk;
		used++;
	}
	free(marks->table);
	marks->table = table;
	marks->size = size;
	marks->used = used;
	return 0;
}

int chaos_marks_init(struct chaos_marks *marks)
{
	memset(marks, 0, sizeof(*marks));
	return rebuild(marks, FIRST_SIZE);
}

void chaos_marks_deinit(struct chaos_marks *marks)
{
	for (size_t i = 0; i < marks->size; i++)
		free(marks->table[i].word);
	free(marks->table);
	marks->table = NULL;
}

static struct chaos_chunk *get(struct chaos_marks *marks, uint64_t high, uint64_t place)
{
	struct chaos_chunk *chunk = find(marks->table, marks->size, high, place);

	if (chunk->count != 0)
		return chunk;
	if (marks->used * 2 > marks->size) {
		if (rebuild(marks, marks->size * 2) < 0)
			return NULL;
		chunk = find(marks->table, marks->size, high, place);
	}
	chunk->word = calloc(CHUNK_WORDS, sizeof(*chunk->word));
	if (!chunk->word)
		return NULL;
	chunk->high = high;
	chunk->place = place;
	marks->used++;
	return chunk;
}

/** Sets bits from .. to - 1. @return how many were set before */
static uint32_t set_bits(uint64_t *word, uint32_t from, uint32_t to)
{
	uint32_t before = 0;

	while (from < to) {
		uint32_t end = (from | 63) + 1 < to ? (from | 63) + 1 : to;
		uint64_t mask = (end - from == 64 ? UINT64_MAX : (UINT64_C(1) << (end - from)) - 1)
				<< from % 64;

		before += (uint32_t)__builtin_popcountll(word[from / 64] & mask);
		word[from / 64] |= mask;
		from = end;
	}
	return before;
}

static uint32_t add_to_chunk(struct chaos_chunk *chunk, uint32_t from, uint32_t to)
{
	uint32_t before;

	if (!chunk->word)
		return to - from;
	before = set_bits(chunk->word, from, to);
	chunk->count += to - from - before;
	if (chunk->count == CHUNK_IDS) {
		free(chunk->word);
		chunk->word = NULL;
	}
	return before;
}

int64_t chaos_marks_add(struct chaos_marks *marks, struct chaos_id first, uint32_t count,
			unsigned shift)
{
	uint64_t at = turn(first.low, shift);
	uint64_t end = at + count;
	uint64_t low = first.low;
	int64_t before = 0;

	while (at < end) {
		uint32_t from = (uint32_t)at % CHUNK_IDS;
		uint32_t to = end - at < CHUNK_IDS - from ? from + (uint32_t)(end - at) : CHUNK_IDS;
		struct chaos_chunk *chunk = get(marks, first.high, at >> CHUNK_BITS);
		struct chaos_id last;

		if (!chunk)
			return -ENOMEM;
		before += add_to_chunk(chunk, from, to);
		last = (struct chaos_id){.high = first.high,
					 .low = low + ((uint64_t)(to - from - 1) << shift)};
		if (chaos_is_less(chunk->latest, last))
			chunk->latest = last;
		if (chaos_is_less(marks->highest, last))
			marks->highest = last;
		low = last.low + (UINT64_C(1) << shift);
		at += to - from;
	}
	return before;
}

int chaos_marks_age(struct chaos_marks *marks, int64_t seconds)
{
	if (seconds <= marks->seconds)
		return 0;
	for (; marks->seconds < seconds; marks->seconds++) {
		struct chaos_id *then = &marks->at_second[marks->seconds % CHAOS_SEAL_SECONDS];

		marks->sealed = *then;
		*then = marks->highest;
	}
	return seconds % 10 == 0 ? rebuild(marks, marks->size) : 0;
}
