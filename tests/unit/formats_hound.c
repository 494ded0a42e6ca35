/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Hound IDs as bytes and as text. They are not read into a sf_wide, so the helpers of the other
 * formats do not fit.
 */
#include "tests/unit/formats_suite.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SAMPLE "41d7370d6847e6b400000242ac1100021234000000ee"

static const struct sf_hound sample = {
	.time = 0x1.7370d6847e6b4p+30, .machine = 0x242ac110002, .client = 0x1234, .sequence = 0};

static int parse(const char *text, size_t length, uint8_t *ret_bytes, struct sf_why *why)
{
	return sf_hound_parse(t_at_the_edge(text, length), length, ret_bytes, why);
}

static void assert_text(const uint8_t *bytes, const char *want)
{
	char text[SF_HOUND_TEXT + 1];

	sf_hound_format(bytes, text);
	ck_assert_str_eq(text, want);
}

static const struct {
	struct sf_hound id;
	const char *text;
} packed[] = {
	{{0x1.7370d6847e6b4p+30, 0x242ac110002, 0x1234, 0xffff, 0},
	 "41d7370d6847e6b400000242ac1100021234ffff00ec"},
	{{1588880460.5, 0x1122334455, 0xbeef, 42, 0},
	 "41d7ad19132000000000001122334455beef002a00e7"},
	{{1700000000.25, UINT64_MAX, 0xffff, 0xffff, 0},
	 "41d954fc40100000ffffffffffffffffffffffff00ae"},
	{{0, 0, 0, 0, 0}, "00000000000000000000000000000000000000000000"},
	{{-1.5, 0x242ac110002, 9, 9, 0}, "bff800000000000000000242ac1100020009000900cc"},
};

START_TEST(pack_known_fields_gives_known_bytes)
{
	uint8_t bytes[SF_HOUND_BYTES];

	sf_hound_pack(&packed[_i].id, bytes);
	assert_text(bytes, packed[_i].text);
}
END_TEST

/** Byte by byte. */
static void model_pack(const struct sf_hound *id, uint8_t *ret_bytes)
{
	uint64_t time;
	unsigned sum = 0;

	memcpy(&time, &id->time, sizeof(time));
	for (unsigned i = 0; i < 8; i++) {
		ret_bytes[i] = (uint8_t)(time >> (56 - 8 * i));
		ret_bytes[8 + i] = (uint8_t)(id->machine >> (56 - 8 * i));
	}
	ret_bytes[16] = (uint8_t)(id->client >> 8);
	ret_bytes[17] = (uint8_t)id->client;
	ret_bytes[18] = (uint8_t)(id->sequence >> 8);
	ret_bytes[19] = (uint8_t)id->sequence;
	ret_bytes[20] = 0;
	for (unsigned i = 0; i < 21; i++)
		sum += ret_bytes[i];
	ret_bytes[21] = (uint8_t)(sum % 256);
}

/* Any bits are a time, so NaNs, too; the bytes are compared, not the numbers. */
START_TEST(pack_random_fields_equals_the_model_and_unpacks)
{
	t_formats_seed();
	for (int i = 0; i < T_ROUNDS; i++) {
		uint64_t time = t_formats_bits();
		struct sf_hound id = {.machine = t_formats_bits(),
				      .client = (uint16_t)t_formats_bits(),
				      .sequence = (uint16_t)t_formats_bits()};
		uint8_t bytes[SF_HOUND_BYTES];
		uint8_t want[SF_HOUND_BYTES];
		char text[SF_HOUND_TEXT + 1];
		struct sf_hound again;
		struct sf_why why;

		memcpy(&id.time, &time, sizeof(time));
		model_pack(&id, want);
		sf_hound_pack(&id, bytes);
		sf_hound_format(bytes, text);
		T_EXPECT(memcmp(bytes, want, sizeof(want)) == 0, "%s", text);
		(void)memset(bytes, 0, sizeof(bytes));
		T_EXPECT(parse(text, SF_HOUND_TEXT, bytes, &why) == 0, "%s: %s", text, why.text);
		T_EXPECT(memcmp(bytes, want, sizeof(want)) == 0, "%s reads otherwise", text);
		T_EXPECT(sf_hound_unpack(bytes, sizeof(bytes), 1, &again, &why) == 0, "%s",
			 why.text);
		model_pack(&again, bytes);
		T_EXPECT(memcmp(bytes, want, sizeof(want)) == 0 && again.pad0 == 0,
			 "%s unpacks otherwise", text);
	}
}
END_TEST

static void change_each_bit(const uint8_t *bytes)
{
	for (size_t bit = 0; bit < (size_t)8 * SF_HOUND_BYTES; bit++) {
		uint8_t changed[SF_HOUND_BYTES];
		struct sf_hound id = {.client = 7};
		struct sf_why why;
		int want = bit / 8 == 20 ? 0 : -EBADMSG;
		int r;

		memcpy(changed, bytes, sizeof(changed));
		changed[bit / 8] ^= (uint8_t)(1 << bit % 8);
		r = sf_hound_unpack(changed, sizeof(changed), 1, &id, &why);
		T_EXPECT(r == want, "bit %zu: %d", bit, r);
		T_EXPECT((r == 0) == (why.text[0] == '\0'), "bit %zu: \"%s\"", bit, why.text);
		T_EXPECT(r == 0 || id.client == 7, "bit %zu left a result", bit);
		T_EXPECT(sf_hound_unpack(changed, sizeof(changed), 0, &id, NULL) == 0,
			 "bit %zu, unchecked", bit);
	}
}

/* As in the original, the zero is outside of the sum, whatever it is. */
START_TEST(unpack_with_any_bit_changed_fails_unless_unchecked)
{
	uint8_t bytes[SF_HOUND_BYTES];

	sf_hound_pack(&sample, bytes);
	change_each_bit(bytes);
}
END_TEST

START_TEST(unpack_wrong_sum_names_the_id_and_both_sums)
{
	uint8_t bytes[SF_HOUND_BYTES];
	struct sf_hound id;
	struct sf_why why;

	sf_hound_pack(&sample, bytes);
	bytes[21] = 0xef;
	ck_assert_int_eq(sf_hound_unpack(bytes, sizeof(bytes), 1, &id, &why), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(why.text, "41d7370d6847e6b400000242ac1100021234000000ef"));
	ck_assert_ptr_nonnull(strstr(why.text, "last byte is 239"));
	ck_assert_ptr_nonnull(strstr(why.text, "add up to 238"));
}
END_TEST

static const size_t wrong_lengths[] = {0, 21, 23, 44};

START_TEST(unpack_wrong_length_fails_checked_or_not)
{
	static const uint8_t bytes[44];
	struct sf_hound id = {.client = 7};
	struct sf_why why;
	char said[32];

	(void)snprintf(said, sizeof(said), "these are %zu", wrong_lengths[_i]);
	ck_assert_int_eq(sf_hound_unpack(bytes, wrong_lengths[_i], 0, &id, NULL), -EMSGSIZE);
	ck_assert_int_eq(sf_hound_unpack(bytes, wrong_lengths[_i], 1, &id, &why), -EMSGSIZE);
	ck_assert_ptr_nonnull(strstr(why.text, said));
	ck_assert_uint_eq(id.client, 7);
}
END_TEST

START_TEST(unpack_infinite_time_is_accepted)
{
	struct sf_hound id;
	uint8_t bytes[SF_HOUND_BYTES];

	ck_assert_int_eq(
		parse("7ff00000000000000000000000000001000200030075", SF_HOUND_TEXT, bytes, NULL),
		0);
	ck_assert_int_eq(sf_hound_unpack(bytes, sizeof(bytes), 1, &id, NULL), 0);
	ck_assert(isinf(id.time) && id.time > 0);
	ck_assert_uint_eq(id.machine, 1);
}
END_TEST

static const char *const spellings[] = {
	SAMPLE,
	"41D7370D6847E6B400000242AC1100021234000000EE",
	"41D7370D6847E6b400000242aC1100021234000000eE",
	"41 d7 37 0d 68 47 e6 b4 00 00 02 42 ac 11 00 02 12 34 00 00 00 ee",
	" \n\t41d7370d6847e6b400000242ac1100021234\v\f000000ee \r\n",
};

START_TEST(parse_either_case_and_blanks_between_bytes_reads)
{
	uint8_t bytes[SF_HOUND_BYTES];
	struct sf_why why;

	ck_assert_msg(parse(spellings[_i], strlen(spellings[_i]), bytes, &why) == 0, "%s",
		      why.text);
	ck_assert_str_eq(why.text, "");
	assert_text(bytes, SAMPLE);
}
END_TEST

static const struct t_refusal no_hound[] = {
	{"4 1d7370d6847e6b400000242ac1100021234000000ee", 0, -EINVAL, "character 2 is ' '"},
	{"0x41d7370d6847e6b400000242ac1100021234000000ee", 0, -EINVAL, "character 2 is 'x'"},
	{"41d7370d6847e6b400000242ac1100021234000000eg", 0, -EINVAL, "character 44 is 'g'"},
	{"41d7370d6847e6b400000242ac1100021234000000e", 0, -EINVAL, "character 44 is missing"},
	{"41d7370d6847e6b400000242ac1100021234000000ee\0", 45, -EINVAL,
	 "character 45 is byte 0x00"},
	/* a blank of Unicode is none here */
	{"41\xc2\xa0"
	 "d7370d6847e6b400000242ac1100021234000000ee",
	 0, -EINVAL, "character 3 is byte 0xc2"},
	{"41\x85"
	 "d7370d6847e6b400000242ac1100021234000000ee",
	 0, -EINVAL, "character 3 is byte 0x85"},
	{"41d7370d6847e6b400000242ac1100021234000000", 0, -EMSGSIZE, "has 21 bytes"},
	{SAMPLE "00", 0, -EMSGSIZE, "has 23 bytes"},
	{SAMPLE "0g", 0, -EINVAL, "character 46 is 'g'"},
	{"", 0, -EMSGSIZE, "has 0 bytes"},
};

START_TEST(parse_other_text_is_refused_with_the_position)
{
	const struct t_refusal *refusal = &no_hound[_i];
	size_t length = refusal->length ? refusal->length : strlen(refusal->text);
	uint8_t bytes[SF_HOUND_BYTES] = {7};
	struct sf_why why;

	ck_assert_int_eq(parse(refusal->text, length, bytes, &why), refusal->error);
	ck_assert_int_eq(parse(refusal->text, length, bytes, NULL), refusal->error);
	ck_assert_msg(strstr(why.text, refusal->said) != NULL, "\"%s\" does not say \"%s\"",
		      why.text, refusal->said);
	ck_assert_uint_eq(bytes[0], 7);
}
END_TEST

START_TEST(parse_any_byte_in_any_place_takes_digits_and_blanks_between_bytes)
{
	for (size_t at = 0; at < SF_HOUND_TEXT; at++) {
		for (int byte = 0; byte < 256; byte++) {
			char text[] = SAMPLE;
			uint8_t bytes[SF_HOUND_BYTES];
			bool digit = byte && strchr("0123456789abcdefABCDEF", byte);
			int r;

			text[at] = (char)byte;
			r = parse(text, SF_HOUND_TEXT, bytes, NULL);
			/* a blank for a digit leaves an odd number of digits */
			T_EXPECT(r == (digit ? 0 : -EINVAL), "byte %d at %zu: %d", byte, at, r);
		}
	}
}
END_TEST

START_TEST(parse_any_byte_between_bytes_takes_blanks_only)
{
	for (size_t at = 0; at <= SF_HOUND_TEXT; at += 2) {
		for (int byte = 0; byte < 256; byte++) {
			char text[] = SAMPLE SAMPLE;
			uint8_t bytes[SF_HOUND_BYTES];
			bool blank = byte && strchr(" \t\n\v\f\r", byte);
			int r;

			text[at] = (char)byte;
			memcpy(text + at + 1, &SAMPLE[at], SF_HOUND_TEXT - at);
			r = parse(text, SF_HOUND_TEXT + 1, bytes, NULL);
			T_EXPECT(r == (blank ? 0 : -EINVAL), "byte %d at %zu: %d", byte, at, r);
		}
	}
}
END_TEST

START_TEST(parse_very_long_text_is_refused_by_its_length)
{
	char text[4096];
	uint8_t bytes[SF_HOUND_BYTES];
	struct sf_why why;

	(void)memset(text, 'a', sizeof(text));
	ck_assert_int_eq(parse(text, sizeof(text), bytes, &why), -EMSGSIZE);
	ck_assert_ptr_nonnull(strstr(why.text, "has 2048 bytes"));
}
END_TEST

/* Every millisecond of the 48 bits has a time of its own, so bytes order as values do. */
START_TEST(from_wide_random_values_keep_fields_and_order)
{
	t_formats_seed();
	for (int i = 0; i < T_ROUNDS; i++) {
		struct sf_wide id[2] = {t_formats_wide(), t_formats_wide()};
		uint8_t bytes[2][SF_HOUND_BYTES];
		struct sf_hound hound;
		int order;

		if (i % 2)
			id[1].high = id[0].high + (i % 4 == 1 ? UINT64_C(1) << 16 : 0);
		for (int k = 0; k < 2; k++) {
			sf_hound_from_wide(&id[k], &hound);
			T_EXPECT(llround(hound.time * 1000) == (long long)(id[k].high >> 16),
				 "time %f", hound.time);
			T_EXPECT(hound.machine == ((id[k].high & 0xffff) << 32 | id[k].low >> 32),
				 "machine");
			T_EXPECT(hound.client == (id[k].low >> 16 & 0xffff), "client");
			T_EXPECT(hound.sequence == (id[k].low & 0xffff), "sequence");
			T_EXPECT(sf_wide_to_bytes(SF_FORMAT_HOUND, &id[k], bytes[k]) ==
					 SF_HOUND_BYTES,
				 "number of bytes");
		}
		order = memcmp(bytes[0], bytes[1], SF_HOUND_BYTES);
		T_EXPECT((order > 0) - (order < 0) == sf_wide_compare(&id[0], &id[1]), "order");
	}
}
END_TEST

void t_add_formats_hound(Suite *suite)
{
	TCase *hound = tcase_create("hound");

	tcase_add_loop_test(hound, pack_known_fields_gives_known_bytes, 0, T_COUNT(packed));
	tcase_add_test(hound, pack_random_fields_equals_the_model_and_unpacks);
	tcase_add_test(hound, unpack_with_any_bit_changed_fails_unless_unchecked);
	tcase_add_test(hound, unpack_wrong_sum_names_the_id_and_both_sums);
	tcase_add_loop_test(hound, unpack_wrong_length_fails_checked_or_not, 0,
			    T_COUNT(wrong_lengths));
	tcase_add_test(hound, unpack_infinite_time_is_accepted);
	tcase_add_loop_test(hound, parse_either_case_and_blanks_between_bytes_reads, 0,
			    T_COUNT(spellings));
	tcase_add_loop_test(hound, parse_other_text_is_refused_with_the_position, 0,
			    T_COUNT(no_hound));
	tcase_add_test(hound, parse_any_byte_in_any_place_takes_digits_and_blanks_between_bytes);
	tcase_add_test(hound, parse_any_byte_between_bytes_takes_blanks_only);
	tcase_add_test(hound, parse_very_long_text_is_refused_by_its_length);
	tcase_add_test(hound, from_wide_random_values_keep_fields_and_order);
	suite_add_tcase(suite, hound);
}
