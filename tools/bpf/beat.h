/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* SPDX-FileCopyrightText: The sfd authors */
/* What beat.bpf.c and sfctl share. Times are in nanoseconds. */
#ifndef SF_BPF_BEAT_H
#define SF_BPF_BEAT_H

#include "hist.h"

#define SF_BEAT_THREADS 64
#define SF_BEAT_OTHERS 1024

/** What a turn's lateness is made of, in order, and what it goes on with. */
enum sf_beat_part {
	SF_BEAT_LATE = 0,  /* from when it was due to its beginning: the three that follow */
	SF_BEAT_TIMER,     /* until the kernel woke the thread */
	SF_BEAT_READY,     /* ready, until a CPU ran it */
	SF_BEAT_START,     /* on the CPU, until the turn began */
	SF_BEAT_WORK,      /* the turn itself */
	SF_BEAT_PREEMPTED, /* of it: ready, while others ran */
	SF_BEAT_PARTS
};

/** One beat thread. */
struct sf_beat {
	uint32_t pid; /* of its process, as sfctl's pid namespace numbers it */
	uint32_t pad0;
	char command[16];
	uint64_t early;   /* turns before their time: an attach, a clock step, a mark */
	uint64_t overrun; /* turns that were due before the one before had ended */
	struct sf_hist part[SF_BEAT_PARTS];
};

/** Who had the CPU while a beat thread was ready to run on it. */
struct sf_beat_other {
	uint64_t count;
	uint64_t ns;
	uint64_t max_ns;
};

struct sf_beat_name {
	char command[16];
};

#endif
