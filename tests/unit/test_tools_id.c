/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * IDs of any format: guessing the notation, reading, writing, and what they say.
 */
#include "tools/explain.h"
#include "tools/id.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HOUND "41d7370d6847e6b400000242ac1100021234000000ee"

/* ---- guessing ---- */

static const struct {
	const char *word;
	int notation;
	const char *why; /* part of the sentence, where there is no guess */
} guesses[] = {
	{"0", SFCTL_DECIMAL, NULL},
	{"12345678901", SFCTL_DECIMAL, NULL},          /* as long as base62 */
	{"1234567890123", SFCTL_DECIMAL, NULL},        /* as long as base32 */
	{"1234567890123456", SFCTL_DECIMAL, NULL},     /* as long as hex */
	{"99999999999999999999", SFCTL_DECIMAL, NULL}, /* and too large, as its reader says */
	{"14755887168818983731200", SFCTL_DECIMAL, NULL},
	{"800000000000000000000000", SFCTL_OBJECTID, NULL},
	{"00000000000000000000000000", SFCTL_ULID, NULL},
	{"01ARZ3NDEKTSV4RRFFQ69G5FAV", SFCTL_ULID, NULL},
	{"01arz3ndektsv4rrffq69g5fav", SFCTL_ULID, NULL},
	{"017f22e2-79b0-7cc3-98c4-dc0c0c07398f", SFCTL_UUID, NULL},
	{"{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}", SFCTL_UUID, NULL},
	{"5fd0f17e8e840df1c9687f37", SFCTL_OBJECTID, NULL},
	{"5FD0F17E8E840DF1C9687F37", SFCTL_OBJECTID, NULL},
	{HOUND, SFCTL_HOUND, NULL},
	{"", 0, "is not an ID"},
	{"-1", 0, "is not an ID"},
	{"1e18", 0, "could be hex; say so with --format"},
	{"161d8192c8d7a002", 0, "could be hex; say so with --format"},
	{"1C7C1JB4DF802", 0, "could be base32; say so with --format"},
	{"0123456789ABC", 0, "could be hex or base32, which need not be the same ID; say so"},
	{"4hYemNrAYM7", 0, "could be base58 or base62, which"},
	{"1tiZqAomlY0", 0, "could be base62;"},
	{"1C7C1JB4DF802Z", 0, "could be base32check;"},
	{"01ARZ3NDEKTSV4RRFFQ69G5FA", 0, "ULID (26 characters)"},
	{"nonsense", 0, "is not an ID"},
};

START_TEST(notation_guess_is_made_only_where_nothing_else_would_do)
{
	struct sf_why why = {{0}};
	const char *word = guesses[_i].word;
	int notation = sfctl_notation_guess(word, strlen(word), "--format", &why);

	if (!guesses[_i].why) {
		ck_assert_int_eq(notation, guesses[_i].notation);
		return;
	}
	ck_assert_int_eq(notation, -EINVAL);
	ck_assert_msg(strstr(why.text, guesses[_i].why) != NULL, "%s", why.text);
}
END_TEST

START_TEST(notation_guess_does_not_read_past_the_word)
{
	char word[] = {'1', '7', '2'};
	struct sf_why why;

	ck_assert_int_eq(sfctl_notation_guess(word, 2, "--format", &why), SFCTL_DECIMAL);
	ck_assert_int_eq(sfctl_notation_guess("12\0", 3, "--format", &why), -EINVAL);
}
END_TEST

static const char *const names[] = {"decimal", "decimal20", "decimal19",   "hex",  "base32",
				    "base58",  "base62",    "base32check", "ulid", "uuid",
				    "uuid7",   "objectid",  "hound"};

#define NAME_COUNT ((int)(sizeof(names) / sizeof(names[0])))

START_TEST(notation_of_a_name_knows_all)
{
	static bool is_used[SFCTL_NOTATION_END];
	struct sf_why why = {{0}};
	int notation;

	for (int i = 0; i < NAME_COUNT; i++) {
		notation = sfctl_notation_of(names[i], &why);
		ck_assert_int_gt(notation, 0);
		ck_assert_int_lt(notation, SFCTL_NOTATION_END);
		ck_assert(!is_used[notation]);
		is_used[notation] = true;
	}
	ck_assert_int_lt(sfctl_notation_of("guid", &why), 0);
	for (int i = 0; i < NAME_COUNT; i++)
		ck_assert_msg(strstr(why.text, names[i]) != NULL, "%s", names[i]);
}
END_TEST

/* ---- reading and writing ---- */

static const struct {
	int notation;
	const char *word;
	const char *text; /* canonical; NULL: refused */
	const char *hex;
} words[] = {
	{SFCTL_DECIMAL, "007", "7", "0000000000000007"},
	{SFCTL_DECIMAL, "18446744073709551615", "18446744073709551615", "ffffffffffffffff"},
	{SFCTL_DECIMAL, "18446744073709551616", NULL, NULL},
	{SFCTL_DECIMAL, "+5", NULL, NULL},
	{SFCTL_HEX, "0xFf", "255", "00000000000000ff"},
	{SFCTL_HEX, "11111111111111111", NULL, NULL},
	{SF_TEXT_DECIMAL20, "00000000000000000007", "7", "0000000000000007"},
	{SF_TEXT_DECIMAL20, "7", NULL, NULL},
	{SF_TEXT_BASE62, "291ZCmHJVhY", "1800774833102905344", "18fda32b778fe000"},
	{SFCTL_ULID, "01arz3ndektsv4rrffq69g5fav", "01ARZ3NDEKTSV4RRFFQ69G5FAV",
	 "01563e3ab5d3d6764c61efb99302bd5b"},
	{SFCTL_ULID, "80000000000000000000000000", NULL, NULL},
	{SFCTL_UUID, "E86160D3-BEFF-443C-B9B5-1F8197CCB12E", "e86160d3-beff-443c-b9b5-1f8197ccb12e",
	 "e86160d3beff443cb9b51f8197ccb12e"},
	{SFCTL_UUID7, "e86160d3-beff-443c-b9b5-1f8197ccb12e", NULL, NULL},
	{SFCTL_UUID7, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
	 "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "017f22e279b07cc398c4dc0c0c07398f"},
	{SFCTL_OBJECTID, "5fd0f17e8e840df1c9687f37", "5fd0f17e8e840df1c9687f37",
	 "5fd0f17e8e840df1c9687f37"},
	{SFCTL_OBJECTID, "123456789012", NULL, NULL},
	{SFCTL_HOUND, "41D7370d 6847e6b4 00000242ac110002 1234 0000 00 ee", HOUND, HOUND},
	{SFCTL_HOUND, "41d7370d6847e6b400000242ac1100021234000000ef", NULL, NULL},
};

START_TEST(id_parse_reads_text_and_bytes_back)
{
	const struct sfctl_id untouched = {.format = 77};
	struct sfctl_id id = untouched;
	struct sfctl_id again;
	struct sf_why why = {{0}};
	char text[SFCTL_ID_TEXT_MAX];
	uint8_t bytes[SF_WIDE_BYTES_MAX];
	const char *word = words[_i].word;

	if (!words[_i].text) {
		ck_assert_int_lt(sfctl_id_parse(words[_i].notation, word, strlen(word), &id, &why),
				 0);
		ck_assert_int_eq(id.format, untouched.format);
		ck_assert(why.text[0] != '\0');
		return;
	}
	ck_assert_int_eq(sfctl_id_parse(words[_i].notation, word, strlen(word), &id, &why), 0);
	ck_assert_uint_eq(sfctl_id_text(&id, text), strlen(words[_i].text));
	ck_assert_str_eq(text, words[_i].text);
	ck_assert_uint_eq(sfctl_id_hex(&id, text), strlen(words[_i].hex));
	ck_assert_str_eq(text, words[_i].hex);
	ck_assert_uint_eq(sfctl_id_to_bytes(&id, bytes), strlen(words[_i].hex) / 2);
	ck_assert_int_eq(sfctl_id_from_bytes(words[_i].notation, bytes, &again, &why), 0);
	(void)sfctl_id_text(&again, text);
	ck_assert_str_eq(text, words[_i].text);
}
END_TEST

START_TEST(id_from_bytes_of_bad_bytes_is_refused)
{
	uint8_t bytes[SF_WIDE_BYTES_MAX] = {[6] = 0x40, [8] = 0x80, [21] = 1};
	struct sfctl_id id = {.format = 77};
	struct sf_why why = {{0}};

	ck_assert_int_lt(sfctl_id_from_bytes(SFCTL_UUID7, bytes, &id, &why), 0);
	ck_assert(why.text[0] != '\0');
	ck_assert_int_lt(sfctl_id_from_bytes(SFCTL_HOUND, bytes, &id, &why), 0);
	ck_assert_uint_eq(id.format, 77);
	ck_assert_int_eq(sfctl_id_from_bytes(SFCTL_UUID, bytes, &id, &why), 0);
}
END_TEST

/* ---- what IDs say ---- */

static struct sfctl_id hound_of(double time)
{
	struct sf_hound parts = {.time = time, .machine = 1, .client = 2, .sequence = 3};
	struct sfctl_id id = {.format = SF_FORMAT_HOUND};

	sf_hound_pack(&parts, id.hound);
	return id;
}

/** FC-59: cut down, never rounded up; but the double of a millisecond is that millisecond. */
START_TEST(explain_hound_fc59_cuts_time_to_its_millisecond)
{
	/* the binades where a product with 1000 rounds the wrong way, and today */
	static const int64_t starts[] = {0,
					 1073741824000,
					 1099511627000,
					 1796091342000,
					 2147483648000,
					 2199023255000,
					 4294967296000};
	struct sfctl_row row;

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		for (int64_t ms = starts[i]; ms < starts[i] + 3000; ms++) {
			struct sfctl_id id = hound_of((double)ms / 1000);

			sfctl_explain_wide(&id, &row);
			ck_assert_int_eq(strtoll(row.unix_ms, NULL, 10), ms);
		}
	}
}
END_TEST

static const struct {
	double time;
	const char *unix_ms;
	const char *seconds;
} hound_times[] = {
	{1557935521.123456, "1557935521123", "1557935521.123456"},
	{1557935521.9999998, "1557935521999", "1557935521.9999998"},
	{0, "0", "0"},
	{-0.0005, "-1", "-0.0005"},
	{0.1, "100", "0.1"},
	{1e300, "-", "1e+300"},
	{-1e300, "-", "-1e+300"},
	{(double)__builtin_inff(), "-", "inf"},
	{(double)__builtin_nanf(""), "-", "nan"},
};

START_TEST(explain_hound_times_are_exact_or_none)
{
	struct sfctl_id id = hound_of(hound_times[_i].time);
	json_t *object = sfctl_wide_json(&id);
	struct sfctl_row row;

	ck_assert_ptr_nonnull(object);
	sfctl_explain_wide(&id, &row);
	ck_assert_str_eq(row.unix_ms, hound_times[_i].unix_ms);
	ck_assert_str_eq(json_string_value(json_object_get(object, "seconds")),
			 hound_times[_i].seconds);
	ck_assert_int_eq(json_is_null(json_object_get(object, "time")),
			 strcmp(row.unix_ms, "-") == 0);
	ck_assert_str_eq(row.details, "machine=000000000001 client=2 sequence=3");
	json_decref(object);
}
END_TEST

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

static Suite *id_suite(void)
{
	Suite *suite = suite_create("tools_id");
	TCase *guess = tcase_create("guess");
	TCase *read = tcase_create("read");
	TCase *explain = tcase_create("explain");

	tcase_add_loop_test(guess, notation_guess_is_made_only_where_nothing_else_would_do, 0,
			    LENGTH(guesses));
	tcase_add_test(guess, notation_guess_does_not_read_past_the_word);
	tcase_add_test(guess, notation_of_a_name_knows_all);
	tcase_add_loop_test(read, id_parse_reads_text_and_bytes_back, 0, LENGTH(words));
	tcase_add_test(read, id_from_bytes_of_bad_bytes_is_refused);
	tcase_add_test(explain, explain_hound_fc59_cuts_time_to_its_millisecond);
	tcase_add_loop_test(explain, explain_hound_times_are_exact_or_none, 0, LENGTH(hound_times));
	suite_add_tcase(suite, guess);
	suite_add_tcase(suite, read);
	suite_add_tcase(suite, explain);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(id_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
