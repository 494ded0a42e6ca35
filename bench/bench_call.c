/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The loop over the exported sf_next(). A file of its own: where the inline definition is visible,
 * a compiler may use it for any call of that symbol.
 */
#define SF_NO_INLINE
#include "bench/bench_support.h"

int bench_next_called(struct sf_cursor *cursor, uint64_t count)
{
	uint64_t id;

	for (uint64_t i = 0; i < count; i++) {
		int error = sf_next(cursor, &id);

		if (error < 0)
			return error;
		BENCH_KEEP(id);
	}
	return 0;
}
