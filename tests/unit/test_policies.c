/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * clock_backward = slew, wait, refuse and ahead, from the wall clock that goes back to the caller
 * that takes IDs of each format. How callers wait and are refused is in policies_wait.c, what is
 * borrowed in policies_ahead.c, a daemon that starts behind its mark in policies_restart.c; the
 * arithmetic alone is in clock_policies.c.
 */
#include "tests/unit/policies_suite.h"

#include <errno.h>
#include <stdlib.h>

#define LONGEST_STEP_NS (-T_HOUR)

const char *const t_policy_layouts[T_POLICY_LAYOUTS] = {"snowflakex", "ulid", "uuid7", "objectid",
							"hound"};

/* What a call gets while the wall is behind; 0: an ID. */
static int answer_of(enum sfd_clock_policy policy)
{
	switch (policy) {
	case SFD_CLOCK_WAIT:
		return -EAGAIN;
	case SFD_CLOCK_REFUSE:
		return -ETIME;
	case SFD_CLOCK_SLEW:
	case SFD_CLOCK_AHEAD:
	default:
		return 0;
	}
}

static void take_many(struct sf_wide *last, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		t_stream_take(t_stream_cursor, last);
}

/* ---- FC-11 ---- */

/* T + 5, T, T + 5. The rows come twice: with a daemon that idles, and with one that beats. */
START_TEST(fc11_ids_before_and_after_a_clock_that_went_back_differ)
{
	const int row = _i / 2;
	const int answer = answer_of(T_POLICY_OF(row));
	const int64_t tick_ns = T_MS * (row / T_POLICIES == 3 ? 1000 : 1); /* objectid */
	struct sf_wide last = {0, 0};
	uint64_t claimed;

	t_stream_init(&(struct t_stream_setup){
		.layout = T_LAYOUT_OF(row), .policy = T_POLICY_OF(row), .is_beating = _i % 2});
	t_stream_pass(5 * tick_ns);
	(void)t_stream_turn();
	take_many(&last, 100);
	t_stream_step(-5 * tick_ns);
	(void)t_stream_turn();
	claimed = sfd_engine_claimed(&t_stream.engine);
	if (answer != 0) {
		t_stream_assert_refused(answer);
		/* nor does a call that times out */
		ck_assert_int_eq(sf_cursor_set_wait(t_stream_cursor, SF_WAIT_SLEEP, T_MS), 0);
		t_stream_assert_refused(answer == -EAGAIN ? -ETIMEDOUT : answer);
		ck_assert_int_eq(sf_cursor_set_wait(t_stream_cursor, SF_WAIT_NONE, 1), 0);
		ck_assert_uint_eq(sfd_engine_claimed(&t_stream.engine), claimed);
	} else {
		take_many(&last, 1);
	}
	t_stream_step(5 * tick_ns);
	(void)t_stream_turn();
	take_many(&last, 100); /* each is above all before */
	t_stream_deinit();
}
END_TEST

/* ---- FC-39 ---- */

static const int64_t steps_back[] = {-9 * T_SECOND, -11 * T_SECOND, -T_HOUR};

/* What the wall is behind, in whole milliseconds. */
static int64_t behind_ms(void)
{
	return (t_stream_shown() - t_stream_wall()) / T_MS;
}

START_TEST(fc39_nothing_is_reset_silently)
{
	const enum sfd_clock_policy policy = T_POLICY_OF(_i);
	struct sf_wide last = {0, 0};
	int64_t highest_wall;

	t_stream_init(&(struct t_stream_setup){.layout = T_LAYOUT_OF(_i), .policy = policy});
	take_many(&last, 10);
	highest_wall = t_stream_wall();
	for (size_t i = 0; i < T_COUNT(steps_back); i++) {
		t_stream_step(steps_back[i]);
		(void)t_stream_turn();
		ck_assert_uint_eq(t_stream_stat(SF_COUNTER_clock_steps_back), i + 1);
		if (policy == SFD_CLOCK_WAIT) {
			int64_t start = t_stream_mono();

			t_stream_assert_refused(-EAGAIN);
			t_sleeps = 0;
			ck_assert_int_eq(
				sf_cursor_set_wait(t_stream_cursor, SF_WAIT_SLEEP, 100 * T_MS), 0);
			t_stream_assert_refused(-ETIMEDOUT);
			/* three calls, and each waits as long as it may */
			ck_assert_int_eq(t_stream_mono() - start, 300 * T_MS);
			ck_assert_int_eq(sf_cursor_set_wait(t_stream_cursor, SF_WAIT_NONE, 1), 0);
		} else if (policy == SFD_CLOCK_REFUSE) {
			t_stream_assert_refused(-ETIME);
			ck_assert_int_eq(sf_cursor_remaining_ms(t_stream_cursor), behind_ms());
			ck_assert_int_eq(t_stream_wall() + behind_ms() * T_MS, highest_wall);
		} else {
			take_many(&last, 1000);
			ck_assert_int_eq(sf_cursor_remaining_ms(t_stream_cursor), 0);
		}
	}
	/* Once the wall is there again, all go on above. */
	t_stream_pass(2 * (t_stream_shown() - t_stream_wall()));
	t_stream_run(T_SECOND);
	take_many(&last, 1000);
	ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_wall_tick());
	t_stream_deinit();
}
END_TEST

/* ---- FC-16 ---- */

#define MILLION 1000000

static struct sf_wide *million;

static void take_a_million(void)
{
	million = calloc(MILLION, sizeof(*million));
	ck_assert_ptr_nonnull(million);
	/* in parts, with the daemon's turns in between */
	for (size_t done = 0; done < MILLION; done += 1000) {
		int error = t_stream_fill(t_stream_cursor, million + done, 1000);

		T_EXPECT(error == 0, "ID %zu: %s", done, sf_strerror(error));
		(void)t_stream_turn();
	}
	for (size_t i = 1; i < MILLION; i++)
		T_EXPECT(sf_wide_compare(&million[i - 1], &million[i]) < 0, "ID %zu falls", i);
}

static const struct {
	const char *layout;
	enum sfd_clock_policy policy;
	uint32_t ahead_ms;
	uint64_t ticks; /* beyond the clock */
} fc16[] = {
	{"ulid", SFD_CLOCK_SLEW, 0, 0},
	{"ulid", SFD_CLOCK_AHEAD, 0, 0},
	{"uuid7", SFD_CLOCK_SLEW, 0, 0},
	{"uuid7", SFD_CLOCK_AHEAD, 0, 0},
	{"objectid", SFD_CLOCK_SLEW, 0, 0},
	{"objectid", SFD_CLOCK_AHEAD, 0, 0},
	{"hound", SFD_CLOCK_AHEAD, 0, 0},
	/* 1,000,000 / 4,096; and no more is borrowed than that */
	{"twitter", SFD_CLOCK_SLEW, 250, 244},
	{"twitter", SFD_CLOCK_AHEAD, 0, 244},
};

/* The wall stands still meanwhile, so that only a borrowed tick moves the time in an ID. */
START_TEST(fc16_a_million_ids_after_an_hour_back_move_time_with_the_clock_alone)
{
	uint64_t tick;

	t_stream_init(&(struct t_stream_setup){.layout = fc16[_i].layout,
					       .policy = fc16[_i].policy,
					       .ahead_ms = fc16[_i].ahead_ms});
	t_stream_step(LONGEST_STEP_NS);
	(void)t_stream_turn();
	tick = t_stream_shown_tick();
	take_a_million();
	ck_assert_uint_eq(t_stream_tick_of(&million[0]), tick);
	ck_assert_uint_eq(t_stream_tick_of(&million[MILLION - 1]), tick + fc16[_i].ticks);
	free(million);
	t_stream_deinit();
}
END_TEST

/* And with a clock that runs: every ID shows what the page shows. */
START_TEST(fc16_wide_ids_after_an_hour_back_show_the_slewed_clock)
{
	struct sf_wide last = {0, 0};
	uint64_t tick;

	t_stream_init(&(struct t_stream_setup){.layout = t_policy_layouts[_i]});
	tick = t_stream_shown_tick();
	t_stream_step(LONGEST_STEP_NS);
	for (int ms = 0; ms < 4000; ms++) {
		(void)t_stream_turn();
		take_many(&last, 20);
		ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_shown_tick());
		t_stream_pass(T_MS);
	}
	/* half speed */
	ck_assert_uint_eq(t_stream_tick_of(&last) - tick, 1999 / t_stream_config.layout.tick_ms);
	t_stream_deinit();
}
END_TEST

/* ---- FC-12, and everything else a wall may do ---- */

/* The mark has yet to be raised to where the wall is. */
static bool is_held(void)
{
	return atomic_load_explicit(&t_stream.ring.shm.grants->state, memory_order_relaxed) ==
	       SF_SHM_HELD;
}

/* Whatever the wall does and whenever the daemon looks: what a caller gets rises, and a call fails
 * only under the policies that say so, and only while the wall is behind. */
START_TEST(fc12_ids_under_a_wall_that_steps_at_random_rise)
{
	const int answer = answer_of(T_POLICY_OF(_i));
	uint64_t random = t_seed();
	struct sf_wide last = {0, 0};
	unsigned given = 0;
	unsigned refused = 0;

	t_stream_init(&(struct t_stream_setup){
		.layout = T_LAYOUT_OF(_i), .policy = T_POLICY_OF(_i), .ahead_ms = 1000});
	for (int i = 0; i < 20000; i++) {
		struct sf_wide id;
		int error;

		if (t_random(&random) % 50 == 0)
			t_stream_step((int64_t)(t_random(&random) % (uint64_t)(20 * T_SECOND)) -
				      10 * T_SECOND);
		if (t_random(&random) % 4 == 0)
			(void)t_stream_turn();
		t_stream_pass((int64_t)(t_random(&random) % (uint64_t)(20 * T_MS)));
		error = t_random(&random) % 2 ? t_stream_next(t_stream_cursor, &id)
					      : t_stream_ordered(t_stream_cursor, &id);
		if (error != 0) {
			T_EXPECT(error == answer || error == -EAGAIN, "%s", sf_strerror(error));
			refused += !is_held(); /* steps may lead past the mark */
			continue;
		}
		if (t_stream_config.layout.format == SF_FORMAT_SNOWFLAKE)
			id.high = 0;
		T_EXPECT(sf_wide_compare(&last, &id) < 0, "ID %u falls", given);
		last = id;
		given++;
	}
	ck_assert_uint_gt(given, 100);
	if (answer != 0)
		ck_assert_uint_gt(refused, 100);
	else
		ck_assert_uint_eq(refused, 0);
	t_stream_deinit();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policies");
	TCase *cases = tcase_create("cases");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(cases, 120);
	tcase_add_loop_test(cases, fc11_ids_before_and_after_a_clock_that_went_back_differ, 0,
			    2 * T_POLICY_ROWS);
	tcase_add_loop_test(cases, fc39_nothing_is_reset_silently, 0, T_POLICY_ROWS);
	tcase_add_loop_test(cases,
			    fc16_a_million_ids_after_an_hour_back_move_time_with_the_clock_alone, 0,
			    T_COUNT(fc16));
	tcase_add_loop_test(cases, fc16_wide_ids_after_an_hour_back_show_the_slewed_clock, 1,
			    T_POLICY_LAYOUTS);
	tcase_add_loop_test(cases, fc12_ids_under_a_wall_that_steps_at_random_rise, 0,
			    T_POLICY_ROWS);
	suite_add_tcase(suite, cases);
	t_add_policies_wait(suite);
	t_add_policies_ahead(suite);
	t_add_policies_clocks(suite);
	t_add_policies_handover(suite);
	t_add_policies_restart(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
