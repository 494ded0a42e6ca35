/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl trace: what its subcommands are asked for. What they do is in tools/trace/. Main thread.
 */
#include "tools/number.h"
#include "tools/trace/trace.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

static const char help[] =
	"Usage: sfctl trace latency|beat|control|syscalls [OPTION]...\n"
	"\n"
	"Watches running processes from the kernel, without stopping or changing them.\n"
	"\n"
	"  latency           how long one fetch takes, by process and path: fast (out of\n"
	"                    the range in hand), claim (a new range), wait. libsfclient\n"
	"                    times fetches itself, with the CPU's time-stamp counter\n"
	"  beat              how late sfd's turns are; how much of that is the timer's,\n"
	"                    how much is waiting for a CPU, and who ran there instead\n"
	"  control           each request on sfd's control channel: how long it waited\n"
	"                    for sfd's loop, and how long sfd worked on it\n"
	"  syscalls          the system calls of a process (--pid) between its fetches\n"
	"\n"
	"  --pid PID         only this process; the trace ends with it\n"
	"  --seconds S       end after 1 to 604800 seconds; else on SIGINT or SIGTERM\n"
	"  --sample N        latency: time one fast fetch in N, which is rounded up to a\n"
	"                    multiple of 1024 (default 1024)\n"
	"  --stream NAME     latency: only fetches of this stream\n"
	"  --socket PATH     beat, control: only the sfd that listens there\n"
	"  --svg FILE        write a picture, too\n"
	"  --verbose         say on stderr what is traced, and what libbpf says\n" //
	SFCTL_JSON_HELP SFCTL_HELP_HELP "\n"
	"A distribution in JSON has its count, typical_ns (the mean of the lower 99 %),\n"
	"p50_ns, p90_ns, p99_ns, p99_9_ns, max_ns and \"histogram\".\n"
	"\n"
	"Needs probes in libsfclient and sfd (tools/probes/README.md, also for bpftrace),\n"
	"Linux 5.15 or later with type information, CAP_BPF and CAP_PERFMON, for the\n"
	"uprobes of many kernels CAP_SYS_ADMIN, and CAP_SYS_PTRACE for processes of\n"
	"other users.\n"
	"\n"
	"Overhead: one or two microseconds an event. Events are each claim and wait, and\n"
	"of fast fetches one in 1024; each turn of sfd and each switch of tasks; each\n"
	"request and what io_uring completes; with syscalls, each system call of the\n"
	"host looks whose it is. Nothing is left when the trace ends, however it does.\n"
	"\n"
	"Exit status: 0 success, 1 failure, 2 usage error, 3 something that tracing needs\n"
	"is missing here; stderr says what, and what helps.\n"
	"\n"
	"Examples:\n"
	"  sfctl trace latency --seconds 10\n"
	"  sfctl trace latency --pid 4711 --svg latency.svg\n"
	"  sfctl trace beat --seconds 60 --json | jq '.daemons[].late.p99_9_ns'\n"
	"  sfctl trace syscalls --pid 4711 --seconds 5\n";

struct kind {
	const char *name;
	int (*run)(const struct sfctl_trace *trace);
};

static const struct kind kinds[] = {
	{"latency", sfctl_trace_latency},
	{"beat", sfctl_trace_beat},
	{"control", sfctl_trace_control},
	{"syscalls", sfctl_trace_syscalls},
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

enum option_of_ours {
	OPT_PID = 1,
	OPT_SECONDS,
	OPT_SAMPLE,
	OPT_SVG,
	OPT_VERBOSE
};

/** Reads a number of an option. @return SFCTL_GO_ON or SFCTL_USAGE */
static int number_read(const struct sfctl *sfctl, const char *what, uint64_t max, uint64_t *ret)
{
	if (sfctl_number_parse_range(optarg, 1, max, ret) == 0)
		return SFCTL_GO_ON;
	return sfctl_usage(sfctl, "%s %.60s is not a number from 1 to %llu", what, optarg,
			   (unsigned long long)max);
}

/** One option of ours. @return SFCTL_GO_ON or an exit code */
static int option_read(struct sfctl *sfctl, int option, char **argv, struct sfctl_trace *trace)
{
	uint64_t number = 0;
	int status = SFCTL_GO_ON;

	switch (option) {
	case OPT_PID:
		status = number_read(sfctl, "--pid", INT_MAX, &number);
		trace->pid = (pid_t)number;
		break;
	case OPT_SECONDS:
		status = number_read(sfctl, "--seconds", SFCTL_TRACE_SECONDS_MAX, &number);
		trace->seconds = (uint32_t)number;
		break;
	case OPT_SAMPLE:
		status = number_read(sfctl, "--sample", SFCTL_TRACE_SAMPLE_MAX, &number);
		trace->sample = (uint32_t)number;
		break;
	case OPT_SVG:
		trace->svg = optarg;
		break;
	case OPT_VERBOSE:
		trace->is_verbose = true;
		break;
	default:
		status = sfctl_option(sfctl, option, argv, help);
	}
	return status;
}

static int options_read(struct sfctl *sfctl, int argc, char **argv, struct sfctl_trace *trace)
{
	static const struct option options[] = {
		{"pid", required_argument, NULL, OPT_PID},
		{"seconds", required_argument, NULL, OPT_SECONDS},
		{"sample", required_argument, NULL, OPT_SAMPLE},
		{"svg", required_argument, NULL, OPT_SVG},
		{"verbose", no_argument, NULL, OPT_VERBOSE},
		SFCTL_GLOBAL_OPTIONS,
	};
	int status = SFCTL_GO_ON;
	int option;

	while (status == SFCTL_GO_ON && (option = sfctl_getopt(argc, argv, ":h", options)) != -1)
		status = option_read(sfctl, option, argv, trace);
	if (status != SFCTL_GO_ON)
		return status;
	if (optind == argc)
		return sfctl_usage(sfctl,
				   "what to trace is missing: latency, beat, control or syscalls");
	if (optind + 1 < argc)
		return sfctl_usage(sfctl, "\"%.60s\" is one argument too many", argv[optind + 1]);
	return SFCTL_GO_ON;
}

int sfctl_cmd_trace(struct sfctl *sfctl, int argc, char **argv)
{
	struct sfctl_trace trace = {.sfctl = sfctl, .sample = 1};
	int status = options_read(sfctl, argc, argv, &trace);

	if (status != SFCTL_GO_ON)
		return status;
	for (size_t i = 0; i < KIND_COUNT; i++)
		if (strcmp(kinds[i].name, argv[optind]) == 0)
			return kinds[i].run(&trace);
	return sfctl_usage(sfctl, "there is no trace \"%.60s\"", argv[optind]);
}
