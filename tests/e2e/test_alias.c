/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libsfalias on a real sfd, in many processes at once: one key, one ID; IDs of the past that never
 * meet each other or a live one; and what goes on without sfd.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/ids.h"
#include "tests/support/process.h"

#include <errno.h>
#include <sfalias.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSES 8
#define KEYS 300
#define CAPACITY 4096
#define PAST_MS INT64_C(1600000000123)

static struct t_daemon daemon_now;
static char store[192];
static struct sf_why why;

static void set_up(void)
{
	t_daemon_run(&daemon_now, "twitter", "runway_ms = 100\n");
	(void)snprintf(store, sizeof(store), "%s", t_path(daemon_now.directory, "alias.db"));
}

/** The store's machine id: that of no stream. */
static uint32_t past_node(void)
{
	return daemon_now.machine_id + 1;
}

static struct sf_alias *open_store(struct sf_client *client)
{
	const struct sf_alias_options options = {
		.size = sizeof(options),
		.flags = SF_ALIAS_MACHINE_ID,
		.path = store,
		.client = client,
		.machine_id = past_node(),
		.busy_ms = 60000,
	};
	struct sf_alias *alias = NULL;
	int r = sf_alias_open(&options, &alias, &why);

	if (r < 0)
		(void)fprintf(stderr, "%s\n", why.text);
	T_CHECK(r == 0);
	return alias;
}

static struct sf_parts parts_of(uint64_t id)
{
	struct sf_layout layout;
	struct sf_parts parts = {0};

	T_CHECK(sf_layout_parse("twitter", &layout, NULL) == 0);
	T_CHECK(sf_decompose(&layout, id, &parts, NULL) == 0);
	return parts;
}

/** One process of a crowd. */
struct member {
	unsigned number;
	uint64_t *id;      /* shared, of KEYS or of its part of a tick */
	struct t_ids *ids; /* shared by all */
};

/** Starts a crowd, and waits for it. */
static void run_crowd(int (*run)(void *argument), struct member *member, unsigned count)
{
	pid_t pid[PROCESSES];

	for (unsigned i = 0; i < count; i++)
		pid[i] = t_child(run, &member[i]);
	for (unsigned i = 0; i < count; i++)
		ck_assert_int_eq(t_reap(pid[i]), 0);
}

/* ---- one key, one ID ---- */

static uint64_t get(struct sf_alias *alias, const char *key)
{
	uint64_t id = 0;
	int r = sf_alias_get(alias, key, strlen(key), &id, &why);

	if (r < 0)
		(void)fprintf(stderr, "%s\n", why.text);
	T_CHECK(r == 0);
	return id;
}

static int get_keys(void *argument)
{
	const struct member *member = argument;
	struct sf_client *client = t_open(daemon_now.socket, 0);
	struct sf_alias *alias = open_store(client); /* all of them make it at once */
	char key[40];

	for (unsigned i = 0; i < KEYS; i++) {
		/* the same way round, so that they meet, but a third begins elsewhere */
		unsigned which = (i + member->number % 3 * 100) % KEYS;

		(void)snprintf(key, sizeof(key),
			       member->number % 2 ? "%08x-aaaa-4AAA-8aaa-aaaaaaaaaaaa"
						  : "%08X-AAAA-4aaa-8AAA-AAAAAAAAAAAA",
			       which);
		member->id[which] = get(alias, key);
	}
	sf_alias_close(alias);
	sf_close(client);
	return 0;
}

START_TEST(get_in_8_processes_at_once_gives_all_the_same)
{
	struct member member[PROCESSES];
	struct t_ids *ids;

	set_up();
	ids = t_ids_new(KEYS);
	for (unsigned i = 0; i < PROCESSES; i++)
		member[i] = (struct member){.number = i, .id = t_shared(KEYS * sizeof(uint64_t))};
	run_crowd(get_keys, member, PROCESSES);
	for (unsigned i = 1; i < PROCESSES; i++)
		ck_assert_mem_eq(member[i].id, member[0].id, KEYS * sizeof(uint64_t));
	for (unsigned i = 0; i < KEYS; i++)
		ck_assert_uint_eq(parts_of(member[0].id[i]).node, daemon_now.machine_id);
	ck_assert(t_ids_add(ids, member[0].id, KEYS));
	t_ids_check(ids, KEYS);
	t_daemon_stop(&daemon_now);
}
END_TEST

/* ---- IDs of the past ---- */

static int fill_tick(void *argument)
{
	enum {
		SHARE = CAPACITY / PROCESSES,
		BATCH = 64
	};
	const struct member *member = argument;
	struct sf_alias *alias = open_store(NULL);
	static char key[SHARE][24];
	static struct sf_alias_record record[SHARE];
	struct sf_alias_batch batch = {.size = sizeof(batch), .count = BATCH};

	for (unsigned i = 0; i < SHARE; i++) {
		(void)snprintf(key[i], sizeof(key[i]), "%u/%u", member->number, i);
		record[i] = (struct sf_alias_record){
			.key = key[i],
			.key_length = (uint32_t)strlen(key[i]),
			.flags = SF_ALIAS_CREATED,
			.created_unix_ms = PAST_MS,
		};
	}
	for (batch.records = record; batch.records < record + SHARE; batch.records += BATCH)
		T_CHECK(sf_alias_apply(alias, &batch, NULL) == 0);
	for (unsigned i = 0; i < SHARE; i++)
		T_CHECK(t_ids_add(member->ids, &record[i].id, 1));
	sf_alias_close(alias);
	return 0;
}

START_TEST(get_at_in_8_processes_fills_one_millisecond_to_the_last_id)
{
	struct member member[PROCESSES];
	struct t_ids *ids;
	struct sf_client *client;
	struct sf_alias *alias;
	uint64_t id = 77;

	set_up();
	ids = t_ids_new(CAPACITY);
	client = t_open(daemon_now.socket, 0);
	sf_alias_close(open_store(client)); /* of the stream's layout */
	for (unsigned i = 0; i < PROCESSES; i++)
		member[i] = (struct member){.number = i, .ids = ids};
	run_crowd(fill_tick, member, PROCESSES);
	for (unsigned i = 0; i < CAPACITY; i++) {
		struct sf_parts parts = parts_of(ids->id[i]);

		ck_assert_int_eq(parts.unix_ms, PAST_MS);
		ck_assert_uint_eq(parts.node, past_node());
	}
	t_ids_check(ids, CAPACITY);
	alias = open_store(client);
	ck_assert_int_eq(sf_alias_get_at(alias, "one more", 8, PAST_MS, &id, &why), -EOVERFLOW);
	ck_assert_uint_eq(id, 77);
	ck_assert_int_eq(sf_alias_get_at(alias, "one more", 8, PAST_MS + 1, &id, &why), 0);
	sf_alias_close(alias);
	sf_close(client);
	t_daemon_stop(&daemon_now);
}
END_TEST

/** Half of them backfill the very present. */
static int get_now(void *argument)
{
	const struct member *member = argument;
	struct sf_client *client = t_open(daemon_now.socket, 0);
	struct sf_alias *alias = open_store(client);
	char key[24];

	for (unsigned i = 0; i < KEYS; i++) {
		uint64_t id = 0;

		(void)snprintf(key, sizeof(key), "%u/%u", member->number, i);
		if (member->number % 2)
			id = get(alias, key);
		else
			T_CHECK(sf_alias_get_at(alias, key, strlen(key), t_wall_ns() / 1000000, &id,
						NULL) == 0);
		T_CHECK(t_ids_add(member->ids, &id, 1));
	}
	sf_alias_close(alias);
	sf_close(client);
	return 0;
}

START_TEST(get_at_of_the_present_never_meets_a_live_id)
{
	struct member member[4];
	struct t_ids *ids;

	set_up();
	ids = t_ids_new((size_t)4 * KEYS);
	for (unsigned i = 0; i < 4; i++)
		member[i] = (struct member){.number = i, .ids = ids};
	run_crowd(get_now, member, 4);
	t_ids_check(ids, (size_t)4 * KEYS);
	t_daemon_stop(&daemon_now);
}
END_TEST

START_TEST(open_with_a_machine_id_of_the_stream_is_refused)
{
	struct sf_alias_options options = {
		.size = sizeof(options),
		.flags = SF_ALIAS_MACHINE_ID,
	};
	struct sf_alias *alias = NULL;

	set_up();
	options.path = store;
	options.client = t_open(daemon_now.socket, 0);
	options.machine_id = daemon_now.machine_id;
	ck_assert_int_eq(sf_alias_open(&options, &alias, &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, "is one of stream default"));
	/* and it was not kept */
	options.machine_id = past_node();
	ck_assert_int_eq(sf_alias_open(&options, &alias, &why), 0);
	sf_alias_close(alias);
	sf_close(options.client);
	t_daemon_stop(&daemon_now);
}
END_TEST

START_TEST(sfd_with_the_machine_id_of_an_open_store_does_not_start)
{
	struct t_daemon second;
	char said[T_SAID_BYTES];
	struct sf_client *client;
	struct sf_alias *alias;

	set_up();
	client = t_open(daemon_now.socket, 0);
	alias = open_store(client);
	t_daemon_init(&second, 1);
	ck_assert_uint_eq(second.machine_id, past_node());
	t_daemon_configure(&second, "twitter", "");
	ck_assert_int_eq(t_daemon_start_refused(&second, said), 1);
	ck_assert_msg(strstr(said, "in use on this host by an open store of aliases") != NULL, "%s",
		      said);
	sf_alias_close(alias);
	t_daemon_start(&second);
	t_daemon_stop(&second);
	sf_close(client);
	t_daemon_stop(&daemon_now);
}
END_TEST

/* ---- IDs of now ---- */

START_TEST(apply_gives_ids_of_now_in_the_order_of_the_records)
{
	enum {
		COUNT = 5000
	};
	static char key[COUNT][16];
	static struct sf_alias_record record[COUNT];
	const struct sf_alias_batch batch = {
		.size = sizeof(batch), .records = record, .count = COUNT};
	struct sf_client *client;
	struct sf_alias *alias;
	int64_t before_ms = t_wall_ns() / 1000000;

	set_up();
	client = t_open(daemon_now.socket, 0);
	alias = open_store(client);
	for (unsigned i = 0; i < COUNT; i++) {
		(void)snprintf(key[i], sizeof(key[i]), "%u", i * 7919 % COUNT);
		record[i] = (struct sf_alias_record){.key = key[i],
						     .key_length = (uint32_t)strlen(key[i])};
	}
	ck_assert_int_eq(sf_alias_apply(alias, &batch, &why), 0);
	for (unsigned i = 0; i < COUNT; i++) {
		ck_assert_uint_eq(record[i].made, 1);
		ck_assert(i == 0 || record[i].id > record[i - 1].id);
		ck_assert_int_ge(parts_of(record[i].id).unix_ms, before_ms);
	}
	sf_alias_close(alias);
	sf_close(client);
	t_daemon_stop(&daemon_now);
}
END_TEST

START_TEST(get_passes_over_ids_from_outside)
{
	enum {
		TICKS = 10000
	};
	static char key[TICKS][16];
	static struct sf_alias_record record[TICKS];
	const struct sf_alias_batch batch = {
		.size = sizeof(batch), .records = record, .count = TICKS};
	struct sf_client *client;
	struct sf_alias *alias;
	uint64_t first;

	set_up();
	client = t_open(daemon_now.socket, 0);
	alias = open_store(client);
	/* the first ID of each tick to come: what an idle stream gives */
	first = (get(alias, "first") >> 22) + 1;
	for (unsigned i = 0; i < TICKS; i++) {
		(void)snprintf(key[i], sizeof(key[i]), "put %u", i);
		record[i] = (struct sf_alias_record){
			.key = key[i],
			.key_length = (uint32_t)strlen(key[i]),
			.flags = SF_ALIAS_ID,
			.id = (first + i) << 22 | (uint64_t)daemon_now.machine_id << 12,
		};
	}
	ck_assert_int_eq(sf_alias_apply(alias, &batch, &why), 0);
	for (unsigned i = 0; i < 50; i++) {
		char live[16];
		struct sf_parts parts;

		(void)snprintf(live, sizeof(live), "live %u", i);
		parts = parts_of(get(alias, live));
		ck_assert(parts.sequence > 0 || parts.tick >= first + TICKS);
	}
	sf_alias_close(alias);
	sf_close(client);
	t_daemon_stop(&daemon_now);
}
END_TEST

START_TEST(get_after_the_end_of_sfd_knows_what_it_knew)
{
	struct sf_client *client;
	struct sf_alias *alias;
	uint64_t known;
	uint64_t id = 77;
	char key[16];
	int r = 0;

	set_up();
	client = t_open(daemon_now.socket, 50000000);
	alias = open_store(client);
	known = get(alias, "known");
	t_daemon_kill(&daemon_now);
	/* the runway is good for some more */
	for (unsigned i = 0; r == 0 && i < 10000; i++) {
		(void)snprintf(key, sizeof(key), "new %u", i);
		r = sf_alias_get(alias, key, strlen(key), &id, &why);
	}
	ck_assert_msg(r == -ESHUTDOWN || r == -ETIMEDOUT, "%d: %s", r, why.text);
	ck_assert_ptr_nonnull(strstr(why.text, "no ID from stream default"));
	ck_assert_uint_eq(get(alias, "known"), known);
	id = 77;
	ck_assert_int_eq(sf_alias_find(alias, key, strlen(key), &id, NULL), -ENOENT);
	ck_assert_uint_eq(id, 77);
	ck_assert_int_eq(sf_alias_get_at(alias, key, strlen(key), PAST_MS, &id, NULL), 0);
	sf_alias_close(alias);
	sf_close(client);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		get_in_8_processes_at_once_gives_all_the_same,
		get_at_in_8_processes_fills_one_millisecond_to_the_last_id,
		get_at_of_the_present_never_meets_a_live_id,
		open_with_a_machine_id_of_the_stream_is_refused,
		sfd_with_the_machine_id_of_an_open_store_does_not_start,
		apply_gives_ids_of_now_in_the_order_of_the_records,
		get_passes_over_ids_from_outside,
		get_after_the_end_of_sfd_knows_what_it_knew,
	};
	const struct t_program program = {.name = "alias",
					  .machine_id = 208,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
