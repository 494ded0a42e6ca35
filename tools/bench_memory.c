/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Sizes and addresses of a benchmark's shared mapping. Main thread, before any process is made.
 */
#include "tools/bench_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MEBIBYTE (UINT64_C(1) << 20)

/** Room for one worker's IDs: those of both passes. */
static uint64_t list_length(const struct sfctl_bench_plan *plan)
{
	return plan->ids + plan->samples * sfctl_bench_ids_per_call(plan->mode);
}

/** Only an order across workers needs times; the other modes promise none. */
static bool keeps_times(const struct sfctl_bench_plan *plan)
{
	return plan->verify && plan->mode == SFCTL_BENCH_ORDERED;
}

static uint64_t worker_bytes(const struct sfctl_bench_plan *plan)
{
	uint64_t words = plan->samples;

	if (plan->verify)
		words += list_length(plan);
	if (keeps_times(plan))
		words += 2 * plan->ids;
	return words * sizeof(uint64_t);
}

/** Memory that can be had without swapping, bytes; UINT64_MAX when the kernel does not say. */
static uint64_t available_bytes(void)
{
	static const char key[] = "MemAvailable:";
	uint64_t bytes = UINT64_MAX;
	char line[128];
	FILE *file = fopen("/proc/meminfo", "re");

	if (!file)
		return bytes;
	while (bytes == UINT64_MAX && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, sizeof(key) - 1) == 0)
			bytes = strtoull(line + sizeof(key) - 1, NULL, 10) * 1024;
	}
	(void)fclose(file);
	return bytes;
}

/** Gives each worker its part of what lies behind the array of workers. */
static void hand_out(struct sfctl_bench_memory *memory)
{
	const struct sfctl_bench_plan *plan = &memory->plan;
	uint64_t *words = (uint64_t *)(memory->worker + memory->worker_count);

	for (uint32_t i = 0; i < memory->worker_count; i++) {
		struct sfctl_bench_worker *worker = &memory->worker[i];

		worker->cycles = words;
		words += plan->samples;
		if (!plan->verify)
			continue;
		worker->list.ids = words;
		words += list_length(plan);
		if (!keeps_times(plan))
			continue;
		worker->begin_ns = words;
		worker->end_ns = words + plan->ids;
		words += 2 * plan->ids;
		worker->list.begin_ns = worker->begin_ns;
		worker->list.end_ns = worker->end_ns;
		worker->list.timed = plan->ids;
	}
}

int sfctl_bench_memory_init(struct sfctl_bench_memory *memory, const struct sfctl *sfctl,
			    const struct sfctl_bench_plan *plan)
{
	uint32_t count = plan->processes * plan->threads;
	uint64_t bytes = sizeof(struct sfctl_bench_gate) +
			 count * (sizeof(struct sfctl_bench_worker) + worker_bytes(plan));
	uint64_t available = available_bytes();
	void *map = MAP_FAILED;

	errno = ENOMEM;
	if (bytes <= available)
		map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return sfctl_fail(sfctl,
				  "%s of %" PRIu64 " IDs needs %" PRIu64 " MiB of memory, %" PRIu64
				  " MiB are available (%s): lower --ids, --processes or --threads",
				  plan->verify ? "--verify" : "a benchmark", count * plan->ids,
				  bytes / MEBIBYTE + 1, available / MEBIBYTE,
				  strerrordesc_np(errno));
	*memory = (struct sfctl_bench_memory){
		.plan = *plan,
		.gate = map,
		.worker = (struct sfctl_bench_worker *)((struct sfctl_bench_gate *)map + 1),
		.worker_count = count,
		.map = map,
		.bytes = bytes,
	};
	hand_out(memory);
	return SFCTL_OK;
}

void sfctl_bench_memory_deinit(struct sfctl_bench_memory *memory)
{
	(void)munmap(memory->map, memory->bytes);
}
