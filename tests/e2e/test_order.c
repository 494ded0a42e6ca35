/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Order over cursors and processes: sf_next_ordered() always rises, sf_next() is behind by one tick
 * at most.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/ids.h"
#include "tests/support/process.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAYOUT "t39 n10 s14 epoch=1577836800000"

static struct t_daemon daemon_now;
static struct t_ids *ids;

static void set_up(size_t capacity)
{
	t_daemon_run(&daemon_now, LAYOUT, "runway_ms = 500\n");
	ids = t_ids_new(capacity);
	ck_assert_int_eq(setenv("SFD_SOCKET", daemon_now.socket, 1), 0);
}

static void tear_down(void)
{
	t_daemon_stop(&daemon_now);
}

struct ping_pong {
	int from;
	int to;
	int rounds;
	bool ordered;
	uint64_t ticks_back; /* most that an ID lay behind the other's */
};

/** Receives an ID, takes one, sends it on. `starts` takes the first. */
static void play(struct ping_pong *game, bool starts)
{
	struct sf_client *client = t_open(NULL, 0);
	const struct sf_layout *layout = sf_client_layout(client);
	struct sf_cursor *cursor = t_cursor(client);
	uint64_t theirs = 0;
	uint64_t mine = 0;

	for (int i = 0; i < game->rounds; i++) {
		if (!starts || i > 0)
			T_CHECK(read(game->from, &theirs, sizeof(theirs)) == sizeof(theirs));
		T_CHECK(theirs == 0 || theirs > mine || !game->ordered);
		T_CHECK((game->ordered ? sf_next_ordered(cursor, &mine) : sf_next(cursor, &mine)) ==
			0);
		T_CHECK(mine > theirs || !game->ordered);
		if (mine < theirs &&
		    t_tick(layout, theirs) - t_tick(layout, mine) > game->ticks_back)
			game->ticks_back = t_tick(layout, theirs) - t_tick(layout, mine);
		T_CHECK(write(game->to, &mine, sizeof(mine)) == sizeof(mine));
		T_CHECK(t_ids_add(ids, &mine, 1));
	}
	sf_cursor_close(cursor);
	sf_close(client);
}

static int play_back(void *argument)
{
	struct ping_pong *game = argument;

	play(game, false);
	return game->ticks_back < 100 ? (int)game->ticks_back : 100;
}

/* One tick, and as many as the beat was late at most: until it comes, a cursor that goes by it is
 * behind one that goes by the clock. */
static uint64_t ticks_allowed(void)
{
	return 1 + (t_daemon_counter(&daemon_now, SF_COUNTER_beat_late_max_us) + 999) / 1000;
}

static void play_both(bool ordered, int rounds)
{
	int there[2];
	int back[2];
	struct ping_pong ours = {.rounds = rounds, .ordered = ordered};
	struct ping_pong theirs = ours;
	uint64_t ticks_back;
	pid_t pid;

	ck_assert_int_eq(pipe(there), 0);
	ck_assert_int_eq(pipe(back), 0);
	ours.to = there[1];
	ours.from = back[0];
	theirs.to = back[1];
	theirs.from = there[0];
	pid = t_child(play_back, &theirs);
	play(&ours, true);
	ticks_back = (uint64_t)t_reap(pid);
	ck_assert_uint_le(ticks_back, ticks_allowed());
	ck_assert_uint_le(ours.ticks_back, ticks_allowed());
	t_ids_check(ids, 2 * (size_t)rounds);
	for (int i = 0; i < 2; i++) {
		(void)close(there[i]);
		(void)close(back[i]);
	}
}

/* While the daemon idles and, with two processes that make it beat, while it beats. */
START_TEST(next_ordered_over_a_pipe_always_rises_fc_40)
{
	enum {
		ROUNDS = 20000
	};
	pid_t load;

	set_up(2UL * ROUNDS);
	play_both(true, 1000);
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_clients), 0);
	load = t_spawn_role((const char *const[]){"load", NULL});
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_beating) == 1, 10000);
	play_both(true, ROUNDS);
	ck_assert_int_eq(kill(load, SIGKILL), 0);
	ck_assert_int_eq(t_reap(load), -SIGKILL);
	tear_down();
}
END_TEST

START_TEST(next_over_a_pipe_is_behind_by_one_tick_and_the_beats_lateness_fc_40)
{
	enum {
		ROUNDS = 20000
	};

	set_up(2UL * ROUNDS);
	play_both(false, ROUNDS);
	tear_down();
}
END_TEST

/*
 * A cursor that goes by the beat it knows meets one that goes by the clock, while the beat stands
 * still: the floor alone keeps their order then.
 */
START_TEST(next_ordered_with_a_stopped_sfd_rises_over_cursors_fc_40)
{
	enum {
		ROUNDS = 10,
		CALLS = 300
	};
	struct sf_cursor *by_beat;
	struct sf_cursor *by_clock;
	struct sf_client *client;
	uint64_t last = 0;
	uint64_t id = 0;

	set_up(1);
	client = t_open(NULL, 0);
	by_beat = t_cursor(client);
	by_clock = t_cursor(client);
	for (int i = 0; i < ROUNDS; i++) {
		(void)t_warm(by_beat, 1);
		ck_assert_int_eq(sf_next_ordered(by_beat, &last), 0);
		ck_assert_int_eq(kill(daemon_now.pid, SIGSTOP), 0);
		t_nap_ms(3);
		for (int k = 0; k < CALLS; k++) {
			T_CHECK(sf_next_ordered(k % 2 == 0 ? by_clock : by_beat, &id) == 0);
			T_CHECK(id > last);
			last = id;
		}
		ck_assert_int_eq(kill(daemon_now.pid, SIGCONT), 0);
	}
	sf_cursor_close(by_beat);
	sf_cursor_close(by_clock);
	sf_close(client);
	tear_down();
}
END_TEST

/** The role: load: takes IDs until it is killed, at a pace that leaves room for others. */
static _Noreturn void role_load(void)
{
	struct sf_cursor *cursor = t_cursor(t_open(NULL, 0));

	for (;;) {
		for (int i = 0; i < 1000; i++)
			(void)t_next(cursor);
		t_nap_ms(1);
	}
}

static int role(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "load") == 0)
		role_load();
	return T_CHECK_FAILED;
}

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		next_ordered_over_a_pipe_always_rises_fc_40,
		next_ordered_with_a_stopped_sfd_rises_over_cursors_fc_40,
		next_over_a_pipe_is_behind_by_one_tick_and_the_beats_lateness_fc_40,
	};
	const struct t_program program = {.name = "order",
					  .machine_id = 192,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0]),
					  .role = role};

	return t_main(argc, argv, &program);
}
