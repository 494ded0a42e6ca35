/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The semaphores of the probes; see probe.h. The section's name is how their place is known.
 */
#include "daemon/probe.h"

#define SEMAPHORE(name)                                                                            \
	unsigned short sfd_##name##_semaphore                                                      \
		__attribute__((section(".probes"), used, visibility("hidden")))

SEMAPHORE(publish);
SEMAPHORE(beat);
SEMAPHORE(attach);
SEMAPHORE(mark_write);
SEMAPHORE(clock_step);
SEMAPHORE(request_begin);
SEMAPHORE(request_end);
SEMAPHORE(loop_wake);
