/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* SPDX-FileCopyrightText: The sfd authors */
/* What latency.bpf.c and sfctl share. */
#ifndef SF_BPF_LATENCY_H
#define SF_BPF_LATENCY_H

#include "hist.h"

#define SF_LATENCY_PROCESSES 4096
#define SF_LATENCY_STREAM_MAX 32

/** Which way a fetch took; the probe's second argument. */
enum sf_latency_path {
	SF_LATENCY_FAST = 0,
	SF_LATENCY_CLAIM = 1,
	SF_LATENCY_WAIT = 2,
	SF_LATENCY_PATHS
};

struct sf_latency_key {
	uint32_t pid; /* as sfctl's pid namespace numbers it */
	uint32_t path;
};

/** One process and path. */
struct sf_latency {
	char command[16];
	uint64_t ids;  /* fetches, counted */
	uint64_t seen; /* events: `cycles` has all of them, or of fast ones some */
	struct sf_hist cycles;
};

#endif
