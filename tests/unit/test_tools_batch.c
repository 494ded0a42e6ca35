/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Batches of IDs: what is asked of the library, and what is said when it refuses. The library's
 * calls are replaced by those of this file.
 */
#include "tools/batch.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REMAINING_MS 1234

/** What the next call returns, and how many IDs there are before it does. */
static int error_given;
static size_t left;
/** Which calls were made. */
static size_t fills;
static size_t fills128;

/* Definitions in the program come before those of the shared library. */
int sf_fill(struct sf_cursor *cursor, uint64_t *ret_ids, size_t count)
{
	(void)cursor;
	fills++;
	for (size_t i = 0; i < count; i++)
		ret_ids[i] = i + 1;
	return error_given;
}

int sf_fill128(struct sf_cursor *cursor, struct sf_wide *ret_ids, size_t count)
{
	(void)cursor;
	fills128++;
	for (size_t i = 0; i < count; i++)
		ret_ids[i] = (struct sf_wide){.high = 1, .low = i + 1};
	return error_given;
}

int sf_next_ordered(struct sf_cursor *cursor, uint64_t *ret_id)
{
	(void)cursor;
	if (left == 0)
		return error_given;
	*ret_id = 100 - left--;
	return 0;
}

int sf_next128_ordered(struct sf_cursor *cursor, struct sf_wide *ret_id)
{
	ret_id->high = 2;
	return sf_next_ordered(cursor, &ret_id->low);
}

int64_t sf_cursor_remaining_ms(const struct sf_cursor *cursor)
{
	(void)cursor;
	return REMAINING_MS;
}

static struct sfctl_batch batch;
static struct sf_why why;
static size_t got;

static int take(unsigned format, bool is_ordered, int error)
{
	batch.format = format;
	batch.is_ordered = is_ordered;
	error_given = error;
	got = 42;
	why.text[0] = '\0';
	return sfctl_batch_take(&batch, NULL, 5, &got, &why);
}

static const unsigned formats[] = {SF_FORMAT_SNOWFLAKE, SF_FORMAT_ULID, SF_FORMAT_UUID7,
				   SF_FORMAT_OBJECTID, SF_FORMAT_HOUND};

START_TEST(batch_take_of_a_format_asks_for_its_width)
{
	bool is_wide = formats[_i] != SF_FORMAT_SNOWFLAKE;

	ck_assert_int_eq(take(formats[_i], false, 0), 0);
	ck_assert_uint_eq(got, 5);
	ck_assert_uint_eq(fills, !is_wide);
	ck_assert_uint_eq(fills128, is_wide);
	ck_assert_uint_eq(is_wide ? batch.wide[4].low : batch.number[4], 5);
}
END_TEST

START_TEST(batch_take_refused_says_the_remaining_ms)
{
	ck_assert_int_eq(take(formats[_i], false, -ETIME), -ETIME);
	ck_assert_uint_eq(got, 0);
	ck_assert_str_eq(why.text, "the clock went back; refusing for another 1234 ms");
}
END_TEST

START_TEST(batch_take_ordered_refused_keeps_what_it_got)
{
	left = 3;
	ck_assert_int_eq(take(formats[_i], true, -ETIME), -ETIME);
	ck_assert_uint_eq(got, 3);
	ck_assert_uint_eq(_i == 0 ? batch.number[2] : batch.wide[2].low, 99);
	ck_assert_ptr_nonnull(strstr(why.text, " 1234 ms"));
	ck_assert_uint_eq(fills + fills128, 0);
}
END_TEST

START_TEST(batch_take_other_error_says_the_library_s_sentence)
{
	ck_assert_int_eq(take(formats[_i], false, -ESHUTDOWN), -ESHUTDOWN);
	ck_assert_str_eq(why.text, sf_strerror(-ESHUTDOWN));
}
END_TEST

/** One value of each format. */
static const struct {
	struct sf_wide id;
	const char *text;
	const char *hex;
} forms[] = {
	{{0, UINT64_C(1593572310593806338)}, "1593572310593806338", "161d8192c8d7a002"},
	{{UINT64_C(0x01563e3ab5d3d676), UINT64_C(0x4c61efb99302bd5b)},
	 "01ARZ3NDEKTSV4RRFFQ69G5FAV",
	 "01563e3ab5d3d6764c61efb99302bd5b"},
	{{UINT64_C(0x017f22e279b07cc3), UINT64_C(0x98c4dc0c0c07398f)},
	 "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
	 "017f22e279b07cc398c4dc0c0c07398f"},
	{{UINT64_C(0x5fd0f17e), UINT64_C(0x8e840df1c9687f37)},
	 "5fd0f17e8e840df1c9687f37",
	 "5fd0f17e8e840df1c9687f37"},
	/* 1557935521000 ms, 02:42:ac:11:00:02, client 0x1234, sequence 0 */
	{{UINT64_C(0x016abc317ce80242), UINT64_C(0xac11000212340000)},
	 "41d7370d6840000000000242ac11000212340000004d",
	 "41d7370d6840000000000242ac11000212340000004d"},
};

START_TEST(batch_text_and_bytes_are_canonical)
{
	char text[SF_WIDE_TEXT_MAX + 1];
	char hex[2 * SF_WIDE_BYTES_MAX + 1] = "";
	uint8_t bytes[SF_WIDE_BYTES_MAX];
	size_t length;

	batch.format = formats[_i];
	if (_i == 0)
		batch.number[7] = forms[_i].id.low;
	else
		batch.wide[7] = forms[_i].id;
	text[sfctl_batch_text(&batch, 7, text)] = '\0';
	ck_assert_str_eq(text, forms[_i].text);
	length = sfctl_batch_bytes(&batch, 7, bytes);
	for (size_t i = 0; i < length; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	ck_assert_str_eq(hex, forms[_i].hex);
}
END_TEST

static Suite *batch_suite(void)
{
	Suite *suite = suite_create("tools_batch");
	TCase *tests = tcase_create("batch");
	const int count = sizeof(formats) / sizeof(formats[0]);

	tcase_add_loop_test(tests, batch_take_of_a_format_asks_for_its_width, 0, count);
	tcase_add_loop_test(tests, batch_take_refused_says_the_remaining_ms, 0, count);
	tcase_add_loop_test(tests, batch_take_ordered_refused_keeps_what_it_got, 0, count);
	tcase_add_loop_test(tests, batch_take_other_error_says_the_library_s_sentence, 0, count);
	tcase_add_loop_test(tests, batch_text_and_bytes_are_canonical, 0, count);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(batch_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
