/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfd killed under load, and then a record of it lost or damaged: the clients that still live on
 * its runway and those of the next sfd share no ID all the same.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/load.h"
#include "tests/support/mark_file.h"
#include "tests/support/process.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LAYOUT "t41 n10 s12 epoch=1577836800000"
#define RUNWAY "runway_ms = 1000\n"

static struct t_daemon daemon_now;

static void remove_runtime_dir(void)
{
	t_remove_tree(daemon_now.runtime_dir);
}

static void remove_state_dir(void)
{
	t_remove_tree(daemon_now.state_dir);
}

static void remove_mark(void)
{
	ck_assert_int_eq(unlink(t_path(daemon_now.state_dir, "default.mark")), 0);
}

static void flip_newest_record(void)
{
	struct t_mark_file file;

	t_mark_file_read(&daemon_now, &file);
	t_mark_file_flip_newest(&file);
	t_mark_file_write(&daemon_now, &file);
}

static void cut_mark_in_half(void)
{
	ck_assert_int_eq(
		truncate(t_path(daemon_now.state_dir, "default.mark"), SFD_MARK_PLACE_BYTES), 0);
}

static void move_runtime_dir(void)
{
	(void)snprintf(daemon_now.runtime_dir, sizeof(daemon_now.runtime_dir), "%s/run2",
		       daemon_now.directory);
	(void)snprintf(daemon_now.socket, sizeof(daemon_now.socket),
		       "%s/run2/" SF_CONTROL_SOCKET_NAME, daemon_now.directory);
	t_daemon_configure(&daemon_now, LAYOUT, RUNWAY);
}

/*
 * The worst moment to lose a record: clients still live on the runway of the killed sfd while
 * others take IDs from the next one.
 */
static void lose_under_load(void (*lose)(void))
{
	struct t_load *load;
	uint64_t before;

	t_daemon_run(&daemon_now, LAYOUT, RUNWAY);
	load = t_load_start(&daemon_now, 2);
	t_daemon_kill(&daemon_now);
	lose();
	t_daemon_start(&daemon_now);
	t_load_add(load, &daemon_now, 2);
	before = t_load_taken(load, 3);
	T_WAIT_UNTIL(t_load_taken(load, 3) > before + 100000, 20000);
	t_load_stop(load);
	t_daemon_stop(&daemon_now);
}

START_TEST(start_after_a_kill_without_runtime_directory_repeats_no_id)
{
	lose_under_load(remove_runtime_dir);
}
END_TEST

START_TEST(start_after_a_kill_in_another_runtime_directory_repeats_no_id)
{
	lose_under_load(move_runtime_dir);
}
END_TEST

START_TEST(start_after_a_kill_without_mark_repeats_no_id_fc_85)
{
	lose_under_load(remove_mark);
}
END_TEST

START_TEST(start_after_a_kill_without_state_directory_repeats_no_id_fc_85)
{
	lose_under_load(remove_state_dir);
}
END_TEST

START_TEST(start_after_a_kill_with_a_bit_flipped_repeats_no_id_fc_85)
{
	lose_under_load(flip_newest_record);
	t_daemon_assert_said(&daemon_now, "damaged");
}
END_TEST

START_TEST(start_after_a_kill_with_half_a_mark_repeats_no_id_fc_85)
{
	lose_under_load(cut_mark_in_half);
}
END_TEST

static void lose_runtime_dir_and_flip_newest_record(void)
{
	remove_runtime_dir();
	flip_newest_record();
}

START_TEST(start_after_a_kill_with_a_bit_flipped_and_no_runtime_directory_repeats_no_id_fc_85)
{
	lose_under_load(lose_runtime_dir_and_flip_newest_record);
}
END_TEST

/* A record of this boot that is older than the mark: another sfd has run on the state since. */
START_TEST(start_with_the_runtime_directory_of_an_earlier_run_repeats_no_id)
{
	char earlier[sizeof(daemon_now.runtime_dir)];
	char earlier_socket[sizeof(daemon_now.socket)];
	struct t_load *load;

	t_daemon_run(&daemon_now, LAYOUT, RUNWAY);
	t_daemon_stop(&daemon_now);
	memcpy(earlier, daemon_now.runtime_dir, sizeof(earlier));
	memcpy(earlier_socket, daemon_now.socket, sizeof(earlier_socket));
	move_runtime_dir();
	t_daemon_start(&daemon_now);
	load = t_load_start(&daemon_now, 2);
	t_daemon_kill(&daemon_now);
	memcpy(daemon_now.runtime_dir, earlier, sizeof(earlier));
	memcpy(daemon_now.socket, earlier_socket, sizeof(earlier_socket));
	t_daemon_configure(&daemon_now, LAYOUT, RUNWAY);
	t_daemon_start(&daemon_now);
	t_load_add(load, &daemon_now, 2);
	t_nap_ms(300);
	t_load_stop(load);
	t_daemon_stop(&daemon_now);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		start_after_a_kill_without_runtime_directory_repeats_no_id,
		start_after_a_kill_in_another_runtime_directory_repeats_no_id,
		start_after_a_kill_without_mark_repeats_no_id_fc_85,
		start_after_a_kill_without_state_directory_repeats_no_id_fc_85,
		start_after_a_kill_with_a_bit_flipped_repeats_no_id_fc_85,
		start_after_a_kill_with_half_a_mark_repeats_no_id_fc_85,
		start_after_a_kill_with_a_bit_flipped_and_no_runtime_directory_repeats_no_id_fc_85,
		start_with_the_runtime_directory_of_an_earlier_run_repeats_no_id,
	};
	const struct t_program program = {.name = "loss",
					  .machine_id = 176,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
