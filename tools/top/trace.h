/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Past rates, one a look, and the sparkline that they make. Pure functions.
 */
#ifndef SFCTL_TOP_TRACE_H
#define SFCTL_TOP_TRACE_H

#include <stdbool.h>
#include <stdint.h>

/** Rates that are remembered: more than a screen is wide. */
#define SFCTL_TOP_TRACE_LENGTH 256
/** What is not known; it leaves a gap. Any number below 0 is. */
#define SFCTL_TOP_UNKNOWN (-1.0)

struct sfctl_top_trace {
	float rate[SFCTL_TOP_TRACE_LENGTH];
	uint32_t count; /* added so far; the last ones are kept */
};

void sfctl_top_trace_add(struct sfctl_top_trace *trace, double rate);

/**
 * Draws the last `width` rates, the newest at the right, from nothing to the highest of them. A gap
 * is a space.
 * @param has_utf8 bars are eighths of a block; else they are of ASCII
 * @param ret_glyph `width` code points
 */
void sfctl_top_spark(const struct sfctl_top_trace *trace, int width, bool has_utf8,
		     uint32_t *ret_glyph);

#endif
