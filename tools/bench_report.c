/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * From each worker's numbers to one table or JSON object. Main thread.
 */
#include "tools/bench_report.h"

#include "tools/layout_option.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAIRS 1001
#define MEDIAN 500
#define CALIBRATION_NS 20000000

/** All that is printed. */
struct summary {
	uint64_t ids;
	double seconds;
	double ns_per_id; /* mean over the workers of each one's time for its IDs */
	double p50_ns;
	double p99_ns;
	double p999_ns;
	double max_ns;
	uint64_t samples;
	bool beating;
	uint64_t claims;
	uint64_t dropped;
	uint64_t waits;
};

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void sfctl_bench_tsc_init(struct sfctl_bench_tsc *tsc)
{
	struct timespec nap = {.tv_nsec = CALIBRATION_NS};
	int64_t begin_ns = sfctl_bench_now_ns();
	uint64_t begin = sfctl_bench_cycles();
	uint64_t pairs[PAIRS];

	/* Waking early only makes the measurement shorter. */
	(void)nanosleep(&nap, NULL);
	tsc->ns_per_cycle =
		(double)(sfctl_bench_now_ns() - begin_ns) / (double)(sfctl_bench_cycles() - begin);
	for (int i = 0; i < PAIRS; i++) {
		pairs[i] = sfctl_bench_cycles();
		pairs[i] = sfctl_bench_cycles() - pairs[i];
	}
	qsort(pairs, PAIRS, sizeof(pairs[0]), compare);
	tsc->pair_ns = tsc->ns_per_cycle * (double)pairs[MEDIAN];
}

const char *sfctl_bench_mode_word(enum sfctl_bench_mode mode)
{
	static const char *const words[] = {
		[SFCTL_BENCH_NEXT] = "next",       [SFCTL_BENCH_CALL] = "call",
		[SFCTL_BENCH_ORDERED] = "ordered", [SFCTL_BENCH_FILL] = "fill",
		[SFCTL_BENCH_RANGE] = "range",     [SFCTL_BENCH_MODES] = NULL,
	};

	return words[mode];
}

/** The smallest sample that `permille` of all do not exceed. */
static double quantile(const uint64_t *sorted, uint64_t count, uint64_t permille,
		       const struct sfctl_bench_tsc *tsc)
{
	uint64_t rank = (count * permille + 999) / 1000;

	uint64_t cycles = sorted[rank ? rank - 1 : 0];

	return (double)cycles * tsc->ns_per_cycle;
}

static int summarize_samples(const struct sfctl_bench_memory *memory,
			     const struct sfctl_bench_tsc *tsc, struct summary *summary)
{
	uint64_t per_worker = memory->plan.samples;
	uint64_t count = per_worker * memory->worker_count;
	uint64_t *all = count ? calloc(count, sizeof(*all)) : NULL;

	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < memory->worker_count; i++)
		memcpy(all + i * per_worker, memory->worker[i].cycles, per_worker * sizeof(*all));
	qsort(all, count, sizeof(*all), compare);
	summary->samples = count;
	summary->p50_ns = quantile(all, count, 500, tsc);
	summary->p99_ns = quantile(all, count, 990, tsc);
	summary->p999_ns = quantile(all, count, 999, tsc);
	summary->max_ns = quantile(all, count, 1000, tsc);
	free(all);
	return 0;
}

/** From the first worker's start, which is common to all, to the last one's finish. */
static void summarize_times(const struct sfctl_bench_memory *memory, struct summary *summary)
{
	int64_t start = memory->worker[0].start_ns;
	int64_t finish = memory->worker[0].finish_ns;
	double sum = 0;

	for (uint32_t i = 0; i < memory->worker_count; i++) {
		const struct sfctl_bench_worker *worker = &memory->worker[i];

		start = worker->start_ns < start ? worker->start_ns : start;
		finish = worker->finish_ns > finish ? worker->finish_ns : finish;
		sum += (double)(worker->finish_ns - worker->start_ns) / (double)memory->plan.ids;
	}
	summary->ids = memory->plan.ids * memory->worker_count;
	/* A coarse clock must not make a rate infinite. */
	summary->seconds = (double)(finish > start ? finish - start : 1) / 1e9;
	summary->ns_per_id = sum / memory->worker_count;
}

static uint64_t difference(const struct sfctl_bench_outcome *outcome, enum sf_counter counter)
{
	return outcome->after.counter[counter] - outcome->before.counter[counter];
}

static int summarize(const struct sfctl_bench_memory *memory,
		     const struct sfctl_bench_outcome *outcome, struct summary *summary)
{
	summarize_times(memory, summary);
	summary->beating = outcome->before.counter[SF_COUNTER_beating] != 0;
	summary->claims = difference(outcome, SF_COUNTER_ids_claimed);
	summary->dropped = difference(outcome, SF_COUNTER_ids_dropped);
	summary->waits = difference(outcome, SF_COUNTER_waits);
	return summarize_samples(memory, &outcome->tsc, summary);
}

/** An integer, or null for what is not known. */
static json_t *maybe_integer(bool is_known, uint64_t value)
{
	return is_known ? json_integer((json_int_t)value) : json_null();
}

static json_t *to_json(const struct sfctl_bench_memory *memory,
		       const struct sfctl_bench_outcome *outcome, const struct summary *summary)
{
	const struct sfctl_bench_plan *plan = &memory->plan;
	struct sfctl_layout_label layout = sfctl_layout_label(&outcome->before.layout);

	return json_pack("{ss ss ss sI sI sb sb sI sf sf sf so so so so so sI sf sf sf sf sf}",   //
			 "stream", outcome->before.stream,                                        //
			 "layout", layout.text,                                                   //
			 "mode", sfctl_bench_mode_word(plan->mode),                               //
			 "processes", (json_int_t)plan->processes,                                //
			 "threads", (json_int_t)plan->threads,                                    //
			 "verify", (int)plan->verify,                                             //
			 "beating", (int)summary->beating,                                        //
			 "ids", (json_int_t)summary->ids,                                         //
			 "seconds", summary->seconds,                                             //
			 "ns_per_id", summary->ns_per_id,                                         //
			 "ids_per_second", (double)summary->ids / summary->seconds,               //
			 "duplicates", maybe_integer(plan->verify, outcome->findings.duplicates), //
			 "order_violations",                                                      //
			 maybe_integer(plan->verify, outcome->findings.order_violations),         //
			 "claims", maybe_integer(outcome->has_difference, summary->claims),       //
			 "dropped", maybe_integer(outcome->has_difference, summary->dropped),     //
			 "waits", maybe_integer(outcome->has_difference, summary->waits),         //
			 "samples", (json_int_t)summary->samples,                                 //
			 "p50_ns", summary->p50_ns,                                               //
			 "p99_ns", summary->p99_ns,                                               //
			 "p999_ns", summary->p999_ns,                                             //
			 "max_ns", summary->max_ns,                                               //
			 "empty_pair_ns", outcome->tsc.pair_ns);
}

static void print_counters(const struct sfctl_bench_outcome *outcome, const struct summary *summary)
{
	if (!outcome->has_difference) {
		printf("  claimed, dropped, waits  unknown: sfd was restarted or did not answer\n");
		return;
	}
	printf("  claimed           %20" PRIu64 "\n"
	       "  of that dropped   %20" PRIu64 "\n"
	       "  waits             %20" PRIu64 "\n",
	       summary->claims, summary->dropped, summary->waits);
}

static void print_text(const struct sfctl_bench_memory *memory,
		       const struct sfctl_bench_outcome *outcome, const struct summary *summary)
{
	const struct sfctl_bench_plan *plan = &memory->plan;
	const char *call = sfctl_bench_ids_per_call(plan->mode) > 1 ? "batch" : "fetch";

	printf("stream %s, layout %s\n"
	       "mode %s, processes %" PRIu32 ", threads of each %" PRIu32 ", IDs of each %" PRIu64
	       "%s\n",
	       outcome->before.stream, sfctl_layout_label(&outcome->before.layout).text,
	       sfctl_bench_mode_word(plan->mode), plan->processes, plan->threads, plan->ids,
	       plan->verify ? ", all stored" : "");
	if (!summary->beating)
		printf("sfd did not beat at the start: every fetch was a claim then\n");
	printf("\n"
	       "  IDs               %20" PRIu64 "\n"
	       "  seconds           %20.6f\n"
	       "  ns per ID         %20.3f  mean of the workers\n"
	       "  IDs per second    %20.0f\n",
	       summary->ids, summary->seconds, summary->ns_per_id,
	       (double)summary->ids / summary->seconds);
	print_counters(outcome, summary);
	printf("\n"
	       "  one %s, ns          p50       p99     p99.9         max\n"
	       "              %12.1f %9.1f %9.1f %11.1f\n"
	       "  of %" PRIu64 " samples; %.1f ns of each is reading the time-stamp counter\n",
	       call, summary->p50_ns, summary->p99_ns, summary->p999_ns, summary->max_ns,
	       summary->samples, outcome->tsc.pair_ns);
	if (plan->verify)
		printf("\n"
		       "  duplicates        %20" PRIu64 "\n"
		       "  order violations  %20" PRIu64 "\n",
		       outcome->findings.duplicates, outcome->findings.order_violations);
}

int sfctl_bench_report(const struct sfctl *sfctl, const struct sfctl_bench_memory *memory,
		       const struct sfctl_bench_outcome *outcome)
{
	struct summary summary = {0};

	if (summarize(memory, outcome, &summary) < 0)
		return sfctl_fail(sfctl, "out of memory");
	if (sfctl->json)
		return sfctl_json_print(sfctl, to_json(memory, outcome, &summary),
					JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	print_text(memory, outcome, &summary);
	return SFCTL_OK;
}
