/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl top: the page, at sizes from too small to large, and what it says of streams, clients,
 * clocks, and an sfd that is away.
 */
#include "tests/unit/top_suite.h"

#include "tools/top/view.h"

#include <stdlib.h>
#include <string.h>

static struct sfctl_top_page page;
static struct sfctl_top_scene scene;

static void begin(uint32_t streams)
{
	(void)setenv("TZ", "UTC", 1);
	t_top_begin(streams);
	scene = (struct sfctl_top_scene){.model = &t_model, .ui = &t_ui, .unix_ms = T_UNIX_MS};
}

static void end(void)
{
	sfctl_top_page_deinit(&page);
	t_top_end();
}

static void draw(int width, int height)
{
	ck_assert_int_eq(sfctl_top_page_size(&page, width, height), 0);
	sfctl_top_view(&scene, &page);
}

/** A row as ASCII, other characters as "*", without the blanks at its end. */
static const char *row(int number)
{
	static char text[512];
	int end = 0;

	for (int column = 0; column < page.width; column++) {
		uint32_t glyph = sfctl_top_page_at(&page, number, column)->glyph;

		text[column] = (char)(glyph < 0x80 ? glyph : '*');
		end = text[column] != ' ' ? column + 1 : end;
	}
	text[end] = '\0';
	return text;
}

static enum sfctl_top_style style_of(int number, const char *word)
{
	const char *found = strstr(row(number), word);

	ck_assert_msg(found != NULL, "no \"%s\" in \"%s\"", word, row(number));
	return (enum sfctl_top_style)sfctl_top_page_at(&page, number, (int)(found - row(number)))
		->style;
}

static void expect(int number, const char *part)
{
	ck_assert_msg(strstr(row(number), part) != NULL, "no \"%s\" in row %d: \"%s\"", part,
		      number, row(number));
}

/** Two streams that are in use, one of them by two clients. */
static void begin_busy(void)
{
	begin(2);
	t_top_claim(0, 1000, 0);
	t_top_claim(1, 1000, 0);
	(void)t_top_client(0, 7, 100);
	(void)t_top_client(0, 8, 100);
	(void)snprintf(t_top_client(1, 9, 5000000)->command, 16, "ingest");
	t_top_look(0);
	t_top_claim(0, 3073000, 0);
	t_top_claim(1, 1000, 0);
	t_streams[0].client[0].ids += 3000000;
	t_streams[0].client[1].ids += 72000;
	t_streams[0].stats.counter[SF_COUNTER_beating] = 1;
	t_streams[0].stats.counter[SF_COUNTER_beats] = 1000;
	t_top_look(1);
}

START_TEST(page_of_80_by_24_has_all_that_matters)
{
	begin_busy();
	draw(80, 24);
	ck_assert_str_eq(row(0), "sfctl top - 00:00:00  sfd 9.8.7  pid 77  up 1m01s  io_uring  "
				 "beat: beating");
	ck_assert_str_eq(row(1), "Streams: 2, all running  Clients: 3  IDs/s: 3.07M  every 1s  by "
				 "rate");
	ck_assert_str_eq(row(2), "Clock: synchronised, to 12ms at most; in IDs of default: the "
				 "wall's");
	ck_assert_str_eq(row(3), "");
	ck_assert_str_eq(row(4), "STREAM   STATE       IDs/s BEFORE         CAPACITY   USED RUNWAY "
				 "BEATS/s WAITS/s");
	ck_assert_str_eq(row(5), "default  running     3.07M             _#    4.10M  75.0%   2.9s "
				 "   1000       0");
	ck_assert_str_eq(row(6), "orders   running         0             __    4.10M   0.0%   2.9s "
				 "   idle       0");
	ck_assert_str_eq(row(7), "");
	ck_assert_str_eq(row(8), "    PID USER     STREAM     IDs/s  SHARE BEFORE      IDs     AGE "
				 "COMMAND");
	ck_assert_str_eq(row(9), "      7 root     default    3.00M  97.7%       #   3.00M   1m30s "
				 "worker");
	ck_assert_str_eq(row(10),
			 "      8 root     default    72000   2.3%       #   72100   1m30s "
			 "worker");
	ck_assert_str_eq(row(11),
			 "      9 root     orders         0   0.0%       _   5.00M   1m30s "
			 "ingest");
	ck_assert_str_eq(row(12), "");
	ck_assert_int_eq((int)style_of(4, "USED"), SFCTL_TOP_HEADING);
	ck_assert_int_eq((int)style_of(5, "running"), SFCTL_TOP_GOOD);
	ck_assert_int_eq((int)style_of(5, "75.0%"), SFCTL_TOP_WARNING);
	ck_assert_int_eq((int)style_of(8, "IDs/s"), SFCTL_TOP_CHOSEN);
	end();
}
END_TEST

START_TEST(bars_are_of_utf8_where_that_can_be_shown)
{
	begin_busy();
	scene.has_utf8 = true;
	draw(80, 24);
	expect(5, " ** ");
	ck_assert_uint_eq(sfctl_top_page_at(&page, 5, 40)->glyph, 0x2588);
	ck_assert_uint_eq(sfctl_top_page_at(&page, 5, 39)->glyph, 0x2581);
	ck_assert_uint_eq(sfctl_top_page_at(&page, 5, 40)->style, SFCTL_TOP_BARS);
	end();
}
END_TEST

/* Whatever the size, the page is in order, and a column that is shown is whole. */
START_TEST(page_of_any_size_is_in_order)
{
	static const int widths[] = {1, 39, 40, 47, 60, 79, 80, 81, 100, 132, 200, 400};
	static const int heights[] = {1, 7, 8, 9, 10, 11, 12, 24, 50, 200};

	begin_busy();
	for (size_t i = 0; i < T_COUNT(widths); i++)
		for (size_t j = 0; j < T_COUNT(heights); j++) {
			draw(widths[i], heights[j]);
			if (widths[i] < SFCTL_TOP_WIDTH_MIN || heights[j] < SFCTL_TOP_HEIGHT_MIN)
				continue;
			expect(4, "STREAM");
			expect(4, "IDs/s");
			expect(5, "3.07M");
			expect(5, "75.0%");
			expect(heights[j] < 12 ? 6 + (heights[j] > 10) : 8, "PID");
		}
	draw(200, 24);
	expect(4, "LATEST");
	expect(4, "CLIENTS");
	expect(4, "TIME");
	end();
}
END_TEST

START_TEST(page_that_is_too_small_says_so)
{
	begin_busy();
	draw(39, 24);
	ck_assert_str_eq(row(0), "39x24: sfctl top needs 40x8");
	ck_assert_str_eq(row(1), "");
	draw(80, 7);
	ck_assert_str_eq(row(0), "80x7: sfctl top needs 40x8");
	draw(10, 1);
	ck_assert_str_eq(row(0), "10x1: sfct");
	end();
}
END_TEST

START_TEST(long_lists_are_scrolled_within_bounds)
{
	begin(3);
	for (uint32_t i = 0; i < 100; i++)
		(void)t_top_client(0, 1000 + i, i);
	t_top_look(0);
	t_ui.sort = SFCTL_TOP_BY_PID;
	t_ui.is_reversed = true;
	draw(80, 24);
	expect(8 + 1, "1-14/100");
	expect(8 + 2, "1000 root");
	expect(23, "1013 root");
	(void)sfctl_top_ui_key(&t_ui, SFCTL_TOP_KEY_DOWN);
	draw(80, 24);
	expect(10, "1001 root");
	(void)sfctl_top_ui_key(&t_ui, SFCTL_TOP_KEY_PAGE_DOWN);
	draw(80, 24);
	expect(10, "1015 root");
	(void)sfctl_top_ui_key(&t_ui, SFCTL_TOP_KEY_END);
	draw(80, 24);
	expect(9, "87-100/100");
	expect(23, "1099 root");
	(void)sfctl_top_ui_key(&t_ui, SFCTL_TOP_KEY_PAGE_DOWN);
	(void)sfctl_top_ui_key(&t_ui, SFCTL_TOP_KEY_DOWN);
	draw(80, 24);
	expect(9, "87-100/100");
	(void)sfctl_top_ui_key(&t_ui, SFCTL_TOP_KEY_PAGE_UP);
	draw(80, 24);
	expect(9, "73-86/100");
	(void)sfctl_top_ui_key(&t_ui, SFCTL_TOP_KEY_HOME);
	(void)sfctl_top_ui_key(&t_ui, SFCTL_TOP_KEY_UP);
	draw(80, 24);
	expect(9, "1-14/100");
	/* streams, on a page that has no room for all */
	draw(80, 8);
	expect(4, "1-1/3");
	(void)sfctl_top_ui_key(&t_ui, '\t');
	(void)sfctl_top_ui_key(&t_ui, SFCTL_TOP_KEY_DOWN);
	draw(80, 8);
	expect(4, "2-2/3");
	expect(5, "orders");
	end();
}
END_TEST

START_TEST(page_of_an_sfd_that_is_away_keeps_the_last_figures)
{
	const struct sf_why why = {"no sfd listens at /run/sfd/sfd.sock: start sfd, or name its "
				   "socket with --socket or $SFD_SOCKET"};

	begin_busy();
	sfctl_top_model_miss(&t_model, T_UNIX_MS + 2000, &why);
	scene.unix_ms = T_UNIX_MS + 14000;
	draw(80, 24);
	ck_assert_str_eq(row(1), "sfd is away since 00:00:02 (12s): no sfd listens at "
				 "/run/sfd/sfd.sock: start");
	ck_assert_str_eq(row(2), "sfd, or name its socket with --socket or $SFD_SOCKET");
	ck_assert_str_eq(row(3), "the last figures:");
	ck_assert_int_eq((int)style_of(1, "away"), SFCTL_TOP_BAD);
	expect(5, "3.07M            _#  ");
	ck_assert_int_eq((int)style_of(5, "3.07M"), SFCTL_TOP_PALE);
	expect(9, "3.00M  97.7%");
	ck_assert_int_eq((int)style_of(9, "worker"), SFCTL_TOP_PALE);
	draw(40, 8);
	ck_assert_str_eq(row(1), "sfd is away since 00:00:02 (12s): no sfd");
	ck_assert_str_eq(row(2), "listens at /run/sfd/sfd.sock: start sfd,");
	t_top_look(15);
	draw(80, 24);
	ck_assert_str_eq(row(3), "sfd is back, after 13s");
	expect(1, "Streams: 2");
	ck_assert_int_eq((int)style_of(5, "running"), SFCTL_TOP_GOOD);
	for (int i = 16; i < 22; i++)
		t_top_look(i);
	draw(80, 24);
	ck_assert_str_eq(row(3), "");
	end();
}
END_TEST

START_TEST(answer_that_is_late_is_missed)
{
	begin_busy();
	scene.awaited_ms = 1000;
	draw(80, 24);
	ck_assert_str_eq(row(3), "");
	scene.awaited_ms = 3200;
	draw(80, 24);
	ck_assert_str_eq(row(3), "sfd owes an answer for 3.2s");
	end();
}
END_TEST

START_TEST(clients_that_do_not_count_get_what_the_others_leave)
{
	begin_busy();
	(void)t_top_client(1, 10, SF_CONTROL_NOT_COUNTED);
	t_top_claim(1, 9000, 0);
	t_streams[1].client[0].ids += 1000;
	t_top_look(2);
	draw(80, 24);
	ck_assert_str_eq(row(3), "Not counted (older libsfclient): 1; the others leave 7000 IDs/s");
	expect(12, "     10 root     orders         ?      ?");
	expect(12, "       ?   1m30s worker");
	end();
}
END_TEST

START_TEST(clock_line_is_about_the_stream_that_is_furthest_off)
{
	begin(3);
	t_streams[0].stats.counter[SF_COUNTER_wall_offset_us] = 500;
	t_streams[1].stats.counter[SF_COUNTER_wall_offset_us] = (uint64_t)-700;
	t_top_look(0);
	draw(80, 24);
	expect(2, "at most; in IDs of orders: 700us behind the wall");
	t_streams[2].stats.counter[SF_COUNTER_clock_behind] = 2;
	t_streams[2].stats.counter[SF_COUNTER_clock_behind_ms] = 61000;
	t_streams[2].stats.state = SF_SHM_BEHIND;
	t_streams[2].stats.counter[SF_COUNTER_clock_sync] = 2;
	t_streams[2].stats.counter[SF_COUNTER_wall_offset_us] = 61000000;
	t_top_look(1);
	draw(140, 24);
	ck_assert_str_eq(row(2), "Clock: not synchronised; documents: callers wait, in 1m01s it "
				 "ends");
	ck_assert_int_eq((int)style_of(2, "not synch"), SFCTL_TOP_WARNING);
	ck_assert_int_eq((int)style_of(2, "callers"), SFCTL_TOP_BAD);
	expect(1, "Streams: 3, 1 not running");
	ck_assert_int_eq((int)style_of(7, "behind"), SFCTL_TOP_WARNING);
	ck_assert_int_eq((int)style_of(7, "+1m01s"), SFCTL_TOP_BAD);
	end();
}
END_TEST

START_TEST(trouble_is_seen_from_afar)
{
	begin_busy();
	t_top_claim(0, 3073000 + 4000000, 0);
	t_streams[0].stats.counter[SF_COUNTER_runway_ms] = 1200;
	t_streams[1].stats.counter[SF_COUNTER_runway_ms] = 0;
	t_streams[1].stats.state = SF_SHM_HELD;
	t_top_look(2);
	draw(80, 24);
	ck_assert_int_eq((int)style_of(5, "97.7%"), SFCTL_TOP_BAD);
	ck_assert_int_eq((int)style_of(5, "1.2s"), SFCTL_TOP_WARNING);
	ck_assert_int_eq((int)style_of(6, "0ms"), SFCTL_TOP_BAD);
	ck_assert_int_eq((int)style_of(6, "held"), SFCTL_TOP_BAD);
	end();
}
END_TEST

/* A control sequence in a name stays what is on the page, and never reaches the terminal. */
START_TEST(texts_of_others_are_printable)
{
	char *printed = NULL;
	size_t size = 0;
	FILE *file;

	begin(1);
	(void)snprintf(t_top_client(0, 7, 1)->command, 16, "a\033[31m\x9b\xc3\xa4\tz");
	t_top_look(0);
	draw(80, 24);
	expect(8, "a?[31m????z");
	file = open_memstream(&printed, &size);
	sfctl_top_page_print(&page, file);
	ck_assert_int_eq(fclose(file), 0);
	for (size_t i = 0; i < size; i++)
		ck_assert(printed[i] == '\n' || (printed[i] >= ' ' && printed[i] <= '~'));
	free(printed);
	end();
}
END_TEST

START_TEST(page_is_printed_as_utf8_without_blanks_at_the_end)
{
	char *printed = NULL;
	size_t size = 0;
	FILE *file;

	ck_assert_int_eq(sfctl_top_page_size(&page, 10, 2), 0);
	ck_assert_int_eq(sfctl_top_page_put(&page, 0, 2, SFCTL_TOP_PLAIN, "ab"), 4);
	sfctl_top_page_at(&page, 0, 5)->glyph = 0x2588;
	ck_assert_int_eq(sfctl_top_page_put(&page, 1, 8, SFCTL_TOP_PLAIN, "cut off"), 15);
	ck_assert_int_eq(sfctl_top_page_put(&page, 2, 0, SFCTL_TOP_PLAIN, "below"), 5);
	file = open_memstream(&printed, &size);
	sfctl_top_page_print(&page, file);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_str_eq(printed, "  ab \xe2\x96\x88\n        cu\n");
	free(printed);
	sfctl_top_page_deinit(&page);
}
END_TEST

START_TEST(page_high_enough_shows_everybody)
{
	begin(2);
	for (uint32_t i = 0; i < 100; i++)
		(void)t_top_client(i % 2, 1000 + i, i);
	t_top_look(0);
	draw(79, sfctl_top_view_height(&scene));
	ck_assert_int_eq(page.height, 4 + 3 + 2 + 100);
	expect(5, "default");
	expect(6, "orders");
	for (int i = 9; i < page.height; i++)
		expect(i, " root ");
	end();
}
END_TEST

START_TEST(help_lists_the_keys_on_any_page)
{
	begin_busy();
	t_ui.shows_help = true;
	draw(80, 24);
	expect(0, "Keys of sfctl top");
	for (const char *const *line = sfctl_top_help; *line; line++) {
		ck_assert_uint_le(strlen(*line), 80);
		ck_assert_int_lt(line - sfctl_top_help, 24);
	}
	draw(40, 8);
	expect(0, "Keys of sfctl top");
	end();
}
END_TEST

START_TEST(prompt_shows_what_is_typed)
{
	begin_busy();
	for (const char *key = "d2.5"; *key; key++)
		(void)sfctl_top_ui_key(&t_ui, *key);
	draw(80, 24);
	ck_assert_str_eq(row(3), "Seconds between two looks, instead of 1: 2.5_");
	(void)sfctl_top_ui_key(&t_ui, '\n');
	(void)sfctl_top_ui_key(&t_ui, 'u');
	draw(80, 24);
	ck_assert_str_eq(row(3), "Only clients of user (nothing: all): _");
	(void)sfctl_top_ui_key(&t_ui, 'x');
	(void)sfctl_top_ui_key(&t_ui, '\n');
	draw(80, 24);
	expect(1, "every 2.5s  by rate  user x");
	ck_assert_str_eq(row(9), "");
	end();
}
END_TEST

void t_add_top_view(Suite *suite)
{
	TCase *view = tcase_create("view");

	tcase_add_test(view, page_of_80_by_24_has_all_that_matters);
	tcase_add_test(view, bars_are_of_utf8_where_that_can_be_shown);
	tcase_add_test(view, page_of_any_size_is_in_order);
	tcase_add_test(view, page_that_is_too_small_says_so);
	tcase_add_test(view, long_lists_are_scrolled_within_bounds);
	tcase_add_test(view, page_of_an_sfd_that_is_away_keeps_the_last_figures);
	tcase_add_test(view, answer_that_is_late_is_missed);
	tcase_add_test(view, clients_that_do_not_count_get_what_the_others_leave);
	tcase_add_test(view, clock_line_is_about_the_stream_that_is_furthest_off);
	tcase_add_test(view, trouble_is_seen_from_afar);
	tcase_add_test(view, texts_of_others_are_printable);
	tcase_add_test(view, page_is_printed_as_utf8_without_blanks_at_the_end);
	tcase_add_test(view, page_high_enough_shows_everybody);
	tcase_add_test(view, help_lists_the_keys_on_any_page);
	tcase_add_test(view, prompt_shows_what_is_typed);
	suite_add_tcase(suite, view);
}
