/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* SPDX-FileCopyrightText: The sfd authors */
/* What syscalls.bpf.c and sfctl share. */
#ifndef SF_BPF_SYSCALLS_H
#define SF_BPF_SYSCALLS_H

#include "hist.h"
#include "latency.h"

#define SF_SYSCALLS_THREADS 8192
/* Above every number that a machine has for its calls today. */
#define SF_SYSCALLS_NUMBERS 1024

/** From one event of a thread's to the next, by what the next one is. */
struct sf_syscalls_path {
	uint64_t ids; /* fetched in between, the last included */
	uint64_t calls;
	struct sf_hist per_interval; /* calls */
};

struct sf_syscalls {
	struct sf_syscalls_path path[SF_LATENCY_PATHS];
	uint64_t number[SF_SYSCALLS_NUMBERS]; /* of each call, also after a thread's last event */
	uint64_t lost;                        /* events without room for their thread */
};

#endif
