/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Clients that are killed and stopped at any moment, and files that vanish from under a running
 * sfd: whoever is left goes on, and no ID comes twice.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/load.h"
#include "tests/support/process.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAYOUT "t41 n10 s12 epoch=1577836800000"
#define BLOCKED_MAX_NS INT64_C(5000000000)

static struct t_daemon daemon_now;

static bool has_gone_on(const struct t_load *load, const uint64_t *before, int count)
{
	for (int i = 0; i < count; i++)
		if (t_load_taken(load, i) <= before[i])
			return false;
	return true;
}

static void assert_clients_go_on(const struct t_load *load, int count)
{
	uint64_t before[T_LOAD_CLIENTS_MAX];

	for (int i = 0; i < count; i++)
		before[i] = t_load_taken(load, i);
	T_WAIT_UNTIL(has_gone_on(load, before, count), 10000);
}

START_TEST(clients_killed_at_any_moment_harm_nobody_fc_64)
{
	enum {
		CLIENTS = 8,
		SECONDS = 5,
		PAUSE_MS = 20,
		STOPPED = CLIENTS
	};
	unsigned short seed[3] = {(unsigned short)t_wall_ns(), 64, 0x330e};
	int64_t end_ns = t_mono_ns() + SECONDS * INT64_C(1000000000);
	struct t_load *load;
	unsigned kills = 0;

	(void)printf("seed %u\n", seed[0]);
	t_daemon_run(&daemon_now, LAYOUT, "");
	load = t_load_start(&daemon_now, CLIENTS + 1);
	/* One more is stopped for all that time, wherever it is, and killed in the end. */
	ck_assert_int_eq(kill(load->pid[STOPPED], SIGSTOP), 0);
	while (t_mono_ns() < end_ns) {
		t_nap_ms(PAUSE_MS);
		t_load_replace(load, (int)(nrand48(seed) % CLIENTS));
		kills++;
	}
	assert_clients_go_on(load, CLIENTS);
	t_load_replace(load, STOPPED);
	assert_clients_go_on(load, CLIENTS + 1);
	ck_assert_int_lt(t_load_longest_ns(load), BLOCKED_MAX_NS);
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_clients) == CLIENTS + 1, 10000);
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_slots_spoilt), 0);
	t_load_stop(load);
	(void)printf("%u clients killed\n", kills);
	t_daemon_stop(&daemon_now);
}
END_TEST

/** Whether a process has a file of a directory open. */
static bool has_open(pid_t pid, const char *directory)
{
	char path[320];
	char target[256];
	const struct dirent *entry;
	bool found = false;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)) != NULL) {
		ssize_t length;

		(void)snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)pid, entry->d_name);
		length = readlink(path, target, sizeof(target) - 1);
		target[length > 0 ? length : 0] = '\0';
		found |= strstr(target, directory) != NULL;
	}
	(void)closedir(dir);
	return found;
}

/** Whether a process has a file of a directory mapped. */
static bool has_mapped(pid_t pid, const char *directory)
{
	char line[512];
	bool found = false;
	FILE *maps;

	(void)snprintf(line, sizeof(line), "/proc/%d/maps", (int)pid);
	maps = fopen(line, "re");
	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps))
		found |= strstr(line, directory) != NULL;
	(void)fclose(maps);
	return found;
}

static int count_in_log(const char *part)
{
	int count = 0;

	for (const char *at = t_daemon_said(&daemon_now); (at = strstr(at, part)) != NULL; at++)
		count++;
	return count;
}

/** For the `nth` time; and whoever comes finds sfd there. */
static void assert_socket_is_made_anew(int nth)
{
	struct sf_control_stats stats;

	T_WAIT_UNTIL(count_in_log("was removed and is made anew") == nth, 10000);
	t_daemon_stats(&daemon_now, &stats);
}

START_TEST(files_removed_under_a_running_sfd_stop_no_client_fc_66)
{
	enum {
		CLIENTS = 2
	};
	char said[T_SAID_BYTES];
	struct t_load *load;

	t_daemon_run(&daemon_now, LAYOUT, "");
	load = t_load_start(&daemon_now, CLIENTS);
	/* Nothing of ours lies where a clean-up may remove it: the rings have no names. */
	ck_assert(has_mapped(daemon_now.pid, "memfd:sfd:"));
	ck_assert(has_mapped(load->pid[0], "memfd:sfd:"));
	ck_assert(!has_mapped(daemon_now.pid, "/dev/shm"));
	ck_assert(!has_mapped(load->pid[0], "/dev/shm"));
	ck_assert(!has_open(daemon_now.pid, "/dev/shm"));
	ck_assert(!has_open(load->pid[0], "/dev/shm"));
	ck_assert_int_eq(unlink(daemon_now.socket), 0);
	assert_clients_go_on(load, CLIENTS);
	assert_socket_is_made_anew(1);
	ck_assert_int_eq(unlink(daemon_now.socket), 0);
	assert_socket_is_made_anew(2);
	t_remove_tree(daemon_now.runtime_dir);
	assert_clients_go_on(load, CLIENTS);
	/* The directory is not sfd's to make: in general it may not write to the parent. */
	T_WAIT_UNTIL(strstr(t_daemon_said(&daemon_now), "new clients cannot attach"), 10000);
	ck_assert_int_eq(mkdir(daemon_now.runtime_dir, 0755), 0);
	assert_socket_is_made_anew(3);
	ck_assert_int_eq(unlink(daemon_now.socket), 0);
	assert_socket_is_made_anew(4);
	t_remove_tree(daemon_now.runtime_dir);
	/* Its state and its machine id are still its own. */
	ck_assert_int_eq(t_daemon_start_refused(&daemon_now, said), 1);
	ck_assert_msg(strstr(said, "in use by another sfd") != NULL, "%s", said);
	ck_assert(t_daemon_lives(&daemon_now));
	t_nap_ms(200);
	assert_clients_go_on(load, CLIENTS);
	/* A stop is as clean as ever, and the next sfd goes on above. */
	t_daemon_stop(&daemon_now);
	t_daemon_start(&daemon_now);
	assert_clients_go_on(load, CLIENTS);
	t_load_stop(load);
	t_daemon_stop(&daemon_now);
}
END_TEST

/* ---- hostile clients ---- */

/* Whoever may attach may write the claims half: what comes of it stays inside the stream. */
static int spoil_claims(void *argument)
{
	struct sf_client *client = t_open(argument, 0);
	struct sf_cursor *cursor = t_cursor(client);
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned writable = 0;

	T_CHECK(maps != NULL);
	(void)t_next(cursor);
	while (fgets(line, sizeof(line), maps)) {
		char *rest;
		unsigned long from = strtoul(line, &rest, 16);
		unsigned long to = strtoul(rest + 1, &rest, 16);

		if (!strstr(line, "memfd:sfd:") || rest[2] != 'w')
			continue;
		memset((void *)from, 0xff, to - from); /* NOLINT(performance-no-int-to-ptr) */
		writable++;
	}
	(void)fclose(maps);
	return writable == 1 ? 0 : 1;
}

START_TEST(client_that_overwrites_the_claims_does_not_harm_sfd)
{
	t_daemon_run(&daemon_now, LAYOUT, "runway_ms = 200\n");
	ck_assert_int_eq(t_reap(t_child(spoil_claims, daemon_now.socket)), 0);
	/* All slots are published anew within a turn of the ring; the damage is counted. */
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_slots_spoilt) > 0, 10000);
	ck_assert(t_daemon_lives(&daemon_now));
	t_daemon_stop(&daemon_now);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		clients_killed_at_any_moment_harm_nobody_fc_64,
		files_removed_under_a_running_sfd_stop_no_client_fc_66,
		client_that_overwrites_the_claims_does_not_harm_sfd,
	};
	const struct t_program program = {.name = "chaos",
					  .machine_id = 112,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
