/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A client that writes whatever it likes wherever it can: the claims of its own stream, which has
 * a neighbour in every stream that is checked. And one that has to live with it: whatever IDs or
 * errors that gets, it must not crash.
 */
#include "tests/chaos/actor.h"

#include "shm/abi.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define VICTIM_TIMEOUT_NS INT64_C(50000000)
#define SCRIBBLES 64
#define PAUSE_US 500

struct victim_map {
	char *address;
	size_t bytes;
	bool is_writable;
};

/** The mappings of our ring. @return how many */
static unsigned find_maps(struct victim_map *map, unsigned most)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned count = 0;

	while (file && fgets(line, sizeof(line), file)) {
		char *rest;
		unsigned long from = strtoul(line, &rest, 16);
		unsigned long to = strtoul(rest + 1, &rest, 16);

		if (!strstr(line, "memfd:sfd:") || count == most)
			continue;
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): what the kernel says */
		map[count++] = (struct victim_map){(char *)from, to - from, rest[2] == 'w'};
	}
	if (file)
		(void)fclose(file);
	return count;
}

static uint64_t random64(unsigned short seed[3])
{
	uint64_t value = (uint64_t)nrand48(seed) << 33 ^ (uint64_t)nrand48(seed) << 12;

	/* Small, large, or anything. */
	return nrand48(seed) % 3 == 0 ? value >> (nrand48(seed) % 64) : ~(value >> 40) ^ value;
}

static void scribble_claims(const struct victim_map *map, unsigned short seed[3])
{
	struct sf_shm_claims *head = (struct sf_shm_claims *)(void *)map->address;
	struct sf_shm_claim *claim = (void *)(map->address + SF_SHM_HEADER_BYTES);
	size_t slots = (map->bytes - SF_SHM_HEADER_BYTES) / sizeof(*claim);

	/* relaxed: nobody agrees on anything here */
	for (unsigned i = 0; i < SCRIBBLES; i++) {
		size_t at = (size_t)nrand48(seed) % slots;

		atomic_store_explicit(&claim[at].word, random64(seed), memory_order_relaxed);
	}
	atomic_store_explicit(&head->floor, random64(seed), memory_order_relaxed);
	atomic_store_explicit(&head->waits, random64(seed), memory_order_relaxed);
	atomic_store_explicit(&head->dropped, random64(seed), memory_order_relaxed);
	switch (nrand48(seed) % 8) {
	case 0:
		memset(map->address, nrand48(seed) % 2 ? 0xff : 0, map->bytes);
		break;
	case 1: /* a hole */
		(void)madvise(map->address, map->bytes, MADV_REMOVE);
		break;
	default:
		break;
	}
}

/** What must be refused whoever asks. */
static void try_grants(const struct victim_map *map)
{
	if (mprotect(map->address, map->bytes, PROT_READ | PROT_WRITE) == 0)
		chaos_find("a client could make the grants writable");
}

static void scribble(const struct victim_map *map, unsigned count, unsigned short seed[3])
{
	for (unsigned i = 0; i < count; i++)
		if (map[i].is_writable)
			scribble_claims(&map[i], seed);
		else
			try_grants(&map[i]);
	chaos_happened(CHAOS_SCRIBBLE);
}

int chaos_hostile(unsigned job)
{
	unsigned short seed[3] = {(unsigned short)job, (unsigned short)getpid(), 0x330e};

	while (!chaos_is_over()) {
		struct sf_client *client = chaos_open(CHAOS_HOSTILE);
		struct victim_map map[2];
		unsigned count = find_maps(map, 2);

		if (count != 2)
			chaos_find("a client has %u mappings of sfd, not 2", count);
		for (unsigned i = 0; i < 200 && !chaos_is_over(); i++) {
			scribble(map, count, seed);
			chaos_nap_us(PAUSE_US);
		}
		sf_close(client);
	}
	return EXIT_SUCCESS;
}

int chaos_victim(unsigned job)
{
	struct sf_client *client = chaos_open(CHAOS_HOSTILE);
	struct sf_cursor *cursor;
	uint64_t id[64];
	struct sf_range range;

	(void)job;
	if (sf_cursor_open(client, &cursor) < 0)
		return EXIT_FAILURE;
	(void)sf_cursor_set_wait(cursor, SF_WAIT_SLEEP, VICTIM_TIMEOUT_NS);
	/* What is returned means nothing: it is only not to crash, nor to hang. */
	while (!chaos_is_over()) {
		for (unsigned i = 0; i < 1000 && !chaos_is_over(); i++)
			(void)sf_next(cursor, &id[0]);
		(void)sf_next_ordered(cursor, &id[0]);
		(void)sf_fill(cursor, id, 64);
		(void)sf_claim_range(cursor, CHAOS_RUN_MAX, &range);
	}
	sf_cursor_close(cursor);
	sf_close(client);
	return EXIT_SUCCESS;
}
