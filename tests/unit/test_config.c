/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/config.c and config_stream.c: what good files and flags become, and machine ids.
 */
#include "daemon/config.h"
#include "tests/support/config.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- good files ---- */

START_TEST(load_of_the_least_file_gives_defaults)
{
	ck_assert_int_eq(t_config_load(T_STREAM_A), 0);
	ck_assert_str_eq(t_config_said, "");
	ck_assert_int_eq((int)t_config.log_level, SFD_LOG_INFO);
	ck_assert_int_eq((int)t_config.loop, SFD_LOOP_AUTO);
	ck_assert(!t_config.account.is_named);
	ck_assert_uint_eq(t_config.connections_per_user, SFD_CONNECTIONS_PER_USER_DEFAULT);
	ck_assert(t_config.seccomp);
	ck_assert_uint_eq(t_config.stream_count, 1);
	ck_assert_str_eq(t_config.stream[0].name, "a");
	ck_assert_str_eq(sf_layout_name(&t_config.stream[0].layout), "twitter");
	ck_assert_uint_eq(t_config.stream[0].node_count, 1);
	ck_assert_uint_eq(t_config.stream[0].node[0], 1);
	ck_assert_uint_eq(t_config.stream[0].ahead_ms, 0);
	ck_assert_uint_eq(t_config.stream[0].runway_ms, SFD_RUNWAY_MS_DEFAULT);
	ck_assert(!t_config.stream[0].sequence_spread);
	ck_assert(!t_config.stream[0].access.everyone);
	ck_assert_uint_eq(t_config.stream[0].access.user_count, 0);
	ck_assert_ptr_nonnull(t_config.runtime_dir);
	ck_assert_ptr_nonnull(t_config.state_dir);
}
END_TEST

START_TEST(load_of_a_full_file_takes_every_key)
{
	ck_assert_int_eq(t_config_load("\xef\xbb\xbf# a comment\r\n"
				       "[daemon]\r\n"
				       "runtime_dir = /tmp/run dir ; not the name\r\n"
				       "\tstate_dir=/tmp/state\r\n"
				       "log_level: debug\r\n"
				       "loop = poll\r\n"
				       "user = nobody\r\n"
				       "max_connections_per_user = 4096\r\n"
				       "seccomp = no\r\n"
				       "\r\n"
				       "  [ stream  web-1._x ] ; comment\r\n"
				       "  layout = t42 w5 p5 s12 epoch=1420070400000 tick=1ms\r\n"
				       "  machine_id = 1023, 3-5 ,0\r\n"
				       "  ahead_ms = 200\r\n"
				       "  runway_ms = 500\r\n"
				       "  clock_backward = slew\r\n"
				       "  sequence_start = spread\r\n"
				       "  allow = root, @50\r\n"
				       "[stream b]\n"
				       "layout = t41 n10 s12\n"
				       "machine_id = 1-2\n"
				       "sequence_start = zero\n"
				       "allow = *"),
			 0);
	ck_assert_str_eq(t_config_said, "");
	ck_assert_str_eq(t_config.runtime_dir, "/tmp/run dir");
	ck_assert_str_eq(t_config.state_dir, "/tmp/state");
	ck_assert_int_eq((int)t_config.log_level, SFD_LOG_DEBUG);
	ck_assert_int_eq((int)t_config.loop, SFD_LOOP_POLL);
	ck_assert(t_config.account.is_named);
	ck_assert_str_eq(t_config.account.name, "nobody");
	ck_assert_uint_eq(t_config.account.uid, 65534);
	ck_assert_uint_eq(t_config.connections_per_user, 4096);
	ck_assert(!t_config.seccomp);
	ck_assert_uint_eq(t_config.stream_count, 2);
	ck_assert_str_eq(t_config.stream[0].name, "web-1._x");
	ck_assert_str_eq(sf_layout_name(&t_config.stream[0].layout), "discord");
	ck_assert_uint_eq(t_config.stream[0].node_count, 5);
	ck_assert_uint_eq(t_config.stream[0].node[0], 0);
	ck_assert_uint_eq(t_config.stream[0].node[1], 3);
	ck_assert_uint_eq(t_config.stream[0].node[4], 1023);
	ck_assert_uint_eq(t_config.stream[0].ahead_ms, 200);
	ck_assert_uint_eq(t_config.stream[0].runway_ms, 500);
	ck_assert(t_config.stream[0].sequence_spread);
	ck_assert_uint_eq(t_config.stream[0].access.user_count, 1);
	ck_assert_uint_eq(t_config.stream[0].access.group[0], 50);
	ck_assert_str_eq(t_config.stream[1].name, "b");
	ck_assert(t_config.stream[1].access.everyone);
	ck_assert(!t_config.stream[1].sequence_spread);
}
END_TEST

START_TEST(load_with_keys_in_any_order_is_the_same)
{
	ck_assert_int_eq(t_config_load("[stream a]\nmachine_id = 31\nlayout = t41 n5 s12\n"), 0);
	ck_assert_uint_eq(t_config.stream[0].node[0], 31);
}
END_TEST

START_TEST(load_of_a_layout_with_long_ticks_grows_the_default_runway)
{
	ck_assert_int_eq(
		t_config_load("[stream a]\nlayout = t40 n10 s12 tick=60s\nmachine_id = 1\n"), 0);
	ck_assert_uint_eq(t_config.stream[0].runway_ms, 240000);
}
END_TEST

/* ---- machine ids ---- */

static const struct {
	const char *text;
	uint32_t count;
	uint32_t first;
	uint32_t last;
} good_nodes[] = {
	{"0", 1, 0, 0},
	{"1023", 1, 1023, 1023},
	{"0-3", 4, 0, 3},
	{"7-7", 1, 7, 7},
	{"1,3,5-7", 5, 1, 7},
	{" 9 , 3-4\t,0", 4, 0, 9},
	{"007", 1, 7, 7},
	{"0-255", SF_NODES_MAX, 0, 255},
	{"768-1023", SF_NODES_MAX, 768, 1023},
};

START_TEST(nodes_parse_gives_ascending_ids)
{
	uint32_t node[SF_NODES_MAX];
	uint32_t count;
	struct sf_why why = {"old"};

	ck_assert_int_eq(sfd_nodes_parse(good_nodes[_i].text, 10, node, &count, &why), 0);
	ck_assert_str_eq(why.text, "");
	ck_assert_uint_eq(count, good_nodes[_i].count);
	ck_assert_uint_eq(node[0], good_nodes[_i].first);
	ck_assert_uint_eq(node[count - 1], good_nodes[_i].last);
	for (uint32_t i = 1; i < count; i++)
		ck_assert_uint_gt(node[i], node[i - 1]);
}
END_TEST

static const struct {
	const char *text;
	const char *problem;
} wrong_nodes[] = {
	{"", "empty"},
	{" ", "not a machine id"},
	{"x", "not a machine id"},
	{"12abc", "not a machine id"},
	{"-1", "not a machine id"},
	{"+1", "not a machine id"},
	{"1.0", "not a machine id"},
	{"0x1", "not a machine id"},
	{"1 2", "not a machine id"},
	{"1024", "not a machine id"},
	{"4294967296", "not a machine id"},
	{"18446744073709551617", "not a machine id"},
	{"1,", "not a machine id"},
	{",1", "not a machine id"},
	{"1,,2", "not a machine id"},
	{"1-", "a range ends in no machine id"},
	{"1-1024", "a range ends in no machine id"},
	{"1--2", "a range ends in no machine id"},
	{"1 - 2", "not a machine id"},
	{"1-2-3", "not a machine id"},
	{"3-1", "a range runs backward"},
	{"1,1", "an id is given twice"},
	{"5,3-7", "an id is given twice"},
	{"0-256", "too many ids"},
	{"0-1023", "too many ids"},
	{"0-255,256", "too many ids"},
};

START_TEST(nodes_parse_of_wrong_text_gives_the_legal_range)
{
	uint32_t node[SF_NODES_MAX] = {77};
	uint32_t count = 77;
	struct sf_why why;

	ck_assert_int_eq(sfd_nodes_parse(wrong_nodes[_i].text, 10, node, &count, &why), -EINVAL);
	ck_assert_msg(strstr(why.text, wrong_nodes[_i].problem) != NULL, "%s", why.text);
	ck_assert_msg(strstr(why.text, "legal is [0,1023]") != NULL, "%s", why.text);
	ck_assert_uint_eq(node[0], 77);
	ck_assert_uint_eq(count, 77);
	ck_assert_int_eq(sfd_nodes_parse(wrong_nodes[_i].text, 10, node, &count, NULL), -EINVAL);
}
END_TEST

START_TEST(nodes_parse_keeps_to_the_width)
{
	uint32_t node[SF_NODES_MAX];
	uint32_t count;

	ck_assert_int_eq(sfd_nodes_parse("2147483647", 31, node, &count, NULL), 0);
	ck_assert_int_eq(sfd_nodes_parse("2147483648", 31, node, &count, NULL), -EINVAL);
	ck_assert_int_eq(sfd_nodes_parse("4294967295", 32, node, &count, NULL), 0);
	ck_assert_uint_eq(node[0], UINT32_MAX);
	ck_assert_int_eq(sfd_nodes_parse("0-4294967295", 32, node, &count, NULL), -EINVAL);
	ck_assert_int_eq(sfd_nodes_parse("0", 0, node, &count, NULL), 0);
	ck_assert_int_eq(sfd_nodes_parse("1", 0, node, &count, NULL), -EINVAL);
}
END_TEST

static const struct {
	const char *machine_id_line;
	const char *sentence;
} no_machine_ids[] = {
	{"", "sfd.conf:1: stream \"a\" has no machine id, and there is no default machine id"},
	{"machine_id =\n", "sfd.conf:3: machine_id: \"\": the machine id is empty; legal is "
			   "[0,1023]"},
	{"machin_id = 3\n", "sfd.conf:3: unknown key \"machin_id\""},
	{"machin_id = 3\n", "sfd.conf:1: stream \"a\" has no machine id"},
	{"; machine_id = 3\n", "give one in [0,1023] that no other host has with machine_id ="},
};

START_TEST(fc_08_load_without_a_machine_id_refuses_and_never_falls_back)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "[stream a]\nlayout = twitter\n%s",
		       no_machine_ids[_i].machine_id_line);
	ck_assert_int_eq(t_config_load(text), -EINVAL);
	t_config_assert_said(no_machine_ids[_i].sentence);
}
END_TEST

START_TEST(fc_08_load_of_flags_without_a_machine_id_refuses)
{
	ck_assert_int_eq(t_config_load_flags(&(struct sfd_flags){.layout = "twitter"}, NULL),
			 -EINVAL);
	t_config_assert_said(
		"sfd: error: --machine-id: stream \"default\" has no machine id, and there is "
		"no default machine id");
	t_config_assert_said("give one in [0,1023] that no other host has with --machine-id");
	ck_assert_int_eq(t_config_load_flags(&(struct sfd_flags){.machine_id = ""}, NULL), -EINVAL);
	t_config_assert_said("sfd: error: --machine-id: machine_id: \"\": the machine id is empty");
}
END_TEST

static const char *const fc_26_ids[] = {"1024", "-1", "4294967296", "12abc", ""};

START_TEST(fc_26_machine_id_outside_the_layout_is_refused_with_the_legal_range)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "[stream a]\nlayout = twitter\nmachine_id = %s\n",
		       fc_26_ids[_i]);
	ck_assert_int_eq(t_config_load(text), -EINVAL);
	t_config_assert_said("sfd.conf:3: machine_id: ");
	t_config_assert_said("legal is [0,1023]");
	ck_assert_int_eq(
		t_config_load_flags(&(struct sfd_flags){.machine_id = fc_26_ids[_i]}, NULL),
		-EINVAL);
	t_config_assert_said("sfd: error: --machine-id: ");
	t_config_assert_said("legal is [0,1023]");
}
END_TEST

START_TEST(fc_26_machine_ids_at_both_ends_are_accepted)
{
	ck_assert_int_eq(t_config_load("[stream a]\nlayout = twitter\nmachine_id = 0\n"), 0);
	ck_assert_uint_eq(t_config.stream[0].node[0], 0);
	t_config_deinit();
	ck_assert_int_eq(t_config_load("[stream a]\nlayout = twitter\nmachine_id = 1023\n"), 0);
	ck_assert_uint_eq(t_config.stream[0].node[0], 1023);
}
END_TEST

/* ---- flags ---- */

START_TEST(load_of_flags_alone_makes_the_default_stream)
{
	ck_assert_int_eq(t_config_load_flags(&(struct sfd_flags){.machine_id = "4-5"}, NULL), 0);
	ck_assert_uint_eq(t_config.stream_count, 1);
	ck_assert_str_eq(t_config.stream[0].name, "default");
	ck_assert_str_eq(sf_layout_name(&t_config.stream[0].layout), "twitter");
	ck_assert_uint_eq(t_config.stream[0].node_count, 2);
	t_config_deinit();
	ck_assert_int_eq(t_config_load_flags(&(struct sfd_flags){.machine_id = "4",
								 .layout = "sonyflake",
								 .runtime_dir = "/tmp/r",
								 .state_dir = "/tmp/s",
								 .log_level = "error"},
					     NULL),
			 0);
	ck_assert_str_eq(sf_layout_name(&t_config.stream[0].layout), "sonyflake");
	ck_assert_str_eq(t_config.runtime_dir, "/tmp/r");
	ck_assert_str_eq(t_config.state_dir, "/tmp/s");
	ck_assert_int_eq((int)t_config.log_level, SFD_LOG_ERROR);
}
END_TEST

START_TEST(load_of_wrong_flags_names_each_flag)
{
	ck_assert_int_eq(t_config_load_flags(&(struct sfd_flags){.machine_id = "1",
								 .layout = "t41",
								 .runtime_dir = "",
								 .log_level = "loud"},
					     NULL),
			 -EINVAL);
	t_config_assert_said("sfd: error: --layout: layout: ");
	t_config_assert_said("sfd: error: --runtime-dir: runtime_dir is empty");
	t_config_assert_said("sfd: error: --log-level: log_level \"loud\" is unknown");
	ck_assert_uint_eq(t_config_said_lines(), 3);
}
END_TEST

START_TEST(fc_33_flags_win_over_the_file_and_hide_none_of_its_problems)
{
	const struct sfd_flags flags = {
		.config_file = "sfd.conf",
		.runtime_dir = "/tmp/flag",
		.log_level = "debug",
	};

	ck_assert_int_eq(t_config_load_flags(&flags,
					     T_STREAM_A "[daemon]\nruntime_dir = /tmp/file\n"
							"state_dir = /tmp/state\n"
							"log_level = error\n"),
			 0);
	ck_assert_str_eq(t_config.runtime_dir, "/tmp/flag");
	ck_assert_str_eq(t_config.state_dir, "/tmp/state");
	ck_assert_int_eq((int)t_config.log_level, SFD_LOG_DEBUG);
	t_config_deinit();
	ck_assert_int_eq(t_config_load_flags(&flags, T_STREAM_A "[daemon]\nlog_level = loud\n"),
			 -EINVAL);
	t_config_assert_said("sfd.conf:5: log_level \"loud\"");
}
END_TEST

START_TEST(fc_33_stream_flags_beside_a_file_are_refused)
{
	ck_assert_int_eq(t_config_load_flags(&(struct sfd_flags){.config_file = "sfd.conf",
								 .machine_id = "1",
								 .layout = "twitter"},
					     T_STREAM_A),
			 -EINVAL);
	t_config_assert_said("--machine-id: streams are described by the file sfd.conf");
	t_config_assert_said("--layout: streams are described by the file sfd.conf");
	ck_assert_uint_eq(t_config_said_lines(), 2);
}
END_TEST

START_TEST(fc_33_unknown_key_is_an_error)
{
	ck_assert_int_eq(t_config_load(T_STREAM_A "worker_id = 3\n"), -EINVAL);
	t_config_assert_said("sfd.conf:4: unknown key \"worker_id\"");
}
END_TEST

/* ---- directories and files ---- */

START_TEST(load_without_directories_follows_user_and_environment)
{
	ck_assert_int_eq(t_config_load(T_STREAM_A), 0);
	if (geteuid() == 0) {
		ck_assert_str_eq(t_config.runtime_dir, "/run/sfd");
		ck_assert_str_eq(t_config.state_dir, "/var/lib/sfd");
		ck_assert_int_eq(seteuid(65534), 0);
		t_config_deinit();
		ck_assert_int_eq(t_config_load(T_STREAM_A), 0);
	}
	ck_assert_str_eq(t_config.runtime_dir, "/tmp/xdg-run/sfd");
	ck_assert_str_eq(t_config.state_dir, "/tmp/xdg-state/sfd");
	t_config_deinit();
	ck_assert_int_eq(setenv("XDG_STATE_HOME", "relative/is/ignored", 1), 0);
	ck_assert_int_eq(t_config_load(T_STREAM_A), 0);
	ck_assert_str_eq(t_config.state_dir, "/tmp/home/.local/state/sfd");
	unsetenv("XDG_RUNTIME_DIR");
	unsetenv("HOME");
	t_config_deinit();
	ck_assert_int_eq(t_config_load(T_STREAM_A), -EINVAL);
	t_config_assert_said("--runtime-dir: there is no default without XDG_RUNTIME_DIR");
	t_config_assert_said("--state-dir: there is no default without XDG_STATE_HOME and HOME");
	ck_assert_int_eq(
		t_config_load(T_STREAM_A "[daemon]\nruntime_dir=/tmp/r\nstate_dir=/tmp/s\n"), 0);
	/* What the host's sfd asks or becomes is at home where that is, whoever user is by now. */
	ck_assert_int_eq(setenv(SFD_PRIVILEGE_HOST, "1", 1), 0);
	t_config_deinit();
	ck_assert_int_eq(t_config_load(T_STREAM_A "[daemon]\nuser = root\n"), 0);
	ck_assert_str_eq(t_config.runtime_dir, "/run/sfd");
	ck_assert_str_eq(t_config.state_dir, "/var/lib/sfd");
	unsetenv(SFD_PRIVILEGE_HOST);
	(void)seteuid(getuid());
}
END_TEST

START_TEST(load_of_a_file_that_cannot_be_read_says_why)
{
	ck_assert_int_eq(t_config_load_path("/nonexistent/sfd.conf"), -ENOENT);
	t_config_assert_said(
		"/nonexistent/sfd.conf: the configuration cannot be read (No such file or "
		"directory)");
	ck_assert_int_eq(t_config_load_path("/"), -EISDIR);
	ck_assert_int_eq(t_config_load_path("/dev/zero"), -EFBIG);
	t_config_assert_said("/dev/zero: the file has 1048576 bytes or more");
	ck_assert_int_eq(t_config_load_path("/dev/null"), -EINVAL);
	t_config_assert_said("/dev/null: there is no stream");
}
END_TEST

START_TEST(load_reads_the_file_it_is_given)
{
	char path[] = "/tmp/sfd-test-config-XXXXXX";
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, T_STREAM_A, strlen(T_STREAM_A)), (int)strlen(T_STREAM_A));
	ck_assert_int_eq(t_config_load_path(path), 0);
	ck_assert_str_eq(t_config.stream[0].name, "a");
	(void)close(fd);
	(void)unlink(path);
}
END_TEST

static TCase *files_case(void)
{
	TCase *tcase = tcase_create("files");

	tcase_add_checked_fixture(tcase, t_config_init, t_config_deinit);
	tcase_add_test(tcase, load_of_the_least_file_gives_defaults);
	tcase_add_test(tcase, load_of_a_full_file_takes_every_key);
	tcase_add_test(tcase, load_with_keys_in_any_order_is_the_same);
	tcase_add_test(tcase, load_of_a_layout_with_long_ticks_grows_the_default_runway);
	return tcase;
}

static TCase *machine_ids_case(void)
{
	TCase *tcase = tcase_create("machine ids");

	tcase_add_checked_fixture(tcase, t_config_init, t_config_deinit);
	tcase_add_loop_test(tcase, nodes_parse_gives_ascending_ids, 0, COUNT(good_nodes));
	tcase_add_loop_test(tcase, nodes_parse_of_wrong_text_gives_the_legal_range, 0,
			    COUNT(wrong_nodes));
	tcase_add_test(tcase, nodes_parse_keeps_to_the_width);
	tcase_add_loop_test(tcase, fc_08_load_without_a_machine_id_refuses_and_never_falls_back, 0,
			    COUNT(no_machine_ids));
	tcase_add_test(tcase, fc_08_load_of_flags_without_a_machine_id_refuses);
	tcase_add_loop_test(tcase,
			    fc_26_machine_id_outside_the_layout_is_refused_with_the_legal_range, 0,
			    COUNT(fc_26_ids));
	tcase_add_test(tcase, fc_26_machine_ids_at_both_ends_are_accepted);
	return tcase;
}

static TCase *flags_case(void)
{
	TCase *tcase = tcase_create("flags");

	tcase_add_checked_fixture(tcase, t_config_init, t_config_deinit);
	tcase_add_test(tcase, load_of_flags_alone_makes_the_default_stream);
	tcase_add_test(tcase, load_of_wrong_flags_names_each_flag);
	tcase_add_test(tcase, fc_33_flags_win_over_the_file_and_hide_none_of_its_problems);
	tcase_add_test(tcase, fc_33_stream_flags_beside_a_file_are_refused);
	tcase_add_test(tcase, fc_33_unknown_key_is_an_error);
	return tcase;
}

static TCase *surroundings_case(void)
{
	TCase *tcase = tcase_create("surroundings");

	tcase_add_checked_fixture(tcase, t_config_init, t_config_deinit);
	tcase_add_test(tcase, load_without_directories_follows_user_and_environment);
	tcase_add_test(tcase, load_of_a_file_that_cannot_be_read_says_why);
	tcase_add_test(tcase, load_reads_the_file_it_is_given);
	return tcase;
}

int main(void)
{
	Suite *suite = suite_create("config");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, files_case());
	suite_add_tcase(suite, machine_ids_case());
	suite_add_tcase(suite, flags_case());
	suite_add_tcase(suite, surroundings_case());
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
