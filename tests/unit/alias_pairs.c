/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Pairs from outside, the walk over all pairs, and who may use a handle: threads and children.
 */
#include "tests/unit/alias_suite.h"

#include "tests/support/state.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- pairs from outside ---- */

START_TEST(put_of_another_pair_names_both_sides)
{
	struct sf_alias *alias = t_alias_open_default();

	ck_assert_int_eq(t_alias_put(alias, "a", 1000), 0);
	ck_assert_int_eq(t_alias_put(alias, "a", 1000), 0);
	ck_assert_int_eq(t_alias_put(alias, "a", 1001), -EEXIST);
	t_alias_said("key \"a\" has ID 1000 already, not 1001");
	ck_assert_int_eq(t_alias_put(alias, "b", 1000), -EEXIST);
	t_alias_said("ID 1000 belongs to key \"a\" already, not to \"b\"");
	t_alias_assert_key(alias, 1000, "a");
	ck_assert_int_eq(sf_alias_reverse(alias, 1001, (char[SF_ALIAS_KEY_MAX + 1]){0}, NULL),
			 -ENOENT);
	sf_alias_close(alias);
}
END_TEST

START_TEST(put_of_an_id_that_the_layout_cannot_hold_is_refused)
{
	struct sf_alias_options options = t_alias_options("t30 n20 s2");
	struct sf_alias *alias = t_alias_open(&options);

	ck_assert_int_eq(t_alias_put(alias, "a", (UINT64_C(1) << 52) - 1), 0);
	ck_assert_int_eq(t_alias_put(alias, "b", UINT64_C(1) << 52), -ERANGE);
	sf_alias_close(alias);
}
END_TEST

struct walk {
	uint64_t id[8];
	size_t count;
	size_t stop_at;
};

static int walk_one(void *data, const char *key, size_t key_length, uint64_t id)
{
	struct walk *walk = data;

	ck_assert_uint_eq(key_length, strlen(key));
	walk->id[walk->count++] = id;
	return walk->count == walk->stop_at ? 42 : 0;
}

START_TEST(each_goes_up_through_all_64_bits)
{
	struct sf_alias_options options = t_alias_options("t42 n20 s2");
	static const uint64_t id[] = {5, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
	static const char *const key[] = {"b", "d", "a", "c"};
	struct sf_alias *alias = t_alias_open(&options);
	struct walk walk = {.stop_at = 99};

	for (int i = 3; i >= 0; i--)
		ck_assert_int_eq(t_alias_put(alias, key[i], id[i]), 0);
	ck_assert_int_eq(sf_alias_each(alias, walk_one, &walk, &t_alias_why), 0);
	ck_assert_uint_eq(walk.count, 4);
	for (int i = 0; i < 4; i++) {
		ck_assert_uint_eq(walk.id[i], id[i]);
		t_alias_assert_key(alias, id[i], key[i]);
	}
	walk = (struct walk){.stop_at = 3};
	ck_assert_int_eq(sf_alias_each(alias, walk_one, &walk, &t_alias_why), 42);
	ck_assert_uint_eq(walk.count, 3);
	/* the walk has ended: the store can be written */
	ck_assert_int_eq(t_alias_put(alias, "e", 6), 0);
	sf_alias_close(alias);
}
END_TEST

/* ---- threads and processes ---- */

#define KEYS 200

struct crowd {
	struct sf_alias *alias;
	uint64_t id[8][KEYS];
};

struct member {
	struct crowd *crowd;
	uint64_t *id;
	pthread_t thread;
};

static void *get_all(void *data)
{
	struct member *member = data;
	char key[16];

	for (unsigned i = 0; i < KEYS; i++) {
		/* each in an order of its own */
		unsigned which = (i * 7 + (unsigned)(member->id - member->crowd->id[0])) % KEYS;

		(void)snprintf(key, sizeof(key), "key %u", which);
		member->id[which] = t_alias_get_at(member->crowd->alias, key, T_ALIAS_MS + which);
	}
	return NULL;
}

START_TEST(get_at_on_a_shared_handle_gives_all_threads_the_same)
{
	static struct crowd crowd;
	struct member member[8];

	crowd.alias = t_alias_open_default();
	for (int i = 0; i < 8; i++) {
		member[i] = (struct member){.crowd = &crowd, .id = crowd.id[i]};
		ck_assert_int_eq(pthread_create(&member[i].thread, NULL, get_all, &member[i]), 0);
	}
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(pthread_join(member[i].thread, NULL), 0);
	for (int i = 1; i < 8; i++)
		ck_assert_mem_eq(crowd.id[i], crowd.id[0], sizeof(crowd.id[0]));
	sf_alias_close(crowd.alias);
}
END_TEST

START_TEST(handle_in_a_forked_child_is_refused_and_harmless)
{
	struct sf_alias *alias = t_alias_open_default();
	int status = 0;
	pid_t pid;

	(void)t_alias_get_at(alias, "a", T_ALIAS_MS);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		uint64_t id = 0;
		int r = sf_alias_find(alias, "a", 1, &id, &t_alias_why);

		sf_alias_close(alias);
		_exit(r == -EINVAL && strstr(t_alias_why.text, "fork") ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	/* the log, and what is in it, is still there */
	ck_assert(t_state_exists("a.db-wal"));
	ck_assert_uint_eq(t_alias_find(alias, "a"), t_alias_own_id(0));
	(void)t_alias_get_at(alias, "b", T_ALIAS_MS);
	sf_alias_close(alias);
}
END_TEST

void t_add_alias_pairs(Suite *suite)
{
	TCase *pairs = tcase_create("pairs");

	tcase_add_checked_fixture(pairs, t_alias_set_up, t_alias_tear_down);
	tcase_set_timeout(pairs, 60);
	tcase_add_test(pairs, put_of_another_pair_names_both_sides);
	tcase_add_test(pairs, put_of_an_id_that_the_layout_cannot_hold_is_refused);
	tcase_add_test(pairs, each_goes_up_through_all_64_bits);
	tcase_add_test(pairs, get_at_on_a_shared_handle_gives_all_threads_the_same);
	tcase_add_test(pairs, handle_in_a_forked_child_is_refused_and_harmless);
	suite_add_tcase(suite, pairs);
}
