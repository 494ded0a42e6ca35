/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl bench: measures how fast IDs can be had, and checks them. This process leads: it starts
 * worker processes, opens one phase after the other, asks the daemon for its counters in between,
 * and prints. It takes no ID itself. Main thread.
 */
#include "tools/bench_crew.h"
#include "tools/bench_report.h"
#include "tools/control.h"
#include "tools/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define IDS_DEFAULT 10000000
#define IDS_MAX UINT64_C(100000000000)
/* Sampled calls of all workers together; enough for a p99.9 of a hundred calls. */
#define SAMPLES 100000
/* Longest wait for the daemon to begin to beat, and how often it is asked. */
#define BEAT_WAIT_MS 500
#define BEAT_POLL_MS 5
/* Streams that cannot give more IDs a second than this may never beat. */
#define BEAT_CAPACITY_MIN 20000

static const char help[] =
	"Usage: sfctl bench [OPTION]...\n"
	"\n"
	"Measures how fast IDs can be had from a stream of 64-bit IDs, and checks them on\n"
	"request.\n"
	"\n"
	"  --mode MODE       next      sf_next, inlined (default)\n"
	"                    call      sf_next as the shared library exports it\n"
	"                    ordered   sf_next_ordered\n"
	"                    fill      sf_fill, 1000 IDs at a time\n"
	"                    range     sf_claim_range, 1024 IDs at a time\n"
	"  --processes P     worker processes, 1 to 256 (default: 1), each with a client\n"
	"                    of its own\n"
	"  --threads T       threads of each, 1 to 256 (default: 1), each with a cursor\n"
	"                    of its own; a worker is one thread of one process\n"
	"  --ids N           IDs for each worker, 1 to 10^11 (default: 10000000); the\n"
	"                    total is N x P x T\n"
	"  --wait HOW        when no ID can be given now: sleep (default), spin, or none\n"
	"                    (the library says so, and the worker asks again)\n"
	"  --verify          store every ID (8 bytes each, 24 in mode ordered) and check\n"
	"                    that none came twice and that all came in order\n" //
	SFCTL_GLOBAL_HELP "\n"
	"Workers fetch until sfd beats, half a second at most; then all start together.\n"
	"The time is from the common start to the last finish; ns per ID is the mean of\n"
	"the workers. With --verify, storing the IDs is part of the time, and in mode\n"
	"ordered so are two clock reads an ID. A second pass times up to 100000 calls\n"
	"one by one with the CPU's time-stamp counter: a single ID, or in modes fill and\n"
	"range a batch. Claims and waits are the whole stream's in the first pass.\n"
	"\n"
	"Order: each worker's IDs must rise; in mode ordered an ID must also exceed that\n"
	"of every call, of any worker, that had returned before its own call began.\n"
	"Duplicates or order violations make the exit status 1.\n"
	"\n"
	"Examples:\n"
	"  sfctl bench\n"
	"  sfctl bench --mode ordered --processes 2 --ids 1000000 --verify\n"
	"  sfctl bench --threads 4 --json\n";

static int read_number(const struct sfctl *sfctl, const char *name, uint64_t max,
		       uint64_t *ret_value)
{
	if (sfctl_number_parse_range(optarg, 1, max, ret_value) < 0)
		return sfctl_usage(sfctl, "%s %.60s is not a number from 1 to %llu", name, optarg,
				   (unsigned long long)max);
	return SFCTL_GO_ON;
}

static int read_mode(const struct sfctl *sfctl, struct sfctl_bench_plan *plan)
{
	for (int i = 0; i < SFCTL_BENCH_MODES; i++) {
		if (strcmp(optarg, sfctl_bench_mode_word((enum sfctl_bench_mode)i)) == 0) {
			plan->mode = (enum sfctl_bench_mode)i;
			return SFCTL_GO_ON;
		}
	}
	return sfctl_usage(sfctl, "mode \"%.60s\" is not next, call, ordered, fill or range",
			   optarg);
}

static int read_wait(const struct sfctl *sfctl, struct sfctl_bench_plan *plan)
{
	if (strcmp(optarg, "sleep") == 0)
		plan->wait = SF_WAIT_SLEEP;
	else if (strcmp(optarg, "spin") == 0)
		plan->wait = SF_WAIT_SPIN;
	else if (strcmp(optarg, "none") == 0)
		plan->wait = SF_WAIT_NONE;
	else
		return sfctl_usage(sfctl, "wait \"%.60s\" is not sleep, spin or none", optarg);
	return SFCTL_GO_ON;
}

enum bench_option {
	OPT_MODE = 1,
	OPT_PROCESSES,
	OPT_THREADS,
	OPT_IDS,
	OPT_WAIT,
	OPT_VERIFY,
};

/** One option of this subcommand's own. @return SFCTL_GO_ON or an exit code */
static int option_read(const struct sfctl *sfctl, enum bench_option option,
		       struct sfctl_bench_plan *plan)
{
	uint64_t number = 1;
	int status = SFCTL_GO_ON;

	switch (option) {
	case OPT_MODE:
		return read_mode(sfctl, plan);
	case OPT_PROCESSES:
		status = read_number(sfctl, "processes", SFCTL_BENCH_PROCESSES_MAX, &number);
		plan->processes = (uint32_t)number;
		return status;
	case OPT_THREADS:
		status = read_number(sfctl, "threads", SFCTL_BENCH_THREADS_MAX, &number);
		plan->threads = (uint32_t)number;
		return status;
	case OPT_IDS:
		return read_number(sfctl, "ids", IDS_MAX, &plan->ids);
	case OPT_WAIT:
		return read_wait(sfctl, plan);
	case OPT_VERIFY:
		plan->verify = true;
	}
	return status;
}

static int options_read(struct sfctl *sfctl, int argc, char **argv, struct sfctl_bench_plan *plan)
{
	static const struct option options[] = {
		{"mode", required_argument, NULL, OPT_MODE},
		{"processes", required_argument, NULL, OPT_PROCESSES},
		{"threads", required_argument, NULL, OPT_THREADS},
		{"ids", required_argument, NULL, OPT_IDS},
		{"wait", required_argument, NULL, OPT_WAIT},
		{"verify", no_argument, NULL, OPT_VERIFY},
		SFCTL_GLOBAL_OPTIONS,
	};
	int status = SFCTL_GO_ON;

	while (status == SFCTL_GO_ON) {
		/* No thread runs yet. NOLINTNEXTLINE(concurrency-mt-unsafe) */
		int option = getopt_long(argc, argv, ":h", options, NULL);

		if (option == -1)
			break;
		if (option >= OPT_MODE && option <= OPT_VERIFY)
			status = option_read(sfctl, (enum bench_option)option, plan);
		else
			status = sfctl_option(sfctl, option, argv, help);
	}
	if (status == SFCTL_GO_ON && optind < argc)
		return sfctl_usage(sfctl, "\"%.60s\" is one argument too many", argv[optind]);
	return status;
}

/** Never more IDs in the sampled pass than in the timed one. */
static uint64_t samples_per_worker(const struct sfctl_bench_plan *plan)
{
	uint64_t share = SAMPLES / ((uint64_t)plan->processes * plan->threads);
	uint64_t calls = plan->ids / sfctl_bench_ids_per_call(plan->mode);

	share = share < calls ? share : calls;
	return share ? share : 1;
}

/** The daemon's counters, over a connection that outlives no restart of the daemon. */
static int ask(const struct sfctl *sfctl, struct sf_control_stats *ret_stats, struct sf_why *why)
{
	int fd;
	int error = sfctl_control_open(sfctl, &fd, why);

	if (error < 0)
		return error;
	error = sfctl_control_stats(fd, sfctl_stream_name(sfctl), 0, ret_stats, why);
	(void)sfctl_control_close(fd);
	return error;
}

/** Gives the daemon time to begin to beat, where it ever will. */
static void wait_for_beat(const struct sfctl *sfctl, struct sf_control_stats stats)
{
	struct timespec nap = {.tv_nsec = BEAT_POLL_MS * 1000000L};
	struct sf_why why;

	if (stats.counter[SF_COUNTER_capacity_per_second] < BEAT_CAPACITY_MIN)
		return;
	for (int ms = 0; ms < BEAT_WAIT_MS; ms += BEAT_POLL_MS) {
		if (ask(sfctl, &stats, &why) < 0 || stats.counter[SF_COUNTER_beating] != 0)
			return;
		(void)nanosleep(&nap, NULL);
	}
}

/** Leads the workers through the phases. `outcome->before` holds a first look at the daemon. */
static int lead(const struct sfctl *sfctl, struct sfctl_bench_crew *crew,
		struct sfctl_bench_outcome *outcome)
{
	struct sfctl_bench_gate *gate = crew->memory->gate;
	struct sf_why why;

	if (sfctl_bench_crew_gather(crew, 1) != SFCTL_OK)
		return SFCTL_FAILED;
	wait_for_beat(sfctl, outcome->before);
	sfctl_bench_gate_open(gate, SFCTL_BENCH_ARM);
	if (sfctl_bench_crew_gather(crew, 2) != SFCTL_OK)
		return SFCTL_FAILED;
	outcome->has_difference = ask(sfctl, &outcome->before, &why) == 0;
	sfctl_bench_gate_open(gate, SFCTL_BENCH_RUN);
	if (sfctl_bench_crew_gather(crew, 3) != SFCTL_OK)
		return SFCTL_FAILED;
	outcome->has_difference =
		outcome->has_difference && ask(sfctl, &outcome->after, &why) == 0 &&
		outcome->after.started_unix_ns == outcome->before.started_unix_ns &&
		outcome->after.pid == outcome->before.pid;
	sfctl_bench_gate_open(gate, SFCTL_BENCH_SAMPLE);
	return sfctl_bench_crew_join(crew);
}

static int verify(const struct sfctl *sfctl, const struct sfctl_bench_memory *memory,
		  struct sfctl_bench_findings *ret_findings)
{
	struct sfctl_bench_list *lists = calloc(memory->worker_count, sizeof(*lists));
	int error = -ENOMEM;

	for (uint32_t i = 0; lists && i < memory->worker_count; i++)
		lists[i] = memory->worker[i].list;
	if (lists)
		error = sfctl_bench_verify(lists, memory->worker_count, ret_findings);
	free(lists);
	return error < 0 ? sfctl_fail(sfctl, "out of memory") : SFCTL_OK;
}

static int run(const struct sfctl *sfctl, struct sfctl_bench_memory *memory,
	       struct sfctl_bench_outcome *outcome)
{
	struct sfctl_bench_crew crew;
	int status = sfctl_bench_crew_init(&crew, sfctl, memory);

	if (status != SFCTL_OK)
		return status;
	status = lead(sfctl, &crew, outcome);
	sfctl_bench_crew_deinit(&crew);
	if (status == SFCTL_OK && memory->plan.verify)
		status = verify(sfctl, memory, &outcome->findings);
	if (status == SFCTL_OK)
		status = sfctl_bench_report(sfctl, memory, outcome);
	return status;
}

int sfctl_cmd_bench(struct sfctl *sfctl, int argc, char **argv)
{
	struct sfctl_bench_plan plan = {
		.processes = 1,
		.threads = 1,
		.wait = SF_WAIT_SLEEP,
		.ids = IDS_DEFAULT,
	};
	struct sfctl_bench_outcome outcome = {0};
	struct sfctl_bench_memory memory;
	struct sf_why why;
	int status = options_read(sfctl, argc, argv, &plan);

	if (status != SFCTL_GO_ON)
		return status;
	plan.samples = samples_per_worker(&plan);
	if (ask(sfctl, &outcome.before, &why) < 0)
		return sfctl_fail(sfctl, "%s", why.text);
	if (outcome.before.layout.format != SF_FORMAT_SNOWFLAKE)
		return sfctl_fail(sfctl,
				  "stream %.40s holds %s, but only streams of 64-bit IDs are "
				  "measured: choose another with --stream",
				  outcome.before.stream,
				  sf_format_name(outcome.before.layout.format));
	status = sfctl_bench_memory_init(&memory, sfctl, &plan);
	if (status != SFCTL_OK)
		return status;
	sfctl_bench_tsc_init(&outcome.tsc);
	status = run(sfctl, &memory, &outcome);
	sfctl_bench_memory_deinit(&memory);
	if (status != SFCTL_OK)
		return status;
	if (outcome.findings.duplicates > 0 || outcome.findings.order_violations > 0)
		return sfctl_fail(sfctl, "%llu duplicates and %llu order violations were found",
				  (unsigned long long)outcome.findings.duplicates,
				  (unsigned long long)outcome.findings.order_violations);
	return SFCTL_OK;
}
