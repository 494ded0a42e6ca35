/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A daemon that starts while the wall is behind what was promised before: after a crash, after a
 * clean stop, after a reboot; under every policy, for every format.
 */
#include "tests/unit/policies_suite.h"

#include <errno.h>
#include <stdio.h>

/* At half speed the ring before is over, and the tick above it has begun. */
#define SLEW_NS                                                                                    \
	(INT64_C(2) * T_MS *                                                                       \
	 (t_stream_config.runway_ms + INT64_C(2) * t_stream_config.layout.tick_ms))

static struct sf_wide last;

enum end {
	END_KILL,   /* of this boot: the record is exact */
	END_STOP,   /* the same, and the runway was given back */
	END_REBOOT, /* the durable mark alone is left */
	ENDS
};

static void end_daemon(enum end end)
{
	if (end == END_STOP)
		t_stream_stop();
	else
		t_stream_kill();
	if (end == END_REBOOT)
		t_stream_reboot();
}

static void take(struct sf_cursor *cursor, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		t_stream_take(cursor, &last);
}

/* Not turn by turn: hours would take seconds. */
static void catch_up(void)
{
	t_stream_pass(2 * (t_stream_shown() - t_stream_wall()));
	t_stream_run(SLEW_NS);
}

static void begin(int row)
{
	last = (struct sf_wide){0, 0};
	t_stream_init(
		&(struct t_stream_setup){.layout = T_LAYOUT_OF(row), .policy = T_POLICY_OF(row)});
	take(t_stream_cursor, 1000);
	t_stream_pass(T_SECOND / 2);
	(void)t_stream_turn();
	take(t_stream_cursor, 1000);
}

/* Ten seconds and an hour: the daemon ends, the wall goes back, the next daemon starts. */
static const int64_t steps[] = {10 * T_SECOND, T_HOUR};

START_TEST(fc14_start_under_a_wall_that_went_back_gives_larger_ids)
{
	const int row = _i % T_POLICY_ROWS;
	const enum end end = (enum end)(_i / T_POLICY_ROWS % ENDS);
	const int64_t step = steps[_i / T_POLICY_ROWS / ENDS];
	const enum sfd_clock_policy policy = T_POLICY_OF(row);
	int64_t lead;

	begin(row);
	end_daemon(end);
	t_stream_step(-step);
	t_stream_start(policy);
	t_stream_reopen_client();
	lead = t_stream_shown() - t_stream_wall();
	ck_assert_int_ge(lead, step);
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_wall_offset_us), (uint64_t)(lead / 1000));
	/* what may still be claimed from the ring before ends within the runway */
	if (policy == SFD_CLOCK_SLEW || policy == SFD_CLOCK_AHEAD)
		t_stream_run(SLEW_NS);
	switch (policy) {
	case SFD_CLOCK_WAIT:
		t_stream_assert_refused(-EAGAIN);
		break;
	case SFD_CLOCK_REFUSE:
		t_stream_assert_refused(-ETIME);
		ck_assert_int_eq(sf_cursor_remaining_ms(t_stream_cursor), (lead + T_MS - 1) / T_MS);
		break;
	case SFD_CLOCK_SLEW:
	case SFD_CLOCK_AHEAD:
	default:
		take(t_stream_cursor, 1000);
	}
	catch_up();
	take(t_stream_cursor, 1000);
	ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_wall_tick());
	t_stream_deinit();
}
END_TEST

/* The wall goes back first, and the daemon ends while its policy is in force. */
START_TEST(fc14_start_while_behind_gives_larger_ids)
{
	const int row = _i % T_POLICY_ROWS;
	const enum end end = (enum end)(_i / T_POLICY_ROWS % ENDS);
	const enum sfd_clock_policy policy = T_POLICY_OF(row);

	begin(row);
	t_stream_step(-T_HOUR);
	(void)t_stream_turn();
	if (policy == SFD_CLOCK_AHEAD)
		take(t_stream_cursor, 10000); /* borrows some */
	t_stream_pass(60 * T_SECOND);
	(void)t_stream_turn();
	end_daemon(end);
	t_stream_pass(T_MS);
	t_stream_start(policy);
	t_stream_reopen_client();
	if (policy == SFD_CLOCK_SLEW)
		t_stream_run(SLEW_NS);
	switch (policy) {
	case SFD_CLOCK_WAIT:
		t_stream_assert_refused(-EAGAIN);
		break;
	case SFD_CLOCK_REFUSE:
		t_stream_assert_refused(-ETIME);
		ck_assert_int_gt(sf_cursor_remaining_ms(t_stream_cursor), 59 * 60 * 1000 - 2000);
		break;
	case SFD_CLOCK_SLEW:
	case SFD_CLOCK_AHEAD:
	default:
		take(t_stream_cursor, policy == SFD_CLOCK_AHEAD ? 10000 : 1000);
	}
	catch_up();
	take(t_stream_cursor, 1000);
	ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_wall_tick());
	t_stream_deinit();
}
END_TEST

/* Clients that stay on the ring before: it ends, and they find the next one behind it. */
START_TEST(start_while_behind_leaves_the_ring_before_to_its_clients)
{
	const enum sfd_clock_policy policy = T_POLICY_OF(_i);
	struct sf_cursor *old;
	int64_t end;

	begin(_i);
	t_stream_config.ahead_ms = 1000; /* so that time alone does not keep the new ring's back */
	t_stream_step(-60 * T_SECOND);
	(void)t_stream_turn();
	t_stream_kill();
	t_stream_start(policy);
	/* as a re-attachment does it; the cursor stays where it is */
	old = t_stream_cursor;
	ck_assert_int_eq(sf_client_adopt(t_stream_client, t_stream.ring.grants_fd,
					 t_stream.ring.claims_fd, 0),
			 0);
	t_stream_cursor = t_cursor_open(t_stream_client);
	end = t_stream_mono() + 200 * T_SECOND;
	while (t_stream_mono() < end) {
		struct sf_wide id = {0, 0};

		/* whichever of them gets one: it is above all before */
		if (t_stream_ordered(t_stream_cursor, &id) == 0) {
			T_EXPECT(sf_wide_compare(&last, &id) < 0, "the new ring's ID falls");
			last = id;
		}
		if (t_stream_ordered(old, &id) == 0) {
			T_EXPECT(sf_wide_compare(&last, &id) < 0, "the old ring's ID falls");
			last = id;
		}
		t_stream_run(50 * T_MS);
	}
	ck_assert_uint_eq(t_stream_tick_of(&last),
			  sf_shm_tick_at(&t_stream_config.layout, t_stream_wall() - 50 * T_MS));
	sf_cursor_close(old);
	t_stream_deinit();
}
END_TEST

/* One policy hands over to another, with the clock of the first still in force. */
START_TEST(start_under_another_policy_while_behind_gives_larger_ids)
{
	const enum sfd_clock_policy before = (enum sfd_clock_policy)(_i % T_POLICIES);
	const enum sfd_clock_policy after = (enum sfd_clock_policy)(_i / T_POLICIES);
	int64_t shown;

	begin((int)before);
	t_stream_step(-60 * T_SECOND);
	(void)t_stream_turn();
	shown = t_stream_shown();
	t_stream_stop();
	t_stream_start(after);
	t_stream_reopen_client();
	ck_assert_int_ge(t_stream_shown(), shown);
	if (before == SFD_CLOCK_SLEW) {
		/* what is being slewed goes on so: no clock went back since */
		t_stream_run(SLEW_NS);
		take(t_stream_cursor, 1000);
		ck_assert_uint_gt(t_stream_tick_of(&last), t_stream_wall_tick());
	}
	t_stream_run(200 * T_SECOND);
	take(t_stream_cursor, 1000);
	ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_wall_tick());
	t_stream_deinit();
}
END_TEST

/* ---- the mark of streams without machine ids ---- */

/* A reboot without a step: no policy is in force for longer than the mark leads. */
START_TEST(start_after_a_reboot_goes_by_the_durable_mark)
{
	uint64_t mark;

	begin(_i);
	t_stream_kill();
	mark = atomic_load_explicit(&t_stream.mark_tick, memory_order_relaxed);
	t_stream_reboot();
	t_stream_start(T_POLICY_OF(_i));
	ck_assert_uint_ge(t_stream.ring.shm.grants->first_tick, mark + 1);
	t_stream_reopen_client();
	t_stream_run(INT64_C(2) * SFD_MARK_LEAD_MS * T_MS + 2 * SLEW_NS);
	take(t_stream_cursor, 1000);
	ck_assert_uint_ge(t_stream_tick_of(&last), mark);
	ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_wall_tick());
	t_stream_deinit();
}
END_TEST

/* And nobody waits or is refused for that: no clock went back. */
START_TEST(start_after_a_reboot_without_a_step_goes_on_at_once)
{
	uint64_t mark;

	last = (struct sf_wide){0, 0};
	t_stream_init(&(struct t_stream_setup){
		.layout = T_LAYOUT_OF(_i), .policy = T_POLICY_OF(_i), .is_later = true});
	take(t_stream_cursor, 1000);
	t_stream_kill();
	mark = atomic_load_explicit(&t_stream.mark_tick, memory_order_relaxed);
	t_stream_reboot();
	t_stream_pass(5 * T_SECOND);
	t_stream_start(T_POLICY_OF(_i));
	t_stream_reopen_client();
	take(t_stream_cursor, 1000);
	ck_assert_uint_eq(t_stream_tick_of(&last), mark + 1);
	ck_assert_uint_eq(
		atomic_load_explicit(&t_stream.ring.shm.grants->state, memory_order_relaxed),
		SF_SHM_RUNNING);
	catch_up();
	take(t_stream_cursor, 1000);
	ck_assert_uint_eq(t_stream_tick_of(&last), t_stream_wall_tick());
	t_stream_deinit();
}
END_TEST

/* What passes while the stores open is no step of the wall. */
START_TEST(start_that_takes_long_is_not_behind)
{
	begin(_i);
	end_daemon((enum end)(_i % 2 ? END_STOP : END_KILL));
	t_stream_reading_ns = 40 * T_MS;
	t_stream_start(T_POLICY_OF(_i));
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_wall_offset_us), 0);
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_clock_steps_back), 0);
	ck_assert_uint_eq(t_stream_stat(SF_COUNTER_clock_steps_forward), 0);
	t_stream_deinit();
}
END_TEST

/* Another format under the same name: its ticks may be another unit, its IDs are other IDs. */
START_TEST(fc25_start_with_another_format_begins_anew)
{
	static const char *const pairs[][2] = {
		{"ulid", "objectid"},   {"objectid", "ulid"},    {"ulid", "uuid7"},
		{"uuid7", "hound"},     {"hound", "ulid"},       {"snowflakex", "ulid"},
		{"ulid", "snowflakex"}, {"hound", "snowflakex"},
	};
	uint64_t first;

	t_stream_init(&(struct t_stream_setup){.layout = pairs[_i][0]});
	for (int round = 0; round < 4; round++) {
		const char *layout = pairs[_i][1 - round % 2];

		t_stream_kill();
		t_stream_reboot();
		t_stream_pass(60 * T_SECOND);
		ck_assert_int_eq(sf_layout_parse(layout, &t_stream_config.layout, NULL), 0);
		t_stream_config.node_count = t_stream_config.layout.format == SF_FORMAT_SNOWFLAKE;
		t_stream_config.node[0] = t_stream_config.node_count ? 5 : 0;
		if (t_stream_config.runway_ms < 4 * t_stream_config.layout.tick_ms)
			t_stream_config.runway_ms = 4 * t_stream_config.layout.tick_ms;
		t_stream_start(SFD_CLOCK_SLEW);
		first = t_stream.ring.shm.grants->first_tick;
		ck_assert_uint_eq(first, t_stream_wall_tick());
	}
	t_stream_reopen_client();
	last = (struct sf_wide){0, 0};
	take(t_stream_cursor, 100);
	t_stream_deinit();
}
END_TEST

static void switch_to(const char *layout)
{
	t_stream_kill();
	t_stream_reboot();
	ck_assert_int_eq(sf_layout_parse(layout, &t_stream_config.layout, NULL), 0);
	t_stream_start(SFD_CLOCK_SLEW);
	t_stream_reopen_client();
}

/* The format of before comes back, while the wall is behind: its mark still counts. */
START_TEST(fc25_start_with_the_format_of_before_gives_larger_ids)
{
	struct sf_wide other = {0, 0};

	begin(T_POLICIES); /* ulid */
	switch_to("uuid7");
	t_stream_take(t_stream_cursor, &other);
	t_stream_step(-T_HOUR);
	switch_to("ulid");
	take(t_stream_cursor, 1000);
	t_stream_deinit();
}
END_TEST

static const struct {
	const char *layout;
	const char *name;
	uint32_t node; /* 5 as before, or 6 */
	bool is_boot;
	bool is_right;
} beginnings[] = {
	{"snowflakex", "default", 6, false, false}, /* the record of this boot speaks of the name */
	{"snowflakex", "other", 5, true, false},    /* the mark speaks of the machine id */
	{"snowflakex", "other", 6, false, true},    {"snowflakex", "default", 6, true, true},
	{"ulid", "default", 0, true, false},        {"ulid", "other", 0, false, true},
};

/* What the log advises, and what it does not. */
START_TEST(start_after_a_clock_that_was_wrong_begins_at_the_right_time_elsewhere)
{
	const int64_t wrong = INT64_C(365) * 24 * T_HOUR;
	struct sf_wide id = {0, 0};

	t_stream_init(&(struct t_stream_setup){.layout = beginnings[_i].layout});
	t_stream_step(wrong);
	t_stream_run(T_SECOND);
	t_stream_take(t_stream_cursor, &id);
	t_stream_kill();
	t_stream_step(-wrong);
	(void)snprintf(t_stream_config.name, sizeof(t_stream_config.name), "%s",
		       beginnings[_i].name);
	t_stream_config.node[0] = beginnings[_i].node;
	if (beginnings[_i].is_boot)
		t_stream_reboot();
	t_stream_start(SFD_CLOCK_SLEW);
	ck_assert_int_eq(t_stream_shown() - t_stream_wall() < T_SECOND, beginnings[_i].is_right);
	ck_assert_int_eq(t_stream.ring.shm.grants->first_tick < t_stream_tick_of(&id),
			 beginnings[_i].is_right);
	t_stream_reopen_client();
	t_stream_deinit();
}
END_TEST

void t_add_policies_restart(Suite *suite)
{
	TCase *restart = tcase_create("restart");

	tcase_set_timeout(restart, 60);
	tcase_add_loop_test(restart, fc14_start_under_a_wall_that_went_back_gives_larger_ids, 0,
			    T_POLICY_ROWS * ENDS * (int)T_COUNT(steps));
	tcase_add_loop_test(restart, fc14_start_while_behind_gives_larger_ids, 0,
			    T_POLICY_ROWS * ENDS);
	tcase_add_loop_test(restart, start_while_behind_leaves_the_ring_before_to_its_clients, 0,
			    T_POLICY_ROWS);
	tcase_add_loop_test(restart, start_under_another_policy_while_behind_gives_larger_ids, 0,
			    T_POLICIES * T_POLICIES);
	tcase_add_loop_test(restart, start_after_a_reboot_goes_by_the_durable_mark, 0,
			    T_POLICY_ROWS);
	tcase_add_loop_test(restart, start_after_a_reboot_without_a_step_goes_on_at_once, 0,
			    T_POLICY_ROWS);
	tcase_add_loop_test(restart, start_that_takes_long_is_not_behind, 0, T_POLICY_ROWS);
	tcase_add_loop_test(restart, fc25_start_with_another_format_begins_anew, 0, 8);
	tcase_add_test(restart, fc25_start_with_the_format_of_before_gives_larger_ids);
	tcase_add_loop_test(restart,
			    start_after_a_clock_that_was_wrong_begins_at_the_right_time_elsewhere,
			    0, T_COUNT(beginnings));
	suite_add_tcase(suite, restart);
}
