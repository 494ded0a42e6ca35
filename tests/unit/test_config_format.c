/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/config_stream.c and config_nodes.c: formats, what goes with each and what does not, the
 * machine ids of hound streams, and the policies for a clock that goes back.
 */
#include "daemon/config.h"
#include "daemon/hardware.h"
#include "tests/support/config.h"

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MULTICAST (UINT64_C(1) << 40)

/* ---- good files ---- */

static const struct {
	const char *name;
	unsigned format;
	uint32_t runway_ms;
} wide[] = {
	{"ulid", SF_FORMAT_ULID, SFD_RUNWAY_MS_DEFAULT},
	{"uuid7", SF_FORMAT_UUID7, SFD_RUNWAY_MS_DEFAULT},
	{"objectid", SF_FORMAT_OBJECTID, 4000}, /* four of its ticks */
};

START_TEST(load_of_a_wide_format_needs_nothing_else)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "[stream a]\nformat = %s\n", wide[_i].name);
	ck_assert_int_eq(t_config_load(text), 0);
	ck_assert_str_eq(t_config_said, "");
	ck_assert_uint_eq(t_config.stream[0].layout.format, wide[_i].format);
	ck_assert_str_eq(sf_layout_name(&t_config.stream[0].layout), wide[_i].name);
	ck_assert_uint_eq(t_config.stream[0].node_count, 0);
	ck_assert_uint_eq(t_config.stream[0].runway_ms, wide[_i].runway_ms);
	ck_assert_uint_eq(t_config.stream[0].ahead_ms, 0);
	ck_assert_int_eq(t_config.stream[0].clock_backward, SFD_CLOCK_SLEW);
}
END_TEST

START_TEST(load_of_format_hound_takes_a_machine_id)
{
	ck_assert_int_eq(t_config_load("[stream a]\nmachine_id = 02:42:AC:11:00:02\n"
				       "format = hound\nahead_ms = 10\nallow = *\n"),
			 0);
	ck_assert_uint_eq(t_config.stream[0].layout.format, SF_FORMAT_HOUND);
	ck_assert_uint_eq(t_config.stream[0].machine, 0x0242ac110002);
	ck_assert_uint_eq(t_config.stream[0].node_count, 0);
}
END_TEST

START_TEST(load_of_format_snowflake_is_as_without)
{
	struct sfd_stream_config without;

	ck_assert_int_eq(t_config_load(T_STREAM_A), 0);
	without = t_config.stream[0];
	t_config_deinit();
	ck_assert_int_eq(t_config_load(T_STREAM_A "format = snowflake\n"), 0);
	ck_assert_mem_eq(&t_config.stream[0].layout, &without.layout, sizeof(without.layout));
	ck_assert_uint_eq(t_config.stream[0].node[0], without.node[0]);
	ck_assert_uint_eq(t_config.stream[0].node_count, without.node_count);
}
END_TEST

START_TEST(load_of_several_wide_streams_is_fine)
{
	ck_assert_int_eq(t_config_load(T_STREAM_A "[stream b]\nformat = ulid\n"
						  "[stream c]\nformat = ulid\n"
						  "[stream d]\nformat = uuid7\n"
						  "[stream e]\nformat = hound\nmachine_id = 0x1\n"
						  "[stream f]\nformat = hound\nmachine_id = 0x2\n"),
			 0);
	ck_assert_str_eq(t_config_said, "");
	ck_assert_uint_eq(t_config.stream_count, 6);
}
END_TEST

static const struct {
	const char *name;
	enum sfd_clock_policy policy;
} policies[] = {
	{"slew", SFD_CLOCK_SLEW},
	{"wait", SFD_CLOCK_WAIT},
	{"refuse", SFD_CLOCK_REFUSE},
	{"ahead", SFD_CLOCK_AHEAD},
};

START_TEST(load_takes_every_policy)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "%sclock_backward = %s\n",
		       _i % 2 ? T_STREAM_A : "[stream a]\nformat = uuid7\n", policies[_i / 2].name);
	ck_assert_int_eq(t_config_load(text), 0);
	ck_assert_str_eq(t_config_said, "");
	ck_assert_int_eq(t_config.stream[0].clock_backward, policies[_i / 2].policy);
}
END_TEST

/* ---- wrong files: one problem, one line ---- */

#define HOUND "[stream a]\nformat = hound\nmachine_id = 0x1\n"

static const struct {
	const char *text;
	const char *sentence; /* with its place */
} wrong_files[] = {
	/* format */
	{"[stream a]\nformat = uuid\n",
	 "sfd.conf:2: format \"uuid\" is unknown: use snowflake, ulid, uuid7, objectid or hound"},
	{"[stream a]\nformat =\n", "sfd.conf:2: format \"\" is unknown: use snowflake, ulid"},
	{"[stream a]\nformat = ULID\n", "sfd.conf:2: format \"ULID\" is unknown"},
	{"[stream a]\nformat = ulid7\n", "sfd.conf:2: format \"ulid7\" is unknown"},
	{"[stream a]\nformat = twitter\n", "sfd.conf:2: format \"twitter\" is unknown"},
	/* what is legal elsewhere is then unknown */
	{"[stream a]\nformat = x\nlayout = y\nmachine_id = z\n", "sfd.conf:2: format \"x\""},
	{"[stream a]\nformat = ulid\nformat = ulid\n",
	 "sfd.conf:3: format is given twice, first in line 2"},
	/* what has no meaning */
	{"[stream a]\nformat = ulid\nlayout = twitter\n",
	 "sfd.conf:3: layout has no meaning in format ulid: leave it out"},
	{"[stream a]\nlayout = rubbish\nformat = uuid7\n",
	 "sfd.conf:2: layout has no meaning in format uuid7: leave it out"},
	{HOUND "layout = twitter\n",
	 "sfd.conf:4: layout has no meaning in format hound: leave it out"},
	{"[stream a]\nformat = ulid\nmachine_id = 1\n",
	 "sfd.conf:3: machine_id has no meaning in format ulid: leave it out"},
	{"[stream a]\nformat = uuid7\nmachine_id =\n",
	 "sfd.conf:3: machine_id has no meaning in format uuid7: leave it out"},
	{"[stream a]\nformat = objectid\nmachine_id = hardware\n",
	 "sfd.conf:3: machine_id has no meaning in format objectid: leave it out"},
	{"[stream a]\nformat = ulid\nsequence_start = zero\n",
	 "sfd.conf:3: sequence_start has no meaning in format ulid: leave it out"},
	{"[stream a]\nformat = objectid\nsequence_start = x\n",
	 "sfd.conf:3: sequence_start has no meaning in format objectid: leave it out"},
	{HOUND "sequence_start = spread\n",
	 "sfd.conf:4: sequence_start has no meaning in format hound: leave it out"},
	/* snowflake needs what it always needed */
	{"[stream a]\nformat = snowflake\nmachine_id = 1\n",
	 "sfd.conf:1: stream \"a\" has no layout: write layout = twitter"},
	{"[stream a]\nformat = snowflake\nlayout = twitter\n",
	 "sfd.conf:1: stream \"a\" has no machine id, and there is no default machine id"},
	/* a format in the place of a layout */
	{"[stream a]\nlayout = ulid\nmachine_id = 1\n",
	 "sfd.conf:2: layout \"ulid\" is a format: write format = ulid instead"},
	{"[stream a]\nlayout = hound\nformat = snowflake\nmachine_id = 1\n",
	 "sfd.conf:2: layout \"hound\" is a format: write format = hound instead"},
	/* machine ids of hound */
	{"[stream a]\nformat = hound\n",
	 "sfd.conf:1: stream \"a\" has no machine id: write machine_id = hardware for this host's "
	 "address, or an address such as 02:42:ac:11:00:02"},
	{"[stream a]\nformat = hound\nmachine_id =\n",
	 "sfd.conf:3: machine_id: \"\": the machine id of a hound stream is hardware (this host's "
	 "address), an address such as 02:42:ac:11:00:02, or 0x and up to 12 hexadecimal digits"},
	{"[stream a]\nformat = hound\nmachine_id = 7\n",
	 "sfd.conf:3: machine_id: \"7\": the machine id of a hound stream is"},
	{HOUND "[stream b]\nformat = hound\nmachine_id = 00:00:00:00:00:01\n",
	 "sfd.conf:6: streams \"a\" and \"b\" have the same machine id of format hound: give each "
	 "one of its own"},
	/* long ticks */
	{"[stream a]\nformat = objectid\nahead_ms = 999\n",
	 "sfd.conf:3: ahead_ms 999 is less than a tick of 1000 ms: give 0 or whole ticks"},
	{"[stream a]\nformat = objectid\nrunway_ms = 3999\n",
	 "sfd.conf:3: runway_ms 3999 is less than 4 ticks of 1000 ms: set it to 4000 or more"},
	{"[stream a]\nlayout = sonyflake\nmachine_id = 1\nahead_ms = 9\n",
	 "sfd.conf:4: ahead_ms 9 is less than a tick of 10 ms: give 0 or whole ticks"},
	/* clock_backward */
	{"[stream a]\nformat = ulid\nclock_backward = Wait\n",
	 "sfd.conf:3: clock_backward \"Wait\" is unknown: use slew, wait, refuse or ahead"},
	{HOUND "clock_backward = slew,wait\n",
	 "sfd.conf:4: clock_backward \"slew,wait\" is unknown: use slew, wait, refuse or ahead"},
};

START_TEST(load_of_a_file_with_one_problem_names_its_line)
{
	ck_assert_int_eq(t_config_load(wrong_files[_i].text), -EINVAL);
	t_config_assert_said(wrong_files[_i].sentence);
	ck_assert_msg(t_config_said_lines() == 1, "more than one line for \"%s\": %s",
		      wrong_files[_i].text, t_config_said);
	ck_assert_ptr_null(t_config.stream);
}
END_TEST

START_TEST(load_of_several_problems_of_a_wide_stream_reports_all)
{
	ck_assert_int_eq(t_config_load("[stream a]\nformat = ulid\nlayout = twitter\n"
				       "machine_id = 1\nsequence_start = zero\n"
				       "clock_backward = x\nahead_ms = y\n"),
			 -EINVAL);
	ck_assert_uint_eq(t_config_said_lines(), 5);
}
END_TEST

/* ---- machine ids of 48 bits ---- */

static const struct {
	const char *text;
	uint64_t machine;
} good_machines[] = {
	{"00:00:00:00:00:00", 0},
	{"02:42:ac:11:00:02", 0x0242ac110002},
	{"02:42:AC:11:00:02", 0x0242ac110002},
	{"ff:FF:ff:FF:ff:FF", 0xffffffffffff},
	{"0x0", 0},
	{"0x1", 1},
	{"0x242ac110002", 0x0242ac110002},
	{"0x0242AC110002", 0x0242ac110002},
	{"0xffffffffffff", 0xffffffffffff},
};

START_TEST(machine_parse_reads_addresses_and_numbers)
{
	uint64_t machine = 77;
	struct sf_why why = {"old"};

	ck_assert_int_eq(sfd_machine_parse(good_machines[_i].text, &machine, &why), 0);
	ck_assert_str_eq(why.text, "");
	ck_assert_uint_eq(machine, good_machines[_i].machine);
}
END_TEST

static const char *const wrong_machines[] = {
	"",
	" ",
	"7",
	"0x",
	"0X1",
	"x1",
	"0x1234567890abc",
	"0xg",
	"0x1 ",
	" 0x1",
	"0x-1",
	"02:42:ac:11:00",
	"02:42:ac:11:00:0",
	"02:42:ac:11:00:02:",
	"02:42:ac:11:00:02:03",
	"02:42:ac:11:00:0g",
	"02:42:ac:11:00-02",
	"02-42-ac-11-00-02",
	"2:42:ac:11:0:2",
	"0242ac110002",
	":2:42:ac:11:00:02",
	"02:42:ac:11:00:02 ",
	"Hardware",
	"hardware ",
	"02:42:ac:11:00:0\xc3\xa9",
};

START_TEST(machine_parse_of_wrong_text_says_what_is_legal)
{
	uint64_t machine = 77;
	struct sf_why why;

	ck_assert_int_eq(sfd_machine_parse(wrong_machines[_i], &machine, &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, "hardware (this host's address)"));
	ck_assert_ptr_nonnull(strstr(why.text, "02:42:ac:11:00:02"));
	ck_assert_ptr_nonnull(strstr(why.text, "12 hexadecimal digits"));
	ck_assert_uint_eq(machine, 77);
	ck_assert_int_eq(sfd_machine_parse(wrong_machines[_i], &machine, NULL), -EINVAL);
}
END_TEST

START_TEST(machine_parse_of_hardware_gives_48_bits)
{
	uint64_t machine = 0;
	uint64_t again = 0;
	struct sf_why why;

	ck_assert_int_eq(sfd_machine_parse("hardware", &machine, &why), 0);
	ck_assert_uint_ne(machine, 0);
	ck_assert_uint_eq(machine >> 48, 0);
	ck_assert_int_eq(sfd_hardware_machine(&again, &why), 0);
	/* an address stays; random bits say that they are none */
	ck_assert(machine == again || ((machine & MULTICAST) != 0 && (again & MULTICAST) != 0));
}
END_TEST

START_TEST(machine_parse_of_hardware_without_an_interface_is_random)
{
	uint64_t machine[8] = {0};
	struct sf_why why;

	if (unshare(CLONE_NEWNET) < 0) {
		(void)fprintf(stderr, "skipped: no network namespace of one's own here\n");
		return;
	}
	for (size_t i = 0; i < COUNT(machine); i++) {
		ck_assert_int_eq(sfd_machine_parse("hardware", &machine[i], &why), 0);
		ck_assert_uint_eq(machine[i] & MULTICAST, MULTICAST);
		ck_assert_uint_eq(machine[i] >> 48, 0);
		for (size_t k = 0; k < i; k++)
			ck_assert_uint_ne(machine[i], machine[k]);
	}
}
END_TEST

/* ---- flags ---- */

START_TEST(load_of_flags_makes_a_stream_of_the_format)
{
	ck_assert_int_eq(t_config_load_flags(&(struct sfd_flags){.format = wide[_i].name}, NULL),
			 0);
	ck_assert_str_eq(t_config_said, "");
	ck_assert_str_eq(t_config.stream[0].name, "default");
	ck_assert_uint_eq(t_config.stream[0].layout.format, wide[_i].format);
}
END_TEST

START_TEST(load_of_flags_of_format_hound_takes_the_machine_id)
{
	ck_assert_int_eq(
		t_config_load_flags(&(struct sfd_flags){.format = "hound", .machine_id = "0xabc"},
				    NULL),
		0);
	ck_assert_uint_eq(t_config.stream[0].machine, 0xabc);
}
END_TEST

/* The default layout is that of format snowflake, said or not. */
START_TEST(load_of_flags_of_format_snowflake_is_as_without)
{
	ck_assert_int_eq(
		t_config_load_flags(&(struct sfd_flags){.format = "snowflake", .machine_id = "4"},
				    NULL),
		0);
	ck_assert_str_eq(t_config_said, "");
	ck_assert_str_eq(sf_layout_name(&t_config.stream[0].layout), "twitter");
	t_config_deinit();
	ck_assert_int_eq(t_config_load_flags(&(struct sfd_flags){.format = "snowflake",
								 .machine_id = "4",
								 .layout = "discord"},
					     NULL),
			 0);
	ck_assert_str_eq(sf_layout_name(&t_config.stream[0].layout), "discord");
}
END_TEST

static const struct {
	struct sfd_flags flags;
	const char *sentence;
} wrong_flags[] = {
	{{.format = "uuid"}, "sfd: error: --format: format \"uuid\" is unknown: use snowflake,"},
	{{.format = ""}, "sfd: error: --format: format \"\" is unknown"},
	{{.format = "ulid", .layout = "twitter"},
	 "sfd: error: --layout: layout has no meaning in format ulid: leave it out"},
	{{.format = "ulid", .machine_id = "1"},
	 "sfd: error: --machine-id: machine_id has no meaning in format ulid: leave it out"},
	{{.format = "hound"}, "stream \"default\" has no machine id: write machine_id = hardware"},
	{{.format = "hound", .machine_id = "1"},
	 "sfd: error: --machine-id: machine_id: \"1\": the"},
	{{.layout = "ulid", .machine_id = "1"},
	 "sfd: error: --layout: layout \"ulid\" is a format: write format = ulid instead"},
};

START_TEST(load_of_wrong_flags_names_the_flag)
{
	ck_assert_int_eq(t_config_load_flags(&wrong_flags[_i].flags, NULL), -EINVAL);
	t_config_assert_said(wrong_flags[_i].sentence);
	ck_assert_uint_eq(t_config_said_lines(), 1);
}
END_TEST

START_TEST(fc_33_format_flag_beside_a_file_is_refused)
{
	const struct sfd_flags flags = {.config_file = "sfd.conf", .format = "ulid"};

	ck_assert_int_eq(t_config_load_flags(&flags, T_STREAM_A), -EINVAL);
	t_config_assert_said("sfd: error: --format");
	ck_assert_uint_eq(t_config_said_lines(), 1);
}
END_TEST

START_TEST(load_of_a_file_without_streams_names_both_ways)
{
	ck_assert_int_eq(t_config_load("[daemon]\n"), -EINVAL);
	t_config_assert_said("add a section [stream NAME] with layout and machine_id, or with "
			     "format");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config_format");
	TCase *files = tcase_create("files");
	TCase *machines = tcase_create("machines");
	TCase *flags = tcase_create("flags");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(files, t_config_init, t_config_deinit);
	tcase_add_loop_test(files, load_of_a_wide_format_needs_nothing_else, 0, COUNT(wide));
	tcase_add_test(files, load_of_format_hound_takes_a_machine_id);
	tcase_add_test(files, load_of_format_snowflake_is_as_without);
	tcase_add_test(files, load_of_several_wide_streams_is_fine);
	tcase_add_loop_test(files, load_takes_every_policy, 0, 2 * COUNT(policies));
	tcase_add_loop_test(files, load_of_a_file_with_one_problem_names_its_line, 0,
			    COUNT(wrong_files));
	tcase_add_test(files, load_of_several_problems_of_a_wide_stream_reports_all);
	tcase_add_test(files, load_of_a_file_without_streams_names_both_ways);
	suite_add_tcase(suite, files);
	tcase_add_loop_test(machines, machine_parse_reads_addresses_and_numbers, 0,
			    COUNT(good_machines));
	tcase_add_loop_test(machines, machine_parse_of_wrong_text_says_what_is_legal, 0,
			    COUNT(wrong_machines));
	tcase_add_test(machines, machine_parse_of_hardware_gives_48_bits);
	tcase_add_test(machines, machine_parse_of_hardware_without_an_interface_is_random);
	suite_add_tcase(suite, machines);
	tcase_add_checked_fixture(flags, t_config_init, t_config_deinit);
	tcase_add_loop_test(flags, load_of_flags_makes_a_stream_of_the_format, 0, COUNT(wide));
	tcase_add_test(flags, load_of_flags_of_format_hound_takes_the_machine_id);
	tcase_add_test(flags, load_of_flags_of_format_snowflake_is_as_without);
	tcase_add_loop_test(flags, load_of_wrong_flags_names_the_flag, 0, COUNT(wrong_flags));
	tcase_add_test(flags, fc_33_format_flag_beside_a_file_is_refused);
	suite_add_tcase(suite, flags);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
