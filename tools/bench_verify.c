/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Every check is a merge of sorted lists: workers' IDs rise, and so do the times of their calls. A
 * heap of list heads walks all lists in one order. Main thread; no input or output.
 */
#include "tools/bench_verify.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/** The head of one list in a merge. */
struct head {
	uint64_t key; /* keys[at] */
	const uint64_t *keys;
	uint64_t at;
	uint64_t count;
	uint32_t list;
};

/** A walk over several sorted lists in the order of their keys. */
struct merge {
	struct head *heap; /* smallest key first */
	uint32_t size;
};

static void sift_down(struct merge *merge, uint32_t hole)
{
	struct head head = merge->heap[hole];

	for (;;) {
		uint32_t child = 2 * hole + 1;

		if (child >= merge->size)
			break;
		if (child + 1 < merge->size && merge->heap[child + 1].key < merge->heap[child].key)
			child++;
		if (merge->heap[child].key >= head.key)
			break;
		merge->heap[hole] = merge->heap[child];
		hole = child;
	}
	merge->heap[hole] = head;
}

/** Which of a list's arrays is the key. */
enum key {
	KEY_ID,
	KEY_BEGIN,
	KEY_END,
};

static int merge_init(struct merge *merge, const struct sfctl_bench_list *lists, uint32_t count,
		      enum key key)
{
	merge->size = 0;
	merge->heap = calloc(count, sizeof(*merge->heap));
	if (!merge->heap)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct head head = {
			.keys = key == KEY_ID      ? lists[i].ids
				: key == KEY_BEGIN ? lists[i].begin_ns
						   : lists[i].end_ns,
			.count = key == KEY_ID ? lists[i].count : lists[i].timed,
			.list = i,
		};

		if (head.count == 0)
			continue;
		head.key = head.keys[0];
		merge->heap[merge->size++] = head;
	}
	for (uint32_t i = merge->size / 2; i > 0; i--)
		sift_down(merge, i - 1);
	return 0;
}

static void merge_deinit(struct merge *merge)
{
	free(merge->heap);
}

/** Goes past the smallest key; there must be one. */
static void merge_step(struct merge *merge)
{
	struct head *top = &merge->heap[0];

	if (++top->at < top->count)
		top->key = top->keys[top->at];
	else
		*top = merge->heap[--merge->size];
	if (merge->size > 1)
		sift_down(merge, 0);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/** IDs not larger than the one before. A list that has some is sorted, for the merge. */
static uint64_t check_list(const struct sfctl_bench_list *list)
{
	uint64_t violations = 0;

	for (uint64_t i = 1; i < list->count; i++)
		violations += list->ids[i] <= list->ids[i - 1];
	if (violations > 0)
		qsort(list->ids, list->count, sizeof(list->ids[0]), compare);
	return violations;
}

static int count_duplicates(const struct sfctl_bench_list *lists, uint32_t count,
			    uint64_t *ret_duplicates)
{
	struct merge merge;
	uint64_t duplicates = 0;
	uint64_t last = 0;
	bool is_first = true;
	int error = merge_init(&merge, lists, count, KEY_ID);

	if (error < 0)
		return error;
	for (; merge.size > 0; merge_step(&merge)) {
		uint64_t id = merge.heap[0].key;

		duplicates += !is_first && id == last;
		is_first = false;
		last = id;
	}
	merge_deinit(&merge);
	*ret_duplicates = duplicates;
	return 0;
}

/** Of all calls in the order they began: is the ID above all of the calls that had returned? */
static uint64_t sweep(const struct sfctl_bench_list *lists, struct merge *begun,
		      struct merge *returned)
{
	uint64_t violations = 0;
	uint64_t largest = 0;
	bool has_returned = false;

	for (; begun->size > 0; merge_step(begun)) {
		const struct head *call = &begun->heap[0];

		while (returned->size > 0 && returned->heap[0].key < call->key) {
			const struct head *earlier = &returned->heap[0];
			uint64_t id = lists[earlier->list].ids[earlier->at];

			largest = id > largest ? id : largest;
			has_returned = true;
			merge_step(returned);
		}
		violations += has_returned && lists[call->list].ids[call->at] <= largest;
	}
	return violations;
}

static int count_order_violations(const struct sfctl_bench_list *lists, uint32_t count,
				  uint64_t *ret_violations)
{
	struct merge begun;
	struct merge returned;
	int error = merge_init(&begun, lists, count, KEY_BEGIN);

	if (error < 0)
		return error;
	error = merge_init(&returned, lists, count, KEY_END);
	if (error == 0) {
		*ret_violations = sweep(lists, &begun, &returned);
		merge_deinit(&returned);
	}
	merge_deinit(&begun);
	return error;
}

int sfctl_bench_verify(struct sfctl_bench_list *lists, uint32_t count,
		       struct sfctl_bench_findings *ret_findings)
{
	struct sfctl_bench_findings findings = {0};
	/* First: it needs the IDs in the order they came. */
	int error = count_order_violations(lists, count, &findings.order_violations);

	if (error < 0)
		return error;
	for (uint32_t i = 0; i < count; i++)
		findings.order_violations += check_list(&lists[i]);
	error = count_duplicates(lists, count, &findings.duplicates);
	if (error < 0)
		return error;
	*ret_findings = findings;
	return 0;
}
