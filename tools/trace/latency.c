/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl trace latency: how long fetches take, by process and path. The library times them, the
 * kernel keeps the histograms, and here cycles become nanoseconds. Main thread only.
 */
#include "tools/bpf/latency.h"

#include "libclient/trace.h"
#include "tools/layout_option.h"
#include "tools/trace/chart.h"
#include "tools/trace/session.h"
#include "tools/trace/tsc.h"

#include "latency.skel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A step of the counter that is worth a word. */
#define COARSE_NS 1.0

static const char *const path_words[] = {
	[SF_LATENCY_FAST] = "fast",
	[SF_LATENCY_CLAIM] = "claim",
	[SF_LATENCY_WAIT] = "wait",
};

/** One process and path, as the kernel kept it. */
struct row {
	struct sf_latency_key key;
	struct sf_latency latency;
};

struct report {
	const struct sfctl_trace *trace;
	double seconds;
	struct sfctl_scale scale; /* the stopwatch's cost, and cycles a nanosecond */
	uint64_t lost;
	struct row *row;
	size_t row_count;
	struct sf_latency total[SF_LATENCY_PATHS];
	struct sfctl_dist dist[SF_LATENCY_PATHS];
};

static uint32_t fast_every(const struct sfctl_trace *trace)
{
	return (trace->sample + SF_TRACE_EVERY - 1) / SF_TRACE_EVERY;
}

/* ---- collecting ---- */

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a;
	const struct row *y = b;

	if (x->key.pid != y->key.pid)
		return x->key.pid < y->key.pid ? -1 : 1;
	return x->key.path < y->key.path ? -1 : x->key.path > y->key.path;
}

/** @return 0 or a negative errno */
static int read_rows(struct report *report, const struct bpf_map *map)
{
	struct sf_latency_key key;
	const struct sf_latency_key *before = NULL;

	while (bpf_map__get_next_key(map, before, &key, sizeof(key)) == 0) {
		struct row *grown =
			reallocarray(report->row, report->row_count + 1, sizeof(*grown));
		struct row *row;

		if (!grown)
			return -ENOMEM;
		report->row = grown;
		row = &grown[report->row_count];
		row->key = key;
		before = &row->key;
		if (bpf_map__lookup_elem(map, &key, sizeof(key), &row->latency,
					 sizeof(row->latency), 0) == 0)
			report->row_count++;
	}
	return 0;
}

static void add_up(struct report *report)
{
	if (report->row_count > 0)
		qsort(report->row, report->row_count, sizeof(*report->row), compare_rows);
	for (size_t i = 0; i < report->row_count; i++) {
		const struct sf_latency *latency = &report->row[i].latency;
		struct sf_latency *total = &report->total[report->row[i].key.path];

		total->ids += latency->ids;
		sfctl_hist_merge(&total->cycles, &latency->cycles);
	}
	for (int path = 0; path < SF_LATENCY_PATHS; path++)
		sfctl_dist_init(&report->dist[path], &report->total[path].cycles, report->scale);
}

/* ---- text ---- */

static void path_print(uint32_t path, uint64_t ids, const struct sfctl_dist *dist)
{
	printf("%-5s %11" PRIu64, path_words[path], ids);
	sfctl_dist_print(dist);
}

static void rows_print(const struct report *report)
{
	static struct sfctl_dist dist; /* large */
	uint32_t pid = 0;

	printf("path          ids" SFCTL_DIST_HEAD "\n");
	for (size_t i = 0; i < report->row_count; i++) {
		const struct row *row = &report->row[i];

		if (row->key.pid != pid)
			printf("process %" PRIu32 ", %.16s\n", row->key.pid, row->latency.command);
		pid = row->key.pid;
		sfctl_dist_init(&dist, &row->latency.cycles, report->scale);
		path_print(row->key.path, row->latency.ids, &dist);
	}
	printf("all processes\n");
	for (uint32_t path = 0; path < SF_LATENCY_PATHS; path++)
		path_print(path, report->total[path].ids, &report->dist[path]);
}

static void head_print(const struct report *report)
{
	const struct sfctl_scale *scale = &report->scale;

	printf("%.1f s\n"
	       "cycles: %.4f a ns; %.1f (%.1f ns) that timing itself takes are taken off\n",
	       report->seconds, scale->per_unit, scale->less, scale->less / scale->per_unit);
	if (scale->step / scale->per_unit >= COARSE_NS)
		printf("this CPU counts them %.0f (%.1f ns) at a time: a single time is no finer\n",
		       scale->step, scale->step / scale->per_unit);
	printf("timed: every claim and wait, and one fast fetch in %" PRIu32
	       "; typical: the mean of\nthe lower 99 %%\n\n",
	       fast_every(report->trace) * SF_TRACE_EVERY);
}

static void report_print(const struct report *report, const struct sfctl_chart *chart)
{
	head_print(report);
	if (report->row_count == 0) {
		printf("No process took a single ID meanwhile.\n");
		return;
	}
	rows_print(report);
	sfctl_chart_print(chart);
	if (report->lost > 0)
		printf("\n%" PRIu64 " events are missing: more than %d processes\n", report->lost,
		       SF_LATENCY_PROCESSES / SF_LATENCY_PATHS);
}

/* ---- JSON ---- */

static json_t *path_json(const struct sf_latency *latency, const struct sfctl_dist *dist)
{
	json_t *object = sfctl_dist_json(dist, "ns");

	if (json_object_set_new(object, "ids", json_integer((json_int_t)latency->ids)) < 0) {
		json_decref(object);
		return NULL;
	}
	return object;
}

/** The process of a row, which is its first. */
static json_t *process_json(const struct report *report, size_t first)
{
	static struct sfctl_dist dist; /* large */
	const struct row *row = &report->row[first];
	json_t *paths = json_object();
	int error = 0;

	for (size_t i = first;
	     i < report->row_count && report->row[i].key.pid == row->key.pid && error == 0; i++) {
		sfctl_dist_init(&dist, &report->row[i].latency.cycles, report->scale);
		error = json_object_set_new(paths, path_words[report->row[i].key.path],
					    path_json(&report->row[i].latency, &dist));
	}
	if (error < 0) {
		json_decref(paths);
		return NULL;
	}
	return json_pack("{s:I, s:s%, s:o}", "pid", (json_int_t)row->key.pid, "command",
			 row->latency.command, strnlen(row->latency.command, 16), "paths", paths);
}

static json_t *processes_json(const struct report *report)
{
	json_t *array = json_array();

	for (size_t i = 0; i < report->row_count; i++) {
		if (i > 0 && report->row[i].key.pid == report->row[i - 1].key.pid)
			continue;
		if (json_array_append_new(array, process_json(report, i)) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *report_json(const struct report *report)
{
	json_t *paths = json_object();

	for (int path = 0; path < SF_LATENCY_PATHS; path++) {
		if (json_object_set_new(paths, path_words[path],
					path_json(&report->total[path], &report->dist[path])) < 0) {
			json_decref(paths);
			return NULL;
		}
	}
	return json_pack(
		"{s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:o, s:o}", "seconds", report->seconds,
		"cycles_per_ns", report->scale.per_unit, "stopwatch_cycles", report->scale.less,
		"stopwatch_ns", report->scale.less / report->scale.per_unit, "step_ns",
		report->scale.step / report->scale.per_unit, "sample",
		(json_int_t)fast_every(report->trace) * SF_TRACE_EVERY, "lost",
		(json_int_t)report->lost, "paths", paths, "processes", processes_json(report));
}

/* ---- running ---- */

static int show(struct report *report)
{
	const struct sfctl_trace *trace = report->trace;
	const struct sfctl_series series[] = {
		{"fast fetches", &report->dist[SF_LATENCY_FAST]},
		{"fetches that claim", &report->dist[SF_LATENCY_CLAIM]},
		{"fetches that wait", &report->dist[SF_LATENCY_WAIT]},
	};
	const struct sfctl_chart chart = {.title = "sfctl trace latency: how long one fetch takes",
					  .unit = SFCTL_UNIT_NS,
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

static void configure(struct latency_bpf *skeleton, const struct sfctl_session *session)
{
	const char *stream = session->trace->sfctl->stream;

	skeleton->rodata->pid_ns = session->pid_ns;
	skeleton->rodata->fast_every = fast_every(session->trace);
	skeleton->rodata->only_stream = stream != NULL;
	if (stream)
		(void)snprintf((char *)skeleton->rodata->stream_name, SF_LATENCY_STREAM_MAX, "%s",
			       stream);
}

/** Runs the trace, and fills the report. @return SFCTL_GO_ON or an exit code */
static int collect(struct sfctl_session *session, struct latency_bpf *skeleton,
		   struct report *report)
{
	struct sfctl_tsc begin = sfctl_tsc_now();
	struct sfctl_stopwatch stopwatch;
	int status;
	int error = latency_bpf__load(skeleton);

	if (error < 0)
		return sfctl_session_refused(session, SFCTL_STEP_LOAD, error);
	status = sfctl_session_attach_probe(session, skeleton->progs.on_fetch, "sfclient", "fetch");
	if (status == SFCTL_GO_ON)
		status = sfctl_session_run(session);
	if (status != SFCTL_GO_ON)
		return status;
	report->trace = session->trace;
	report->seconds = sfctl_session_seconds(session);
	stopwatch = sfctl_stopwatch_try();
	report->scale = (struct sfctl_scale){.less = stopwatch.cost,
					     .per_unit = sfctl_tsc_ghz(begin, sfctl_tsc_now()),
					     .step = stopwatch.step};
	report->lost = skeleton->bss->lost;
	error = read_rows(report, skeleton->maps.latencies);
	add_up(report);
	return error < 0 ? sfctl_fail(session->trace->sfctl, "out of memory") : SFCTL_GO_ON;
}

int sfctl_trace_latency(const struct sfctl_trace *trace)
{
	static struct report report; /* large */
	struct sfctl_session session;
	struct latency_bpf *skeleton = NULL;
	int status = sfctl_session_begin(&session, trace, &sfctl_provider_client);

	if (status == SFCTL_GO_ON) {
		skeleton = latency_bpf__open();
		if (skeleton) {
			configure(skeleton, &session);
			status = collect(&session, skeleton, &report);
		} else {
			status = sfctl_session_refused(&session, SFCTL_STEP_LOAD, -errno);
		}
	}
	sfctl_session_end(&session);
	latency_bpf__destroy(skeleton);
	if (status == SFCTL_GO_ON)
		status = show(&report);
	free(report.row);
	return status;
}
