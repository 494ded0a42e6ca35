/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Python values that JSON does not have, and values that share an ID in the coola profiles: rows of
 * tests/vectors/coola.json.
 */
#include "tests/unit/content_rows.h"

#include <errno.h>
#include <string.h>

/* Each value of the rows, as a caller in C would give it: a tuple as a list; a date, complex number
 * or path as the text that the original hashes. */
static const struct {
	const char *python;
	const char *words;
} values[] = {
	{"b\"\"", "x"},
	{"b\"hello\"", "x68656c6c6f"},
	{"b\"\\x00\\xff\"", "x00ff"},
	{"(1, 2)", "[ 1 2 ]"},
	{"(1, 2, 3)", "[ 1 2 3 ]"},
	{"()", "[ ]"},
	{"(1, (2, [3]))", "[ 1 [ 2 [ 3 ] ] ]"},
	{"1j", "'1j'"},
	{"(1+2j)", "'(1+2j)'"},
	{"float(\"inf\")", "dinf"},
	{"float(\"-inf\")", "d-inf"},
	{"float(\"nan\")", "dnan"},
	{"datetime.date(2021, 1, 1)", "'2021-01-01'"},
	{"datetime.datetime(2021, 1, 1)", "'2021-01-01T00:00:00'"},
	{"datetime.datetime(2021, 1, 1, tzinfo=datetime.timezone.utc)",
	 "'2021-01-01T00:00:00+00:00'"},
	{"datetime.datetime(2021, 1, 1, 12, 30, 15, 250000)", "'2021-01-01T12:30:15.250000'"},
	{"datetime.datetime(2021, 1, 1, 12, 30, 15, 250000, "
	 "tzinfo=datetime.timezone(datetime.timedelta(hours=2)))",
	 "'2021-01-01T12:30:15.250000+02:00'"},
	{"pathlib.Path(\"/usr/../etc/hosts_not_there\")", "'/etc/hosts_not_there'"},
	{"{1: \"a\"}", "{ 1 'a' }"},
	{"{1: \"a\", 2: \"b\"}", "{ 1 'a' 2 'b' }"},
	{"{2: \"b\", 1: \"a\"}", "{ 2 'b' 1 'a' }"},
	{"{None: 1}", "{ null 1 }"},
	{"{True: 1}", "{ true 1 }"},
	{"{(1, 2): \"t\"}", "{ [ 1 2 ] 't' }"},
	{"{b\"k\": 1}", "{ x6b 1 }"},
	{"{1.5: 2.5}", "{ d1.5 d2.5 }"},
	{"{\"a\": (1, 2), \"b\": b\"x\"}", "{ 'a' [ 1 2 ] 'b' x78 }"},
	{"[1, \"1\"]", "[ 1 '1' ]"},
	{"[True, \"True\", 1]", "[ true 'True' 1 ]"},
	{"{1: 1, \"a\": 2, None: 3}", "{ 1 1 'a' 2 null 3 }"},
	{"{\"a\": 2, None: 3, 1: 1}", "{ 'a' 2 null 3 1 1 }"},
	{"{1: \"x\", \"1\": \"y\"}", "{ 1 'x' '1' 'y' }"},
	{"{\"1\": \"y\", 1: \"x\"}", "{ '1' 'y' 1 'x' }"},
	{"set()", "?set"},
	{"{1, 2}", "?set"},
	{"frozenset({1})", "?frozenset"},
	{"bytearray(b\"a\")", "?bytearray"},
	{"range(3)", "?range"},
	{"object()", "?object"},
	{"[1, {2}]", "[ 1 ?set ]"},
	{"collections.OrderedDict(b=2, a=1)", "{ 'b' 2 'a' 1 }"},
	{"collections.namedtuple(\"N\", \"x y\")(1, 2)", "[ 1 2 ]"},
	{"decimal.Decimal(\"1.5\")", "?decimal.Decimal"},
	{"datetime.time(1, 2)", "?datetime.time"},
	{"uuid.UUID(int=1)", "?uuid.UUID"},
	{"\"\\ud800\"", "'\xed\xa0\x80'"},
	/* of the collisions */
	{"1", "1"},
	{"'1'", "'1'"},
	{"True", "true"},
	{"'True'", "'True'"},
	{"None", "null"},
	{"'None'", "'None'"},
	{"1.0", "d1.0"},
	{"'1.0'", "'1.0'"},
	{"[]", "[ ]"},
	{"{}", "{ }"},
	{"''", "''"},
	{"b''", "x"},
	{"'hello'", "'hello'"},
	{"b'hello'", "x68656c6c6f"},
	{"[1, 2]", "[ 1 2 ]"},
	{"{'a': 1}", "{ 'a' 1 }"},
	{"['a', 1]", "[ 'a' 1 ]"},
	{"{'a': 1, 'b': 2}", "{ 'a' 1 'b' 2 }"},
	{"['b', 2, 'a', 1]", "[ 'b' 2 'a' 1 ]"},
	{"[1]", "[ 1 ]"},
	{"'92cdf578c47085a5992256f0dcf97d0b19f1f1c9de4d5fe30c3ace6191b6e5db'",
	 "'92cdf578c47085a5992256f0dcf97d0b19f1f1c9de4d5fe30c3ace6191b6e5db'"},
	{"'2021-01-01'", "'2021-01-01'"},
};

static const char *words_of(const char *python)
{
	for (size_t i = 0; i < T_COUNT(values); i++)
		if (strcmp(values[i].python, python) == 0)
			return values[i].words;
	ck_abort_msg("no words for %s", python);
}

/** A row of a value that the original refuses. */
static void check_refused(json_t *row, const char *words)
{
	const char *kind = t_content_string(row, "error");
	bool is_type = strcmp(kind, "KeyError") == 0;

	ck_assert(is_type || strcmp(kind, "UnicodeEncodeError") == 0);
	for (uint32_t profile = 0; profile < 3; profile++) {
		struct sf_content *content = t_content_open(profile, 64, false);

		ck_assert_int_eq(t_content_feed(content, words), is_type ? -ENOTSUP : -EILSEQ);
		ck_assert_str_ne(sf_content_why(content), "");
		sf_content_close(content);
	}
	if (!is_type) {
		ck_assert_int_eq(t_content_of(SF_CONTENT_COOLA, 64, words).error, -EILSEQ);
		return;
	}
	ck_assert_str_eq(t_content_of(SF_CONTENT_COOLA, 64, words).id,
			 t_content_string(row, "content_id_ignore_unhashable"));
	/* in the other profile the type's name is no text */
	ck_assert_uint_eq(strlen(t_content_of(SF_CONTENT_SFD_1, 64, words).id), 64);
}

static void check_typed(json_t *row)
{
	const char *words = words_of(t_content_string(row, "python"));
	json_t *release = json_object_get(row, "release_1_1_x");

	if (json_object_get(row, "error")) {
		check_refused(row, words);
		return;
	}
	t_content_assert_words(row, SF_CONTENT_COOLA, words);
	if (release && json_object_get(release, "error")) {
		ck_assert_str_eq(t_content_string(release, "error"), "TypeError");
		ck_assert_int_eq(t_content_of(SF_CONTENT_COOLA_1_1, 64, words).error, -ENOTSUP);
	} else {
		t_content_assert_words(release ? release : row, SF_CONTENT_COOLA_1_1, words);
	}
}

START_TEST(finish_coola_content_typed_agrees)
{
	t_content_each("content_typed", check_typed);
}
END_TEST

/** What shares an ID there must not do so in profile sfd-1, unless a caller in C gives the same for
 *  both: a tuple and a list, a date and its text. */
static void check_collision(json_t *row)
{
	json_t *python = json_object_get(row, "values");
	size_t count = json_array_size(python);

	ck_assert_uint_gt(count, 1);
	for (size_t i = 0; i < count; i++) {
		const char *words = words_of(json_string_value(json_array_get(python, i)));
		struct t_content own = t_content_of(SF_CONTENT_SFD_1, 64, words);

		ck_assert_str_eq(t_content_of(SF_CONTENT_COOLA, 64, words).id,
				 t_content_string(row, "content_id"));
		ck_assert_uint_eq(strlen(own.id), 64);
		for (size_t k = 0; k < i; k++) {
			const char *other = words_of(json_string_value(json_array_get(python, k)));

			ck_assert_int_eq(
				strcmp(t_content_of(SF_CONTENT_SFD_1, 64, other).id, own.id) == 0,
				strcmp(other, words) == 0);
		}
	}
}

START_TEST(fc89_coola_collisions_are_those_listed_and_sfd_1_has_none)
{
	t_content_each("content_collisions", check_collision);
}
END_TEST

void t_add_content_typed(Suite *suite)
{
	TCase *typed = tcase_create("typed vectors");

	tcase_add_test(typed, finish_coola_content_typed_agrees);
	tcase_add_test(typed, fc89_coola_collisions_are_those_listed_and_sfd_1_has_none);
	suite_add_tcase(suite, typed);
}
