/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Past rates; see trace.h.
 */
#include "tools/top/trace.h"

#define LEVELS 8

void sfctl_top_trace_add(struct sfctl_top_trace *trace, double rate)
{
	trace->rate[trace->count++ % SFCTL_TOP_TRACE_LENGTH] = (float)rate;
}

/** The rate `age` looks ago. */
static double rate_at(const struct sfctl_top_trace *trace, int age)
{
	if (age >= SFCTL_TOP_TRACE_LENGTH || (uint32_t)age >= trace->count)
		return SFCTL_TOP_UNKNOWN;
	return (double)trace->rate[(trace->count - 1 - (uint32_t)age) % SFCTL_TOP_TRACE_LENGTH];
}

static double highest(const struct sfctl_top_trace *trace, int width)
{
	double most = 0;

	for (int age = 0; age < width; age++)
		if (rate_at(trace, age) > most)
			most = rate_at(trace, age);
	return most;
}

/** The lowest bar is for nothing alone: who takes an ID now and then shows. */
static int level_of(double rate, double most)
{
	int level = rate > 0 ? 1 + (int)(rate / most * (LEVELS - 1)) : 0;

	return level < LEVELS ? level : LEVELS - 1;
}

void sfctl_top_spark(const struct sfctl_top_trace *trace, int width, bool has_utf8,
		     uint32_t *ret_glyph)
{
	static const char ascii[LEVELS + 1] = "_.-:=+*#";
	double most = highest(trace, width);

	for (int i = 0; i < width; i++) {
		double rate = rate_at(trace, width - 1 - i);
		int level = level_of(rate, most);

		if (rate < 0)
			ret_glyph[i] = ' ';
		else
			ret_glyph[i] = has_utf8 ? 0x2581u + (uint32_t)level
						: (uint32_t)(unsigned char)ascii[level];
	}
}
