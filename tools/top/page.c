/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A page of cells; see page.h.
 */
#include "tools/top/page.h"

#include <errno.h>
#include <stdlib.h>

int sfctl_top_page_size(struct sfctl_top_page *page, int width, int height)
{
	size_t count = (size_t)width * (size_t)height;
	struct sfctl_top_cell *cell = reallocarray(page->cell, count, sizeof(*cell));

	if (!cell && count > 0)
		return -ENOMEM;
	*page = (struct sfctl_top_page){.width = width, .height = height, .cell = cell};
	for (size_t i = 0; i < count; i++)
		cell[i] = (struct sfctl_top_cell){.glyph = ' ', .style = SFCTL_TOP_PLAIN};
	return 0;
}

void sfctl_top_page_deinit(struct sfctl_top_page *page)
{
	free(page->cell);
	*page = (struct sfctl_top_page){0};
}

struct sfctl_top_cell *sfctl_top_page_at(const struct sfctl_top_page *page, int row, int column)
{
	if (row < 0 || row >= page->height || column < 0 || column >= page->width)
		return NULL;
	return &page->cell[(size_t)row * (size_t)page->width + (size_t)column];
}

int sfctl_top_page_put(const struct sfctl_top_page *page, int row, int column,
		       enum sfctl_top_style style, const char *text)
{
	for (; *text; text++, column++) {
		struct sfctl_top_cell *cell = sfctl_top_page_at(page, row, column);

		if (!cell)
			continue;
		cell->glyph = *text >= ' ' && *text <= '~' ? (uint32_t)*text : '?';
		cell->style = style;
	}
	return column;
}

void sfctl_top_page_paint(const struct sfctl_top_page *page, int row, enum sfctl_top_style style)
{
	for (int column = 0; column < page->width; column++)
		page->cell[(size_t)row * (size_t)page->width + (size_t)column].style = style;
}

/** Code points of a sparkline need three bytes, all others one. */
static void print_glyph(uint32_t glyph, FILE *file)
{
	if (glyph < 0x80) {
		(void)fputc((int)glyph, file);
		return;
	}
	(void)fputc((int)(0xe0 | glyph >> 12), file);
	(void)fputc((int)(0x80 | (glyph >> 6 & 0x3f)), file);
	(void)fputc((int)(0x80 | (glyph & 0x3f)), file);
}

void sfctl_top_page_print(const struct sfctl_top_page *page, FILE *file)
{
	for (int row = 0; row < page->height; row++) {
		int end = page->width;

		while (end > 0 && sfctl_top_page_at(page, row, end - 1)->glyph == ' ')
			end--;
		for (int column = 0; column < end; column++)
			print_glyph(sfctl_top_page_at(page, row, column)->glyph, file);
		(void)fputc('\n', file);
	}
}
