/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Streams of ULIDs, UUIDv7s, ObjectIds and Hound IDs from a real sfd: many processes and threads at
 * once, every ID of every one of them checked, as value and as text.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/process.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct t_daemon daemon_now;

static void start(struct t_daemon *daemon, unsigned nth, const char *lines)
{
	t_daemon_init(daemon, nth);
	t_daemon_configure_stream(daemon, lines);
	t_daemon_start(daemon);
}

static unsigned format_of(const struct sf_client *client)
{
	return sf_client_layout(client)->format;
}

/* ---- taking ---- */

#define BLOCK 1000u

/** Takes a block of IDs, each block in another way. */
static void take_block(struct sf_cursor *cursor, unsigned turn, struct sf_wide *id)
{
	struct sf_range128 range = {0};
	uint32_t done = 0;

	switch (turn % 4) {
	case 0:
		for (; done < BLOCK; done++)
			T_CHECK(sf_next128(cursor, &id[done]) == 0);
		return;
	case 1:
		for (; done < BLOCK; done++)
			T_CHECK(sf_next128_ordered(cursor, &id[done]) == 0);
		return;
	case 2:
		T_CHECK(sf_fill128(cursor, id, BLOCK) == 0);
		return;
	default:
		break;
	}
	while (done < BLOCK) {
		T_CHECK(sf_claim_range128(cursor, BLOCK - done, &range) == 0);
		T_CHECK(range.count >= 1 && range.count <= BLOCK - done);
		for (uint32_t i = 0; i < range.count; i++, done++)
			id[done] = (struct sf_wide){range.first.high, range.first.low + i};
	}
}

/** IDs that one process or thread took; in memory that all of them share. */
struct taker {
	struct sf_wide *id;
	size_t count;
	struct sf_client *client;
	pthread_t thread;
	unsigned turn; /* which way comes first */
	pid_t pid;
};

/** Each ID is larger than the one before, as a value and as a text. */
static void assert_rising(unsigned format, const struct sf_wide *id, size_t count)
{
	char text[2][SF_WIDE_TEXT_MAX];
	int length = sf_wide_format(format, &id[0], text[0]);

	T_CHECK(length > 0);
	for (size_t i = 1; i < count; i++) {
		T_CHECK(sf_wide_compare(&id[i - 1], &id[i]) < 0);
		T_CHECK(sf_wide_format(format, &id[i], text[i % 2]) == length);
		T_CHECK(memcmp(text[(i - 1) % 2], text[i % 2], (size_t)length) < 0);
	}
}

static void take_all(struct taker *taker)
{
	struct sf_cursor *cursor = t_cursor(taker->client);

	for (size_t done = 0; done < taker->count; done += BLOCK)
		take_block(cursor, taker->turn++, taker->id + done);
	assert_rising(format_of(taker->client), taker->id, taker->count);
	sf_cursor_close(cursor);
}

static int take_in_process(void *argument)
{
	struct taker *taker = argument;

	taker->client = t_open(daemon_now.socket, 0);
	take_all(taker);
	sf_close(taker->client);
	return 0;
}

static void *take_in_thread(void *argument)
{
	take_all(argument);
	return NULL;
}

/** No ID came twice: all lists rise, so that the smallest heads tell. */
static void assert_distinct(const struct taker *taker, unsigned takers)
{
	size_t at[64] = {0};
	struct sf_wide last = {0, 0};
	size_t total = 0;

	T_CHECK(takers <= 64);
	for (unsigned i = 0; i < takers; i++)
		total += taker[i].count;
	for (size_t n = 0; n < total; n++) {
		const struct sf_wide *smallest = NULL;
		unsigned from = 0;

		for (unsigned i = 0; i < takers; i++) {
			if (at[i] < taker[i].count &&
			    (!smallest || sf_wide_compare(&taker[i].id[at[i]], smallest) < 0)) {
				smallest = &taker[i].id[at[i]];
				from = i;
			}
		}
		T_CHECK(sf_wide_compare(&last, smallest) < 0);
		last = *smallest;
		at[from]++;
	}
}

static void give_room(struct taker *taker, unsigned takers, size_t count)
{
	struct sf_wide *id = t_shared(takers * count * sizeof(*id));

	for (unsigned i = 0; i < takers; i++)
		taker[i] = (struct taker){.id = id + i * count, .count = count, .turn = i};
}

/* ---- processes ---- */

static void take_20_million(const char *lines)
{
	enum {
		PROCESSES = 4,
		DRAWS = T_TSAN || T_ASAN ? 250000 : 5000000
	};
	struct taker taker[PROCESSES];

	start(&daemon_now, 0, lines);
	give_room(taker, PROCESSES, DRAWS);
	for (int i = 0; i < PROCESSES; i++)
		taker[i].pid = t_child(take_in_process, &taker[i]);
	for (int i = 0; i < PROCESSES; i++)
		ck_assert_int_eq(t_reap(taker[i].pid), 0);
	assert_distinct(taker, PROCESSES);
	ck_assert_uint_ge(t_daemon_counter(&daemon_now, SF_COUNTER_ids_claimed),
			  (uint64_t)PROCESSES * DRAWS);
	t_daemon_stop(&daemon_now);
}

START_TEST(ulids_of_four_processes_are_distinct_and_rise)
{
	take_20_million("format = ulid\n");
}
END_TEST

START_TEST(uuid7s_of_four_processes_are_distinct_and_rise)
{
	take_20_million("format = uuid7\n");
}
END_TEST

START_TEST(objectids_of_four_processes_are_distinct_and_rise)
{
	take_20_million("format = objectid\n");
}
END_TEST

START_TEST(hound_ids_of_four_processes_are_distinct_and_rise)
{
	take_20_million("format = hound\nmachine_id = 02:42:ac:11:00:02\n");
}
END_TEST

/* ---- threads ---- */

static void take_in_32_threads(const char *lines)
{
	enum {
		THREADS = 32,
		DRAWS = 50000
	};
	struct taker taker[THREADS];
	struct sf_client *client;

	start(&daemon_now, 0, lines);
	give_room(taker, THREADS, DRAWS);
	client = t_open(daemon_now.socket, 0);
	for (int i = 0; i < THREADS; i++) {
		taker[i].client = client;
		ck_assert_int_eq(pthread_create(&taker[i].thread, NULL, take_in_thread, &taker[i]),
				 0);
	}
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(taker[i].thread, NULL), 0);
	sf_close(client);
	assert_distinct(taker, THREADS);
	t_daemon_stop(&daemon_now);
}

START_TEST(ulids_of_32_threads_of_one_client_are_distinct_and_rise_fc_06)
{
	take_in_32_threads("format = ulid\n");
}
END_TEST

START_TEST(uuid7s_of_32_threads_of_one_client_are_distinct_and_rise_fc_06)
{
	take_in_32_threads("format = uuid7\n");
}
END_TEST

/* ---- two daemons ---- */

/* Of one name and format, at the same time; nothing but random bits tells their IDs apart. */
static void take_from_two(const char *lines)
{
	enum {
		DRAWS = 100000
	};
	struct t_daemon other;
	struct taker taker[2];

	start(&daemon_now, 0, lines);
	start(&other, 1, lines);
	give_room(taker, 2, DRAWS);
	taker[0].client = t_open(daemon_now.socket, 0);
	taker[1].client = t_open(other.socket, 0);
	ck_assert_int_eq(pthread_create(&taker[1].thread, NULL, take_in_thread, &taker[1]), 0);
	take_all(&taker[0]);
	ck_assert_int_eq(pthread_join(taker[1].thread, NULL), 0);
	for (int i = 0; i < 2; i++)
		sf_close(taker[i].client);
	assert_distinct(taker, 2);
	t_daemon_stop(&other);
	t_daemon_stop(&daemon_now);
}

START_TEST(ids_of_two_daemons_of_one_name_are_distinct_fc_09)
{
	take_from_two("format = ulid\n");
	take_from_two("format = uuid7\n");
	take_from_two("format = objectid\n");
}
END_TEST

START_TEST(hound_machine_id_that_another_daemon_has_is_refused)
{
	char said[T_SAID_BYTES];
	struct t_daemon other;

	start(&daemon_now, 0, "format = hound\nmachine_id = 02:42:ac:11:00:07\n");
	t_daemon_assert_said(&daemon_now, "format hound, machine id 0x0242ac110007");
	t_daemon_init(&other, 1);
	t_daemon_configure_stream(&other, "format = hound\nmachine_id = 0x242AC110007\n");
	ck_assert_int_eq(t_daemon_start_refused(&other, said), 1);
	ck_assert_msg(strstr(said, "machine id 0x0242ac110007 is in use on this host by another "
				   "sfd, pid ") != NULL,
		      "%s", said);
	t_daemon_configure_stream(&other, "format = hound\nmachine_id = 0x242AC110008\n");
	t_daemon_start(&other);
	t_daemon_stop(&other);
	t_daemon_stop(&daemon_now);
}
END_TEST

/* ---- order over processes ---- */

struct ping_pong {
	int from;
	int to;
	int rounds;
};

/** Receives an ID, takes one, sends it on. `starts` takes the first. */
static void play(const struct ping_pong *game, bool starts)
{
	struct sf_client *client = t_open(daemon_now.socket, 0);
	struct sf_cursor *cursor = t_cursor(client);
	struct sf_wide theirs = {0, 0};
	struct sf_wide mine = {0, 0};

	for (int i = 0; i < game->rounds; i++) {
		if (!starts || i > 0)
			T_CHECK(read(game->from, &theirs, sizeof(theirs)) == sizeof(theirs));
		T_CHECK((starts && i == 0) || sf_wide_compare(&mine, &theirs) < 0);
		T_CHECK(sf_next128_ordered(cursor, &mine) == 0);
		T_CHECK(sf_wide_compare(&theirs, &mine) < 0);
		T_CHECK(write(game->to, &mine, sizeof(mine)) == sizeof(mine));
	}
	sf_cursor_close(cursor);
	sf_close(client);
}

static int play_back(void *argument)
{
	play(argument, false);
	return 0;
}

static void play_both(const char *lines, int rounds)
{
	struct ping_pong ours = {.rounds = rounds};
	struct ping_pong theirs = {.rounds = rounds};
	int there[2];
	int back[2];
	pid_t pid;

	start(&daemon_now, 0, lines);
	ck_assert_int_eq(pipe(there), 0);
	ck_assert_int_eq(pipe(back), 0);
	ours.to = there[1];
	ours.from = back[0];
	theirs.to = back[1];
	theirs.from = there[0];
	pid = t_child(play_back, &theirs);
	play(&ours, true);
	ck_assert_int_eq(t_reap(pid), 0);
	for (int i = 0; i < 2; i++) {
		(void)close(there[i]);
		(void)close(back[i]);
	}
	t_daemon_stop(&daemon_now);
}

START_TEST(ordered_ids_over_a_pipe_always_rise_fc_40)
{
	play_both("format = ulid\n", 20000);
	play_both("format = uuid7\n", 20000);
	play_both("format = objectid\n", 20000);
}
END_TEST

/* ---- restarts ---- */

/** Takes IDs above `*last`, with patience for a ring that is not over. */
static void take_above(struct sf_wide *last)
{
	struct sf_client *client = t_open(daemon_now.socket, INT64_C(30000000000));
	struct sf_cursor *cursor = t_cursor(client);

	for (int i = 0; i < 20000; i++) {
		struct sf_wide id = {0, 0};

		T_CHECK(sf_next128(cursor, &id) == 0);
		T_CHECK(sf_wide_compare(last, &id) < 0);
		*last = id;
	}
	sf_cursor_close(cursor);
	sf_close(client);
}

/* Killed; stopped; and booted anew, with the durable mark alone. */
static void restart_and_take(const char *lines)
{
	struct sf_wide last = {0, 0};

	start(&daemon_now, 0, lines);
	take_above(&last);
	t_daemon_kill(&daemon_now);
	t_daemon_start(&daemon_now);
	take_above(&last);
	t_daemon_stop(&daemon_now);
	t_daemon_start(&daemon_now);
	take_above(&last);
	t_daemon_kill(&daemon_now);
	t_remove_tree(daemon_now.runtime_dir);
	t_daemon_start(&daemon_now);
	take_above(&last);
	t_daemon_stop(&daemon_now);
}

START_TEST(ids_after_a_restart_are_larger_fc_41)
{
	restart_and_take("format = ulid\nrunway_ms = 200\n");
	restart_and_take("format = uuid7\nrunway_ms = 200\n");
	restart_and_take("format = hound\nmachine_id = 0x123\nrunway_ms = 200\n");
	restart_and_take("format = objectid\n");
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		ulids_of_four_processes_are_distinct_and_rise,
		uuid7s_of_four_processes_are_distinct_and_rise,
		objectids_of_four_processes_are_distinct_and_rise,
		hound_ids_of_four_processes_are_distinct_and_rise,
		ulids_of_32_threads_of_one_client_are_distinct_and_rise_fc_06,
		uuid7s_of_32_threads_of_one_client_are_distinct_and_rise_fc_06,
		ids_of_two_daemons_of_one_name_are_distinct_fc_09,
		hound_machine_id_that_another_daemon_has_is_refused,
		ordered_ids_over_a_pipe_always_rise_fc_40,
		ids_after_a_restart_are_larger_fc_41,
	};
	const struct t_program program = {.name = "wide",
					  .machine_id = 224,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
