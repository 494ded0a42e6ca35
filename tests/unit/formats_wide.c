/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What the wide formats have in common: values, bytes and texts order alike; and the values of a
 * stream's tick rise by one, whatever its random base.
 */
#include "libclient/formats/pack.h"

#include "tests/unit/formats_suite.h"

#include <errno.h>
#include <string.h>

/* As wide as a stream's time field. */
#define MS_48 (UINT64_MAX >> 16)

static const unsigned formats[] = {SF_FORMAT_ULID, SF_FORMAT_UUID7, SF_FORMAT_OBJECTID,
				   SF_FORMAT_HOUND};
static const int texts[] = {26, 36, 24, 44};
static const int sizes[] = {16, 16, 12, 22};
static const unsigned no_formats[] = {SF_FORMAT_SNOWFLAKE, 5, 999};

/** Any value that the format has. */
static struct sf_wide value_of(unsigned format)
{
	struct sf_wide id = t_formats_wide();

	if (format == SF_FORMAT_OBJECTID)
		id.high &= UINT32_MAX;
	if (format == SF_FORMAT_UUID7) {
		id.high = (id.high & ~UINT64_C(0xf000)) | UINT64_C(0x7000);
		id.low = id.low >> 2 | UINT64_C(1) << 63;
	}
	return id;
}

static int sign(int order)
{
	return (order > 0) - (order < 0);
}

START_TEST(compare_looks_at_the_upper_half_first)
{
	static const struct sf_wide rising[] = {{0, 0}, {0, 1}, {0, UINT64_MAX},
						{1, 0}, {1, 7}, {UINT64_MAX, 0}};

	for (int i = 0; i < (int)T_COUNT(rising); i++)
		for (int k = 0; k < (int)T_COUNT(rising); k++)
			ck_assert_int_eq(sign(sf_wide_compare(&rising[i], &rising[k])),
					 sign(i - k));
}
END_TEST

START_TEST(format_and_to_bytes_order_as_values)
{
	const unsigned format = formats[_i];

	t_formats_seed();
	for (int i = 0; i < T_ROUNDS; i++) {
		struct sf_wide id[2] = {value_of(format), value_of(format)};
		char text[2][SF_WIDE_TEXT_MAX];
		uint8_t bytes[2][SF_WIDE_BYTES_MAX];
		int order;

		if (i % 2)
			id[1].high = id[0].high;
		for (int k = 0; k < 2; k++) {
			T_EXPECT(sf_wide_format(format, &id[k], text[k]) == texts[_i], "length");
			T_EXPECT(strlen(text[k]) == (size_t)texts[_i], "%s: NUL", text[k]);
			T_EXPECT(sf_wide_to_bytes(format, &id[k], bytes[k]) == sizes[_i], "size");
		}
		order = sign(sf_wide_compare(&id[0], &id[1]));
		T_EXPECT(sign(strcmp(text[0], text[1])) == order, "%s %s", text[0], text[1]);
		T_EXPECT(sign(memcmp(bytes[0], bytes[1], (size_t)sizes[_i])) == order, "%s %s",
			 text[0], text[1]);
	}
}
END_TEST

START_TEST(from_bytes_of_any_value_gives_it_back)
{
	const unsigned format = formats[_i];

	t_formats_seed();
	for (int i = 0; i < T_ROUNDS; i++) {
		struct sf_wide id = value_of(format);
		struct sf_wide again;
		uint8_t bytes[SF_WIDE_BYTES_MAX];
		struct sf_why why;
		size_t size = (size_t)sf_wide_to_bytes(format, &id, bytes);

		T_EXPECT(sf_wide_from_bytes(format, bytes, size, &again, &why) == 0, "%s",
			 why.text);
		T_EXPECT(why.text[0] == '\0', "%s", why.text);
		T_EXPECT(sf_wide_compare(&id, &again) == 0, "%u: another value", format);
	}
}
END_TEST

START_TEST(to_bytes_is_big_endian)
{
	const struct sf_wide id = {UINT64_C(0x0102030405060708), UINT64_C(0x090a0b0c0d0e0f10)};
	uint8_t bytes[SF_WIDE_BYTES_MAX];

	ck_assert_int_eq(sf_wide_to_bytes(SF_FORMAT_ULID, &id, bytes), 16);
	for (int i = 0; i < 16; i++)
		ck_assert_int_eq(bytes[i], i + 1);
	ck_assert_int_eq(sf_wide_to_bytes(SF_FORMAT_OBJECTID, &id, bytes), 12);
	for (int i = 0; i < 12; i++)
		ck_assert_int_eq(bytes[i], i + 5);
}
END_TEST

static const struct {
	unsigned format;
	int error;
	size_t length;
	const char *said;
} no_bytes[] = {
	{SF_FORMAT_ULID, -EMSGSIZE, 15, "ulid has 16 bytes; these are 15"},
	{SF_FORMAT_ULID, -EMSGSIZE, 26, "ulid has 16 bytes; these are 26"},
	{SF_FORMAT_UUID7, -EMSGSIZE, 12, "uuid7 has 16 bytes; these are 12"},
	{SF_FORMAT_OBJECTID, -EMSGSIZE, 16, "objectid has 12 bytes; these are 16"},
	{SF_FORMAT_UUID7, -EINVAL, 16, "character 15 is '0'"},
	{SF_FORMAT_HOUND, -EINVAL, 22, "hound"},
	{SF_FORMAT_SNOWFLAKE, -EINVAL, 8, "snowflake"},
	{999, -EINVAL, 16, "format 999"},
};

START_TEST(from_bytes_of_another_length_or_format_fails)
{
	static const uint8_t zeros[64];
	struct sf_wide id = {7, 7};
	struct sf_why why;

	ck_assert_int_eq(
		sf_wide_from_bytes(no_bytes[_i].format, zeros, no_bytes[_i].length, &id, &why),
		no_bytes[_i].error);
	ck_assert_msg(strstr(why.text, no_bytes[_i].said) != NULL, "%s", why.text);
	ck_assert_uint_eq(id.high, 7);
	ck_assert_int_eq(
		sf_wide_from_bytes(no_bytes[_i].format, zeros, no_bytes[_i].length, &id, NULL),
		no_bytes[_i].error);
}
END_TEST

START_TEST(format_bytes_and_time_of_another_format_fail)
{
	const struct sf_wide id = {1, 2};
	char text[SF_WIDE_TEXT_MAX] = "x";
	uint8_t bytes[SF_WIDE_BYTES_MAX] = {7};
	int64_t unix_ms = 7;

	ck_assert_int_eq(sf_wide_format(no_formats[_i], &id, text), -EINVAL);
	ck_assert_str_eq(text, "x");
	ck_assert_int_eq(sf_wide_to_bytes(no_formats[_i], &id, bytes), -EINVAL);
	ck_assert_uint_eq(bytes[0], 7);
	ck_assert_int_eq(sf_wide_unix_ms(no_formats[_i], &id, &unix_ms), -EINVAL);
	ck_assert_int_eq(unix_ms, 7);
}
END_TEST

/* ---- values of streams ---- */

static const struct sf_wide bases[] = {
	{0, 0}, {UINT64_MAX, UINT64_MAX}, {UINT64_MAX, 0}, {0, UINT64_MAX}};

static const uint32_t counters[] = {
	0, 1, 2, 65534, 65535, 65536, SF_SHM_CAPACITY_MAX - 2, SF_SHM_CAPACITY_MAX - 1};

/** Ticks of 1 ms, of ObjectIds of 1 s. */
static uint64_t tick_of(unsigned format, uint64_t bits)
{
	return bits & (format == SF_FORMAT_OBJECTID ? UINT32_MAX : MS_48);
}

static void check_time(unsigned format, const struct sf_wide *id, uint64_t tick)
{
	int64_t unix_ms;

	T_EXPECT(sf_wide_unix_ms(format, id, &unix_ms) == 0, "no time");
	T_EXPECT((uint64_t)unix_ms == tick * (format == SF_FORMAT_OBJECTID ? 1000 : 1),
		 "format %u: the time is another", format);
	T_EXPECT(format != SF_FORMAT_UUID7 || sf_uuid_version(id) == 7, "no UUIDv7");
}

/** The values of a tick lie one apart, show its time, and stay below those of the next. */
static void check_tick(unsigned format, uint64_t tick, const struct sf_wide *base, uint64_t machine)
{
	struct sf_shm_range range = {.tick = tick, .base_high = base->high, .base_low = base->low};
	struct sf_wide first;
	struct sf_wide id;
	char last_text[SF_WIDE_TEXT_MAX] = "";
	char text[SF_WIDE_TEXT_MAX];

	sf_wide_pack(format, &range, machine, 0, &first);
	for (size_t i = 0; i < T_COUNT(counters); i++) {
		sf_wide_pack(format, &range, machine, counters[i], &id);
		T_EXPECT(id.high == first.high, "counter %u: another upper half", counters[i]);
		T_EXPECT(id.low == first.low + counters[i], "counter %u: distance", counters[i]);
		T_EXPECT(id.low >= first.low, "counter %u wraps", counters[i]);
		check_time(format, &id, tick);
		(void)sf_wide_format(format, &id, text);
		T_EXPECT(strcmp(text, last_text) > 0, "%s after %s", text, last_text);
		memcpy(last_text, text, sizeof(text));
	}
	if (tick_of(format, tick + 1) == 0)
		return;
	range = (struct sf_shm_range){.tick = tick + 1};
	sf_wide_pack(format, &range, 0, 0, &first);
	T_EXPECT(sf_wide_compare(&first, &id) > 0, "the next tick's first is no larger");
}

START_TEST(fc38_stream_value_of_an_extreme_base_never_wraps_nor_touches_the_time)
{
	static const uint64_t ticks[] = {0, 1, UINT64_C(1750000000000), MS_48 - 1, MS_48};

	for (size_t t = 0; t < T_COUNT(ticks); t++)
		for (size_t b = 0; b < T_COUNT(bases); b++)
			check_tick(formats[_i], tick_of(formats[_i], ticks[t]), &bases[b],
				   UINT64_MAX);
}
END_TEST

START_TEST(stream_value_of_a_random_base_rises_by_one)
{
	t_formats_seed();
	for (int i = 0; i < T_ROUNDS; i++) {
		struct sf_wide base = t_formats_wide();
		uint64_t tick = tick_of(formats[_i], t_formats_bits());

		check_tick(formats[_i], tick, &base, t_formats_bits());
	}
}
END_TEST

/* The base is used but for the bit that is kept clear: the documented headroom. */
START_TEST(fc38_stream_values_use_their_base_but_for_the_headroom)
{
	static const struct sf_wide all_ones[] = {
		{UINT64_C(0x123ffff), UINT64_C(0x7fffffffffffffff)},
		{UINT64_C(0x1237fff), UINT64_C(0x9fffffffffffffff)},
		{UINT64_C(0x123), UINT64_C(0x7fffffffffffffff)},
		{UINT64_C(0x1230242), UINT64_C(0xac1100027fff0000)},
	};
	const struct sf_shm_range range = {
		.tick = 0x123, .base_high = UINT64_MAX, .base_low = UINT64_MAX};
	struct sf_wide id;

	sf_wide_pack(formats[_i], &range, 0x0242ac110002, 0, &id);
	ck_assert_uint_eq(id.high, all_ones[_i].high);
	ck_assert_uint_eq(id.low, all_ones[_i].low);
}
END_TEST

START_TEST(stream_value_of_hound_carries_the_machine_and_begins_at_sequence_0)
{
	const struct sf_shm_range range = {.tick = UINT64_C(1557935521123), .base_low = 0x5234};
	struct sf_wide id;
	struct sf_hound hound;

	sf_wide_pack(SF_FORMAT_HOUND, &range, UINT64_C(0xffff0242ac110002), 65537, &id);
	sf_hound_from_wide(&id, &hound);
	ck_assert(hound.time == 1557935521.123);
	ck_assert_uint_eq(hound.machine, UINT64_C(0x0242ac110002));
	ck_assert_uint_eq(hound.client, 0x5235);
	ck_assert_uint_eq(hound.sequence, 1);
}
END_TEST

void t_add_formats_wide(Suite *suite)
{
	TCase *wide = tcase_create("any wide format");
	TCase *stream = tcase_create("values of streams");

	tcase_add_test(wide, compare_looks_at_the_upper_half_first);
	tcase_add_loop_test(wide, format_and_to_bytes_order_as_values, 0, T_COUNT(formats));
	/* a Hound ID's bytes are read by sf_hound_unpack() */
	tcase_add_loop_test(wide, from_bytes_of_any_value_gives_it_back, 0, T_COUNT(formats) - 1);
	tcase_add_test(wide, to_bytes_is_big_endian);
	tcase_add_loop_test(wide, from_bytes_of_another_length_or_format_fails, 0,
			    T_COUNT(no_bytes));
	tcase_add_loop_test(wide, format_bytes_and_time_of_another_format_fail, 0,
			    T_COUNT(no_formats));
	suite_add_tcase(suite, wide);
	tcase_add_loop_test(stream,
			    fc38_stream_value_of_an_extreme_base_never_wraps_nor_touches_the_time,
			    0, T_COUNT(formats));
	tcase_add_loop_test(stream, fc38_stream_values_use_their_base_but_for_the_headroom, 0,
			    T_COUNT(formats));
	tcase_add_loop_test(stream, stream_value_of_a_random_base_rises_by_one, 0,
			    T_COUNT(formats));
	tcase_add_test(stream, stream_value_of_hound_carries_the_machine_and_begins_at_sequence_0);
	suite_add_tcase(suite, stream);
}
