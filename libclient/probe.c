/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The semaphores of the probes; see probe.h. The section's name is how their place is known.
 */
#include "libclient/probe.h"

#define SEMAPHORE(name)                                                                            \
	unsigned short sfclient_##name##_semaphore                                                 \
		__attribute__((section(".probes"), used, visibility("hidden")))

SEMAPHORE(fetch);
SEMAPHORE(claim);
SEMAPHORE(wait);
SEMAPHORE(reattach);
SEMAPHORE(fork);
