/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * coola.json: ULID, UUIDv7 and ObjectId out of (time, counter) and back, and what their readers
 * take and refuse.
 */
#include "tests/unit/vectors_suite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- pack: every way to the same text ---- */

/* The functions for all formats agree with those of one format. */
static void check_common(unsigned format, const struct sf_wide *id, const char *text,
			 int64_t unix_ms)
{
	size_t byte_count = format == SF_FORMAT_OBJECTID ? SF_OBJECTID_BYTES : SF_WIDE_BYTES;
	uint8_t bytes[SF_WIDE_BYTES_MAX];
	char written[SF_WIDE_TEXT_MAX];
	struct sf_wide back = {7, 7};
	int64_t got_ms = -1;

	ck_assert_int_eq(sf_wide_format(format, id, written), (int)strlen(text));
	ck_assert_str_eq(written, text);
	ck_assert_int_eq(sf_wide_unix_ms(format, id, &got_ms), 0);
	ck_assert_int_eq(got_ms, unix_ms);
	ck_assert_int_eq(sf_wide_to_bytes(format, id, bytes), (int)byte_count);
	ck_assert_int_eq(sf_wide_from_bytes(format, bytes, byte_count, &back, NULL), 0);
	t_vectors_same(&back, id);
}

static struct sf_wide read_counter(json_t *row)
{
	struct sf_wide counter = t_vectors_wide(row, "counter", 10);
	struct sf_wide as_hex = t_vectors_wide(row, "counter_hex", 16);

	t_vectors_same(&counter, &as_hex);
	return counter;
}

static void check_ulid_pack(json_t *row)
{
	int64_t unix_ms = t_vectors_i64(row, "timestamp_ms");
	const char *text = t_vectors_text(row, "ulid");
	struct sf_wide counter = read_counter(row);
	char written[SF_ULID_TEXT + 1];
	struct sf_wide id = {7, 7};
	struct sf_wide back = {7, 7};

	ck_assert_int_eq(sf_ulid_compose(unix_ms, &counter, &id, NULL), 0);
	sf_ulid_format(&id, written);
	ck_assert_str_eq(written, text);
	ck_assert_int_eq(sf_ulid_parse(text, strlen(text), &back, NULL), 0);
	t_vectors_same(&back, &id);
	ck_assert_int_eq(sf_ulid_unix_ms(&id), unix_ms);
	check_common(SF_FORMAT_ULID, &id, text, unix_ms);
}

START_TEST(ulid_compose_coola_pack_agrees)
{
	t_vectors_each("coola.json", "ulid_pack", check_ulid_pack);
}
END_TEST

static void check_uuid7_pack(json_t *row)
{
	int64_t unix_ms = t_vectors_i64(row, "timestamp_ms");
	const char *text = t_vectors_text(row, "uuid7");
	struct sf_wide counter = read_counter(row);
	char written[SF_UUID_TEXT + 1];
	struct sf_wide id = {7, 7};
	struct sf_wide back = {7, 7};

	ck_assert_int_eq(sf_uuid7_compose(unix_ms, &counter, &id, NULL), 0);
	sf_uuid_format(&id, written);
	ck_assert_str_eq(written, text);
	ck_assert_int_eq(sf_uuid_version(&id), 7);
	ck_assert_int_eq(sf_uuid7_parse(text, strlen(text), &back, NULL), 0);
	t_vectors_same(&back, &id);
	ck_assert_int_eq(sf_uuid7_unix_ms(&id), unix_ms);
	check_common(SF_FORMAT_UUID7, &id, text, unix_ms);
}

START_TEST(uuid7_compose_coola_pack_agrees)
{
	t_vectors_each("coola.json", "uuid7_pack", check_uuid7_pack);
}
END_TEST

static void check_objectid_pack(json_t *row)
{
	int64_t unix_s = t_vectors_i64(row, "timestamp_s");
	const char *text = t_vectors_text(row, "object_id");
	char written[SF_OBJECTID_TEXT + 1];
	struct sf_wide id = {7, 7};
	struct sf_wide back = {7, 7};

	ck_assert_int_eq(sf_objectid_compose(unix_s, t_vectors_u64(row, "counter"), &id, NULL), 0);
	sf_objectid_format(&id, written);
	ck_assert_str_eq(written, text);
	ck_assert_int_eq(sf_objectid_parse(text, strlen(text), &back, NULL), 0);
	t_vectors_same(&back, &id);
	ck_assert_int_eq(sf_objectid_unix_s(&id), unix_s);
	check_common(SF_FORMAT_OBJECTID, &id, text, unix_s * 1000);
}

START_TEST(objectid_compose_coola_pack_agrees)
{
	t_vectors_each("coola.json", "objectid_pack", check_objectid_pack);
}
END_TEST

/* ---- extract: the canonical form and nothing else ---- */

/* A format's reader and the time of what it read. */
struct reader {
	int (*parse)(const char *text, size_t length, struct sf_wide *ret_id, struct sf_why *why);
	int64_t (*time)(const struct sf_wide *id);
};

/* More bits than there are is another error than a wrong character. */
static int refusal_of(const char *text, size_t length)
{
	return length == SF_ULID_TEXT && text[0] > '7' ? -ERANGE : -EINVAL;
}

static void check_read(const struct reader *reader, json_t *row)
{
	json_t *input = t_vectors_field(row, "input");
	/* A number for a text is a TypeError there; here there are texts only, so its digits are.
	 */
	char *digits = json_is_string(input) ? NULL : json_dumps(input, JSON_ENCODE_ANY);
	const char *text = digits ? digits : json_string_value(input);
	size_t length = digits ? strlen(digits) : json_string_length(input);
	struct sf_wide id = {7, 7};
	struct sf_why why = {"?"};
	int r = reader->parse(text, length, &id, &why);

	t_vectors_skip(row, "label");
	if (t_vectors_field_if_any(row, "error")) {
		ck_assert_str_eq(t_vectors_text(row, "error"), digits ? "TypeError" : "ValueError");
		ck_assert_int_eq(r, refusal_of(text, length));
		ck_assert_msg(strstr(why.text, "character") != NULL, "%s", why.text);
		ck_assert_uint_eq(id.high, 7);
		ck_assert_uint_eq(id.low, 7);
		ck_assert_int_eq(reader->parse(text, length, &id, NULL), r);
	} else {
		ck_assert_msg(r == 0, "%s", why.text);
		ck_assert_str_eq(why.text, "");
		ck_assert_int_eq(reader->time(&id), t_vectors_i64(row, "timestamp"));
	}
	free(digits);
}

static void check_ulid_extract(json_t *row)
{
	check_read(&(struct reader){sf_ulid_parse, sf_ulid_unix_ms}, row);
}

START_TEST(ulid_parse_coola_extract_gives_time_or_error)
{
	t_vectors_each("coola.json", "ulid_extract", check_ulid_extract);
}
END_TEST

static void check_uuid7_extract(json_t *row)
{
	check_read(&(struct reader){sf_uuid7_parse, sf_uuid7_unix_ms}, row);
}

START_TEST(uuid7_parse_coola_extract_gives_time_or_error)
{
	t_vectors_each("coola.json", "uuid7_extract", check_uuid7_extract);
}
END_TEST

static void check_objectid_extract(json_t *row)
{
	check_read(&(struct reader){sf_objectid_parse, sf_objectid_unix_s}, row);
}

START_TEST(objectid_parse_coola_extract_gives_time_or_error)
{
	t_vectors_each("coola.json", "objectid_extract", check_objectid_extract);
}
END_TEST

/* ---- times that do not fit ---- */

static const struct {
	const char *format;
	int (*make)(int64_t time, struct sf_wide *ret_id, struct sf_why *why);
	const char *legal;
} timed[] = {
	{"ulid timestamp_ms", sf_ulid_make, "281474976710655"},
	{"uuid7 timestamp_ms", sf_uuid7_make, "281474976710655"},
	{"objectid timestamp_s", sf_objectid_make, "4294967295"},
};

static int compose(size_t which, int64_t time, struct sf_wide *ret_id, struct sf_why *why)
{
	static const struct sf_wide zero;

	switch (which) {
	case 0:
		return sf_ulid_compose(time, &zero, ret_id, why);
	case 1:
		return sf_uuid7_compose(time, &zero, ret_id, why);
	default:
		return sf_objectid_compose(time, 0, ret_id, why);
	}
}

static void check_time_refusal(int r, const struct sf_why *why, const struct sf_wide *id,
			       const char *legal)
{
	ck_assert_int_eq(r, -ERANGE);
	ck_assert_msg(strstr(why->text, legal) != NULL, "%s", why->text);
	ck_assert_uint_eq(id->high, 7);
	ck_assert_uint_eq(id->low, 7);
}

static void check_refused_time(json_t *row)
{
	const char *format = t_vectors_text(row, "format");
	int64_t time = t_vectors_i64(row, "value");
	struct sf_wide id = {7, 7};
	struct sf_why why = {""};
	size_t i = 0;

	ck_assert_str_eq(t_vectors_text(row, "error"), "ValueError");
	while (i < T_COUNT(timed) && strcmp(timed[i].format, format) != 0)
		i++;
	ck_assert_msg(i < T_COUNT(timed), "format \"%s\"", format);
	check_time_refusal(compose(i, time, &id, &why), &why, &id, timed[i].legal);
	check_time_refusal(timed[i].make(time, &id, &why), &why, &id, timed[i].legal);
}

START_TEST(compose_and_make_coola_refused_times_give_range_error)
{
	t_vectors_each("coola.json", "timestamp_refused", check_refused_time);
}
END_TEST

void t_add_vectors_coola_wide(Suite *suite)
{
	TCase *tcase = tcase_create("coola: ULID, UUIDv7, ObjectId");

	tcase_add_test(tcase, ulid_compose_coola_pack_agrees);
	tcase_add_test(tcase, uuid7_compose_coola_pack_agrees);
	tcase_add_test(tcase, objectid_compose_coola_pack_agrees);
	tcase_add_test(tcase, ulid_parse_coola_extract_gives_time_or_error);
	tcase_add_test(tcase, uuid7_parse_coola_extract_gives_time_or_error);
	tcase_add_test(tcase, objectid_parse_coola_extract_gives_time_or_error);
	tcase_add_test(tcase, compose_and_make_coola_refused_times_give_range_error);
	suite_add_tcase(suite, tcase);
}
