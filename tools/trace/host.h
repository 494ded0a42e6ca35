/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What this host and this process allow of tracing, and the sentences about what they do not: each
 * names one thing that is missing, its present value and what helps. Main thread only.
 */
#ifndef SFCTL_TRACE_HOST_H
#define SFCTL_TRACE_HOST_H

#include "shm/sflayout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFCTL_LACKS_MAX 8

struct sfctl_trace_host {
	uint64_t capabilities; /* effective */
	bool is_nested;        /* in a user namespace, where capabilities are of no use for this */
	int seccomp;           /* 2: a filter */
	int perf_paranoid;     /* kernel.perf_event_paranoid; INT_MIN: unknown */
	uint64_t memlock;      /* RLIMIT_MEMLOCK, bytes; UINT64_MAX: none */
	bool has_btf;
	bool has_uprobes;
	bool has_semaphores;
	char lockdown[16]; /* integrity, confidentiality, none; empty: there is none */
	char release[65];  /* of the kernel */
};

/** The sentences. */
struct sfctl_lacks {
	struct sf_why why[SFCTL_LACKS_MAX];
	size_t count;
};

/** @param root stands before /proc and /sys; empty but for tests */
void sfctl_trace_host_read(struct sfctl_trace_host *host, const char *root);

/** What is missing for certain. None: it is worth a try. */
void sfctl_trace_host_lacks(const struct sfctl_trace_host *host, struct sfctl_lacks *ret_lacks);

/** What is tried. */
enum sfctl_trace_step {
	SFCTL_STEP_LOAD,   /* bpf(2) */
	SFCTL_STEP_ATTACH, /* perf_event_open(2), or bpf(2) for a tracepoint */
};

/** Why a step failed with a negative errno. */
void sfctl_trace_host_explain(const struct sfctl_trace_host *host, enum sfctl_trace_step step,
			      int error, struct sf_why *why);

#endif
