/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Pictures of distributions, in characters and as SVG: linear up to 8 units, where a unit counts,
 * logarithmic above. Main thread only.
 */
#ifndef SFCTL_TRACE_CHART_H
#define SFCTL_TRACE_CHART_H

#include "tools/sfctl.h"
#include "tools/trace/dist.h"

/** What the values are. */
enum sfctl_unit {
	SFCTL_UNIT_NS,
	SFCTL_UNIT_CALLS,
};

/** One distribution of several; those without a value are left out of pictures. */
struct sfctl_series {
	const char *label;
	const struct sfctl_dist *dist;
};

struct sfctl_chart {
	const char *title;
	enum sfctl_unit unit;
	const struct sfctl_series *series;
	size_t series_count;
	size_t printed_count; /* of them, the first so many are also printed */
};

/** Columns of the axis: 8 linear ones, then as many for each doubling. */
#define SFCTL_CHART_COLUMNS_EACH 8

/** The column that a value lies in; `each` columns for each doubling above 8. */
unsigned sfctl_chart_column(double value, unsigned each);
/** Where a column begins. */
double sfctl_chart_column_begin(unsigned column, unsigned each);
/** Text of a value. */
struct sfctl_ns_text sfctl_chart_text(enum sfctl_unit unit, double value);

/** Heads of the columns that sfctl_dist_print() fills. */
#define SFCTL_DIST_HEAD "     count typical     p50     p90     p99   p99.9     max"
/** Ends a line on stdout with a distribution of times in numbers. */
void sfctl_dist_print(const struct sfctl_dist *dist);

/** Prints those to be printed on stdout, less than 80 columns wide. */
void sfctl_chart_print(const struct sfctl_chart *chart);
/** Writes a picture to a file. @return SFCTL_OK, or SFCTL_FAILED after a sentence on stderr */
int sfctl_chart_write_svg(const struct sfctl *sfctl, const struct sfctl_chart *chart,
			  const char *path);

#endif
