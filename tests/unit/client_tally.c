/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libclient counts what it gives, where sfd told it to: every way of taking, what is dropped, what
 * a child does, and a ring that was replaced. A statistic that nobody else may be charged with.
 */
#include "tests/unit/client_suite.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#define NUMBER 3u
#define OTHER 4u

static uint64_t counted(uint32_t number)
{
	return atomic_load_explicit(sf_shm_tally(&t_stream.memory.shm, number),
				    memory_order_relaxed);
}

/** A client that counts, on a stream that beats or idles. */
static void start(bool beats)
{
	t_ring_init(&t_stream, &(struct t_ring_setup){.ahead_ms = 4});
	t_client = t_client_new(SF_WAIT_NONE);
	t_client->tally = NUMBER;
	if (beats)
		t_ring_beat(&t_stream, T_TICK);
	else
		t_ring_turn(&t_stream);
	t_client_attach(t_client, &t_stream);
	t_cursor = t_cursor_open(t_client);
}

/** What is claimed of the stream and not dropped. */
static uint64_t given_in_all(void)
{
	return sfd_engine_claimed(&t_stream.engine) - t_ring_dropped(&t_stream);
}

/** Takes in every way over some ticks. @return how many IDs */
static uint64_t take(struct sf_cursor *cursor, bool beats)
{
	uint64_t taken = 0;

	for (uint64_t tick = T_TICK; tick < T_TICK + 6; tick++) {
		struct sf_range range;
		uint64_t ids[100];

		if (beats)
			t_ring_beat(&t_stream, tick);
		else
			t_ring_go(&t_stream, tick);
		for (int i = 0; i < 50; i++)
			(void)t_next(cursor);
		ck_assert_int_eq(sf_fill(cursor, ids, T_COUNT(ids)), 0);
		ck_assert_int_eq(sf_claim_range(cursor, 30, &range), 0);
		for (int i = 0; i < 300; i++)
			(void)t_ordered(cursor);
		(void)t_next(cursor);
		taken += 50 + T_COUNT(ids) + range.count + 300 + 1;
	}
	return taken;
}

START_TEST(tally_has_what_was_taken_in_every_way)
{
	uint64_t taken;

	start(_i);
	taken = take(t_cursor, _i);
	sf_cursor_close(t_cursor); /* what it had in hand is dropped */
	ck_assert_uint_eq(counted(NUMBER), taken);
	ck_assert_uint_eq(given_in_all(), taken);
	t_cursor = t_cursor_open(t_client);
	t_end();
}
END_TEST

START_TEST(tallies_of_two_clients_are_apart)
{
	struct sf_client *other_client;
	struct sf_cursor *other;
	uint64_t taken;

	start(true);
	other_client = t_client_new(SF_WAIT_NONE);
	other_client->tally = OTHER;
	t_client_attach(other_client, &t_stream);
	other = t_cursor_open(other_client);
	taken = take(t_cursor, true);
	for (int i = 0; i < 7; i++)
		(void)t_ordered(other);
	sf_cursor_close(other);
	sf_close(other_client);
	ck_assert_uint_eq(counted(OTHER), 7);
	sf_cursor_close(t_cursor);
	ck_assert_uint_eq(counted(NUMBER), taken);
	ck_assert_uint_eq(given_in_all(), taken + 7);
	t_cursor = t_cursor_open(t_client);
	t_end();
}
END_TEST

START_TEST(tally_of_wide_ids_counts_as_any)
{
	struct sf_wide wide[20];

	t_ring_init(&t_stream, &(struct t_ring_setup){.layout = "ulid"});
	t_ring_turn(&t_stream);
	t_client = t_client_new(SF_WAIT_NONE);
	t_client->tally = NUMBER;
	t_client_attach(t_client, &t_stream);
	t_cursor = t_cursor_open(t_client);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(sf_next128(t_cursor, wide), 0);
	for (int i = 0; i < 6; i++)
		ck_assert_int_eq(sf_next128_ordered(t_cursor, wide), 0);
	ck_assert_int_eq(sf_fill128(t_cursor, wide, T_COUNT(wide)), 0);
	ck_assert_uint_eq(counted(NUMBER), 5 + 6 + T_COUNT(wide));
	t_end();
}
END_TEST

/* The IDs of a call that fails are not given. */
START_TEST(tally_forgets_a_fill_that_fails)
{
	static uint64_t ids[6 * 4096];

	start(false);
	ck_assert_int_eq(sf_fill(t_cursor, ids, T_COUNT(ids)), -EAGAIN);
	ck_assert_uint_eq(counted(NUMBER), 0);
	ck_assert_uint_eq(given_in_all(), 0);
	t_end();
}
END_TEST

/* An sfd that gives no number. */
START_TEST(client_without_a_tally_writes_none)
{
	t_start(&(struct t_ring_setup){.ahead_ms = 4}, SF_WAIT_NONE);
	(void)take(t_cursor, false);
	for (uint32_t number = 1; number <= sf_shm_tallies(16); number++)
		ck_assert_uint_eq(counted(number), 0);
	t_end();
}
END_TEST

/* What the parent has not told yet is not the child's to tell. */
START_TEST(child_counts_its_own_ids_only)
{
	int status;
	pid_t pid;

	start(true);
	for (int i = 0; i < 40; i++)
		(void)t_ordered(t_cursor);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		for (int i = 0; i < 5; i++)
			(void)t_ordered(t_cursor);
		sf_cursor_close(t_cursor);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	sf_cursor_close(t_cursor);
	ck_assert_uint_eq(counted(NUMBER), 45);
	t_cursor = t_cursor_open(t_client);
	t_end();
}
END_TEST

/* Its number may be another client's by then. */
START_TEST(tally_of_a_replaced_ring_is_left_alone)
{
	struct t_ring next;

	start(true);
	for (int i = 0; i < 10; i++)
		(void)t_next(t_cursor);
	t_ring_init(&next, &(struct t_ring_setup){.first_tick = T_TICK + 9});
	t_ring_clock(&t_stream, T_TICK);
	t_ring_turn(&next);
	t_client->tally = OTHER;
	t_client_attach(t_client, &next);
	atomic_store_explicit(sf_shm_tally(&t_stream.memory.shm, NUMBER), 1000,
			      memory_order_relaxed);
	t_ring_beat(&t_stream, T_TICK + 1); /* the range in hand is dropped, too */
	for (int i = 0; i < 10; i++)
		ck_assert_uint_eq(t_tick_of(t_next(t_cursor)), T_TICK + 1);
	ck_assert_uint_eq(counted(NUMBER), 1000);
	t_end();
	t_ring_deinit(&next);
}
END_TEST

START_TEST(tally_that_the_ring_has_no_room_for_is_refused)
{
	t_ring_init(&t_stream, &(struct t_ring_setup){0});
	t_client = t_client_new(SF_WAIT_NONE);
	t_client->tally = sf_shm_tallies(16) + 1;
	ck_assert_int_eq(
		sf_client_adopt(t_client, t_stream.memory.grants_fd, t_stream.memory.claims_fd, 0),
		-EPROTO);
	ck_assert_str_eq(t_client_said, "tally 526: a ring of 16 slots has 525");
	t_client->tally--;
	t_client_attach(t_client, &t_stream);
	sf_close(t_client);
	t_ring_deinit(&t_stream);
}
END_TEST

void t_add_client_tally(Suite *suite)
{
	TCase *tally = tcase_create("tally");

	tcase_add_loop_test(tally, tally_has_what_was_taken_in_every_way, 0, 2);
	tcase_add_test(tally, tallies_of_two_clients_are_apart);
	tcase_add_test(tally, tally_of_wide_ids_counts_as_any);
	tcase_add_test(tally, tally_forgets_a_fill_that_fails);
	tcase_add_test(tally, client_without_a_tally_writes_none);
	tcase_add_test(tally, child_counts_its_own_ids_only);
	tcase_add_test(tally, tally_of_a_replaced_ring_is_left_alone);
	tcase_add_test(tally, tally_that_the_ring_has_no_room_for_is_refused);
	suite_add_tcase(suite, tally);
}
