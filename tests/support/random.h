/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Random numbers that SF_TEST_SEED repeats. One thread.
 */
#ifndef T_RANDOM_H
#define T_RANDOM_H

#include <stdint.h>

/** Begins a sequence and prints its seed. */
void t_random_seed(void);

uint64_t t_random(void);

/** Small numbers are as likely as large ones. */
uint64_t t_random_of_any_width(void);

#endif
