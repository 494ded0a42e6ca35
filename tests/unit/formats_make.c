/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Makers of single IDs: times out of range, and a random source that gives extremes or nothing.
 */
#include "tests/unit/formats_suite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

static enum entropy {
	ENTROPY_KERNEL,
	ENTROPY_ONES,
	ENTROPY_ZEROS,
	ENTROPY_INTERRUPTED, /* once; then ones */
	ENTROPY_FORBIDDEN,
} entropy;
static unsigned entropy_calls;

/* Stands in for the C library's, in the whole program. */
ssize_t getrandom(void *buffer, size_t length, unsigned flags)
{
	entropy_calls++;
	switch (entropy) {
	case ENTROPY_INTERRUPTED:
		entropy = ENTROPY_ONES;
		errno = EINTR;
		return -1;
	case ENTROPY_FORBIDDEN:
		errno = EPERM;
		return -1;
	case ENTROPY_ONES:
		(void)memset(buffer, 0xff, length);
		return (ssize_t)length;
	case ENTROPY_ZEROS:
		(void)memset(buffer, 0, length);
		return (ssize_t)length;
	case ENTROPY_KERNEL:
	default:
		return syscall(SYS_getrandom, buffer, length, flags);
	}
}

/** The makers and composers, alike in how they are called. */
struct maker {
	unsigned format;
	int64_t time_max;
	int (*make)(int64_t time, struct sf_wide *ret_id, struct sf_why *why);
	const char *ones;
	const char *zeros;
};

static int compose_ulid(int64_t time, struct sf_wide *ret_id, struct sf_why *why)
{
	return sf_ulid_compose(time, &(struct sf_wide){0, 0}, ret_id, why);
}

static int compose_uuid7(int64_t time, struct sf_wide *ret_id, struct sf_why *why)
{
	return sf_uuid7_compose(time, &(struct sf_wide){0, 0}, ret_id, why);
}

static int compose_objectid(int64_t time, struct sf_wide *ret_id, struct sf_why *why)
{
	return sf_objectid_compose(time, 0, ret_id, why);
}

/* The texts are of time 1. */
static const struct maker makers[] = {
	{SF_FORMAT_ULID, SF_WIDE_MS_MAX, sf_ulid_make, "0000000001ZZZZZZZZZZZZZZZZ",
	 "00000000010000000000000000"},
	{SF_FORMAT_UUID7, SF_WIDE_MS_MAX, sf_uuid7_make, "00000000-0001-7fff-bfff-ffffffffffff",
	 "00000000-0001-7000-8000-000000000000"},
	{SF_FORMAT_OBJECTID, SF_OBJECTID_S_MAX, sf_objectid_make, "00000001ffffffffffffffff",
	 "000000010000000000000000"},
	{SF_FORMAT_ULID, SF_WIDE_MS_MAX, compose_ulid, NULL, NULL},
	{SF_FORMAT_UUID7, SF_WIDE_MS_MAX, compose_uuid7, NULL, NULL},
	{SF_FORMAT_OBJECTID, SF_OBJECTID_S_MAX, compose_objectid, NULL, NULL},
};
/* Those of them that draw random bits come first. */
#define RANDOM_MAKERS 3

START_TEST(fc19_time_out_of_range_is_refused)
{
	const struct maker *maker = &makers[_i];
	const int64_t times[] = {-1, -10000, INT64_MIN, maker->time_max + 1, INT64_MAX};

	for (size_t i = 0; i < T_COUNT(times); i++) {
		struct sf_wide id = {7, 7};
		struct sf_why why;
		char said[96];

		(void)snprintf(said, sizeof(said), "time %lld does not fit", (long long)times[i]);
		ck_assert_int_eq(maker->make(times[i], &id, &why), -ERANGE);
		ck_assert_ptr_nonnull(strstr(why.text, said));
		(void)snprintf(said, sizeof(said), "[0,%lld]", (long long)maker->time_max);
		ck_assert_ptr_nonnull(strstr(why.text, said));
		ck_assert_uint_eq(id.high, 7);
		ck_assert_uint_eq(id.low, 7);
		ck_assert_int_eq(maker->make(times[i], &id, NULL), -ERANGE);
	}
}
END_TEST

START_TEST(fc19_first_and_last_time_give_it_back)
{
	const struct maker *maker = &makers[_i];
	const int64_t times[] = {0, 1, maker->time_max};

	for (size_t i = 0; i < T_COUNT(times); i++) {
		struct sf_wide id;
		struct sf_why why;
		int64_t unix_ms;

		ck_assert_int_eq(maker->make(times[i], &id, &why), 0);
		ck_assert_str_eq(why.text, "");
		ck_assert_int_eq(sf_wide_unix_ms(maker->format, &id, &unix_ms), 0);
		ck_assert_int_eq(unix_ms,
				 times[i] * (maker->format == SF_FORMAT_OBJECTID ? 1000 : 1));
	}
}
END_TEST

static void assert_made(const struct maker *maker, const char *want)
{
	char text[SF_WIDE_TEXT_MAX];
	struct sf_wide id;

	ck_assert_int_eq(maker->make(1, &id, NULL), 0);
	ck_assert_int_gt(sf_wide_format(maker->format, &id, text), 0);
	ck_assert_str_eq(text, want);
}

/* All random bits are used, and nothing but they. */
START_TEST(fc38_made_of_extreme_random_bits_keeps_the_time)
{
	entropy = ENTROPY_ONES;
	assert_made(&makers[_i], makers[_i].ones);
	entropy = ENTROPY_ZEROS;
	assert_made(&makers[_i], makers[_i].zeros);
}
END_TEST

START_TEST(make_interrupted_by_a_signal_tries_again)
{
	entropy = ENTROPY_INTERRUPTED;
	entropy_calls = 0;
	assert_made(&makers[_i], makers[_i].ones);
	ck_assert_uint_eq(entropy_calls, 2);
}
END_TEST

START_TEST(make_without_random_bits_fails)
{
	struct sf_wide id = {7, 7};
	struct sf_why why;

	entropy = ENTROPY_FORBIDDEN;
	ck_assert_int_eq(makers[_i].make(1, &id, &why), -EPERM);
	ck_assert_ptr_nonnull(strstr(why.text, "getrandom: "));
	ck_assert_uint_eq(id.high, 7);
	ck_assert_uint_eq(id.low, 7);
}
END_TEST

START_TEST(make_twice_differs)
{
	struct sf_wide id[2];

	ck_assert_int_eq(makers[_i].make(1, &id[0], NULL), 0);
	ck_assert_int_eq(makers[_i].make(1, &id[1], NULL), 0);
	ck_assert_int_ne(sf_wide_compare(&id[0], &id[1]), 0);
}
END_TEST

static void set_up(void)
{
	entropy = ENTROPY_KERNEL;
}

void t_add_formats_make(Suite *suite)
{
	TCase *make = tcase_create("single ids");

	tcase_add_checked_fixture(make, set_up, NULL);
	tcase_add_loop_test(make, fc19_time_out_of_range_is_refused, 0, T_COUNT(makers));
	tcase_add_loop_test(make, fc19_first_and_last_time_give_it_back, 0, T_COUNT(makers));
	tcase_add_loop_test(make, fc38_made_of_extreme_random_bits_keeps_the_time, 0,
			    RANDOM_MAKERS);
	tcase_add_loop_test(make, make_interrupted_by_a_signal_tries_again, 0, RANDOM_MAKERS);
	tcase_add_loop_test(make, make_without_random_bits_fails, 0, RANDOM_MAKERS);
	tcase_add_loop_test(make, make_twice_differs, 0, RANDOM_MAKERS);
	suite_add_tcase(suite, make);
}
