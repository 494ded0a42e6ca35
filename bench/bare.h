/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The least that a call into a shared library can do: a yardstick for calls into libsfclient. Any
 * thread, with a word of its own.
 */
#ifndef BENCH_BARE_H
#define BENCH_BARE_H

#include <stdint.h>

/** Adds one to the word. @return what it held before */
__attribute__((visibility("default"))) uint64_t bench_bare_next(uint64_t *word);

#endif
