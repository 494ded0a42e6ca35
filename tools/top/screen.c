/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The terminal; see screen.h. ncurses would handle signals by itself, in its own way: what it
 * installs is taken back.
 */
#include "tools/top/screen.h"

#include "tools/sfctl.h"
#include "tools/top/ui.h"

#include <curses.h>
#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <term.h>
#include <unistd.h>
#include <wchar.h>

/* A lone escape is told from the beginning of a key by what follows within so many ms. */
#define ESCAPE_MS 50
#define ROW_MAX 1024

static const int signals[] = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
#define SIGNAL_COUNT (sizeof(signals) / sizeof(signals[0]))

static void colours_init(struct sfctl_top_screen *screen)
{
	static const short colours[SFCTL_TOP_STYLES] = {
		[SFCTL_TOP_GOOD] = COLOR_GREEN,
		[SFCTL_TOP_WARNING] = COLOR_YELLOW,
		[SFCTL_TOP_BAD] = COLOR_RED,
		[SFCTL_TOP_BARS] = COLOR_CYAN,
	};

	screen->has_colours = sfctl_environment("NO_COLOR") == NULL && has_colors() &&
			      start_color() == OK && use_default_colors() == OK;
	for (short i = 0; screen->has_colours && i < SFCTL_TOP_STYLES; i++)
		if (colours[i] != 0)
			(void)init_pair(i, colours[i], -1);
}

/** Whether the terminal can do what a page needs; ncurses finds out without a sound. */
static int check_terminal(struct sf_why *why)
{
	const char *name = sfctl_environment("TERM");
	const char *move;
	bool can_move;
	int found = 0;

	if (!name) {
		SFCTL_WHY(why, "$TERM is not set: set it to the terminal's name, or use -b");
		return -ENOTTY;
	}
	if (setupterm(name, STDOUT_FILENO, &found) != OK) {
		SFCTL_WHY(why,
			  found < 0 ? "there is no terminfo database for TERM=%.40s: install "
				      "ncurses-base, or use -b"
				    : "TERM=%.40s is a terminal that nothing is known of: set TERM "
				      "to what this one is, or use -b",
			  name);
		return -ENOTTY;
	}
	move = tigetstr("cup");
	can_move = move && move != (char *)-1; /* NOLINT(performance-no-int-to-ptr) */
	(void)del_curterm(cur_term);           /* newterm() finds its own */
	if (!can_move) {
		SFCTL_WHY(why,
			  "TERM=%.40s is a terminal without a movable cursor: set TERM to what "
			  "this one is, or use -b",
			  name);
		return -ENOTTY;
	}
	return 0;
}

int sfctl_top_screen_open(struct sfctl_top_screen *screen, struct sf_why *why)
{
	struct sigaction before[SIGNAL_COUNT];
	int error;

	*screen = (struct sfctl_top_screen){0};
	error = check_terminal(why);
	if (error < 0)
		return error;
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		(void)sigaction(signals[i], NULL, &before[i]);
	screen->terminal = newterm(NULL, stdout, stdin);
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		(void)sigaction(signals[i], &before[i], NULL);
	if (!screen->terminal) {
		SFCTL_WHY(why, "the terminal cannot be used for a page: use -b");
		return -ENOTTY;
	}
	colours_init(screen);
	(void)cbreak();
	(void)noecho();
	(void)nonl();
	(void)intrflush(stdscr, FALSE);
	(void)keypad(stdscr, TRUE);
	(void)nodelay(stdscr, TRUE);
	(void)set_escdelay(ESCAPE_MS);
	(void)curs_set(0);
	return 0;
}

void sfctl_top_screen_close(struct sfctl_top_screen *screen)
{
	(void)endwin();
	delscreen(screen->terminal);
	screen->terminal = NULL;
}

void sfctl_top_screen_pause(void)
{
	(void)endwin();
}

void sfctl_top_screen_resume(void)
{
	(void)reset_prog_mode();
	(void)curs_set(0);
	sfctl_top_screen_fit();
	(void)clearok(curscr, TRUE);
	(void)refresh();
}

void sfctl_top_screen_fit(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
		(void)resizeterm(size.ws_row, size.ws_col);
}

void sfctl_top_screen_size(int *ret_width, int *ret_height)
{
	getmaxyx(stdscr, *ret_height, *ret_width);
}

/** How a cell looks; without colours the styles that matter differ, too. */
static attr_t look_of(const struct sfctl_top_screen *screen, uint32_t style)
{
	static const attr_t attributes[SFCTL_TOP_STYLES] = {
		[SFCTL_TOP_PALE] = A_DIM,
		[SFCTL_TOP_BRIGHT] = A_BOLD,
		[SFCTL_TOP_HEADING] = A_REVERSE,
		[SFCTL_TOP_CHOSEN] = A_REVERSE | A_BOLD | A_UNDERLINE,
		[SFCTL_TOP_WARNING] = A_BOLD,
		[SFCTL_TOP_BAD] = A_BOLD,
	};
	attr_t look = attributes[style];

	if (screen->has_colours)
		return look | (attr_t)COLOR_PAIR((int)style);
	return style == SFCTL_TOP_BAD ? look | A_REVERSE : look;
}

/** Draws cells of one style. @return the column after them */
static int draw_run(const struct sfctl_top_screen *screen, const struct sfctl_top_page *page,
		    int row, int column)
{
	uint32_t style = sfctl_top_page_at(page, row, column)->style;
	wchar_t text[ROW_MAX];
	int begin = column;
	int count = 0;

	for (; column < page->width && count < ROW_MAX; column++) {
		const struct sfctl_top_cell *cell = sfctl_top_page_at(page, row, column);

		if (cell->style != style)
			break;
		text[count++] = (wchar_t)cell->glyph;
	}
	(void)attrset((int)look_of(screen, style));
	/* The last cell of all moves the cursor nowhere, which is no error to us. */
	(void)mvaddnwstr(row, begin, text, count);
	return column;
}

void sfctl_top_screen_draw(const struct sfctl_top_screen *screen, const struct sfctl_top_page *page)
{
	(void)erase();
	for (int row = 0; row < page->height; row++)
		for (int column = 0; column < page->width;)
			column = draw_run(screen, page, row, column);
	(void)refresh();
}

int sfctl_top_screen_key(void)
{
	int key = getch();

	switch (key) {
	case ERR:
		return SFCTL_TOP_KEY_NONE;
	case KEY_UP:
		return SFCTL_TOP_KEY_UP;
	case KEY_DOWN:
		return SFCTL_TOP_KEY_DOWN;
	case KEY_PPAGE:
		return SFCTL_TOP_KEY_PAGE_UP;
	case KEY_NPAGE:
		return SFCTL_TOP_KEY_PAGE_DOWN;
	case KEY_HOME:
		return SFCTL_TOP_KEY_HOME;
	case KEY_END:
		return SFCTL_TOP_KEY_END;
	case KEY_F(1):
		return SFCTL_TOP_KEY_HELP;
	case KEY_BACKSPACE:
		return SFCTL_TOP_KEY_BACKSPACE;
	case KEY_ENTER:
		return '\n';
	default:
		return key > 0 && key < 0x80 ? key : SFCTL_TOP_KEY_OTHER;
	}
}
