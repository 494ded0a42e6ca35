/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The checker: a thread for each stream, which takes the runs out of its lanes and checks every
 * ID. No two are equal; those of a cursor rise.
 */
#ifndef CHAOS_CHECK_H
#define CHAOS_CHECK_H

#include "tests/chaos/chaos.h"

struct chaos_totals {
	uint64_t ids[CHAOS_MODES];
	uint64_t duplicates[CHAOS_MODES];
	uint64_t order[CHAOS_MODES];
};

int chaos_check_start(void);
/** After all lanes were closed: waits until everything is checked, and adds up. */
void chaos_check_finish(struct chaos_totals *ret_totals);

#endif
