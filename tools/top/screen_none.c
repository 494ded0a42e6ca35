/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * No terminal; see screen.h. For builds without ncurses.
 */
#include "tools/sfctl.h"
#include "tools/top/screen.h"
#include "tools/top/ui.h"

#include <errno.h>

int sfctl_top_screen_open(struct sfctl_top_screen *screen, struct sf_why *why)
{
	*screen = (struct sfctl_top_screen){0};
	SFCTL_WHY(why, "this sfctl was built without ncurses: use -b, or build it with "
		       "-Dtop=enabled");
	return -ENOTTY;
}

/* The others are for a screen that is open. */

void sfctl_top_screen_close(struct sfctl_top_screen *screen)
{
	(void)screen;
}

void sfctl_top_screen_pause(void)
{
}

void sfctl_top_screen_resume(void)
{
}

void sfctl_top_screen_fit(void)
{
}

void sfctl_top_screen_size(int *ret_width, int *ret_height)
{
	*ret_width = 0;
	*ret_height = 0;
}

void sfctl_top_screen_draw(const struct sfctl_top_screen *screen, const struct sfctl_top_page *page)
{
	(void)screen;
	(void)page;
}

int sfctl_top_screen_key(void)
{
	return SFCTL_TOP_KEY_GONE;
}
