/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * An sfd that was started as root: what it gives up, whom it becomes, and what a hand-over keeps.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/process.h"

#include <dirent.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAYOUT "t41 n10 s12 epoch=1577836800000"
#define NOBODY 65534

static struct t_daemon daemon_now;
static char filters[16]; /* how many the first image had */

/** "NAME:\tVALUE" of a thread's status; empty when there is none. */
static const char *read_field(const char *thread, const char *name)
{
	static char line[256];
	char path[320];
	const size_t length = strlen(name);
	const char *value = "";
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)daemon_now.pid, thread);
	file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	while (*value == '\0' && fgets(line, sizeof(line), file))
		if (strncmp(line, name, length) == 0 && line[length] == ':')
			value = line + length + 1 + strspn(line + length + 1, "\t ");
	(void)fclose(file);
	line[strcspn(line, "\n")] = '\0';
	return value;
}

/** Each thread's field is this. */
static void assert_field(const char *name, const char *expected)
{
	char path[64];
	const struct dirent *entry;
	unsigned threads = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)daemon_now.pid);
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		threads++;
		ck_assert_str_eq(read_field(entry->d_name, name), expected);
	}
	(void)closedir(dir);
	ck_assert_uint_ge(threads, 2);
}

/** The number of the first thread. */
static const char *leader(void)
{
	static char text[16];

	(void)snprintf(text, sizeof(text), "%d", (int)daemon_now.pid);
	return text;
}

static void assert_works(void)
{
	(void)t_take_one(daemon_now.socket);
}

/* ---- what it gives up ---- */

static bool may_raise_limits(void)
{
	const struct rlimit limit = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
	struct rlimit kept[2];
	bool may = getrlimit(RLIMIT_MEMLOCK, &kept[0]) == 0 &&
		   getrlimit(RLIMIT_RTPRIO, &kept[1]) == 0 &&
		   setrlimit(RLIMIT_MEMLOCK, &limit) == 0 && setrlimit(RLIMIT_RTPRIO, &limit) == 0;

	return may && setrlimit(RLIMIT_MEMLOCK, &kept[0]) == 0 &&
	       setrlimit(RLIMIT_RTPRIO, &kept[1]) == 0;
}

/* Two capabilities stand for limits that may not be raised: CAP_IPC_LOCK, CAP_SYS_NICE. */
START_TEST(sfd_of_root_becomes_the_configured_user_and_keeps_no_capability)
{
	static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
	const char *most = may_raise_limits() ? "0000000000000000" : "0000000000804000";

	if (!t_has_root(__func__))
		return;
	t_daemon_run_with(&daemon_now, "user = nobody\n", LAYOUT);
	assert_field("Uid", "65534\t65534\t65534\t65534");
	assert_field("Gid", "65534\t65534\t65534\t65534");
	assert_field("Groups", "65534 ");
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		assert_field(sets[i], most);
	assert_field("NoNewPrivs", "1");
	t_daemon_assert_said(&daemon_now, "running as user nobody (65534)");
	assert_works();
	t_daemon_stop(&daemon_now);
}
END_TEST

static pid_t beat_thread(void)
{
	char path[64];
	const struct dirent *entry;
	pid_t thread = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)daemon_now.pid);
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.' &&
		    strcmp(read_field(entry->d_name, "Name"), "sfd-beat") == 0)
			thread = (pid_t)strtol(entry->d_name, NULL, 10);
	(void)closedir(dir);
	ck_assert_int_gt(thread, 0);
	return thread;
}

static void limit_memory_and_priority(void)
{
	const struct rlimit none = {0};

	T_CHECK(setrlimit(RLIMIT_MEMLOCK, &none) == 0);
	T_CHECK(setrlimit(RLIMIT_RTPRIO, &none) == 0);
}

/* By limits, or by capabilities where limits cannot be raised; an exec leaves both alone. */
START_TEST(user_of_root_has_locked_memory_and_a_punctual_beat)
{
	if (!t_has_root(__func__))
		return;
	if (prctl(PR_CAPBSET_READ, CAP_SYS_NICE) != 1 ||
	    prctl(PR_CAPBSET_READ, CAP_IPC_LOCK) != 1) {
		t_skip(__func__, "root is not allowed either here");
		return;
	}
	t_daemon_init(&daemon_now, 0);
	daemon_now.lines = "user = nobody\n";
	daemon_now.before_exec = limit_memory_and_priority;
	t_daemon_configure(&daemon_now, LAYOUT, "");
	t_daemon_start(&daemon_now);
	ck_assert_int_eq(sched_getscheduler(beat_thread()), SCHED_FIFO | SCHED_RESET_ON_FORK);
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_memory_locked), 1);
	if (T_ASAN + T_TSAN == 0) /* a sanitizer does not lock */
		ck_assert_uint_gt(strtoul(read_field(leader(), "VmLck"), NULL, 10), 0);
	t_daemon_stop(&daemon_now);
}
END_TEST

static void become_nobody(void)
{
	t_become(NOBODY);
}

static void become_nobody_without_memory(void)
{
	limit_memory_and_priority();
	become_nobody();
}

static void become_nobody_with_some_memory(void)
{
	const struct rlimit some = {.rlim_cur = 4u << 20, .rlim_max = 4u << 20};

	T_CHECK(setrlimit(RLIMIT_MEMLOCK, &some) == 0);
	become_nobody();
}

START_TEST(memory_that_cannot_be_locked_is_said_once_and_harms_nothing)
{
	void (*const before[])(void) = {become_nobody_without_memory,
					become_nobody_with_some_memory};
	const char *const sentences[] = {
		"the rings are not locked in memory: RLIMIT_MEMLOCK is 0 KiB",
		"only the rings are locked in memory: RLIMIT_MEMLOCK is 4096 KiB"};

	if (!t_has_root(__func__))
		return;
	if (T_ASAN || T_TSAN) {
		t_skip(__func__, "a sanitizer takes the place of mlock()");
		return;
	}
	for (int i = 0; i < 2; i++) {
		t_daemon_init(&daemon_now, 0);
		ck_assert_int_eq(chown(daemon_now.directory, NOBODY, NOBODY), 0);
		daemon_now.before_exec = before[i];
		t_daemon_configure(&daemon_now, LAYOUT, "allow = *\n");
		t_daemon_start(&daemon_now);
		t_daemon_assert_said(&daemon_now, sentences[i]);
		ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_memory_locked), 0);
		assert_works();
		t_daemon_stop(&daemon_now);
	}
}
END_TEST

START_TEST(filter_is_in_force_in_all_threads_unless_switched_off)
{
	t_daemon_run_with(&daemon_now, "seccomp = no\n", LAYOUT);
	assert_field("Seccomp", "0");
	t_daemon_stop(&daemon_now);
	t_daemon_run_with(&daemon_now, "seccomp = yes\n", LAYOUT);
	if (T_ASAN || T_TSAN)
		t_daemon_assert_said(&daemon_now, "no seccomp filter: a sanitizer");
	else
		assert_field("Seccomp", "2");
	assert_field("NoNewPrivs", "1");
	assert_works();
	t_daemon_stop(&daemon_now);
}
END_TEST

/** A hand-over to the same program. */
static void upgrade(void)
{
	const struct sf_control_upgrade request = {.head = {.magic = SF_CONTROL_MAGIC,
							    .version = SF_CONTROL_VERSION,
							    .type = SF_CONTROL_UPGRADE,
							    .length = sizeof(request)}};
	struct sf_control_upgraded reply = {.head = {0}};
	int fd = t_connect(daemon_now.socket);

	ck_assert_uint_eq(t_exchange(fd, &request, sizeof(request), &reply, sizeof(reply)),
			  sizeof(reply));
	ck_assert_int_eq(reply.head.status, 0);
	(void)close(fd);
}

static void assert_confined(void)
{
	struct t_daemon second;
	char said[T_SAID_BYTES];

	assert_field("NoNewPrivs", "1");
	if (T_ASAN + T_TSAN == 0) {
		assert_field("Seccomp", "2");
		/* Those that were there before sfd are counted, too; so not 1, but the same. */
		ck_assert_str_eq(read_field(leader(), "Seccomp_filters"), filters);
	}
	/* Its machine id is locked still, which closing the file of machine ids would end. */
	t_daemon_init(&second, 0);
	t_daemon_configure(&second, LAYOUT, "");
	ck_assert_int_eq(t_daemon_start_refused(&second, said), 1);
	ck_assert_msg(strstr(said, "is in use on this host by another sfd") != NULL, "%s", said);
}

START_TEST(hand_over_keeps_user_filter_and_locks)
{
	static const char *const lines[] = {"user = root\n", "user = nobody\n"};

	if (!t_has_root(__func__))
		return;
	for (int i = 0; i < 2; i++) {
		t_daemon_run_with(&daemon_now, lines[i], LAYOUT);
		(void)snprintf(filters, sizeof(filters), "%s",
			       read_field(leader(), "Seccomp_filters"));
		for (int k = 0; k < 3; k++) {
			upgrade();
			assert_confined();
		}
		assert_field("Uid", i == 0 ? "0\t0\t0\t0" : "65534\t65534\t65534\t65534");
		if (prctl(PR_CAPBSET_READ, CAP_SYS_NICE) == 1)
			ck_assert_int_eq(sched_getscheduler(beat_thread()),
					 SCHED_FIFO | SCHED_RESET_ON_FORK);
		if (prctl(PR_CAPBSET_READ, CAP_IPC_LOCK) == 1)
			ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_memory_locked),
					  1);
		assert_works();
		t_daemon_stop(&daemon_now);
	}
}
END_TEST

/* ---- who it becomes ---- */

/** Empty directories over those of the host, in the program's own mount namespace. */
static void hide_directories_of_the_host(void)
{
	ck_assert_int_eq(mount("tmpfs", "/run", "tmpfs", 0, "size=1m"), 0);
	ck_assert_int_eq(mount("tmpfs", "/var/lib", "tmpfs", 0, "size=1m"), 0);
	ck_assert_int_eq(mkdir("/run/lock", 0777), 0);
}

static void show_directories_of_the_host(void)
{
	ck_assert_int_eq(umount2("/var/lib", MNT_DETACH), 0);
	ck_assert_int_eq(umount2("/run", MNT_DETACH), 0);
}

/** A configuration that leaves the directories to sfd. */
static void configure_user(const char *user)
{
	FILE *file = fopen(daemon_now.config, "we");

	ck_assert_ptr_nonnull(file);
	(void)fprintf(file,
		      "[daemon]\nuser = %s\n[stream default]\nlayout = " LAYOUT
		      "\nmachine_id = %u\n",
		      user, daemon_now.machine_id);
	ck_assert_int_eq(fclose(file), 0);
}

static void forget_home(void)
{
	T_CHECK(unsetenv("XDG_RUNTIME_DIR") == 0);
}

/* The directories of sfd's new user would be others, but nobody asked for others. */
START_TEST(reload_with_another_user_is_refused_for_that_alone)
{
	static const char *const users[] = {"root", "no-such-user"};
	static const char *const sentences[] = {
		"the configuration was not reloaded: user cannot change from nobody to root while "
		"sfd runs: restart sfd",
		"sfd.conf:2: user \"no-such-user\" does not exist"};

	if (!t_has_root(__func__))
		return;
	if (!t_may_mount()) {
		t_skip(__func__, "it needs directories of its own");
		return;
	}
	hide_directories_of_the_host();
	t_daemon_init(&daemon_now, 0);
	(void)snprintf(daemon_now.socket, sizeof(daemon_now.socket), "/run/sfd/sfd.sock");
	daemon_now.before_exec = forget_home;
	configure_user("nobody");
	t_daemon_start(&daemon_now);
	for (int i = 0; i < 2; i++) {
		configure_user(users[i]);
		ck_assert_int_eq(kill(daemon_now.pid, SIGHUP), 0);
		T_WAIT_UNTIL(strstr(t_daemon_said(&daemon_now), sentences[i]) != NULL, 10000);
		ck_assert_msg(!strstr(t_daemon_said(&daemon_now), "_DIR") &&
				      !strstr(t_daemon_said(&daemon_now), "-dir"),
			      "%s", t_daemon_said(&daemon_now));
	}
	configure_user("nobody");
	upgrade();
	t_daemon_stop(&daemon_now);
	show_directories_of_the_host();
}
END_TEST

START_TEST(sfd_that_stays_root_says_so_unless_told_to)
{
	if (!t_has_root(__func__))
		return;
	t_daemon_run_with(&daemon_now, "user = root\n", LAYOUT);
	assert_field("Uid", "0\t0\t0\t0");
	ck_assert_ptr_null(strstr(t_daemon_said(&daemon_now), "running as"));
	t_daemon_stop(&daemon_now);
	if (getpwnam("sfd")) {
		t_daemon_run_with(&daemon_now, "", LAYOUT);
		t_daemon_assert_said(&daemon_now, "running as user sfd");
	} else {
		t_daemon_run_with(&daemon_now, "", LAYOUT);
		assert_field("Uid", "0\t0\t0\t0");
		t_daemon_assert_said(&daemon_now, "running as root, since there is no user sfd: "
						  "make it (systemd-sysusers");
	}
	t_daemon_stop(&daemon_now);
}
END_TEST

START_TEST(unknown_user_is_wrong_usage)
{
	char said[T_SAID_BYTES];

	t_daemon_init(&daemon_now, 0);
	daemon_now.lines = "user = no-such-user\n";
	t_daemon_configure(&daemon_now, LAYOUT, "");
	ck_assert_int_eq(t_daemon_start_refused(&daemon_now, said), 2);
	ck_assert_ptr_nonnull(strstr(said, "sfd.conf:5: user \"no-such-user\" does not exist"));
}
END_TEST

/* An sfd that runs as its user already, as after a hand-over. */
START_TEST(sfd_of_the_configured_user_changes_nothing)
{
	if (!t_has_root(__func__))
		return;
	t_daemon_init(&daemon_now, 0);
	ck_assert_int_eq(chown(daemon_now.directory, NOBODY, NOBODY), 0);
	daemon_now.lines = "user = nobody\n";
	daemon_now.before_exec = become_nobody;
	t_daemon_configure(&daemon_now, LAYOUT, "allow = *\n");
	t_daemon_start(&daemon_now);
	assert_field("Uid", "65534\t65534\t65534\t65534");
	assert_field("NoNewPrivs", "1");
	ck_assert_ptr_null(strstr(t_daemon_said(&daemon_now), "running as"));
	assert_works();
	t_daemon_stop(&daemon_now);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		sfd_of_root_becomes_the_configured_user_and_keeps_no_capability,
		user_of_root_has_locked_memory_and_a_punctual_beat,
		memory_that_cannot_be_locked_is_said_once_and_harms_nothing,
		filter_is_in_force_in_all_threads_unless_switched_off,
		hand_over_keeps_user_filter_and_locks,
		reload_with_another_user_is_refused_for_that_alone,
		sfd_that_stays_root_says_so_unless_told_to,
		unknown_user_is_wrong_usage,
		sfd_of_the_configured_user_changes_nothing,
	};
	const struct t_program program = {.name = "privilege",
					  .machine_id = 576,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
