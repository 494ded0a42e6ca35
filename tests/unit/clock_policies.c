/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/clock.c: the policies under which time stands still after a backward step: wait, refuse
 * and ahead. Borrowing is in clock_borrow.c; what all of it means for callers in test_policies.c.
 */
#include "daemon/clock.h"

#include "tests/support/ring_fixture.h"
#include "tests/unit/clock_suite.h"

#include <stdlib.h>

#define SECOND T_CLOCK_SECOND
#define HOUR T_CLOCK_HOUR
#define MONO (1000 * SECOND)
#define WALL INT64_C(1767225600000000000)
/* What may be noise between the readings of two clocks. */
#define NOISE 100000

const struct t_clock_policy t_clock_policies[T_CLOCK_POLICIES] = {
	{SFD_CLOCK_WAIT, SF_SHM_BEHIND_WAIT},
	{SFD_CLOCK_REFUSE, SF_SHM_BEHIND_REFUSE},
	{SFD_CLOCK_AHEAD, SF_SHM_BEHIND_BORROW},
};

struct sfd_clock t_clock;
struct sfd_now t_clock_now;

void t_clock_start(enum sfd_clock_policy which)
{
	t_clock_now = (struct sfd_now){.mono_ns = MONO, .wall_ns = WALL};
	sfd_clock_init(&t_clock, which, t_clock_now, &(struct sfd_clock_start){0});
}

int64_t t_clock_shown(void)
{
	return sf_shm_clock_unix_ns(&t_clock.page, t_clock_now.mono_ns);
}

enum sf_shm_behind t_clock_behind(void)
{
	return sf_shm_clock_behind(&t_clock.page, t_clock_now.mono_ns);
}

int64_t t_clock_remaining(void)
{
	return t_clock.page.base_mono_ns - t_clock_now.mono_ns;
}

void t_clock_pass(int64_t ns)
{
	t_clock_now.mono_ns += ns;
	t_clock_now.wall_ns += ns;
}

enum sfd_clock_event t_clock_update(void)
{
	return sfd_clock_update(&t_clock, t_clock_now);
}

int64_t t_clock_start_behind(int row, int64_t step)
{
	int64_t before;

	t_clock_start(t_clock_policies[row].policy);
	t_clock_pass(SECOND);
	before = t_clock_shown();
	t_clock_now.wall_ns -= step;
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_BACK);
	ck_assert_int_eq(t_clock_shown(), before);
	ck_assert_int_eq(t_clock_behind(), t_clock_policies[row].behind);
	ck_assert_int_eq(t_clock_remaining(), step);
	ck_assert_int_eq(t_clock.lead_ns, step);
	return before;
}

START_TEST(init_shows_the_wall_and_nothing_is_behind)
{
	t_clock_start(t_clock_policies[_i].policy);
	ck_assert_int_eq(t_clock_shown(), WALL);
	ck_assert_int_eq(t_clock_behind(), SF_SHM_BEHIND_NOTHING);
	t_clock_pass(SECOND);
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_STEADY);
	ck_assert_int_eq(t_clock_shown(), WALL + SECOND);
	t_clock_now.wall_ns += HOUR;
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_FORWARD);
	ck_assert_int_eq(t_clock_shown(), t_clock_now.wall_ns);
	ck_assert_int_eq(t_clock_behind(), SF_SHM_BEHIND_NOTHING);
}
END_TEST

START_TEST(init_behind_the_last_daemon_stands_still_there)
{
	t_clock_now = (struct sfd_now){.mono_ns = MONO, .wall_ns = WALL};
	sfd_clock_init(
		&t_clock, t_clock_policies[_i].policy, t_clock_now,
		&(struct sfd_clock_start){.not_before_ns = WALL + SECOND, .went_back = true});
	ck_assert_int_eq(t_clock_shown(), WALL + SECOND);
	ck_assert_int_eq(t_clock_behind(), t_clock_policies[_i].behind);
	ck_assert_int_eq(t_clock.lead_ns, SECOND);
	t_clock_pass(SECOND - 1);
	ck_assert_int_eq(t_clock_shown(), WALL + SECOND);
	ck_assert_int_eq(t_clock_behind(), t_clock_policies[_i].behind);
	t_clock_pass(1);
	ck_assert_int_eq(t_clock_behind(), SF_SHM_BEHIND_NOTHING);
	ck_assert_int_eq(t_clock_shown(), t_clock_now.wall_ns);
	/* not behind at all, or by less than the noise */
	sfd_clock_init(&t_clock, t_clock_policies[_i].policy, t_clock_now,
		       &(struct sfd_clock_start){.not_before_ns = t_clock_now.wall_ns - SECOND,
						 .went_back = true});
	ck_assert_int_eq(t_clock_shown(), t_clock_now.wall_ns);
	ck_assert_int_eq(t_clock_behind(), SF_SHM_BEHIND_NOTHING);
	sfd_clock_init(&t_clock, t_clock_policies[_i].policy, t_clock_now,
		       &(struct sfd_clock_start){.not_before_ns = t_clock_now.wall_ns + NOISE,
						 .went_back = true});
	ck_assert_int_eq(t_clock_behind(), SF_SHM_BEHIND_NOTHING);
}
END_TEST

/* Whatever the policy: a mark is raised ahead of all time that was shown, and no clock went back.
 */
START_TEST(init_below_a_mark_alone_slews)
{
	t_clock_now = (struct sfd_now){.mono_ns = MONO, .wall_ns = WALL};
	sfd_clock_init(
		&t_clock, t_clock_policies[_i].policy, t_clock_now,
		&(struct sfd_clock_start){.not_before_ns = WALL + SECOND, .went_back = false});
	ck_assert_int_eq(t_clock_shown(), WALL + SECOND);
	ck_assert_int_eq(t_clock_behind(), SF_SHM_BEHIND_NOTHING);
	ck_assert_int_eq(t_clock.lead_ns, SECOND);
	for (int i = 1; i < 16; i++) {
		t_clock_pass(125 * T_MS);
		ck_assert_int_eq(t_clock_update(), SFD_CLOCK_STEADY);
		ck_assert_int_eq(t_clock_shown(), WALL + SECOND + 62500000 * (int64_t)i);
		ck_assert_int_eq(t_clock_behind(), SF_SHM_BEHIND_NOTHING);
	}
	t_clock_pass(125 * T_MS);
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_CAUGHT_UP);
	ck_assert_int_eq(t_clock_shown(), t_clock_now.wall_ns);
	/* and from then on the policy has its say */
	t_clock_now.wall_ns -= SECOND;
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_BACK);
	ck_assert_int_eq(t_clock_behind(), t_clock_policies[_i].behind);
	ck_assert_int_eq(t_clock_remaining(), SECOND);
}
END_TEST

/* The clock goes back as well, before the mark's lead is worked off. */
START_TEST(update_after_a_step_back_below_a_mark_puts_the_policy_in_force)
{
	int64_t before;

	t_clock_now = (struct sfd_now){.mono_ns = MONO, .wall_ns = WALL};
	sfd_clock_init(
		&t_clock, t_clock_policies[_i].policy, t_clock_now,
		&(struct sfd_clock_start){.not_before_ns = WALL + SECOND, .went_back = false});
	t_clock_pass(SECOND);
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_STEADY);
	before = t_clock_shown();
	t_clock_now.wall_ns -= HOUR;
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_BACK);
	ck_assert_int_eq(t_clock_shown(), before);
	ck_assert_int_eq(t_clock_behind(), t_clock_policies[_i].behind);
	ck_assert_int_eq(t_clock_remaining(), before - t_clock_now.wall_ns);
	t_clock_pass(t_clock_remaining());
	ck_assert_int_eq(t_clock_shown(), t_clock_now.wall_ns);
}
END_TEST

/* The thread was away between its two readings: the lead is known no better than that. What a good
 * pair of readings says later is no step, but puts the end right. */
START_TEST(update_after_a_lead_that_was_read_badly_counts_no_step)
{
	t_clock_start(t_clock_policies[_i].policy);
	t_clock_pass(SECOND);
	t_clock_now.wall_ns -= HOUR;
	t_clock_now.error_ns = 5 * T_MS;
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_BACK);
	t_clock_now.error_ns = 0;
	t_clock_now.wall_ns += 5 * T_MS;
	for (int i = 0; i < 10; i++) {
		t_clock_pass(125 * T_MS);
		ck_assert_int_eq(t_clock_update(), i ? SFD_CLOCK_STEADY : SFD_CLOCK_FOLLOWED);
		ck_assert_int_eq(t_clock_behind(), t_clock_policies[_i].behind);
		ck_assert_int_eq(t_clock_remaining(), t_clock_shown() - t_clock_now.wall_ns);
	}
	t_clock_now.wall_ns += T_MS;
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_FORWARD);
}
END_TEST

/* No update comes in between: the page knows by itself. */
START_TEST(page_after_a_backward_step_goes_on_at_the_exact_moment)
{
	int64_t before = t_clock_start_behind(_i % 3, 7 * SECOND * (_i / 3 + 1));
	int64_t left = t_clock_remaining();

	t_clock_pass(left - 1);
	ck_assert_int_eq(t_clock_shown(), before);
	ck_assert_int_eq(t_clock_behind(), t_clock_policies[_i % 3].behind);
	t_clock_pass(1);
	ck_assert_int_eq(t_clock_behind(), SF_SHM_BEHIND_NOTHING);
	ck_assert_int_eq(t_clock_shown(), before);
	ck_assert_int_eq(t_clock_shown(), t_clock_now.wall_ns);
	t_clock_pass(1);
	ck_assert_int_eq(t_clock_shown(), t_clock_now.wall_ns);
	t_clock_pass(125 * T_MS);
	ck_assert_int_eq(t_clock_shown(), t_clock_now.wall_ns);
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_CAUGHT_UP);
	ck_assert_int_eq(t_clock_shown(), t_clock_now.wall_ns);
	ck_assert_int_eq(t_clock.lead_ns, 0);
	t_clock_pass(SECOND);
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_STEADY);
}
END_TEST

/* Wake-ups in between, each with clocks that were not read at quite the same moment. */
START_TEST(update_while_behind_changes_nothing)
{
	uint64_t random = t_seed();
	int64_t before = t_clock_start_behind(_i, HOUR);
	const struct sf_shm_clock page = t_clock.page;

	while (t_clock_remaining() > 125 * T_MS) {
		int64_t noise = (int64_t)(t_random(&random) % (2 * NOISE + 1)) - NOISE;

		t_clock_pass(125 * T_MS);
		ck_assert_int_eq(
			sfd_clock_update(&t_clock,
					 (struct sfd_now){.mono_ns = t_clock_now.mono_ns,
							  .wall_ns = t_clock_now.wall_ns + noise}),
			SFD_CLOCK_STEADY);
		ck_assert_mem_eq(&t_clock.page, &page, sizeof(page));
		T_EXPECT(t_clock_shown() == before, "time does not stand still");
	}
}
END_TEST

START_TEST(update_after_a_step_forward_that_is_too_short_shortens_what_is_left)
{
	int64_t before = t_clock_start_behind(_i, 10 * SECOND);

	t_clock_pass(SECOND);
	t_clock_now.wall_ns += 4 * SECOND;
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_FORWARD);
	ck_assert_int_eq(t_clock_shown(), before);
	ck_assert_int_eq(t_clock_behind(), t_clock_policies[_i].behind);
	ck_assert_int_eq(t_clock_remaining(), 5 * SECOND);
	ck_assert_int_eq(t_clock.lead_ns, 5 * SECOND);
	t_clock_pass(5 * SECOND);
	ck_assert_int_eq(t_clock_behind(), SF_SHM_BEHIND_NOTHING);
	ck_assert_int_eq(t_clock_shown(), t_clock_now.wall_ns);
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_CAUGHT_UP);
}
END_TEST

START_TEST(update_after_a_step_further_back_lengthens_what_is_left)
{
	int64_t before = t_clock_start_behind(_i, 2 * SECOND);

	t_clock_pass(SECOND);
	t_clock_now.wall_ns -= HOUR;
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_BACK);
	ck_assert_int_eq(t_clock_shown(), before);
	ck_assert_int_eq(t_clock_behind(), t_clock_policies[_i].behind);
	ck_assert_int_eq(t_clock_remaining(), HOUR + SECOND);
	t_clock_pass(HOUR + SECOND - 1);
	ck_assert_int_eq(t_clock_shown(), before);
	ck_assert_int_eq(t_clock_behind(), t_clock_policies[_i].behind);
	t_clock_pass(1);
	ck_assert_int_eq(t_clock_behind(), SF_SHM_BEHIND_NOTHING);
	ck_assert_int_eq(t_clock_shown(), t_clock_now.wall_ns);
}
END_TEST

/* Beyond, right up to, and almost up to where time stands. */
static const int64_t ends[] = {HOUR, 0, NOISE / 2, -NOISE / 2};

START_TEST(update_after_a_step_forward_that_is_long_enough_ends_it)
{
	const int64_t beyond = ends[_i / 3];
	int64_t before = t_clock_start_behind(_i % 3, 10 * SECOND);

	t_clock_pass(SECOND);
	t_clock_now.wall_ns += 9 * SECOND + beyond;
	ck_assert_int_eq(t_clock_update(),
			 beyond > NOISE ? SFD_CLOCK_FORWARD : SFD_CLOCK_CAUGHT_UP);
	ck_assert_int_eq(t_clock_behind(), SF_SHM_BEHIND_NOTHING);
	ck_assert_int_ge(t_clock_shown(), before);
	ck_assert_int_le(llabs(t_clock_shown() - t_clock_now.wall_ns), NOISE);
	ck_assert_int_eq(t_clock.lead_ns, 0);
	t_clock_pass(SECOND);
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_STEADY);
	ck_assert_int_le(llabs(t_clock_shown() - t_clock_now.wall_ns), NOISE);
}
END_TEST

/* The wall steps again after time has gone on, before the daemon has looked. */
START_TEST(update_after_a_new_step_back_that_follows_the_end_counts_it)
{
	int64_t before;

	(void)t_clock_start_behind(_i, SECOND);
	t_clock_pass(2 * SECOND);
	before = t_clock_shown();
	t_clock_now.wall_ns -= 5 * SECOND;
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_BACK);
	ck_assert_int_eq(t_clock_shown(), before);
	ck_assert_int_eq(t_clock_behind(), t_clock_policies[_i].behind);
	ck_assert_int_eq(t_clock_remaining(), 5 * SECOND);
}
END_TEST

/* What a reader sees, before and after each update, never falls, is never behind the wall, and
 * stands still exactly as long as the wall has not caught up. */
START_TEST(update_over_random_steps_never_shows_less)
{
	uint64_t random = t_seed();

	for (int round = 0; round < 200; round++) {
		int64_t last;

		t_clock_start(t_clock_policies[_i].policy);
		last = t_clock_shown();
		for (int i = 0; i < 200; i++) {
			int64_t before;

			t_clock_pass((int64_t)(t_random(&random) % (uint64_t)(200 * T_MS)));
			if (t_random(&random) % 4 == 0)
				t_clock_now.wall_ns +=
					(int64_t)(t_random(&random) % (uint64_t)(2 * HOUR)) - HOUR;
			before = t_clock_shown();
			T_EXPECT(before >= last, "step %d: less before an update", i);
			(void)t_clock_update();
			last = t_clock_shown();
			T_EXPECT(last >= before, "step %d: less after an update", i);
			T_EXPECT(last >= t_clock_now.wall_ns - NOISE, "step %d: behind the wall",
				 i);
			if (t_clock_behind() == SF_SHM_BEHIND_NOTHING)
				T_EXPECT(last <= t_clock_now.wall_ns + NOISE, "step %d: ahead", i);
			else
				T_EXPECT(llabs(t_clock_remaining() -
					       (last - t_clock_now.wall_ns)) <= NOISE,
					 "step %d: %lld ns are left, not %lld", i,
					 (long long)t_clock_remaining(),
					 (long long)(last - t_clock_now.wall_ns));
			T_EXPECT(t_clock.lead_ns >= 0, "step %d: a lead below 0", i);
		}
	}
}
END_TEST

START_TEST(fc12_wall_that_answers_now_or_a_tenth_before_never_shows_less)
{
	uint64_t random = t_seed();
	unsigned back = 0;
	int64_t last;

	t_clock_start(t_clock_policies[_i].policy);
	last = t_clock_shown();
	for (int i = 0; i < 10000; i++) {
		struct sfd_now seen;

		t_clock_pass(T_MS);
		seen = t_clock_now;
		if (t_random(&random) & 1)
			seen.wall_ns -= 100 * T_MS;
		back += sfd_clock_update(&t_clock, seen) == SFD_CLOCK_BACK;
		T_EXPECT(t_clock_shown() >= last, "round %d: less", i);
		last = t_clock_shown();
		T_EXPECT(last <= t_clock_now.wall_ns, "round %d: more than the wall", i);
	}
	ck_assert_uint_gt(back, 0);
}
END_TEST

/* The wall runs at another rate than the monotonic clock, while it catches up. */
START_TEST(fc20_wall_that_drifts_while_behind_is_met_within_a_tick)
{
	const int64_t ppm = _i / 3 ? 2000 : -2000;
	int64_t before = t_clock_start_behind(_i % 3, 600 * SECOND);

	while (t_clock_now.wall_ns < before + 2 * SECOND) {
		t_clock_now.mono_ns += T_MS;
		t_clock_now.wall_ns += T_MS + T_MS / 1000000 * ppm;
		(void)t_clock_update();
		T_EXPECT(t_clock_shown() >= before, "shows less");
		T_EXPECT(llabs(t_clock_shown() - (t_clock_now.wall_ns > before ? t_clock_now.wall_ns
									       : before)) <= T_MS,
			 "%lld ns away", (long long)(t_clock_shown() - t_clock_now.wall_ns));
	}
	ck_assert_int_eq(t_clock_behind(), SF_SHM_BEHIND_NOTHING);
}
END_TEST

START_TEST(slew_is_never_behind)
{
	t_clock_start(SFD_CLOCK_SLEW);
	t_clock_now.wall_ns -= HOUR;
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_BACK);
	for (int i = 0; i < 100; i++) {
		t_clock_pass(SECOND);
		(void)t_clock_update();
		ck_assert_int_eq(t_clock_behind(), SF_SHM_BEHIND_NOTHING);
		ck_assert_uint_eq(t_clock.page.behind, SF_SHM_BEHIND_NOTHING);
	}
	ck_assert(!sfd_clock_borrow(&t_clock, t_clock_now, t_clock_shown() + SECOND));
}
END_TEST

/* ---- the page ---- */

START_TEST(page_carries_the_policy_beside_the_rate)
{
	static struct sf_shm_timepage page;

	for (uint32_t number = SF_SHM_BEHIND_NOTHING; number <= SF_SHM_BEHIND_BORROW; number++) {
		for (uint32_t shift = 0; shift < 64; shift += 21) {
			const struct sf_shm_clock clock = {.base_mono_ns = 7,
							   .base_unix_ns = 9,
							   .shift = shift,
							   .behind = number};
			struct sf_shm_clock got;

			sf_shm_time_write(&page, &clock);
			ck_assert_int_eq(sf_shm_time_read(&page, &got), 0);
			ck_assert_int_eq(got.base_mono_ns, clock.base_mono_ns);
			ck_assert_int_eq(got.base_unix_ns, clock.base_unix_ns);
			ck_assert_uint_eq(got.shift, clock.shift);
			ck_assert_uint_eq(got.behind, clock.behind);
			/* in force before the base, and only there */
			ck_assert_int_eq(sf_shm_clock_behind(&got, 6), number);
			ck_assert_int_eq(sf_shm_clock_behind(&got, 7), SF_SHM_BEHIND_NOTHING);
		}
	}
}
END_TEST

void t_add_clock_policies(Suite *suite)
{
	const int rows = T_CLOCK_POLICIES;
	TCase *still = tcase_create("still");

	tcase_set_timeout(still, 60);
	tcase_add_loop_test(still, init_shows_the_wall_and_nothing_is_behind, 0, rows);
	tcase_add_loop_test(still, init_behind_the_last_daemon_stands_still_there, 0, rows);
	tcase_add_loop_test(still, init_below_a_mark_alone_slews, 0, rows);
	tcase_add_loop_test(still, update_after_a_step_back_below_a_mark_puts_the_policy_in_force,
			    0, rows);
	tcase_add_loop_test(still, update_after_a_lead_that_was_read_badly_counts_no_step, 0, rows);
	tcase_add_loop_test(still, page_after_a_backward_step_goes_on_at_the_exact_moment, 0,
			    3 * rows);
	tcase_add_loop_test(still, update_while_behind_changes_nothing, 0, rows);
	tcase_add_loop_test(still,
			    update_after_a_step_forward_that_is_too_short_shortens_what_is_left, 0,
			    rows);
	tcase_add_loop_test(still, update_after_a_step_further_back_lengthens_what_is_left, 0,
			    rows);
	tcase_add_loop_test(still, update_after_a_step_forward_that_is_long_enough_ends_it, 0,
			    rows * (int)T_COUNT(ends));
	tcase_add_loop_test(still, update_after_a_new_step_back_that_follows_the_end_counts_it, 0,
			    rows);
	tcase_add_loop_test(still, update_over_random_steps_never_shows_less, 0, rows);
	tcase_add_loop_test(still, fc12_wall_that_answers_now_or_a_tenth_before_never_shows_less, 0,
			    rows);
	tcase_add_loop_test(still, fc20_wall_that_drifts_while_behind_is_met_within_a_tick, 0,
			    2 * rows);
	tcase_add_test(still, slew_is_never_behind);
	tcase_add_test(still, page_carries_the_policy_beside_the_rate);
	suite_add_tcase(suite, still);
}
