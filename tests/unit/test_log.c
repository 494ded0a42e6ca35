/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/log.c: the form of a line, on a file and in the journal.
 */
#include "daemon/log.h"
#include "tests/support/stderr.h"

#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(log_on_a_file_names_program_and_level)
{
	t_stderr_begin();
	sfd_log_init(SFD_LOG_DEBUG);
	sfd_log(SFD_LOG_ERROR, "one %d", 1);
	sfd_log(SFD_LOG_WARNING, "two");
	sfd_log(SFD_LOG_INFO, "three");
	sfd_log(SFD_LOG_DEBUG, "four");
	ck_assert_str_eq(t_stderr_end(), "sfd: error: one 1\nsfd: warning: two\n"
					 "sfd: info: three\nsfd: debug: four\n");
}
END_TEST

START_TEST(log_above_the_level_writes_nothing)
{
	t_stderr_begin();
	sfd_log_init(SFD_LOG_WARNING);
	sfd_log(SFD_LOG_INFO, "no");
	sfd_log(SFD_LOG_WARNING, "yes");
	ck_assert_str_eq(t_stderr_end(), "sfd: warning: yes\n");
}
END_TEST

static void set_journal_stream(unsigned add)
{
	char name[64];
	struct stat status;

	ck_assert_int_eq(fstat(STDERR_FILENO, &status), 0);
	(void)snprintf(name, sizeof(name), "%ju:%ju", (uintmax_t)status.st_dev,
		       (uintmax_t)status.st_ino + add);
	ck_assert_int_eq(setenv("JOURNAL_STREAM", name, 1), 0);
}

START_TEST(log_in_the_journal_has_a_priority_in_front)
{
	t_stderr_begin();
	set_journal_stream(0);
	sfd_log_init(SFD_LOG_DEBUG);
	sfd_log(SFD_LOG_ERROR, "one");
	sfd_log(SFD_LOG_WARNING, "two");
	sfd_log(SFD_LOG_INFO, "three");
	sfd_log(SFD_LOG_DEBUG, "four");
	unsetenv("JOURNAL_STREAM");
	ck_assert_str_eq(t_stderr_end(), "<3>one\n<4>two\n<6>three\n<7>four\n");
}
END_TEST

START_TEST(log_redirected_away_from_the_journal_is_plain)
{
	t_stderr_begin();
	set_journal_stream(1);
	sfd_log_init(SFD_LOG_INFO);
	sfd_log(SFD_LOG_INFO, "plain");
	unsetenv("JOURNAL_STREAM");
	ck_assert_str_eq(t_stderr_end(), "sfd: info: plain\n");
}
END_TEST

START_TEST(log_of_an_over_long_sentence_is_cut_to_one_line)
{
	char sentence[5000];
	const char *written;

	memset(sentence, 'x', sizeof(sentence) - 1);
	sentence[sizeof(sentence) - 1] = '\0';
	t_stderr_begin();
	sfd_log_init(SFD_LOG_INFO);
	sfd_log(SFD_LOG_INFO, "%s", sentence);
	written = t_stderr_end();
	ck_assert_uint_eq(strlen(written), 1023);
	ck_assert_ptr_eq(strchr(written, '\n'), written + 1022);
}
END_TEST

START_TEST(log_of_control_characters_forges_no_line)
{
	t_stderr_begin();
	sfd_log_init(SFD_LOG_INFO);
	sfd_log(SFD_LOG_INFO, "a\nsfd: error: b\x1b[31m\x7f \xc3\xa4");
	ck_assert_str_eq(t_stderr_end(), "sfd: info: a?sfd: error: b?[31m? \xc3\xa4\n");
}
END_TEST

START_TEST(log_keeps_errno)
{
	t_stderr_begin();
	errno = ENOTTY;
	sfd_log_init(SFD_LOG_INFO);
	ck_assert_int_eq(errno, ENOTTY);
	sfd_log(SFD_LOG_INFO, "a");
	ck_assert_int_eq(errno, ENOTTY);
	ck_assert_str_eq(t_stderr_end(), "sfd: info: a\n");
}
END_TEST

START_TEST(log_to_a_closed_stderr_keeps_errno)
{
	int saved = dup(STDERR_FILENO);

	ck_assert_int_ge(saved, 0);
	(void)close(STDERR_FILENO);
	errno = ENOTTY;
	sfd_log_init(SFD_LOG_INFO);
	sfd_log(SFD_LOG_INFO, "nobody hears this");
	ck_assert_int_eq(errno, ENOTTY);
	ck_assert_int_eq(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	(void)close(saved);
}
END_TEST

START_TEST(log_by_many_processes_on_one_pipe_keeps_lines_whole)
{
	enum {
		WRITERS = 4,
		LINES = 200,
		LINES_TOTAL = WRITERS * LINES,
	};
	static const char expected[] = "sfd: info: a line of some length that must arrive whole\n";
	char line[256];
	int ends[2];
	FILE *pipe_end;
	int lines = 0;

	ck_assert_int_eq(pipe(ends), 0);
	sfd_log_init(SFD_LOG_INFO);
	for (int i = 0; i < WRITERS; i++) {
		pid_t pid = fork();

		ck_assert_int_ge(pid, 0);
		if (pid == 0) {
			(void)dup2(ends[1], STDERR_FILENO);
			for (int j = 0; j < LINES; j++)
				sfd_log(SFD_LOG_INFO, "a line of some length that must arrive %s",
					"whole");
			_exit(0);
		}
	}
	(void)close(ends[1]);
	pipe_end = fdopen(ends[0], "r");
	ck_assert_ptr_nonnull(pipe_end);
	for (; fgets(line, sizeof(line), pipe_end) != NULL; lines++)
		ck_assert_str_eq(line, expected);
	(void)fclose(pipe_end);
	while (wait(NULL) > 0)
		;
	ck_assert_int_eq(lines, LINES_TOTAL);
}
END_TEST

START_TEST(log_level_parse_takes_the_four_names_only)
{
	static const char *const wrong[] = {"", "Error", "warn", "notice", "3", "info "};
	enum sfd_log_level level = SFD_LOG_DEBUG;

	ck_assert_int_eq(sfd_log_level_parse("error", &level), 0);
	ck_assert_int_eq((int)level, SFD_LOG_ERROR);
	ck_assert_int_eq(sfd_log_level_parse("debug", &level), 0);
	ck_assert_int_eq((int)level, SFD_LOG_DEBUG);
	ck_assert_int_eq(sfd_log_level_parse("info", &level), 0);
	ck_assert_int_eq((int)level, SFD_LOG_INFO);
	ck_assert_int_eq(sfd_log_level_parse("warning", &level), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_int_eq(sfd_log_level_parse(wrong[i], &level), -EINVAL);
	ck_assert_int_eq((int)level, SFD_LOG_WARNING);
}
END_TEST

START_TEST(log_may_gives_a_burst_and_then_counts_what_it_leaves_out)
{
	struct sfd_log_limit limit = {0};
	unsigned left_out = 77;
	const int64_t t = INT64_C(1) << 50;

	for (int i = 0; i < SFD_LOG_BURST; i++) {
		ck_assert(sfd_log_may(&limit, t + i, &left_out));
		ck_assert_uint_eq(left_out, 0);
	}
	for (int i = 0; i < 1000; i++)
		ck_assert(!sfd_log_may(&limit, t + SFD_LOG_PAUSE_NS - 1, &left_out));
	ck_assert(sfd_log_may(&limit, t + SFD_LOG_PAUSE_NS, &left_out));
	ck_assert_uint_eq(left_out, 1000);
	/* A burst again, and what was left out is told once. */
	for (int i = 1; i < SFD_LOG_BURST; i++) {
		ck_assert(sfd_log_may(&limit, t + SFD_LOG_PAUSE_NS, &left_out));
		ck_assert_uint_eq(left_out, 0);
	}
	ck_assert(!sfd_log_may(&limit, t + SFD_LOG_PAUSE_NS, &left_out));
}
END_TEST

START_TEST(log_limited_says_how_many_were_left_out)
{
	struct sfd_log_limit limit = {0};
	char expected[512] = "";
	size_t length = 0;

	t_stderr_begin();
	sfd_log_init(SFD_LOG_INFO);
	for (int i = 0; i < SFD_LOG_BURST + 3; i++)
		sfd_log_limited(&limit, SFD_LOG_INFO, "no. %d", i);
	limit.since_ns -= SFD_LOG_PAUSE_NS;
	sfd_log_limited(&limit, SFD_LOG_INFO, "last");
	for (int i = 0; i < SFD_LOG_BURST; i++)
		length += (size_t)snprintf(expected + length, sizeof(expected) - length,
					   "sfd: info: no. %d\n", i);
	(void)snprintf(expected + length, sizeof(expected) - length,
		       "sfd: info: 3 more like the following were left out\n"
		       "sfd: info: last\n");
	ck_assert_str_eq(t_stderr_end(), expected);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *lines = tcase_create("lines");
	TCase *level = tcase_create("level");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(lines, log_on_a_file_names_program_and_level);
	tcase_add_test(lines, log_in_the_journal_has_a_priority_in_front);
	tcase_add_test(lines, log_redirected_away_from_the_journal_is_plain);
	tcase_add_test(lines, log_of_an_over_long_sentence_is_cut_to_one_line);
	tcase_add_test(lines, log_of_control_characters_forges_no_line);
	tcase_add_test(lines, log_keeps_errno);
	tcase_add_test(lines, log_to_a_closed_stderr_keeps_errno);
	tcase_add_test(lines, log_by_many_processes_on_one_pipe_keeps_lines_whole);
	tcase_add_test(lines, log_may_gives_a_burst_and_then_counts_what_it_leaves_out);
	tcase_add_test(lines, log_limited_says_how_many_were_left_out);
	tcase_add_test(level, log_above_the_level_writes_nothing);
	tcase_add_test(level, log_level_parse_takes_the_four_names_only);
	suite_add_tcase(suite, lines);
	suite_add_tcase(suite, level);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
