/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What sfd keeps over a restart: after every kind of end, and with every kind of loss or damage of
 * its two records, IDs lie above all that were ever given; or sfd refuses, and says what to do.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/mark_file.h"
#include "tests/support/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAYOUT "t41 n10 s12 epoch=1577836800000"
#define CLIENT_TIMEOUT_NS INT64_C(30000000000)

static struct t_daemon daemon_now;

static uint64_t take(unsigned count)
{
	struct sf_client *client = t_open(daemon_now.socket, CLIENT_TIMEOUT_NS);
	struct sf_cursor *cursor = t_cursor(client);
	uint64_t id = 0;

	for (unsigned i = 0; i < count; i++)
		id = t_next(cursor);
	sf_cursor_close(cursor);
	sf_close(client);
	return id;
}

/** Starts sfd and takes IDs. @return the last of them */
static uint64_t start_and_take(unsigned count)
{
	t_daemon_start(&daemon_now);
	return take(count);
}

static uint64_t tick_of(uint64_t id)
{
	return id >> 22;
}

/** The tick that the wall clock shows. */
static uint64_t wall_tick(void)
{
	return (uint64_t)(t_wall_ns() / 1000000 - INT64_C(1577836800000));
}

/* ---- ends ---- */

START_TEST(start_after_a_kill_gives_larger_ids_fc_13)
{
	uint64_t last = 0;

	t_daemon_init(&daemon_now, 0);
	t_daemon_configure(&daemon_now, LAYOUT, "runway_ms = 300\n");
	for (int i = 0; i < 10; i++) {
		uint64_t id = start_and_take(1);

		ck_assert_uint_gt(id, last);
		last = take(20000);
		t_daemon_kill(&daemon_now);
	}
}
END_TEST

START_TEST(start_after_a_stop_gives_larger_ids_with_a_small_gap)
{
	uint64_t last;
	uint64_t id;

	t_daemon_init(&daemon_now, 0);
	t_daemon_configure(&daemon_now, LAYOUT, "runway_ms = 60000\n");
	last = start_and_take(10000);
	t_daemon_stop(&daemon_now);
	id = start_and_take(1);
	ck_assert_uint_gt(id, last);
	/* The minute of runway was given back, so the next tick is not a minute away. */
	ck_assert_uint_lt(tick_of(id) - tick_of(last), 20000);
	/* And it is one that the clock has reached. */
	ck_assert_uint_le(tick_of(id), wall_tick() + 1);
	t_daemon_stop(&daemon_now);
}
END_TEST

START_TEST(start_without_the_runtime_directory_goes_by_the_durable_mark)
{
	uint64_t last;
	uint64_t id;

	t_daemon_init(&daemon_now, 0);
	t_daemon_configure(&daemon_now, LAYOUT, "");
	/* After a stop the durable mark is exact. */
	last = start_and_take(10000);
	t_daemon_stop(&daemon_now);
	t_remove_tree(daemon_now.runtime_dir);
	id = start_and_take(1);
	ck_assert_uint_gt(id, last);
	ck_assert_uint_lt(tick_of(id) - tick_of(last), 20000);
	/* After a kill it lies seconds ahead, and IDs begin there at once. */
	t_daemon_kill(&daemon_now);
	t_remove_tree(daemon_now.runtime_dir);
	id = start_and_take(1);
	ck_assert_uint_gt(tick_of(id), wall_tick());
	t_daemon_stop(&daemon_now);
}
END_TEST

START_TEST(start_with_an_older_copy_of_the_mark_gives_larger_ids_fc_85)
{
	struct t_mark_file old;
	uint64_t last;

	t_daemon_run(&daemon_now, LAYOUT, "");
	(void)take(1000);
	t_mark_file_read(&daemon_now, &old);
	t_daemon_stop(&daemon_now);
	last = start_and_take(20000);
	t_daemon_kill(&daemon_now);
	t_mark_file_write(&daemon_now, &old);
	ck_assert_uint_gt(start_and_take(1), last);
	t_daemon_stop(&daemon_now);
}
END_TEST

/* ---- refusals ---- */

static void make_empty(struct t_mark_file *file)
{
	file->length = 0;
}

static void make_zero(struct t_mark_file *file)
{
	memset(file->byte, 0, sizeof(file->byte));
}

static void cut_short(struct t_mark_file *file)
{
	file->length = 600;
}

static void flip_both(struct t_mark_file *file)
{
	file->byte[30] ^= 1;
	file->byte[SFD_MARK_PLACE_BYTES + 30] ^= 1;
}

static void make_text(struct t_mark_file *file)
{
	static const char text[] = "machine_id = 7\n";

	memcpy(file->byte, text, sizeof(text));
	file->length = sizeof(text) - 1;
}

static const struct {
	void (*damage)(struct t_mark_file *file);
	const char *sentence;
} damages[] = {
	{make_empty, "default.mark is empty; restore it, or remove it once you are sure"},
	{make_zero, "default.mark is empty; restore it, or remove it once you are sure"},
	{cut_short, "default.mark holds no whole record; restore it, or remove it"},
	{flip_both, "default.mark holds no whole record; restore it, or remove it"},
	{make_text, "default.mark is not a mark file of sfd; restore it, or remove it"},
};

START_TEST(start_with_a_spoilt_mark_is_refused_and_leaves_it_fc_85)
{
	struct t_mark_file good;
	uint64_t last;

	t_daemon_run(&daemon_now, LAYOUT, "");
	last = take(1000);
	t_daemon_stop(&daemon_now);
	t_mark_file_read(&daemon_now, &good);
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		char said[T_SAID_BYTES];
		struct t_mark_file bad = good;
		struct t_mark_file after;

		damages[i].damage(&bad);
		t_mark_file_write(&daemon_now, &bad);
		ck_assert_int_eq(t_daemon_start_refused(&daemon_now, said), 1);
		ck_assert_msg(strstr(said, damages[i].sentence) != NULL, "row %zu: %s", i, said);
		t_mark_file_read(&daemon_now, &after);
		ck_assert_uint_eq(after.length, bad.length);
		ck_assert_mem_eq(after.byte, bad.byte, bad.length);
	}
	t_mark_file_write(&daemon_now, &good);
	ck_assert_uint_gt(start_and_take(1), last);
	t_daemon_stop(&daemon_now);
}
END_TEST

static void put_nothing(const char *path)
{
	(void)path;
}

static void put_text(const char *path)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	(void)fputs("not a record\n", file);
	ck_assert_int_eq(fclose(file), 0);
}

static void put_directory(const char *path)
{
	ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void put_link(const char *path)
{
	ck_assert_int_eq(symlink("/dev/null", path), 0);
}

/* The record of this boot is only a help: whatever lies there, the durable mark is enough. */
START_TEST(start_with_a_spoilt_runtime_record_gives_larger_ids)
{
	void (*const put[])(const char *) = {put_nothing, put_text, put_link};
	const char *path;
	uint64_t last;
	uint64_t id;

	t_daemon_run(&daemon_now, LAYOUT, "");
	path = t_path(daemon_now.runtime_dir, "default.runtime");
	last = take(1000);
	for (size_t i = 0; i < sizeof(put) / sizeof(put[0]); i++) {
		t_daemon_stop(&daemon_now);
		ck_assert_int_eq(unlink(path), 0);
		put[i](path);
		id = start_and_take(1000);
		ck_assert_uint_gt(id, last);
		last = id;
	}
	t_daemon_stop(&daemon_now);
}
END_TEST

/* What cannot be put aside is refused with its name. */
START_TEST(start_with_directories_in_the_way_is_refused)
{
	char said[T_SAID_BYTES];

	t_daemon_init(&daemon_now, 0);
	t_daemon_configure(&daemon_now, LAYOUT, "");
	ck_assert_int_eq(mkdir(daemon_now.state_dir, 0700), 0);
	put_directory(t_path(daemon_now.state_dir, "default.mark"));
	ck_assert_int_eq(t_daemon_start_refused(&daemon_now, said), 1);
	ck_assert_msg(strstr(said, "default.mark") != NULL, "%s", said);
	ck_assert_int_eq(rmdir(t_path(daemon_now.state_dir, "default.mark")), 0);
	put_directory(t_path(daemon_now.runtime_dir, "default.runtime"));
	ck_assert_int_eq(t_daemon_start_refused(&daemon_now, said), 1);
	ck_assert_msg(strstr(said, "default.runtime") != NULL, "%s", said);
}
END_TEST

START_TEST(start_with_another_layout_for_the_machine_id_is_refused_fc_62)
{
	char said[T_SAID_BYTES];

	t_daemon_run(&daemon_now, LAYOUT, "");
	(void)take(1);
	t_daemon_stop(&daemon_now);
	t_daemon_configure(&daemon_now, "t41 n9 s13 epoch=1577836800000", "");
	ck_assert_int_eq(t_daemon_start_refused(&daemon_now, said), 1);
	ck_assert_msg(strstr(said, "had layout t41 n10 s12") != NULL, "%s", said);
}
END_TEST

static bool has_said(const char *part)
{
	return strstr(t_daemon_said(&daemon_now), part) != NULL;
}

/* What a reload refuses and points to: for the clients that stay, the stream goes on. */
START_TEST(restart_with_another_machine_id_goes_on_above_and_keeps_the_mark)
{
	struct sf_client *client;
	struct sf_cursor *cursor;
	uint64_t last = 0;
	char kept[32];

	t_daemon_run(&daemon_now, LAYOUT, "");
	client = t_open(daemon_now.socket, CLIENT_TIMEOUT_NS);
	cursor = t_cursor(client);
	for (int round = 0; round < 4; round++) {
		last = t_next(cursor);
		(void)snprintf(kept, sizeof(kept), "default.%u.mark", daemon_now.machine_id++);
		t_daemon_configure(&daemon_now, LAYOUT, "");
		ck_assert_int_eq(kill(daemon_now.pid, SIGHUP), 0);
		T_WAIT_UNTIL(has_said("while sfd runs: restart sfd: the IDs go on above the last "
				      "ones, and the mark of the old ids is kept"),
			     10000);
		if (round % 2)
			t_daemon_kill(&daemon_now);
		else
			t_daemon_stop(&daemon_now);
		ck_assert_int_eq(truncate(daemon_now.log, 0), 0);
		ck_assert_uint_gt(start_and_take(1), last);
		ck_assert_uint_gt(t_next(cursor), last);
		ck_assert_int_eq(access(t_path(daemon_now.state_dir, kept), F_OK), 0);
	}
	sf_cursor_close(cursor);
	sf_close(client);
	t_daemon_stop(&daemon_now);
}
END_TEST

START_TEST(start_without_directories_makes_them)
{
	t_daemon_init(&daemon_now, 0);
	(void)snprintf(daemon_now.state_dir, sizeof(daemon_now.state_dir), "%s/a/b/state",
		       daemon_now.directory);
	t_daemon_configure(&daemon_now, LAYOUT, "");
	(void)start_and_take(1);
	t_daemon_stop(&daemon_now);
	ck_assert_int_eq(access(t_path(daemon_now.state_dir, "default.mark"), F_OK), 0);
}
END_TEST

START_TEST(start_with_a_read_only_state_directory_is_refused_fc_85)
{
	char said[T_SAID_BYTES];
	uint64_t last;

	if (!t_may_mount()) {
		t_skip(__func__, "needs the right to mount");
		return;
	}
	t_daemon_run(&daemon_now, LAYOUT, "");
	last = take(1000);
	t_daemon_stop(&daemon_now);
	ck_assert_int_eq(mount(daemon_now.state_dir, daemon_now.state_dir, NULL, MS_BIND, NULL), 0);
	ck_assert_int_eq(
		mount(NULL, daemon_now.state_dir, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), 0);
	ck_assert_int_eq(t_daemon_start_refused(&daemon_now, said), 1);
	ck_assert_msg(strstr(said, "Read-only file system") != NULL, "%s", said);
	ck_assert_msg(strstr(said, daemon_now.state_dir) != NULL, "%s", said);
	ck_assert_int_eq(umount2(daemon_now.state_dir, MNT_DETACH), 0);
	ck_assert_uint_gt(start_and_take(1), last);
	t_daemon_stop(&daemon_now);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		start_after_a_kill_gives_larger_ids_fc_13,
		start_after_a_stop_gives_larger_ids_with_a_small_gap,
		start_without_the_runtime_directory_goes_by_the_durable_mark,
		start_with_an_older_copy_of_the_mark_gives_larger_ids_fc_85,
		start_with_a_spoilt_mark_is_refused_and_leaves_it_fc_85,
		start_with_a_spoilt_runtime_record_gives_larger_ids,
		start_with_directories_in_the_way_is_refused,
		start_with_another_layout_for_the_machine_id_is_refused_fc_62,
		restart_with_another_machine_id_goes_on_above_and_keeps_the_mark,
		start_without_directories_makes_them,
		start_with_a_read_only_state_directory_is_refused_fc_85,
	};
	const struct t_program program = {.name = "state",
					  .machine_id = 64,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
