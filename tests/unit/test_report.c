/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/report.c: what the log says of a stream at a start, and what of it after a hand-over.
 */
#include "daemon/report.h"

#include "tests/support/stderr.h"
#include "tests/support/stream_fixture.h"

#include <stdlib.h>
#include <string.h>

static const char *said;

/** What the sfd of before left, by the names of its descriptors. */
static void take_over(const char *const *names, size_t count)
{
	struct sfd_passed passed[8];
	struct sfd_handover handover = {.passed = passed,
					.passed_count = count,
					.text_fd = -1,
					.previous_fd = -1,
					.version = "1.2.3"};

	ck_assert_uint_le(count, sizeof(passed) / sizeof(passed[0]));
	for (size_t i = 0; i < count; i++)
		passed[i] = (struct sfd_passed){.name = (char *)names[i], .fd = 42};
	t_stderr_begin();
	sfd_report_taken_over(&handover, &t_stream, 1);
	said = t_stderr_end();
}

static void start(void)
{
	t_stderr_begin();
	sfd_report_start(&t_stream);
	said = t_stderr_end();
}

static void assert_said(const char *part)
{
	ck_assert_msg(strstr(said, part) != NULL, "no \"%s\" in: %s", part, said);
}

static const struct {
	const char *layout;
	const char *description;
} descriptions[] = {
	{"snowflakex", "machine id 5, layout snowflakex (t"},
	{"t41 n10 s12 epoch=1 tick=2ms", "machine id 5, layout t41 n10 s12 epoch=1 tick=2ms\n"},
	{"ulid", "format ulid\n"},
	{"hound", "format hound, machine id 0x"},
};

START_TEST(stream_is_described_at_a_start_and_when_it_is_new)
{
	static const char *const names[] = {"@socket", "x.default.grants", "default.stats"};
	char line[128];

	t_stream_init(&(struct t_stream_setup){.layout = descriptions[_i].layout});
	(void)snprintf(line, sizeof(line), "sfd: info: stream default: %s",
		       descriptions[_i].description);
	start();
	assert_said(line);
	(void)snprintf(line, sizeof(line), "sfd: info: reloaded: stream default added: %s",
		       descriptions[_i].description);
	take_over(names, 3);
	assert_said(line);
	assert_said("reloaded: stream x.default gone\n");
	assert_said("sfd: info: 0 streams taken over from sfd 1.2.3\n");
	t_stream_deinit();
}
END_TEST

START_TEST(stream_that_goes_on_is_counted_and_no_more)
{
	static const char *const names[] = {"default.grants", "default.claims", "old.grants",
					    "old.claims",     "default",        ".grants"};

	t_stream_init(&(struct t_stream_setup){.layout = "snowflakex"});
	t_stream_step(-48 * T_HOUR);
	t_stream_run(T_SECOND);
	t_stream_hand_over(t_stream_kill);
	ck_assert(t_stream.adopted);
	take_over(names, 6);
	ck_assert_str_eq(said, "sfd: info: reloaded: stream old gone\n"
			       "sfd: info: 1 stream taken over from sfd 1.2.3\n");
	/* The step back, and that the wall is behind, are told already; its end is not. */
	ck_assert(!sfd_stream_has_stepped(&t_stream));
	t_stream_step(48 * T_HOUR);
	t_stream_run(T_SECOND);
	t_stderr_begin();
	sfd_report_news(&t_stream);
	said = t_stderr_end();
	assert_said("stream default: the wall clock has caught up");
	assert_said("stepped (1 forward, 1 back so far)");
	t_stream_deinit();
}
END_TEST

/* As at a start: it is not what it was for its clients either. */
START_TEST(stream_whose_ring_cannot_go_on_is_described)
{
	static const char *const names[] = {"default.grants", "default.claims"};

	t_stream_init(&(struct t_stream_setup){.layout = "snowflakex"});
	t_stream_kill();
	t_stream_step(-48 * T_HOUR);
	t_stream_start(SFD_CLOCK_SLEW);
	take_over(names, 2);
	assert_said("sfd: info: stream default: machine id 5, layout snowflakex");
	assert_said("behind what was promised before; embedded time runs at half speed");
	assert_said("0 streams taken over from sfd 1.2.3");
	t_stream_deinit();
}
END_TEST

START_TEST(lead_names_what_begins_at_the_right_time)
{
	static const char *const layouts[] = {"snowflakex", "hound", "ulid"};
	static const char *const words[] = {
		"before, a stream of another name and machine id begins at the right time",
		"before, a stream of another name and machine id begins at the right time",
		"before, a stream of another name begins at the right time"};

	t_stream_init(&(struct t_stream_setup){.layout = layouts[_i]});
	t_stream_kill();
	t_stream_step(-48 * T_HOUR);
	t_stream_start(SFD_CLOCK_WAIT);
	start();
	assert_said("behind what was promised before; callers wait until it has caught up, in 2d");
	assert_said(words[_i]);
	t_stream_deinit();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("report");
	TCase *cases = tcase_create("report");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_loop_test(cases, stream_is_described_at_a_start_and_when_it_is_new, 0,
			    sizeof(descriptions) / sizeof(descriptions[0]));
	tcase_add_test(cases, stream_that_goes_on_is_counted_and_no_more);
	tcase_add_test(cases, stream_whose_ring_cannot_go_on_is_described);
	tcase_add_loop_test(cases, lead_names_what_begins_at_the_right_time, 0, 3);
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
