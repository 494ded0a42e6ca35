/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * hound.json, but for what depends on the clock: 22 bytes out of their fields, and back.
 */
#include "tests/unit/vectors_suite.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUM_AT 21

static uint64_t bits_of(double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

static uint64_t machine_of(json_t *row)
{
	const char *text = t_vectors_text(row, "machine_id");
	char *end;
	uint64_t machine = strtoull(text, &end, 16);

	ck_assert_msg(end != text && *end == '\0', "\"%s\" is no machine id", text);
	return machine;
}

static struct sf_hound read_hound(json_t *row)
{
	struct sf_hound id = {.time = t_vectors_double(row, "time"),
			      .machine = machine_of(row),
			      .client = (uint16_t)t_vectors_u32(row, "client_id"),
			      .sequence = (uint16_t)t_vectors_u32(row, "sequence_id")};

	return id;
}

static void assert_same(const struct sf_hound *got, const struct sf_hound *want)
{
	if (isnan(want->time))
		ck_assert(isnan(got->time));
	else
		ck_assert_uint_eq(bits_of(got->time), bits_of(want->time));
	ck_assert_uint_eq(got->machine, want->machine);
	ck_assert_uint_eq(got->client, want->client);
	ck_assert_uint_eq(got->sequence, want->sequence);
}

/* ---- generate ---- */

/* A stream's value holds milliseconds and 6 bytes of machine id: where those are enough, it stands
 * for the same 22 bytes. @return whether they are */
static bool check_as_stream(const struct sf_hound *id, const char *hex)
{
	double unix_ms = id->time * 1000;
	struct sf_wide wide;
	struct sf_hound back;
	char text[SF_WIDE_TEXT_MAX];

	if (unix_ms < 0 || unix_ms != floor(unix_ms) || id->machine >> 48)
		return false;
	wide.high = (uint64_t)unix_ms << 16 | id->machine >> 32;
	wide.low = id->machine << 32 | (uint64_t)id->client << 16 | id->sequence;
	sf_hound_from_wide(&wide, &back);
	assert_same(&back, id);
	ck_assert_int_eq(sf_wide_format(SF_FORMAT_HOUND, &wide, text), SF_HOUND_TEXT);
	ck_assert_str_eq(text, hex);
	return true;
}

static void check_generate(json_t *row)
{
	struct sf_hound id = read_hound(row);
	const char *hex = t_vectors_text(row, "hex");
	struct sf_hound back;
	uint8_t bytes[SF_HOUND_BYTES];
	char text[SF_HOUND_TEXT + 1];

	t_vectors_skip(row, "label");
	ck_assert_uint_eq(bits_of(t_vectors_double(row, "time_c99")), bits_of(id.time));
	ck_assert_uint_eq(t_vectors_wide(row, "time_bits_be", 16).low, bits_of(id.time));
	sf_hound_pack(&id, bytes);
	sf_hound_format(bytes, text);
	ck_assert_str_eq(text, hex);
	ck_assert_uint_eq(bytes[SUM_AT - 1], t_vectors_u32(row, "reserved"));
	ck_assert_uint_eq(bytes[SUM_AT], t_vectors_u32(row, "checksum"));
	ck_assert_int_eq(sf_hound_unpack(bytes, sizeof(bytes), 1, &back, NULL), 0);
	assert_same(&back, &id);
	(void)check_as_stream(&id, hex);
	/* the field wraps in the packing's own type */
	ck_assert_uint_eq((uint16_t)(id.sequence + 1), t_vectors_u32(row, "next_sequence_id"));
}

START_TEST(hound_pack_generate_rows_agree)
{
	t_vectors_each("hound.json", "generate", check_generate);
}
END_TEST

/* ---- unpack ---- */

/* Bytes of the row's input, as many as there are. */
static size_t raw_bytes(const char *hex, uint8_t *bytes, size_t size)
{
	size_t count = strlen(hex) / 2;

	ck_assert_uint_le(count, size);
	for (size_t i = 0; i < count; i++) {
		const char digits[] = {hex[2 * i], hex[2 * i + 1], '\0'};

		bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return count;
}

static int unpack_text(const char *text, int validate, struct sf_hound *ret_id, struct sf_why *why)
{
	uint8_t bytes[SF_HOUND_BYTES];
	int r = sf_hound_parse(text, strlen(text), bytes, why);

	if (r < 0)
		return r;
	return sf_hound_unpack(bytes, sizeof(bytes), validate, ret_id, why);
}

/* What the original's errors are here: its struct.error is a wrong length. */
static int error_of(const char *error, const char *message)
{
	if (strcmp(error, "struct.error") == 0)
		return -EMSGSIZE;
	ck_assert_str_eq(error, "ValueError");
	return strstr(message, "fromhex") ? -EINVAL : -EBADMSG;
}

/* The sentence names the same place (counted from 1) or the same ID as the original's. */
static void check_sentence(const char *said, const char *message, int error)
{
	const char *position = strstr(message, "position ");
	char wanted[64];

	ck_assert_msg(said[0] != '\0', "no sentence for: %s", message);
	if (error == -EBADMSG) {
		(void)snprintf(wanted, sizeof(wanted), "%.44s", message + strlen("Snowflake "));
		ck_assert_msg(strstr(said, wanted) != NULL, "no \"%s\" in: %s", wanted, said);
	}
	if (position) {
		(void)snprintf(wanted, sizeof(wanted), "character %lu ",
			       strtoul(position + strlen("position "), NULL, 10) + 1);
		ck_assert_msg(strstr(said, wanted) != NULL, "no \"%s\" in: %s", wanted, said);
	}
}

static void check_result(json_t *result, int r, const struct sf_hound *got,
			 const struct sf_why *why)
{
	if (t_vectors_flag(result, "ok")) {
		struct sf_hound want = read_hound(result);

		ck_assert_msg(r == 0, "%s", why->text);
		assert_same(got, &want);
	} else {
		const char *message = t_vectors_text(result, "message");
		int error = error_of(t_vectors_text(result, "error"), message);

		ck_assert_int_eq(r, error);
		check_sentence(why->text, message, error);
		ck_assert_uint_eq(got->machine, 7);
	}
}

/* The original refuses these types. C knows bytes, whatever held them: they are read. A thing
 * that is no bytes at all is no argument; the nearest is none. */
static void check_other_type(json_t *row, const char *kind)
{
	json_t *input = t_vectors_field(row, "input");
	json_t *result = t_vectors_field(row, "result");
	int validate = t_vectors_flag(row, "validate");
	uint8_t bytes[64];
	struct sf_hound id;

	ck_assert(!t_vectors_flag(result, "ok"));
	ck_assert_str_eq(t_vectors_text(result, "error"), "TypeError");
	if (json_is_null(input)) {
		ck_assert_int_eq(sf_hound_unpack(NULL, 0, validate, &id, NULL), -EMSGSIZE);
		return;
	}
	ck_assert_msg(strcmp(kind, "bytearray") == 0 || strcmp(kind, "memoryview") == 0, "%s",
		      kind);
	ck_assert_int_eq(sf_hound_unpack(bytes,
					 raw_bytes(json_string_value(input), bytes, sizeof(bytes)),
					 validate, &id, NULL),
			 0);
}

static void check_unpack(json_t *row)
{
	const char *kind = t_vectors_text(row, "input_kind");
	struct sf_hound id = {.machine = 7};
	struct sf_why why = {""};
	uint8_t bytes[64];
	const char *input;
	json_t *result;
	int validate;
	int r;

	t_vectors_skip(row, "label");
	if (strcmp(kind, "str") != 0 && strcmp(kind, "bytes") != 0) {
		check_other_type(row, kind);
		return;
	}
	input = t_vectors_text(row, "input");
	result = t_vectors_field(row, "result");
	validate = t_vectors_flag(row, "validate");
	if (strcmp(kind, "str") == 0)
		r = unpack_text(input, validate, &id, &why);
	else
		r = sf_hound_unpack(bytes, raw_bytes(input, bytes, sizeof(bytes)), validate, &id,
				    &why);
	check_result(result, r, &id, &why);
}

START_TEST(hound_unpack_rows_agree)
{
	t_vectors_each("hound.json", "unpack", check_unpack);
}
END_TEST

/* ---- order ---- */

static char last_hex[SF_HOUND_TEXT + 1];

static void check_sorted(json_t *row)
{
	const char *hex = json_string_value(row);
	uint8_t last[SF_HOUND_BYTES];
	uint8_t now[SF_HOUND_BYTES];
	struct sf_hound a;
	struct sf_hound b;

	ck_assert_uint_eq(strlen(hex), SF_HOUND_TEXT);
	ck_assert_int_eq(sf_hound_parse(hex, SF_HOUND_TEXT, now, NULL), 0);
	ck_assert_int_eq(sf_hound_unpack(now, sizeof(now), 1, &b, NULL), 0);
	if (last_hex[0] != '\0') {
		ck_assert_int_eq(sf_hound_parse(last_hex, SF_HOUND_TEXT, last, NULL), 0);
		ck_assert_int_eq(sf_hound_unpack(last, sizeof(last), 1, &a, NULL), 0);
		ck_assert(a.time < b.time);
		ck_assert_int_lt(strcmp(last_hex, hex), 0);
		ck_assert_int_lt(memcmp(last, now, sizeof(now)), 0);
	}
	memcpy(last_hex, hex, sizeof(last_hex));
}

START_TEST(hound_bytes_and_text_of_rising_times_rise)
{
	t_vectors_each("hound.json", "sorted_hex_ascending", check_sorted);
}
END_TEST

/* ---- format ---- */

static const struct sf_hound ones = {
	.time = -1.5, .machine = UINT64_MAX, .client = UINT16_MAX, .sequence = UINT16_MAX};

/* One field set, all others zero: which bytes are not zero? */
static void set_field(const char *name, struct sf_hound *ret_id)
{
	*ret_id = (struct sf_hound){.time = 0};
	if (strcmp(name, "time") == 0)
		ret_id->time = ones.time;
	else if (strcmp(name, "machine_id") == 0)
		ret_id->machine = ones.machine;
	else if (strcmp(name, "client_id") == 0)
		ret_id->client = ones.client;
	else if (strcmp(name, "sequence_id") == 0)
		ret_id->sequence = ones.sequence;
	else
		ck_assert_msg(strcmp(name, "reserved") == 0 || strcmp(name, "checksum") == 0,
			      "field \"%s\"", name);
}

static void check_field(json_t *field)
{
	size_t offset = t_vectors_u32(field, "offset");
	size_t end = offset + t_vectors_u32(field, "size");
	const char *name = t_vectors_text(field, "name");
	uint8_t bytes[SF_HOUND_BYTES];
	struct sf_hound id;
	unsigned sum = 0;

	set_field(name, &id);
	sf_hound_pack(&id, bytes);
	for (size_t i = 0; i < SUM_AT; i++) {
		ck_assert_msg(bytes[i] == 0 || (i >= offset && i < end), "%s: byte %zu", name, i);
		sum += bytes[i];
	}
	ck_assert_uint_eq(bytes[SUM_AT], sum & 0xff);
	if (strcmp(name, "checksum") == 0)
		ck_assert_uint_eq(offset, SUM_AT);
	else if (strcmp(name, "reserved") == 0)
		ck_assert_uint_eq(offset, SUM_AT - 1);
	else
		ck_assert_uint_ne(bytes[offset], 0);
	if (strcmp(name, "time") == 0) /* big-endian: the sign comes first */
		ck_assert_uint_eq(bytes[offset], 0xbf);
}

static void check_format(json_t *row)
{
	json_t *fields = t_vectors_field(row, "fields");
	json_t *field;
	size_t next = 0;
	size_t i;

	ck_assert_uint_eq(t_vectors_u32(row, "bytes"), SF_HOUND_BYTES);
	ck_assert_uint_eq(t_vectors_u32(row, "hex_digits"), SF_HOUND_TEXT);
	ck_assert_str_eq(t_vectors_text(row, "endian"), "big");
	json_array_foreach(fields, i, field)
	{
		ck_assert_uint_eq(t_vectors_u32(field, "offset"), next);
		next += t_vectors_u32(field, "size");
		check_field(field);
	}
	ck_assert_uint_eq(next, SF_HOUND_BYTES);
}

START_TEST(hound_pack_format_agrees)
{
	t_vectors_one("hound.json", "format", check_format);
}
END_TEST

void t_add_vectors_hound(Suite *suite)
{
	TCase *tcase = tcase_create("hound");

	tcase_add_test(tcase, hound_pack_generate_rows_agree);
	tcase_add_test(tcase, hound_unpack_rows_agree);
	tcase_add_test(tcase, hound_bytes_and_text_of_rising_times_rise);
	tcase_add_test(tcase, hound_pack_format_agrees);
	suite_add_tcase(suite, tcase);
}
