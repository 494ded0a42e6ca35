/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Columns of a table: which have room, how wide they are, and their cells. Pure.
 */
#ifndef SFCTL_TOP_COLUMNS_H
#define SFCTL_TOP_COLUMNS_H

#include "tools/top/page.h"
#include "tools/top/trace.h"

#include <stdbool.h>
#include <stddef.h>

#define SFCTL_TOP_COLUMNS_MAX 16

struct sfctl_top_column {
	const char *heading;
	int width;     /* at least; one column of blanks follows */
	int most;      /* if there is room */
	int rank;      /* who has a lower one gets room first; below 0: is left out */
	bool is_right; /* its texts end at its right side */
};

/** A row of a table under way: which columns there are, and where. */
struct sfctl_top_row {
	const struct sfctl_top_page *page;
	const struct sfctl_top_column *column;
	size_t count;
	int at[SFCTL_TOP_COLUMNS_MAX];
	int width[SFCTL_TOP_COLUMNS_MAX]; /* 0: it has no room */
	int row;
	enum sfctl_top_style style;
	bool has_utf8;
};

/** Gives each column its place on the page. */
void sfctl_top_row_init(struct sfctl_top_row *row, const struct sfctl_top_page *page,
			const struct sfctl_top_column *column, size_t count);
/** Writes the headings, that of `chosen` (-1: none) so that one sees it. */
void sfctl_top_row_heading(const struct sfctl_top_row *row, int chosen);
/** Writes a text in a column; one that is too long is cut off. */
void sfctl_top_row_put(const struct sfctl_top_row *row, size_t column, enum sfctl_top_style style,
		       const char *text);
/** Draws a sparkline as wide as its column. */
void sfctl_top_row_spark(const struct sfctl_top_row *row, size_t column,
			 const struct sfctl_top_trace *trace);

#endif
