/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl top: what it makes of looks (model). What keys do is in top_choices.c, numbers and
 * sparklines are in top_texts.c, and the page in top_view.c.
 */
#include "tests/unit/top_suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sfctl_top_model t_model;
struct sfctl_top_ui t_ui;
struct t_stream t_streams[T_STREAMS];
uint32_t t_stream_count;
static struct sfctl_top_user users[] = {{.uid = 0, .name = "root"}, {.uid = 1000, .name = "bob"}};

void t_top_begin(uint32_t stream_count)
{
	static const char *const names[T_STREAMS] = {"default", "orders", "documents"};

	t_stream_count = stream_count;
	memset(t_streams, 0, sizeof(t_streams));
	for (uint32_t i = 0; i < T_STREAMS; i++) {
		struct sf_control_stats *stats = &t_streams[i].stats;

		*stats = (struct sf_control_stats){.state = SF_SHM_RUNNING,
						   .pid = 77,
						   .version = "9.8.7",
						   .stream_count = stream_count,
						   .runway_ticks = 3000,
						   .now_unix_ns = T_UNIX_MS * 1000000};
		(void)snprintf(stats->stream, sizeof(stats->stream), "%s", names[i]);
		ck_assert_int_eq(sf_layout_parse("twitter", &stats->layout, NULL), 0);
		stats->counter[SF_COUNTER_capacity_per_second] = 4096000;
		stats->counter[SF_COUNTER_runway_ms] = 2950;
		stats->counter[SF_COUNTER_clock_sync] = 1;
		stats->counter[SF_COUNTER_clock_error_max_us] = 12345;
		stats->counter[SF_COUNTER_uptime_ms] = 61000;
	}
	t_ui = (struct sfctl_top_ui){.delay_ms = 1000};
}

void t_top_end(void)
{
	sfctl_top_model_deinit(&t_model);
}

struct sf_control_client *t_top_client(uint32_t stream, uint32_t pid, uint64_t ids)
{
	struct t_stream *of = &t_streams[stream];
	struct sf_control_client *client = &of->client[of->client_count++];

	*client = (struct sf_control_client){.pid = pid,
					     .since_unix_ns = (T_UNIX_MS - 90000) * 1000000,
					     .command = "worker",
					     .ids = ids};
	return client;
}

/** A look at second `second`, at what the streams hold now. */
void t_top_look(double second)
{
	struct sfctl_stream_stats streams[T_STREAMS];
	struct sfctl_top_look look = {.mono_ns = 1000000000 + (int64_t)(second * 1e9),
				      .unix_ms = T_UNIX_MS + (int64_t)(second * 1e3),
				      .stats = {.stream = streams, .stream_count = t_stream_count},
				      .user = users,
				      .user_count = T_COUNT(users)};

	for (uint32_t i = 0; i < t_stream_count; i++)
		streams[i] = (struct sfctl_stream_stats){.stats = t_streams[i].stats,
							 .client = t_streams[i].client,
							 .client_count = t_streams[i].client_count};
	ck_assert_int_eq(sfctl_top_model_take(&t_model, &look), 0);
}

void t_top_claim(uint32_t stream, uint64_t claimed, uint64_t dropped)
{
	t_streams[stream].stats.counter[SF_COUNTER_ids_claimed] = claimed;
	t_streams[stream].stats.counter[SF_COUNTER_ids_dropped] = dropped;
}

static const struct sfctl_top_client *client_of(uint32_t pid)
{
	for (uint32_t i = 0; i < t_model.client_count; i++)
		if (t_model.client[i].client.pid == pid)
			return &t_model.client[i];
	ck_abort_msg("no client %u", pid);
	return NULL;
}

static void assert_rate(double rate, double expected)
{
	ck_assert_msg(fabs(rate - expected) < 0.001, "%f, not %f", rate, expected);
}

/* ---- rates of streams ---- */

START_TEST(stream_rate_is_what_was_given_in_between)
{
	t_top_begin(1);
	t_streams[0].stats.counter[SF_COUNTER_rate_1s] = 123;
	t_top_claim(0, 1000, 200);
	t_top_look(0);
	assert_rate(t_model.stream[0].rate, 123); /* sfd's own: there is nothing to compare */
	t_streams[0].stats.counter[SF_COUNTER_waits] = 10;
	t_top_claim(0, 2000, 300);
	t_top_look(2);
	assert_rate(t_model.stream[0].rate, 450);
	assert_rate(t_model.stream[0].claimed_rate, 500);
	assert_rate(t_model.stream[0].waits_rate, 5);
	t_top_end();
}
END_TEST

START_TEST(stream_that_dropped_more_than_it_claimed_gave_nothing)
{
	t_top_begin(1);
	t_top_claim(0, 1000, 200);
	t_top_look(0);
	t_top_claim(0, 1010, 250);
	t_top_look(1);
	assert_rate(t_model.stream[0].rate, 0);
	assert_rate(t_model.stream[0].claimed_rate, 10);
	t_top_claim(0, 1020, UINT64_MAX); /* clients write it */
	t_top_look(2);
	assert_rate(t_model.stream[0].rate, 0);
	ck_assert_uint_eq(sfctl_top_given(&t_model.stream[0].stats), 0);
	t_top_end();
}
END_TEST

/* Another sfd, which counts from nothing. */
START_TEST(counts_that_went_back_make_no_negative_rate)
{
	t_top_begin(1);
	t_top_claim(0, 1000000, 0);
	t_streams[0].stats.counter[SF_COUNTER_waits] = 500;
	(void)t_top_client(0, 7, 900000);
	t_top_look(0);
	t_streams[0].stats.counter[SF_COUNTER_rate_1s] = 40;
	t_streams[0].stats.counter[SF_COUNTER_waits] = 0;
	t_streams[0].client[0].ids = 30;
	t_streams[0].client[0].since_unix_ns += 1000000;
	t_top_claim(0, 50, 0);
	t_top_look(1);
	assert_rate(t_model.stream[0].rate, 40);
	ck_assert(t_model.stream[0].waits_rate < 0); /* unknown */
	assert_rate(client_of(7)->rate, 30);
	t_top_end();
}
END_TEST

START_TEST(streams_are_known_by_their_names)
{
	struct sf_control_stats last;

	t_top_begin(3);
	for (uint32_t i = 0; i < 3; i++)
		t_top_claim(i, UINT64_C(1000) * (i + 1), 0);
	t_top_look(0);
	last = t_streams[2].stats; /* the first two are gone: a reload */
	t_streams[0].stats = last;
	t_stream_count = 1;
	t_top_claim(0, 3010, 0);
	t_top_look(1);
	assert_rate(t_model.stream[0].rate, 10);
	ck_assert_uint_eq(t_model.stream[0].trace.count, 2);
	t_top_end();
}
END_TEST

/* ---- clients ---- */

START_TEST(client_rate_is_its_own_count)
{
	t_top_begin(2);
	(void)t_top_client(1, 8, 100);
	(void)t_top_client(0, 7, 1000);
	t_top_look(0);
	ck_assert(client_of(7)->rate < 0); /* not known yet */
	t_streams[0].client[0].ids = 1500;
	t_streams[1].client[0].ids = 90; /* gave back what it had in hand */
	t_top_look(0.5);
	assert_rate(client_of(7)->rate, 1000);
	assert_rate(client_of(8)->rate, 0);
	ck_assert_uint_eq(client_of(8)->stream, 1);
	assert_rate(t_model.stream[0].counted_rate, 1000);
	ck_assert_str_eq(client_of(7)->user, "root");
	t_top_end();
}
END_TEST

START_TEST(client_that_came_in_between_has_taken_all_it_has_since)
{
	t_top_begin(1);
	t_top_look(0);
	t_top_client(0, 7, 300)->uid = 4711;
	t_top_look(2);
	assert_rate(client_of(7)->rate, 150);
	ck_assert_uint_eq(client_of(7)->trace.count, 1);
	ck_assert_str_eq(client_of(7)->user, "4711");
	t_top_end();
}
END_TEST

/* An upgrade: the process has a new connection, its count begins anew. */
START_TEST(client_that_attached_anew_keeps_its_trace)
{
	t_top_begin(1);
	(void)t_top_client(0, 7, 300);
	t_top_look(0);
	t_streams[0].client[0].ids = 400;
	t_top_look(1);
	t_streams[0].client[0].since_unix_ns += 1000000000;
	t_streams[0].client[0].ids = 50;
	t_top_look(2);
	ck_assert_uint_eq(t_model.client_count, 1);
	assert_rate(client_of(7)->rate, 50);
	ck_assert_uint_eq(client_of(7)->trace.count, 3);
	t_top_end();
}
END_TEST

/* Two clients of one process stay two. */
START_TEST(clients_of_one_process_are_apart)
{
	t_top_begin(1);
	(void)t_top_client(0, 7, 300);
	t_top_client(0, 7, 500)->since_unix_ns += 5;
	t_top_look(0);
	t_streams[0].client[0].ids = 310;
	t_streams[0].client[1].ids = 600;
	t_top_client(0, 7, 1)->since_unix_ns += 9;
	t_top_look(1);
	ck_assert_uint_eq(t_model.client_count, 3);
	assert_rate(t_model.client[0].rate, 10);
	assert_rate(t_model.client[1].rate, 100);
	assert_rate(t_model.client[2].rate, 1);
	ck_assert_uint_eq(t_model.client[2].trace.count, 1);
	t_top_end();
}
END_TEST

START_TEST(client_that_does_not_count_has_no_rate)
{
	t_top_begin(1);
	(void)t_top_client(0, 7, SF_CONTROL_NOT_COUNTED);
	t_top_look(0);
	t_top_look(1);
	ck_assert(client_of(7)->rate < 0);
	ck_assert_uint_eq(t_model.stream[0].uncounted, 1);
	t_streams[0].client[0].ids = 5; /* after an upgrade of sfd, say */
	t_top_look(2);
	ck_assert(client_of(7)->rate < 0);
	ck_assert_uint_eq(t_model.stream[0].uncounted, 0);
	t_top_end();
}
END_TEST

START_TEST(many_clients_are_found_again)
{
	t_top_begin(1);
	for (uint32_t i = 0; i < T_CLIENTS; i++)
		(void)t_top_client(0, 1000 + i * 7 % T_CLIENTS, i);
	t_top_look(0);
	for (uint32_t i = 0; i < T_CLIENTS; i++)
		t_streams[0].client[i].ids += t_streams[0].client[i].pid;
	t_top_look(1);
	for (uint32_t i = 0; i < T_CLIENTS; i++)
		assert_rate(t_model.client[i].rate, t_model.client[i].client.pid);
	t_top_end();
}
END_TEST

/* ---- sfd away ---- */

START_TEST(missed_looks_keep_the_figures_and_leave_a_gap)
{
	const struct sf_why why = {"nobody listens"};
	const struct sfctl_top_trace *trace;

	t_top_begin(1);
	(void)t_top_client(0, 7, 100);
	t_top_look(0);
	t_top_claim(0, 100, 0);
	t_streams[0].client[0].ids = 200;
	t_top_look(1);
	sfctl_top_model_miss(&t_model, T_UNIX_MS + 2000, &why);
	sfctl_top_model_miss(&t_model, T_UNIX_MS + 3000, &(struct sf_why){"still nobody"});
	ck_assert_int_eq(t_model.away_since_ms, T_UNIX_MS + 2000);
	ck_assert_str_eq(t_model.why.text, "still nobody");
	assert_rate(t_model.stream[0].rate, 100);
	assert_rate(client_of(7)->rate, 100);
	t_top_claim(0, 500, 0);
	t_top_look(5);
	ck_assert_int_eq(t_model.away_since_ms, 0);
	ck_assert_int_eq(t_model.away_ms, 3000);
	ck_assert_uint_eq(t_model.looks_since, 0);
	assert_rate(t_model.stream[0].rate, 100); /* over all of the four seconds */
	trace = &t_model.stream[0].trace;
	ck_assert_uint_eq(trace->count, 5);
	ck_assert(trace->rate[2] < 0 && trace->rate[3] < 0 && trace->rate[4] >= 0);
	t_top_end();
}
END_TEST

static void add_model(Suite *suite)
{
	TCase *model = tcase_create("model");

	tcase_add_test(model, stream_rate_is_what_was_given_in_between);
	tcase_add_test(model, stream_that_dropped_more_than_it_claimed_gave_nothing);
	tcase_add_test(model, counts_that_went_back_make_no_negative_rate);
	tcase_add_test(model, streams_are_known_by_their_names);
	tcase_add_test(model, client_rate_is_its_own_count);
	tcase_add_test(model, client_that_came_in_between_has_taken_all_it_has_since);
	tcase_add_test(model, client_that_attached_anew_keeps_its_trace);
	tcase_add_test(model, clients_of_one_process_are_apart);
	tcase_add_test(model, client_that_does_not_count_has_no_rate);
	tcase_add_test(model, many_clients_are_found_again);
	tcase_add_test(model, missed_looks_keep_the_figures_and_leave_a_gap);
	suite_add_tcase(suite, model);
}

int main(void)
{
	Suite *suite = suite_create("top");
	SRunner *runner = srunner_create(suite);
	int failed;

	add_model(suite);
	t_add_top_texts(suite);
	t_add_top_choices(suite);
	t_add_top_view(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
