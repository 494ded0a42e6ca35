/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The ABI: today's shared structs against the frozen copy of version 1, field by field, and the
 * constants that both ends must agree on. What a client does with a ring of another make is in
 * abi_attach.c.
 */
#include "shm/abi.h"

#include "shm/beat.h"
#include "shm/frozen/layout_v1.h"
#include "tests/unit/abi_suite.h"

#include <sfclient.h>

#include <stdlib.h>

struct field {
	const char *name;
	size_t then_offset;
	size_t then_size;
	size_t now_offset;
	size_t now_size;
};

#define FIELD(now, then, field)                                                                    \
	{                                                                                          \
		.name = #now "." #field, .then_offset = offsetof(struct then, field),              \
		.then_size = sizeof(((struct then *)NULL)->field),                                 \
		.now_offset = offsetof(struct now, field),                                         \
		.now_size = sizeof(((struct now *)NULL)->field)                                    \
	}

/** Reserved bytes that got a meaning since: the fields from `first` up to the end of `last`. */
#define SPENT(now, first, last, then, field)                                                       \
	{                                                                                          \
		.name = #now "." #first, .then_offset = offsetof(struct then, field),              \
		.then_size = sizeof(((struct then *)NULL)->field),                                 \
		.now_offset = offsetof(struct now, first),                                         \
		.now_size = offsetof(struct now, last) + sizeof(((struct now *)NULL)->last) -      \
			    offsetof(struct now, first)                                            \
	}

static const struct field fields[] = {
	FIELD(sf_layout, sf_shm_v1_layout, epoch_ms),
	FIELD(sf_layout, sf_shm_v1_layout, tick_ms),
	FIELD(sf_layout, sf_shm_v1_layout, time_bits),
	FIELD(sf_layout, sf_shm_v1_layout, time_shift),
	FIELD(sf_layout, sf_shm_v1_layout, node_bits),
	FIELD(sf_layout, sf_shm_v1_layout, node_shift),
	FIELD(sf_layout, sf_shm_v1_layout, worker_bits),
	FIELD(sf_layout, sf_shm_v1_layout, worker_shift),
	FIELD(sf_layout, sf_shm_v1_layout, process_bits),
	FIELD(sf_layout, sf_shm_v1_layout, process_shift),
	FIELD(sf_layout, sf_shm_v1_layout, sequence_bits),
	FIELD(sf_layout, sf_shm_v1_layout, sequence_shift),
	SPENT(sf_layout, format, pad0, sf_shm_v1_layout, pad0),
	FIELD(sf_shm_time, sf_shm_v1_time, base_mono_ns),
	FIELD(sf_shm_time, sf_shm_v1_time, base_unix_ns),
	FIELD(sf_shm_time, sf_shm_v1_time, shift),
	FIELD(sf_shm_timepage, sf_shm_v1_timepage, sequence),
	FIELD(sf_shm_timepage, sf_shm_v1_timepage, copy),
	FIELD(sf_shm_grants, sf_shm_v1_grants, magic),
	FIELD(sf_shm_grants, sf_shm_v1_grants, abi_major),
	FIELD(sf_shm_grants, sf_shm_v1_grants, abi_minor),
	FIELD(sf_shm_grants, sf_shm_v1_grants, header_bytes),
	FIELD(sf_shm_grants, sf_shm_v1_grants, total_bytes),
	FIELD(sf_shm_grants, sf_shm_v1_grants, claims_bytes),
	FIELD(sf_shm_grants, sf_shm_v1_grants, generation),
	FIELD(sf_shm_grants, sf_shm_v1_grants, first_tick),
	FIELD(sf_shm_grants, sf_shm_v1_grants, last_tick),
	FIELD(sf_shm_grants, sf_shm_v1_grants, slots),
	FIELD(sf_shm_grants, sf_shm_v1_grants, ahead_ticks),
	FIELD(sf_shm_grants, sf_shm_v1_grants, runway_ticks),
	FIELD(sf_shm_grants, sf_shm_v1_grants, capacity),
	FIELD(sf_shm_grants, sf_shm_v1_grants, node_count),
	FIELD(sf_shm_grants, sf_shm_v1_grants, pid),
	FIELD(sf_shm_grants, sf_shm_v1_grants, layout),
	FIELD(sf_shm_grants, sf_shm_v1_grants, stream),
	FIELD(sf_shm_grants, sf_shm_v1_grants, open_mono_ns),
	FIELD(sf_shm_grants, sf_shm_v1_grants, pad0),
	FIELD(sf_shm_grants, sf_shm_v1_grants, beat),
	FIELD(sf_shm_grants, sf_shm_v1_grants, horizon),
	FIELD(sf_shm_grants, sf_shm_v1_grants, pad1),
	FIELD(sf_shm_grants, sf_shm_v1_grants, time),
	FIELD(sf_shm_grants, sf_shm_v1_grants, pad2),
	FIELD(sf_shm_grants, sf_shm_v1_grants, state),
	FIELD(sf_shm_grants, sf_shm_v1_grants, pad3),
	FIELD(sf_shm_grants, sf_shm_v1_grants, node),
	FIELD(sf_shm_grants, sf_shm_v1_grants, node_packed),
	FIELD(sf_shm_grant, sf_shm_v1_grant, tick),
	FIELD(sf_shm_grant, sf_shm_v1_grant, capacity),
	FIELD(sf_shm_grant, sf_shm_v1_grant, start),
	FIELD(sf_shm_grant, sf_shm_v1_grant, base_high),
	FIELD(sf_shm_grant, sf_shm_v1_grant, base_low),
	FIELD(sf_shm_claims, sf_shm_v1_claims, magic),
	FIELD(sf_shm_claims, sf_shm_v1_claims, pad0),
	FIELD(sf_shm_claims, sf_shm_v1_claims, floor),
	FIELD(sf_shm_claims, sf_shm_v1_claims, pad1),
	FIELD(sf_shm_claims, sf_shm_v1_claims, waits),
	FIELD(sf_shm_claims, sf_shm_v1_claims, dropped),
	SPENT(sf_shm_claims, pad2, spare, sf_shm_v1_claims, pad2),
	FIELD(sf_shm_claim, sf_shm_v1_claim, word),
	SPENT(sf_shm_claim, tally, tally, sf_shm_v1_claim, pad0),
	FIELD(sf_cursor, sf_shm_v1_cursor, next),
	FIELD(sf_cursor, sf_shm_v1_cursor, end),
	FIELD(sf_cursor, sf_shm_v1_cursor, step),
	FIELD(sf_cursor, sf_shm_v1_cursor, beat),
	FIELD(sf_cursor, sf_shm_v1_cursor, shared_beat),
	SPENT(sf_cursor, low, high, sf_shm_v1_cursor, reserved),
};

static const struct {
	const char *name;
	size_t then;
	size_t now;
} sizes[] = {
	{"sf_layout", sizeof(struct sf_shm_v1_layout), sizeof(struct sf_layout)},
	{"sf_shm_time", sizeof(struct sf_shm_v1_time), sizeof(struct sf_shm_time)},
	{"sf_shm_timepage", sizeof(struct sf_shm_v1_timepage), sizeof(struct sf_shm_timepage)},
	{"sf_shm_grants", sizeof(struct sf_shm_v1_grants), sizeof(struct sf_shm_grants)},
	{"sf_shm_grant", sizeof(struct sf_shm_v1_grant), sizeof(struct sf_shm_grant)},
	{"sf_shm_claims", sizeof(struct sf_shm_v1_claims), sizeof(struct sf_shm_claims)},
	{"sf_shm_claim", sizeof(struct sf_shm_v1_claim), sizeof(struct sf_shm_claim)},
	{"sf_cursor", sizeof(struct sf_shm_v1_cursor), sizeof(struct sf_cursor)},
};

START_TEST(field_is_where_version_1_had_it)
{
	const struct field *field = &fields[_i];

	ck_assert_msg(field->now_offset == field->then_offset &&
			      field->now_size == field->then_size,
		      "%s: offset %zu and size %zu, in version 1 %zu and %zu", field->name,
		      field->now_offset, field->now_size, field->then_offset, field->then_size);
}
END_TEST

/* A field that was added inside would shift nothing if it took the place of padding: the sum of
 * all named fields is the whole struct, so that such a field must show up here. */
START_TEST(fields_of_version_1_leave_no_gap)
{
	size_t at = 0;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (fields[i].then_offset == 0) {
			size_t whole = 0;

			for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]) && i; j++)
				whole |= sizes[j].then == at;
			ck_assert_msg(i == 0 || whole, "before %s: the fields end at %zu",
				      fields[i].name, at);
			at = 0;
		}
		ck_assert_msg(fields[i].then_offset == at, "%s begins at %zu, not %zu",
			      fields[i].name, fields[i].then_offset, at);
		at += fields[i].then_size;
	}
}
END_TEST

START_TEST(struct_is_as_large_as_in_version_1)
{
	ck_assert_msg(sizes[_i].now == sizes[_i].then, "%s: %zu bytes, in version 1 %zu",
		      sizes[_i].name, sizes[_i].now, sizes[_i].then);
}
END_TEST

START_TEST(constants_are_those_of_version_1)
{
	ck_assert_uint_eq(SF_SHM_ABI_MAJOR, SF_SHM_V1_ABI_MAJOR);
	ck_assert_uint_eq(SF_SHM_GRANTS_MAGIC, SF_SHM_V1_GRANTS_MAGIC);
	ck_assert_uint_eq(SF_SHM_CLAIMS_MAGIC, SF_SHM_V1_CLAIMS_MAGIC);
	ck_assert_uint_eq(SF_SHM_HEADER_BYTES, SF_SHM_V1_HEADER_BYTES);
	ck_assert_uint_eq(SF_SHM_SLOTS_MIN, SF_SHM_V1_SLOTS_MIN);
	ck_assert_uint_eq(SF_SHM_SLOTS_MAX, SF_SHM_V1_SLOTS_MAX);
	ck_assert_uint_eq(SF_SHM_CAPACITY_MAX, SF_SHM_V1_CAPACITY_MAX);
	ck_assert_uint_eq(SF_SHM_BEAT_FUTEX_OFFSET, SF_SHM_V1_BEAT_FUTEX_OFFSET);
	ck_assert_int_eq((int)SF_SHM_RUNNING, (int)SF_SHM_V1_RUNNING);
	ck_assert_int_eq((int)SF_SHM_WAITING, (int)SF_SHM_V1_WAITING);
	ck_assert_int_eq((int)SF_SHM_EXHAUSTED, (int)SF_SHM_V1_EXHAUSTED);
	ck_assert_int_eq((int)SF_SHM_STOPPED, (int)SF_SHM_V1_STOPPED);
	ck_assert_int_eq((int)SF_SHM_HELD, (int)SF_SHM_V1_HELD);
}
END_TEST

START_TEST(magic_numbers_spell_what_they_are)
{
	const uint64_t grants = SF_SHM_GRANTS_MAGIC;
	const uint64_t claims = SF_SHM_CLAIMS_MAGIC;

	ck_assert_mem_eq(&grants, "SDFGRNT1", sizeof(grants));
	ck_assert_mem_eq(&claims, "SDFGCLM1", sizeof(claims));
}
END_TEST

START_TEST(sizes_of_the_memfds_follow_from_the_slots)
{
	for (uint32_t slots = SF_SHM_SLOTS_MIN; slots <= SF_SHM_SLOTS_MAX; slots *= 2) {
		ck_assert_uint_eq(sf_shm_grants_bytes(slots),
				  4096 + slots * sizeof(struct sf_shm_v1_grant));
		ck_assert_uint_eq(sf_shm_claims_bytes(slots),
				  4096 + slots * sizeof(struct sf_shm_v1_claim));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("abi");
	TCase *frozen = tcase_create("frozen");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_loop_test(frozen, field_is_where_version_1_had_it, 0,
			    sizeof(fields) / sizeof(fields[0]));
	tcase_add_test(frozen, fields_of_version_1_leave_no_gap);
	tcase_add_loop_test(frozen, struct_is_as_large_as_in_version_1, 0,
			    sizeof(sizes) / sizeof(sizes[0]));
	tcase_add_test(frozen, constants_are_those_of_version_1);
	tcase_add_test(frozen, magic_numbers_spell_what_they_are);
	tcase_add_test(frozen, sizes_of_the_memfds_follow_from_the_slots);
	suite_add_tcase(suite, frozen);
	t_add_abi_attach(suite);
	t_add_abi_reply(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
