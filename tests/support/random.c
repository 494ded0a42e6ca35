/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * splitmix64: any seed will do. See random.h.
 */
#include "tests/support/random.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t state;

void t_random_seed(void)
{
	const char *fixed = getenv("SF_TEST_SEED");
	struct timespec now;

	if (fixed) {
		state = strtoull(fixed, NULL, 0);
	} else {
		/* getrandom() may be the thing that is tested */
		ck_assert_int_eq(clock_gettime(CLOCK_REALTIME, &now), 0);
		state = (uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec;
	}
	(void)printf("SF_TEST_SEED=0x%016" PRIx64 "\n", state);
	(void)fflush(stdout);
}

uint64_t t_random(void)
{
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint64_t t_random_of_any_width(void)
{
	uint64_t shift = t_random() % 64;

	return t_random() >> shift;
}
