/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* SPDX-FileCopyrightText: The sfd authors */
/* What control.bpf.c and sfctl share. */
#ifndef SF_BPF_CONTROL_H
#define SF_BPF_CONTROL_H

#include <stdint.h>

#define SF_CONTROL_DAEMONS 256
#define SF_CONTROL_OPEN 16384
/** Bytes of events that wait to be read. */
#define SF_CONTROL_EVENTS (1u << 20)

/** How the kernel's tracepoint io_uring_complete tells which request it is about. */
enum sf_control_complete {
	SF_CONTROL_NO_COMPLETE = 0,
	SF_CONTROL_COMPLETE_ARGUMENT1, /* Linux 5.15 */
	SF_CONTROL_COMPLETE_ARGUMENT2,
	SF_CONTROL_COMPLETE_ENTRY, /* a pointer to the completion entry */
};

/** One request that sfd has answered. Times are CLOCK_MONOTONIC, ns; 0: not known. */
struct sf_control_event {
	uint32_t pid; /* of the sfd, as sfctl's pid namespace numbers it */
	int32_t peer; /* of the client, as sfd's numbers it; 0: it is not in it */
	uint32_t type;
	int32_t status;
	uint64_t arrived_ns;   /* the message woke the ring */
	uint64_t completed_ns; /* the kernel had received it for sfd */
	uint64_t woken_ns;     /* poll(2) loop: it found the connection ready */
	uint64_t begin_ns;
	uint64_t end_ns;
};

#endif
