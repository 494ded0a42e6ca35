/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl top: the order of clients, and what keys do.
 */
#include "tests/unit/top_suite.h"

#include "tools/top/order.h"

#include <string.h>

/* ---- the order of clients ---- */

static void begin_order(void)
{
	static const struct {
		uint32_t stream, pid, uid;
		int64_t since;
		uint64_t ids;
		const char *command;
	} rows[] = {{0, 30, 0, 3, 500, "web"},
		    {0, 10, 1000, 1, 900, "batch"},
		    {1, 20, 1000, 2, 650, "web"},
		    {1, 40, 0, 4, SF_CONTROL_NOT_COUNTED, "old"}};

	t_top_begin(2);
	for (size_t i = 0; i < T_COUNT(rows); i++) {
		struct sf_control_client *client =
			t_top_client(rows[i].stream, rows[i].pid, rows[i].ids);

		client->uid = rows[i].uid;
		client->since_unix_ns += rows[i].since;
		(void)snprintf(client->command, sizeof(client->command), "%s", rows[i].command);
	}
	t_top_look(0);
	t_streams[0].client[0].ids += 90;  /* 30 */
	t_streams[0].client[1].ids += 0;   /* 10 */
	t_streams[1].client[0].ids += 200; /* 20 */
	t_top_look(1);
}

static void assert_order(const char *expected)
{
	uint32_t count = sfctl_top_order(&t_model, &t_ui);
	char pids[64] = "";

	for (uint32_t i = 0; i < count; i++)
		(void)snprintf(pids + strlen(pids), sizeof(pids) - strlen(pids), "%u ",
			       t_model.order[i]->client.pid);
	ck_assert_str_eq(pids, expected);
}

START_TEST(order_is_by_what_was_chosen)
{
	static const struct {
		enum sfctl_top_sort sort;
		const char *order;
		const char *reversed;
	} orders[SFCTL_TOP_SORTS] = {
		{SFCTL_TOP_BY_RATE, "20 30 10 40 ", "40 10 30 20 "},
		{SFCTL_TOP_BY_IDS, "10 20 30 40 ", "40 30 20 10 "},
		{SFCTL_TOP_BY_PID, "40 30 20 10 ", "10 20 30 40 "},
		{SFCTL_TOP_BY_USER, "10 20 30 40 ", "30 40 10 20 "},
		{SFCTL_TOP_BY_STREAM, "10 30 20 40 ", "20 40 10 30 "},
		{SFCTL_TOP_BY_AGE, "10 20 30 40 ", "40 30 20 10 "},
		{SFCTL_TOP_BY_COMMAND, "10 40 30 20 ", "30 20 40 10 "},
	};

	begin_order();
	t_ui.sort = orders[_i].sort;
	assert_order(orders[_i].order);
	t_ui.is_reversed = true;
	assert_order(orders[_i].reversed);
	t_top_end();
}
END_TEST

START_TEST(order_leaves_out_what_was_not_chosen)
{
	begin_order();
	(void)snprintf(t_ui.user, sizeof(t_ui.user), "bob");
	assert_order("20 10 ");
	t_ui.hides_idle = true;
	assert_order("20 ");
	t_ui.user[0] = '\0';
	assert_order("20 30 40 "); /* what is not known may well be busy */
	(void)snprintf(t_ui.filter, sizeof(t_ui.filter), "web");
	assert_order("20 30 ");
	(void)snprintf(t_ui.filter, sizeof(t_ui.filter), "orders");
	assert_order("20 40 ");
	(void)snprintf(t_ui.filter, sizeof(t_ui.filter), "nothing");
	assert_order("");
	t_top_end();
}
END_TEST

/* ---- keys ---- */

static enum sfctl_top_action type(const char *keys)
{
	enum sfctl_top_action action = SFCTL_TOP_DRAW;

	for (; *keys; keys++)
		action = sfctl_top_ui_key(&t_ui, *keys);
	return action;
}

START_TEST(keys_are_those_of_top)
{
	t_top_begin(1);
	ck_assert_int_eq(type(" "), SFCTL_TOP_LOOK);
	ck_assert_int_eq(type("\r"), SFCTL_TOP_LOOK);
	ck_assert_int_eq(type("\f"), SFCTL_TOP_REPAINT);
	ck_assert_int_eq(type("N"), SFCTL_TOP_DRAW);
	ck_assert_int_eq((int)t_ui.sort, SFCTL_TOP_BY_PID);
	ck_assert_int_eq(type("T"), SFCTL_TOP_DRAW);
	ck_assert_int_eq((int)t_ui.sort, SFCTL_TOP_BY_IDS);
	ck_assert_int_eq(type("C"), SFCTL_TOP_DRAW);
	ck_assert_int_eq((int)t_ui.sort, SFCTL_TOP_BY_COMMAND);
	ck_assert_int_eq(type(">"), SFCTL_TOP_DRAW);
	ck_assert_int_eq((int)t_ui.sort, SFCTL_TOP_BY_RATE);
	ck_assert_int_eq(type("<<"), SFCTL_TOP_DRAW);
	ck_assert_int_eq((int)t_ui.sort, SFCTL_TOP_BY_AGE);
	ck_assert_int_eq(type("PR"), SFCTL_TOP_DRAW);
	ck_assert(t_ui.sort == SFCTL_TOP_BY_RATE && t_ui.is_reversed);
	ck_assert_int_eq(type("ri"), SFCTL_TOP_DRAW);
	ck_assert(!t_ui.is_reversed && t_ui.hides_idle);
	ck_assert_int_eq(type("="), SFCTL_TOP_DRAW);
	ck_assert(!t_ui.hides_idle);
	ck_assert_int_eq(type("q"), SFCTL_TOP_QUIT);
	ck_assert_int_eq(sfctl_top_ui_key(&t_ui, SFCTL_TOP_KEY_GONE), SFCTL_TOP_QUIT);
}
END_TEST

START_TEST(help_goes_back_with_any_key)
{
	t_top_begin(1);
	for (const char *key = "h?"; *key; key++) {
		(void)sfctl_top_ui_key(&t_ui, *key);
		ck_assert(t_ui.shows_help);
		ck_assert_int_eq(type("q"), SFCTL_TOP_DRAW);
		ck_assert(!t_ui.shows_help);
	}
	(void)sfctl_top_ui_key(&t_ui, SFCTL_TOP_KEY_HELP);
	ck_assert(t_ui.shows_help);
}
END_TEST

START_TEST(delay_is_typed)
{
	t_top_begin(1);
	(void)type("d2.55");
	(void)sfctl_top_ui_key(&t_ui, SFCTL_TOP_KEY_BACKSPACE);
	ck_assert_str_eq(t_ui.typed, "2.5");
	ck_assert_int_eq(type("\r"), SFCTL_TOP_DRAW);
	ck_assert_int_eq(t_ui.delay_ms, 2500);
	(void)type("s0.01\r");
	ck_assert_int_eq(t_ui.delay_ms, 2500);
	ck_assert_str_eq(t_ui.message, "0.01 is no number of seconds from 0.1 to 3600");
	(void)type("d9\033");
	ck_assert_int_eq((int)t_ui.prompt, SFCTL_TOP_ASKS_NOTHING);
	ck_assert_int_eq(t_ui.delay_ms, 2500);
	ck_assert_str_eq(t_ui.message, "");
	(void)type("d\r");
	ck_assert_int_eq(t_ui.delay_ms, 2500);
}
END_TEST

START_TEST(user_and_filter_are_typed)
{
	t_top_begin(1);
	(void)type("ubob\r/web q\r"); /* no key does anything else meanwhile */
	ck_assert_str_eq(t_ui.user, "bob");
	ck_assert_str_eq(t_ui.filter, "web q");
	(void)type("u\r");
	ck_assert_str_eq(t_ui.user, "");
	for (int i = 0; i < 100; i++)
		(void)type(i == 0 ? "/" : "x");
	ck_assert_uint_eq(strlen(t_ui.typed), SFCTL_TOP_TYPED_MAX - 1);
	(void)type("\025ab\177\177\177c\r");
	ck_assert_str_eq(t_ui.filter, "c");
	(void)type("=");
	ck_assert_str_eq(t_ui.filter, "");
}
END_TEST

START_TEST(keys_that_do_nothing_say_so)
{
	t_top_begin(1);
	(void)type("k");
	ck_assert_str_eq(t_ui.message, "sfctl top ends no process");
	(void)type("x");
	ck_assert_str_eq(t_ui.message, "x does nothing: press h for the keys");
	(void)sfctl_top_ui_key(&t_ui, SFCTL_TOP_KEY_OTHER);
	ck_assert_str_eq(t_ui.message, "that key does nothing: press h for the keys");
	(void)type("N");
	ck_assert_str_eq(t_ui.message, "");
}
END_TEST

void t_add_top_choices(Suite *suite)
{
	TCase *choices = tcase_create("choices");

	tcase_add_loop_test(choices, order_is_by_what_was_chosen, 0, SFCTL_TOP_SORTS);
	tcase_add_test(choices, order_leaves_out_what_was_not_chosen);
	tcase_add_test(choices, keys_are_those_of_top);
	tcase_add_test(choices, help_goes_back_with_any_key);
	tcase_add_test(choices, delay_is_typed);
	tcase_add_test(choices, user_and_filter_are_typed);
	tcase_add_test(choices, keys_that_do_nothing_say_so);
	suite_add_tcase(suite, choices);
}
