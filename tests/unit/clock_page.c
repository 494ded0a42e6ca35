/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * shm/timepage.h: the arithmetic of ticks, and the latch under a writer that dies between any two
 * stores and under one that writes all the time.
 */
#include <stdatomic.h>
#include <stdint.h>

/* Every store of the page's writer is noted; all of them are 64 bits wide. */
static void store(uint64_t *at, uint64_t value, memory_order order);

#pragma push_macro("atomic_store_explicit")
#undef atomic_store_explicit
/* NOLINTNEXTLINE(readability-identifier-naming): the name is the C library's */
#define atomic_store_explicit(at, value, order) store((uint64_t *)(at), (uint64_t)(value), order)
#include "shm/timepage.h"
#pragma pop_macro("atomic_store_explicit")

#include "tests/support/ring_fixture.h"
#include "tests/unit/clock_suite.h"

#include <pthread.h>
#include <string.h>

#define STORES_MAX 16

static struct sf_shm_timepage page;
/* The page after each store of a write; NULL: nobody wants to know. */
static struct sf_shm_timepage *after_store;
static unsigned stores;

static void store(uint64_t *at, uint64_t value, memory_order order)
{
	__atomic_store_n(at, value, (int)order);
	if (after_store == NULL)
		return;
	ck_assert_uint_lt(stores, STORES_MAX);
	memcpy(&after_store[stores++], &page, sizeof(page));
}

static void set_up(void)
{
	memset(&page, 0, sizeof(page));
}

/* Any two of the three fields tell the third. */
static struct sf_shm_clock clock_number(uint64_t n)
{
	return (struct sf_shm_clock){.base_mono_ns = (int64_t)n,
				     .base_unix_ns = (int64_t)(3 * n + 1),
				     .shift = (uint32_t)(n % 63)};
}

static uint64_t number_of(const struct sf_shm_clock *clock)
{
	const struct sf_shm_clock whole = clock_number((uint64_t)clock->base_mono_ns);

	ck_assert_int_eq(clock->base_unix_ns, whole.base_unix_ns);
	ck_assert_uint_eq(clock->shift, whole.shift);
	return (uint64_t)clock->base_mono_ns;
}

static void write_number(uint64_t n)
{
	const struct sf_shm_clock clock = clock_number(n);

	sf_shm_time_write(&page, &clock);
}

static uint64_t read_number(void)
{
	struct sf_shm_clock clock;

	ck_assert_int_eq(sf_shm_time_read(&page, &clock), 0);
	return number_of(&clock);
}

START_TEST(read_gives_what_was_written)
{
	for (uint64_t n = 1; n < 10; n++) {
		write_number(n);
		ck_assert_uint_eq(read_number(), n);
	}
}
END_TEST

/** Writes, and notes the page after each store. @return how many there were */
static unsigned stores_of_a_write(uint64_t n, struct sf_shm_timepage *ret_after)
{
	stores = 0;
	after_store = ret_after;
	write_number(n);
	after_store = NULL;
	ck_assert_uint_ge(stores, 4); /* three fields and the sequence */
	return stores;
}

START_TEST(read_after_a_writer_died_between_two_stores_is_whole)
{
	struct sf_shm_timepage after[STORES_MAX];

	for (uint64_t n = 2; n < 6; n++) {
		unsigned count;

		set_up();
		for (uint64_t i = 1; i < n; i++)
			write_number(i);
		count = stores_of_a_write(n, after);
		for (unsigned i = 0; i < count; i++) {
			uint64_t got;

			memcpy(&page, &after[i], sizeof(page));
			got = read_number();
			ck_assert_msg(got == n || got == n - 1, "store %u of %u shows %llu", i,
				      count, (unsigned long long)got);
		}
	}
}
END_TEST

/* The page outlives its writer: the next one goes on wherever the last one died, and may die too.
 */
START_TEST(read_after_the_second_of_two_writers_died_is_whole)
{
	struct sf_shm_timepage first[STORES_MAX];
	struct sf_shm_timepage second[STORES_MAX];
	unsigned count;

	write_number(1);
	count = stores_of_a_write(2, first);
	for (unsigned i = 0; i < count; i++) {
		unsigned more;

		memcpy(&page, &first[i], sizeof(page));
		more = stores_of_a_write(3, second);
		for (unsigned j = 0; j < more; j++) {
			struct sf_shm_clock clock;

			memcpy(&page, &second[j], sizeof(page));
			ck_assert_int_eq(sf_shm_time_read(&page, &clock), 0);
			ck_assert_msg(
				clock.base_unix_ns ==
					clock_number((uint64_t)clock.base_mono_ns).base_unix_ns,
				"torn: first died after store %u, second after %u", i, j);
		}
	}
}
END_TEST

static _Atomic bool stop;

static void *write_numbers(void *data)
{
	uint64_t n = 1;

	(void)data;
	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		write_number(++n);
	return NULL;
}

START_TEST(read_beside_a_writer_is_whole_and_never_older)
{
	struct sf_shm_clock clock;
	pthread_t writer;
	uint64_t last = 0;

	write_number(1);
	atomic_store_explicit(&stop, false, memory_order_relaxed);
	ck_assert_int_eq(pthread_create(&writer, NULL, write_numbers, NULL), 0);
	for (int reads = 0; reads < 200000; reads++) {
		uint64_t n;

		if (sf_shm_time_read(&page, &clock) < 0)
			continue; /* a writer that never rests: allowed to give up, not to lie */
		n = number_of(&clock);
		ck_assert_uint_ge(n, last);
		last = n;
	}
	atomic_store_explicit(&stop, true, memory_order_relaxed);
	ck_assert_int_eq(pthread_join(writer, NULL), 0);
	ck_assert_uint_gt(last, 1);
}
END_TEST

/* ---- arithmetic ---- */

START_TEST(tick_at_rounds_down_and_stays_zero_before_the_epoch)
{
	struct sf_layout layout;

	ck_assert_int_eq(sf_layout_parse("sonyflake", &layout, NULL), 0);
	for (int64_t ms = -50; ms <= 50; ms++) {
		int64_t unix_ns = (layout.epoch_ms + ms) * T_MS;
		uint64_t tick = ms < 0 ? 0 : (uint64_t)ms / layout.tick_ms;

		ck_assert_uint_eq(sf_shm_tick_at(&layout, unix_ns), tick);
		ck_assert_uint_eq(sf_shm_tick_at(&layout, unix_ns + T_MS - 1),
				  ms < 0 ? 0 : (uint64_t)ms / layout.tick_ms);
		if (ms >= 0)
			ck_assert_int_le(sf_shm_tick_start_ns(&layout, tick), unix_ns);
	}
	ck_assert_uint_eq(sf_shm_tick_at(&layout, INT64_MIN / 2), 0);
}
END_TEST

START_TEST(tick_start_is_the_first_moment_of_the_tick)
{
	size_t count;
	const struct sf_preset *preset = sf_presets(&count);
	struct sf_layout layout;

	for (size_t i = 0; i < count; i++) {
		uint64_t last;

		ck_assert_int_eq(sf_layout_parse(preset[i].name, &layout, NULL), 0);
		last = sf_layout_last_tick(&layout);
		for (uint64_t tick = 1; tick < last; tick += last / 1000) {
			int64_t start = sf_shm_tick_start_ns(&layout, tick);

			ck_assert_uint_eq(sf_shm_tick_at(&layout, start), tick);
			ck_assert_uint_eq(sf_shm_tick_at(&layout, start - 1), tick - 1);
		}
	}
}
END_TEST

START_TEST(clock_mono_ns_is_the_first_moment_that_shows_the_time)
{
	for (uint32_t shift = 0; shift < 8; shift++) {
		const struct sf_shm_clock clock = {
			.base_mono_ns = 1000, .base_unix_ns = 5000, .shift = shift};

		for (int64_t unix_ns = 5001; unix_ns < 5100; unix_ns++) {
			int64_t mono = sf_shm_clock_mono_ns(&clock, unix_ns);

			ck_assert_int_eq(sf_shm_clock_unix_ns(&clock, mono), unix_ns);
			ck_assert_int_lt(sf_shm_clock_unix_ns(&clock, mono - 1), unix_ns);
		}
		ck_assert_int_eq(sf_shm_clock_mono_ns(&clock, 4000), 1000);
		ck_assert_int_eq(sf_shm_clock_unix_ns(&clock, 0), 5000);
	}
}
END_TEST

START_TEST(clock_that_stands_still_never_shows_more)
{
	const struct sf_shm_clock still = {.base_mono_ns = 1000, .base_unix_ns = 5000, .shift = 63};

	ck_assert_int_eq(sf_shm_clock_unix_ns(&still, INT64_MAX), 5000);
	ck_assert_int_eq(sf_shm_clock_mono_ns(&still, 5001), INT64_MAX);
	ck_assert_int_eq(sf_shm_clock_mono_ns(&still, 5000), 1000);
}
END_TEST

void t_add_clock_page(Suite *suite)
{
	TCase *latch = tcase_create("latch");
	TCase *arithmetic = tcase_create("arithmetic");

	tcase_add_checked_fixture(latch, set_up, NULL);
	tcase_set_timeout(latch, 60);
	tcase_add_test(latch, read_gives_what_was_written);
	tcase_add_test(latch, read_after_a_writer_died_between_two_stores_is_whole);
	tcase_add_test(latch, read_after_the_second_of_two_writers_died_is_whole);
	tcase_add_test(latch, read_beside_a_writer_is_whole_and_never_older);
	suite_add_tcase(suite, latch);
	tcase_add_test(arithmetic, tick_at_rounds_down_and_stays_zero_before_the_epoch);
	tcase_add_test(arithmetic, tick_start_is_the_first_moment_of_the_tick);
	tcase_add_test(arithmetic, clock_mono_ns_is_the_first_moment_that_shows_the_time);
	tcase_add_test(arithmetic, clock_that_stands_still_never_shows_more);
	suite_add_tcase(suite, arithmetic);
}
