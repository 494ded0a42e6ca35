/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libsfalias without a daemon: keys and IDs of the past. IDs of now are in tests/e2e/test_alias.c.
 */
#include "tests/unit/alias_suite.h"

#include "tests/support/state.h"

#include <errno.h>
#include <sfclient.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct sf_why t_alias_why;

/* ---- what the files share ---- */

void t_alias_set_up(void)
{
	t_state_init();
}

void t_alias_tear_down(void)
{
	t_state_deinit();
}

struct sf_alias_options t_alias_options(const char *layout)
{
	static struct sf_layout parsed[2];
	static unsigned turn;
	static char path[256];
	struct sf_layout *own = &parsed[turn++ % 2];

	ck_assert_int_eq(sf_layout_parse(layout, own, NULL), 0);
	(void)snprintf(path, sizeof(path), "%s", t_state_path("a.db"));
	return (struct sf_alias_options){
		.size = sizeof(struct sf_alias_options),
		.flags = SF_ALIAS_MACHINE_ID,
		.path = path,
		.layout = own,
		.machine_id = T_ALIAS_NODE,
		.busy_ms = 20000,
	};
}

struct sf_alias *t_alias_open(const struct sf_alias_options *options)
{
	struct sf_alias *alias = NULL;

	ck_assert_msg(sf_alias_open(options, &alias, &t_alias_why) == 0, "%s", t_alias_why.text);
	return alias;
}

struct sf_alias *t_alias_open_default(void)
{
	const struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);

	return t_alias_open(&options);
}

void t_alias_said(const char *part)
{
	ck_assert_msg(strstr(t_alias_why.text, part) != NULL, "no \"%s\" in: %s", part,
		      t_alias_why.text);
}

void t_alias_refused(const struct sf_alias_options *options, int error, const char *sentence)
{
	struct sf_alias *alias = NULL;
	int r = sf_alias_open(options, &alias, &t_alias_why);

	ck_assert_msg(r == error, "%d, not %d: %s", r, error, t_alias_why.text);
	ck_assert_ptr_null(alias);
	t_alias_said(sentence);
}

uint64_t t_alias_id(const char *layout, int64_t unix_ms, uint32_t node, uint32_t sequence)
{
	const struct sf_parts parts = {.unix_ms = unix_ms, .node = node, .sequence = sequence};
	struct sf_layout parsed;
	uint64_t id = 0;

	ck_assert_int_eq(sf_layout_parse(layout, &parsed, NULL), 0);
	ck_assert_int_eq(sf_compose(&parsed, &parts, &id, NULL), 0);
	return id;
}

uint64_t t_alias_get_at(struct sf_alias *alias, const char *key, int64_t unix_ms)
{
	struct sf_why why;
	uint64_t id = 0;

	ck_assert_msg(sf_alias_get_at(alias, key, strlen(key), unix_ms, &id, &why) == 0, "%s",
		      why.text);
	return id;
}

uint64_t t_alias_own_id(uint32_t sequence)
{
	return t_alias_id(T_ALIAS_LAYOUT, T_ALIAS_MS, T_ALIAS_NODE, sequence);
}

uint64_t t_alias_find(struct sf_alias *alias, const char *key)
{
	uint64_t id = 0;

	ck_assert_msg(sf_alias_find(alias, key, strlen(key), &id, &t_alias_why) == 0, "%s",
		      t_alias_why.text);
	return id;
}

void t_alias_assert_key(struct sf_alias *alias, uint64_t id, const char *expected)
{
	char key[SF_ALIAS_KEY_MAX + 1];
	int r = sf_alias_reverse(alias, id, key, &t_alias_why);

	ck_assert_msg(r == (int)strlen(expected), "%d: %s", r, t_alias_why.text);
	ck_assert_str_eq(key, expected);
}

int t_alias_put(struct sf_alias *alias, const char *key, uint64_t id)
{
	return sf_alias_put(alias, key, strlen(key), id, &t_alias_why);
}

/* ---- keys ---- */

static const struct {
	const char *text;
	size_t length;
	bool is_key;
} key_rows[] = {
	{"a", 1, true},
	{" ", 1, true},
	{"\xc3\xbc", 2, true},
	{"\xe2\x82\xac", 3, true},
	{"\xed\x9f\xbf", 3, true},
	{"\xf0\x9f\x98\x80", 4, true},
	{"\xf4\x8f\xbf\xbf", 4, true},
	{"a\nb\t\"\x01", 6, true},
	{"7d4448409dc011d1b2455ffdce74fad2", 32, true},
	{"{d444840-9dc0-11d1-b245-5ffdce74fad}", 36, true},
	{"", 0, false},
	{"a\0b", 3, false},
	{"\0", 1, false},
	{"\x80", 1, false},
	{"a\xc3", 2, false},
	{"\xc3g", 2, false},
	{"\xc0\x80", 2, false},
	{"\xc1\xbf", 2, false},
	{"\xe0\x9f\xbf", 3, false},
	{"\xe2\x82", 2, false},
	{"\xe2\x82z", 3, false},
	{"\xed\xa0\x80", 3, false},
	{"\xf0\x8f\xbf\xbf", 4, false},
	{"\xf0\x9f\x98", 3, false},
	{"\xf4\x90\x80\x80", 4, false},
	{"\xf5\x80\x80\x80", 4, false},
	{"\xff", 1, false},
};

START_TEST(get_at_takes_utf8_and_nothing_else_for_a_key)
{
	struct sf_alias *alias = t_alias_open_default();
	char key[SF_ALIAS_KEY_MAX + 1];
	uint64_t id = 77;
	int r = sf_alias_get_at(alias, key_rows[_i].text, key_rows[_i].length, T_ALIAS_MS, &id,
				&t_alias_why);

	ck_assert_int_eq(r, key_rows[_i].is_key ? 0 : -EINVAL);
	ck_assert_uint_eq(id, key_rows[_i].is_key ? t_alias_own_id(0) : 77);
	if (r < 0)
		t_alias_said("key");
	r = sf_alias_reverse(alias, t_alias_own_id(0), key, NULL);
	ck_assert_int_eq(r, key_rows[_i].is_key ? (int)key_rows[_i].length : -ENOENT);
	if (r > 0)
		ck_assert_mem_eq(key, key_rows[_i].text, (size_t)r + 1);
	sf_alias_close(alias);
}
END_TEST

START_TEST(get_at_takes_keys_of_255_bytes_and_no_more)
{
	struct sf_alias *alias = t_alias_open_default();
	char key[SF_ALIAS_KEY_MAX + 2];
	uint64_t id = 0;

	memset(key, 'k', sizeof(key));
	ck_assert_int_eq(
		sf_alias_get_at(alias, key, SF_ALIAS_KEY_MAX + 1, T_ALIAS_MS, &id, &t_alias_why),
		-EINVAL);
	t_alias_said("256 bytes; legal is [1,255]");
	ck_assert_int_eq(sf_alias_find(alias, key, SF_ALIAS_KEY_MAX + 1, &id, NULL), -EINVAL);
	/* what 32 bits would cut to a legal length */
	ck_assert_int_eq(sf_alias_get_at(alias, key, (size_t)UINT32_MAX + 2, T_ALIAS_MS, &id, NULL),
			 -EINVAL);
	ck_assert_int_eq(
		sf_alias_get_at(alias, key, SF_ALIAS_KEY_MAX, T_ALIAS_MS, &id, &t_alias_why), 0);
	key[SF_ALIAS_KEY_MAX] = '\0';
	t_alias_assert_key(alias, id, key);
	sf_alias_close(alias);
}
END_TEST

START_TEST(get_at_of_a_uuid_is_one_key_in_any_case_and_comes_back_in_lower_case)
{
	struct sf_alias *alias = t_alias_open_default();
	uint64_t id = t_alias_get_at(alias, "7D444840-9dc0-11D1-b245-5ffdce74fad2", T_ALIAS_MS);

	ck_assert_uint_eq(t_alias_find(alias, "7d444840-9DC0-11d1-B245-5FFDCE74FAD2"), id);
	t_alias_assert_key(alias, id, "7d444840-9dc0-11d1-b245-5ffdce74fad2");
	/* any other key is its bytes */
	ck_assert_uint_ne(t_alias_get_at(alias, "a", T_ALIAS_MS),
			  t_alias_get_at(alias, "A", T_ALIAS_MS));
	sf_alias_close(alias);
}
END_TEST

/* ---- IDs of the past ---- */

START_TEST(get_at_counts_up_within_a_tick_over_a_reopening)
{
	struct sf_alias *alias = t_alias_open_default();
	struct sf_alias_options options;

	ck_assert_uint_eq(t_alias_get_at(alias, "a", T_ALIAS_MS), t_alias_own_id(0));
	ck_assert_uint_eq(t_alias_get_at(alias, "b", T_ALIAS_MS), t_alias_own_id(1));
	ck_assert_uint_eq(t_alias_get_at(alias, "other", T_ALIAS_MS + 1),
			  t_alias_id(T_ALIAS_LAYOUT, T_ALIAS_MS + 1, T_ALIAS_NODE, 0));
	sf_alias_close(alias);
	/* layout and machine id are in the store now */
	options = (struct sf_alias_options){
		.size = sizeof(options),
		.path = t_state_path("a.db"),
	};
	alias = t_alias_open(&options);
	ck_assert_uint_eq(t_alias_get_at(alias, "c", T_ALIAS_MS), t_alias_own_id(2));
	ck_assert_uint_eq(t_alias_find(alias, "a"), t_alias_own_id(0));
	sf_alias_close(alias);
}
END_TEST

START_TEST(get_at_of_a_known_key_keeps_its_id_whatever_the_time)
{
	struct sf_alias *alias = t_alias_open_default();
	uint64_t id = 0;

	ck_assert_uint_eq(t_alias_get_at(alias, "a", T_ALIAS_MS), t_alias_own_id(0));
	ck_assert_uint_eq(t_alias_get_at(alias, "a", T_ALIAS_MS + 5), t_alias_own_id(0));
	ck_assert_uint_eq(t_alias_get_at(alias, "a", 0), t_alias_own_id(0));
	ck_assert_int_eq(sf_alias_get(alias, "a", 1, &id, NULL), 0);
	ck_assert_uint_eq(id, t_alias_own_id(0));
	sf_alias_close(alias);
}
END_TEST

START_TEST(get_at_of_a_full_tick_is_refused)
{
	struct sf_alias *alias = t_alias_open_default();
	char key[2] = "0";
	uint64_t id = 77;

	for (; key[0] < '4'; key[0]++)
		(void)t_alias_get_at(alias, key, T_ALIAS_MS);
	ck_assert_int_eq(sf_alias_get_at(alias, "4", 1, T_ALIAS_MS, &id, &t_alias_why), -EOVERFLOW);
	t_alias_said("all 4 IDs of the tick at 1600000000123 ms with machine id 900000");
	ck_assert_uint_eq(id, 77);
	/* who is there already needs no room */
	ck_assert_uint_eq(t_alias_get_at(alias, "3", T_ALIAS_MS), t_alias_own_id(3));
	ck_assert_int_eq(sf_alias_find(alias, "4", 1, &id, NULL), -ENOENT);
	sf_alias_close(alias);
}
END_TEST

START_TEST(get_at_of_a_full_tick_takes_the_next_with_room_when_asked)
{
	struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);
	struct sf_alias *alias;
	char key[8];

	options.flags |= SF_ALIAS_NEXT_FREE;
	alias = t_alias_open(&options);
	(void)t_alias_get_at(alias, "before", T_ALIAS_MS + 1);
	for (uint32_t i = 0; i < 11; i++) {
		uint32_t place = i < 4 ? i : i + 1; /* one is taken */

		(void)snprintf(key, sizeof(key), "%u", i);
		ck_assert_uint_eq(t_alias_get_at(alias, key, T_ALIAS_MS),
				  t_alias_id(T_ALIAS_LAYOUT, T_ALIAS_MS + place / 4, T_ALIAS_NODE,
					     place % 4));
	}
	sf_alias_close(alias);
}
END_TEST

START_TEST(get_at_passes_over_ids_from_outside)
{
	struct sf_alias *alias = t_alias_open_default();

	ck_assert_int_eq(t_alias_put(alias, "x", t_alias_own_id(0)), 0);
	ck_assert_int_eq(t_alias_put(alias, "y", t_alias_own_id(2)), 0);
	ck_assert_uint_eq(t_alias_get_at(alias, "a", T_ALIAS_MS), t_alias_own_id(1));
	ck_assert_uint_eq(t_alias_get_at(alias, "b", T_ALIAS_MS), t_alias_own_id(3));
	sf_alias_close(alias);
}
END_TEST

static int64_t wall_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

START_TEST(get_at_of_a_time_outside_the_layout_or_in_the_future_is_refused)
{
	struct sf_alias *alias = t_alias_open_default();
	const struct {
		int64_t unix_ms;
		const char *sentence;
	} rows[] = {
		{1577836799999, "1577836799999"}, {INT64_MIN, "legal is"},
		{INT64_MAX, "legal is"},          {1577836800000 + (INT64_C(1) << 41), "legal is"},
		{wall_ms() + 3600000, "future"},
	};
	uint64_t id = 77;

	for (size_t i = 0; i < T_COUNT(rows); i++) {
		ck_assert_int_eq(sf_alias_get_at(alias, "a", 1, rows[i].unix_ms, &id, &t_alias_why),
				 -ERANGE);
		t_alias_said(rows[i].sentence);
	}
	ck_assert_uint_eq(id, 77);
	(void)t_alias_get_at(alias, "first", 1577836800000);
	(void)t_alias_get_at(alias, "now", wall_ms());
	sf_alias_close(alias);
}
END_TEST

START_TEST(get_at_never_goes_into_the_future_for_the_next_free_tick)
{
	/* One ID in a minute: this minute and the next are full after two. */
	struct sf_alias_options options =
		t_alias_options("t30 n20 s1 epoch=1577836800000 tick=60000ms");
	struct sf_alias *alias;
	uint64_t id = 0;
	int r = 0;

	options.flags |= SF_ALIAS_NEXT_FREE;
	alias = t_alias_open(&options);
	for (char key[] = "a"; r == 0 && key[0] < 'a' + 10; key[0]++)
		r = sf_alias_get_at(alias, key, 1, wall_ms(), &id, &t_alias_why);
	ck_assert_int_eq(r, -EOVERFLOW);
	t_alias_said("up to now has a free ID");
	sf_alias_close(alias);
}
END_TEST

START_TEST(get_at_uses_worker_and_process_as_one_machine_id)
{
	struct sf_alias_options options = t_alias_options("t42 w10 p10 s2 epoch=1577836800000");
	struct sf_alias *alias;
	struct sf_parts parts;

	options.machine_id = 901 << 10 | 7;
	alias = t_alias_open(&options);
	ck_assert_int_eq(sf_decompose(sf_alias_layout(alias),
				      t_alias_get_at(alias, "a", T_ALIAS_MS), &parts, NULL),
			 0);
	ck_assert_uint_eq(parts.worker, 901);
	ck_assert_uint_eq(parts.process, 7);
	ck_assert_int_eq(parts.unix_ms, T_ALIAS_MS);
	sf_alias_close(alias);
}
END_TEST

START_TEST(get_of_a_new_key_without_client_is_refused)
{
	struct sf_alias *alias = t_alias_open_default();
	uint64_t id = 77;

	ck_assert_int_eq(sf_alias_get(alias, "a", 1, &id, &t_alias_why), -ENOTCONN);
	t_alias_said("client");
	ck_assert_uint_eq(id, 77);
	sf_alias_close(alias);
}
END_TEST

START_TEST(get_at_without_machine_id_is_refused)
{
	struct sf_alias_options options = t_alias_options(T_ALIAS_LAYOUT);
	struct sf_alias *alias;
	uint64_t id = 77;

	options.flags = 0;
	alias = t_alias_open(&options);
	ck_assert_int_eq(sf_alias_get_at(alias, "a", 1, T_ALIAS_MS, &id, &t_alias_why),
			 -EADDRNOTAVAIL);
	t_alias_said("machine id");
	sf_alias_close(alias);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("alias");
	TCase *keys = tcase_create("keys");
	TCase *past = tcase_create("past");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(keys, t_alias_set_up, t_alias_tear_down);
	tcase_add_loop_test(keys, get_at_takes_utf8_and_nothing_else_for_a_key, 0,
			    T_COUNT(key_rows));
	tcase_add_test(keys, get_at_takes_keys_of_255_bytes_and_no_more);
	tcase_add_test(keys, get_at_of_a_uuid_is_one_key_in_any_case_and_comes_back_in_lower_case);
	suite_add_tcase(suite, keys);
	tcase_add_checked_fixture(past, t_alias_set_up, t_alias_tear_down);
	tcase_add_test(past, get_at_counts_up_within_a_tick_over_a_reopening);
	tcase_add_test(past, get_at_of_a_known_key_keeps_its_id_whatever_the_time);
	tcase_add_test(past, get_at_of_a_full_tick_is_refused);
	tcase_add_test(past, get_at_of_a_full_tick_takes_the_next_with_room_when_asked);
	tcase_add_test(past, get_at_passes_over_ids_from_outside);
	tcase_add_test(past, get_at_of_a_time_outside_the_layout_or_in_the_future_is_refused);
	tcase_add_test(past, get_at_never_goes_into_the_future_for_the_next_free_tick);
	tcase_add_test(past, get_at_uses_worker_and_process_as_one_machine_id);
	tcase_add_test(past, get_of_a_new_key_without_client_is_refused);
	tcase_add_test(past, get_at_without_machine_id_is_refused);
	suite_add_tcase(suite, past);
	t_add_alias_pairs(suite);
	t_add_alias_store(suite);
	t_add_alias_batch(suite);
	t_add_alias_place(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
