/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl trace in a build without eBPF.
 */
#include "tests/support/stderr.h"
#include "tools/trace/trace.h"

#include <check.h>
#include <string.h>

START_TEST(every_trace_says_that_the_build_has_none_fc78)
{
	static int (*const kinds[])(const struct sfctl_trace *trace) = {
		sfctl_trace_beat, sfctl_trace_control, sfctl_trace_latency, sfctl_trace_syscalls};
	const struct sfctl sfctl = {.command = "trace"};
	const struct sfctl_trace trace = {.sfctl = &sfctl, .pid = 1};
	const char *said;

	t_stderr_begin();
	ck_assert_int_eq(kinds[_i](&trace), SFCTL_CANNOT_TRACE);
	said = t_stderr_end();
	ck_assert_ptr_nonnull(strstr(said, "built without eBPF"));
	ck_assert_ptr_nonnull(strstr(said, "-Dbpf=enabled"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace_absent");
	TCase *absent = tcase_create("absent");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, absent);
	tcase_add_loop_test(absent, every_trace_says_that_the_build_has_none_fc78, 0, 4);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
