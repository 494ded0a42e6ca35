/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The host's hardware address as a machine id of 48 bits. Only for streams that ask for it: an
 * address is not unique by nature (containers, cloned hosts), so nothing falls back to it.
 */
#ifndef SFD_HARDWARE_H
#define SFD_HARDWARE_H

#include "shm/sflayout.h"

#include <stdint.h>

/** Set in numbers that stand for an address where there is none. */
#define SFD_HARDWARE_RANDOM (UINT64_C(1) << 40)

/**
 * The address of the first interface that has one, universally administered ones first; without
 * any, 48 random bits with SFD_HARDWARE_RANDOM (the multicast bit) set, other ones at each start.
 * @return 0, or what getrandom(2) failed with, with a sentence
 */
int sfd_hardware_machine(uint64_t *ret_machine, struct sf_why *why);

#endif
