/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/notify.c against the manager's part of the protocols: a datagram socket that reads states
 * and descriptors, and descriptors passed from 3 on.
 */
#include "daemon/notify.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define FIRST_PASSED 3

static char directory[32];
static struct sockaddr_un manager = {.sun_family = AF_UNIX};
static int manager_fd;
static char state[512];
static int state_fd; /* that came with it, or -1 */

static void begin(void)
{
	(void)snprintf(directory, sizeof(directory), "/tmp/sfd-notify.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	(void)snprintf(manager.sun_path, sizeof(manager.sun_path), "%s/notify", directory);
	manager_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(manager_fd, (struct sockaddr *)&manager, sizeof(manager)), 0);
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", manager.sun_path, 1), 0);
}

static void end(void)
{
	(void)close(manager_fd);
	(void)unlink(manager.sun_path);
	(void)rmdir(directory);
}

/** Reads what the manager was told; false: nothing, within `wait_ms`. */
static bool told(int wait_ms)
{
	union {
		char bytes[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = {.iov_base = state, .iov_len = sizeof(state) - 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct pollfd ready = {.fd = manager_fd, .events = POLLIN};
	struct cmsghdr *header;
	ssize_t length;

	if (poll(&ready, 1, wait_ms) <= 0)
		return false;
	length = recvmsg(manager_fd, &message, MSG_CMSG_CLOEXEC);
	ck_assert_int_ge(length, 0);
	state[length] = '\0';
	state_fd = -1;
	for (header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header))
		if (header->cmsg_type == SCM_RIGHTS)
			memcpy(&state_fd, CMSG_DATA(header), sizeof(state_fd));
	return true;
}

static void assert_told(const char *line)
{
	char text[sizeof(state) + 2];
	char wanted[sizeof(state)];

	(void)snprintf(text, sizeof(text), "\n%s\n", state);
	(void)snprintf(wanted, sizeof(wanted), "\n%s\n", line);
	ck_assert_msg(strstr(text, wanted) != NULL, "\"%s\" not in: %s", line, state);
}

/* ---- states ---- */

START_TEST(states_are_told)
{
	char run[] = "/run/sfd";
	struct sfd_config config = {.runtime_dir = run, .stream_count = 2};
	const char *usec;

	sfd_notify_ready(&config);
	ck_assert(told(1000));
	assert_told("READY=1");
	assert_told("STATUS=Serving 2 streams in /run/sfd");
	sfd_notify_reloading();
	ck_assert(told(1000));
	assert_told("RELOADING=1");
	usec = strstr(state, "MONOTONIC_USEC=");
	ck_assert_ptr_nonnull(usec);
	ck_assert_int_gt(strtoll(usec + strlen("MONOTONIC_USEC="), NULL, 10), 0);
	sfd_notify_stopping();
	ck_assert(told(1000));
	assert_told("STOPPING=1");
}
END_TEST

START_TEST(nothing_is_told_without_a_manager)
{
	ck_assert_int_eq(unsetenv("NOTIFY_SOCKET"), 0);
	ck_assert_int_eq(setenv("FDSTORE", "9", 1), 0);
	sfd_notify_stopping();
	ck_assert(!told(0));
	ck_assert(!sfd_notify_has_store());
	ck_assert_int_eq(sfd_notify_store("a.grants", manager_fd), -ENOTCONN);
	ck_assert_int_eq(sfd_notify_store_remove("a.grants"), -ENOTCONN);
}
END_TEST

/* ---- the store ---- */

START_TEST(store_is_there_when_the_manager_says_how_much)
{
	ck_assert_int_eq(unsetenv("FDSTORE"), 0);
	ck_assert(!sfd_notify_has_store());
	ck_assert_int_eq(setenv("FDSTORE", "0", 1), 0);
	ck_assert(!sfd_notify_has_store());
	ck_assert_int_eq(setenv("FDSTORE", "256", 1), 0);
	ck_assert(sfd_notify_has_store());
}
END_TEST

START_TEST(descriptor_is_given_with_its_name)
{
	char long_name[512];
	struct stat given;
	struct stat got;

	ck_assert_int_eq(sfd_notify_store("default.grants", STDIN_FILENO), 0);
	ck_assert(told(1000));
	assert_told("FDSTORE=1");
	assert_told("FDNAME=default.grants");
	/* else the manager would drop it as soon as it hangs up */
	assert_told("FDPOLL=0");
	ck_assert_int_ge(state_fd, 0);
	ck_assert_int_eq(fstat(STDIN_FILENO, &given), 0);
	ck_assert_int_eq(fstat(state_fd, &got), 0);
	ck_assert_uint_eq(given.st_ino, got.st_ino);
	(void)close(state_fd);
	ck_assert_int_eq(sfd_notify_store_remove("default.grants"), 0);
	ck_assert(told(1000));
	assert_told("FDSTOREREMOVE=1");
	assert_told("FDNAME=default.grants");
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	ck_assert_int_eq(sfd_notify_store(long_name, STDIN_FILENO), -ENAMETOOLONG);
	ck_assert_int_eq(sfd_notify_store_remove(long_name), -ENAMETOOLONG);
	ck_assert(!told(0));
}
END_TEST

START_TEST(manager_that_does_not_read_is_waited_for_once)
{
	int error = 0;
	time_t begin;

	/* its queue, then the first message that finds no room there */
	for (int i = 0; error == 0; i++) {
		ck_assert_int_lt(i, 10000);
		error = sfd_notify_store_remove("default.grants");
	}
	ck_assert_int_eq(error, -EAGAIN);
	begin = time(NULL);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(sfd_notify_store("default.grants", STDIN_FILENO), -EAGAIN);
	/* half of what waiting for it each time would take */
	ck_assert_int_lt(time(NULL) - begin, 10);
	while (told(0))
		continue;
	ck_assert_int_eq(sfd_notify_store_remove("default.grants"), 0);
	ck_assert(told(1000));
}
END_TEST

/* ---- descriptors passed ---- */

/** Says so in the environment; they have been put at FIRST_PASSED. */
static void pass(const char *count, const char *names)
{
	char pid[32];

	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	ck_assert_int_eq(setenv("LISTEN_PID", pid, 1), 0);
	ck_assert_int_eq(setenv("LISTEN_FDS", count, 1), 0);
	ck_assert_int_eq(setenv("LISTEN_FDNAMES", names, 1), 0);
}

static int listener(int type, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", directory, name);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	(void)unlink(address.sun_path);
	if (strcmp(name, "deaf") != 0)
		ck_assert_int_eq(listen(fd, 1), 0);
	return fd;
}

START_TEST(passed_descriptors_are_taken_over)
{
	int found[4];
	struct sfd_passed *passed;
	struct stat right;
	struct stat got;
	size_t count;
	int fd;

	/* moved out of the way first: any of them may lie at FIRST_PASSED itself */
	found[0] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 100);
	found[1] = fcntl(listener(SOCK_STREAM, "stream"), F_DUPFD_CLOEXEC, 100);
	found[2] = fcntl(listener(SOCK_SEQPACKET, "deaf"), F_DUPFD_CLOEXEC, 100);
	found[3] = fcntl(listener(SOCK_SEQPACKET, "right"), F_DUPFD_CLOEXEC, 100);
	manager_fd = fcntl(manager_fd, F_DUPFD_CLOEXEC, 100);
	ck_assert_int_eq(fstat(found[3], &right), 0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(dup2(found[i], FIRST_PASSED + i), FIRST_PASSED + i);
	pass("4", "default.grants:other:other:sfd.socket");
	ck_assert_int_eq(sfd_notify_listen_fds(&passed, &count), 0);
	ck_assert_uint_eq(count, 4);
	ck_assert_str_eq(passed[0].name, "default.grants");
	ck_assert_str_eq(passed[3].name, "sfd.socket");
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(passed[i].fd, FIRST_PASSED + i);
		ck_assert_int_eq(fcntl(passed[i].fd, F_GETFD), FD_CLOEXEC);
	}
	ck_assert_ptr_null(getenv("LISTEN_FDS"));
	ck_assert_ptr_null(getenv("LISTEN_PID"));
	ck_assert_ptr_null(getenv("LISTEN_FDNAMES"));
	fd = sfd_passed_take_listener(passed, count);
	ck_assert_int_eq(fstat(fd, &got), 0);
	ck_assert_uint_eq(got.st_ino, right.st_ino);
	ck_assert_int_eq(sfd_passed_take_listener(passed, count), -1);
	sfd_passed_free(passed, count);
	ck_assert_int_eq(fcntl(FIRST_PASSED, F_GETFD), -1); /* closed, since nobody took it */
	ck_assert_int_ge(fcntl(fd, F_GETFD), 0);
	ck_assert_int_eq(sfd_notify_listen_fds(&passed, &count), 0);
	ck_assert_uint_eq(count, 0);
	sfd_passed_free(passed, count);
}
END_TEST

START_TEST(descriptors_of_another_process_are_left_alone)
{
	struct sfd_passed *passed;
	size_t count;

	pass("1", "a");
	ck_assert_int_eq(setenv("LISTEN_PID", "1", 1), 0);
	ck_assert_int_eq(sfd_notify_listen_fds(&passed, &count), 0);
	ck_assert_uint_eq(count, 0);
	ck_assert_ptr_null(passed);
}
END_TEST

/* ---- the watchdog ---- */

static struct sfd_loop *loop;
static struct sfd_stats stats;

static void on_end(struct sfd_request *request, int result)
{
	(void)request;
	(void)result;
	sfd_loop_stop(loop);
}

/** Runs the loop for that long. */
static void run(int64_t ms)
{
	struct sfd_request request = {.done = on_end};

	ck_assert_int_eq(sfd_loop_timeout(loop, ms * 1000000, &request), 0);
	ck_assert_int_eq(sfd_loop_run(loop), 0);
}

START_TEST(watchdog_is_fed_only_while_the_beat_thread_turns)
{
	struct sfd_watchdog *watchdog;
	struct sf_why why;

	ck_assert_int_eq(setenv("WATCHDOG_USEC", "80000", 1), 0);
	ck_assert_int_eq(unsetenv("WATCHDOG_PID"), 0);
	ck_assert_int_eq(sfd_loop_new(SFD_LOOP_AUTO, &loop, &why), 0);
	ck_assert_int_eq(sfd_watchdog_start(loop, &stats, &watchdog), 0);
	ck_assert_ptr_nonnull(watchdog);
	run(100);
	ck_assert(!told(0));
	for (int i = 0; i < 3; i++) {
		sfd_stats_add(&stats, SF_COUNTER_wakeups, 1);
		run(100);
		ck_assert(told(0));
		ck_assert_str_eq(state, "WATCHDOG=1");
		ck_assert(!told(0)); /* one turn, one ping */
	}
	loop = sfd_loop_free(loop);
	ck_assert_ptr_null(sfd_watchdog_free(watchdog));
}
END_TEST

START_TEST(watchdog_does_nothing_unasked)
{
	struct sfd_watchdog *watchdog;

	ck_assert_int_eq(unsetenv("WATCHDOG_USEC"), 0);
	ck_assert_int_eq(sfd_watchdog_start(NULL, &stats, &watchdog), 0);
	ck_assert_ptr_null(watchdog);
	ck_assert_ptr_null(sfd_watchdog_free(watchdog));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		states_are_told,
		nothing_is_told_without_a_manager,
		store_is_there_when_the_manager_says_how_much,
		descriptor_is_given_with_its_name,
		manager_that_does_not_read_is_waited_for_once,
		passed_descriptors_are_taken_over,
		descriptors_of_another_process_are_left_alone,
		watchdog_is_fed_only_while_the_beat_thread_turns,
		watchdog_does_nothing_unasked,
	};
	Suite *suite = suite_create("notify");
	TCase *tcase = tcase_create("notify");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, begin, end);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
