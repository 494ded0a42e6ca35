/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/sync.c: what is made of the kernel's answers. The product's file is included as source, so
 * that it asks the test.
 */
#include <sys/timex.h>

static int answer(struct timex *timex);

/* NOLINTNEXTLINE(readability-identifier-naming): the name is the system's */
#define adjtimex answer
#include "daemon/sync.c" /* NOLINT(bugprone-suspicious-include) */
#undef adjtimex

#include <check.h>
#include <stdlib.h>

static const struct row {
	int clock_state;
	int status;
	long max_error_us;
	enum sfd_sync_state state;
	enum sfd_leap leap;
} rows[] = {
	{TIME_OK, STA_PLL, 12345, SFD_SYNC_GOOD, SFD_LEAP_NONE},
	{TIME_INS, STA_PLL | STA_INS, 12345, SFD_SYNC_GOOD, SFD_LEAP_INSERT},
	{TIME_DEL, STA_PLL | STA_DEL, 12345, SFD_SYNC_GOOD, SFD_LEAP_DELETE},
	{TIME_OOP, STA_PLL | STA_INS, 12345, SFD_SYNC_GOOD, SFD_LEAP_NOW},
	{TIME_WAIT, STA_PLL | STA_INS, 12345, SFD_SYNC_GOOD, SFD_LEAP_PASSED},
	/* chronyd without rtcsync */
	{TIME_ERROR, STA_PLL | STA_UNSYNC, 12345, SFD_SYNC_GOOD, SFD_LEAP_NONE},
	/* the bound has grown for half a day, and after a boot */
	{TIME_ERROR, STA_UNSYNC, 16000000, SFD_SYNC_BAD, SFD_LEAP_NONE},
	{TIME_OK, STA_PLL, 15999999, SFD_SYNC_GOOD, SFD_LEAP_NONE},
};
static const struct row *row_now;

static int answer(struct timex *timex)
{
	ck_assert_uint_eq(timex->modes, 0); /* only asks */
	if (!row_now) {
		errno = EPERM;
		return -1;
	}
	timex->status = row_now->status;
	timex->maxerror = row_now->max_error_us;
	timex->esterror = 7;
	return row_now->clock_state;
}

START_TEST(read_goes_by_the_bound_of_the_error)
{
	struct sfd_sync sync;

	row_now = &rows[_i];
	sync = sfd_sync_read();
	ck_assert_int_eq(sync.state, row_now->state);
	ck_assert_int_eq(sync.leap, row_now->leap);
	ck_assert_int_eq(sync.error_max_us, row_now->max_error_us);
	ck_assert_int_eq(sync.error_est_us, 7);
	ck_assert_int_eq(sync.error, 0);
}
END_TEST

START_TEST(read_that_is_forbidden_is_no_opinion)
{
	struct sfd_sync sync;

	row_now = NULL;
	sync = sfd_sync_read();
	ck_assert_int_eq(sync.state, SFD_SYNC_UNKNOWN);
	ck_assert_int_eq(sync.leap, SFD_LEAP_NONE);
	ck_assert_int_eq(sync.error, -EPERM);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sync");
	TCase *cases = tcase_create("read");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_loop_test(cases, read_goes_by_the_bound_of_the_error, 0,
			    sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(cases, read_that_is_forbidden_is_no_opinion);
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
