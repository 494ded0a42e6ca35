/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The command line of sfd: every usage error ends with exit code 2 and a sentence, a configuration
 * error besides with file and line; and the signals that end it.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/process.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAYOUT "t41 n10 s12 epoch=1577836800000"
#define ARGUMENTS 12

/** "DIR" in an argument stands for the test's directory. */
struct row {
	const char *arguments[ARGUMENTS];
	const char *sentence;
};

static struct t_daemon daemon_now;

/** Runs sfd with a row's arguments. */
static int run_row(const struct row *row, char said[T_SAID_BYTES])
{
	char texts[ARGUMENTS][192];
	const char *arguments[ARGUMENTS + 1] = {NULL};

	for (int i = 0; row->arguments[i]; i++) {
		const char *text = row->arguments[i];

		arguments[i] = text;
		if (strncmp(text, "DIR", 3) != 0)
			continue;
		(void)snprintf(texts[i], sizeof(texts[i]), "%s%s", daemon_now.directory, text + 3);
		arguments[i] = texts[i];
	}
	return t_run_sfd(arguments, NULL, said);
}

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(t_path(daemon_now.directory, name), "we");

	ck_assert_ptr_nonnull(file);
	(void)fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* ---- flags ---- */

#define DIRECTORIES "--runtime-dir", "DIR/run", "--state-dir", "DIR/state"

static const struct row usage_errors[] = {
	{{NULL}, "--machine-id: stream \"default\" has no machine id"},
	{{DIRECTORIES, NULL}, "there is no default machine id"},
	{{"--no-such-flag"}, "no-such-flag"},
	{{"-x"}, "invalid option -- 'x'"},
	{{DIRECTORIES, "--machine-id", "1", "extra"}, "unexpected argument extra"},
	{{DIRECTORIES, "--machine-id", "1", "--", "-c"}, "unexpected argument -c"},
	{{"--machine-id"}, "requires an argument"},
	{{"-c"}, "requires an argument"},
	{{"--config"}, "requires an argument"},
	{{"--runtime-dir"}, "requires an argument"},
	{{"--state-dir"}, "requires an argument"},
	{{"--layout"}, "requires an argument"},
	{{"--log-level"}, "requires an argument"},
	{{"--version=1"}, "doesn't allow an argument"},
	{{"--help=1"}, "doesn't allow an argument"},
	{{"--check-config=1"}, "doesn't allow an argument"},
	{{DIRECTORIES, "--machine-id", ""}, "--machine-id: machine_id: \"\""},
	{{DIRECTORIES, "--machine-id", "x"}, "legal is [0,1023]"},
	{{DIRECTORIES, "--machine-id", "-1"}, "legal is [0,1023]"},
	{{DIRECTORIES, "--machine-id", "1024"}, "legal is [0,1023]"},
	{{DIRECTORIES, "--machine-id", "99999999999999999999"}, "legal is [0,1023]"},
	{{DIRECTORIES, "--machine-id", "5-2"}, "a range runs backward"},
	{{DIRECTORIES, "--machine-id", "1,1"}, "an id is given twice"},
	{{DIRECTORIES, "--machine-id", "1,"}, "legal is [0,1023]"},
	{{DIRECTORIES, "--machine-id", "0-1000"}, "one stream has at most 256"},
	{{DIRECTORIES, "--machine-id", "1", "--layout", ""}, "--layout: layout:"},
	{{DIRECTORIES, "--machine-id", "1", "--layout", "nosuch"}, "nosuch"},
	{{DIRECTORIES, "--machine-id", "1", "--layout", "t41 n10 s14"}, "--layout: layout:"},
	{{DIRECTORIES, "--machine-id", "1", "--layout", "t41 n10 s12 tick=0ms"}, "tick"},
	{{DIRECTORIES, "--machine-id", "1", "--layout", "t20 n10 s12"}, "has no IDs left"},
	{{DIRECTORIES, "--machine-id", "1", "--log-level", "loud"},
	 "--log-level: log_level \"loud\" is unknown: use error, warning, info or debug"},
	{{DIRECTORIES, "--machine-id", "1", "--log-level", ""}, "--log-level: log_level \"\""},
	{{"--machine-id", "1", "--runtime-dir", "", "--state-dir", "DIR/state"},
	 "--runtime-dir: runtime_dir is empty"},
	{{"--machine-id", "1", "--runtime-dir", "DIR/run", "--state-dir", ""},
	 "--state-dir: state_dir is empty"},
	{{"-c", "DIR/nosuch.conf"}, "nosuch.conf: the configuration cannot be read"},
	{{"-c", "DIR"}, "the configuration cannot be read"},
	{{"-c", "DIR/good.conf", "--machine-id", "1"}, "--machine-id: streams are described"},
	{{"-c", "DIR/good.conf", "--layout", "twitter"}, "--layout: streams are described"},
};

/* Each with and without --check-config: a check finds what a start would. */
START_TEST(usage_error_ends_with_2_and_a_sentence)
{
	t_daemon_init(&daemon_now, 0);
	write_file("good.conf", "[stream default]\nlayout = twitter\nmachine_id = 7\n");
	for (size_t i = 0; i < sizeof(usage_errors) / sizeof(usage_errors[0]); i++) {
		struct row row = usage_errors[i];
		char said[T_SAID_BYTES];

		for (int checks = 0; checks < 2; checks++) {
			ck_assert_msg(run_row(&row, said) == 2, "row %zu: %s", i, said);
			ck_assert_msg(strstr(said, row.sentence) != NULL,
				      "row %zu: \"%s\" not in: %s", i, row.sentence, said);
			memmove(&row.arguments[1], &usage_errors[i].arguments[0],
				sizeof(row.arguments) - sizeof(row.arguments[0]));
			row.arguments[0] = "--check-config";
		}
		/* Nothing was begun. */
		ck_assert(!exists(daemon_now.runtime_dir));
		ck_assert(!exists(daemon_now.state_dir));
	}
}
END_TEST

START_TEST(version_and_help_print_and_end_with_0)
{
	static const struct row rows[] = {
		{{"--version"}, "sfd "},
		{{"--help"}, "usage: sfd [options]"},
		{{"--help", "--no-such-flag"}, "--machine-id"},
		{{"--help"}, "--check-config"},
		{{"--help"}, "Exit codes:"},
		{{"--help"}, "Examples:"},
	};
	char said[T_SAID_BYTES];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_msg(run_row(&rows[i], said) == 0, "row %zu: %s", i, said);
		ck_assert_msg(strstr(said, rows[i].sentence) != NULL, "row %zu: %s", i, said);
	}
	(void)run_row(&rows[0], said);
	ck_assert(isdigit((unsigned char)said[strlen("sfd ")]));
}
END_TEST

START_TEST(help_lines_have_80_columns_at_most)
{
	static const struct row help = {{"--help"}, ""};
	char said[T_SAID_BYTES];
	char *rest = said;

	ck_assert_int_eq(run_row(&help, said), 0);
	while (rest) {
		const char *line = strsep(&rest, "\n");

		ck_assert_msg(strlen(line) <= 80, "%s", line);
	}
}
END_TEST

/* ---- configuration ---- */

static const struct {
	const char *text;
	const char *sentence; /* behind the file's name */
} bad_files[] = {
	{"", ": there is no stream"},
	{"[stream a]\nlayout = twitter\n", ":1: stream \"a\" has no machine id"},
	{"[stream a]\nmachine_id = 1\n", ":1: stream \"a\" has no layout"},
	{"[stream a]\nlayout = twitter\nmachine_id = 1\ncolour = red\n",
	 ":4: unknown key \"colour\""},
	{"[daemon]\nport = 1\n[stream a]\nlayout = twitter\nmachine_id = 1\n",
	 ":2: unknown key \"port\""},
	{"[streams a]\n", ":1: unknown section [streams a]"},
	{"layout = twitter\n", ":1: key \"layout\" stands outside a section"},
	{"[stream a]\nlayout = twitter\nmachine_id = 2000\n", ":3: machine_id:"},
	{"[stream a]\nlayout = twitter\nmachine_id = 1\nrunway_ms = 5\n", ":4: runway_ms \"5\""},
	{"[stream a]\nlayout = twitter\nmachine_id = 1\nahead_ms = 99999\n",
	 ":4: ahead_ms \"99999\""},
	{"[stream a]\nlayout = twitter\nmachine_id = 1\nclock_backward = hope\n",
	 ":4: clock_backward \"hope\""},
	{"[stream a]\nlayout = twitter\nmachine_id = 1\nsequence_start = one\n",
	 ":4: sequence_start \"one\""},
	{"[stream a]\nlayout = twitter\nmachine_id = 1\nallow = no-such-user-here\n", ":4: allow:"},
	{"[daemon]\nloop = fast\n[stream a]\nlayout = twitter\nmachine_id = 1\n",
	 ":2: loop \"fast\""},
	{"[daemon]\nlog_level = loud\n[stream a]\nlayout = twitter\nmachine_id = 1\n",
	 ":2: log_level \"loud\""},
	{"[stream a]\nlayout = twitter\nmachine_id = 1\n[stream b]\nlayout = twitter\n"
	 "machine_id = 0-3\n",
	 ":6: machine id 1 is in stream \"a\" and in stream \"b\""},
	{"[stream a]\nlayout = twitter\nmachine_id = 1\nnonsense\n", ":4: this line is neither"},
};

START_TEST(configuration_error_names_file_and_line)
{
	static const struct row rows[2] = {
		{{"-c", "DIR/bad.conf", "--runtime-dir", "DIR/run", "--state-dir", "DIR/state"},
		 ""},
		{{"--check-config", "--config", "DIR/bad.conf"}, ""},
	};

	t_daemon_init(&daemon_now, 0);
	for (size_t i = 0; i < sizeof(bad_files) / sizeof(bad_files[0]); i++) {
		char sentence[256];
		char said[T_SAID_BYTES];

		write_file("bad.conf", bad_files[i].text);
		(void)snprintf(sentence, sizeof(sentence), "%s/bad.conf%s", daemon_now.directory,
			       bad_files[i].sentence);
		for (int k = 0; k < 2; k++) {
			ck_assert_msg(run_row(&rows[k], said) == 2, "row %zu: %s", i, said);
			ck_assert_msg(strstr(said, sentence) != NULL, "row %zu: \"%s\" not in: %s",
				      i, sentence, said);
		}
		ck_assert(!exists(daemon_now.runtime_dir));
	}
}
END_TEST

START_TEST(check_of_a_good_configuration_ends_with_0_and_begins_nothing)
{
	static const struct row rows[] = {
		{{"--check-config", "-c", "DIR/good.conf"}, "valid: 2 streams"},
		{{"--check-config", DIRECTORIES, "--machine-id", "1"}, "valid: 1 stream"},
		{{"--check-config", DIRECTORIES, "--machine-id", "1-3,7", "--layout", "discord"},
		 "valid: 1 stream"},
	};
	char said[T_SAID_BYTES];
	char text[512];

	t_daemon_init(&daemon_now, 0);
	(void)snprintf(text, sizeof(text),
		       "[daemon]\nruntime_dir = %s\nstate_dir = %s\n"
		       "[stream default]\nlayout = twitter\nmachine_id = 7\n"
		       "[stream other]\nlayout = %s\nmachine_id = 8-9\nahead_ms = 100\n",
		       daemon_now.runtime_dir, daemon_now.state_dir, LAYOUT);
	write_file("good.conf", text);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_msg(run_row(&rows[i], said) == 0, "row %zu: %s", i, said);
		ck_assert_msg(strstr(said, rows[i].sentence) != NULL, "row %zu: %s", i, said);
		ck_assert(!exists(daemon_now.runtime_dir));
		ck_assert(!exists(daemon_now.state_dir));
	}
}
END_TEST

/* ---- running ---- */

START_TEST(flags_alone_start_a_stream_default)
{
	char node[16];
	const char *const arguments[] = {"--runtime-dir",
					 daemon_now.runtime_dir,
					 "--state-dir",
					 daemon_now.state_dir,
					 "--machine-id",
					 node,
					 "--layout",
					 "discord",
					 "--log-level",
					 "debug",
					 NULL};
	struct sf_control_stats stats;

	t_daemon_init(&daemon_now, 0);
	(void)snprintf(node, sizeof(node), "%u", daemon_now.machine_id);
	t_daemon_start_with(&daemon_now, arguments);
	t_daemon_stats(&daemon_now, &stats);
	ck_assert_uint_eq(stats.node_count, 1);
	ck_assert_uint_eq(stats.node[0], daemon_now.machine_id);
	ck_assert_uint_eq(stats.layout.worker_bits, 5);
	ck_assert_uint_eq(stats.pid, (uint32_t)daemon_now.pid);
	t_daemon_stop(&daemon_now);
}
END_TEST

static void assert_signal_stops(int signal_number)
{
	t_daemon_run(&daemon_now, LAYOUT, "");
	ck_assert(exists(daemon_now.socket));
	ck_assert_int_eq(kill(daemon_now.pid, signal_number), 0);
	ck_assert_int_eq(t_reap(daemon_now.pid), 0);
	ck_assert(!exists(daemon_now.socket));
	t_daemon_assert_said(&daemon_now, "serving 1 stream in ");
	t_daemon_assert_said(&daemon_now, "stopping on signal");
	t_daemon_assert_said(&daemon_now, "stopped");
}

START_TEST(sigterm_and_sigint_stop_it_with_0)
{
	assert_signal_stops(SIGTERM);
	assert_signal_stops(SIGINT);
}
END_TEST

START_TEST(other_signals_that_users_send_do_not_stop_it)
{
	t_daemon_run(&daemon_now, LAYOUT, "");
	ck_assert_int_eq(kill(daemon_now.pid, SIGPIPE), 0);
	ck_assert_int_eq(kill(daemon_now.pid, SIGXFSZ), 0);
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_clients), 0);
	ck_assert(t_daemon_lives(&daemon_now));
	t_daemon_stop(&daemon_now);
}
END_TEST

START_TEST(socket_and_directories_have_their_modes_whatever_the_umask)
{
	static const mode_t masks[] = {0, 077};
	mode_t before = umask(0);

	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		struct stat status;

		t_daemon_init(&daemon_now, 0);
		t_daemon_configure(&daemon_now, LAYOUT, "");
		(void)umask(masks[i]);
		t_daemon_start(&daemon_now);
		(void)umask(before);
		ck_assert_int_eq(stat(daemon_now.socket, &status), 0);
		ck_assert_uint_eq(status.st_mode & 07777, 0666);
		ck_assert_int_eq(stat(daemon_now.runtime_dir, &status), 0);
		ck_assert_uint_eq(status.st_mode & 07777, geteuid() == 0 ? 0755 : 0700);
		ck_assert_int_eq(stat(daemon_now.state_dir, &status), 0);
		ck_assert_uint_eq(status.st_mode & 07777, 0700);
		t_daemon_stop(&daemon_now);
	}
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		usage_error_ends_with_2_and_a_sentence,
		version_and_help_print_and_end_with_0,
		help_lines_have_80_columns_at_most,
		configuration_error_names_file_and_line,
		check_of_a_good_configuration_ends_with_0_and_begins_nothing,
		flags_alone_start_a_stream_default,
		sigterm_and_sigint_stop_it_with_0,
		other_signals_that_users_send_do_not_stop_it,
		socket_and_directories_have_their_modes_whatever_the_umask,
	};
	const struct t_program program = {.name = "usage",
					  .machine_id = 160,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
