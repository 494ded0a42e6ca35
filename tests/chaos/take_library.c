/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The calls as a language that cannot inline C makes them.
 */
#define SF_NO_INLINE
#include "tests/chaos/actor.h"

int chaos_next_library(struct sf_cursor *cursor, uint64_t *ret_id)
{
	return sf_next(cursor, ret_id);
}

int chaos_next128_library(struct sf_cursor *cursor, struct sf_wide *ret_id)
{
	return sf_next128(cursor, ret_id);
}
