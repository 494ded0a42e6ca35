/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The two ways to show it: on a terminal with keys, or page after page as text. Main thread.
 */
#ifndef SFCTL_TOP_LIVE_H
#define SFCTL_TOP_LIVE_H

#include "tools/sfctl.h"

#include <stdbool.h>
#include <stdint.h>

struct sfctl_top_request {
	int64_t delay_ms;
	uint64_t iterations; /* 0: no end */
	bool has_utf8;       /* the locale */
};

/** Until q or a signal. @return an exit code */
int sfctl_top_live(const struct sfctl *sfctl, const struct sfctl_top_request *request);
/** Prints. @return an exit code */
int sfctl_top_batch(const struct sfctl *sfctl, const struct sfctl_top_request *request);

#endif
