/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl trace control: each request on sfd's control channel, how long it waited for sfd's loop and
 * how long sfd worked on it. Main thread only.
 */
#include "tools/bpf/control.h"

#include "shm/control.h"
#include "tools/layout_option.h"
#include "tools/trace/chart.h"
#include "tools/trace/session.h"

#include "control.skel.h"

#include <bpf/btf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/** Requests that JSON lists; the distributions have all. */
#define LISTED_MAX 10000

/** What a request's time is made of, in order. */
enum part {
	PART_WAKE = 0, /* from the message's arrival until the kernel had received it for sfd */
	PART_QUEUE,    /* from then until sfd began with it */
	PART_SERVICE,  /* until the reply was made */
	PARTS
};

static const struct {
	const char *word;
	const char *label; /* of a picture */
} parts[PARTS] = {
	[PART_WAKE] = {"wake", "wake: from a message's arrival until it is received"},
	[PART_QUEUE] = {"queue", "queue: until sfd begins with it"},
	[PART_SERVICE] = {"service", "service: until the reply is made"},
};

/** What was asked; the last is everything else. */
enum {
	TYPE_OTHER = SF_CONTROL_UPGRADE + 1,
	TYPES
};

static const char *const type_words[TYPES] = {
	[SF_CONTROL_ATTACH] = "attach",   [SF_CONTROL_STATS] = "stats",
	[SF_CONTROL_CLIENTS] = "clients", [SF_CONTROL_UPGRADE] = "upgrade",
	[TYPE_OTHER] = "other",
};

struct report {
	const struct sfctl_trace *trace;
	double seconds;
	uint64_t lost;
	uint64_t count;
	uint64_t polled; /* of them, those that a poll(2) loop took */
	bool out_of_memory;
	json_t *listed; /* with --json only */
	struct sf_hist hist[TYPES][PARTS];
	uint64_t refused[TYPES];
	struct sf_hist total[PARTS];
	struct sfctl_dist dist[PARTS];
};

/* ---- events ---- */

/** How long a part of a request took. @return whether that is known */
static bool part_of(const struct sf_control_event *event, enum part part, uint64_t *ret_ns)
{
	uint64_t had = event->completed_ns != 0 ? event->completed_ns : event->woken_ns;
	uint64_t from[PARTS] = {event->arrived_ns, had, event->begin_ns};
	uint64_t to[PARTS] = {event->completed_ns, event->begin_ns, event->end_ns};

	if (from[part] == 0 || to[part] < from[part])
		return false;
	*ret_ns = to[part] - from[part];
	return true;
}

static uint32_t type_of(const struct sf_control_event *event)
{
	return event->type > 0 && event->type < TYPE_OTHER ? event->type : TYPE_OTHER;
}

static void event_print(const struct sf_control_event *event)
{
	printf("%-8s %7" PRIu32 " %9" PRId32, type_words[type_of(event)], event->pid, event->peer);
	for (int part = 0; part < PARTS; part++) {
		uint64_t ns;

		printf(" %8s",
		       part_of(event, (enum part)part, &ns) ? sfctl_ns_text((double)ns).text : "-");
	}
	printf("  %s\n", event->status < 0 ? strerrorname_np(-event->status) : "ok");
}

static json_t *event_json(const struct sf_control_event *event)
{
	json_t *object = json_pack("{s:s, s:I, s:I, s:i}", "request", type_words[type_of(event)],
				   "sfd", (json_int_t)event->pid, "peer", (json_int_t)event->peer,
				   "status", event->status);
	int error = 0;

	for (int part = 0; part < PARTS; part++) {
		uint64_t ns;
		char name[16];

		(void)snprintf(name, sizeof(name), "%s_ns", parts[part].word);
		error |= json_object_set_new(object, name,
					     part_of(event, (enum part)part, &ns)
						     ? json_integer((json_int_t)ns)
						     : json_null());
	}
	if (error == 0)
		return object;
	json_decref(object);
	return NULL;
}

static int on_event(void *context, void *data, size_t size)
{
	struct report *report = context;
	const struct sf_control_event *event = data;
	uint32_t type = type_of(event);

	(void)size;
	report->count++;
	report->polled += event->completed_ns == 0;
	report->refused[type] += event->status < 0;
	for (int part = 0; part < PARTS; part++) {
		uint64_t ns;

		if (part_of(event, (enum part)part, &ns))
			sfctl_hist_add(&report->hist[type][part], ns);
	}
	if (!report->listed)
		event_print(event);
	else if (json_array_size(report->listed) < LISTED_MAX &&
		 json_array_append_new(report->listed, event_json(event)) < 0)
		report->out_of_memory = true;
	return 0;
}

/* ---- text ---- */

static void report_print(const struct report *report, const struct sfctl_chart *chart)
{
	static struct sfctl_dist dist; /* large */

	printf("\n%.1f s, %" PRIu64 " requests\n", report->seconds, report->count);
	for (int type = 1; type < TYPES; type++) {
		if (report->hist[type][PART_SERVICE].count == 0)
			continue;
		printf("%s, %" PRIu64 " refused\n          " SFCTL_DIST_HEAD "\n", type_words[type],
		       report->refused[type]);
		for (int part = 0; part < PARTS; part++) {
			sfctl_dist_init(&dist, &report->hist[type][part],
					(struct sfctl_scale){.per_unit = 1});
			printf("%-10s", parts[part].word);
			sfctl_dist_print(&dist);
		}
	}
	if (report->polled > 0)
		printf("%" PRIu64 " of them have no completion to begin at (a poll(2) loop): queue "
		       "is from the\nloop's wake-up\n",
		       report->polled);
	if (report->lost > 0)
		printf("%" PRIu64 " more are not counted: they came faster than they were read\n",
		       report->lost);
	sfctl_chart_print(chart);
}

/* ---- JSON ---- */

static json_t *type_json(const struct report *report, int type)
{
	static struct sfctl_dist dist; /* large */
	json_t *object =
		json_pack("{s:I, s:I}", "count", (json_int_t)report->hist[type][PART_SERVICE].count,
			  "refused", (json_int_t)report->refused[type]);
	int error = 0;

	for (int part = 0; part < PARTS; part++) {
		sfctl_dist_init(&dist, &report->hist[type][part],
				(struct sfctl_scale){.per_unit = 1});
		error |=
			json_object_set_new(object, parts[part].word, sfctl_dist_json(&dist, "ns"));
	}
	if (error == 0)
		return object;
	json_decref(object);
	return NULL;
}

static json_t *report_json(struct report *report)
{
	json_t *types = json_object();
	int error = report->out_of_memory ? -1 : 0;

	for (int type = 1; type < TYPES; type++)
		if (report->hist[type][PART_SERVICE].count != 0)
			error |= json_object_set_new(types, type_words[type],
						     type_json(report, type));
	if (error == 0)
		return json_pack("{s:f, s:I, s:I, s:I, s:o, s:O}", "seconds", report->seconds,
				 "count", (json_int_t)report->count, "polled",
				 (json_int_t)report->polled, "lost", (json_int_t)report->lost,
				 "types", types, "requests", report->listed);
	json_decref(types);
	return NULL;
}

/* ---- running ---- */

static int show(struct report *report)
{
	const struct sfctl_trace *trace = report->trace;
	struct sfctl_series series[PARTS];
	const struct sfctl_chart chart = {.title = "sfctl trace control: requests to sfd",
					  .unit = SFCTL_UNIT_NS,
					  .series = series,
					  .series_count = PARTS,
					  .printed_count = PARTS};
	int status = SFCTL_OK;

	for (int part = 0; part < PARTS; part++) {
		for (int type = 1; type < TYPES; type++)
			sfctl_hist_merge(&report->total[part], &report->hist[type][part]);
		sfctl_dist_init(&report->dist[part], &report->total[part],
				(struct sfctl_scale){.per_unit = 1});
		series[part] = (struct sfctl_series){parts[part].label, &report->dist[part]};
	}
	if (trace->sfctl->json)
		status = sfctl_json_print(trace->sfctl, report_json(report), JSON_INDENT(2));
	else
		report_print(report, &chart);
	if (status == SFCTL_OK && trace->svg)
		status = sfctl_chart_write_svg(trace->sfctl, &chart, trace->svg);
	return status;
}

/** Arguments of a tracepoint as this kernel has it; 0: it has none of that name. */
static uint32_t tracepoint_arguments(const struct btf *btf, const char *name)
{
	int32_t id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	while (type && (btf_is_typedef(type) || btf_is_ptr(type)))
		type = btf__type_by_id(btf, type->type);
	/* the first parameter is the tracer's own */
	return type && btf_is_func_proto(type) && btf_vlen(type) > 0 ? btf_vlen(type) - 1U : 0;
}

/** What this kernel tells of io_uring; without any of it times begin at sfd's loop. */
static void configure(struct control_bpf *skeleton, const struct sfctl_session *session)
{
	struct btf *btf = btf__load_vmlinux_btf();
	uint32_t complete = btf ? tracepoint_arguments(btf, "btf_trace_io_uring_complete") : 0;
	uint32_t add = btf ? tracepoint_arguments(btf, "btf_trace_io_uring_task_add") : 0;
	bool has_complete = complete >= 3;

	skeleton->rodata->pid_ns = session->pid_ns;
	skeleton->rodata->complete = SF_CONTROL_NO_COMPLETE;
	if (complete == 3)
		skeleton->rodata->complete = SF_CONTROL_COMPLETE_ENTRY;
	else if (complete == 4)
		skeleton->rodata->complete = SF_CONTROL_COMPLETE_ARGUMENT1;
	else if (has_complete)
		skeleton->rodata->complete = SF_CONTROL_COMPLETE_ARGUMENT2;
	(void)bpf_program__set_autoload(skeleton->progs.on_complete, has_complete);
	(void)bpf_program__set_autoload(skeleton->progs.on_task_add, has_complete && add == 2);
	btf__free(btf);
}

/** Attaches everything. @return SFCTL_GO_ON or an exit code */
static int attach(struct sfctl_session *session, struct control_bpf *skeleton)
{
	struct bpf_program *const tracepoint[] = {skeleton->progs.on_complete,
						  skeleton->progs.on_task_add};
	const struct {
		struct bpf_program *program;
		const char *name;
	} probe[] = {{skeleton->progs.on_wake, "loop_wake"},
		     {skeleton->progs.on_end, "request_end"},
		     {skeleton->progs.on_begin, "request_begin"}};
	int status = SFCTL_GO_ON;

	for (size_t i = 0; i < 2 && status == SFCTL_GO_ON; i++)
		if (bpf_program__autoload(tracepoint[i]))
			status = sfctl_session_attach_tracepoint(session, tracepoint[i]);
	for (size_t i = 0; i < 3 && status == SFCTL_GO_ON; i++)
		status =
			sfctl_session_attach_probe(session, probe[i].program, "sfd", probe[i].name);
	return status;
}

/** Runs the trace, and fills the report. @return SFCTL_GO_ON or an exit code */
static int collect(struct sfctl_session *session, struct control_bpf *skeleton,
		   struct report *report)
{
	const struct sfctl_targets *targets = &session->targets;
	int error = control_bpf__load(skeleton);
	int status;

	if (error < 0)
		return sfctl_session_refused(session, SFCTL_STEP_LOAD, error);
	for (size_t i = 0; i < targets->pid_count; i++) {
		uint32_t pid = (uint32_t)targets->pid[i];
		uint64_t ring = 0;

		(void)bpf_map__update_elem(skeleton->maps.daemons, &pid, sizeof(pid), &ring,
					   sizeof(ring), BPF_ANY);
	}
	session->events =
		ring_buffer__new(bpf_map__fd(skeleton->maps.events), on_event, report, NULL);
	if (!session->events)
		return sfctl_session_refused(session, SFCTL_STEP_LOAD, -errno);
	if (!report->listed)
		printf("%-8s %7s %9s %8s %8s %8s\n", "request", "sfd", "peer", "wake", "queue",
		       "service");
	status = attach(session, skeleton);
	if (status == SFCTL_GO_ON)
		status = sfctl_session_run(session);
	report->seconds = sfctl_session_seconds(session);
	report->lost = skeleton->bss->lost;
	return status;
}

int sfctl_trace_control(const struct sfctl_trace *trace)
{
	static struct report report; /* large */
	struct sfctl_session session;
	struct control_bpf *skeleton = NULL;
	int status = sfctl_session_begin(&session, trace, &sfctl_provider_daemon);

	report.trace = trace;
	report.listed = trace->sfctl->json ? json_array() : NULL;
	if (status == SFCTL_GO_ON) {
		skeleton = control_bpf__open();
		if (skeleton) {
			configure(skeleton, &session);
			status = collect(&session, skeleton, &report);
		} else {
			status = sfctl_session_refused(&session, SFCTL_STEP_LOAD, -errno);
		}
	}
	sfctl_session_end(&session);
	control_bpf__destroy(skeleton);
	if (status == SFCTL_GO_ON)
		status = show(&report);
	json_decref(report.listed);
	return status;
}
