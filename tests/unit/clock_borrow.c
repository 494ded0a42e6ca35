/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/clock.c: policy `ahead`: how time that stands still follows what was borrowed.
 */
#include "daemon/clock.h"

#include "tests/support/ring_fixture.h"
#include "tests/unit/clock_suite.h"

#define SECOND T_CLOCK_SECOND
#define HOUR T_CLOCK_HOUR
/* Row of `ahead`; those before it never borrow. */
#define AHEAD (T_CLOCK_POLICIES - 1)

START_TEST(borrow_moves_where_time_stands_and_when_it_goes_on)
{
	int64_t before = t_clock_start_behind(AHEAD, HOUR);

	for (int i = 1; i <= 5; i++) {
		t_clock_pass(SECOND);
		ck_assert_int_eq(t_clock_update(), SFD_CLOCK_STEADY);
		ck_assert(sfd_clock_borrow(&t_clock, t_clock_now, before + 10 * SECOND * i));
		ck_assert_int_eq(t_clock_shown(), before + 10 * SECOND * i);
		ck_assert_int_eq(t_clock_behind(), SF_SHM_BEHIND_BORROW);
		ck_assert_int_eq(t_clock.lead_ns, t_clock_shown() - t_clock_now.wall_ns);
		ck_assert_int_eq(t_clock_remaining(), t_clock.lead_ns);
		/* no step, nor a page to write */
		ck_assert_int_eq(t_clock_update(), SFD_CLOCK_STEADY);
		ck_assert(!sfd_clock_borrow(&t_clock, t_clock_now, before + 10 * SECOND * i));
	}
	t_clock_pass(t_clock_remaining() - 1);
	ck_assert_int_eq(t_clock_shown(), before + 50 * SECOND);
	t_clock_pass(1);
	ck_assert_int_eq(t_clock_behind(), SF_SHM_BEHIND_NOTHING);
	ck_assert_int_eq(t_clock_shown(), t_clock_now.wall_ns);
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_CAUGHT_UP);
}
END_TEST

/* The pace of borrowing: time as it would have passed without the step, whatever follows. */
START_TEST(free_time_goes_on_as_if_nothing_had_stepped)
{
	int64_t before = t_clock_start_behind(AHEAD, HOUR);

	ck_assert_int_eq(sfd_clock_free_ns(&t_clock, t_clock_now.mono_ns), before);
	for (int i = 1; i <= 10; i++) {
		t_clock_pass(SECOND);
		if (i == 3)
			t_clock_now.wall_ns -= HOUR;
		if (i == 6)
			t_clock_now.wall_ns += 10 * SECOND;
		(void)t_clock_update();
		(void)sfd_clock_borrow(&t_clock, t_clock_now, before + SECOND / 2 * i);
		ck_assert_int_eq(sfd_clock_free_ns(&t_clock, t_clock_now.mono_ns),
				 before + SECOND * i);
		ck_assert_int_eq(t_clock_behind(), SF_SHM_BEHIND_BORROW);
	}
	/* another step, another time */
	t_clock_now.wall_ns += 5 * HOUR;
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_FORWARD);
	before = t_clock_shown();
	t_clock_now.wall_ns -= HOUR;
	ck_assert_int_eq(t_clock_update(), SFD_CLOCK_BACK);
	ck_assert_int_eq(sfd_clock_free_ns(&t_clock, t_clock_now.mono_ns), before);
}
END_TEST

START_TEST(borrow_of_what_is_past_changes_nothing)
{
	int64_t before = t_clock_start_behind(AHEAD, HOUR);
	const struct sfd_clock unchanged = t_clock;

	ck_assert(!sfd_clock_borrow(&t_clock, t_clock_now, before));
	ck_assert(!sfd_clock_borrow(&t_clock, t_clock_now, before - 1));
	ck_assert(!sfd_clock_borrow(&t_clock, t_clock_now, 0));
	ck_assert(!sfd_clock_borrow(&t_clock, t_clock_now, INT64_MIN / 2));
	ck_assert_mem_eq(&t_clock, &unchanged, sizeof(t_clock));
}
END_TEST

START_TEST(borrow_while_nothing_is_behind_changes_nothing)
{
	struct sfd_clock unchanged;

	t_clock_start(SFD_CLOCK_AHEAD);
	unchanged = t_clock;
	ck_assert(!sfd_clock_borrow(&t_clock, t_clock_now, t_clock_now.wall_ns + HOUR));
	ck_assert_mem_eq(&t_clock, &unchanged, sizeof(t_clock));
	(void)t_clock_start_behind(AHEAD, SECOND);
	t_clock_pass(SECOND); /* over, though no update has said so */
	unchanged = t_clock;
	ck_assert(!sfd_clock_borrow(&t_clock, t_clock_now, t_clock_now.wall_ns + HOUR));
	ck_assert_mem_eq(&t_clock, &unchanged, sizeof(t_clock));
}
END_TEST

START_TEST(borrow_under_another_policy_changes_nothing)
{
	int64_t before = t_clock_start_behind(_i, HOUR);
	const struct sfd_clock unchanged = t_clock;

	ck_assert(!sfd_clock_borrow(&t_clock, t_clock_now, before + SECOND));
	ck_assert_mem_eq(&t_clock, &unchanged, sizeof(t_clock));
}
END_TEST

void t_add_clock_borrow(Suite *suite)
{
	TCase *borrow = tcase_create("borrow");

	tcase_add_test(borrow, borrow_moves_where_time_stands_and_when_it_goes_on);
	tcase_add_test(borrow, free_time_goes_on_as_if_nothing_had_stepped);
	tcase_add_test(borrow, borrow_of_what_is_past_changes_nothing);
	tcase_add_test(borrow, borrow_while_nothing_is_behind_changes_nothing);
	tcase_add_loop_test(borrow, borrow_under_another_policy_changes_nothing, 0, AHEAD);
	suite_add_tcase(suite, borrow);
}
