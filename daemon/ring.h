/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The memory of one stream's ring: two sealed memfds, mapped writable here. Made before the beat
 * thread starts on it, freed after. A ring outlives its sfd when the next one adopts it.
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

/**
 * The same ring goes on: the claims memfd of an earlier sfd, and a grants memfd made anew with what
 * the earlier one's says, since nobody, this process included, can map that one writable. The
 * earlier sfd has ended. Both descriptors stay the caller's.
 * @param generation of the ring that this stream's record names: no other one is taken over
 * @return 0, or a negative errno with the reason in `why`: -ESTALE for another ring, -EINVAL for
 *         one that the configuration does not describe, and the errors of sfd_ring_init()
 */
int sfd_ring_adopt(struct sfd_ring *ring, const struct sfd_stream_config *config, int grants_fd,
		   int claims_fd, uint64_t generation, struct sf_why *why);

/** The last tick that a ring's grants name, of an sfd that has ended; 0 for what is no ring of this
 *  layout. */
uint64_t sfd_ring_granted(int grants_fd, const struct sf_layout *layout);

void sfd_ring_deinit(struct sfd_ring *ring);

/**
 * A memfd of a stream whose every page is there before anyone maps it, so that no access to it can
 * raise SIGBUS later. @return 0 or a negative errno with a sentence in `why`
 */
int sfd_ring_memfd(const char *stream, const char *what, uint64_t bytes, int *ret_fd,
		   struct sf_why *why);

#endif
