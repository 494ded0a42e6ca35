/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The parts of sfctl trace that need no kernel: histograms, distributions, pictures.
 */
#include "tools/trace/chart.h"
#include "tools/trace/tsc.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BIT(n) (UINT64_C(1) << (n))

static struct sf_hist hist;
static struct sfctl_dist dist;

static void empty(void)
{
	memset(&hist, 0, sizeof(hist));
}

static void add(uint64_t value, uint64_t times)
{
	for (uint64_t i = 0; i < times; i++)
		sfctl_hist_add(&hist, value);
}

/* ---- histograms ---- */

START_TEST(bucket_holds_its_values)
{
	for (uint32_t i = 0; i + 1 < SF_HIST_BUCKETS; i++) {
		uint64_t first = sf_hist_first(i);
		uint64_t end = sf_hist_first(i + 1);

		ck_assert_uint_lt(first, end);
		ck_assert_uint_eq(sf_hist_bucket(first), i);
		ck_assert_uint_eq(sf_hist_bucket(end - 1), i);
		/* an eighth at most, and one by one at the bottom */
		ck_assert(end - first == 1 ||
			  (first >= SF_HIST_LINEAR && end - first <= first / 8));
	}
	ck_assert_uint_eq(sf_hist_bucket(UINT64_MAX), SF_HIST_BUCKETS - 1);
	ck_assert_uint_lt(SF_HIST_BUCKETS, SF_HIST_SLOTS);
}
END_TEST

START_TEST(log2_is_the_highest_bit)
{
	for (uint32_t bit = 0; bit < 64; bit++) {
		ck_assert_uint_eq(sf_hist_log2(BIT(bit)), bit);
		ck_assert_uint_eq(sf_hist_log2(BIT(bit) | (BIT(bit) - 1)), bit);
	}
}
END_TEST

START_TEST(merge_adds)
{
	static struct sf_hist more;

	empty();
	add(7, 3);
	memset(&more, 0, sizeof(more));
	sfctl_hist_add(&more, 7);
	sfctl_hist_add(&more, 1000000);
	sfctl_hist_merge(&hist, &more);
	ck_assert_uint_eq(hist.count, 5);
	ck_assert_uint_eq(hist.sum, 28 + 1000000);
	ck_assert_uint_eq(hist.max, 1000000);
	ck_assert_uint_eq(hist.bucket[7], 4);
}
END_TEST

/* ---- distributions ---- */

static void assert_near(double value, double wanted)
{
	ck_assert_msg(fabs(value - wanted) < 1e-6, "%f is not %f", value, wanted);
}

START_TEST(percentiles_of_exact_values)
{
	empty();
	for (uint64_t i = 1; i <= 100; i++)
		add(i, 1);
	sfctl_dist_init(&dist, &hist, (struct sfctl_scale){.per_unit = 1});
	ck_assert_uint_eq(dist.count, 100);
	assert_near(sfctl_dist_percentile(&dist, 0.5), 50);
	assert_near(sfctl_dist_percentile(&dist, 0.9), 90);
	assert_near(sfctl_dist_percentile(&dist, 0.99), 99);
	assert_near(sfctl_dist_percentile(&dist, 1), 100);
	assert_near(dist.max, 100);
	assert_near(dist.typical, 50); /* of 1 to 99 */
}
END_TEST

START_TEST(large_values_are_within_an_eighth)
{
	for (uint64_t value = 512; value < BIT(62); value = value * 3 + 7) {
		double p;

		empty();
		add(value, 1000);
		sfctl_dist_init(&dist, &hist, (struct sfctl_scale){.per_unit = 1});
		p = sfctl_dist_percentile(&dist, 0.5);
		ck_assert_msg(fabs(p - (double)value) <= (double)value / 8, "%f is not near %ju", p,
			      (uintmax_t)value);
		ck_assert_msg(sfctl_dist_percentile(&dist, 1) <= (double)value,
			      "above the maximum");
	}
}
END_TEST

START_TEST(rare_long_ones_do_not_drown_the_typical)
{
	empty();
	add(10, 9950);
	add(1000000000, 50);
	sfctl_dist_init(&dist, &hist, (struct sfctl_scale){.per_unit = 1});
	assert_near(dist.typical, 10);
	assert_near(dist.max, 1e9);
	ck_assert(sfctl_dist_percentile(&dist, 0.999) > 8e8);
}
END_TEST

START_TEST(cost_is_taken_off_and_cycles_become_ns)
{
	empty();
	add(40, 500); /* less than it costs to see them */
	add(50, 500);
	add(242, 1);
	sfctl_dist_init(&dist, &hist, (struct sfctl_scale){.less = 42, .per_unit = 2});
	assert_near(sfctl_dist_percentile(&dist, 0.4), 0);
	assert_near(sfctl_dist_percentile(&dist, 0.9), 4);
	assert_near(dist.max, 100);
	/* single ones below 0 count for the mean, which is about 45 - 42 = 3 cycles */
	ck_assert_msg(fabs(dist.typical - 1.5) < 0.1, "%f", dist.typical);
}
END_TEST

START_TEST(coarse_clock_is_interpolated)
{
	empty();
	add(42, 500);
	add(63, 500);
	sfctl_dist_init(&dist, &hist, (struct sfctl_scale){.less = 42, .per_unit = 1, .step = 21});
	assert_near(sfctl_dist_percentile(&dist, 0.5), 10.5);
	assert_near(sfctl_dist_percentile(&dist, 0.75), 21);
	assert_near(sfctl_dist_percentile(&dist, 1), 21); /* never above the maximum */
}
END_TEST

START_TEST(lost_maximum_is_at_least_the_last_bin)
{
	empty();
	add(5000, 2);
	hist.max = 3;
	sfctl_dist_init(&dist, &hist, (struct sfctl_scale){.per_unit = 1});
	ck_assert(dist.max >= 4608 && dist.max <= 5000);
}
END_TEST

START_TEST(nothing_is_nothing)
{
	empty();
	sfctl_dist_init(&dist, &hist, (struct sfctl_scale){.per_unit = 1});
	ck_assert_uint_eq(dist.count, 0);
	assert_near(sfctl_dist_percentile(&dist, 0.5), 0);
}
END_TEST

START_TEST(json_has_the_unit_in_its_names)
{
	json_t *object;

	empty();
	add(3, 4);
	sfctl_dist_init(&dist, &hist, (struct sfctl_scale){.per_unit = 2});
	object = sfctl_dist_json(&dist, "ns");
	ck_assert_ptr_nonnull(object);
	ck_assert_int_eq(json_integer_value(json_object_get(object, "count")), 4);
	assert_near(json_real_value(json_object_get(object, "p50_ns")), 1.5);
	assert_near(json_real_value(json_object_get(object, "p99_9_ns")), 1.5);
	assert_near(json_real_value(json_object_get(object, "typical_ns")), 1.5);
	assert_near(json_real_value(json_object_get(object, "max_ns")), 1.5);
	ck_assert_uint_eq(json_array_size(json_object_get(object, "histogram")), 1);
	json_decref(object);
}
END_TEST

START_TEST(times_have_units)
{
	ck_assert_str_eq(sfctl_ns_text(0.84).text, "0.8 ns");
	ck_assert_str_eq(sfctl_ns_text(12).text, "12 ns");
	ck_assert_str_eq(sfctl_ns_text(1500).text, "1.5 us");
	ck_assert_str_eq(sfctl_ns_text(2e6).text, "2.0 ms");
	ck_assert_str_eq(sfctl_ns_text(1.2e10).text, "12 s");
}
END_TEST

/* ---- pictures ---- */

START_TEST(column_holds_its_values)
{
	for (unsigned each = 1; each <= 8; each += 7) {
		for (unsigned i = 0; i < 8 + 60 * each; i++) {
			double begin = sfctl_chart_column_begin(i, each);
			double end = sfctl_chart_column_begin(i + 1, each);

			ck_assert(begin < end);
			ck_assert_uint_eq(sfctl_chart_column((begin + end) / 2, each), i);
		}
	}
	ck_assert_uint_eq(sfctl_chart_column(0, 8), 0);
	ck_assert_uint_eq(sfctl_chart_column(7.9, 8), 7);
	ck_assert_uint_eq(sfctl_chart_column(8, 8), 8);
	assert_near(sfctl_chart_column_begin(16, 8), 16);
}
END_TEST

/** Text of a file, which is removed. */
static const char *file_text(const char *path)
{
	static char text[65536];
	FILE *file = fopen(path, "r");
	size_t length;

	ck_assert_ptr_nonnull(file);
	length = fread(text, 1, sizeof(text) - 1, file);
	text[length] = '\0';
	(void)fclose(file);
	ck_assert_int_eq(unlink(path), 0);
	return text;
}

START_TEST(svg_has_a_panel_for_each_that_has_something)
{
	static struct sfctl_dist none;
	const struct sfctl sfctl = {0};
	const struct sfctl_series series[] = {{"first", &dist}, {"second", &none}};
	const struct sfctl_chart chart = {
		.title = "a title", .unit = SFCTL_UNIT_NS, .series = series, .series_count = 2};
	char path[] = "/tmp/trace-svg-XXXXXX";
	const char *text;
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	(void)close(fd);
	empty();
	add(3, 5);
	add(70000, 2);
	add(UINT64_MAX, 1);
	sfctl_dist_init(&dist, &hist, (struct sfctl_scale){.per_unit = 1});
	ck_assert_int_eq(sfctl_chart_write_svg(&sfctl, &chart, path), SFCTL_OK);
	text = file_text(path);
	ck_assert_ptr_nonnull(strstr(text, ">a title<"));
	ck_assert_ptr_nonnull(strstr(text, ">first, 8<"));
	ck_assert_ptr_null(strstr(text, "second"));
	ck_assert_ptr_nonnull(strstr(text, "<title>3.0 ns to 4.0 ns: 5</title>"));
	ck_assert_str_eq(text + strlen(text) - 7, "</svg>\n");
}
END_TEST

/* ---- the stopwatch ---- */

START_TEST(stopwatch_is_that_of_a_cpu)
{
	struct sfctl_tsc begin = sfctl_tsc_now();
	struct sfctl_stopwatch stopwatch = sfctl_stopwatch_try();
	double ghz = sfctl_tsc_ghz(begin, sfctl_tsc_now());

	ck_assert(stopwatch.cost > 0);
	ck_assert(stopwatch.step >= 1);
	ck_assert_msg(ghz > 0.01 && ghz < 100, "%f cycles a ns", ghz);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tools_trace");
	TCase *numbers = tcase_create("numbers");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, numbers);
	tcase_add_test(numbers, bucket_holds_its_values);
	tcase_add_test(numbers, log2_is_the_highest_bit);
	tcase_add_test(numbers, merge_adds);
	tcase_add_test(numbers, percentiles_of_exact_values);
	tcase_add_test(numbers, large_values_are_within_an_eighth);
	tcase_add_test(numbers, rare_long_ones_do_not_drown_the_typical);
	tcase_add_test(numbers, cost_is_taken_off_and_cycles_become_ns);
	tcase_add_test(numbers, coarse_clock_is_interpolated);
	tcase_add_test(numbers, lost_maximum_is_at_least_the_last_bin);
	tcase_add_test(numbers, nothing_is_nothing);
	tcase_add_test(numbers, json_has_the_unit_in_its_names);
	tcase_add_test(numbers, times_have_units);
	tcase_add_test(numbers, column_holds_its_values);
	tcase_add_test(numbers, svg_has_a_panel_for_each_that_has_something);
	tcase_add_test(numbers, stopwatch_is_that_of_a_cpu);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
