/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * tools/exporter/metrics.c and families.c: what a scrape reads, to the letter.
 */
#include "tools/exporter/families.h"
#include "tools/exporter/metrics.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS 2

static struct sf_control_stats stream[STREAMS];
static struct sfctl_metrics metrics;
static char *text;

static void begin(enum sfctl_exposition exposition)
{
	free(text);
	text = NULL;
	ck_assert_int_eq(sfctl_metrics_init(&metrics, exposition), 0);
}

static void end(void)
{
	size_t length;

	ck_assert_int_eq(sfctl_metrics_finish(&metrics, &text, &length), 0);
	ck_assert_uint_eq(strlen(text), length);
}

static void tear_down(void)
{
	free(text);
	text = NULL;
}

/** A line, whole: its number of occurrences. */
static int lines(const char *line)
{
	size_t length = strlen(line);
	int count = 0;

	for (const char *at = text; (at = strstr(at, line)) != NULL; at += length)
		count += (at == text || at[-1] == '\n') && at[length] == '\n';
	return count;
}

#define ASSERT_LINE(line) ck_assert_msg(lines(line) == 1, "not once: %s\n%s", line, text)
#define ASSERT_NO(piece) ck_assert_msg(!strstr(text, piece), "%s in\n%s", piece, text)

static void set(enum sf_counter counter, int64_t value)
{
	for (int i = 0; i < STREAMS; i++)
		stream[i].counter[counter] = (uint64_t)value;
}

static void make_streams(void)
{
	static const char *const names[STREAMS] = {"default", "orders"};

	for (int i = 0; i < STREAMS; i++) {
		stream[i] = (struct sf_control_stats){.state = SF_SHM_RUNNING,
						      .runway_ticks = 3000,
						      .ahead_ticks = 1500,
						      .node_count = 1,
						      .version = "1.2.3"};
		(void)strcpy(stream[i].stream, names[i]);
		stream[i].node[0] = 7 + (uint32_t)i;
		ck_assert_int_eq(sf_layout_parse("twitter", &stream[i].layout, NULL), 0);
	}
}

static void render(enum sfctl_exposition exposition)
{
	begin(exposition);
	sfctl_families(&metrics, stream, STREAMS);
	end();
}

/* ---- the two formats ---- */

static const struct sfctl_family counter = {"x_bytes", SFCTL_COUNTER, "bytes", "say \"x\\y\"\nz"};

START_TEST(metrics_counter_in_openmetrics_has_unit_escapes_and_an_end)
{
	begin(SFCTL_OPENMETRICS);
	sfctl_metrics_family(&metrics, &counter);
	sfctl_metrics_sample(&metrics, (struct sfctl_labels){0}, sfctl_unsigned(5, 0));
	end();
	ck_assert_str_eq(text, "# TYPE x_bytes counter\n"
			       "# UNIT x_bytes bytes\n"
			       "# HELP x_bytes say \\\"x\\\\y\\\"\\nz\n"
			       "x_bytes_total 5\n"
			       "# EOF\n");
}
END_TEST

START_TEST(metrics_counter_in_prometheus_text_is_named_by_its_sample)
{
	begin(SFCTL_PROMETHEUS_TEXT);
	sfctl_metrics_family(&metrics, &counter);
	sfctl_metrics_sample(&metrics, (struct sfctl_labels){0}, sfctl_unsigned(5, 0));
	end();
	ck_assert_str_eq(text, "# TYPE x_bytes_total counter\n"
			       "# HELP x_bytes_total say \"x\\\\y\"\\nz\n"
			       "x_bytes_total 5\n");
}
END_TEST

START_TEST(metrics_label_values_are_escaped_and_plain)
{
	const struct sfctl_label label[] = {{"a", "q\"b\\n\n"}, {"b", "t\tu\xff\x7f"}};
	const struct sfctl_family family = {"x", SFCTL_INFO, NULL, "h"};

	for (int i = 0; i < 2; i++) {
		begin(i == 0 ? SFCTL_OPENMETRICS : SFCTL_PROMETHEUS_TEXT);
		sfctl_metrics_family(&metrics, &family);
		sfctl_metrics_sample(&metrics, (struct sfctl_labels){label, 2},
				     sfctl_unsigned(1, 0));
		end();
		ASSERT_LINE("x_info{a=\"q\\\"b\\\\n\\n\",b=\"t?u??\"} 1");
		ASSERT_LINE(i == 0 ? "# TYPE x info" : "# TYPE x_info gauge");
	}
}
END_TEST

START_TEST(metrics_values_are_exact_decimals)
{
	static const struct {
		struct sfctl_decimal value;
		const char *line;
	} rows[] = {
		{{0, 0, false}, "x 0"},
		{{UINT64_MAX, 0, false}, "x 18446744073709551615"},
		{{1, 3, false}, "x 0.001"},
		{{1234567, 6, false}, "x 1.234567"},
		{{1000000000, 9, false}, "x 1.000000000"},
	};
	static const struct {
		int64_t value;
		const char *line;
	} negative[] = {
		{-1, "x -0.000001"},
		{-1500000, "x -1.500000"},
		{INT64_MIN, "x -9223372036854.775808"},
		{INT64_MAX, "x 9223372036854.775807"},
	};
	const struct sfctl_family family = {"x", SFCTL_GAUGE, NULL, "h"};

	begin(SFCTL_OPENMETRICS);
	sfctl_metrics_family(&metrics, &family);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		sfctl_metrics_sample(&metrics, (struct sfctl_labels){0}, rows[i].value);
	for (size_t i = 0; i < sizeof(negative) / sizeof(negative[0]); i++)
		sfctl_metrics_sample(&metrics, (struct sfctl_labels){0},
				     sfctl_signed(negative[i].value, 6));
	end();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ASSERT_LINE(rows[i].line);
	for (size_t i = 0; i < sizeof(negative) / sizeof(negative[0]); i++)
		ASSERT_LINE(negative[i].line);
}
END_TEST

START_TEST(metrics_states_are_exclusive_and_carry_the_familys_name)
{
	static const char *const words[] = {NULL, "on", "off"};
	const struct sfctl_label label = {"stream", "s"};
	const struct sfctl_family family = {"x", SFCTL_STATE_SET, NULL, "h"};

	begin(SFCTL_OPENMETRICS);
	sfctl_metrics_family(&metrics, &family);
	sfctl_metrics_states(&metrics, (struct sfctl_labels){&label, 1}, words, 3, 2);
	end();
	ck_assert_str_eq(text, "# TYPE x stateset\n# HELP x h\n"
			       "x{stream=\"s\",x=\"on\"} 0\n"
			       "x{stream=\"s\",x=\"off\"} 1\n# EOF\n");
	begin(SFCTL_PROMETHEUS_TEXT);
	sfctl_metrics_family(&metrics, &family);
	end();
	ASSERT_LINE("# TYPE x gauge");
}
END_TEST

START_TEST(metrics_histogram_adds_its_buckets_up)
{
	static const uint64_t bounds[] = {1, 512, 100000, UINT64_C(1000000000),
					  UINT64_C(2500000000)};
	static const uint64_t counts[] = {1, 0, 2, 4, 0, 8};
	const struct sfctl_histogram histogram = {bounds, counts, 5, UINT64_C(12000000345)};
	const struct sfctl_label label = {"stream", "s"};
	const struct sfctl_family family = {"x_seconds", SFCTL_HISTOGRAM, "seconds", "h"};

	begin(SFCTL_OPENMETRICS);
	sfctl_metrics_family(&metrics, &family);
	sfctl_metrics_histogram(&metrics, (struct sfctl_labels){&label, 1}, &histogram);
	sfctl_metrics_histogram(&metrics, (struct sfctl_labels){0}, &histogram);
	end();
	ASSERT_LINE("# TYPE x_seconds histogram");
	ASSERT_LINE("# UNIT x_seconds seconds");
	ASSERT_LINE("x_seconds_bucket{stream=\"s\",le=\"1e-09\"} 1");
	ASSERT_LINE("x_seconds_bucket{stream=\"s\",le=\"5.12e-07\"} 1");
	ASSERT_LINE("x_seconds_bucket{stream=\"s\",le=\"0.0001\"} 3");
	ASSERT_LINE("x_seconds_bucket{stream=\"s\",le=\"1.0\"} 7");
	ASSERT_LINE("x_seconds_bucket{stream=\"s\",le=\"2.5\"} 7");
	ASSERT_LINE("x_seconds_bucket{stream=\"s\",le=\"+Inf\"} 15");
	ASSERT_LINE("x_seconds_bucket{le=\"+Inf\"} 15");
	ASSERT_LINE("x_seconds_count{stream=\"s\"} 15");
	ASSERT_LINE("x_seconds_sum{stream=\"s\"} 12.000000345");
	ASSERT_LINE("x_seconds_sum 12.000000345");
}
END_TEST

/* ---- the list of counters ---- */

static const struct row {
	const char *name;
	const char *kind;
	const char *unit;
	bool is_shared;
} list[] = {
#define SF_COUNTER(name, kind, unit, help) {#name, #kind, unit, false},
#define SF_COUNTER_SHARED(name, kind, unit, help) {#name, #kind, unit, true},
#include "shm/counters.def"
#undef SF_COUNTER
};

/** What the name in the list becomes, by the words of the formats' standards. */
static const struct {
	const char *unit;
	const char *base; /* NULL: none */
	uint64_t divisor;
} bases[] = {
	{"ms", "seconds", 1000},
	{"us", "seconds", 1000000},
	{"ppm", "ratio", 1000000},
	{"ids/s", "ids_per_second", 1},
};

START_TEST(families_every_counter_is_there_in_base_units)
{
	const struct row *row = &list[_i];
	const char *base = NULL;
	struct sfctl_counter_family family;
	uint64_t divisor = 1;
	uint64_t power = 1;
	size_t length;

	sfctl_counter_family((enum sf_counter)_i, &family);
	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
		if (strcmp(row->unit, bases[i].unit) == 0) {
			base = bases[i].base;
			divisor = bases[i].divisor;
		}
	}
	ck_assert_int_eq(strncmp(family.name, "sfd_", 4), 0);
	ck_assert_int_eq(strncmp(family.name + 4, row->name, 3), 0);
	for (unsigned i = 0; i < family.decimals; i++)
		power *= 10;
	ck_assert_uint_eq(power, divisor);
	ck_assert_int_eq(family.is_shared, row->is_shared);
	if (base) {
		length = strlen(family.name);
		ck_assert_str_eq(family.family.unit, base);
		ck_assert_str_eq(family.name + length - strlen(base), base);
	} else {
		ck_assert_ptr_null(family.family.unit);
		ck_assert_str_eq(family.name + 4, row->name);
	}
	ck_assert_ptr_null(strstr(family.name, "_ms"));
	ck_assert_ptr_null(strstr(family.name, "_us_"));
	ck_assert_ptr_null(strstr(family.name, "_ppm"));
	ck_assert_ptr_null(strstr(family.name, "_total"));
	ck_assert_int_eq(family.family.type == SFCTL_COUNTER, strcmp(row->kind, "counter") == 0);
	/* numbers that are words belong to a set of states */
	ck_assert_int_eq(family.word != NULL,
			 strcmp(row->unit, "state") == 0 || strcmp(row->unit, "policy") == 0);
}
END_TEST

START_TEST(families_shared_counters_have_one_sample_and_others_one_a_stream)
{
	static const char *const ends[STREAMS] = {"{stream=\"default\"} 77",
						  "{stream=\"orders\"} 77"};
	struct sfctl_counter_family family;
	const struct row *row = &list[_i];
	char line[128];

	set((enum sf_counter)_i, 77);
	render(SFCTL_OPENMETRICS);
	sfctl_counter_family((enum sf_counter)_i, &family);
	if (family.word || family.decimals > 0)
		return; /* other tests' */
	for (int i = 0; i < STREAMS; i++) {
		(void)snprintf(line, sizeof(line), "%s%s%s", family.name,
			       family.family.type == SFCTL_COUNTER ? "_total" : "", ends[i]);
		ck_assert_int_eq(lines(line), row->is_shared ? 0 : 1);
	}
	(void)snprintf(line, sizeof(line), "%s%s 77", family.name,
		       family.family.type == SFCTL_COUNTER ? "_total" : "");
	ck_assert_int_eq(lines(line), row->is_shared ? 1 : 0);
}
END_TEST

START_TEST(families_values_are_converted)
{
	set(SF_COUNTER_runway_ms, 2967);
	set(SF_COUNTER_wall_offset_us, -1500);
	set(SF_COUNTER_capacity_used_ppm, 812345);
	set(SF_COUNTER_uptime_ms, 61001);
	set(SF_COUNTER_clock_error_max_us, 16000000);
	set(SF_COUNTER_capacity_per_second, 4096000);
	set(SF_COUNTER_ids_claimed, (int64_t)UINT64_C(0xfffffffffffffff0));
	render(SFCTL_OPENMETRICS);
	ASSERT_LINE("sfd_runway_seconds{stream=\"orders\"} 2.967");
	ASSERT_LINE("sfd_wall_offset_seconds{stream=\"orders\"} -0.001500");
	ASSERT_LINE("sfd_capacity_used_ratio{stream=\"orders\"} 0.812345");
	ASSERT_LINE("sfd_uptime_seconds 61.001");
	ASSERT_LINE("sfd_clock_error_max_seconds 16.000000");
	ASSERT_LINE("sfd_capacity_ids_per_second{stream=\"orders\"} 4096000");
	ASSERT_LINE("# UNIT sfd_capacity_ids_per_second ids_per_second");
	/* a counter has no sign */
	ASSERT_LINE("sfd_ids_claimed_total{stream=\"orders\"} 18446744073709551600");
}
END_TEST

START_TEST(families_states_are_words)
{
	stream[1].state = SF_SHM_HELD;
	set(SF_COUNTER_clock_sync, 2);
	set(SF_COUNTER_clock_behind, 4);
	set(SF_COUNTER_clock_leap, 99); /* a newer sfd's */
	render(SFCTL_OPENMETRICS);
	ASSERT_LINE("sfd_state{stream=\"default\",sfd_state=\"running\"} 1");
	ASSERT_LINE("sfd_state{stream=\"default\",sfd_state=\"held\"} 0");
	ASSERT_LINE("sfd_state{stream=\"orders\",sfd_state=\"running\"} 0");
	ASSERT_LINE("sfd_state{stream=\"orders\",sfd_state=\"held\"} 1");
	ASSERT_NO("\"unknown\"} 1");
	ASSERT_LINE("sfd_clock_sync{sfd_clock_sync=\"unsynchronised\"} 1");
	ASSERT_LINE("sfd_clock_sync{sfd_clock_sync=\"synchronised\"} 0");
	ASSERT_LINE("sfd_clock_behind{stream=\"orders\",sfd_clock_behind=\"ahead\"} 1");
	ASSERT_NO("sfd_clock_leap{sfd_clock_leap=\"now\"} 1");
}
END_TEST

START_TEST(families_tell_what_the_configuration_says)
{
	stream[1].node_count = 2;
	stream[1].node[1] = 1023;
	stream[1].loop = 1;
	render(SFCTL_PROMETHEUS_TEXT);
	ASSERT_LINE("sfd_build_info{version=\"1.2.3\",loop=\"io_uring\"} 1");
	ASSERT_LINE("sfd_stream_info{stream=\"orders\",format=\"snowflake\",layout=\"t41 n10 s12 "
		    "epoch=1288834974657 tick=1ms\"} 1");
	ASSERT_LINE("sfd_machine_id_info{stream=\"orders\",layout=\"t41 n10 s12 "
		    "epoch=1288834974657 tick=1ms\",machine_id=\"8\"} 1");
	ASSERT_LINE("sfd_machine_id_info{stream=\"orders\",layout=\"t41 n10 s12 "
		    "epoch=1288834974657 tick=1ms\",machine_id=\"1023\"} 1");
	ASSERT_LINE("sfd_tick_seconds{stream=\"default\"} 0.001");
	ASSERT_LINE("sfd_runway_full_seconds{stream=\"default\"} 3.000");
	ASSERT_LINE("sfd_ahead_limit_seconds{stream=\"default\"} 1.500");
	ASSERT_LINE("sfd_layout_end_timestamp_seconds{stream=\"default\"} 3487858230.208");
	ASSERT_NO("# UNIT");
	ASSERT_NO("# EOF");
}
END_TEST

START_TEST(families_wide_streams_have_no_machine_id)
{
	for (int i = 0; i < STREAMS; i++) {
		ck_assert_int_eq(sf_layout_parse("ulid", &stream[i].layout, NULL), 0);
		stream[i].node_count = 0;
	}
	render(SFCTL_OPENMETRICS);
	ASSERT_LINE("sfd_stream_info{stream=\"default\",format=\"ulid\",layout=\"ulid\"} 1");
	ASSERT_LINE("# TYPE sfd_machine_id info");
	ASSERT_NO("sfd_machine_id_info{");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("exporter");
	TCase *formats = tcase_create("formats");
	TCase *families = tcase_create("families");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(formats, NULL, tear_down);
	tcase_add_test(formats, metrics_counter_in_openmetrics_has_unit_escapes_and_an_end);
	tcase_add_test(formats, metrics_counter_in_prometheus_text_is_named_by_its_sample);
	tcase_add_test(formats, metrics_label_values_are_escaped_and_plain);
	tcase_add_test(formats, metrics_values_are_exact_decimals);
	tcase_add_test(formats, metrics_states_are_exclusive_and_carry_the_familys_name);
	tcase_add_test(formats, metrics_histogram_adds_its_buckets_up);
	suite_add_tcase(suite, formats);

	tcase_add_checked_fixture(families, make_streams, tear_down);
	tcase_add_loop_test(families, families_every_counter_is_there_in_base_units, 0,
			    SF_COUNTER_COUNT);
	tcase_add_loop_test(families,
			    families_shared_counters_have_one_sample_and_others_one_a_stream, 0,
			    SF_COUNTER_COUNT);
	tcase_add_test(families, families_values_are_converted);
	tcase_add_test(families, families_states_are_words);
	tcase_add_test(families, families_tell_what_the_configuration_says);
	tcase_add_test(families, families_wide_streams_have_no_machine_id);
	suite_add_tcase(suite, families);

	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
