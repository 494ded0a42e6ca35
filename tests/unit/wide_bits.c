/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The bits of the IDs of wide streams: time, random base, headroom and what a format fixes, against
 * a model that works on the formats' own fields; with random bits of the test's choice.
 */
#include "tests/unit/wide_suite.h"

#include "libclient/formats/pack.h"

#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* 2025-06-15T15:06:40.000Z */
#define UNIX_MS UINT64_C(1750000000000)

static void start_at(int format, uint64_t unix_ms, bool is_beating)
{
	uint32_t tick_ms = strcmp(t_wide_formats[format], "objectid") == 0 ? 1000 : 1;

	t_wide_start_with(&(struct t_ring_setup){.layout = t_wide_formats[format],
						 .first_tick = unix_ms / tick_ms},
			  is_beating);
}

/* ---- the model ---- */

/** A number of up to 80 bits: the counter's part of an ID. */
struct part {
	uint64_t high; /* what exceeds 64 bits */
	uint64_t low;
};

/** The counter's part, taken out of an ID as the format's own description has it. */
static struct part counter_of(unsigned format, const struct sf_wide *id)
{
	const uint64_t low_62 = UINT64_MAX >> 2;

	switch (format) {
	case SF_FORMAT_ULID: /* 80 bits at the end */
		return (struct part){id->high & 0xffff, id->low};
	case SF_FORMAT_UUID7: /* rand_a, then rand_b behind the variant */
		return (struct part){(id->high & 0xfff) >> 2,
				     (id->high & 3) << 62 | (id->low & low_62)};
	case SF_FORMAT_OBJECTID:
		return (struct part){0, id->low};
	default: /* client id and sequence */
		return (struct part){0, id->low & UINT32_MAX};
	}
}

/** What the format fixes besides time and counter. */
static void assert_fixed(unsigned format, const struct sf_wide *id)
{
	switch (format) {
	case SF_FORMAT_UUID7:
		ck_assert_uint_eq(id->high >> 12 & 0xf, 7);
		ck_assert_uint_eq(id->low >> 62, 2);
		ck_assert_int_eq(sf_uuid_version(id), 7);
		break;
	case SF_FORMAT_OBJECTID:
		ck_assert_uint_eq(id->high >> 32, 0);
		break;
	case SF_FORMAT_HOUND:
		ck_assert_uint_eq((id->high & 0xffff) << 32 | id->low >> 32, T_MACHINE);
		break;
	default:
		break;
	}
}

/** Most that the counter's part of an ID may rise above a base. */
static const uint64_t headroom[T_WIDE_FORMATS] = {UINT64_C(1) << 63, UINT64_C(1) << 61,
						  UINT64_C(1) << 63, UINT64_C(1) << 31};

static int64_t time_of(const struct sf_wide *id)
{
	int64_t unix_ms = -1;

	ck_assert_int_eq(sf_wide_unix_ms(t_wide_ring.config.layout.format, id, &unix_ms), 0);
	return unix_ms;
}

/* Counter c of a tick is its base + c, and c has room enough. */
START_TEST(pack_is_the_base_and_the_counter)
{
	const unsigned format = SF_FORMAT_ULID + (unsigned)_i;
	const uint64_t free_bits = headroom[_i];
	uint64_t random = t_seed();

	t_wide_start(_i, false);
	for (int round = 0; round < 2000; round++) {
		const struct sf_shm_range range = {
			.tick = t_random(&random) >> (format == SF_FORMAT_OBJECTID ? 32 : 16),
			.base_high = round % 4 ? t_random(&random) : UINT64_MAX,
			.base_low = round % 4 ? t_random(&random) : UINT64_MAX,
		};
		const uint32_t counters[] = {1, 2, (uint32_t)(t_random(&random) >> 34),
					     SF_SHM_CAPACITY_MAX - 1};
		struct sf_wide first;
		struct part base;

		sf_wide_pack(format, &range, T_MACHINE, 0, &first);
		base = counter_of(format, &first);
		ck_assert_uint_eq(t_wide_tick(&first), range.tick);
		assert_fixed(format, &first);
		/* the highest bit that counts is clear: this much may be added */
		if (format == SF_FORMAT_UUID7)
			ck_assert_uint_lt(base.low & (UINT64_MAX >> 2), free_bits);
		else
			ck_assert_uint_lt(base.low, free_bits);
		for (size_t i = 0; i < T_COUNT(counters); i++) {
			struct sf_wide id;
			struct part part;

			sf_wide_pack(format, &range, T_MACHINE, counters[i], &id);
			part = counter_of(format, &id);
			assert_fixed(format, &id);
			T_EXPECT(t_wide_tick(&id) == range.tick, "a carry into the time");
			T_EXPECT(part.high == base.high && part.low == base.low + counters[i],
				 "counter %u is not the base + %u", counters[i], counters[i]);
			T_EXPECT(id.high == first.high && id.low == first.low + counters[i],
				 "counter %u is no neighbour", counters[i]);
		}
	}
	t_wide_end();
}
END_TEST

/* All that is random is taken from the base; no bit of it is wasted. */
START_TEST(pack_keeps_every_random_bit_but_the_headroom)
{
	static const unsigned bits[T_WIDE_FORMATS] = {79, 73, 63, 15};
	const unsigned format = SF_FORMAT_ULID + (unsigned)_i;
	const struct sf_shm_range zero = {.tick = T_TICK};
	struct sf_wide nothing;
	unsigned kept = 0;

	sf_wide_pack(format, &zero, T_MACHINE, 0, &nothing);
	for (unsigned bit = 0; bit < 128; bit++) {
		struct sf_shm_range one = zero;
		struct sf_wide id;

		*(bit < 64 ? &one.base_low : &one.base_high) = UINT64_C(1) << bit % 64;
		sf_wide_pack(format, &one, T_MACHINE, 0, &id);
		kept += sf_wide_compare(&id, &nothing) != 0;
	}
	ck_assert_uint_eq(kept, bits[_i]);
}
END_TEST

/* ---- FC-38 ---- */

/* Three IDs of one frozen millisecond, with random bits that are all ones, or all zero. */
START_TEST(fc38_random_bits_of_all_ones_or_zeros_leave_room_to_rise)
{
	const int format = _i / 4;
	struct sf_wide last = {0, 0};
	struct sf_wide first;

	if (_i % 2)
		t_wide_draw_ones();
	else
		t_wide_draw_zeros();
	start_at(format, UNIX_MS, _i / 2 % 2);
	for (int i = 0; i < 3; i++) {
		struct sf_wide before = last;

		t_wide_take(t_wide_cursor, &last);
		if (i == 0)
			first = last;
		else
			t_wide_assert_order(&before, &last);
		assert_fixed(SF_FORMAT_ULID + (unsigned)format, &last);
		ck_assert_int_eq(time_of(&last), UNIX_MS);
	}
	ck_assert_uint_eq(last.high, first.high);
	ck_assert_uint_eq(last.low, first.low + 2);
	/* and the very last counter of that millisecond */
	atomic_store_explicit(
		t_ring_word(&t_wide_ring, sf_shm_floor(&t_wide_ring.memory.shm)),
		sf_shm_word(sf_shm_floor(&t_wide_ring.memory.shm), SF_SHM_CAPACITY_MAX - 1),
		memory_order_relaxed);
	t_ring_turn(&t_wide_ring);
	ck_assert_int_eq(sf_next128_ordered(t_wide_cursor, &last), 0);
	ck_assert_uint_eq(last.high, first.high);
	ck_assert_uint_eq(last.low, first.low + SF_SHM_CAPACITY_MAX - 1);
	ck_assert_int_eq(time_of(&last), UNIX_MS);
	t_wide_end();
}
END_TEST

/* ---- FC-23 ---- */

#define OBJECTIDS ((1u << 24) + 1)

START_TEST(fc23_more_objectids_of_one_second_than_24_bits_count)
{
	static struct sf_wide ids[8192];
	struct sf_wide last = {0, 0};
	struct sf_wide first = {0, 0};

	if (_i)
		t_wide_draw_ones();
	start_at(2, UNIX_MS, true);
	for (uint32_t done = 0; done < OBJECTIDS;) {
		uint32_t n = OBJECTIDS - done < 8192 ? OBJECTIDS - done : 8192;

		ck_assert_int_eq(sf_fill128(t_wide_cursor, ids, n), 0);
		for (uint32_t i = 0; i < n; i++) {
			T_EXPECT(sf_wide_compare(&last, &ids[i]) < 0, "%u falls", done + i);
			last = ids[i];
		}
		if (done == 0)
			first = ids[0];
		done += n;
	}
	ck_assert_uint_eq(first.high, UNIX_MS / 1000);
	ck_assert_uint_eq(last.high, UNIX_MS / 1000);
	ck_assert_uint_eq(last.low, first.low + OBJECTIDS - 1);
	t_wide_assert_order(&first, &last);
	t_wide_end();
}
END_TEST

/* ---- FC-59 ---- */

/* Nanoseconds within a second that must not be rounded up. */
static const int64_t fc59_ns[] = {999999, 999500000, 999999999, 0};

START_TEST(fc59_time_is_cut_down_to_the_unit)
{
	const int format = _i / (int)T_COUNT(fc59_ns);
	const int64_t ns = fc59_ns[_i % (int)T_COUNT(fc59_ns)];
	struct sf_wide last = {0, 0};
	int64_t unix_ms;

	start_at(format, UNIX_MS, false);
	atomic_fetch_add_explicit(&t_mono_ns, ns, memory_order_relaxed);
	t_ring_turn(&t_wide_ring);
	t_wide_take(t_wide_cursor, &last);
	unix_ms = t_wide_ring.config.layout.tick_ms == 1000 ? (int64_t)UNIX_MS
							    : (int64_t)UNIX_MS + ns / T_MS;
	ck_assert_int_eq(time_of(&last), unix_ms);
	assert_fixed(SF_FORMAT_ULID + (unsigned)format, &last);
	t_wide_end();
}
END_TEST

/* ---- hound ---- */

START_TEST(hound_ids_carry_machine_client_and_sequence)
{
	struct sf_wide last = {0, 0};
	uint16_t client = 0;

	start_at(3, UNIX_MS + 250, _i);
	for (uint32_t i = 0; i < 70000; i++) {
		struct sf_hound hound;

		t_wide_take(t_wide_cursor, &last);
		sf_hound_from_wide(&last, &hound);
		if (i == 0)
			client = hound.client;
		T_EXPECT(hound.machine == T_MACHINE, "another machine id");
		T_EXPECT(hound.time == (double)(UNIX_MS + 250) / 1000, "another time");
		/* the sequence begins at 0; behind 65535 comes the next client id */
		T_EXPECT(hound.sequence == i % 65536, "%u has sequence %u", i, hound.sequence);
		T_EXPECT(hound.client == client + i / 65536, "%u has client %u", i, hound.client);
	}
	t_wide_end();
}
END_TEST

/* ---- FC-09 ---- */

static unsigned drawn;

static ssize_t draw_numbered(void *buffer, size_t bytes, unsigned flags)
{
	unsigned char *byte = buffer;

	(void)flags;
	for (size_t i = 0; i < bytes; i++)
		byte[i] = (unsigned char)(drawn++ * 2654435761u >> 24);
	return (ssize_t)bytes;
}

static void take_20(int format, struct sf_wide id[20])
{
	struct sf_wide last = {0, 0};

	drawn = 0;
	start_at(format, UNIX_MS, false);
	for (int i = 0; i < 20; i++) {
		t_ring_go(&t_wide_ring,
			  t_wide_ring.memory.shm.grants->first_tick + (uint64_t)i / 2);
		t_wide_take(t_wide_cursor, &last);
		id[i] = last;
	}
	t_wide_end();
}

/* Two daemons of one name, each with a pid of its own: what differs comes from the random source
 * alone. With the same random bits the IDs are the same; with the kernel's none is. */
START_TEST(fc09_pid_and_host_name_play_no_part)
{
	const int format = _i / 2;
	struct sf_wide ours[20];
	struct sf_wide theirs[20];
	int channel[2];
	pid_t pid;

	t_wide_draw = _i % 2 ? draw_numbered : NULL;
	ck_assert_int_eq(pipe(channel), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		/* Never without a namespace of its own: it would be the host's name. */
		if (unshare(CLONE_NEWUTS) == 0)
			(void)sethostname("another", 7);
		take_20(format, theirs);
		_exit(write(channel[1], theirs, sizeof(theirs)) != sizeof(theirs));
	}
	take_20(format, ours);
	ck_assert_int_eq(read(channel[0], theirs, sizeof(theirs)), sizeof(theirs));
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	for (int i = 0; i < 20; i++) {
		if (_i % 2)
			ck_assert_mem_eq(&ours[i], &theirs[i], sizeof(ours[i]));
		else
			for (int k = 0; k < 20; k++)
				ck_assert_int_ne(sf_wide_compare(&ours[i], &theirs[k]), 0);
	}
}
END_TEST

static void set_up(void)
{
	t_wide_draw = NULL;
}

void t_add_wide_bits(Suite *suite)
{
	TCase *bits = tcase_create("bits");

	tcase_add_checked_fixture(bits, set_up, NULL);
	tcase_set_timeout(bits, 120);
	tcase_add_loop_test(bits, pack_is_the_base_and_the_counter, 0, T_WIDE_FORMATS);
	tcase_add_loop_test(bits, pack_keeps_every_random_bit_but_the_headroom, 0, T_WIDE_FORMATS);
	tcase_add_loop_test(bits, fc38_random_bits_of_all_ones_or_zeros_leave_room_to_rise, 0,
			    4 * T_WIDE_FORMATS);
	tcase_add_loop_test(bits, fc23_more_objectids_of_one_second_than_24_bits_count, 0, 2);
	tcase_add_loop_test(bits, fc59_time_is_cut_down_to_the_unit, 0,
			    T_WIDE_FORMATS * (int)T_COUNT(fc59_ns));
	tcase_add_loop_test(bits, hound_ids_carry_machine_client_and_sequence, 0, 2);
	tcase_add_loop_test(bits, fc09_pid_and_host_name_play_no_part, 0, 2 * (T_WIDE_FORMATS - 1));
	suite_add_tcase(suite, bits);
}
