/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The builder of content IDs: what it refuses, with which error, and what comes after.
 */
#include "tests/unit/content_suite.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/** What a failed call must leave behind. */
static void assert_failed(struct sf_content *content, int result, int error, const char *reason)
{
	char id[SF_CONTENT_ID_MAX] = "untouched";

	ck_assert_int_eq(result, error);
	ck_assert_msg(strstr(sf_content_why(content), reason) != NULL, "\"%s\" does not say \"%s\"",
		      sf_content_why(content), reason);
	/* every call refuses with the first error, and the sentence stays */
	ck_assert_int_eq(sf_content_null(content), error);
	ck_assert_int_eq(sf_content_integer(content, "x", 1), error);
	ck_assert_int_eq(sf_content_begin(content, SF_CONTENT_LIST), error);
	ck_assert_int_eq(sf_content_begin(content, 9), error);
	ck_assert_int_eq(sf_content_feed(content, "a", 1), error);
	ck_assert_int_eq(sf_content_end(content), error);
	ck_assert_int_eq(sf_content_json(content, "1", 1), error);
	ck_assert_int_eq(sf_content_json_end(content), error);
	ck_assert_int_eq(sf_content_finish(content, id), error);
	ck_assert_int_eq(sf_content_uuid5(content, NULL, id), error);
	ck_assert_str_eq(id, "untouched");
	ck_assert_ptr_nonnull(strstr(sf_content_why(content), reason));
	/* and is as new after a reset */
	sf_content_reset(content);
	ck_assert_str_eq(sf_content_why(content), "");
	ck_assert_int_eq(sf_content_null(content), 0);
	ck_assert_int_eq(sf_content_finish(content, id), 64);
	ck_assert_str_eq(id, t_content_of(SF_CONTENT_SFD_1, 64, "null").id);
}

/* Words whose last one is refused. */
static const struct {
	const char *words;
	int error;
	const char *reason;
} refused[] = {
	{"1 2", -EINVAL, "the value is complete"},
	{"[ ] 1", -EINVAL, "the value is complete"},
	{"]", -EINVAL, "nothing is open"},
	{"[ ] ]", -EINVAL, "nothing is open"},
	{"{ 'a' }", -EINVAL, "key number 1 of a map has no value"},
	{"{ 'a' 1 'b' }", -EINVAL, "key number 2 of a map has no value"},
	{"{ {", -EINVAL, "a map cannot be a key"},
	{"{ [ 1 [ {", -EINVAL, "a map cannot be a key"},
	{"{ 'a' 1 'b' 2 'a' 3 }", -EEXIST, "are number 1 and 3"},
	{"{ 1 1 [ ] 2 [ ] 2 }", -EEXIST, "are number 2 and 3"},
	{"[ { dnan 1 d-nan 2 }", -EEXIST, "are number 1 and 2"},
	{"00", -EINVAL, "\"00\" is no integer"},
	{"-", -EINVAL, "\"-\" is no integer"},
	{"-01", -EINVAL, "\"-01\" is no integer"},
	{"1x", -EINVAL, "\"1x\" is no integer"},
	{"--1", -EINVAL, "\"--1\" is no integer"},
	{"'\xff'", -EILSEQ, "byte 1, 0xff"},
	{"'a\xc0\x80'", -EILSEQ, "byte 2, 0xc0"},
	{"'\xed\xa0\x80'", -EILSEQ, "byte 2, 0xa0"},
	{"'\xe0\x80\x80'", -EILSEQ, "byte 2, 0x80"},
	{"'\xf0\x8f\xbf\xbf'", -EILSEQ, "byte 2, 0x8f"},
	{"'\xf4\x90\x80\x80'", -EILSEQ, "byte 2, 0x90"},
	{"'\xf5\x80\x80\x80'", -EILSEQ, "byte 1, 0xf5"},
	{"'abc\xe2\x82'", -EILSEQ, "text of 5 bytes ends within a character"},
	{"'\x80'", -EILSEQ, "byte 1, 0x80"},
	{"'\xc3'", -EILSEQ, "ends within a character"},
	{"?set", -ENOTSUP, "no rule for type \"set\""},
};

START_TEST(feed_of_what_has_no_id_is_refused)
{
	struct sf_content *content = t_content_open(SF_CONTENT_SFD_1, 64, false);

	assert_failed(content, t_content_feed(content, refused[_i].words), refused[_i].error,
		      refused[_i].reason);
	sf_content_close(content);
}
END_TEST

static void open_text(struct sf_content *content)
{
	ck_assert_int_eq(sf_content_begin(content, SF_CONTENT_TEXT), 0);
}

static void open_json(struct sf_content *content)
{
	ck_assert_int_eq(sf_content_json(content, "[", 1), 0);
}

static int finish(struct sf_content *content)
{
	char id[SF_CONTENT_ID_MAX];

	return sf_content_finish(content, id);
}

static int feed_one(struct sf_content *content)
{
	return sf_content_feed(content, "a", 1);
}

static int begin_unknown(struct sf_content *content)
{
	return sf_content_begin(content, 5);
}

static void nothing(struct sf_content *content)
{
	(void)content;
}

static void feed_list(struct sf_content *content)
{
	ck_assert_int_eq(t_content_feed(content, "[ 1"), 0);
}

/* Calls at the wrong moment. */
static const struct {
	void (*before)(struct sf_content *content);
	int (*call)(struct sf_content *content);
	const char *reason;
} misused[] = {
	{nothing, finish, "no value"},
	{nothing, feed_one, "no text or bytes is open"},
	{nothing, sf_content_json_end, "no JSON document is open"},
	{nothing, begin_unknown, "5 is not a kind"},
	{feed_list, finish, "a list or map is open"},
	{feed_list, feed_one, "no text or bytes is open"},
	{open_text, finish, "a text or bytes is open"},
	{open_text, sf_content_null, "a text or bytes is open"},
	{open_text, sf_content_json_end, "no JSON document is open"},
	{open_json, sf_content_null, "a JSON document is open"},
	{open_json, sf_content_end, "a JSON document is open"},
	{open_json, feed_one, "no text or bytes is open"},
	{open_json, finish, "a JSON document is open"},
};

START_TEST(call_at_the_wrong_moment_is_refused)
{
	struct sf_content *content = t_content_open(SF_CONTENT_SFD_1, 64, false);

	misused[_i].before(content);
	assert_failed(content, misused[_i].call(content), -EINVAL, misused[_i].reason);
	sf_content_close(content);
}
END_TEST

START_TEST(begin_deeper_than_the_limit_is_refused)
{
	struct sf_content *content = t_content_open(SF_CONTENT_SFD_1, 64, false);

	for (int i = 0; i < SF_CONTENT_DEPTH_MAX; i++)
		ck_assert_int_eq(sf_content_begin(content, SF_CONTENT_LIST), 0);
	ck_assert_int_eq(sf_content_null(content), 0);
	assert_failed(content, sf_content_begin(content, SF_CONTENT_MAP), -EOVERFLOW, "512");
	sf_content_close(content);
}
END_TEST

START_TEST(begin_up_to_the_limit_is_fine_again_and_again)
{
	struct sf_content *content = t_content_open(SF_CONTENT_COOLA, 64, false);

	for (int round = 0; round < 2; round++) {
		sf_content_reset(content);
		for (int i = 0; i < SF_CONTENT_DEPTH_MAX; i++) {
			ck_assert_int_eq(sf_content_begin(content, SF_CONTENT_MAP), 0);
			ck_assert_int_eq(sf_content_int64(content, i), 0);
		}
		ck_assert_int_eq(sf_content_null(content), 0);
		for (int i = 0; i < SF_CONTENT_DEPTH_MAX; i++)
			ck_assert_int_eq(sf_content_end(content), 0);
		ck_assert_int_eq(finish(content), 64);
	}
	sf_content_close(content);
}
END_TEST

START_TEST(open_with_options_out_of_range_is_refused)
{
	static const struct {
		struct sf_content_options options;
		const char *reason;
	} rows[] = {
		{{0, SF_CONTENT_SFD_1, 64, 0}, "size of the options is 0"},
		{{sizeof(struct sf_content_options) + 1, SF_CONTENT_SFD_1, 64, 0}, "17"},
		{{sizeof(struct sf_content_options), 3, 64, 0}, "no profile 3"},
		{{sizeof(struct sf_content_options), 0, 63, 0}, "63 digits"},
		{{sizeof(struct sf_content_options), 0, UINT32_MAX - 1, 0}, "even numbers"},
	};
	struct sf_content *content = NULL;

	for (size_t i = 0; i < T_COUNT(rows); i++) {
		char id[SF_CONTENT_ID_MAX] = "untouched";
		struct sf_why why;

		ck_assert_int_eq(sf_content_open(&rows[i].options, &content, &why), -EINVAL);
		ck_assert_ptr_null(content);
		ck_assert_msg(strstr(why.text, rows[i].reason) != NULL, "%s", why.text);
		ck_assert_int_eq(sf_content_open(&rows[i].options, &content, NULL), -EINVAL);
		ck_assert_int_eq(sf_content_id_bytes(&rows[i].options, "", 0, id, &why), -EINVAL);
		ck_assert_int_eq(sf_content_id_json(&rows[i].options, "1", 1, id, NULL), -EINVAL);
		ck_assert_str_eq(id, "untouched");
	}
}
END_TEST

START_TEST(profile_of_names_is_the_inverse_of_names)
{
	ck_assert_int_eq(sf_content_profile_of("sfd-1"), SF_CONTENT_SFD_1);
	ck_assert_int_eq(sf_content_profile_of("coola"), SF_CONTENT_COOLA);
	ck_assert_int_eq(sf_content_profile_of("coola-1.1"), SF_CONTENT_COOLA_1_1);
	for (uint32_t profile = 0; profile < 3; profile++)
		ck_assert_int_eq(sf_content_profile_of(sf_content_profile_name(profile)), profile);
	ck_assert_int_eq(sf_content_profile_of("Coola"), -EINVAL);
	ck_assert_int_eq(sf_content_profile_of(""), -EINVAL);
	ck_assert_ptr_null(sf_content_profile_name(3));
}
END_TEST

START_TEST(finish_twice_gives_the_same_and_more_is_refused)
{
	struct sf_content *content = t_content_open(SF_CONTENT_SFD_1, 64, false);
	char first[SF_CONTENT_ID_MAX];
	char second[SF_CONTENT_ID_MAX];

	ck_assert_int_eq(t_content_feed(content, "{ 'a' [ 1 ] }"), 0);
	ck_assert_int_eq(sf_content_finish(content, first), 64);
	ck_assert_int_eq(sf_content_finish(content, second), 64);
	ck_assert_str_eq(first, second);
	assert_failed(content, sf_content_null(content), -EINVAL, "complete");
	sf_content_close(content);
	sf_content_close(NULL);
}
END_TEST

START_TEST(uuid5_without_128_digits_or_namespace_is_refused)
{
	struct sf_content *content = t_content_open(SF_CONTENT_COOLA, 64, false);
	char uuid[SF_CONTENT_UUID_MAX] = "untouched";

	ck_assert_int_eq(sf_content_null(content), 0);
	ck_assert_int_eq(sf_content_uuid5(content, NULL, uuid), -EINVAL);
	ck_assert_ptr_nonnull(strstr(sf_content_why(content), "128 digits, not of 64"));
	sf_content_close(content);
	content = t_content_open(SF_CONTENT_COOLA, 128, false);
	ck_assert_int_eq(sf_content_null(content), 0);
	ck_assert_int_eq(sf_content_uuid5(content, "2b6f6a52", uuid), -EINVAL);
	ck_assert_ptr_nonnull(strstr(sf_content_why(content), "\"2b6f6a52\" is no UUID"));
	ck_assert_str_eq(uuid, "untouched");
	sf_content_close(content);
}
END_TEST

START_TEST(order_of_pairs_does_not_count_in_any_profile)
{
	for (uint32_t profile = 0; profile < 3; profile++) {
		const char *id = t_content_of(profile, 64, "{ 'a' 1 'b' 2 'ab' 3 '' 4 }").id;
		char first[SF_CONTENT_ID_MAX];

		(void)snprintf(first, sizeof(first), "%s", id);
		ck_assert_uint_eq(strlen(first), 64);
		ck_assert_str_eq(t_content_of(profile, 64, "{ '' 4 'ab' 3 'b' 2 'a' 1 }").id,
				 first);
		ck_assert_str_ne(t_content_of(profile, 64, "{ '' 3 'ab' 4 'b' 2 'a' 1 }").id,
				 first);
	}
}
END_TEST

START_TEST(end_coola_1_1_orders_integers_by_value)
{
	/* that the order is by value shows in the vectors for small ones; here that it is one */
	static const char *const words[] = {
		"{ -10 1 -9 2 0 3 9 4 10 5 100000000000000000000 6 }",
		"{ 100000000000000000000 6 10 5 -10 1 9 4 0 3 -9 2 }",
		"{ 9 4 -9 2 100000000000000000000 6 0 3 -10 1 10 5 }",
	};
	/* A list has the digests in the order that they stand. */
	static const char in_order[] = "[ -10 1 -9 2 0 3 9 4 10 5 100000000000000000000 6 ]";
	struct t_content want = t_content_of(SF_CONTENT_COOLA_1_1, 64, in_order);

	ck_assert_int_eq(want.error, 0);
	for (size_t i = 0; i < T_COUNT(words); i++)
		ck_assert_str_eq(t_content_of(SF_CONTENT_COOLA_1_1, 64, words[i]).id, want.id);
}
END_TEST

START_TEST(end_coola_1_1_orders_bytes_and_texts_by_bytes)
{
	ck_assert_str_eq(t_content_of(SF_CONTENT_COOLA_1_1, 64, "{ xff 1 x 2 x0000 3 x00 4 }").id,
			 t_content_of(SF_CONTENT_COOLA_1_1, 64, "[ x 2 x00 4 x0000 3 xff 1 ]").id);
	ck_assert_str_eq(t_content_of(SF_CONTENT_COOLA_1_1, 64,
				      "{ '\U0001f600' 1 '\uffff' 2 'b' 3 'ab' 4 'a' 5 }")
				 .id,
			 t_content_of(SF_CONTENT_COOLA_1_1, 64,
				      "[ 'a' 5 'ab' 4 'b' 3 '\uffff' 2 '\U0001f600' 1 ]")
				 .id);
}
END_TEST

START_TEST(end_coola_1_1_refuses_keys_without_order)
{
	static const char *const words[] = {
		"{ d1 1 d2 2 }",   "{ [ 1 ] 1 [ 2 ] 2 }", "{ 1 1 'a' 2 }",
		"{ 'a' 1 xff 2 }", "{ null 1 true 2 }",   "{ 'a' 1 'b' 2 'c' 3 1 4 }",
	};

	for (size_t i = 0; i < T_COUNT(words); i++) {
		struct t_content made = t_content_of(SF_CONTENT_COOLA_1_1, 64, words[i]);

		ck_assert_msg(made.error == -ENOTSUP, "%s", words[i]);
		ck_assert_ptr_nonnull(strstr(made.why.text, "coola-1.1"));
		ck_assert_int_eq(t_content_of(SF_CONTENT_COOLA, 64, words[i]).error, 0);
	}
}
END_TEST

START_TEST(int64_and_integer_text_are_the_same)
{
	static const struct {
		int64_t value;
		const char *words;
	} rows[] = {
		{0, "-0"},
		{0, "0"},
		{-1, "-1"},
		{INT64_MAX, "9223372036854775807"},
		{INT64_MIN, "-9223372036854775808"},
	};

	for (size_t i = 0; i < T_COUNT(rows); i++) {
		struct sf_content *content = t_content_open(SF_CONTENT_SFD_1, 64, false);
		char id[SF_CONTENT_ID_MAX];

		ck_assert_int_eq(sf_content_int64(content, rows[i].value), 0);
		ck_assert_int_eq(sf_content_finish(content, id), 64);
		ck_assert_str_eq(id, t_content_of(SF_CONTENT_SFD_1, 64, rows[i].words).id);
		sf_content_close(content);
	}
}
END_TEST

START_TEST(unsupported_with_an_empty_name_is_refused)
{
	struct sf_content *content = t_content_open(SF_CONTENT_SFD_1, 64, true);

	assert_failed(content, sf_content_unsupported(content, ""), -EINVAL, "empty");
	sf_content_close(content);
}
END_TEST

START_TEST(json_as_a_part_of_a_value_is_that_value)
{
	static const char json[] = " {\"k\" : [1, 2]} ";

	for (uint32_t profile = 0; profile < 3; profile++) {
		struct sf_content *content = t_content_open(profile, 64, false);
		char id[SF_CONTENT_ID_MAX];

		ck_assert_int_eq(t_content_feed(content, "{ 'a' ["), 0);
		for (int i = 0; i < 2; i++) {
			ck_assert_int_eq(sf_content_json(content, json, strlen(json)), 0);
			ck_assert_int_eq(sf_content_json_end(content), 0);
		}
		ck_assert_int_eq(t_content_feed(content, "] 'b' 1 }"), 0);
		ck_assert_int_eq(sf_content_finish(content, id), 64);
		ck_assert_str_eq(id,
				 t_content_of(profile, 64,
					      "{ 'a' [ { 'k' [ 1 2 ] } { 'k' [ 1 2 ] } ] 'b' 1 }")
					 .id);
		sf_content_close(content);
	}
}
END_TEST

void t_add_content_builder(Suite *suite)
{
	TCase *refusals = tcase_create("refusals");
	TCase *values = tcase_create("values");

	tcase_add_loop_test(refusals, feed_of_what_has_no_id_is_refused, 0, T_COUNT(refused));
	tcase_add_loop_test(refusals, call_at_the_wrong_moment_is_refused, 0, T_COUNT(misused));
	tcase_add_test(refusals, begin_deeper_than_the_limit_is_refused);
	tcase_add_test(refusals, open_with_options_out_of_range_is_refused);
	tcase_add_test(refusals, finish_twice_gives_the_same_and_more_is_refused);
	tcase_add_test(refusals, uuid5_without_128_digits_or_namespace_is_refused);
	tcase_add_test(refusals, end_coola_1_1_refuses_keys_without_order);
	tcase_add_test(refusals, unsupported_with_an_empty_name_is_refused);
	suite_add_tcase(suite, refusals);
	tcase_add_test(values, begin_up_to_the_limit_is_fine_again_and_again);
	tcase_add_test(values, profile_of_names_is_the_inverse_of_names);
	tcase_add_test(values, order_of_pairs_does_not_count_in_any_profile);
	tcase_add_test(values, end_coola_1_1_orders_integers_by_value);
	tcase_add_test(values, end_coola_1_1_orders_bytes_and_texts_by_bytes);
	tcase_add_test(values, int64_and_integer_text_are_the_same);
	tcase_add_test(values, json_as_a_part_of_a_value_is_that_value);
	suite_add_tcase(suite, values);
}
