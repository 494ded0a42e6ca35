/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Checks the IDs that a benchmark's workers took: no ID twice, and every order that the stream
 * promises. Main thread, after the workers have ended.
 */
#ifndef SFCTL_BENCH_VERIFY_H
#define SFCTL_BENCH_VERIFY_H

#include <stdint.h>

/** What one worker took, in the order it took it. */
struct sfctl_bench_list {
	/* sorted by the check when it finds them out of order */
	uint64_t *ids;
	uint64_t count;
	/* clock before and after the call of each of the first `timed` IDs; never falling */
	const uint64_t *begin_ns;
	const uint64_t *end_ns;
	uint64_t timed;
};

struct sfctl_bench_findings {
	/* IDs that equal another one, the first of each kind not counted */
	uint64_t duplicates;
	/* IDs not larger than the one before in the same list, and timed IDs not larger than one
	 * whose call had returned before theirs began; an ID that is both counts twice */
	uint64_t order_violations;
};

/**
 * Check the lists of all workers against themselves and each other.
 * @return 0 or -ENOMEM
 */
int sfctl_bench_verify(struct sfctl_bench_list *lists, uint32_t count,
		       struct sfctl_bench_findings *ret_findings);

#endif
