/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * tools/doctor.c and clock_text.c: what is found in the statistics of a stream, and what is said.
 */
#include "tools/clock_text.h"
#include "tools/doctor.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* 2026-01-01T00:00:00Z */
#define NOW_MS INT64_C(1767225600000)
#define HOUR_MS INT64_C(3600000)
#define YEAR_MS (8766 * HOUR_MS)

static struct sf_control_stats stats;
static struct sfctl_doctor doctor;

static void set(enum sf_counter counter, int64_t value)
{
	stats.counter[counter] = (uint64_t)value;
}

/** A stream that is well. */
static void make_well(void)
{
	stats = (struct sf_control_stats){.stream = "default",
					  .state = SF_SHM_RUNNING,
					  .runway_ticks = 3000,
					  .node_count = 1,
					  .now_unix_ns = NOW_MS * 1000000};
	ck_assert_int_eq(sf_layout_parse("twitter", &stats.layout, NULL), 0);
	set(SF_COUNTER_clock_sync, 1);
	set(SF_COUNTER_clock_error_max_us, 12345);
	set(SF_COUNTER_clock_error_est_us, 678);
	set(SF_COUNTER_runway_ms, 2900);
	set(SF_COUNTER_now_tick, 1000000);
	set(SF_COUNTER_mark_tick, 1021000);
}

static void tear_down(void)
{
	sfctl_doctor_deinit(&doctor);
}

static void examine(void)
{
	sfctl_doctor_deinit(&doctor);
	sfctl_doctor_host(&doctor, &stats);
	sfctl_doctor_stream(&doctor, &stats);
	ck_assert(!doctor.out_of_memory);
}

/** What was found by a check; all others are ok. */
static void assert_found(const char *check, enum sfctl_level level, const char *text)
{
	const struct sfctl_finding *found = NULL;

	for (size_t i = 0; i < doctor.count; i++) {
		const struct sfctl_finding *one = &doctor.finding[i];

		if (strcmp(one->check, check) == 0)
			found = one;
		else
			ck_assert_msg(one->level == SFCTL_LEVEL_OK, "%s: %s", one->check,
				      one->text);
	}
	ck_assert_ptr_nonnull(found);
	ck_assert_int_eq(found->level, level);
	ck_assert_msg(strstr(found->text, text) != NULL, "%s", found->text);
}

START_TEST(stream_that_is_well_has_nothing)
{
	examine();
	assert_found("state", SFCTL_LEVEL_OK, "running");
	assert_found("time", SFCTL_LEVEL_OK, "embedded time is the wall's");
	assert_found("clock", SFCTL_LEVEL_OK, "synchronised, to 12ms at most, 678us as estimated");
	assert_found("layout", SFCTL_LEVEL_OK, "ends at 2080-07-10T17:30:30Z, in 54y");
	assert_found("mark", SFCTL_LEVEL_OK, "21s ahead of now");
}
END_TEST

static const struct {
	uint32_t state;
	const char *text;
} states[] = {
	{SF_SHM_WAITING, "waiting for clock: it shows 2026-01-01T00:00:00Z, the layout begins at "
			 "2010-11-04T01:42:54Z: set the clock"},
	{SF_SHM_EXHAUSTED, "exhausted: the clock shows 2026-01-01T00:00:00Z, the layout ended "
			   "2080-07-10T17:30:30Z"},
	{SF_SHM_HELD, "held: the mark cannot be raised"},
	{SF_SHM_BEHIND, "behind: the wall clock went back; set it"},
	{SF_SHM_STOPPED, "stopped: start sfd again"},
	{99, "unknown: start sfd again"},
};

START_TEST(fc18_state_that_gives_no_ids_is_a_failure)
{
	stats.state = states[_i].state;
	examine();
	assert_found("state", SFCTL_LEVEL_FAILURE, states[_i].text);
}
END_TEST

static const struct {
	int64_t behind;
	int64_t offset_us;
	int64_t left_ms;
	enum sfctl_level level;
	const char *text;
} leads[] = {
	{1, HOUR_MS * 1000, 2 * HOUR_MS, SFCTL_LEVEL_WARNING,
	 "embedded time is 1h00m ahead of the wall: time runs at half speed until the wall has "
	 "caught up, in 2h00m, at 2026-01-01T02:00:00Z; set the clock"},
	{1, 4 * HOUR_MS * 1000, 8 * HOUR_MS, SFCTL_LEVEL_WARNING, "set the clock"},
	{1, 4 * HOUR_MS * 1000 + 1, 8 * HOUR_MS, SFCTL_LEVEL_FAILURE,
	 "in 8h00m, at 2026-01-01T08:00:00Z; more than 4h come of a clock that is or was wrong: "
	 "set it, if it is, a forward step is taken at once; else a stream of another name and "
	 "machine id begins at the right time"},
	{4, 56 * YEAR_MS * 1000, 56 * YEAR_MS, SFCTL_LEVEL_FAILURE,
	 "embedded time is 56y0d ahead of the wall: ticks are borrowed until the wall has caught "
	 "up, in 56y0d, at 2082-01-01"},
	{2, 5000, 5, SFCTL_LEVEL_WARNING,
	 "5000us ahead of the wall: callers wait until the wall has caught up, in 5ms"},
	{3, 90000000, 90000, SFCTL_LEVEL_WARNING,
	 "1m30s ahead of the wall: callers are refused until"},
	{77, 90000000, INT64_MAX, SFCTL_LEVEL_WARNING,
	 "another policy holds until the wall has caught up, in 292y"},
};

START_TEST(fc15_wall_that_is_behind_is_found_with_its_end)
{
	set(SF_COUNTER_clock_behind, leads[_i].behind);
	set(SF_COUNTER_wall_offset_us, leads[_i].offset_us);
	set(SF_COUNTER_clock_behind_ms, leads[_i].left_ms);
	examine();
	assert_found("time", leads[_i].level, leads[_i].text);
}
END_TEST

START_TEST(far_lead_of_ids_without_a_machine_id_needs_another_name_alone)
{
	ck_assert_int_eq(sf_layout_of_format(SF_FORMAT_ULID, &stats.layout), 0);
	stats.node_count = 0;
	set(SF_COUNTER_clock_behind, 1);
	set(SF_COUNTER_wall_offset_us, 5 * HOUR_MS * 1000);
	examine();
	assert_found("time", SFCTL_LEVEL_FAILURE, "else a stream of another name begins at");
}
END_TEST

START_TEST(time_is_followed_within_ten_milliseconds)
{
	set(SF_COUNTER_wall_offset_us, -9999);
	examine();
	assert_found("time", SFCTL_LEVEL_OK, "9999us behind the wall");
	set(SF_COUNTER_wall_offset_us, -10001);
	examine();
	assert_found("time", SFCTL_LEVEL_WARNING, "10ms behind the wall: sfd did not get to run");
	set(SF_COUNTER_wall_offset_us, INT64_MIN);
	examine();
	assert_found("time", SFCTL_LEVEL_WARNING, "behind the wall");
}
END_TEST

START_TEST(clock_that_is_not_synchronised_is_a_warning)
{
	set(SF_COUNTER_clock_sync, 2);
	examine();
	assert_found("clock", SFCTL_LEVEL_WARNING, "not synchronised: IDs carry the clock's time");
	set(SF_COUNTER_clock_sync, 0);
	examine();
	assert_found("clock", SFCTL_LEVEL_OK, "the kernel does not tell sfd");
	set(SF_COUNTER_clock_sync, 1);
	set(SF_COUNTER_clock_leap, 1);
	examine();
	assert_found("clock", SFCTL_LEVEL_OK, "; a leap second comes at the day's end");
	set(SF_COUNTER_clock_leap, 1000);
	examine();
	assert_found("clock", SFCTL_LEVEL_OK, "synchronised");
}
END_TEST

START_TEST(layout_that_ends_within_a_year_is_a_warning)
{
	stats.now_unix_ns = (sf_layout_last_ms(&stats.layout) - INT64_C(2400) * HOUR_MS) * 1000000;
	examine();
	assert_found("layout", SFCTL_LEVEL_WARNING, "in 100d00h: plan its successor");
}
END_TEST

START_TEST(counts_that_should_be_none_are_found)
{
	set(SF_COUNTER_runway_ms, 1400);
	examine();
	assert_found("runway", SFCTL_LEVEL_WARNING, "1400 of 3000 ms: sfd did not get to run");
	make_well();
	set(SF_COUNTER_mark_errors, 2);
	examine();
	assert_found("mark", SFCTL_LEVEL_WARNING, "2 failed: see sfd's log");
	make_well();
	set(SF_COUNTER_capacity_used_ppm, 950000);
	examine();
	assert_found("capacity", SFCTL_LEVEL_WARNING, "95.00 % of 0 IDs/s used: callers wait");
	make_well();
	set(SF_COUNTER_attaches_refused, 3);
	examine();
	assert_found("clients", SFCTL_LEVEL_WARNING, "3 requests to attach refused");
	make_well();
	set(SF_COUNTER_slots_spoilt, 1);
	examine();
	assert_found("memory", SFCTL_LEVEL_FAILURE, "1 claim words found overwritten: a client");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("doctor");
	TCase *cases = tcase_create("findings");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(cases, make_well, tear_down);
	tcase_add_test(cases, stream_that_is_well_has_nothing);
	tcase_add_loop_test(cases, fc18_state_that_gives_no_ids_is_a_failure, 0,
			    sizeof(states) / sizeof(states[0]));
	tcase_add_loop_test(cases, fc15_wall_that_is_behind_is_found_with_its_end, 0,
			    sizeof(leads) / sizeof(leads[0]));
	tcase_add_test(cases, far_lead_of_ids_without_a_machine_id_needs_another_name_alone);
	tcase_add_test(cases, time_is_followed_within_ten_milliseconds);
	tcase_add_test(cases, clock_that_is_not_synchronised_is_a_warning);
	tcase_add_test(cases, layout_that_ends_within_a_year_is_a_warning);
	tcase_add_test(cases, counts_that_should_be_none_are_found);
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
