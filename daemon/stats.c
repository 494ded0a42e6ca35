/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The memory of a stream's statistics; see stats.h. Each value lies beside its name, so that an sfd
 * with another list of counters finds those that it knows.
 */
#include "daemon/stats.h"

#include "daemon/ring.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATS_MAGIC UINT64_C(0x3154415453444653) /* "SFDSTAT1" */
#define NAME_BYTES 32
#define COUNT_MAX 4096

/** How the memfd begins; `count` names follow, then as many values. */
struct stats_head {
	uint64_t magic;
	uint64_t count;
};

/** This sfd's own: the head and the names of its list, and the values. */
struct stats_page {
	struct stats_head head;
	char name[SF_COUNTER_COUNT][NAME_BYTES];
	struct sfd_stats stats;
};

static_assert(offsetof(struct stats_page, stats) ==
		      sizeof(struct stats_head) + (size_t)SF_COUNTER_COUNT * NAME_BYTES,
	      "values follow the names");

static const struct {
	const char *name;
	bool is_counter;
} list[] = {
#define SF_COUNTER(name, kind, unit, help) {#name, #kind[0] == 'c'},
#include "shm/counters.def"
#undef SF_COUNTER
};

static struct stats_page *page_of(struct sfd_stats *stats)
{
	return (struct stats_page *)((char *)stats - offsetof(struct stats_page, stats));
}

/** Takes over one value, if it is a counter of ours. */
static void inherit(struct sfd_stats *stats, const char name[NAME_BYTES], uint64_t value)
{
	for (int i = 0; i < SF_COUNTER_COUNT; i++)
		if (list[i].is_counter && strncmp(list[i].name, name, NAME_BYTES) == 0)
			sfd_stats_set(stats, (enum sf_counter)i, value);
}

static void inherit_all(struct sfd_stats *stats, int fd)
{
	const struct stats_head *head;
	const char(*name)[NAME_BYTES];
	const uint64_t *value;
	struct stat status;
	size_t bytes;

	if (fstat(fd, &status) < 0 || status.st_size < (off_t)sizeof(*head))
		return;
	bytes = (size_t)status.st_size;
	head = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (head == MAP_FAILED)
		return;
	name = (const char(*)[NAME_BYTES])(head + 1);
	if (head->magic == STATS_MAGIC && head->count <= COUNT_MAX &&
	    bytes >= sizeof(*head) + head->count * (NAME_BYTES + sizeof(*value))) {
		value = (const uint64_t *)(name + head->count);
		for (uint64_t i = 0; i < head->count; i++)
			inherit(stats, name[i], value[i]);
	}
	(void)munmap((void *)head, bytes);
}

int sfd_stats_open(const char *stream, int old_fd, struct sfd_stats **ret_stats, int *ret_fd,
		   struct sf_why *why)
{
	struct stats_page *page;
	int error;
	int fd = -1;

	error = sfd_ring_memfd(stream, "stats", sizeof(*page), &fd, why);
	if (error < 0)
		return error;
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (page == MAP_FAILED) {
		error = -errno;
		(void)snprintf(why->text, sizeof(why->text),
			       "stream %s: its statistics cannot be mapped: %s; free memory",
			       stream, strerrordesc_np(-error));
		(void)close(fd);
		return error;
	}
	page->head = (struct stats_head){.magic = STATS_MAGIC, .count = SF_COUNTER_COUNT};
	for (int i = 0; i < SF_COUNTER_COUNT; i++)
		(void)snprintf(page->name[i], NAME_BYTES, "%s", list[i].name);
	if (old_fd >= 0)
		inherit_all(&page->stats, old_fd);
	*ret_stats = &page->stats;
	*ret_fd = fd;
	return 0;
}

struct sfd_stats *sfd_stats_close(struct sfd_stats *stats)
{
	if (stats)
		(void)munmap(page_of(stats), sizeof(struct stats_page));
	return NULL;
}
