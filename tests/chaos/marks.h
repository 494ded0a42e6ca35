/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Every ID of one stream, exactly: a bit for each in chunks of neighbours, and a mere note for a
 * chunk that is full. What lies below the highest ID of two minutes ago is forgotten, and an ID
 * that comes from there is a violation itself, so nothing is missed. One thread.
 */
#ifndef CHAOS_MARKS_H
#define CHAOS_MARKS_H

#include "tests/chaos/chaos.h"

#define CHAOS_SEAL_SECONDS 120

struct chaos_chunk;

struct chaos_marks {
	struct chaos_chunk *table; /* open addressing; a power of two */
	size_t size;
	size_t used;
	struct chaos_id highest;
	struct chaos_id sealed; /* no ID at or below it may come any more */
	struct chaos_id at_second[CHAOS_SEAL_SECONDS];
	int64_t seconds;
};

int chaos_marks_init(struct chaos_marks *marks);
void chaos_marks_deinit(struct chaos_marks *marks);
/**
 * Enters `count` IDs from `first` on: neighbours once their sequence, which begins at bit `shift`,
 * has been turned to the low end.
 * @return how many had been entered before, or -ENOMEM
 */
int64_t chaos_marks_add(struct chaos_marks *marks, struct chaos_id first, uint32_t count,
			unsigned shift);
/** To be called now and then with the seconds since the run began. */
int chaos_marks_age(struct chaos_marks *marks, int64_t seconds);

#endif
