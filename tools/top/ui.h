/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What whoever looks has chosen, and what each key does to it. Pure.
 */
#ifndef SFCTL_TOP_UI_H
#define SFCTL_TOP_UI_H

#include <stdbool.h>
#include <stdint.h>

/** What the clients are sorted by. */
enum sfctl_top_sort {
	SFCTL_TOP_BY_RATE,
	SFCTL_TOP_BY_IDS,
	SFCTL_TOP_BY_PID,
	SFCTL_TOP_BY_USER,
	SFCTL_TOP_BY_STREAM,
	SFCTL_TOP_BY_AGE,
	SFCTL_TOP_BY_COMMAND,
	SFCTL_TOP_SORTS,
};

/** Keys that are no characters; the others are what they are in ASCII. */
enum sfctl_top_key {
	SFCTL_TOP_KEY_NONE = 0,
	SFCTL_TOP_KEY_UP = 0x1000,
	SFCTL_TOP_KEY_DOWN,
	SFCTL_TOP_KEY_PAGE_UP,
	SFCTL_TOP_KEY_PAGE_DOWN,
	SFCTL_TOP_KEY_HOME,
	SFCTL_TOP_KEY_END,
	SFCTL_TOP_KEY_HELP,
	SFCTL_TOP_KEY_BACKSPACE,
	SFCTL_TOP_KEY_OTHER, /* one that this program has no name for */
	SFCTL_TOP_KEY_GONE,  /* the terminal is */
};

/** What is typed into the line for messages. */
enum sfctl_top_prompt {
	SFCTL_TOP_ASKS_NOTHING,
	SFCTL_TOP_ASKS_DELAY,
	SFCTL_TOP_ASKS_USER,
	SFCTL_TOP_ASKS_FILTER,
};

/** One of the two tables: how far it is scrolled, and how many rows of it are seen. */
struct sfctl_top_scroll {
	int64_t offset; /* whoever draws brings it within bounds */
	int rows;
};

#define SFCTL_TOP_TYPED_MAX 33

struct sfctl_top_ui {
	enum sfctl_top_sort sort;
	bool is_reversed;
	bool hides_idle;
	bool shows_help;
	bool scrolls_streams; /* else the clients */
	struct sfctl_top_scroll streams;
	struct sfctl_top_scroll clients;
	int64_t delay_ms;
	char user[SFCTL_TOP_TYPED_MAX];   /* only this one's clients; empty: all */
	char filter[SFCTL_TOP_TYPED_MAX]; /* only clients of which a text has this; empty: all */
	enum sfctl_top_prompt prompt;
	char typed[SFCTL_TOP_TYPED_MAX];
	char message[80]; /* until the next key */
};

/** What is to be done after a key. */
enum sfctl_top_action {
	SFCTL_TOP_DRAW,
	SFCTL_TOP_LOOK,    /* now */
	SFCTL_TOP_REPAINT, /* all of the screen, whatever is on it */
	SFCTL_TOP_QUIT,
};

enum sfctl_top_action sfctl_top_ui_key(struct sfctl_top_ui *ui, int key);

/** "rate", "pid"; of the column. */
const char *sfctl_top_sort_word(enum sfctl_top_sort sort);

/** The lines of the help page, NULL after the last. */
extern const char *const sfctl_top_help[];

#endif
