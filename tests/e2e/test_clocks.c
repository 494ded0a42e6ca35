/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A real sfd whose wall clock is wrong when it starts, or not synchronised: years behind, before
 * the layout's epoch, past its end.
 */
#include "tests/support/clocks.h"
#include "tests/support/e2e.h"
#include "tests/support/wall.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

#define T_CENTURY (INT64_C(36525) * T_DAY)
/** A lead that is longer makes IDs of no use, says sfctl doctor. */
#define LEAD_MOST (4 * T_HOUR)

/* ---- boots ---- */

/** The runtime directory is gone and the clock went back: the durable mark alone is left. */
static void reboot(enum t_policy policy, int64_t back_ns)
{
	uint64_t id = 0;

	t_clocks_configure(policy);
	t_daemon_start(&t_clocks_daemon);
	t_clocks_open();
	t_clocks_take(5000);
	t_clocks_close();
	if (policy % 2)
		t_daemon_kill(&t_clocks_daemon);
	else
		t_daemon_stop(&t_clocks_daemon);
	t_remove_tree(t_clocks_daemon.runtime_dir);
	t_wall_step(-back_ns);
	t_daemon_start(&t_clocks_daemon);
	t_clocks_open();
	ck_assert_int_eq(sf_cursor_set_wait(t_clocks_cursor, SF_WAIT_NONE, 1), 0);
	if (policy == T_WAIT || policy == T_REFUSE) {
		ck_assert_int_eq(sf_next(t_clocks_cursor, &id),
				 policy == T_WAIT ? -EAGAIN : -ETIME);
		ck_assert_int_eq(t_clocks_sfctl("next --wait none"), 1);
		t_clocks_assert_said("; stream default is behind: embedded time is ");
		t_clocks_assert_said(policy == T_WAIT ? "callers wait until the wall has caught up"
						      : "callers are refused until the wall has");
		ck_assert_int_eq(t_clocks_sfctl("doctor"), 1);
	} else {
		T_WAIT_UNTIL(sf_next(t_clocks_cursor, &id) == 0, 5000);
		ck_assert_uint_gt(id, t_clocks_last);
		t_clocks_last = id;
		ck_assert_int_eq(t_clocks_sfctl("doctor"), back_ns > LEAD_MOST ? 1 : 0);
	}
	t_clocks_assert_said(back_ns > LEAD_MOST ? "failure  default time: embedded time is "
						 : "warning  default time: embedded time is ");
	/* The clock is set right; what the mark leads by is slewed, if need be. */
	t_clocks_step(back_ns);
	T_WAIT_UNTIL(sf_next(t_clocks_cursor, &id) == 0, 5000);
	ck_assert_uint_gt(id, t_clocks_last);
	t_clocks_last = id;
	t_clocks_step(60 * T_SECOND);
	ck_assert_int_eq(sf_cursor_set_wait(t_clocks_cursor, SF_WAIT_SLEEP, 5 * T_SECOND), 0);
	ck_assert_uint_eq(t_daemon_counter(&t_clocks_daemon, SF_COUNTER_clock_behind), 0);
	t_clocks_take(5000);
	t_clocks_assert_fresh();
	t_clocks_end();
}

START_TEST(reboot_with_a_clock_an_hour_back_starts_above_the_last_id)
{
	for (int policy = 0; policy < T_POLICIES; policy++)
		reboot((enum t_policy)policy, T_HOUR);
}
END_TEST

START_TEST(fc18_reboot_with_a_clock_a_fortnight_or_decades_back_goes_by_policy)
{
	for (int policy = 0; policy < T_POLICIES; policy++)
		reboot((enum t_policy)policy, policy < 2 ? 14 * T_DAY : t_wall_now() - T_DAY);
	t_daemon_assert_said(&t_clocks_daemon, "y"); /* of years */
	t_daemon_assert_said(&t_clocks_daemon,
			     "behind what was promised before; ticks are borrowed "
			     "until it has caught up, in ");
	t_daemon_assert_said(&t_clocks_daemon,
			     "if it is wrong, set it, a forward step is taken at "
			     "once; if it was wrong before, a stream of another name and "
			     "machine id begins at the right time");
}
END_TEST

/* ---- before the epoch, past the end ---- */

static const int64_t before_epoch[] = {T_SECOND, T_CLOCKS_EPOCH_NS - T_SECOND * 3600};

START_TEST(fc18_start_before_the_epoch_waits_for_the_clock)
{
	for (size_t i = 0; i < sizeof(before_epoch) / sizeof(before_epoch[0]); i++) {
		struct sf_control_stats stats;
		uint64_t id = 42;

		t_clocks_configure(i ? T_WAIT : T_SLEW);
		t_wall_set(before_epoch[i]);
		t_daemon_start(&t_clocks_daemon);
		t_clocks_open();
		ck_assert_int_eq(sf_cursor_set_wait(t_clocks_cursor, SF_WAIT_SLEEP, T_SECOND / 20),
				 0);
		ck_assert_int_eq(sf_next(t_clocks_cursor, &id), -ETIMEDOUT);
		ck_assert_int_eq(sf_next_ordered(t_clocks_cursor, &id), -ETIMEDOUT);
		ck_assert_uint_eq(id, 42);
		t_daemon_stats(&t_clocks_daemon, &stats);
		ck_assert_uint_eq(stats.state, SF_SHM_WAITING);
		ck_assert_int_eq(t_clocks_sfctl("doctor"), 1);
		t_clocks_assert_said("failure  default state: waiting for clock: it shows ");
		ck_assert_int_eq(t_clocks_sfctl("stats"), 0);
		t_clocks_assert_said("waiting for clock");
		ck_assert_int_eq(t_clocks_sfctl("next --timeout-ms 50"), 1);
		t_clocks_assert_said("got 0 of 1 IDs: no ID could be given within the time-out; "
				     "stream default is waiting for clock: it shows ");
		t_clocks_assert_said("and IDs begin by themselves");
		/* At once, and not at the end of a long wait. */
		ck_assert_int_eq(t_clocks_sfctl("next --timeout-ms 1100"), 1);
		t_clocks_assert_said("sfctl next: stream default is waiting for clock: it shows ");
		t_clocks_assert_said("got 0 of 1 IDs: no ID could be given within the time-out\n");
		T_WAIT_UNTIL(strstr(t_daemon_said(&t_clocks_daemon),
				    "waiting for clock: it shows ") != NULL,
			     5000);
		/* A caller that waits has its ID when the clock is set. */
		ck_assert_int_eq(sf_cursor_set_wait(t_clocks_cursor, SF_WAIT_SLEEP, 20 * T_SECOND),
				 0);
		t_wall_set(t_wall_ns());
		t_clocks_take(1000);
		t_clocks_assert_fresh();
		T_WAIT_UNTIL(strstr(t_daemon_said(&t_clocks_daemon), "IDs are given") != NULL,
			     5000);
		ck_assert_int_eq(t_clocks_sfctl("doctor"), 0);
		t_clocks_end();
	}
}
END_TEST

START_TEST(fc18_clock_past_the_end_gives_no_id_and_says_so)
{
	char refusal[T_SAID_BYTES];
	uint64_t id = 0;

	t_clocks_configure(T_SLEW);
	t_daemon_start(&t_clocks_daemon);
	t_clocks_open();
	t_clocks_take(1000);
	t_wall_step(T_CENTURY);
	T_WAIT_UNTIL(strstr(t_daemon_said(&t_clocks_daemon), "the layout's time field ended at") !=
			     NULL,
		     5000);
	t_nap_ms(500); /* the runway */
	ck_assert_int_eq(sf_next(t_clocks_cursor, &id), -EOVERFLOW);
	ck_assert_int_eq(t_clocks_sfctl("doctor"), 1);
	t_clocks_assert_said("failure  default state: exhausted: the clock shows 21");
	ck_assert_int_eq(t_clocks_sfctl("next"), 1);
	t_clocks_assert_said("; stream default is exhausted: the clock shows 21");
	ck_assert_int_eq(t_clocks_sfctl("stamp --input lines /etc/passwd"), 1);
	t_clocks_assert_said("line 1 gets no ID: the layout's time field is used up");
	t_clocks_assert_said("; stream default is exhausted: the clock shows 21");
	t_clocks_close();
	t_daemon_stop(&t_clocks_daemon);
	ck_assert_int_ne(t_daemon_start_refused(&t_clocks_daemon, refusal), 0);
	ck_assert_msg(strstr(refusal, "its time field ended on") != NULL, "%s", refusal);
	/* nothing was given there: the clock is set right, and all goes on */
	t_wall_step(-T_CENTURY);
	t_daemon_start(&t_clocks_daemon);
	t_clocks_open();
	t_clocks_take(1000);
	t_clocks_assert_fresh();
	t_clocks_end();
}
END_TEST

/* ---- what the kernel thinks of its clock ---- */

/** Occurrences of a sentence in the log. */
static unsigned count_said(const char *part)
{
	unsigned count = 0;

	for (const char *at = t_daemon_said(&t_clocks_daemon); (at = strstr(at, part)); at++)
		count++;
	return count;
}

/* News make sfd look; a step is news. Each change is told once. */
START_TEST(clock_that_is_not_synchronised_is_told_once_each_way)
{
	static const char bad[] = "the kernel's clock is not synchronised";
	static const char good[] = "the kernel's clock is synchronised";

	t_clocks_configure(T_SLEW);
	t_wall_sync(TIME_ERROR, STA_UNSYNC, 16000000);
	t_daemon_start(&t_clocks_daemon);
	ck_assert_uint_eq(count_said(bad), 1);
	ck_assert_int_eq(t_clocks_sfctl("doctor"), 0);
	t_clocks_assert_said("warning  clock: not synchronised");
	t_clocks_step(T_HOUR);
	t_wall_sync(TIME_INS, STA_PLL, 12000);
	t_clocks_step(T_HOUR);
	T_WAIT_UNTIL(count_said(good) == 1, 5000);
	ck_assert_uint_eq(count_said(bad), 1);
	ck_assert_int_eq(t_clocks_sfctl("doctor"), 0);
	t_clocks_assert_said(
		"ok       clock: synchronised, to 12ms at most, 6000us as estimated; a leap "
		"second comes at the day's end");
	t_wall_sync_fails(EPERM);
	t_clocks_step(T_HOUR);
	T_WAIT_UNTIL(count_said("does not tell whether its clock is synchronised") == 1, 5000);
	ck_assert_uint_eq(t_daemon_counter(&t_clocks_daemon, SF_COUNTER_clock_sync), 0);
	t_daemon_stop(&t_clocks_daemon);
}
END_TEST

static int64_t offset_us(void)
{
	return (int64_t)t_daemon_counter(&t_clocks_daemon, SF_COUNTER_wall_offset_us);
}

/** Steps forward by an hour, and asks at once. @return whether sfd had not yet seen it */
static bool asks_before_it_is_seen(void)
{
	int64_t us;

	t_nap_ms(7); /* its turns come every eighth of a second */
	t_wall_step(T_HOUR);
	us = offset_us();
	ck_assert_msg(llabs(us) < 10000000 || llabs(us + T_HOUR / 1000) < 10000000, "%lld us",
		      (long long)us);
	return us < 0 && llabs(us) > 10000000;
}

/* Measured when it is asked for, in either direction: no turn of sfd is needed. */
START_TEST(offset_from_the_wall_is_signed_and_true)
{
	bool was_behind = false;
	int64_t us;

	t_clocks_configure(T_SLEW);
	t_daemon_start(&t_clocks_daemon);
	ck_assert_int_lt(llabs(offset_us()), 10000000);
	for (int i = 0; i < 50 && !was_behind; i++)
		was_behind = asks_before_it_is_seen();
	ck_assert(was_behind);
	T_WAIT_UNTIL(llabs(offset_us()) < 10000000, 5000);
	t_clocks_step(-T_HOUR);
	us = offset_us();
	ck_assert_int_le(us, T_HOUR / 1000 + 1000000);
	ck_assert_int_ge(us, T_HOUR / 1000 - 10000000);
	ck_assert_int_eq(t_clocks_sfctl("stats"), 0);
	t_clocks_assert_said("embedded time 59m5");
	t_clocks_assert_said("time runs at half speed until the wall has caught up,");
	t_daemon_stop(&t_clocks_daemon);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		reboot_with_a_clock_an_hour_back_starts_above_the_last_id,
		fc18_reboot_with_a_clock_a_fortnight_or_decades_back_goes_by_policy,
		fc18_start_before_the_epoch_waits_for_the_clock,
		fc18_clock_past_the_end_gives_no_id_and_says_so,
		clock_that_is_not_synchronised_is_told_once_each_way,
		offset_from_the_wall_is_signed_and_true,
	};
	const struct t_program program = {.name = "clocks",
					  .machine_id = 256,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
