/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Distributions in characters, and the axis that both kinds of pictures have; see chart.h.
 */
#include "tools/trace/chart.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define LINEAR 8
/* Rows: 8 linear ones, and one for each doubling up to 2^64. */
#define ROWS_MAX (LINEAR + 64)
#define BAR_WIDTH 44
#define EMPTY_SHOWN 2

unsigned sfctl_chart_column(double value, unsigned each)
{
	if (value < LINEAR)
		return (unsigned)value;
	return LINEAR + (unsigned)(log2(value / LINEAR) * each);
}

double sfctl_chart_column_begin(unsigned column, unsigned each)
{
	if (column < LINEAR)
		return column;
	return LINEAR * exp2((double)(column - LINEAR) / each);
}

struct sfctl_ns_text sfctl_chart_text(enum sfctl_unit unit, double value)
{
	struct sfctl_ns_text text = sfctl_ns_text(value);

	if (unit == SFCTL_UNIT_CALLS)
		(void)snprintf(text.text, sizeof(text.text), "%.0f", value);
	return text;
}

void sfctl_dist_print(const struct sfctl_dist *dist)
{
	static const double parts[] = {0.5, 0.9, 0.99, 0.999};

	printf(" %9" PRIu64, dist->count);
	if (dist->count == 0) {
		printf("\n");
		return;
	}
	printf(" %7s", sfctl_ns_text(dist->typical).text);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		printf(" %7s", sfctl_ns_text(sfctl_dist_percentile(dist, parts[i])).text);
	printf(" %7s\n", sfctl_ns_text(dist->max).text);
}

/** The values of a row: between two times, or one number of calls or some. */
static void label_print(const struct sfctl_chart *chart, unsigned row)
{
	double from = sfctl_chart_column_begin(row, 1);
	double to = sfctl_chart_column_begin(row + 1, 1);

	if (chart->unit == SFCTL_UNIT_NS)
		printf("  %7s to %7s", sfctl_ns_text(from).text, sfctl_ns_text(to).text);
	else if (to - from == 1)
		printf("  %18.0f", from);
	else
		printf("  %7.0f to %7.0f", from, to - 1);
}

static void row_print(const struct sfctl_chart *chart, unsigned row, uint64_t count, uint64_t most)
{
	char bar[BAR_WIDTH + 1];
	size_t width = (size_t)ceil((double)count / (double)most * BAR_WIDTH);

	memset(bar, '#', width);
	bar[width] = '\0';
	label_print(chart, row);
	printf(" %12" PRIu64 " %s\n", count, bar);
}

/** Rows up to the last that has something; where many have nothing they are left out. */
static void rows_print(const struct sfctl_chart *chart, const uint64_t row[ROWS_MAX], uint64_t most)
{
	unsigned empty = 0;
	bool has_begun = false;

	for (unsigned at = 0; at < ROWS_MAX; at++) {
		if (row[at] == 0) {
			empty++;
			continue;
		}
		if (has_begun && empty > EMPTY_SHOWN)
			printf("  %18s\n", "...");
		for (; has_begun && empty > 0 && empty <= EMPTY_SHOWN; empty--)
			row_print(chart, at - empty, 0, most);
		row_print(chart, at, row[at], most);
		has_begun = true;
		empty = 0;
	}
}

static void series_print(const struct sfctl_chart *chart, const struct sfctl_series *series)
{
	uint64_t row[ROWS_MAX] = {0};
	uint64_t most = 0;

	for (size_t i = 0; i < series->dist->bin_count; i++) {
		const struct sfctl_bin *bin = &series->dist->bin[i];
		unsigned at = sfctl_chart_column(sfctl_bin_middle(bin), 1);

		row[at] += bin->count;
		if (row[at] > most)
			most = row[at];
	}
	printf("\n%s\n", series->label);
	rows_print(chart, row, most);
}

void sfctl_chart_print(const struct sfctl_chart *chart)
{
	for (size_t i = 0; i < chart->printed_count; i++)
		if (chart->series[i].dist->count > 0)
			series_print(chart, &chart->series[i]);
}
