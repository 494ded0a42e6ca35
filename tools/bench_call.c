/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The exported sf_next(), for mode call. A file of its own: where the inline definition is visible,
 * a compiler may use it for any call of that symbol. Read only, any thread.
 */
#define SF_NO_INLINE
#include "tools/bench_loop.h"

int (*const sfctl_bench_exported_next)(struct sf_cursor *cursor, uint64_t *ret_id) = sf_next;
