/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/config_file.c and config_stream.c: what is said of wrong files, and of which line.
 */
#include "daemon/config.h"
#include "tests/support/config.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- wrong files: one problem, one line ---- */

static const struct {
	const char *text;
	const char *sentence; /* with its place */
} wrong_files[] = {
	/* form */
	{"", "sfd.conf: there is no stream"},
	{"# nothing\n[daemon]\n", "sfd.conf: there is no stream"},
	{T_STREAM_A "[streams b]\nlayout = x\n", "sfd.conf:4: unknown section [streams b]"},
	{T_STREAM_A "[demon]\n", "sfd.conf:4: unknown section [demon]"},
	{T_STREAM_A "[daemon]\nrun_dir = /x\n",
	 "sfd.conf:5: unknown key \"run_dir\": the keys of a [daemon] section are runtime_dir, "
	 "state_dir, log_level, loop, user, max_connections_per_user, seccomp"},
	{T_STREAM_A "\n\nnode = 1\n",
	 "sfd.conf:6: unknown key \"node\": the keys of a [stream NAME] section are format, "
	 "layout, machine_id, ahead_ms, runway_ms, clock_backward, sequence_start, allow"},
	{T_STREAM_A "= 1\n", "sfd.conf:4: unknown key \"\""},
	{"layout = twitter\n" T_STREAM_A, "sfd.conf:1: key \"layout\" stands outside a section"},
	{T_STREAM_A "machine_id = 1\n", "sfd.conf:4: machine_id is given twice, first in line 3"},
	{T_STREAM_A "[daemon]\nloop=auto\nloop=auto\n",
	 "sfd.conf:6: loop is given twice, first in line 5"},
	{T_STREAM_A "[stream  a]\nlayout = twitter\n",
	 "sfd.conf:4: section [stream  a] is given twice, first in line 1"},
	{"[daemon]\n" T_STREAM_A "[daemon]\nloop = x\n",
	 "sfd.conf:5: section [daemon] is given twice, first in line 1"},
	{T_STREAM_A "allow\n", "sfd.conf:4: this line is neither a section, nor key = value"},
	{T_STREAM_A "  and more\n", "sfd.conf:4: this line is neither"},
	{T_STREAM_A "; allow = *\n[stream b\n", "sfd.conf:5: a section is written [daemon] or"},
	{T_STREAM_A "[daemon] loop = auto\n", "sfd.conf:4: a section is written [daemon] or"},
	{T_STREAM_A "[]\n", "sfd.conf:4: unknown section []"},
	{T_STREAM_A "[stream]\n", "sfd.conf:4: \"\" is not a stream name"},
	{T_STREAM_A "[stream .b]\n", "sfd.conf:4: \".b\" is not a stream name: use 1 to 31 of"},
	{T_STREAM_A "[stream a b]\n", "sfd.conf:4: \"a b\" is not a stream name"},
	{T_STREAM_A "[stream a/b]\n", "sfd.conf:4: \"a/b\" is not a stream name"},
	{T_STREAM_A "[stream a234567890123456789012345678901x]\n", "is not a stream name"},
	{"[stream a/b]\n", "sfd.conf:1: \"a/b\" is not a stream name"},
	/* values of [daemon] */
	{T_STREAM_A "[daemon]\nruntime_dir =\n", "sfd.conf:5: runtime_dir is empty"},
	{T_STREAM_A "[daemon]\nstate_dir = ; x\n", "sfd.conf:5: state_dir is empty"},
	{T_STREAM_A "[daemon]\nlog_level = warn\n",
	 "sfd.conf:5: log_level \"warn\" is unknown: use error, warning, info or debug"},
	{T_STREAM_A "[daemon]\nloop = epoll\n",
	 "sfd.conf:5: loop \"epoll\" is unknown: use auto, io_uring or poll"},
	{T_STREAM_A "[daemon]\nuser = no-such-user\n",
	 "sfd.conf:5: user \"no-such-user\" does not exist: name another one, or make it"},
	{T_STREAM_A "[daemon]\nuser =\n", "sfd.conf:5: user \"\" does not exist"},
	{T_STREAM_A "[daemon]\nmax_connections_per_user = 0\n",
	 "sfd.conf:5: max_connections_per_user \"0\" is no number from 1 to 4096"},
	{T_STREAM_A "[daemon]\nmax_connections_per_user = 4097\n",
	 "sfd.conf:5: max_connections_per_user \"4097\" is no number from 1 to 4096"},
	{T_STREAM_A "[daemon]\nmax_connections_per_user = 12 per host\n",
	 "max_connections_per_user \"12 per host\" is no number"},
	{T_STREAM_A "[daemon]\nseccomp = on\n",
	 "sfd.conf:5: seccomp \"on\" is unknown: use yes or no"},
	/* values of a stream */
	{"[stream a]\nmachine_id = 1\n", "sfd.conf:1: stream \"a\" has no layout"},
	{"[stream a]\nlayout = twiter\nmachine_id = 1\n", "sfd.conf:2: layout: "},
	{"[stream a]\nlayout =\nmachine_id = 1\n", "sfd.conf:2: layout: "},
	{T_STREAM_A "ahead_ms = 60001\n",
	 "sfd.conf:4: ahead_ms \"60001\" is not a whole number of milliseconds in [0,60000]"},
	{T_STREAM_A "ahead_ms = -1\n", "ahead_ms \"-1\" is not"},
	{T_STREAM_A "ahead_ms = +1\n", "ahead_ms \"+1\" is not"},
	{T_STREAM_A "ahead_ms = 1 0\n", "ahead_ms \"1 0\" is not"},
	{T_STREAM_A "ahead_ms = 1ms\n", "ahead_ms \"1ms\" is not"},
	{T_STREAM_A "ahead_ms = 0x10\n", "ahead_ms \"0x10\" is not"},
	{T_STREAM_A "ahead_ms = 1.5\n", "ahead_ms \"1.5\" is not"},
	{T_STREAM_A "ahead_ms =\n", "ahead_ms \"\" is not"},
	{T_STREAM_A "ahead_ms = 18446744073709551617\n", "ahead_ms \"18446744073709551617\" is"},
	{T_STREAM_A "runway_ms = 99\n", "runway_ms \"99\" is not"},
	{T_STREAM_A "runway_ms = 600001\n", "milliseconds in [100,600000]"},
	{T_STREAM_A "clock_backward = jump\n",
	 "sfd.conf:4: clock_backward \"jump\" is unknown: use slew, wait, refuse or ahead"},
	{T_STREAM_A "clock_backward =\n", "clock_backward \"\" is unknown"},
	{T_STREAM_A "sequence_start = one\n", "\"one\" is unknown: use zero or spread"},
	{T_STREAM_A "allow = no-such-user-here\n", "sfd.conf:4: allow: \"no-such-user-here\": no"},
	{T_STREAM_A "allow =\n", "sfd.conf:4: allow: the access list has an empty entry"},
	/* values against each other */
	{T_STREAM_A "ahead_ms = 1500\n",
	 "sfd.conf:4: ahead_ms 1500 must be smaller than half of runway_ms, which is 3000"},
	{T_STREAM_A "ahead_ms = 51\nrunway_ms = 101\n", "sfd.conf:4: ahead_ms 51 must be smaller"},
	{T_STREAM_A "runway_ms = 524289\n", "sfd.conf:4: runway_ms 524289 needs more than the "
					    "1048576 slots that a ring may have: set it to 524288"},
	{"[stream a]\nlayout = t39 n10 s12 tick=1s\nmachine_id = 1\nrunway_ms = 3999\n",
	 "sfd.conf:4: runway_ms 3999 is less than 4 ticks of 1000 ms: set it to 4000 or more"},
	{"[stream a]\nlayout = t42 w5 s12 p5\nmachine_id = 1,2\n",
	 "sfd.conf:3: machine_id: several ids do not go with layout \"t42 w5 s12 p5\""},
	{"[stream a]\nlayout = t28 n22 s13 epoch=1463673600000 tick=1s\nmachine_id = 1\n",
	 "sfd.conf:2: layout \"t28 n22 s13 epoch=1463673600000 tick=1s\" has no IDs left, its "
	 "time field ended on 2024-11-20"},
	{T_STREAM_A "[stream b]\nlayout = baidu\nmachine_id = 2\n", "its time field ended on"},
	{T_STREAM_A "[stream b]\nlayout = discord\nmachine_id = 0,2\n"
		    "[stream c]\nmachine_id = 4-6,2\nlayout = twitter\n",
	 "sfd.conf:8: machine id 2 is in stream \"b\" and in stream \"c\""},
};

START_TEST(load_of_a_file_with_one_problem_names_its_line)
{
	ck_assert_int_eq(t_config_load(wrong_files[_i].text), -EINVAL);
	t_config_assert_said(wrong_files[_i].sentence);
	ck_assert_msg(t_config_said_lines() == 1, "more than one line for \"%s\": %s",
		      wrong_files[_i].text, t_config_said);
	ck_assert_ptr_eq(strstr(t_config_said, "sfd: error: sfd.conf:"), t_config_said);
	ck_assert_ptr_null(t_config.stream);
	ck_assert_ptr_null(t_config.runtime_dir);
	ck_assert_uint_eq(t_config.stream_count, 0);
}
END_TEST

START_TEST(fc_34_load_at_the_bounds_succeeds)
{
	ck_assert_int_eq(t_config_load(T_STREAM_A "runway_ms = 524288\nahead_ms = 60000\n"), 0);
	ck_assert_uint_eq(t_config.stream[0].ahead_ms, SFD_AHEAD_MS_MAX);
	t_config_deinit();
	ck_assert_int_eq(t_config_load(T_STREAM_A "runway_ms = 100\nahead_ms = 49\n"), 0);
	t_config_deinit();
	ck_assert_int_eq(t_config_load(T_STREAM_A "runway_ms = 101\nahead_ms = 50\n"), 0);
	t_config_deinit();
	ck_assert_int_eq(t_config_load("[stream a]\nlayout = t40 n10 s12 tick=1s\nmachine_id = 1\n"
				       "runway_ms = 600000\n"),
			 0);
	t_config_deinit();
	ck_assert_int_eq(t_config_load("[stream a]\nlayout = t42 w5 s12 p5\nmachine_id = 1023\n"),
			 0);
	t_config_deinit();
	ck_assert_int_eq(
		t_config_load("[stream a234567890123456789012345678901]\nlayout = twitter\n"
			      "machine_id = 0\n"),
		0);
}
END_TEST

static const struct {
	const char *line;
	const char *limits;
} fc_34_limits[] = {
	{"ahead_ms = -1", "in [0,60000]"},         {"ahead_ms = 60001", "in [0,60000]"},
	{"ahead_ms = 2147483648", "in [0,60000]"}, {"runway_ms = 0", "in [100,600000]"},
	{"runway_ms = -1", "in [100,600000]"},     {"runway_ms = 99", "in [100,600000]"},
	{"runway_ms = 600001", "in [100,600000]"}, {"runway_ms = 2147483648", "in [100,600000]"},
};

START_TEST(fc_34_load_outside_the_bounds_names_the_limits)
{
	char text[256];

	(void)snprintf(text, sizeof(text), T_STREAM_A "%s\n", fc_34_limits[_i].line);
	ck_assert_int_eq(t_config_load(text), -EINVAL);
	t_config_assert_said("sfd.conf:4: ");
	t_config_assert_said(fc_34_limits[_i].limits);
	ck_assert_uint_eq(t_config_said_lines(), 1);
}
END_TEST

START_TEST(load_of_many_problems_reports_all_of_them)
{
	ck_assert_int_eq(t_config_load("loop = poll\n"
				       "[daemon]\n"
				       "loop = epoll\n"
				       "colour = red\n"
				       "[stream a]\n"
				       "ahead_ms = x\n"
				       "runway_ms = y\n"
				       "clock_backward = z\n"
				       "allow = ,\n"
				       "[stream b]\n"
				       "layout = twitter\n"
				       "machine_id = 1024\n"
				       "what is this\n"
				       "[sream c]\n"
				       "layout = whatever\n"),
			 -EINVAL);
	t_config_assert_said("sfd.conf:1: key \"loop\" stands outside");
	t_config_assert_said("sfd.conf:3: loop \"epoll\"");
	t_config_assert_said("sfd.conf:4: unknown key \"colour\"");
	t_config_assert_said("sfd.conf:5: stream \"a\" has no layout");
	t_config_assert_said("sfd.conf:5: stream \"a\" has no machine id");
	t_config_assert_said("sfd.conf:6: ahead_ms \"x\"");
	t_config_assert_said("sfd.conf:7: runway_ms \"y\"");
	t_config_assert_said("sfd.conf:8: clock_backward \"z\"");
	t_config_assert_said("sfd.conf:9: allow: ");
	t_config_assert_said("sfd.conf:12: machine_id: \"1024\"");
	t_config_assert_said("sfd.conf:13: this line is neither");
	t_config_assert_said("sfd.conf:14: unknown section [sream c]");
	ck_assert_uint_eq(t_config_said_lines(), 12);
}
END_TEST

START_TEST(load_of_a_layout_with_less_than_a_year_left_warns)
{
	/* 2^41 ms before 2026-12-01 */
	ck_assert_int_eq(t_config_load("[stream a]\nlayout = t41 n10 s12 epoch=-402939555552\n"
				       "machine_id = 1\n"),
			 0);
	t_config_assert_said(
		"sfd: warning: sfd.conf:2: layout \"t41 n10 s12 epoch=-402939555552\" has less "
		"than a year left, its time field ends on 2026-12-01");
	ck_assert_uint_eq(t_config_said_lines(), 1);
}
END_TEST

/* ---- lines ---- */

/* A line of exactly `length` bytes in a file that is otherwise good. */
static int load_with_line(size_t length, const char *start, char fill)
{
	char text[8192] = T_STREAM_A "[daemon]\n";
	size_t at = strlen(text);

	memset(text + at, fill, length);
	for (size_t i = 0; start[i] != '\0'; i++)
		text[at + i] = start[i];
	text[at + length] = '\n';
	return t_config_load_bytes(text, at + length + 1);
}

START_TEST(load_of_an_over_long_line_is_an_error_and_never_cut)
{
	size_t length = 20;
	size_t last_good;

	while (length < 1000 && load_with_line(length, "runtime_dir = /", 'x') == 0) {
		ck_assert_uint_eq(strlen(t_config.runtime_dir), length - strlen("runtime_dir = "));
		t_config_deinit();
		length++;
	}
	last_good = length - 1;
	ck_assert_uint_ge(last_good, 150);
	t_config_assert_said("sfd.conf:5: the line has");
	ck_assert_uint_eq(t_config_said_lines(), 1);
	for (length = last_good + 1; length < 4000; length += 37) {
		ck_assert_int_eq(load_with_line(length, "runtime_dir = /", 'x'), -EINVAL);
		t_config_assert_said("sfd.conf:5: the line has");
		ck_assert_uint_eq(t_config_said_lines(), 1);
	}
}
END_TEST

START_TEST(load_of_an_over_long_section_name_is_an_error_and_never_cut)
{
	/* inih would cut these to one and the same 49 bytes */
	ck_assert_int_eq(t_config_load(T_STREAM_A
				       "[stream b                                          x]\n"
				       "layout = twitter\nmachine_id = 2\n"),
			 -EINVAL);
	t_config_assert_said(
		"sfd.conf:4: \"b                                          x\" is not a stream");
	ck_assert_int_eq(load_with_line(3000, "[stream ", 'x'), -EINVAL);
	t_config_assert_said("sfd.conf:5: the line has 3000 bytes");
}
END_TEST

START_TEST(load_of_an_over_long_comment_or_blank_line_is_fine)
{
	ck_assert_int_eq(load_with_line(3000, "# ", 'x'), 0);
	t_config_deinit();
	ck_assert_int_eq(load_with_line(3000, "\t", ' '), 0);
}
END_TEST

START_TEST(load_of_a_nul_byte_names_its_line)
{
	static const char text[] = T_STREAM_A "allow = *\0, root\n";

	ck_assert_int_eq(t_config_load_bytes(text, sizeof(text) - 1), -EINVAL);
	t_config_assert_said("sfd.conf:4: the line has a NUL byte");
	ck_assert_uint_eq(t_config_said_lines(), 1);
}
END_TEST

START_TEST(load_of_more_streams_than_allowed_names_the_first_too_many)
{
	static char text[64 * 1024];
	size_t length = 0;

	for (unsigned i = 0; i <= SFD_STREAMS_MAX; i++) {
		if (i == SFD_STREAMS_MAX) {
			ck_assert_int_eq(t_config_load(text), 0);
			ck_assert_uint_eq(t_config.stream_count, SFD_STREAMS_MAX);
			t_config_deinit();
		}
		length += (size_t)snprintf(text + length, sizeof(text) - length,
					   "[stream s%u]\nlayout=twitter\nmachine_id=%u\n", i, i);
	}
	ck_assert_int_eq(t_config_load(text), -EINVAL);
	t_config_assert_said(
		"sfd.conf:193: stream \"s64\" is one too many: one daemon has at most 64");
	ck_assert_uint_eq(t_config_said_lines(), 1);
}
END_TEST

/* There are none, since a ring is smaller than one: whoever asks for them is told, not ignored. */
START_TEST(fc67_huge_pages_are_an_unknown_key)
{
	ck_assert_int_eq(t_config_load(T_STREAM_A "huge_pages = 1\n"
						  "[daemon]\nhuge_pages = required\n"),
			 -EINVAL);
	t_config_assert_said("sfd.conf:4: unknown key \"huge_pages\": the keys of a [stream NAME]");
	t_config_assert_said("sfd.conf:6: unknown key \"huge_pages\": the keys of a [daemon]");
	ck_assert_uint_eq(t_config_said_lines(), 2);
}
END_TEST

static TCase *problems_case(void)
{
	TCase *tcase = tcase_create("problems");

	tcase_add_checked_fixture(tcase, t_config_init, t_config_deinit);
	tcase_add_loop_test(tcase, load_of_a_file_with_one_problem_names_its_line, 0,
			    COUNT(wrong_files));
	tcase_add_test(tcase, fc_34_load_at_the_bounds_succeeds);
	tcase_add_loop_test(tcase, fc_34_load_outside_the_bounds_names_the_limits, 0,
			    COUNT(fc_34_limits));
	tcase_add_test(tcase, load_of_many_problems_reports_all_of_them);
	tcase_add_test(tcase, fc67_huge_pages_are_an_unknown_key);
	tcase_add_test(tcase, load_of_a_layout_with_less_than_a_year_left_warns);
	return tcase;
}

static TCase *lines_case(void)
{
	TCase *tcase = tcase_create("lines");

	tcase_add_checked_fixture(tcase, t_config_init, t_config_deinit);
	tcase_add_test(tcase, load_of_an_over_long_line_is_an_error_and_never_cut);
	tcase_add_test(tcase, load_of_an_over_long_section_name_is_an_error_and_never_cut);
	tcase_add_test(tcase, load_of_an_over_long_comment_or_blank_line_is_fine);
	tcase_add_test(tcase, load_of_a_nul_byte_names_its_line);
	tcase_add_test(tcase, load_of_more_streams_than_allowed_names_the_first_too_many);
	return tcase;
}

int main(void)
{
	Suite *suite = suite_create("config_file");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, problems_case());
	suite_add_tcase(suite, lines_case());
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
