/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * coola.json: Crockford's Base32, and checksummed ids.
 */
#include "tests/support/stderr.h"
#include "tests/unit/vectors_suite.h"
#include "tools/sfctl.h"

#include <errno.h>
#include <sftext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALPHABET "0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=U"
/* Symbols that a made id may end in. */
#define DIGITS 32

/* ---- numbers ---- */

static void check_encode(json_t *row)
{
	const char *text = t_vectors_text(row, "text");
	struct sf_wide value = t_vectors_wide(row, "value", 10);
	unsigned length = t_vectors_u32(row, "length");
	char written[64];
	struct sf_wide back = {7, 7};

	ck_assert_int_eq(sf_crockford_format(&value, length, written), 0);
	ck_assert_str_eq(written, text);
	ck_assert_int_eq(sf_crockford_parse(text, strlen(text), &back, NULL), 0);
	t_vectors_same(&back, &value);
}

START_TEST(crockford_format_coola_rows_agree)
{
	t_vectors_each("coola.json", "crockford_encode", check_encode);
}
END_TEST

static void check_decode(json_t *row)
{
	const char *text = t_vectors_text(row, "text");
	struct sf_wide want = t_vectors_wide(row, "value", 10);
	struct sf_wide got = {7, 7};
	struct sf_why why;

	ck_assert_msg(sf_crockford_parse(text, strlen(text), &got, &why) == 0, "%s", why.text);
	t_vectors_same(&got, &want);
}

START_TEST(crockford_parse_coola_rows_agree)
{
	t_vectors_each("coola.json", "crockford_decode", check_decode);
}
END_TEST

static void check_decode_refused(json_t *row)
{
	struct sf_wide got = {7, 7};
	struct sf_why why = {""};

	ck_assert_int_eq(
		sf_crockford_parse(json_string_value(row), json_string_length(row), &got, &why),
		-EINVAL);
	ck_assert_msg(strstr(why.text, "character") != NULL, "%s", why.text);
	ck_assert_uint_eq(got.high, 7);
	ck_assert_uint_eq(got.low, 7);
}

START_TEST(crockford_parse_coola_refused_rows_are_refused)
{
	t_vectors_each("coola.json", "crockford_decode_refused", check_decode_refused);
}
END_TEST

/* ---- check symbols ---- */

static void check_alphabet(json_t *row)
{
	const char *alphabet = json_string_value(row);
	char payload[3];

	ck_assert_str_eq(alphabet, ALPHABET);
	for (int i = 0; alphabet[i] != '\0'; i++) {
		/* "0", ..., "Z", "10", ...: its value is its remainder */
		(void)snprintf(payload, sizeof(payload), "%.*s%c", i / DIGITS, "1",
			       ALPHABET[i % DIGITS]);
		ck_assert_int_eq(sf_crockford_check(payload, strlen(payload)), alphabet[i]);
	}
}

START_TEST(crockford_check_coola_alphabet_agrees)
{
	t_vectors_one("coola.json", "checksum_alphabet", check_alphabet);
}
END_TEST

/* Draws ids as long as a payload that must be drawn anew: none ends in one of the five symbols. */
static void check_drawn(uint32_t length)
{
	struct sf_checksum_options options = {.size = sizeof(options), .length = length, .sep = ""};
	char text[64];

	for (int i = 0; i < 64; i++) {
		ck_assert_int_eq(sf_checksum_new(&options, text, sizeof(text), NULL),
				 (int)length + 1);
		ck_assert_ptr_nonnull(memchr(ALPHABET, text[length], DIGITS));
		ck_assert_int_eq(sf_checksum_verify(text, length + 1, ""), 1);
	}
}

static void check_checksum(json_t *row)
{
	static const struct sf_checksum_options options = {
		.size = sizeof(options), .group_size = 4, .sep = "-"};
	const char *payload = t_vectors_text(row, "payload");
	const char *check = t_vectors_text(row, "check");
	const char *grouped = t_vectors_text(row, "grouped_4");
	uint32_t remainder = t_vectors_u32(row, "remainder");
	bool may_emit = t_vectors_flag(row, "generator_may_emit");
	size_t length = strlen(payload);
	char text[128];

	ck_assert_uint_lt(remainder, strlen(ALPHABET));
	ck_assert_int_eq(check[0], ALPHABET[remainder]);
	ck_assert_int_eq(check[1], '\0');
	ck_assert_int_eq(sf_crockford_check(payload, length), check[0]);
	ck_assert_int_eq(sf_checksum_complete(&options, payload, length, text, sizeof(text), NULL),
			 (int)strlen(grouped));
	ck_assert_str_eq(text, grouped);
	ck_assert_int_eq(sf_checksum_verify(grouped, strlen(grouped), NULL), 1);
	ck_assert_int_eq(remainder < DIGITS, may_emit);
	if (!may_emit)
		check_drawn((uint32_t)length);
}

START_TEST(checksum_complete_and_new_coola_rows_agree)
{
	t_vectors_each("coola.json", "checksum", check_checksum);
}
END_TEST

/* ---- verify ---- */

static void check_verify(json_t *row)
{
	json_t *identifier = t_vectors_field(row, "identifier");
	const char *sep = t_vectors_text(row, "sep");
	/* What is no string there: null is nothing here, and a number is its digits. */
	char *digits = json_is_integer(identifier) ? json_dumps(identifier, JSON_ENCODE_ANY) : NULL;
	const char *text = digits ? digits : json_string_value(identifier);
	size_t length = digits ? strlen(digits) : json_string_length(identifier);

	t_vectors_skip(row, "label");
	ck_assert_int_eq(sf_checksum_verify(text, length, sep), t_vectors_flag(row, "valid"));
	if (strcmp(sep, "-") == 0)
		ck_assert_int_eq(sf_checksum_verify(text, length, NULL),
				 t_vectors_flag(row, "valid"));
	free(digits);
}

START_TEST(checksum_verify_coola_rows_agree)
{
	t_vectors_each("coola.json", "verify_checksummed", check_verify);
}
END_TEST

static void check_grouping(json_t *row)
{
	const char *payload = t_vectors_text(row, "payload");
	const char *sep = t_vectors_text(row, "sep");
	const char *want = t_vectors_text(row, "text");
	struct sf_checksum_options options = {.size = sizeof(options),
					      .group_size = t_vectors_u32(row, "group_size"),
					      .sep = sep};
	char text[128];

	ck_assert_int_eq(
		sf_checksum_complete(&options, payload, strlen(payload), text, sizeof(text), NULL),
		(int)strlen(want));
	ck_assert_str_eq(text, want);
	ck_assert_int_eq(sf_checksum_verify(text, strlen(text), sep), 1);
}

START_TEST(checksum_complete_coola_grouping_agrees)
{
	t_vectors_each("coola.json", "checksummed_grouping", check_grouping);
}
END_TEST

/* @return number of substitutions that verify took for good */
static unsigned substitute(const char *id, size_t length, unsigned *ret_tried)
{
	unsigned accepted = 0;

	for (size_t at = 0; at < length; at++) {
		size_t choices = at + 1 < length ? DIGITS : strlen(ALPHABET);

		for (size_t i = 0; i < choices; i++) {
			char text[64];

			if (ALPHABET[i] == id[at])
				continue;
			memcpy(text, id, length);
			text[at] = ALPHABET[i];
			accepted += sf_checksum_verify(text, length, "-") != 0;
			++*ret_tried;
		}
	}
	return accepted;
}

/* @return number of swaps of neighbours that verify took for good */
static unsigned swap(const char *id, size_t length, unsigned *ret_tried)
{
	unsigned accepted = 0;

	for (size_t at = 0; at + 1 < length; at++) {
		char text[64];

		if (id[at] == id[at + 1])
			continue;
		memcpy(text, id, length);
		text[at] = id[at + 1];
		text[at + 1] = id[at];
		accepted += sf_checksum_verify(text, length, "-") != 0;
		++*ret_tried;
	}
	return accepted;
}

/* The five extra symbols belong into the last place: elsewhere no check symbol helps. */
static void check_misplaced(const char *id, size_t length)
{
	char text[64];

	for (size_t i = 0; i < (length - 1) * (strlen(ALPHABET) - DIGITS); i++) {
		memcpy(text, id, length);
		text[i % (length - 1)] = ALPHABET[DIGITS + i / (length - 1)];
		for (size_t j = 0; j < strlen(ALPHABET); j++) {
			text[length - 1] = ALPHABET[j];
			ck_assert_msg(!sf_checksum_verify(text, length, "-"), "%.*s", (int)length,
				      text);
		}
	}
}

static void check_detection(json_t *row)
{
	const char *grouped = t_vectors_text(row, "id");
	unsigned tried = 0;
	size_t length = 0;
	char id[64];

	ck_assert_uint_lt(strlen(grouped), sizeof(id));
	for (const char *at = grouped; *at != '\0'; at++)
		if (*at != '-')
			id[length++] = *at;
	ck_assert_int_eq(sf_checksum_verify(id, length, "-"), 1);
	ck_assert_uint_eq(substitute(id, length, &tried), t_vectors_u32(row, "accepted_wrongly"));
	ck_assert_uint_eq(tried, t_vectors_u32(row, "single_substitutions_tried"));
	tried = 0;
	ck_assert_uint_eq(swap(id, length, &tried), t_vectors_u32(row, "swaps_accepted_wrongly"));
	ck_assert_uint_eq(tried, t_vectors_u32(row, "adjacent_swaps_tried"));
	check_misplaced(id, length);
}

START_TEST(checksum_verify_coola_detection_finds_every_slip)
{
	t_vectors_one("coola.json", "checksummed_detection", check_detection);
}
END_TEST

/* ---- shapes that are refused ---- */

/* In C a length has no sign, and 0 is the default: the one that people write a number for is
 * sfctl, which refuses. */
static const struct {
	const char *field;
	const char *option;
	const char *said;
} shapes[] = {
	{"length", "--length", "not a number from 1 to 1024"},
	{"group_size", "--group-size", "not a number from 1 to 1025"},
	{"sep", "--sep", "cannot be in a separator"},
};

static void check_command(const char *option, const char *value, const char *said)
{
	struct sfctl sfctl = {.command = "checksum"};
	char name[] = "checksum";
	char action[] = "new";
	char argument[64];
	char *argv[] = {name, action, argument, NULL};
	int status;

	(void)snprintf(argument, sizeof(argument), "%s=%s", option, value);
	optind = 0; /* getopt: from the start */
	t_stderr_begin();
	status = sfctl_cmd_checksum(&sfctl, T_COUNT(argv) - 1, argv);
	ck_assert_msg(strstr(t_stderr_end(), said) != NULL, "%s", argument);
	ck_assert_int_eq(status, SFCTL_USAGE);
}

static void check_sep_refused(const char *sep)
{
	struct sf_checksum_options options = {.size = sizeof(options), .sep = sep};
	char text[64] = "untouched";
	struct sf_why why;

	ck_assert_int_eq(sf_checksum_new(&options, text, sizeof(text), &why), -EINVAL);
	ck_assert_str_eq(text, "untouched");
	ck_assert_ptr_nonnull(strstr(why.text, "cannot be in a separator"));
}

static void check_shape_refused(json_t *row)
{
	ck_assert_uint_eq(json_object_size(row), 1);
	for (size_t i = 0; i < T_COUNT(shapes); i++) {
		json_t *value = t_vectors_field_if_any(row, shapes[i].field);
		char number[32];

		if (!value)
			continue;
		(void)snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
			       json_integer_value(value));
		check_command(shapes[i].option,
			      json_is_string(value) ? json_string_value(value) : number,
			      shapes[i].said);
		if (json_is_string(value))
			check_sep_refused(json_string_value(value));
	}
}

START_TEST(checksum_new_coola_refused_shapes_are_refused)
{
	t_vectors_each("coola.json", "checksummed_generate_refused", check_shape_refused);
}
END_TEST

void t_add_vectors_coola_text(Suite *suite)
{
	TCase *tcase = tcase_create("coola: Base32 and checksums");

	tcase_add_test(tcase, crockford_format_coola_rows_agree);
	tcase_add_test(tcase, crockford_parse_coola_rows_agree);
	tcase_add_test(tcase, crockford_parse_coola_refused_rows_are_refused);
	tcase_add_test(tcase, crockford_check_coola_alphabet_agrees);
	tcase_add_test(tcase, checksum_complete_and_new_coola_rows_agree);
	tcase_add_test(tcase, checksum_verify_coola_rows_agree);
	tcase_add_test(tcase, checksum_complete_coola_grouping_agrees);
	tcase_add_test(tcase, checksum_verify_coola_detection_finds_every_slip);
	tcase_add_test(tcase, checksum_new_coola_refused_shapes_are_refused);
	suite_add_tcase(suite, tcase);
}
