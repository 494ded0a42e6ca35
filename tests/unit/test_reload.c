/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/reload.c: for every key of a configuration, whether it may change while sfd runs.
 */
#include "daemon/reload.h"
#include "tests/support/config.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BASE                                                                                       \
	"[daemon]\nruntime_dir = /run/a\nstate_dir = /lib/a\nlog_level = info\nloop = auto\n"      \
	"[stream a]\nlayout = twitter\nmachine_id = 1-2\nahead_ms = 5\nrunway_ms = 3000\n"         \
	"clock_backward = slew\nsequence_start = zero\nallow = 1000\n"                             \
	"[stream h]\nformat = hound\nmachine_id = 0x10\n"

static struct sf_why why;

/** What the step from one file to another leads to. */
static int step(const char *old_text, const char *next_text)
{
	struct sfd_config old;
	int error;

	ck_assert_int_eq(t_config_load(old_text), 0);
	old = t_config;
	ck_assert_msg(t_config_load(next_text) == 0, "%s", t_config_said);
	why.text[0] = '\0';
	error = sfd_reload_check(&old, &t_config, &why);
	sfd_config_deinit(&old);
	return error;
}

/** BASE with one line in another's place. */
static const char *changed(const char *line, const char *by)
{
	static char text[1024];
	const char *at = strstr(BASE, line);

	ck_assert_ptr_nonnull(at);
	(void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - BASE), BASE, by,
		       at + strlen(line));
	return text;
}

static const struct {
	const char *line;
	const char *by;
} allowed[] = {
	{"log_level = info\n", "log_level = debug\n"},
	{"ahead_ms = 5\n", "ahead_ms = 0\n"},
	{"ahead_ms = 5\n", "ahead_ms = 500\n"},
	{"sequence_start = zero\n", "sequence_start = spread\n"},
	{"allow = 1000\n", "allow = *\n"},
	{"allow = 1000\n", ""},
	/* the same in other words */
	{"layout = twitter\n", "format = snowflake\nlayout = t41 n10 s12 epoch=1288834974657\n"},
	{"machine_id = 1-2\n", "machine_id = 2,1\n"},
	{"machine_id = 0x10\n", "machine_id = 00:00:00:00:00:10\n"},
	{"runway_ms = 3000\n", ""},
	{"clock_backward = slew\n", ""},
	{"loop = auto\n", ""},
	/* streams that come and go */
	{"[stream h]\n", "[stream n]\nlayout = discord\nmachine_id = 3\n[stream h]\n"},
	{"[stream h]\nformat = hound\nmachine_id = 0x10\n", ""},
	{"[stream h]\n", "[stream u]\nformat = ulid\n[stream h]\n"},
};

START_TEST(change_is_allowed)
{
	const char *next = changed(allowed[_i].line, allowed[_i].by);

	ck_assert_msg(step(BASE, next) == 0, "%s: %s", allowed[_i].by, why.text);
	ck_assert_str_eq(why.text, "");
}
END_TEST

START_TEST(order_of_streams_does_not_count)
{
	ck_assert_int_eq(step("[stream a]\nlayout = twitter\nmachine_id = 1\n"
			      "[stream b]\nlayout = discord\nmachine_id = 2\n",
			      "[stream b]\nlayout = discord\nmachine_id = 2\n"
			      "[stream a]\nlayout = twitter\nmachine_id = 1\n"),
			 0);
}
END_TEST

static const struct {
	const char *line;
	const char *by;
	const char *sentence;
} refused[] = {
	{"runtime_dir = /run/a\n", "runtime_dir = /run/b\n",
	 "runtime_dir cannot change from /run/a to /run/b while sfd runs: restart sfd"},
	{"state_dir = /lib/a\n", "state_dir = /lib/b\n",
	 "state_dir cannot change from /lib/a to /lib/b while sfd runs: restart sfd"},
	{"loop = auto\n", "loop = poll\n",
	 "loop cannot change from auto to poll while sfd runs: restart sfd"},
	{"layout = twitter\n", "layout = discord\n",
	 "stream a: layout cannot change from t41 n10 s12 epoch=1288834974657 tick=1ms to "
	 "t42 w5 p5 s12 epoch=1420070400000 tick=1ms while sfd runs: give it another machine_id "
	 "as well, and restart sfd"},
	{"layout = twitter\nmachine_id = 1-2\n", "layout = discord\nmachine_id = 2-4\n",
	 "while sfd runs: give it another machine_id as well, and restart sfd"},
	{"layout = twitter\nmachine_id = 1-2\n", "layout = discord\nmachine_id = 3\n",
	 "tick=1ms while sfd runs: restart sfd, but the IDs will not go on above the last ones, or "
	 "add a stream for it"},
	{"format = hound\nmachine_id = 0x10\n", "format = ulid\n",
	 "stream h: format cannot change from hound to ulid while sfd runs: restart sfd, if its "
	 "clients are ready for that, or add a stream for it"},
	{"machine_id = 1-2\n", "machine_id = 1-3\n",
	 "stream a: machine_id cannot change from 1-2 to 1-3 while sfd runs: restart sfd: the IDs "
	 "go on above the last ones, and the mark of the old ids is kept"},
	{"machine_id = 1-2\n", "machine_id = 1,3\n",
	 "stream a: machine_id cannot change from 1-2 to 1,3 while sfd runs: restart sfd: "},
	{"machine_id = 0x10\n", "machine_id = 0x11\n",
	 "stream h: machine_id cannot change from 0x000000000010 to 0x000000000011 while sfd "
	 "runs: restart sfd: "},
	{"runway_ms = 3000\n", "runway_ms = 4000\n",
	 "stream a: runway_ms cannot change from 3000 to 4000 while sfd runs: restart sfd"},
	{"clock_backward = slew\n", "clock_backward = wait\n",
	 "stream a: clock_backward cannot change from slew to wait while sfd runs: restart sfd"},
	{"clock_backward = slew\n", "clock_backward = refuse\n",
	 "clock_backward cannot change from slew to refuse"},
	{"clock_backward = slew\n", "clock_backward = ahead\n",
	 "clock_backward cannot change from slew to ahead"},
	/* a machine id that goes from one stream to another */
	{"[stream a]\n", "[stream b]\n",
	 "stream b: machine id 1 cannot come from stream a while sfd runs: restart sfd, or give "
	 "the new stream another machine id"},
	{"[stream h]\n", "[stream i]\n",
	 "stream i: machine id 0x000000000010 cannot come from stream h while sfd runs"},
};

START_TEST(change_is_refused)
{
	ck_assert_int_eq(step(BASE, changed(refused[_i].line, refused[_i].by)), -EPERM);
	ck_assert_msg(strstr(why.text, refused[_i].sentence) != NULL, "%s", why.text);
}
END_TEST

/* Without an address a machine id is drawn at each start: that is no change. */
START_TEST(random_machine_id_stays_the_streams)
{
	struct sfd_stream_config old_stream = {.name = "h", .machine = UINT64_C(0x010000000001)};
	struct sfd_stream_config next_stream = old_stream;
	char none[] = "";
	struct sfd_config old = {.runtime_dir = none, .state_dir = none, .stream = &old_stream};
	struct sfd_config next = {.runtime_dir = none, .state_dir = none, .stream = &next_stream};

	old.stream_count = next.stream_count = 1;
	ck_assert_int_eq(sf_layout_of_format(SF_FORMAT_HOUND, &old_stream.layout), 0);
	next_stream.layout = old_stream.layout;
	next_stream.machine = UINT64_C(0x010000000002);
	ck_assert_int_eq(sfd_reload_check(&old, &next, NULL), 0);
	next_stream.machine = UINT64_C(0x020000000002);
	ck_assert_int_eq(sfd_reload_check(&old, &next, NULL), -EPERM);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("reload");
	TCase *tcase = tcase_create("reload");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, t_config_init, t_config_deinit);
	tcase_add_loop_test(tcase, change_is_allowed, 0, COUNT(allowed));
	tcase_add_loop_test(tcase, change_is_refused, 0, COUNT(refused));
	tcase_add_test(tcase, order_of_streams_does_not_count);
	tcase_add_test(tcase, random_machine_id_stays_the_streams);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
