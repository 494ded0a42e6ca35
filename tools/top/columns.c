/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Columns of a table; see columns.h.
 */
#include "tools/top/columns.h"

#include <string.h>

/** The column of the next rank; `count` when there is none left. */
static size_t next_rank(const struct sfctl_top_row *row, int after)
{
	size_t best = row->count;

	for (size_t i = 0; i < row->count; i++)
		if (row->column[i].rank > after &&
		    (best == row->count || row->column[i].rank < row->column[best].rank))
			best = i;
	return best;
}

/** Gives room in the order of the ranks: to each column what it needs at least, then more. */
static void give_room(struct sfctl_top_row *row)
{
	int left = row->page->width + 1; /* no blank follows the last one */

	for (size_t i = next_rank(row, -1); i < row->count;
	     i = next_rank(row, row->column[i].rank)) {
		if (row->column[i].width + 1 > left)
			continue;
		row->width[i] = row->column[i].width;
		left -= row->width[i] + 1;
	}
	for (size_t i = next_rank(row, -1); i < row->count;
	     i = next_rank(row, row->column[i].rank)) {
		int more = row->column[i].most - row->width[i];

		if (row->width[i] == 0 || more <= 0)
			continue;
		more = more < left ? more : left;
		row->width[i] += more;
		left -= more;
	}
}

void sfctl_top_row_init(struct sfctl_top_row *row, const struct sfctl_top_page *page,
			const struct sfctl_top_column *column, size_t count)
{
	int at = 0;

	*row = (struct sfctl_top_row){.page = page, .column = column, .count = count};
	give_room(row);
	for (size_t i = 0; i < count; i++) {
		row->at[i] = at;
		at += row->width[i] > 0 ? row->width[i] + 1 : 0;
	}
}

void sfctl_top_row_put(const struct sfctl_top_row *row, size_t column, enum sfctl_top_style style,
		       const char *text)
{
	int length = (int)strlen(text);
	int width = row->width[column];
	int blank = row->column[column].is_right && length < width ? width - length : 0;
	char cut[256];

	if (width == 0)
		return;
	(void)snprintf(cut, sizeof(cut), "%.*s", width, text);
	(void)sfctl_top_page_put(row->page, row->row, row->at[column] + blank,
				 row->style == SFCTL_TOP_PLAIN ? style : row->style, cut);
}

void sfctl_top_row_heading(const struct sfctl_top_row *row, int chosen)
{
	sfctl_top_page_paint(row->page, row->row, SFCTL_TOP_HEADING);
	for (size_t i = 0; i < row->count; i++)
		sfctl_top_row_put(row, i, (int)i == chosen ? SFCTL_TOP_CHOSEN : SFCTL_TOP_HEADING,
				  row->column[i].heading);
}

void sfctl_top_row_spark(const struct sfctl_top_row *row, size_t column,
			 const struct sfctl_top_trace *trace)
{
	uint32_t glyph[SFCTL_TOP_TRACE_LENGTH];
	int width = row->width[column];

	if (width > SFCTL_TOP_TRACE_LENGTH)
		width = SFCTL_TOP_TRACE_LENGTH;
	sfctl_top_spark(trace, width, row->has_utf8, glyph);
	for (int i = 0; i < width; i++)
		*sfctl_top_page_at(row->page, row->row,
				   row->at[column] + i) = (struct sfctl_top_cell){
			.glyph = glyph[i],
			.style = row->style == SFCTL_TOP_PLAIN ? SFCTL_TOP_BARS : row->style};
}
