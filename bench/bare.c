/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A shared library of one function; see bare.h. Must stay a library of its own: linked statically,
 * it would be inlined.
 */
#include "bench/bare.h"

uint64_t bench_bare_next(uint64_t *word)
{
	return (*word)++;
}
