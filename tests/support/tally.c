/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The checker of the ring's one promise; see tally.h.
 */
#include "tests/support/tally.h"

#include <check.h>
#include <stdlib.h>

void t_tally_init(struct t_tally *tally, uint64_t first_tick, uint64_t ticks, uint32_t capacity)
{
	ck_assert_uint_le(capacity, 32);
	*tally = (struct t_tally){.first_tick = first_tick, .ticks = ticks, .capacity = capacity};
	tally->given = calloc(ticks, sizeof(*tally->given));
	ck_assert_ptr_nonnull(tally->given);
}

void t_tally_deinit(struct t_tally *tally)
{
	free(tally->given);
}

static void add(struct t_tally *tally, uint64_t tick, uint32_t counter)
{
	uint64_t at = tick - tally->first_tick;
	uint32_t bit;

	if (at >= tally->ticks || counter >= tally->capacity) {
		atomic_fetch_add_explicit(&tally->outside, 1, memory_order_relaxed);
		return;
	}
	bit = UINT32_C(1) << counter;
	if (atomic_fetch_or_explicit(&tally->given[at], bit, memory_order_relaxed) & bit)
		atomic_fetch_add_explicit(&tally->duplicates, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&tally->delivered, 1, memory_order_relaxed);
}

void t_tally_add(struct t_tally *tally, uint64_t tick, uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		add(tally, tick, first + i);
}
