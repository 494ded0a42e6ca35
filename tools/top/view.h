/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The page that sfctl top shows, made of what it knows and what was chosen. Pure, but for the time
 * zone.
 */
#ifndef SFCTL_TOP_VIEW_H
#define SFCTL_TOP_VIEW_H

#include "tools/top/model.h"
#include "tools/top/page.h"
#include "tools/top/ui.h"

/** Smaller pages show a sentence. */
#define SFCTL_TOP_WIDTH_MIN 40
#define SFCTL_TOP_HEIGHT_MIN 8

struct sfctl_top_scene {
	const struct sfctl_top_model *model; /* with at least one answered look */
	struct sfctl_top_ui *ui;             /* its scrolling is brought within bounds */
	int64_t unix_ms;
	int64_t awaited_ms; /* since when sfd owes an answer; 0: it does not */
	bool has_utf8;
};

/** Draws on the blank page. */
void sfctl_top_view(const struct sfctl_top_scene *scene, const struct sfctl_top_page *page);
/** Height of a page that shows every stream and every client. */
int sfctl_top_view_height(const struct sfctl_top_scene *scene);

/* view_streams.c, view_clients.c: a table with its heading, `rows` high in all, from a row of the
 * page on. Of the clients, those of model->order. */
void sfctl_top_view_streams(const struct sfctl_top_scene *scene, const struct sfctl_top_page *page,
			    int row, int rows);
void sfctl_top_view_clients(const struct sfctl_top_scene *scene, const struct sfctl_top_page *page,
			    int row, int rows, uint32_t count);
/** Brings a scroll within bounds, notes its rows, and says at the right of the heading which part
 * of the table is seen, if it is not all. */
void sfctl_top_view_scroll(struct sfctl_top_scroll *scroll, const struct sfctl_top_page *page,
			   int heading, int rows, uint32_t count);

#endif
