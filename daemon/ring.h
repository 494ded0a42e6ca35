/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The memory of one stream's ring: two sealed memfds, mapped writable here. Made before the beat
 * thread starts on it, freed after.
 */
#ifndef SFD_RING_H
#define SFD_RING_H

#include "daemon/config.h"
#include "shm/ring.h"

struct sfd_ring {
	struct sf_shm_ring shm;
	int grants_fd;
	int claims_fd;
	/* the grants mapping with one private page before it, see SFD_RING_ROBUST_OFFSET */
	void *arena;
	size_t arena_bytes;
};

/**
 * Every ring's robust-list entry lies on a private page right before its grants mapping, so that
 * one offset leads from any entry to its ring's beat, as the kernel's robust list demands.
 */
#define SFD_RING_PRIVATE_BYTES 4096
#define SFD_RING_ROBUST_OFFSET                                                                     \
	((long)(SFD_RING_PRIVATE_BYTES + offsetof(struct sf_shm_grants, beat) +                    \
		SF_SHM_BEAT_FUTEX_OFFSET))

/** Ticks of a stream's settings, rounded up. */
uint32_t sfd_ticks(const struct sf_layout *layout, uint32_t ms);

/**
 * Makes a zeroed ring with its constant header filled in.
 * @return 0, or a negative errno with a sentence in `why` that names what is missing and how much
 */
int sfd_ring_init(struct sfd_ring *ring, const struct sfd_stream_config *config,
		  uint64_t first_tick, struct sf_why *why);
void sfd_ring_deinit(struct sfd_ring *ring);

#endif
