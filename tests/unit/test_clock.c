/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/clock.c: the policy `slew` against a wall clock that steps, drifts and jitters. The time
 * page itself is in clock_page.c, the other policies are in clock_policies.c.
 */
#include "daemon/clock.h"

#include "tests/support/ring_fixture.h"
#include "tests/unit/clock_suite.h"

#include <inttypes.h>
#include <stdlib.h>

#define SECOND (1000 * T_MS)
#define HOUR (3600 * SECOND)
#define MONO (1000 * SECOND)
#define WALL INT64_C(1767225600000000000)
/* What may be noise between the readings of two clocks. */
#define NOISE 100000

static struct sfd_clock policy;
static struct sfd_now now;

static void set_up(void)
{
	now = (struct sfd_now){.mono_ns = MONO, .wall_ns = WALL};
	sfd_clock_init(&policy, SFD_CLOCK_SLEW, now, &(struct sfd_clock_start){0});
}

static int64_t shown(void)
{
	return sf_shm_clock_unix_ns(&policy.page, now.mono_ns);
}

/* Time passes on both clocks. */
static void pass(int64_t ns)
{
	now.mono_ns += ns;
	now.wall_ns += ns;
}

static enum sfd_clock_event update(void)
{
	return sfd_clock_update(&policy, now);
}

START_TEST(init_shows_the_wall)
{
	ck_assert_int_eq(shown(), WALL);
	pass(5 * SECOND);
	ck_assert_int_eq(shown(), WALL + 5 * SECOND);
	ck_assert_int_eq(update(), SFD_CLOCK_STEADY);
	ck_assert_int_eq(policy.lead_ns, 0);
}
END_TEST

START_TEST(init_behind_the_last_daemon_starts_there_and_slews)
{
	sfd_clock_init(
		&policy, SFD_CLOCK_SLEW, now,
		&(struct sfd_clock_start){.not_before_ns = WALL + SECOND, .went_back = true});
	ck_assert_int_eq(shown(), WALL + SECOND);
	ck_assert_int_eq(policy.lead_ns, SECOND);
	pass(SECOND);
	ck_assert_int_eq(shown(), WALL + SECOND + SECOND / 2);
	sfd_clock_init(&policy, SFD_CLOCK_SLEW, now,
		       &(struct sfd_clock_start){.not_before_ns = now.wall_ns - SECOND,
						 .went_back = true});
	ck_assert_int_eq(shown(), now.wall_ns);
}
END_TEST

START_TEST(update_after_a_forward_step_takes_it_at_once)
{
	pass(SECOND);
	now.wall_ns += _i * SECOND;
	ck_assert_int_eq(update(), SFD_CLOCK_FORWARD);
	ck_assert_int_eq(shown(), now.wall_ns);
	pass(SECOND);
	ck_assert_int_eq(update(), SFD_CLOCK_STEADY);
	ck_assert_int_eq(shown(), now.wall_ns);
}
END_TEST

START_TEST(update_after_a_backward_step_runs_at_half_speed_until_caught_up)
{
	const int64_t step = _i * SECOND;
	int64_t before;

	pass(SECOND);
	before = shown();
	now.wall_ns -= step;
	ck_assert_int_eq(update(), SFD_CLOCK_BACK);
	ck_assert_int_eq(shown(), before);
	ck_assert_int_eq(policy.lead_ns, step);
	pass(step);
	ck_assert_int_eq(update(), SFD_CLOCK_STEADY);
	ck_assert_int_eq(shown(), before + step / 2);
	ck_assert_int_eq(policy.lead_ns, step / 2);
	pass(step);
	ck_assert_int_eq(update(), SFD_CLOCK_CAUGHT_UP);
	ck_assert_int_eq(shown(), now.wall_ns);
	ck_assert_int_eq(policy.lead_ns, 0);
	pass(SECOND);
	ck_assert_int_eq(update(), SFD_CLOCK_STEADY);
	ck_assert_int_eq(shown(), now.wall_ns);
}
END_TEST

START_TEST(update_that_comes_late_while_slewing_is_no_forward_step)
{
	pass(SECOND);
	now.wall_ns -= SECOND;
	ck_assert_int_eq(update(), SFD_CLOCK_BACK);
	pass(2 * SECOND + 10 * T_MS);
	ck_assert_int_eq(update(), SFD_CLOCK_CAUGHT_UP);
	ck_assert_int_eq(shown(), now.wall_ns);
}
END_TEST

START_TEST(update_after_a_second_backward_step_counts_it)
{
	now.wall_ns -= SECOND;
	ck_assert_int_eq(update(), SFD_CLOCK_BACK);
	pass(100 * T_MS);
	now.wall_ns -= SECOND;
	ck_assert_int_eq(update(), SFD_CLOCK_BACK);
	ck_assert_int_eq(policy.lead_ns, 2 * SECOND - 50 * T_MS);
}
END_TEST

START_TEST(update_with_a_forward_step_while_slewing_ends_it)
{
	now.wall_ns -= SECOND;
	ck_assert_int_eq(update(), SFD_CLOCK_BACK);
	pass(100 * T_MS);
	now.wall_ns += HOUR;
	ck_assert_int_eq(update(), SFD_CLOCK_FORWARD);
	ck_assert_int_eq(shown(), now.wall_ns);
	ck_assert_int_eq(policy.lead_ns, 0);
}
END_TEST

START_TEST(update_within_the_noise_changes_nothing)
{
	const struct sf_shm_clock page = policy.page;
	uint64_t random = t_seed();

	for (int i = 0; i < 10000; i++) {
		int64_t noise = (int64_t)(t_random(&random) % (2 * NOISE + 1)) - NOISE;

		pass(125 * T_MS);
		ck_assert_int_eq(
			sfd_clock_update(&policy, (struct sfd_now){.mono_ns = now.mono_ns,
								   .wall_ns = now.wall_ns + noise}),
			SFD_CLOCK_STEADY);
	}
	ck_assert_mem_eq(&policy.page, &page, sizeof(page));
	/* the last reading may have been low */
	now.wall_ns -= 2 * NOISE + 1;
	ck_assert_int_eq(update(), SFD_CLOCK_BACK);
}
END_TEST

/* What a reader sees, before and after each update, never falls, and is never behind the wall for
 * longer than until the next update. */
static void check_random_walk(uint64_t *random, int steps)
{
	int64_t last = shown();

	for (int i = 0; i < steps; i++) {
		int64_t before;

		pass((int64_t)(t_random(random) % (uint64_t)(200 * T_MS)));
		if (t_random(random) % 4 == 0)
			now.wall_ns += (int64_t)(t_random(random) % (uint64_t)(2 * HOUR)) - HOUR;
		before = shown();
		T_EXPECT(before >= last, "step %d: shows less before an update", i);
		(void)update();
		last = shown();
		T_EXPECT(last >= before, "step %d: shows less after an update", i);
		T_EXPECT(last >= now.wall_ns - NOISE, "step %d: behind the wall", i);
		T_EXPECT(policy.lead_ns >= 0, "step %d: a lead below 0", i);
	}
}

START_TEST(update_over_random_steps_never_shows_less)
{
	uint64_t random = t_seed();

	for (int round = 0; round < 200; round++) {
		set_up();
		check_random_walk(&random, 200);
	}
}
END_TEST

START_TEST(fc12_wall_that_answers_now_or_a_tenth_before_never_shows_less)
{
	uint64_t random = t_seed();
	int64_t last = shown();
	unsigned back = 0;

	for (int i = 0; i < 10000; i++) {
		struct sfd_now seen;

		pass(T_MS);
		seen = now;
		if (t_random(&random) & 1)
			seen.wall_ns -= 100 * T_MS;
		back += sfd_clock_update(&policy, seen) == SFD_CLOCK_BACK;
		ck_assert_int_ge(shown(), last);
		last = shown();
		ck_assert_int_le(last, now.wall_ns);
	}
	ck_assert_uint_gt(back, 0);
}
END_TEST

START_TEST(fc12_wall_that_steps_back_each_50_ms_never_shows_less)
{
	int64_t last = shown();
	unsigned back = 0;

	for (int i = 1; i <= 10000; i++) {
		pass(T_MS);
		if (i % 50 == 0)
			now.wall_ns -= 5 * T_MS;
		back += update() == SFD_CLOCK_BACK;
		ck_assert_int_ge(shown(), last);
		last = shown();
		/* half speed gains more than the steps take: no growing lead */
		ck_assert_int_le(last - now.wall_ns, 5 * T_MS + NOISE);
	}
	ck_assert_uint_eq(back, 10000 / 50);
}
END_TEST

/* The wall runs at another rate than the monotonic clock for an hour. */
START_TEST(fc20_wall_that_drifts_is_followed_within_a_tick)
{
	const int64_t ppm = _i ? 2000 : -2000;
	int64_t last = shown();

	for (int64_t passed = 0; passed < HOUR; passed += T_MS) {
		now.mono_ns += T_MS;
		now.wall_ns += T_MS + T_MS / 1000000 * ppm;
		(void)update();
		T_EXPECT(shown() >= last, "shows less");
		last = shown();
		T_EXPECT(llabs(last - now.wall_ns) <= T_MS, "%lld ns away",
			 (long long)(last - now.wall_ns));
	}
	/* The host sleeps: the monotonic clock stands still. */
	now.wall_ns += 2 * HOUR;
	ck_assert_int_eq(update(), SFD_CLOCK_FORWARD);
	ck_assert_int_eq(shown(), now.wall_ns);
}
END_TEST

START_TEST(now_reads_both_clocks)
{
	struct sfd_now first = sfd_clock_now();
	struct sfd_now second = sfd_clock_now();

	ck_assert_int_gt(first.mono_ns, 0);
	ck_assert_int_gt(first.wall_ns, WALL);
	ck_assert_int_ge(second.mono_ns, first.mono_ns);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("clock");
	TCase *slew = tcase_create("slew");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(slew, set_up, NULL);
	tcase_set_timeout(slew, 60);
	tcase_add_test(slew, init_shows_the_wall);
	tcase_add_test(slew, init_behind_the_last_daemon_starts_there_and_slews);
	tcase_add_loop_test(slew, update_after_a_forward_step_takes_it_at_once, 1, 4);
	tcase_add_loop_test(slew, update_after_a_backward_step_runs_at_half_speed_until_caught_up,
			    1, 4);
	tcase_add_test(slew, update_that_comes_late_while_slewing_is_no_forward_step);
	tcase_add_test(slew, update_after_a_second_backward_step_counts_it);
	tcase_add_test(slew, update_with_a_forward_step_while_slewing_ends_it);
	tcase_add_test(slew, update_within_the_noise_changes_nothing);
	tcase_add_test(slew, update_over_random_steps_never_shows_less);
	tcase_add_test(slew, fc12_wall_that_answers_now_or_a_tenth_before_never_shows_less);
	tcase_add_test(slew, fc12_wall_that_steps_back_each_50_ms_never_shows_less);
	tcase_add_loop_test(slew, fc20_wall_that_drifts_is_followed_within_a_tick, 0, 2);
	tcase_add_test(slew, now_reads_both_clocks);
	suite_add_tcase(suite, slew);
	t_add_clock_page(suite);
	t_add_clock_policies(suite);
	t_add_clock_borrow(suite);
	t_add_clock_drift(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
