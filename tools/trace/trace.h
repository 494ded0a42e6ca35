/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What the subcommands of sfctl trace share. Main thread only.
 */
#ifndef SFCTL_TRACE_H
#define SFCTL_TRACE_H

#include "tools/sfctl.h"

#include <stdint.h>
#include <sys/types.h>

/** Exit code: this host, or this sfctl, lacks what tracing needs. */
#define SFCTL_CANNOT_TRACE 3

/** Longest trace, a week. */
#define SFCTL_TRACE_SECONDS_MAX 604800
#define SFCTL_TRACE_SAMPLE_MAX (1u << 30)

/** What was asked for. */
struct sfctl_trace {
	const struct sfctl *sfctl;
	pid_t pid;        /* 0: every process that there is something to see of */
	uint32_t seconds; /* 0: until it is interrupted */
	uint32_t sample;  /* of fast fetches, one in this many is timed */
	const char *svg;  /* file for a picture; NULL: none */
	bool is_verbose;
};

/** The kinds of traces. @return an exit code */
int sfctl_trace_beat(const struct sfctl_trace *trace);
int sfctl_trace_control(const struct sfctl_trace *trace);
int sfctl_trace_latency(const struct sfctl_trace *trace);
int sfctl_trace_syscalls(const struct sfctl_trace *trace);

#endif
