/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl trace in a build without eBPF: says so.
 */
#include "tools/trace/trace.h"

static int refuse(const struct sfctl_trace *trace)
{
	(void)sfctl_fail(trace->sfctl,
			 "this sfctl was built without eBPF: build it on x86_64 with clang, "
			 "bpftool, libbpf 1.0 or later and libelf, and -Dbpf=enabled");
	return SFCTL_CANNOT_TRACE;
}

int sfctl_trace_beat(const struct sfctl_trace *trace)
{
	return refuse(trace);
}

int sfctl_trace_control(const struct sfctl_trace *trace)
{
	return refuse(trace);
}

int sfctl_trace_latency(const struct sfctl_trace *trace)
{
	return refuse(trace);
}

int sfctl_trace_syscalls(const struct sfctl_trace *trace)
{
	return refuse(trace);
}
