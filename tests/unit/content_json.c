/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * JSON documents that have no ID: each rule, its error and the byte it names; and the same however
 * the document is cut.
 */
#include "tests/unit/content_suite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JSON(text) text, sizeof(text) - 1

static const struct {
	const char *text;
	size_t size;
	int error;
	const char *reason;
} refused[] = {
	/* not complete, or too much */
	{JSON(""), -EBADMSG, "empty"},
	{JSON(" \n"), -EBADMSG, "byte 2: parse error: premature EOF"},
	{JSON("["), -EBADMSG, "byte 1: parse error: premature EOF"},
	{JSON("[1,2"), -EBADMSG, "byte 4: parse error: premature EOF"},
	{JSON("{\"a\":1"), -EBADMSG, "byte 6: parse error: premature EOF"},
	{JSON("\"abc"), -EBADMSG, "byte 4: the document ends within a string"},
	{JSON("[\"abc\\"), -EBADMSG, "byte 6: the document ends within a string"},
	{JSON("{\"\\u00"), -EBADMSG, "byte 6: the document ends within a string"},
	{JSON("\"\xc3"), -EBADMSG, "byte 2: the document ends within a string"},
	{JSON("tru"), -EBADMSG, "byte 3"},
	{JSON("-"), -EBADMSG, "byte 1: lexical error: malformed number"},
	{JSON("1."), -EBADMSG, "byte 2: lexical error: malformed number"},
	{JSON("1e"), -EBADMSG, "byte 2: lexical error: malformed number"},
	{JSON("1 2"), -EBADMSG, "byte 3: parse error: trailing garbage"},
	{JSON("[1]x"), -EBADMSG, "byte 4: parse error: trailing garbage"},
	{JSON("{}{}"), -EBADMSG, "byte 3: parse error: trailing garbage"},
	{JSON("null\nnull\n"), -EBADMSG, "trailing garbage"},
	{JSON("[1]]"), -EBADMSG, "byte 4: parse error: trailing garbage"},
	/* no JSON */
	{JSON("[1,]"), -EBADMSG, "byte 4"},
	{JSON("{\"a\":1,}"), -EBADMSG, "byte 8"},
	{JSON("{1:2}"), -EBADMSG, "invalid object key"},
	{JSON("{a:2}"), -EBADMSG, "byte 2"},
	{JSON("['a']"), -EBADMSG, "byte 2"},
	{JSON("[1}"), -EBADMSG, "byte 3"},
	{JSON("01"), -EBADMSG, "byte 2: parse error: trailing garbage"},
	{JSON("[+1]"), -EBADMSG, "byte 2"},
	{JSON("[.5]"), -EBADMSG, "byte 2"},
	{JSON("[0x10]"), -EBADMSG, "byte 3"},
	{JSON("[1 /* one */]"), -EBADMSG, "comment"},
	{JSON("True"), -EBADMSG, "byte 1"},
	{JSON("\v1"), -EBADMSG, "byte 1: a vertical tab"},
	{JSON("[1,\f2]"), -EBADMSG, "byte 4: a vertical tab or form feed"},
	{JSON("1\0"), -EBADMSG, "JSON, byte"},
	{JSON("\xef\xbb\xbf[]"), -EBADMSG, "byte 1"},
	/* numbers */
	{JSON("NaN"), -EBADMSG, "byte 1"},
	{JSON("[NaN]"), -EBADMSG, "byte 2"},
	{JSON("[Infinity]"), -EBADMSG, "byte 2"},
	{JSON("-Infinity"), -EBADMSG, "byte 1"},
	{JSON("[1e400]"), -ERANGE, "number 1e400 is beyond a double"},
	{JSON("-1.8e308 "), -ERANGE, "number -1.8e308 is beyond a double"},
	/* strings */
	{JSON("\"a\tb\""), -EBADMSG, "byte 3: a control character"},
	{JSON("\"a\0b\""), -EBADMSG, "byte 3: a control character"},
	{JSON("\"\\q\""), -EBADMSG, "byte 3: no such escape"},
	{JSON("\"\\\0\""), -EBADMSG, "byte 3: no such escape"},
	{JSON("\"\\u12g4\""), -EBADMSG, "byte 6: \\u needs four"},
	{JSON("\"\\u12\""), -EBADMSG, "byte 6: \\u needs four"},
	{JSON("[\"\\ud800\"]"), -EILSEQ, "byte 9: the high half of a surrogate pair"},
	{JSON("[\"\\ud800x\"]"), -EILSEQ, "byte 9: the high half"},
	{JSON("[\"\\uDBFF\\n\"]"), -EILSEQ, "byte 10: the high half"},
	{JSON("[\"\\ud800\\ud800\"]"), -EILSEQ, "byte 14: the high half"},
	{JSON("[\"\\ud800\\u0041\"]"), -EILSEQ, "byte 14: the high half"},
	{JSON("[\"\\udc00\"]"), -EILSEQ, "byte 8: the low half"},
	{JSON("[\"\\udfff\\ud800\"]"), -EILSEQ, "byte 8: the low half"},
	{JSON("{\"\\ud83d\":1}"), -EILSEQ, "byte 9: the high half"},
	{JSON("\"\xff\""), -EILSEQ, "byte 2: text is not UTF-8"},
	{JSON("\"ab\xc3\""), -EILSEQ, "byte 5: text is not UTF-8"},
	{JSON("\"\xc3\\n\""), -EILSEQ, "byte 3: text is not UTF-8"},
	{JSON("\"\xed\xa0\x80\""), -EILSEQ, "byte 3: text is not UTF-8"},
	{JSON("\"\xc0\xaf\""), -EILSEQ, "byte 2: text is not UTF-8"},
	{JSON("\"\xf4\x90\x80\x80\""), -EILSEQ, "byte 3: text is not UTF-8"},
	/* keys that stand twice */
	{JSON("{\"a\":1,\"a\":1}"), -EEXIST, "bytes 4 and 10 are the same"},
	{JSON("{\"a\":1,\"b\":2,\"\\u0061\":3}"), -EEXIST, "bytes 4 and 21 are the same"},
	{JSON("{\"\":1,\"\":2}"), -EEXIST, "bytes 3 and 8 are the same"},
	{JSON("[{\"x\":{\"k\":1,\"k\":2}}]"), -EEXIST, "JSON, byte 19: "},
	{JSON("{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}"), -EEXIST, "are the same"},
};

START_TEST(json_that_has_no_id_is_refused_however_it_is_cut)
{
	size_t size = refused[_i].size;
	struct t_content whole =
		t_content_of_json(SF_CONTENT_SFD_1, 64, refused[_i].text, size, size + 1);

	ck_assert_msg(whole.error == refused[_i].error, "error %d, %s", whole.error,
		      whole.why.text);
	ck_assert_msg(strstr(whole.why.text, refused[_i].reason) != NULL, "%s", whole.why.text);
	for (size_t piece = 1; piece < size; piece++) {
		struct t_content cut =
			t_content_of_json(SF_CONTENT_SFD_1, 64, refused[_i].text, size, piece);

		ck_assert_int_eq(cut.error, whole.error);
		ck_assert_str_eq(cut.why.text, whole.why.text);
	}
}
END_TEST

/** A document of this many lists around each other. */
static struct t_content nested(uint32_t profile, size_t depth, bool is_map)
{
	static const char open_map[] = "{\"k\":";
	char *text = calloc(depth, 2 * sizeof(open_map));
	struct t_content made;
	char *at = text;

	ck_assert_ptr_nonnull(text);
	for (size_t i = 0; i < depth; i++)
		at = stpcpy(at, is_map ? open_map : "[");
	at = stpcpy(at, is_map ? "1" : "");
	for (size_t i = 0; i < depth; i++)
		at = stpcpy(at, is_map ? "}" : "]");
	made = t_content_of_json(profile, 64, text, strlen(text), 4096);
	free(text);
	return made;
}

START_TEST(json_deeper_than_the_limit_is_refused)
{
	struct t_content made;

	ck_assert_int_eq(nested(SF_CONTENT_SFD_1, 512, false).error, 0);
	ck_assert_int_eq(nested(SF_CONTENT_COOLA, 512, true).error, 0);
	made = nested(SF_CONTENT_SFD_1, 513, false);
	ck_assert_int_eq(made.error, -EOVERFLOW);
	ck_assert_ptr_nonnull(strstr(made.why.text, "JSON, byte 513: "));
	ck_assert_ptr_nonnull(strstr(made.why.text, "deeper than 512"));
	/* far beyond any stack, too */
	ck_assert_int_eq(nested(SF_CONTENT_COOLA_1_1, 1000000, false).error, -EOVERFLOW);
}
END_TEST

START_TEST(json_beyond_a_double_is_infinite_in_coola_only)
{
	static const char big[] = "1e400";
	char digits[700];

	ck_assert_str_eq(t_content_of_json(SF_CONTENT_COOLA, 64, big, strlen(big), 9).id,
			 t_content_of(SF_CONTENT_COOLA, 64, "dinf").id);
	/* too long for the stack's copy */
	(void)snprintf(digits, sizeof(digits), "0.%0600d1", 0);
	ck_assert_str_eq(t_content_of_json(SF_CONTENT_SFD_1, 64, digits, strlen(digits), 9).id,
			 t_content_of(SF_CONTENT_SFD_1, 64, "d0").id);
	(void)snprintf(digits, sizeof(digits), "1.%0600d1", 0);
	ck_assert_str_eq(t_content_of_json(SF_CONTENT_SFD_1, 64, digits, strlen(digits), 9).id,
			 t_content_of(SF_CONTENT_SFD_1, 64, "d1").id);
}
END_TEST

START_TEST(json_integers_of_any_size_are_apart)
{
	size_t size = 100000;
	char *text = malloc(size);
	struct t_content first;

	ck_assert_ptr_nonnull(text);
	memset(text, '9', size);
	first = t_content_of_json(SF_CONTENT_SFD_1, 64, text, size, 1000);
	ck_assert_msg(first.error == 0, "%s", first.why.text);
	text[size - 1] = '8';
	ck_assert_str_ne(t_content_of_json(SF_CONTENT_SFD_1, 64, text, size, 1000).id, first.id);
	free(text);
}
END_TEST

/* What is read anew from its beginning with each piece would take hours. */
START_TEST(json_token_in_small_pieces_is_read_once)
{
	enum {
		SIZE = 4 << 20,
		PIECE = 2
	};
	static const struct {
		const char *head;
		char body;
		const char *tail;
	} tokens[] = {
		{"\"", 'x', "\""}, {"{\"k", 'x', "\":1}"}, {"[-1", '0', ",2]"},
		{"1", '0', ""},    {"[0.1", '2', "e-3 ]"}, {"0.", '0', "1"},
	};
	char *text = malloc(SIZE + 16);
	struct t_content whole;
	struct t_content cut;
	size_t size;

	ck_assert_ptr_nonnull(text);
	memset(stpcpy(text, tokens[_i].head), tokens[_i].body, SIZE);
	size = strlen(tokens[_i].head) + SIZE;
	size = (size_t)(stpcpy(text + size, tokens[_i].tail) - text);
	whole = t_content_of_json(SF_CONTENT_COOLA_1_1, 64, text, size, size);
	cut = t_content_of_json(SF_CONTENT_COOLA_1_1, 64, text, size, PIECE);
	ck_assert_msg(whole.error == 0, "%s", whole.why.text);
	ck_assert_msg(cut.error == 0, "%s", cut.why.text);
	ck_assert_str_eq(cut.id, whole.id);
	free(text);
}
END_TEST

START_TEST(json_number_that_a_message_cuts_short_says_so)
{
	char digits[400];
	struct t_content made;

	memset(digits, '9', sizeof(digits));
	digits[sizeof(digits) - 2] = '.';
	made = t_content_of_json(SF_CONTENT_SFD_1, 64, digits, sizeof(digits), 400);
	ck_assert_int_eq(made.error, -ERANGE);
	ck_assert_msg(strstr(made.why.text, "99... is beyond a double") != NULL, "%s",
		      made.why.text);
}
END_TEST

START_TEST(json_with_many_keys_finds_the_one_that_stands_twice)
{
	enum {
		KEYS = 50000
	};
	size_t size = 0;
	char *text = NULL;
	FILE *file = open_memstream(&text, &size);
	struct t_content made;

	ck_assert_ptr_nonnull(file);
	(void)fputc('{', file);
	for (int i = 0; i < KEYS; i++)
		fprintf(file, "\"k%d\":%d,", i, i);
	fprintf(file, "\"last\":0}");
	(void)fclose(file);
	ck_assert_int_eq(t_content_of_json(SF_CONTENT_COOLA_1_1, 64, text, size, 4096).error, 0);
	/* "last" becomes "k1" and two blanks behind it */
	memcpy(text + size - sizeof("\"last\":0}") + 1, "\"k1\"  :0}", sizeof("\"k1\"  :0}") - 1);
	for (uint32_t profile = 0; profile < 3; profile++) {
		made = t_content_of_json(profile, 64, text, size, 4096);
		ck_assert_int_eq(made.error, -EEXIST);
		ck_assert_msg(strstr(made.why.text, "bytes 12 and ") != NULL, "%s", made.why.text);
	}
	free(text);
}
END_TEST

void t_add_content_json(Suite *suite)
{
	TCase *json = tcase_create("json");

	tcase_add_loop_test(json, json_that_has_no_id_is_refused_however_it_is_cut, 0,
			    T_COUNT(refused));
	tcase_add_test(json, json_deeper_than_the_limit_is_refused);
	tcase_add_test(json, json_beyond_a_double_is_infinite_in_coola_only);
	tcase_add_test(json, json_integers_of_any_size_are_apart);
	tcase_add_loop_test(json, json_token_in_small_pieces_is_read_once, 0, 6);
	tcase_add_test(json, json_number_that_a_message_cuts_short_says_so);
	tcase_add_test(json, json_with_many_keys_finds_the_one_that_stands_twice);
	suite_add_tcase(suite, json);
}
