/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sf_next() and sf_next128() as plain exported functions, for languages that cannot inline C.
 */
#define SF_NO_INLINE
#include <sfclient.h>

int sf_next(struct sf_cursor *cursor, uint64_t *ret_id)
{
	return sf_next_inline(cursor, ret_id);
}

int sf_next128(struct sf_cursor *cursor, struct sf_wide *ret_id)
{
	return sf_next128_inline(cursor, ret_id);
}
