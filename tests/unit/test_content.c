/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Content IDs: the frozen values of profile sfd-1, what must be told apart, and what must not.
 * Parts of the suite in content_*.c.
 */
#include "tests/unit/content_suite.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MEGABYTE ((size_t)1024 * 1024)

/* Rows of vectors, counted in memory that the tests' processes share. */
static atomic_uint *rows_done;

void t_content_row_done(void)
{
	/* relaxed: read when the tests are over */
	(void)atomic_fetch_add_explicit(rows_done, 1, memory_order_relaxed);
}

struct sf_content *t_content_open(uint32_t profile, uint32_t length, bool ignore)
{
	struct sf_content_options options = SF_CONTENT_OPTIONS;
	struct sf_content *content = NULL;
	struct sf_why why;

	options.profile = profile;
	options.length = length;
	options.ignore_unsupported = ignore;
	ck_assert_msg(sf_content_open(&options, &content, &why) == 0, "%s", why.text);
	return content;
}

static int feed_bytes(struct sf_content *content, const char *hex, size_t length)
{
	int error = sf_content_begin(content, SF_CONTENT_BYTES);

	for (size_t i = 0; i < length && error == 0; i += 2) {
		char pair[3] = {hex[i], hex[i + 1], '\0'};
		unsigned char byte = (unsigned char)strtoul(pair, NULL, 16);

		error = sf_content_feed(content, &byte, 1);
	}
	return error < 0 ? error : sf_content_end(content);
}

static int feed_named(struct sf_content *content, const char *word)
{
	if (strcmp(word, "null") == 0)
		return sf_content_null(content);
	ck_assert_msg(strcmp(word, "true") == 0 || strcmp(word, "false") == 0, "word %s", word);
	return sf_content_bool(content, word[0] == 't');
}

static int feed_word(struct sf_content *content, const char *word)
{
	size_t length = strlen(word);

	switch (*word) {
	case '[':
		return sf_content_begin(content, SF_CONTENT_LIST);
	case '{':
		return sf_content_begin(content, SF_CONTENT_MAP);
	case ']':
	case '}':
		return sf_content_end(content);
	case '\'':
		return sf_content_text(content, word + 1, length - 2);
	case 'x':
		return feed_bytes(content, word + 1, length - 1);
	case 'd':
		return sf_content_double(content, strtod(word + 1, NULL));
	case '?':
		return sf_content_unsupported(content, word + 1);
	default:
		break;
	}
	if (*word == '-' || isdigit((unsigned char)*word))
		return sf_content_integer(content, word, length);
	return feed_named(content, word);
}

int t_content_feed(struct sf_content *content, const char *words)
{
	int error = 0;

	while (*words && error == 0) {
		/* a text may hold blanks */
		size_t length = *words == '\'' ? strcspn(words + 1, "'") + 2 : strcspn(words, " ");
		char *word = strndup(words, length);

		ck_assert_ptr_nonnull(word);
		error = feed_word(content, word);
		free(word);
		words += length;
		words += *words == ' ';
	}
	return error;
}

static void conclude(struct sf_content *content, uint32_t length, struct t_content *ret)
{
	int result = sf_content_finish(content, ret->id);

	if (result >= 0) {
		ck_assert_int_eq(result, length);
		ck_assert_uint_eq(strlen(ret->id), length);
	} else {
		ret->error = result;
	}
	if (result == SF_CONTENT_LENGTH_MAX)
		ck_assert_int_eq(sf_content_uuid5(content, NULL, ret->uuid), 0);
	(void)snprintf(ret->why.text, sizeof(ret->why.text), "%s", sf_content_why(content));
	ck_assert_int_eq(ret->why.text[0] == '\0', result >= 0);
	sf_content_close(content);
}

struct t_content t_content_of(uint32_t profile, uint32_t length, const char *words)
{
	struct sf_content *content = t_content_open(profile, length, true);
	struct t_content made = {.error = 0};

	(void)t_content_feed(content, words);
	conclude(content, length, &made);
	return made;
}

struct t_content t_content_of_json(uint32_t profile, uint32_t length, const char *text, size_t size,
				   size_t piece)
{
	struct sf_content *content = t_content_open(profile, length, false);
	struct t_content made = {.error = 0};
	size_t at = 0;

	do {
		size_t count = size - at < piece ? size - at : piece;

		(void)sf_content_json(content, text + at, count);
		at += count;
	} while (at < size);
	(void)sf_content_json_end(content);
	conclude(content, length, &made);
	return made;
}

/*
 * Profile sfd-1 is frozen: these values never change, whatever else does. They were computed with
 * another program, from the rule in libclient/content/README.md.
 */
static const struct {
	const char *words;
	const char *id; /* 128 digits */
} golden[] = {
#include "tests/unit/content_golden.def"
};

START_TEST(finish_sfd_1_gives_the_frozen_id)
{
	struct t_content made = t_content_of(SF_CONTENT_SFD_1, 128, golden[_i].words);
	char shorter[SF_CONTENT_ID_MAX];

	ck_assert_str_eq(made.id, golden[_i].id);
	for (uint32_t length = 2; length < 128; length += 2) {
		made = t_content_of(SF_CONTENT_SFD_1, length, golden[_i].words);
		(void)snprintf(shorter, sizeof(shorter), "%.*s", (int)length, golden[_i].id);
		ck_assert_str_eq(made.id, shorter);
	}
}
END_TEST

START_TEST(finish_sfd_1_gives_no_frozen_id_twice)
{
	for (size_t i = 0; i < (size_t)_i; i++)
		ck_assert_str_ne(golden[i].id, golden[_i].id);
}
END_TEST

START_TEST(uuid5_sfd_1_gives_the_frozen_uuid)
{
	ck_assert_str_eq(t_content_of(SF_CONTENT_SFD_1, 128, "{ 'a' 1 }").uuid,
			 "f3348c8d-7b16-57fc-81e5-f271f0fb22ab");
}
END_TEST

/* ---- FC-89 ---- */

#define JSON(text) text, sizeof(text) - 1

/* Pairs that a hash without lengths and types mixes up. */
static const struct {
	const char *a;
	size_t a_size;
	const char *b;
	size_t b_size;
	bool is_one_in_coola; /* listed in README.md */
} confused[] = {
	{JSON("[\"ab\",\"c\"]"), JSON("[\"a\",\"bc\"]"), false},
	{JSON("[\"\",\"abc\"]"), JSON("[\"abc\",\"\"]"), false},
	{JSON("[[\"a\"],\"b\"]"), JSON("[\"a\",[\"b\"]]"), false},
	{JSON("{\"a\":\"b\"}"), JSON("[\"a\",\"b\"]"), true},
	{JSON("{\"a\":{\"b\":1}}"), JSON("{\"a\":[\"b\",1]}"), true},
	{JSON("\"a\\u0000b\""), JSON("\"a\""), false},
	{JSON("\"a\\u0000\""), JSON("\"a\""), false},
	{JSON("[\"a\\u0000\",\"b\"]"), JSON("[\"a\",\"\\u0000b\"]"), false},
	{JSON("\"\""), JSON("\"\\u0000\""), false},
	{JSON("[[]]"), JSON("[[],[]]"), false},
	{JSON("[]"), JSON("[[]]"), false},
	{JSON("[]"), JSON("{}"), true},
	{JSON("[]"), JSON("\"\""), true},
	{JSON("[null]"), JSON("[]"), false},
	{JSON("null"), JSON("\"None\""), true},
	{JSON("true"), JSON("\"True\""), true},
	{JSON("true"), JSON("1"), false},
	{JSON("false"), JSON("0"), false},
	{JSON("1"), JSON("\"1\""), true},
	{JSON("1"), JSON("1.0"), false},
	{JSON("1.0"), JSON("\"1.0\""), true},
	{JSON("0.0"), JSON("-0.0"), false},
	{JSON("100"), JSON("1e2"), false},
	{JSON("{\"a\":1,\"b\":2}"), JSON("{\"a\":2,\"b\":1}"), false},
	{JSON("{\"a\":1,\"b\":2}"), JSON("[\"a\",1,\"b\",2]"), false},
	{JSON("{\"a\":1}"), JSON("{\"a\":\"1\"}"), true},
	{JSON("\"\\u00e9\""), JSON("\"e\\u0301\""), false},
	{JSON("9007199254740993"), JSON("9007199254740992"), false},
	{JSON("[1]"), JSON("\"92cdf578c47085a5992256f0dcf97d0b19f1f1c9de4d5fe30c3ace6191b6e5db\""),
	 true},
};

START_TEST(fc89_json_values_that_differ_have_different_ids)
{
	struct t_content a;
	struct t_content b;

	a = t_content_of_json(SF_CONTENT_SFD_1, 64, confused[_i].a, confused[_i].a_size, 4096);
	b = t_content_of_json(SF_CONTENT_SFD_1, 64, confused[_i].b, confused[_i].b_size, 4096);
	ck_assert_uint_eq(strlen(a.id), 64);
	ck_assert_uint_eq(strlen(b.id), 64);
	ck_assert_str_ne(a.id, b.id);
	a = t_content_of_json(SF_CONTENT_COOLA, 64, confused[_i].a, confused[_i].a_size, 4096);
	b = t_content_of_json(SF_CONTENT_COOLA, 64, confused[_i].b, confused[_i].b_size, 4096);
	ck_assert_uint_eq(strlen(a.id), 64);
	ck_assert_int_eq(strcmp(a.id, b.id) == 0, confused[_i].is_one_in_coola);
}
END_TEST

START_TEST(fc89_bytes_and_their_text_have_different_ids)
{
	ck_assert_str_ne(t_content_of(SF_CONTENT_SFD_1, 64, "'hello'").id,
			 t_content_of(SF_CONTENT_SFD_1, 64, "x68656c6c6f").id);
	ck_assert_str_eq(t_content_of(SF_CONTENT_COOLA, 64, "'hello'").id,
			 t_content_of(SF_CONTENT_COOLA, 64, "x68656c6c6f").id);
}
END_TEST

/* One value, written in several ways. */
static const char *const same[] = {
	"{\"a\":[1,2.5,\"\\u00e9\"],\"b\":{\"x\":null,\"y\":true},\"c\":-0,\"d\":100.0}",
	"{\"b\":{\"y\":true,\"x\":null},\"d\":1e2,\"c\":0,\"a\":[1,2.5,\"\u00e9\"]}",
	(" {\t\"c\" : 0 ,\r\n \"d\":1E+2,\"a\" : [ 1 , 25e-1 , \"\\u00E9\" ] , "
	 "\"\\u0062\" : { \"x\":null, \"y\":true } } \n"),
};

START_TEST(fc89_white_space_and_key_order_do_not_count)
{
	const uint32_t profile = (uint32_t)_i;
	struct t_content first = t_content_of_json(profile, 64, same[0], strlen(same[0]), MEGABYTE);

	ck_assert_msg(first.error == 0, "%s", first.why.text);
	for (size_t i = 0; i < T_COUNT(same); i++)
		for (size_t piece = 1; piece < 40; piece++)
			ck_assert_str_eq(
				t_content_of_json(profile, 64, same[i], strlen(same[i]), piece).id,
				first.id);
}
END_TEST

/** Feeds in pieces of growing sizes, which end before, at and behind every border. */
static void feed_uneven(struct sf_content *content, const char *bytes, size_t length, size_t step)
{
	size_t piece = step;

	while (length > 0) {
		size_t count = length < piece ? length : piece;

		ck_assert_int_eq(sf_content_feed(content, bytes, count), 0);
		bytes += count;
		length -= count;
		piece += step;
	}
}

START_TEST(fc89_a_megabyte_in_pieces_and_at_once_is_the_same)
{
	static const size_t steps[] = {1, 7, 4096, 65535, 65536, 65537, 131072};
	const uint32_t profile = (uint32_t)_i;
	char *text = malloc(MEGABYTE);
	char whole[SF_CONTENT_ID_MAX];

	ck_assert_ptr_nonnull(text);
	for (size_t i = 0; i < MEGABYTE; i++) /* é, cut within the character now and then */
		text[i] = i % 2 ? '\xa9' : '\xc3';
	for (unsigned kind = SF_CONTENT_TEXT; kind <= SF_CONTENT_BYTES; kind++) {
		struct sf_content *content = t_content_open(profile, 64, false);

		if (kind == SF_CONTENT_TEXT)
			ck_assert_int_eq(sf_content_text(content, text, MEGABYTE), 0);
		else
			ck_assert_int_eq(sf_content_bytes(content, text, MEGABYTE), 0);
		ck_assert_int_eq(sf_content_finish(content, whole), 64);
		for (size_t i = 0; i < T_COUNT(steps); i++) {
			char id[SF_CONTENT_ID_MAX];

			sf_content_reset(content);
			ck_assert_int_eq(sf_content_begin(content, kind), 0);
			feed_uneven(content, text, MEGABYTE, steps[i]);
			ck_assert_int_eq(sf_content_end(content), 0);
			ck_assert_int_eq(sf_content_finish(content, id), 64);
			ck_assert_str_eq(id, whole);
		}
		sf_content_close(content);
	}
	free(text);
}
END_TEST

/* Around the border of a piece of the rule; the bytes are i % 251. */
static const struct {
	size_t length;
	const char *id;
} borders[] = {
#include "tests/unit/content_borders.def"
};

START_TEST(id_bytes_around_a_piece_gives_the_frozen_id)
{
	size_t length = borders[_i].length;
	unsigned char *bytes = malloc(length);
	char id[SF_CONTENT_ID_MAX];

	ck_assert_ptr_nonnull(bytes);
	for (size_t i = 0; i < length; i++)
		bytes[i] = (unsigned char)(i % 251);
	ck_assert_int_eq(sf_content_id_bytes(NULL, bytes, length, id, NULL), 64);
	ck_assert_str_eq(id, borders[_i].id);
	free(bytes);
}
END_TEST

static void add_frozen(Suite *suite)
{
	TCase *frozen = tcase_create("frozen");
	TCase *apart = tcase_create("what counts");

	tcase_add_loop_test(frozen, finish_sfd_1_gives_the_frozen_id, 0, T_COUNT(golden));
	tcase_add_loop_test(frozen, finish_sfd_1_gives_no_frozen_id_twice, 0, T_COUNT(golden));
	tcase_add_test(frozen, uuid5_sfd_1_gives_the_frozen_uuid);
	tcase_add_loop_test(frozen, id_bytes_around_a_piece_gives_the_frozen_id, 0,
			    T_COUNT(borders));
	suite_add_tcase(suite, frozen);
	tcase_add_loop_test(apart, fc89_json_values_that_differ_have_different_ids, 0,
			    T_COUNT(confused));
	tcase_add_test(apart, fc89_bytes_and_their_text_have_different_ids);
	tcase_add_loop_test(apart, fc89_white_space_and_key_order_do_not_count, SF_CONTENT_SFD_1,
			    SF_CONTENT_COOLA_1_1 + 1);
	tcase_add_loop_test(apart, fc89_a_megabyte_in_pieces_and_at_once_is_the_same,
			    SF_CONTENT_SFD_1, SF_CONTENT_COOLA_1_1 + 1);
	suite_add_tcase(suite, apart);
}

int main(void)
{
	Suite *suite = suite_create("content");
	SRunner *runner = srunner_create(suite);
	int failed;

	rows_done = mmap(NULL, sizeof(*rows_done), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (rows_done == MAP_FAILED)
		return EXIT_FAILURE;
	add_frozen(suite);
	t_add_content_builder(suite);
	t_add_content_json(suite);
	t_add_content_float(suite);
	t_add_content_typed(suite);
	t_add_content_vectors(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	printf("vectors: %u rows of coola.json content ids\n",
	       atomic_load_explicit(rows_done, memory_order_relaxed));
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
