/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * An idle host pays nothing, and still gets fresh IDs: at ten IDs a second sfd never beats, hardly
 * wakes, and each ID carries the current millisecond.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYOUT "t41 n10 s12 epoch=1577836800000"
#define SECONDS 3
#define IDS_PER_SECOND 10
#define SWITCHES_PER_SECOND 12
#define CPU_NS_PER_SECOND (UINT64_C(100000000) / 60)
/* How far the embedded time may stray from the wall, in either direction. */
#define STRAY_NS INT64_C(200000)

static struct t_daemon daemon_now;

static uint64_t read_switches(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[128];
	uint64_t switches = 0;

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file)) {
		const char *number = strchr(line, ':');

		if (number && strstr(line, "ctxt_switches"))
			switches += strtoull(number + 1, NULL, 10);
	}
	(void)fclose(file);
	return switches;
}

/** Context switches of all threads of sfd so far. */
static uint64_t count_switches(void)
{
	char path[320];
	const struct dirent *entry;
	uint64_t switches = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)daemon_now.pid);
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)daemon_now.pid,
			       entry->d_name);
		switches += read_switches(path);
	}
	(void)closedir(dir);
	return switches;
}

/** An ID's millisecond is one that the wall clock showed during the call. */
static void assert_is_fresh(int (*take)(struct sf_cursor *, uint64_t *), struct sf_cursor *cursor,
			    const struct sf_layout *layout)
{
	struct sf_parts parts;
	int64_t before_ns = t_wall_ns();
	int64_t after_ns;
	uint64_t id;

	ck_assert_int_eq(take(cursor, &id), 0);
	after_ns = t_wall_ns();
	ck_assert_int_eq(sf_decompose(layout, id, &parts, NULL), 0);
	ck_assert_int_ge(parts.unix_ms, (before_ns - STRAY_NS) / 1000000);
	ck_assert_int_le(parts.unix_ms, (after_ns + STRAY_NS) / 1000000);
}

static int take_by_filling(struct sf_cursor *cursor, uint64_t *ret_id)
{
	return sf_fill(cursor, ret_id, 1);
}

START_TEST(ten_ids_a_second_are_fresh_and_do_not_make_sfd_beat)
{
	int (*const ways[])(struct sf_cursor *, uint64_t *) = {sf_next, sf_next_ordered,
							       take_by_filling};
	struct sf_client *client;
	struct sf_cursor *cursor;
	uint64_t switches;

	t_daemon_run(&daemon_now, LAYOUT, "");
	client = t_open(daemon_now.socket, 0);
	cursor = t_cursor(client);
	/* The first beat says that sfd idles; from then on the word stands still. */
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_beats) == 1, 10000);
	switches = count_switches();
	for (int i = 0; i < SECONDS * IDS_PER_SECOND; i++) {
		assert_is_fresh(ways[i % 3], cursor, sf_client_layout(client));
		t_nap_ms(1000 / IDS_PER_SECOND);
	}
	switches = count_switches() - switches;
	(void)printf("%llu context switches in %d s\n", (unsigned long long)switches, SECONDS);
	if (T_ASAN || T_TSAN)
		t_skip(__func__, "a sanitizer may have a thread of its own: switches not judged");
	else
		ck_assert_uint_le(switches, (uint64_t)SWITCHES_PER_SECOND * SECONDS);
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_beats), 1);
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_beating), 0);
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_ids_claimed),
			  (uint64_t)SECONDS * IDS_PER_SECOND);
	sf_cursor_close(cursor);
	sf_close(client);
	t_daemon_stop(&daemon_now);
}
END_TEST

START_TEST(beat_follows_the_demand_and_ids_stay_fresh)
{
	struct sf_client *client;
	struct sf_cursor *cursor;
	const struct sf_layout *layout;

	t_daemon_run(&daemon_now, LAYOUT, "");
	client = t_open(daemon_now.socket, 0);
	cursor = t_cursor(client);
	layout = sf_client_layout(client);
	for (int round = 0; round < 2; round++) {
		(void)t_warm(cursor, 1);
		ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_beating), 1);
		/* A range is in hand all the while: it must not outlive its tick. */
		for (int i = 0; i < 20; i++) {
			(void)t_warm(cursor, 1);
			t_nap_ms(3);
			assert_is_fresh(sf_next, cursor, layout);
		}
		T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_beating) == 0, 10000);
		assert_is_fresh(sf_next, cursor, layout);
	}
	sf_cursor_close(cursor);
	sf_close(client);
	t_daemon_stop(&daemon_now);
}
END_TEST

/** CPU time of all threads of sfd so far. */
static uint64_t read_cpu_ns(void)
{
	char path[320];
	const struct dirent *entry;
	uint64_t sum = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)daemon_now.pid);
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)) != NULL) {
		char text[64] = "";
		FILE *file;

		(void)snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat",
			       (int)daemon_now.pid, entry->d_name);
		file = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
		if (!file)
			continue;
		if (fgets(text, sizeof(text), file))
			sum += strtoull(text, NULL, 10);
		(void)fclose(file);
	}
	(void)closedir(dir);
	return sum;
}

/* Below 0.1 s a minute, whichever loop the configuration names. */
START_TEST(fc73_idle_sfd_takes_next_to_no_cpu_time)
{
	static const char *const loops[] = {"auto", "poll"};

	if (T_ASAN || T_TSAN) {
		t_skip(__func__, "a sanitizer has costs of its own");
		return;
	}
	for (int i = 0; i < 2; i++) {
		struct sf_control_stats stats;
		uint64_t least_ns = UINT64_MAX;

		t_daemon_init(&daemon_now, 0);
		daemon_now.loop = loops[i];
		t_daemon_configure(&daemon_now, LAYOUT, "");
		t_daemon_start(&daemon_now);
		t_daemon_stats(&daemon_now, &stats);
		if (i == 1)
			ck_assert_uint_eq(stats.loop, 1);
		/* The least of some seconds: a busy host makes each wake-up dearer. */
		for (int k = 0; k < 5 && least_ns > CPU_NS_PER_SECOND; k++) {
			uint64_t before_ns = read_cpu_ns();

			t_nap_ms(1000);
			before_ns = read_cpu_ns() - before_ns;
			least_ns = before_ns < least_ns ? before_ns : least_ns;
		}
		ck_assert_uint_le(least_ns, CPU_NS_PER_SECOND);
		t_daemon_stop(&daemon_now);
	}
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		ten_ids_a_second_are_fresh_and_do_not_make_sfd_beat,
		beat_follows_the_demand_and_ids_stay_fresh,
		fc73_idle_sfd_takes_next_to_no_cpu_time,
	};
	const struct t_program program = {.name = "idle",
					  .machine_id = 144,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
