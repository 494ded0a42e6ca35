/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfd killed, stopped and started again under load: clients live on the runway, move to the new
 * ring, and no ID comes twice. And when it stays away: errors that say so, when they should.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/ids.h"
#include "tests/support/load.h"
#include "tests/support/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* twitter, but with an epoch that leaves the years to come to it */
#define LAYOUT "t41 n10 s12 epoch=1577836800000"
#define CLIENTS 4

static struct t_daemon daemon_now;
static struct t_load *load;

static void set_up(const char *further)
{
	t_daemon_run(&daemon_now, LAYOUT, further);
	load = t_load_start(&daemon_now, CLIENTS);
}

static void tear_down(void)
{
	t_load_stop(load);
	t_daemon_stop(&daemon_now);
}

/** Every client has taken IDs since `before` was noted. */
static bool all_went_on(const uint64_t before[CLIENTS])
{
	for (int i = 0; i < CLIENTS; i++)
		if (t_load_taken(load, i) == before[i])
			return false;
	return true;
}

static void assert_all_go_on(void)
{
	uint64_t before[CLIENTS];

	for (int i = 0; i < CLIENTS; i++)
		before[i] = t_load_taken(load, i);
	T_WAIT_UNTIL(all_went_on(before), 10000);
}

START_TEST(kill_under_load_inside_the_runway_repeats_no_id)
{
	set_up("runway_ms = 1500\n");
	t_nap_ms(300);
	t_daemon_kill(&daemon_now);
	assert_all_go_on(); /* on the runway, without any sfd */
	t_daemon_start(&daemon_now);
	assert_all_go_on();
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_clients) == CLIENTS, 10000);
	/* Past the end of the old ring's runway, so that all have moved over. */
	t_nap_ms(1600);
	assert_all_go_on();
	/* Nobody had to wait, neither for the new sfd nor for the end of the runway. */
	ck_assert_int_lt(t_load_longest_ns(load), INT64_C(1000000000));
	tear_down();
}
END_TEST

/* Those that come after the restart start on the new ring, while the others are on the old one. */
START_TEST(new_clients_after_a_kill_share_no_id_with_those_on_the_runway)
{
	set_up("runway_ms = 1500\n");
	t_daemon_kill(&daemon_now);
	t_daemon_start(&daemon_now);
	t_load_add(load, &daemon_now, 2);
	assert_all_go_on();
	tear_down();
}
END_TEST

START_TEST(kill_under_load_beyond_the_runway_repeats_no_id)
{
	set_up("runway_ms = 200\n");
	t_nap_ms(300);
	t_daemon_kill(&daemon_now);
	t_nap_ms(600);
	t_daemon_start(&daemon_now);
	assert_all_go_on();
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_clients), CLIENTS);
	tear_down();
}
END_TEST

START_TEST(stop_and_start_under_load_repeats_no_id)
{
	set_up("");
	for (int i = 0; i < 3; i++) {
		t_nap_ms(200);
		t_daemon_stop(&daemon_now);
		t_nap_ms(100);
		t_daemon_start(&daemon_now);
		assert_all_go_on();
	}
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_clients) == CLIENTS, 10000);
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_restarts), 3);
	tear_down();
}
END_TEST

static void kill_and_start(unsigned rounds, unsigned pause_ms)
{
	unsigned short seed[3];
	const char *given = getenv("SF_TEST_SEED");
	long number = given ? strtol(given, NULL, 0) : (long)(t_wall_ns() & 0x7fffffff);

	(void)printf("SF_TEST_SEED=%ld\n", number);
	seed[0] = (unsigned short)number;
	seed[1] = (unsigned short)(number >> 16);
	seed[2] = 0x330e;
	for (unsigned i = 0; i < rounds; i++) {
		t_nap_ms((unsigned)(nrand48(seed) % (long)pause_ms));
		t_daemon_kill(&daemon_now);
		t_nap_ms((unsigned)(nrand48(seed) % (long)pause_ms));
		t_daemon_start(&daemon_now);
		/* A new client on the new ring, beside those that are on older ones. */
		t_load_replace(load, (int)(i % CLIENTS));
	}
	assert_all_go_on();
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_clients) == CLIENTS, 10000);
}

/* Pauses up to twice the runway: clients move over before its end, after it, and in between. */
START_TEST(kill_and_start_again_and_again_repeats_no_id_fc_61)
{
	set_up("runway_ms = 250\n");
	kill_and_start(18, 500);
	tear_down();
}
END_TEST

/* Every new ring begins above the old horizon: many of them queue up inside one runway. */
START_TEST(kill_and_start_many_times_inside_one_runway_repeats_no_id_fc_61)
{
	set_up("runway_ms = 2000\n");
	kill_and_start(18, 100);
	tear_down();
}
END_TEST

/* ---- outages ---- */

static int64_t take_until_error(struct sf_cursor *cursor, int *ret_error)
{
	int64_t before_ns;
	uint64_t id;

	do {
		before_ns = t_mono_ns();
		*ret_error = sf_next(cursor, &id);
	} while (*ret_error == 0);
	return t_mono_ns() - before_ns;
}

START_TEST(next_after_the_runway_of_a_dead_sfd_says_shutdown_in_time)
{
	struct sf_client *client;
	struct sf_cursor *cursor;
	uint64_t id = 42;
	int64_t killed_ns;
	int64_t took_ns;
	int error;

	t_daemon_run(&daemon_now, LAYOUT, "runway_ms = 300\n");
	client = t_open(daemon_now.socket, INT64_C(400000000));
	cursor = t_cursor(client);
	(void)t_warm(cursor, 1);
	killed_ns = t_mono_ns();
	t_daemon_kill(&daemon_now);
	took_ns = take_until_error(cursor, &error);
	ck_assert_int_eq(error, -ESHUTDOWN);
	/* The runway may have been extended last up to half of it ago; then came the time-out. */
	ck_assert_int_ge(t_mono_ns() - killed_ns, INT64_C(400000000) + INT64_C(100000000));
	ck_assert_int_ge(took_ns, INT64_C(400000000));
	ck_assert_int_lt(took_ns, INT64_C(2400000000));
	/* The other calls say the same, and none touches its result. */
	ck_assert_int_eq(sf_cursor_set_wait(cursor, SF_WAIT_NONE, 1), 0);
	ck_assert_int_eq(sf_next_ordered(cursor, &id), -ESHUTDOWN);
	ck_assert_int_eq(sf_next(cursor, &id), -ESHUTDOWN);
	ck_assert_int_eq(sf_fill(cursor, &id, 1), -ESHUTDOWN);
	ck_assert_uint_eq(id, 42);
	/* And all is well once it is back. */
	t_daemon_start(&daemon_now);
	T_WAIT_UNTIL(sf_next(cursor, &id) == 0, 10000);
	ck_assert_uint_ne(id, 42);
	sf_cursor_close(cursor);
	sf_close(client);
	t_daemon_stop(&daemon_now);
}
END_TEST

START_TEST(next_that_may_not_wait_returns_at_once_without_sfd)
{
	enum {
		CALLS = 100
	};
	struct sf_client *client;
	struct sf_cursor *cursor;
	int64_t began_ns;
	uint64_t id;
	int error;

	t_daemon_run(&daemon_now, LAYOUT, "runway_ms = 200\n");
	client = t_open(daemon_now.socket, 0);
	cursor = t_cursor(client);
	(void)t_next(cursor);
	t_daemon_kill(&daemon_now);
	ck_assert_int_eq(sf_cursor_set_wait(cursor, SF_WAIT_NONE, SF_TIMEOUT_NONE), 0);
	do
		error = sf_next(cursor, &id);
	while (error == 0 || error == -EAGAIN); /* a tick of 4,096 may be used up */
	ck_assert_int_eq(error, -ESHUTDOWN);
	began_ns = t_mono_ns();
	for (int i = 0; i < CALLS; i++)
		ck_assert_int_eq(sf_next(cursor, &id), -ESHUTDOWN);
	/* The shortest nap is a millisecond: a hundred would show. */
	ck_assert_int_lt(t_mono_ns() - began_ns, CALLS * INT64_C(1000000));
	sf_cursor_close(cursor);
	sf_close(client);
}
END_TEST

START_TEST(next_with_a_stopped_sfd_times_out_and_goes_on_after)
{
	struct sf_client *client;
	struct sf_cursor *cursor;
	uint64_t id;
	int error;

	t_daemon_run(&daemon_now, LAYOUT, "runway_ms = 200\n");
	client = t_open(daemon_now.socket, INT64_C(100000000));
	cursor = t_cursor(client);
	(void)t_warm(cursor, 1);
	ck_assert_int_eq(kill(daemon_now.pid, SIGSTOP), 0);
	(void)take_until_error(cursor, &error);
	ck_assert_int_eq(error, -ETIMEDOUT);
	ck_assert_int_eq(sf_cursor_set_wait(cursor, SF_WAIT_NONE, 1), 0);
	ck_assert_int_eq(sf_next(cursor, &id), -EAGAIN);
	ck_assert_int_eq(kill(daemon_now.pid, SIGCONT), 0);
	ck_assert_int_eq(sf_cursor_set_wait(cursor, SF_WAIT_SLEEP, INT64_C(10000000000)), 0);
	(void)t_next(cursor);
	sf_cursor_close(cursor);
	sf_close(client);
	t_daemon_stop(&daemon_now);
}
END_TEST

/** Calls that may move a cursor to the new ring. */
static int take_ordered(struct sf_cursor *cursor, uint64_t *ret_id)
{
	return sf_next_ordered(cursor, ret_id);
}

static int take_by_filling(struct sf_cursor *cursor, uint64_t *ret_id)
{
	return sf_fill(cursor, ret_id, 1);
}

static int take_range(struct sf_cursor *cursor, uint64_t *ret_id)
{
	struct sf_range range;
	int error = sf_claim_range(cursor, 1, &range);

	if (error == 0)
		*ret_id = range.first;
	return error;
}

static int (*const movers[])(struct sf_cursor *, uint64_t *) = {take_ordered, take_by_filling,
								take_range};

/** A range of the old ring in hand, the move by another call, and then the range's owner again. */
static void move_and_go_on(int (*move)(struct sf_cursor *, uint64_t *))
{
	struct sf_client *client = t_open(daemon_now.socket, INT64_C(20000000000));
	struct sf_cursor *cursor = t_cursor(client);
	uint64_t last = t_warm(cursor, 10);
	int64_t end_ns;
	uint64_t id;

	t_daemon_kill(&daemon_now);
	t_daemon_start(&daemon_now);
	end_ns = t_mono_ns() + INT64_C(600000000);
	do {
		T_CHECK(move(cursor, &id) == 0);
		T_CHECK(id > last);
		last = id;
		t_nap_ms(1);
	} while (t_mono_ns() < end_ns);
	for (int i = 0; i < 1000; i++) {
		id = t_next(cursor);
		T_CHECK(id > last);
		last = id;
	}
	sf_cursor_close(cursor);
	sf_close(client);
}

START_TEST(next_after_another_call_moved_the_cursor_goes_on)
{
	t_daemon_init(&daemon_now, 0);
	t_daemon_configure(&daemon_now, LAYOUT, "runway_ms = 200\n");
	for (size_t i = 0; i < sizeof(movers) / sizeof(movers[0]); i++) {
		t_daemon_start(&daemon_now);
		move_and_go_on(movers[i]);
		t_daemon_stop(&daemon_now);
	}
}
END_TEST

START_TEST(next_right_after_the_start_finds_a_daemon_that_publishes)
{
	enum {
		STARTS = 20
	};

	t_daemon_init(&daemon_now, 0);
	t_daemon_configure(&daemon_now, LAYOUT, "");
	for (int i = 0; i < STARTS; i++) {
		struct sf_client *client;
		struct sf_cursor *cursor;
		uint64_t id;
		int error;

		t_daemon_start(&daemon_now);
		client = t_open(daemon_now.socket, 0);
		cursor = t_cursor(client);
		ck_assert_int_eq(sf_cursor_set_wait(cursor, SF_WAIT_NONE, 1), 0);
		error = sf_next(cursor, &id);
		ck_assert_msg(error == 0, "start %d: %s", i, sf_strerror(error));
		sf_cursor_close(cursor);
		sf_close(client);
		t_daemon_stop(&daemon_now);
		/* The next one begins anew, else it would wait for what this one left. */
		t_remove_tree(daemon_now.runtime_dir);
		t_remove_tree(daemon_now.state_dir);
	}
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		kill_under_load_inside_the_runway_repeats_no_id,
		new_clients_after_a_kill_share_no_id_with_those_on_the_runway,
		kill_under_load_beyond_the_runway_repeats_no_id,
		stop_and_start_under_load_repeats_no_id,
		kill_and_start_again_and_again_repeats_no_id_fc_61,
		kill_and_start_many_times_inside_one_runway_repeats_no_id_fc_61,
		next_after_the_runway_of_a_dead_sfd_says_shutdown_in_time,
		next_that_may_not_wait_returns_at_once_without_sfd,
		next_with_a_stopped_sfd_times_out_and_goes_on_after,
		next_after_another_call_moved_the_cursor_goes_on,
		next_right_after_the_start_finds_a_daemon_that_publishes,
	};
	const struct t_program program = {.name = "restart",
					  .machine_id = 48,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
