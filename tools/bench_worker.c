/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A worker thread's way through the phases of a benchmark. The first worker of a process runs on
 * its main thread. An error on any thread ends the process, which the parent notices: nobody waits
 * at the gate for a worker that is gone.
 */
#include "tools/bench_worker.h"

#include "tools/client.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fetches between two looks at the gate while warming up. */
#define WARM_BATCH 64

/** What a worker thread starts with. */
struct start {
	const struct sfctl *sfctl;
	struct sfctl_bench_memory *memory;
	struct sfctl_bench_worker *worker;
	struct sf_client *client;
	struct sf_cursor *cursor;
	pthread_t thread;
};

/** Ends the process: no exit handlers, no flush of what the parent had buffered. */
_Noreturn static void give_up(const struct start *start, const char *what, int error)
{
	(void)sfctl_fail(start->sfctl, "worker %td cannot %s: %s",
			 start->worker - start->memory->worker, what, sf_strerror(error));
	_exit(SFCTL_FAILED);
}

/** Takes the page faults before the clock runs. */
static void touch(const struct sfctl_bench_memory *memory, struct sfctl_bench_worker *worker)
{
	const struct sfctl_bench_plan *plan = &memory->plan;
	uint64_t sampled = plan->samples * sfctl_bench_ids_per_call(plan->mode);

	memset(worker->cycles, 0, plan->samples * sizeof(uint64_t));
	if (worker->list.ids)
		memset(worker->list.ids, 0, (plan->ids + sampled) * sizeof(uint64_t));
	if (worker->begin_ns) {
		memset(worker->begin_ns, 0, plan->ids * sizeof(uint64_t));
		memset(worker->end_ns, 0, plan->ids * sizeof(uint64_t));
	}
}

/*
 * An idle daemon does not beat, and then every ID costs a claim: fetch until the parent has seen it
 * beat. Without waiting, so that the parent's word is heard at once also where the layout is slow.
 */
static void warm_up(const struct start *start)
{
	uint32_t wait = start->memory->plan.wait;
	uint64_t id;
	int error = sf_cursor_set_wait(start->cursor, SF_WAIT_NONE, SF_TIMEOUT_DEFAULT_NS);

	while (error == 0 && !sfctl_bench_gate_is_open(start->memory->gate, SFCTL_BENCH_ARM)) {
		for (int i = 0; i < WARM_BATCH && error == 0; i++)
			error = sf_next(start->cursor, &id);
		if (error == -EAGAIN)
			error = 0;
	}
	if (error == 0)
		error = sf_cursor_set_wait(start->cursor, wait, SF_TIMEOUT_DEFAULT_NS);
	if (error < 0)
		give_up(start, "warm up", error);
}

/** All phases. */
static void work(const struct start *start)
{
	struct sfctl_bench_worker *worker = start->worker;
	struct sfctl_bench_gate *gate = start->memory->gate;
	const struct sfctl_bench_plan *plan = &start->memory->plan;
	struct sfctl_bench_lane lane = {
		.cursor = start->cursor,
		.mode = plan->mode,
		.ids = worker->list.ids,
		.begin_ns = worker->begin_ns,
		.end_ns = worker->end_ns,
	};
	int error;

	touch(start->memory, worker);
	sfctl_bench_gate_arrive(gate);
	warm_up(start);
	sfctl_bench_gate_arrive(gate);
	sfctl_bench_gate_wait(gate, SFCTL_BENCH_RUN);
	worker->start_ns = sfctl_bench_now_ns();
	error = sfctl_bench_take(&lane, plan->ids);
	worker->finish_ns = sfctl_bench_now_ns();
	if (error < 0)
		give_up(start, "take an ID", error);
	sfctl_bench_gate_arrive(gate);
	sfctl_bench_gate_wait(gate, SFCTL_BENCH_SAMPLE);
	error = sfctl_bench_sample(&lane, plan->ids, plan->samples, worker->cycles,
				   &worker->sampled_ids);
	if (error < 0)
		give_up(start, "take an ID", error);
	if (plan->verify)
		worker->list.count = plan->ids + worker->sampled_ids;
}

static void *thread_main(void *data)
{
	struct start *start = data;
	int error = sf_cursor_open(start->client, &start->cursor);

	if (error < 0)
		give_up(start, "open a cursor", error);
	work(start);
	sf_cursor_close(start->cursor);
	return NULL;
}

_Noreturn void sfctl_bench_worker_main(const struct sfctl *sfctl, struct sfctl_bench_memory *memory,
				       uint32_t process)
{
	uint32_t threads = memory->plan.threads;
	struct start *starts = calloc(threads, sizeof(*starts));
	struct sfctl_client client;

	if (!starts) {
		(void)sfctl_fail(sfctl, "out of memory");
		_exit(SFCTL_FAILED);
	}
	if (sfctl_client_open(sfctl, memory->plan.wait, SF_TIMEOUT_DEFAULT_NS, &client) != SFCTL_OK)
		_exit(SFCTL_FAILED);
	for (uint32_t i = 0; i < threads; i++) {
		int error = 0;

		starts[i] = (struct start){
			.sfctl = sfctl,
			.memory = memory,
			.worker = &memory->worker[process * threads + i],
			.client = client.client,
			.cursor = client.cursor,
		};
		if (i > 0)
			error = pthread_create(&starts[i].thread, NULL, thread_main, &starts[i]);
		if (error > 0)
			give_up(&starts[i], "start its thread", -error);
	}
	work(&starts[0]);
	for (uint32_t i = 1; i < threads; i++)
		(void)pthread_join(starts[i].thread, NULL);
	sfctl_client_close(&client);
	free(starts);
	_exit(SFCTL_OK);
}
