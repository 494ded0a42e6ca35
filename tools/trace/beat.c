/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl trace beat: how late sfd's turns are, what that lateness is made of, and who had the CPU
 * meanwhile. Main thread only.
 */
#include "tools/bpf/beat.h"

#include "tools/layout_option.h"
#include "tools/stats.h"
#include "tools/trace/chart.h"
#include "tools/trace/session.h"

#include "beat.skel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* So that a crowd does not push the rest off the screen. */
#define OTHERS_SHOWN 10

static const struct {
	const char *word;
	const char *label; /* of a picture */
} parts[] = {
	[SF_BEAT_LATE] = {"late", "late: from when a turn was due to its beginning"},
	[SF_BEAT_TIMER] = {"timer", "timer: of it, until the kernel woke the thread"},
	[SF_BEAT_READY] = {"ready", "ready: then off the CPU, until one ran the thread"},
	[SF_BEAT_START] = {"start", "start: then on the CPU, until the turn began"},
	[SF_BEAT_WORK] = {"work", "work: the turn itself"},
	[SF_BEAT_PREEMPTED] = {"preempted", "preempted: off the CPU after the thread had been run"},
};

struct other {
	struct sf_beat_name name;
	struct sf_beat_other other;
};

struct report {
	const struct sfctl_trace *trace;
	double seconds;
	struct sf_beat *beat;
	size_t beat_count;
	struct other *other; /* the one that took most comes first */
	size_t other_count;
	struct sf_hist total[SF_BEAT_PARTS];
	struct sfctl_dist dist[SF_BEAT_PARTS];
};

static const struct sfctl_scale ns = {.per_unit = 1};

/* ---- collecting ---- */

static int read_beats(struct report *report, const struct bpf_map *map)
{
	uint32_t key;
	const uint32_t *before = NULL;

	while (bpf_map__get_next_key(map, before, &key, sizeof(key)) == 0) {
		struct sf_beat *grown =
			reallocarray(report->beat, report->beat_count + 1, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		report->beat = grown;
		before = &key;
		if (bpf_map__lookup_elem(map, &key, sizeof(key), &grown[report->beat_count],
					 sizeof(*grown), 0) == 0)
			report->beat_count++;
	}
	return 0;
}

static int compare_others(const void *a, const void *b)
{
	const struct other *x = a;
	const struct other *y = b;

	return x->other.ns > y->other.ns ? -1 : x->other.ns < y->other.ns;
}

static int read_others(struct report *report, const struct bpf_map *map)
{
	struct sf_beat_name key;
	const struct sf_beat_name *before = NULL;

	while (bpf_map__get_next_key(map, before, &key, sizeof(key)) == 0) {
		struct other *grown =
			reallocarray(report->other, report->other_count + 1, sizeof(*grown));
		struct other *other;

		if (!grown)
			return -ENOMEM;
		report->other = grown;
		other = &grown[report->other_count];
		other->name = key;
		before = &key;
		if (bpf_map__lookup_elem(map, &key, sizeof(key), &other->other,
					 sizeof(other->other), 0) < 0)
			continue;
		other->name.command[sizeof(other->name.command) - 1] = '\0';
		sfctl_command_clean(other->name.command);
		report->other_count++;
	}
	if (report->other_count > 0)
		qsort(report->other, report->other_count, sizeof(*report->other), compare_others);
	return 0;
}

static void add_up(struct report *report)
{
	for (size_t i = 0; i < report->beat_count; i++)
		for (int part = 0; part < SF_BEAT_PARTS; part++)
			sfctl_hist_merge(&report->total[part], &report->beat[i].part[part]);
	for (int part = 0; part < SF_BEAT_PARTS; part++)
		sfctl_dist_init(&report->dist[part], &report->total[part], ns);
}

/* ---- text ---- */

static void beat_print(const struct report *report, const struct sf_beat *beat)
{
	static struct sfctl_dist dist; /* large */

	printf("\nsfd, process %" PRIu32 ": %.1f turns a second; %" PRIu64 " early, %" PRIu64
	       " right after another\n",
	       beat->pid, (double)beat->part[SF_BEAT_WORK].count / report->seconds, beat->early,
	       beat->overrun);
	printf("          " SFCTL_DIST_HEAD "\n");
	for (int part = 0; part < SF_BEAT_PARTS; part++) {
		sfctl_dist_init(&dist, &beat->part[part], ns);
		printf("%-10s", parts[part].word);
		sfctl_dist_print(&dist);
	}
}

static void others_print(const struct report *report)
{
	printf("\nwho had the CPU while a beat was ready to run\n");
	printf("%-16s %9s %9s %9s\n", "command", "times", "longest", "in all");
	for (size_t i = 0; i < report->other_count && i < OTHERS_SHOWN; i++) {
		const struct other *other = &report->other[i];

		printf("%-16s %9" PRIu64 " %9s %9s\n", other->name.command, other->other.count,
		       sfctl_ns_text((double)other->other.max_ns).text,
		       sfctl_ns_text((double)other->other.ns).text);
	}
}

static void report_print(const struct report *report, const struct sfctl_chart *chart)
{
	printf("%.1f s\n", report->seconds);
	if (report->beat_count == 0)
		printf("sfd took no turn meanwhile.\n");
	for (size_t i = 0; i < report->beat_count; i++)
		beat_print(report, &report->beat[i]);
	if (report->other_count > 0)
		others_print(report);
	sfctl_chart_print(chart);
}

/* ---- JSON ---- */

static json_t *beat_json(const struct sf_beat *beat)
{
	static struct sfctl_dist dist; /* large */
	json_t *object = json_pack("{s:I, s:I, s:I, s:I}", "pid", (json_int_t)beat->pid, "turns",
				   (json_int_t)beat->part[SF_BEAT_WORK].count, "early",
				   (json_int_t)beat->early, "overrun", (json_int_t)beat->overrun);
	int error = 0;

	for (int part = 0; part < SF_BEAT_PARTS && error == 0; part++) {
		sfctl_dist_init(&dist, &beat->part[part], ns);
		error = json_object_set_new(object, parts[part].word, sfctl_dist_json(&dist, "ns"));
	}
	if (error == 0)
		return object;
	json_decref(object);
	return NULL;
}

static json_t *other_json(const struct other *other)
{
	return json_pack("{s:s, s:I, s:I, s:I}", "command", other->name.command, "count",
			 (json_int_t)other->other.count, "max_ns", (json_int_t)other->other.max_ns,
			 "total_ns", (json_int_t)other->other.ns);
}

static json_t *report_json(const struct report *report)
{
	json_t *daemons = json_array();
	json_t *others = json_array();
	int error = 0;

	for (size_t i = 0; i < report->beat_count; i++)
		error |= json_array_append_new(daemons, beat_json(&report->beat[i]));
	for (size_t i = 0; i < report->other_count; i++)
		error |= json_array_append_new(others, other_json(&report->other[i]));
	if (error == 0)
		return json_pack("{s:f, s:o, s:o}", "seconds", report->seconds, "daemons", daemons,
				 "others", others);
	json_decref(daemons);
	json_decref(others);
	return NULL;
}

/* ---- running ---- */

static int show(const struct report *report)
{
	const struct sfctl_trace *trace = report->trace;
	struct sfctl_series series[SF_BEAT_PARTS];
	const struct sfctl_chart chart = {.title =
						  "sfctl trace beat: how late sfd's turns are, and "
						  "where the time went",
					  .unit = SFCTL_UNIT_NS,
					  .series = series,
					  .series_count = SF_BEAT_PARTS,
					  .printed_count = SF_BEAT_LATE + 1};
	int status = SFCTL_OK;

	for (int part = 0; part < SF_BEAT_PARTS; part++)
		series[part] = (struct sfctl_series){parts[part].label, &report->dist[part]};
	if (trace->sfctl->json)
		status = sfctl_json_print(trace->sfctl, report_json(report), JSON_INDENT(2));
	else
		report_print(report, &chart);
	if (status == SFCTL_OK && trace->svg)
		status = sfctl_chart_write_svg(trace->sfctl, &chart, trace->svg);
	return status;
}

/** Runs the trace, and fills the report. @return SFCTL_GO_ON or an exit code */
static int collect(struct sfctl_session *session, struct beat_bpf *skeleton, struct report *report)
{
	int status;
	int error = beat_bpf__load(skeleton);

	if (error < 0)
		return sfctl_session_refused(session, SFCTL_STEP_LOAD, error);
	status = sfctl_session_attach_tracepoint(session, skeleton->progs.on_waking);
	if (status == SFCTL_GO_ON)
		status = sfctl_session_attach_tracepoint(session, skeleton->progs.on_switch);
	if (status == SFCTL_GO_ON)
		status =
			sfctl_session_attach_probe(session, skeleton->progs.on_beat, "sfd", "beat");
	if (status == SFCTL_GO_ON)
		status = sfctl_session_run(session);
	if (status != SFCTL_GO_ON)
		return status;
	report->trace = session->trace;
	report->seconds = sfctl_session_seconds(session);
	error = read_beats(report, skeleton->maps.beats);
	if (error == 0)
		error = read_others(report, skeleton->maps.others);
	add_up(report);
	return error < 0 ? sfctl_fail(session->trace->sfctl, "out of memory") : SFCTL_GO_ON;
}

int sfctl_trace_beat(const struct sfctl_trace *trace)
{
	static struct report report; /* large */
	struct sfctl_session session;
	struct beat_bpf *skeleton = NULL;
	int status = sfctl_session_begin(&session, trace, &sfctl_provider_daemon);

	if (status == SFCTL_GO_ON) {
		skeleton = beat_bpf__open();
		if (skeleton) {
			skeleton->rodata->pid_ns = session.pid_ns;
			status = collect(&session, skeleton, &report);
		} else {
			status = sfctl_session_refused(&session, SFCTL_STEP_LOAD, -errno);
		}
	}
	sfctl_session_end(&session);
	beat_bpf__destroy(skeleton);
	if (status == SFCTL_GO_ON)
		status = show(&report);
	free(report.beat);
	free(report.other);
	return status;
}
