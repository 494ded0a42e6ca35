/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sf_next() as a plain exported function, for languages that cannot inline C.
 */
#define SF_NO_INLINE
#include <sfclient.h>

int sf_next(struct sf_cursor *cursor, uint64_t *ret_id)
{
	return sf_next_inline(cursor, ret_id);
}
