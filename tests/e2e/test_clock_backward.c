/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A real sfd that starts with a promise of an hour ahead of the wall clock, under each
 * clock_backward: what the library answers, what sfctl and the log say. The wall clock is the
 * host's, and is never touched.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/mark_file.h"
#include "tests/support/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYOUT "layout = t41 n10 s12 epoch=1577836800000\nmachine_id = %u\n"
#define WIDE "format = ulid\n"
#define HOUR_MS 3600000

static struct t_daemon daemon_now;
static struct sf_client *client;
static struct sf_cursor *cursor;
static char said[T_SAID_BYTES];

/** Takes an ID, of either width; a 64-bit one is `low`. */
static int take(struct sf_wide *ret_id)
{
	return sf_client_layout(client)->format == SF_FORMAT_SNOWFLAKE
		       ? sf_next(cursor, &ret_id->low)
		       : sf_next128(cursor, ret_id);
}

static void open_client(void)
{
	client = t_open(daemon_now.socket, INT64_C(50000000));
	cursor = t_cursor(client);
}

static void close_client(void)
{
	sf_cursor_close(cursor);
	sf_close(client);
}

/** A stream whose durable mark lies an hour ahead of the wall. @return an ID of before */
static struct sf_wide start_an_hour_behind(bool is_wide, const char *policy)
{
	struct sf_wide before = {0, 0};
	struct t_mark_file mark;
	char lines[192];

	t_daemon_init(&daemon_now, 0);
	(void)snprintf(lines, sizeof(lines), is_wide ? WIDE : LAYOUT, daemon_now.machine_id);
	(void)snprintf(lines + strlen(lines), sizeof(lines) - strlen(lines),
		       "clock_backward = %s\nrunway_ms = 400\n", policy);
	t_daemon_configure_stream(&daemon_now, lines);
	t_daemon_start(&daemon_now);
	open_client();
	ck_assert_int_eq(take(&before), 0);
	close_client();
	t_daemon_stop(&daemon_now);
	t_mark_file_read(&daemon_now, &mark);
	t_mark_file_promise_more(&mark, HOUR_MS);
	t_mark_file_write(&daemon_now, &mark);
	t_remove_tree(daemon_now.runtime_dir);
	t_daemon_start(&daemon_now);
	open_client();
	return before;
}

/** Runs sfctl; `said` is what it wrote to both of its outputs. @return its exit code */
static int run_sfctl(const char *arguments)
{
	const char *path = getenv("SFCTL_BIN");
	char command[512];
	size_t length;
	FILE *pipe;
	int status;

	ck_assert_ptr_nonnull(path);
	(void)snprintf(command, sizeof(command), "SFD_SOCKET='%s' '%s' %s 2>&1", daemon_now.socket,
		       path, arguments);
	pipe = popen(command, "re");
	ck_assert_ptr_nonnull(pipe);
	length = fread(said, 1, sizeof(said) - 1, pipe);
	said[length] = '\0';
	status = pclose(pipe);
	ck_assert_msg(WIFEXITED(status), "%s", said);
	return WEXITSTATUS(status);
}

/** The number behind these words. */
static long number_behind(const char *words)
{
	const char *at = strstr(said, words);

	ck_assert_msg(at != NULL, "no \"%s\" in: %s", words, said);
	return strtol(at + strlen(words), NULL, 10);
}

static void assert_state(const char *state)
{
	ck_assert_int_eq(run_sfctl("stats"), 0);
	ck_assert_msg(strstr(said, state) != NULL, "not %s: %s", state, said);
	ck_assert_int_ge((int64_t)t_daemon_counter(&daemon_now, SF_COUNTER_wall_offset_us),
			 INT64_C(1000) * (HOUR_MS - 120000));
}

static void end(void)
{
	close_client();
	t_daemon_stop(&daemon_now);
}

static void refuse(bool is_wide)
{
	struct sf_wide id = {42, 42};
	long ms;

	(void)start_an_hour_behind(is_wide, "refuse");
	t_daemon_assert_said(&daemon_now, "behind what was promised before; callers are refused "
					  "until it has caught up");
	ck_assert_int_eq(take(&id), -ETIME);
	ck_assert_uint_eq(id.low, 42);
	ck_assert_int_gt(sf_cursor_remaining_ms(cursor), HOUR_MS - 120000);
	ck_assert_int_le(sf_cursor_remaining_ms(cursor), HOUR_MS + 1000);
	ck_assert_int_eq(run_sfctl("next"), 1);
	ms = number_behind("refusing for another ");
	ck_assert_int_gt(ms, HOUR_MS - 120000);
	ck_assert_int_le(ms, HOUR_MS + 1000);
	ck_assert_int_eq(run_sfctl("next -n 5 --ordered"), 1);
	ck_assert_int_le(number_behind("refusing for another "), ms);
	assert_state("behind");
	/* and so after a crash of this boot */
	close_client();
	t_daemon_kill(&daemon_now);
	t_daemon_start(&daemon_now);
	open_client();
	ck_assert_int_eq(take(&id), -ETIME);
	ck_assert_int_gt(sf_cursor_remaining_ms(cursor), HOUR_MS - 120000);
	end();
}

START_TEST(refuse_tells_how_long_fc_14)
{
	refuse(false);
	refuse(true);
}
END_TEST

START_TEST(wait_blocks_for_the_time_out_fc_14)
{
	struct sf_wide id = {42, 42};
	int64_t began_ns;

	(void)start_an_hour_behind(true, "wait");
	t_daemon_assert_said(&daemon_now, "behind what was promised before; callers wait until "
					  "it has caught up");
	began_ns = t_mono_ns();
	ck_assert_int_eq(take(&id), -ETIMEDOUT);
	ck_assert_int_ge(t_mono_ns() - began_ns, INT64_C(50000000));
	ck_assert_uint_eq(id.low, 42);
	ck_assert_int_eq(sf_cursor_set_wait(cursor, SF_WAIT_NONE, 1), 0);
	ck_assert_int_eq(take(&id), -EAGAIN);
	ck_assert_int_gt(sf_cursor_remaining_ms(cursor), HOUR_MS - 120000);
	ck_assert_int_eq(run_sfctl("next --timeout-ms 20"), 1);
	assert_state("behind");
	end();
}
END_TEST

/* A crash and a boot: the mark lies ahead of the wall, but no clock went back. */
START_TEST(refuse_after_a_crash_without_a_step_goes_on_at_once)
{
	struct sf_wide before = {0, 0};
	struct sf_wide id = {0, 0};

	t_daemon_init(&daemon_now, 0);
	t_daemon_configure_stream(&daemon_now, WIDE "clock_backward = refuse\n");
	t_daemon_start(&daemon_now);
	open_client();
	ck_assert_int_eq(take(&before), 0);
	close_client();
	t_daemon_kill(&daemon_now);
	t_remove_tree(daemon_now.runtime_dir);
	t_daemon_start(&daemon_now);
	t_daemon_assert_said(&daemon_now, "behind what was promised before; embedded time runs "
					  "at half speed until it has caught up");
	open_client();
	ck_assert_int_eq(take(&id), 0);
	ck_assert_int_lt(sf_wide_compare(&before, &id), 0);
	ck_assert_int_eq(run_sfctl("next"), 0);
	end();
}
END_TEST

/* Both give IDs at once, and all are larger than before. */
static void go_on(bool is_wide, const char *policy, const char *words)
{
	struct sf_wide last = start_an_hour_behind(is_wide, policy);

	t_daemon_assert_said(&daemon_now, words);
	/* a second tick of slewed time may be needed */
	ck_assert_int_eq(sf_cursor_set_wait(cursor, SF_WAIT_SLEEP, INT64_C(5000000000)), 0);
	for (int i = 0; i < 20000; i++) {
		struct sf_wide id = {0, 0};

		T_CHECK(take(&id) == 0);
		T_CHECK(sf_wide_compare(&last, &id) < 0);
		last = id;
	}
	ck_assert_int_eq(sf_cursor_remaining_ms(cursor), 0);
	assert_state("running");
	ck_assert_int_eq(run_sfctl("next -n 100"), 0);
	end();
}

START_TEST(slew_goes_on_at_once_fc_14)
{
	go_on(false, "slew", "embedded time runs at half speed until it has caught up");
	go_on(true, "slew", "embedded time runs at half speed until it has caught up");
}
END_TEST

START_TEST(ahead_goes_on_at_once_fc_14)
{
	go_on(false, "ahead", "ticks are borrowed until it has caught up");
	go_on(true, "ahead", "ticks are borrowed until it has caught up");
}
END_TEST

/** An ordered ID of a client that has only just come, and one of the cursor that was there before:
 *  each is larger than all before. */
static void take_from_both(struct sf_wide *last)
{
	struct sf_client *other = t_open(daemon_now.socket, INT64_C(20000000000));
	struct sf_cursor *second = t_cursor(other);
	uint64_t id[2] = {0, 0};

	T_CHECK(sf_next_ordered(second, &id[0]) == 0);
	T_CHECK(id[0] > last->low);
	T_CHECK(sf_next_ordered(cursor, &id[1]) == 0);
	T_CHECK(id[1] > id[0]);
	last->low = id[1];
	sf_cursor_close(second);
	sf_close(other);
}

/* Far more than the runway holds, from a daemon that dies and comes back meanwhile. */
START_TEST(ahead_goes_on_over_a_kill)
{
	struct sf_wide last = start_an_hour_behind(false, "ahead");

	ck_assert_int_eq(sf_cursor_set_wait(cursor, SF_WAIT_SLEEP, INT64_C(20000000000)), 0);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 2000000; i++) {
			struct sf_wide id = {0, 0};

			T_CHECK(take(&id) == 0);
			T_CHECK(id.low > last.low);
			last = id;
		}
		t_daemon_kill(&daemon_now);
		t_daemon_start(&daemon_now);
		take_from_both(&last);
	}
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_clock_steps_back), 0);
	end();
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		refuse_tells_how_long_fc_14, wait_blocks_for_the_time_out_fc_14,
		slew_goes_on_at_once_fc_14,  ahead_goes_on_at_once_fc_14,
		ahead_goes_on_over_a_kill,   refuse_after_a_crash_without_a_step_goes_on_at_once,
	};
	const struct t_program program = {.name = "clock_backward",
					  .machine_id = 240,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
