/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * How a stream's counter becomes an ID: counter c of a tick is (node, sequence), in such an order
 * that IDs of one tick rise with c.
 *
 *   node above the sequence   node = nodes[c / 2^s], sequence = c mod 2^s
 *   node below the sequence   node = nodes[c mod m], sequence = c / m       (m node ids)
 *
 * The wide formats pack (tick, random base of the grant, counter) themselves: libclient/formats/.
 *
 * Consecutive counters whose IDs are evenly spaced form a run; a cursor holds one run, so that the
 * fast path is one addition.
 */
#ifndef SF_SHM_PACK_H
#define SF_SHM_PACK_H

#include "shm/abi.h"

#include <stdbool.h>

/** The node field lies below the sequence field (sonyflake). */
static inline bool sf_shm_node_is_low(const struct sf_layout *layout)
{
	return layout->node_bits ? layout->node_shift < layout->sequence_shift
	       : layout->process_bits
		       ? layout->process_shift < layout->sequence_shift
		       : layout->worker_bits && layout->worker_shift < layout->sequence_shift;
}

/**
 * Worker and process lie on both sides of the sequence: with several node ids, no order of counters
 * makes IDs rise. Such streams have one node id.
 */
static inline bool sf_shm_node_is_split(const struct sf_layout *layout)
{
	return layout->worker_bits != 0 && layout->process_bits != 0 &&
	       (layout->worker_shift > layout->sequence_shift) !=
		       (layout->process_shift > layout->sequence_shift);
}

/** ID of one counter; `counter` includes the grant's start and is below the capacity. */
static inline uint64_t sf_shm_pack(const struct sf_shm_grants *grants, uint64_t tick,
				   uint32_t counter)
{
	const struct sf_layout *layout = &grants->layout;
	uint64_t index;
	uint64_t sequence;

	if (sf_shm_node_is_low(layout)) {
		index = counter % grants->node_count;
		sequence = counter / grants->node_count;
	} else {
		index = (uint64_t)counter >> layout->sequence_bits;
		sequence = counter & ((UINT64_C(1) << layout->sequence_bits) - 1);
	}
	return tick << layout->time_shift | grants->node_packed[index & (SF_NODES_MAX - 1)] |
	       sequence << layout->sequence_shift;
}

/** Counters from `counter` on, itself included, whose IDs are evenly spaced: all, in wide formats.
 */
static inline uint32_t sf_shm_run(const struct sf_shm_grants *grants, uint32_t counter)
{
	const struct sf_layout *layout = &grants->layout;
	uint32_t last;

	if (grants->node_count <= 1)
		return SF_SHM_CAPACITY_MAX;
	last = grants->node_count - 1;
	if (sf_shm_node_is_low(layout))
		return 1;
	/* Neighbouring node ids right above the sequence: its carry is the next node id. */
	if (grants->node_packed[last] - grants->node_packed[0] ==
	    (uint64_t)last << (layout->sequence_shift + layout->sequence_bits))
		return SF_SHM_CAPACITY_MAX;
	return (UINT32_C(1) << layout->sequence_bits) -
	       (counter & ((UINT32_C(1) << layout->sequence_bits) - 1));
}

/** Distance of neighbouring IDs in a run. */
static inline uint64_t sf_shm_step(const struct sf_shm_grants *grants)
{
	return UINT64_C(1) << grants->layout.sequence_shift;
}

#endif
