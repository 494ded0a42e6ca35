/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Counts the IDs in files of peer_id records, and how many of them had been there before.
 * usage: duplicates FILE...
 */
#include "bench/peers/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct pile {
	union peer_id *ids;
	size_t count;
};

/** Appends a file's IDs. */
static int add(struct pile *pile, FILE *file)
{
	struct stat status;
	union peer_id *ids;
	size_t count;

	if (fstat(fileno(file), &status) < 0)
		return -errno;
	if (status.st_size % PEER_ID_SIZE != 0)
		return -EINVAL;
	count = (size_t)status.st_size / PEER_ID_SIZE;
	ids = realloc(pile->ids, (pile->count + count) * sizeof(*ids) + 1);
	if (!ids)
		return -ENOMEM;
	pile->ids = ids;
	if (fread(ids + pile->count, sizeof(*ids), count, file) != count)
		return -EIO;
	pile->count += count;
	return 0;
}

static int add_file(struct pile *pile, const char *path)
{
	FILE *file = fopen(path, "rb");
	int error = file ? add(pile, file) : -errno;

	if (file)
		(void)fclose(file);
	if (error < 0)
		(void)fprintf(stderr, "%s: %s\n", path, strerror(-error)); // NOLINT: one thread
	return error;
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, PEER_ID_SIZE);
}

static size_t count_repeats(const struct pile *pile)
{
	size_t repeats = 0;

	if (pile->count > 0)
		qsort(pile->ids, pile->count, sizeof(pile->ids[0]), compare);
	for (size_t i = 1; i < pile->count; i++)
		repeats += compare(&pile->ids[i - 1], &pile->ids[i]) == 0;
	return repeats;
}

int main(int argc, char **argv)
{
	struct pile pile = {0};
	int error = 0;

	if (argc < 2) {
		(void)fputs("usage: duplicates FILE...\n", stderr);
		return 2;
	}
	for (int i = 1; i < argc && error == 0; i++)
		error = add_file(&pile, argv[i]);
	if (error == 0)
		(void)printf("{\"ids\":%zu,\"duplicates\":%zu}\n", pile.count,
			     count_repeats(&pile));
	free(pile.ids);
	return error < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
