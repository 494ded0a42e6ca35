/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The checker of the ring's one promise: no counter of a tick is given twice. Any thread may add.
 */
#ifndef T_TALLY_H
#define T_TALLY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct t_tally {
	uint64_t first_tick;
	uint64_t ticks;
	uint32_t capacity;
	_Atomic uint32_t *given; /* a word a tick, a bit a counter; at most 32 counters */
	_Atomic uint64_t delivered;
	_Atomic uint64_t duplicates;
	_Atomic uint64_t outside; /* of a tick or counter that does not exist */
};

void t_tally_init(struct t_tally *tally, uint64_t first_tick, uint64_t ticks, uint32_t capacity);
void t_tally_deinit(struct t_tally *tally);
void t_tally_add(struct t_tally *tally, uint64_t tick, uint32_t first, uint32_t count);

#endif
