/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A page of cells: what is drawn, before it is known onto what. Pure.
 */
#ifndef SFCTL_TOP_PAGE_H
#define SFCTL_TOP_PAGE_H

#include <stdint.h>
#include <stdio.h>

/** What a cell is, not how that looks. */
enum sfctl_top_style {
	SFCTL_TOP_PLAIN,
	SFCTL_TOP_PALE, /* no longer, or not quite, true */
	SFCTL_TOP_BRIGHT,
	SFCTL_TOP_HEADING, /* of a table */
	SFCTL_TOP_CHOSEN,  /* heading of what is sorted by */
	SFCTL_TOP_GOOD,
	SFCTL_TOP_WARNING,
	SFCTL_TOP_BAD,
	SFCTL_TOP_BARS, /* of a sparkline */
	SFCTL_TOP_STYLES,
};

struct sfctl_top_cell {
	uint32_t glyph; /* code point, of one column */
	uint32_t style; /* enum sfctl_top_style */
};

struct sfctl_top_page {
	int width;
	int height;
	struct sfctl_top_cell *cell; /* row after row */
};

/** Makes it a blank page of a size. @return 0 or -ENOMEM, and it is as before */
int sfctl_top_page_size(struct sfctl_top_page *page, int width, int height);
void sfctl_top_page_deinit(struct sfctl_top_page *page);

/** A cell; NULL outside of the page. */
struct sfctl_top_cell *sfctl_top_page_at(const struct sfctl_top_page *page, int row, int column);
/** Writes a text, of which what is not printable ASCII becomes "?" and what has no place on the
 * page is cut off. @return the column after it */
int sfctl_top_page_put(const struct sfctl_top_page *page, int row, int column,
		       enum sfctl_top_style style, const char *text);
/** Gives all cells of a row a style. */
void sfctl_top_page_paint(const struct sfctl_top_page *page, int row, enum sfctl_top_style style);
/** Prints the page as UTF-8, without blanks at the ends of lines. */
void sfctl_top_page_print(const struct sfctl_top_page *page, FILE *file);

#endif
