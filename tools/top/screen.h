/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The terminal: one page drawn on it, keys read from it. On ncurses (screen.c), or not at all
 * (screen_none.c). Main thread; signals are the caller's.
 */
#ifndef SFCTL_TOP_SCREEN_H
#define SFCTL_TOP_SCREEN_H

#include "tools/top/page.h"

#include "shm/sflayout.h"

#include <stdbool.h>

struct sfctl_top_screen {
	void *terminal; /* of ncurses */
	bool has_colours;
};

/** Takes over the terminal that is stdin and stdout. @return 0, or -ENOTTY with the reason */
int sfctl_top_screen_open(struct sfctl_top_screen *screen, struct sf_why *why);
/** Leaves the terminal as it was. */
void sfctl_top_screen_close(struct sfctl_top_screen *screen);
/** The same for a while: sfctl_top_screen_resume() goes on. */
void sfctl_top_screen_pause(void);
/** Takes it over again, whatever it looks like and whatever size it has. */
void sfctl_top_screen_resume(void);
/** Adapts to the size that the terminal has now. */
void sfctl_top_screen_fit(void);
void sfctl_top_screen_size(int *ret_width, int *ret_height);
void sfctl_top_screen_draw(const struct sfctl_top_screen *screen,
			   const struct sfctl_top_page *page);
/** @return a character, an enum sfctl_top_key; SFCTL_TOP_KEY_NONE when no key is waiting */
int sfctl_top_screen_key(void);

#endif
