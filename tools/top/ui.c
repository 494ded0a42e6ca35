/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Keys; see ui.h. As in top(1) where that has them.
 */
#include "tools/top/ui.h"

#include "tools/top/text.h"

#include <stdio.h>
#include <string.h>

#define CONTROL(letter) ((letter) - '@')
#define ESCAPE 0x1b
#define DELETE 0x7f

const char *const sfctl_top_help[] = {
	"Keys of sfctl top",
	"",
	"  q            end",
	"  space enter  look now",
	"  d s          seconds between two looks",
	"  P            sort by rate",
	"  T            by IDs given in all",
	"  N            by process id",
	"  C            by command",
	"  < >          by the column before, after",
	"  R r          the other way round",
	"  u            one user's clients only",
	"  /            only where a text has this",
	"  i            without those that take none",
	"  =            all of them again",
	"  arrows, page up, page down, home, end",
	"  tab          scroll streams, or clients",
	"  ctrl-L       paint the screen anew",
	"",
	"Any key goes back.",
	NULL,
};

const char *sfctl_top_sort_word(enum sfctl_top_sort sort)
{
	static const char *const words[SFCTL_TOP_SORTS] = {
		[SFCTL_TOP_BY_RATE] = "rate",      [SFCTL_TOP_BY_IDS] = "IDs",
		[SFCTL_TOP_BY_PID] = "pid",        [SFCTL_TOP_BY_USER] = "user",
		[SFCTL_TOP_BY_STREAM] = "stream",  [SFCTL_TOP_BY_AGE] = "age",
		[SFCTL_TOP_BY_COMMAND] = "command"};

	return words[sort];
}

static void ask(struct sfctl_top_ui *ui, enum sfctl_top_prompt prompt)
{
	ui->prompt = prompt;
	ui->typed[0] = '\0';
}

static void answer(struct sfctl_top_ui *ui)
{
	enum sfctl_top_prompt prompt = ui->prompt;

	ui->prompt = SFCTL_TOP_ASKS_NOTHING;
	if (prompt == SFCTL_TOP_ASKS_USER) {
		memcpy(ui->user, ui->typed, sizeof(ui->user));
	} else if (prompt == SFCTL_TOP_ASKS_FILTER) {
		memcpy(ui->filter, ui->typed, sizeof(ui->filter));
	} else if (ui->typed[0] != '\0' && sfctl_top_delay_parse(ui->typed, &ui->delay_ms) < 0) {
		(void)snprintf(ui->message, sizeof(ui->message),
			       "%s is no number of seconds from 0.1 to 3600", ui->typed);
	}
}

/** A key while something is typed. */
static void type(struct sfctl_top_ui *ui, int key)
{
	size_t length = strlen(ui->typed);

	if (key == '\n' || key == '\r')
		answer(ui);
	else if (key == ESCAPE)
		ui->prompt = SFCTL_TOP_ASKS_NOTHING;
	else if (key == CONTROL('U'))
		ui->typed[0] = '\0';
	else if ((key == SFCTL_TOP_KEY_BACKSPACE || key == CONTROL('H') || key == DELETE) &&
		 length > 0)
		ui->typed[length - 1] = '\0';
	else if (key >= ' ' && key < DELETE && length + 1 < sizeof(ui->typed)) {
		ui->typed[length] = (char)key;
		ui->typed[length + 1] = '\0';
	}
}

/** @return whether the key scrolls */
static bool scroll(struct sfctl_top_ui *ui, int key)
{
	struct sfctl_top_scroll *scroll = ui->scrolls_streams ? &ui->streams : &ui->clients;

	switch (key) {
	case SFCTL_TOP_KEY_UP:
		scroll->offset--;
		return true;
	case SFCTL_TOP_KEY_DOWN:
		scroll->offset++;
		return true;
	case SFCTL_TOP_KEY_PAGE_UP:
		scroll->offset -= scroll->rows;
		return true;
	case SFCTL_TOP_KEY_PAGE_DOWN:
		scroll->offset += scroll->rows;
		return true;
	case SFCTL_TOP_KEY_HOME:
		scroll->offset = 0;
		return true;
	case SFCTL_TOP_KEY_END:
		scroll->offset = INT32_MAX;
		return true;
	default:
		return false;
	}
}

/** @return whether the key chooses how clients are sorted */
static bool sort(struct sfctl_top_ui *ui, int key)
{
	static const struct {
		char key;
		enum sfctl_top_sort sort;
	} keys[] = {{'P', SFCTL_TOP_BY_RATE},
		    {'T', SFCTL_TOP_BY_IDS},
		    {'N', SFCTL_TOP_BY_PID},
		    {'C', SFCTL_TOP_BY_COMMAND}};

	if (key == '<' || key == '>') {
		unsigned step = key == '>' ? 1 : SFCTL_TOP_SORTS - 1;

		ui->sort = (enum sfctl_top_sort)(((unsigned)ui->sort + step) % SFCTL_TOP_SORTS);
		return true;
	}
	if (key == 'R' || key == 'r') {
		ui->is_reversed = !ui->is_reversed;
		return true;
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].key == key) {
			ui->sort = keys[i].sort;
			return true;
		}
	return false;
}

/** @return whether the key chooses which clients are shown */
static bool filter(struct sfctl_top_ui *ui, int key)
{
	switch (key) {
	case 'u':
	case 'U':
		ask(ui, SFCTL_TOP_ASKS_USER);
		return true;
	case '/':
		ask(ui, SFCTL_TOP_ASKS_FILTER);
		return true;
	case 'i':
		ui->hides_idle = !ui->hides_idle;
		return true;
	case '=':
		ui->user[0] = '\0';
		ui->filter[0] = '\0';
		ui->hides_idle = false;
		return true;
	case '\t':
		ui->scrolls_streams = !ui->scrolls_streams;
		return true;
	default:
		return false;
	}
}

static void complain(struct sfctl_top_ui *ui, int key)
{
	if (key == 'k')
		(void)snprintf(ui->message, sizeof(ui->message), "sfctl top ends no process");
	else if (key > ' ' && key < DELETE)
		(void)snprintf(ui->message, sizeof(ui->message),
			       "%c does nothing: press h for the keys", (char)key);
	else
		(void)snprintf(ui->message, sizeof(ui->message),
			       "that key does nothing: press h for the keys");
}

enum sfctl_top_action sfctl_top_ui_key(struct sfctl_top_ui *ui, int key)
{
	ui->message[0] = '\0';
	if (key == SFCTL_TOP_KEY_GONE)
		return SFCTL_TOP_QUIT;
	if (key == CONTROL('L'))
		return SFCTL_TOP_REPAINT;
	if (ui->prompt != SFCTL_TOP_ASKS_NOTHING) {
		type(ui, key);
		return SFCTL_TOP_DRAW;
	}
	if (ui->shows_help) {
		ui->shows_help = false;
		return SFCTL_TOP_DRAW;
	}
	if (key == 'q' || key == 'Q')
		return SFCTL_TOP_QUIT;
	if (key == ' ' || key == '\n' || key == '\r')
		return SFCTL_TOP_LOOK;
	if (key == 'h' || key == '?' || key == SFCTL_TOP_KEY_HELP)
		ui->shows_help = true;
	else if (key == 'd' || key == 's')
		ask(ui, SFCTL_TOP_ASKS_DELAY);
	else if (!scroll(ui, key) && !sort(ui, key) && !filter(ui, key))
		complain(ui, key);
	return SFCTL_TOP_DRAW;
}
