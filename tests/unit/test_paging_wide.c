/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Ranges of 128-bit values of an interval.
 */
#include "tests/support/random.h"

#include <check.h>
#include <errno.h>
#include <sfpaging.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define ROUNDS 20000u

static const struct {
	unsigned format;
	int64_t since_ms;
	int64_t until_ms;
	const char *first;
	const char *last;
} ranges[] = {
	/* 1469922850259 ms: the ULID specification's 01ARZ3NDEK; 1645557742000: RFC 9562, A.6 */
	{SF_FORMAT_ULID, 1469922850259, 1469922850260, "01ARZ3NDEK0000000000000000",
	 "01ARZ3NDEKZZZZZZZZZZZZZZZZ"},
	{SF_FORMAT_ULID, 0, SF_WIDE_MS_MAX + 1, "00000000000000000000000000",
	 "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"},
	{SF_FORMAT_UUID7, 1645557742000, 1645557742001, "017f22e2-79b0-7000-8000-000000000000",
	 "017f22e2-79b0-7fff-bfff-ffffffffffff"},
	{SF_FORMAT_UUID7, 0, SF_WIDE_MS_MAX + 1, "00000000-0000-7000-8000-000000000000",
	 "ffffffff-ffff-7fff-bfff-ffffffffffff"},
	/* a second: 0x507f1f77 is 1350508407; both ends are rounded down to theirs */
	{SF_FORMAT_OBJECTID, 1350508407999, 1350508408999, "507f1f770000000000000000",
	 "507f1f77ffffffffffffffff"},
	{SF_FORMAT_OBJECTID, 1350508407000, 1350508409000, "507f1f770000000000000000",
	 "507f1f78ffffffffffffffff"},
	{SF_FORMAT_OBJECTID, 0, SF_OBJECTID_S_MAX * 1000 + 1000, "000000000000000000000000",
	 "ffffffffffffffffffffffff"},
};

START_TEST(wide_range_of_an_interval_is_from_its_smallest_to_its_largest)
{
	struct sf_wide first = {7, 7};
	struct sf_wide last = {7, 7};
	char text[SF_WIDE_TEXT_MAX];
	struct sf_why why;

	ck_assert_int_eq(sf_wide_range(ranges[_i].format, ranges[_i].since_ms, ranges[_i].until_ms,
				       &first, &last, &why),
			 0);
	ck_assert_str_eq(why.text, "");
	ck_assert_int_gt(sf_wide_format(ranges[_i].format, &first, text), 0);
	ck_assert_str_eq(text, ranges[_i].first);
	ck_assert_int_gt(sf_wide_format(ranges[_i].format, &last, text), 0);
	ck_assert_str_eq(text, ranges[_i].last);
}
END_TEST

static void make(unsigned format, int64_t unix_ms, struct sf_wide *ret_id)
{
	struct sf_wide counter = {t_random(), t_random()};

	/* the ends of a tick are likelier than what lies between */
	if (t_random() % 2)
		counter = (struct sf_wide){0, 0};
	else if (t_random() % 2)
		counter = (struct sf_wide){UINT64_MAX, UINT64_MAX};
	if (format == SF_FORMAT_ULID) {
		counter.high &= 0xffff;
		ck_assert_int_eq(sf_ulid_compose(unix_ms, &counter, ret_id, NULL), 0);
	} else if (format == SF_FORMAT_UUID7) {
		counter.high &= 0x3ff;
		ck_assert_int_eq(sf_uuid7_compose(unix_ms, &counter, ret_id, NULL), 0);
	} else {
		ck_assert_int_eq(sf_objectid_compose(unix_ms / 1000, counter.low, ret_id, NULL), 0);
	}
}

START_TEST(wide_range_of_any_interval_holds_just_its_values)
{
	unsigned format = (unsigned)_i;
	int64_t tick_ms = format == SF_FORMAT_OBJECTID ? 1000 : 1;

	t_random_seed();
	for (unsigned round = 0; round < ROUNDS; round++) {
		int64_t base = (int64_t)(t_random_of_any_width() % 4000000000000);
		int64_t since = base + (int64_t)(t_random() % 40) * tick_ms / 4;
		int64_t until = base + (int64_t)(t_random() % 40) * tick_ms / 4;
		int64_t time = base + (int64_t)(t_random() % 40) * tick_ms / 4;
		struct sf_wide first = {7, 7};
		struct sf_wide last = {7, 7};
		struct sf_wide id;
		int r = sf_wide_range(format, since, until, &first, &last, NULL);

		make(format, time, &id);
		if (until / tick_ms <= since / tick_ms) {
			ck_assert_int_eq(r, -EINVAL);
			ck_assert(first.high == 7 && first.low == 7);
			ck_assert(last.high == 7 && last.low == 7);
			continue;
		}
		ck_assert_int_eq(r, 0);
		ck_assert((sf_wide_compare(&first, &id) <= 0 && sf_wide_compare(&id, &last) <= 0) ==
			  (since / tick_ms <= time / tick_ms && time / tick_ms < until / tick_ms));
	}
}
END_TEST

static const struct {
	unsigned format;
	int error;
	int64_t since_ms;
	int64_t until_ms;
	const char *sentence;
} refusals[] = {
	{SF_FORMAT_SNOWFLAKE, -EINVAL, 0, 5000,
	 "format snowflake (0) has no ranges of 128-bit values"},
	{SF_FORMAT_HOUND, -EINVAL, 0, 5000, "format hound (4) has no ranges"},
	{99, -EINVAL, 0, 5000, "format unknown (99) has no ranges"},
	{SF_FORMAT_ULID, -EINVAL, 5, 5, "no whole tick of 1 ms"},
	{SF_FORMAT_ULID, -EINVAL, 5, 4, "no whole tick of 1 ms"},
	{SF_FORMAT_OBJECTID, -EINVAL, 1000, 1999, "no whole tick of 1000 ms"},
	{SF_FORMAT_ULID, -ERANGE, -1, 5,
	 "-1 ms lies outside the ulid format; legal is "
	 "[0,281474976710655]"},
	{SF_FORMAT_UUID7, -ERANGE, INT64_MIN, 5, "outside the uuid7 format"},
	{SF_FORMAT_ULID, -ERANGE, 5, -1, "-1 ms lies outside the ulid format"},
	{SF_FORMAT_ULID, -ERANGE, SF_WIDE_MS_MAX + 1, SF_WIDE_MS_MAX + 1,
	 "281474976710656 ms lies outside"},
	{SF_FORMAT_UUID7, -ERANGE, 5, SF_WIDE_MS_MAX + 2, "281474976710657 ms lies outside"},
	{SF_FORMAT_UUID7, -ERANGE, 5, INT64_MAX, "outside the uuid7 format"},
	{SF_FORMAT_OBJECTID, -ERANGE, -1, 5000,
	 "-1 ms lies outside the objectid format; legal is "
	 "[0,4294967295999]"},
	{SF_FORMAT_OBJECTID, -ERANGE, 0, 4294967296001, "4294967296001 ms lies outside"},
};

START_TEST(wide_range_of_another_format_or_interval_is_refused)
{
	struct sf_wide first = {7, 7};
	struct sf_wide last = {7, 7};
	struct sf_why why;

	ck_assert_int_eq(sf_wide_range(refusals[_i].format, refusals[_i].since_ms,
				       refusals[_i].until_ms, &first, &last, &why),
			 refusals[_i].error);
	ck_assert_msg(strstr(why.text, refusals[_i].sentence), "%s", why.text);
	ck_assert(first.high == 7 && first.low == 7 && last.high == 7 && last.low == 7);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("paging wide");
	TCase *range = tcase_create("range");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_loop_test(range, wide_range_of_an_interval_is_from_its_smallest_to_its_largest, 0,
			    LENGTH(ranges));
	tcase_add_loop_test(range, wide_range_of_any_interval_holds_just_its_values, SF_FORMAT_ULID,
			    SF_FORMAT_OBJECTID + 1);
	tcase_add_loop_test(range, wide_range_of_another_format_or_interval_is_refused, 0,
			    LENGTH(refusals));
	suite_add_tcase(suite, range);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
