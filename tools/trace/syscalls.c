/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl trace syscalls: the system calls that a process makes between its fetches. Main thread
 * only.
 */
#include "tools/bpf/syscalls.h"

#include "libclient/trace.h"
#include "tools/layout_option.h"
#include "tools/trace/chart.h"
#include "tools/trace/session.h"

#include "syscalls.skel.h"

#include <errno.h>
#include <inttypes.h>
#include <seccomp.h>
#include <stdlib.h>

static const char *const path_words[] = {
	[SF_LATENCY_FAST] = "fast",
	[SF_LATENCY_CLAIM] = "claim",
	[SF_LATENCY_WAIT] = "wait",
};

/** A call and how often it was made. */
struct call {
	uint32_t number;
	uint64_t count;
};

struct report {
	const struct sfctl_trace *trace;
	double seconds;
	struct sf_syscalls counts;
	struct call call[SF_SYSCALLS_NUMBERS]; /* the most frequent first */
	size_t call_count;
	struct sfctl_dist dist[SF_LATENCY_PATHS];
};

/* ---- collecting ---- */

static int compare_calls(const void *a, const void *b)
{
	const struct call *x = a;
	const struct call *y = b;

	return x->count > y->count ? -1 : x->count < y->count;
}

static void add_up(struct report *report)
{
	const struct sfctl_scale calls = {.per_unit = 1};

	for (int path = 0; path < SF_LATENCY_PATHS; path++)
		sfctl_dist_init(&report->dist[path], &report->counts.path[path].per_interval,
				calls);
	for (uint32_t i = 0; i < SF_SYSCALLS_NUMBERS; i++)
		if (report->counts.number[i] != 0)
			report->call[report->call_count++] =
				(struct call){i, report->counts.number[i]};
	qsort(report->call, report->call_count, sizeof(*report->call), compare_calls);
}

/** Intervals without a single call. */
static uint64_t without(const struct sf_hist *per_interval)
{
	return per_interval->bucket[0];
}

/** Name of a call of this machine; the caller frees it. NULL: it has none, or memory is out. */
static char *name_of(uint32_t number)
{
	char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)number);

	if (!name && asprintf(&name, "call %" PRIu32, number) < 0)
		return NULL;
	return name;
}

static struct sf_syscalls_path sum_of(const struct report *report)
{
	struct sf_syscalls_path sum = {0};

	for (int path = 0; path < SF_LATENCY_PATHS; path++) {
		sum.ids += report->counts.path[path].ids;
		sum.calls += report->counts.path[path].calls;
		sfctl_hist_merge(&sum.per_interval, &report->counts.path[path].per_interval);
	}
	return sum;
}

/* ---- text ---- */

static void path_print(const char *word, const struct sf_syscalls_path *path)
{
	printf("%-6s %12" PRIu64 " %11" PRIu64 " %13" PRIu64 " %12" PRIu64 " %14.6f\n", word,
	       path->ids, path->per_interval.count, without(&path->per_interval), path->calls,
	       path->ids > 0 ? (double)path->calls / (double)path->ids : 0.0);
}

static void report_print(const struct report *report, const struct sfctl_chart *chart)
{
	struct sf_syscalls_path sum = sum_of(report);

	printf("%.1f s, process %d: system calls of threads that fetch, from fetch to fetch\n"
	       "(those that are told of: every claim and wait, and every %uth fast one)\n\n",
	       report->seconds, (int)report->trace->pid, SF_TRACE_EVERY);
	printf("%-6s %12s %11s %13s %12s %14s\n", "up to", "ids", "intervals", "without calls",
	       "calls", "calls an id");
	for (int path = 0; path < SF_LATENCY_PATHS; path++)
		path_print(path_words[path], &report->counts.path[path]);
	path_print("all", &sum);
	if (report->call_count > 0)
		printf("\ncalls, also those after a thread's last fetch\n");
	for (size_t i = 0; i < report->call_count; i++) {
		char *name = name_of(report->call[i].number);

		printf("  %-24s %12" PRIu64 "\n", name ? name : "?", report->call[i].count);
		free(name);
	}
	if (report->counts.lost > 0)
		printf("\n%" PRIu64 " fetches are missing: more than %d threads\n",
		       report->counts.lost, SF_SYSCALLS_THREADS);
	sfctl_chart_print(chart);
}

/* ---- JSON ---- */

static json_t *path_json(const struct sf_syscalls_path *path)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "ids", (json_int_t)path->ids, "intervals",
			 (json_int_t)path->per_interval.count, "intervals_without",
			 (json_int_t)without(&path->per_interval), "calls", (json_int_t)path->calls,
			 "calls_max", (json_int_t)path->per_interval.max);
}

static json_t *calls_json(const struct report *report)
{
	json_t *object = json_object();
	int error = 0;

	for (size_t i = 0; i < report->call_count && error == 0; i++) {
		char *name = name_of(report->call[i].number);

		error = name ? json_object_set_new(object, name,
						   json_integer((json_int_t)report->call[i].count))
			     : -1;
		free(name);
	}
	if (error == 0)
		return object;
	json_decref(object);
	return NULL;
}

static json_t *report_json(const struct report *report)
{
	struct sf_syscalls_path sum = sum_of(report);
	json_t *object = path_json(&sum);
	json_t *paths = json_object();
	int error = 0;

	for (int path = 0; path < SF_LATENCY_PATHS; path++)
		error |= json_object_set_new(paths, path_words[path],
					     path_json(&report->counts.path[path]));
	error |= json_object_set_new(object, "paths", paths);
	error |= json_object_set_new(object, "by_name", calls_json(report));
	error |= json_object_set_new(object, "pid", json_integer(report->trace->pid));
	error |= json_object_set_new(object, "seconds", json_real(report->seconds));
	error |= json_object_set_new(object, "lost", json_integer((json_int_t)report->counts.lost));
	if (error == 0)
		return object;
	json_decref(object);
	return NULL;
}

/* ---- running ---- */

static int show(const struct report *report)
{
	const struct sfctl_trace *trace = report->trace;
	const struct sfctl_series series[] = {
		{"calls in an interval up to a fast fetch", &report->dist[SF_LATENCY_FAST]},
		{"calls in an interval up to a claim", &report->dist[SF_LATENCY_CLAIM]},
		{"calls in an interval up to a wait", &report->dist[SF_LATENCY_WAIT]},
	};
	const struct sfctl_chart chart = {.title = "sfctl trace syscalls: system calls between "
						   "fetches",
					  .unit = SFCTL_UNIT_CALLS,
					  .series = series,
					  .series_count = sizeof(series) / sizeof(series[0]),
					  .printed_count = sizeof(series) / sizeof(series[0])};
	int status = SFCTL_OK;

	if (trace->sfctl->json)
		status = sfctl_json_print(trace->sfctl, report_json(report), JSON_INDENT(2));
	else
		report_print(report, &chart);
	if (status == SFCTL_OK && trace->svg)
		status = sfctl_chart_write_svg(trace->sfctl, &chart, trace->svg);
	return status;
}

/** Runs the trace, and fills the report. @return SFCTL_GO_ON or an exit code */
static int collect(struct sfctl_session *session, struct syscalls_bpf *skeleton,
		   struct report *report)
{
	int status;
	int error = syscalls_bpf__load(skeleton);

	if (error < 0)
		return sfctl_session_refused(session, SFCTL_STEP_LOAD, error);
	status = sfctl_session_attach_tracepoint(session, skeleton->progs.on_call);
	if (status == SFCTL_GO_ON)
		status = sfctl_session_attach_probe(session, skeleton->progs.on_fetch, "sfclient",
						    "fetch");
	if (status == SFCTL_GO_ON)
		status = sfctl_session_run(session);
	if (status != SFCTL_GO_ON)
		return status;
	report->trace = session->trace;
	report->seconds = sfctl_session_seconds(session);
	report->counts = skeleton->bss->counts;
	add_up(report);
	return SFCTL_GO_ON;
}

int sfctl_trace_syscalls(const struct sfctl_trace *trace)
{
	static struct report report; /* large */
	struct sfctl_session session;
	struct syscalls_bpf *skeleton = NULL;
	int status;

	if (trace->pid == 0)
		return sfctl_usage(trace->sfctl, "syscalls: --pid is missing");
	status = sfctl_session_begin(&session, trace, &sfctl_provider_client);
	if (status == SFCTL_GO_ON) {
		skeleton = syscalls_bpf__open();
		status = skeleton ? collect(&session, skeleton, &report)
				  : sfctl_session_refused(&session, SFCTL_STEP_LOAD, -errno);
	}
	sfctl_session_end(&session);
	syscalls_bpf__destroy(skeleton);
	return status == SFCTL_GO_ON ? show(&report) : status;
}
