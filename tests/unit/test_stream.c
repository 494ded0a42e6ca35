/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/stream.c: one stream with its stores in a directory of the test's own and a clock that the
 * test moves: what a turn does, when it wants the next, and how streams follow one another.
 */
#include "daemon/stream.h"

#include "tests/support/ring_fixture.h"
#include "tests/support/state.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define BOOT_ID "01234567-89ab-cdef-0123-456789abcdef"
#define SECOND (1000 * T_MS)
#define HOUR (3600 * SECOND)
#define RUNWAY_MS 3000u

static char *directory;
static struct sfd_config config;
static struct sfd_stream_config stream_config;
static struct sfd_stream stream;
static struct sfd_now now;
static unsigned news;

static void open_stream(struct sfd_stream *what)
{
	struct sf_why why;

	ck_assert_msg(sfd_stream_open(what, &config, &stream_config, BOOT_ID, NULL, &why) == 0,
		      "%s", why.text);
}

static void set_up(void)
{
	t_state_init();
	directory = strdup(t_state_dir());
	config = (struct sfd_config){.runtime_dir = directory, .state_dir = directory};
	stream_config = (struct sfd_stream_config){
		.name = "s", .node = {5}, .node_count = 1, .runway_ms = RUNWAY_MS};
	ck_assert_int_eq(sf_layout_parse("twitter", &stream_config.layout, NULL), 0);
	open_stream(&stream);
	now = (struct sfd_now){.mono_ns = stream.started_mono_ns,
			       .wall_ns = stream.started_unix_ns};
	news = 0;
}

static void tear_down(void)
{
	sfd_stream_close(&stream);
	t_state_deinit();
	free(directory);
}

static void pass(int64_t ns)
{
	now.mono_ns += ns;
	now.wall_ns += ns;
}

static int64_t turn(void)
{
	return sfd_stream_turn(&stream, now, &news);
}

/* What the page shows to clients. */
static int64_t shown(void)
{
	struct sf_shm_clock page;

	ck_assert_int_eq(sf_shm_time_read(&stream.ring.shm.grants->time, &page), 0);
	return sf_shm_clock_unix_ns(&page, now.mono_ns);
}

static uint64_t shown_tick(void)
{
	return sf_shm_tick_at(&stream_config.layout, shown());
}

static uint64_t horizon(void)
{
	return sf_shm_horizon(&stream.ring.shm);
}

static bool claim(uint64_t tick)
{
	struct sf_shm_range got;

	return sf_shm_claim(&stream.ring.shm, tick, 1, &got) == SF_SHM_CLAIM_OK;
}

/* As the control loop does: what is wanted is durable, and the beat thread may go that far. */
static void raise_mark(void)
{
	uint64_t wanted = atomic_load_explicit(&stream.mark_wanted, memory_order_acquire);

	if (news & SFD_TURN_MARK)
		atomic_store_explicit(&stream.mark_tick, wanted, memory_order_release);
	news = 0;
}

/* ---- turns ---- */

START_TEST(turn_publishes_the_runway_of_what_the_page_shows)
{
	for (int i = 0; i < 1000; i++) {
		(void)turn();
		raise_mark();
		ck_assert_uint_eq(horizon(), shown_tick() + RUNWAY_MS);
		ck_assert(claim(shown_tick()));
		pass(T_MS * (i % 100));
	}
}
END_TEST

START_TEST(turn_after_a_forward_step_makes_nobody_wait)
{
	uint64_t before;

	(void)turn();
	before = shown_tick();
	now.wall_ns += 10 * SECOND; /* less than the mark leads */
	(void)turn();
	ck_assert_uint_ne(news & SFD_TURN_CLOCK, 0);
	ck_assert(sfd_stream_has_stepped(&stream));
	ck_assert(!sfd_stream_has_stepped(&stream));
	ck_assert_uint_ge(shown_tick(), before + 9999);
	ck_assert(claim(shown_tick()));
}
END_TEST

/* Further than the mark reaches: held until it is raised, which is asked for at once. */
START_TEST(turn_after_a_forward_step_past_the_mark_asks_for_a_mark_and_goes_on)
{
	(void)turn();
	now.wall_ns += HOUR;
	(void)turn();
	ck_assert_uint_ne(news & SFD_TURN_MARK, 0);
	ck_assert(!claim(shown_tick()));
	raise_mark();
	(void)turn();
	ck_assert(claim(shown_tick()));
}
END_TEST

START_TEST(turn_never_publishes_above_the_mark)
{
	uint64_t mark = atomic_load_explicit(&stream.mark_tick, memory_order_relaxed);
	unsigned asked = 0;

	for (int i = 0; i < 1000; i++) {
		(void)turn();
		asked += (news & SFD_TURN_MARK) != 0;
		news = 0;
		ck_assert_uint_le(horizon(), mark);
		pass(125 * T_MS);
	}
	ck_assert_uint_eq(horizon(), mark);
	ck_assert_uint_gt(asked, 0);
	ck_assert_uint_gt(atomic_load_explicit(&stream.mark_wanted, memory_order_relaxed), mark);
}
END_TEST

/* Asked for in time, so that no turn ever finds it in the way. */
START_TEST(turn_asks_for_the_mark_long_before_it_needs_it)
{
	for (int i = 0; i < 8 * 600; i++) {
		uint64_t mark = atomic_load_explicit(&stream.mark_tick, memory_order_relaxed);

		(void)turn();
		ck_assert_uint_ge(mark, horizon() + SFD_MARK_AHEAD_MS / 4);
		raise_mark();
		pass(125 * T_MS);
	}
}
END_TEST

/* ---- the clock ---- */

START_TEST(fc16_turn_after_an_hour_back_goes_on_at_half_speed)
{
	int64_t before;

	(void)turn();
	before = shown();
	now.wall_ns -= HOUR;
	(void)turn();
	ck_assert_uint_ne(news & SFD_TURN_CLOCK, 0);
	ck_assert_int_eq(shown(), before);
	for (int64_t passed = 0; passed < 10 * SECOND; passed += 100 * T_MS) {
		int64_t last = shown();

		ck_assert_int_eq(last - before, passed / 2);
		ck_assert(claim(shown_tick()));
		pass(100 * T_MS);
		ck_assert_int_ge(shown(), last);
		(void)turn();
		raise_mark();
	}
	ck_assert_uint_eq(sfd_stats_get(stream.stats, SF_COUNTER_clock_steps_back), 1);
}
END_TEST

/* An idle stream is woken in time for the end of the slew, else its time falls behind the wall. */
START_TEST(fc20_idle_stream_that_slews_is_not_left_behind)
{
	(void)turn();
	now.wall_ns -= 2 * T_MS;
	for (int i = 0; i < 100; i++) {
		int64_t next = turn();

		ck_assert_int_gt(next, now.mono_ns);
		pass(next - now.mono_ns);
		ck_assert_int_ge(shown(), now.wall_ns - T_MS);
		raise_mark();
	}
	ck_assert_int_le(llabs(shown() - now.wall_ns), T_MS);
}
END_TEST

/* The wall runs at another rate than the monotonic clock, for ten minutes. */
START_TEST(fc20_idle_stream_stays_within_a_tick_of_a_wall_that_drifts)
{
	const int64_t ppm = _i ? 2000 : -2000;
	int64_t last = shown();

	for (int64_t passed = 0; passed < 600 * SECOND;) {
		int64_t nap = turn() - now.mono_ns;

		ck_assert_int_gt(nap, 0);
		raise_mark();
		pass(nap);
		now.wall_ns += nap / 1000000 * ppm;
		ck_assert_int_ge(shown(), last);
		last = shown();
		ck_assert_int_le(llabs(last - now.wall_ns), T_MS);
		passed += nap;
	}
}
END_TEST

/* ---- one stream after the other ---- */

/* Without a clean stop: what is there is what a killed daemon leaves. */
static uint64_t crash(void)
{
	uint64_t last;

	(void)turn();
	last = horizon();
	sfd_stream_close(&stream);
	return last;
}

START_TEST(open_after_a_crash_starts_above_all_that_was_published)
{
	uint64_t last = crash();

	open_stream(&stream);
	ck_assert_uint_eq(stream.ring.shm.grants->first_tick, last + 1);
}
END_TEST

START_TEST(open_after_a_clean_stop_starts_right_above_what_was_kept)
{
	uint64_t last;

	(void)turn();
	last = sfd_stream_stop(&stream, now);
	ck_assert_uint_eq(last, shown_tick() + SFD_STOP_KEEP_MS);
	ck_assert_int_eq(sfd_mark_store(stream.mark, last), 0);
	sfd_stream_close(&stream);
	open_stream(&stream);
	ck_assert_uint_ge(stream.ring.shm.grants->first_tick, last + 1);
	ck_assert_uint_lt(stream.ring.shm.grants->first_tick, last + RUNWAY_MS);
}
END_TEST

/* Clients of the killed daemon live on its runway while its successor comes and goes. */
START_TEST(open_after_a_crash_and_a_clean_stop_within_the_runway_starts_above_both)
{
	uint64_t published = crash();
	uint64_t last;

	open_stream(&stream);
	now = (struct sfd_now){.mono_ns = stream.started_mono_ns,
			       .wall_ns = stream.started_unix_ns};
	if (_i)
		(void)turn();
	last = sfd_stream_stop(&stream, now);
	ck_assert_uint_ge(last, published);
	ck_assert_int_eq(sfd_mark_store(stream.mark, last), 0);
	sfd_stream_close(&stream);
	open_stream(&stream);
	ck_assert_uint_gt(stream.ring.shm.grants->first_tick, published);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stream");
	TCase *turns = tcase_create("turns");
	TCase *heirs = tcase_create("heirs");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(turns, set_up, tear_down);
	tcase_add_test(turns, turn_publishes_the_runway_of_what_the_page_shows);
	tcase_add_test(turns, turn_after_a_forward_step_makes_nobody_wait);
	tcase_add_test(turns, turn_after_a_forward_step_past_the_mark_asks_for_a_mark_and_goes_on);
	tcase_add_test(turns, turn_never_publishes_above_the_mark);
	tcase_add_test(turns, turn_asks_for_the_mark_long_before_it_needs_it);
	tcase_add_test(turns, fc16_turn_after_an_hour_back_goes_on_at_half_speed);
	tcase_add_test(turns, fc20_idle_stream_that_slews_is_not_left_behind);
	tcase_add_loop_test(turns, fc20_idle_stream_stays_within_a_tick_of_a_wall_that_drifts, 0,
			    2);
	suite_add_tcase(suite, turns);
	tcase_add_checked_fixture(heirs, set_up, tear_down);
	tcase_add_test(heirs, open_after_a_crash_starts_above_all_that_was_published);
	tcase_add_test(heirs, open_after_a_clean_stop_starts_right_above_what_was_kept);
	tcase_add_loop_test(heirs,
			    open_after_a_crash_and_a_clean_stop_within_the_runway_starts_above_both,
			    0, 2);
	suite_add_tcase(suite, heirs);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
