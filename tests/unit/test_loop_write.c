/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Durable writes on the control loop, and more at once than a ring holds. The same tests run over
 * both backends.
 */
#include "tests/support/loop_fixture.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int temporary_file(void)
{
	const char *directory = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe): one thread */
	int fd = open(directory != NULL ? directory : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	return fd;
}

START_TEST(write_sync_result_is_readable)
{
	int fd = temporary_file();
	char buffer[11] = {0};
	T_NOTED(written);

	t_set_up(_i);
	ck_assert_int_eq(sfd_loop_write_sync(t_loop, fd, "0123456789", 10, 0, &written.request), 0);
	ck_assert_int_eq(written.count, 0);
	t_run(1);
	ck_assert_int_eq(written.result[0], 0);
	ck_assert_int_eq(sfd_loop_write_sync(t_loop, fd, "ab", 2, 4, &written.request), 0);
	t_run(1);
	ck_assert_int_eq(written.result[1], 0);
	t_run_quietly(); /* exactly one completion for the pair */
	ck_assert_int_eq(pread(fd, buffer, 11, 0), 10);
	ck_assert_str_eq(buffer, "0123ab6789");
	ck_assert_int_eq(close(fd), 0);
	t_tear_down();
}
END_TEST

START_TEST(write_sync_failure_gives_the_cause)
{
	struct rlimit limit = {.rlim_cur = 4, .rlim_max = RLIM_INFINITY};
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int file = temporary_file();
	T_NOTED(written);

	t_set_up(_i);
	ck_assert_int_eq(sfd_loop_write_sync(t_loop, full, "ab", 2, 0, &written.request), 0);
	t_run(1);
	ck_assert_int_eq(written.result[0], -ENOSPC);
	/* Written, but there is nothing to sync. */
	ck_assert_int_eq(sfd_loop_write_sync(t_loop, null, "ab", 2, 0, &written.request), 0);
	t_run(1);
	ck_assert_int_eq(written.result[1], -EINVAL);
	/* A short write: the limit cuts it. */
	ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(sfd_loop_write_sync(t_loop, file, "0123456789", 10, 0, &written.request),
			 0);
	t_run(1);
	ck_assert_int_eq(written.result[2], -EIO);
	limit.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	(void)close(full);
	(void)close(null);
	(void)close(file);
	ck_assert_int_eq(sfd_loop_write_sync(t_loop, file, "ab", 2, 0, &written.request), 0);
	t_run(1);
	ck_assert_int_eq(written.result[3], -EBADF);
	t_run_quietly();
	t_tear_down();
}
END_TEST

START_TEST(cancel_of_writes_completes_each_once)
{
	struct t_noted written[50];
	int fd = temporary_file();

	t_set_up(_i);
	for (int i = 0; i < 50; i++) {
		t_noted_init(&written[i], t_note);
		ck_assert_int_eq(sfd_loop_write_sync(t_loop, fd, "x", 1, i, &written[i].request),
				 0);
	}
	t_run(1);
	for (int i = 0; i < 50; i++)
		sfd_loop_cancel(t_loop, &written[i].request);
	t_run(49);
	t_run_quietly();
	for (int i = 0; i < 50; i++) {
		ck_assert_int_eq(written[i].count, 1);
		ck_assert(written[i].result[0] == 0 || written[i].result[0] == -ECANCELED);
		ck_assert(sfd_request_is_idle(&written[i].request));
	}
	ck_assert_int_eq(close(fd), 0);
	t_tear_down();
}
END_TEST

START_TEST(free_waits_for_writes_that_have_begun)
{
	struct t_noted written[50];
	int fd = temporary_file();

	t_set_up(_i);
	for (int i = 0; i < 50; i++) {
		t_noted_init(&written[i], t_note);
		ck_assert_int_eq(sfd_loop_write_sync(t_loop, fd, "x", 1, i, &written[i].request),
				 0);
	}
	t_run(1);
	t_tear_down();
	ck_assert_int_eq(t_completions, 1);
	for (int i = 0; i < 50; i++)
		ck_assert(sfd_request_is_idle(&written[i].request));
	ck_assert_int_eq(close(fd), 0);
}
END_TEST

#define MANY 300

/* More requests at once than the ring has entries; the writes need two each. */
START_TEST(many_requests_at_once_all_complete)
{
	static struct t_noted timeout[MANY];
	static struct t_noted written[MANY];
	int fd = temporary_file();
	struct stat status;

	t_set_up(_i);
	for (int i = 0; i < MANY; i++) {
		t_noted_init(&timeout[i], t_note);
		t_noted_init(&written[i], t_note);
		ck_assert_int_eq(sfd_loop_timeout(t_loop, T_MS, &timeout[i].request), 0);
		ck_assert_int_eq(sfd_loop_write_sync(t_loop, fd, "x", 1, i, &written[i].request),
				 0);
	}
	t_run(2 * MANY);
	t_run_quietly();
	for (int i = 0; i < MANY; i++) {
		ck_assert_int_eq(timeout[i].count, 1);
		ck_assert_int_eq(timeout[i].result[0], 0);
		ck_assert_int_eq(written[i].count, 1);
		ck_assert_int_eq(written[i].result[0], 0);
	}
	ck_assert_int_eq(fstat(fd, &status), 0);
	ck_assert_int_eq(status.st_size, MANY);
	ck_assert_int_eq(close(fd), 0);
	t_tear_down();
}
END_TEST

#define CROWD 300

static int crowd[CROWD];
static int crowd_count;

static void keep_and_stop(struct sfd_request *request, int result)
{
	(void)request;
	ck_assert_int_ge(result, 0);
	crowd[crowd_count++] = result;
	if (crowd_count == CROWD)
		sfd_loop_stop(t_loop);
}

/* The kernel accepts them all at once, and has room for the results of fewer. */
START_TEST(accept_of_a_crowd_delivers_each_connection)
{
	struct sfd_request request = {.done = keep_and_stop};
	struct sockaddr_un address;
	socklen_t length;
	int listener = t_listen_on(SOCK_SEQPACKET, &address, &length);
	int client[CROWD];
	char byte;

	t_set_up(_i);
	crowd_count = 0;
	for (int i = 0; i < CROWD; i++) {
		client[i] = t_connect_to(SOCK_SEQPACKET, &address, length);
		ck_assert_int_eq(send(client[i], "x", 1, 0), 1);
	}
	ck_assert_int_eq(sfd_loop_accept(t_loop, listener, &request), 0);
	ck_assert_int_eq(sfd_loop_run(t_loop), 0);
	for (int i = 0; i < CROWD; i++) {
		ck_assert_int_eq(recv(crowd[i], &byte, 1, 0), 1);
		ck_assert_int_eq(close(crowd[i]), 0);
		ck_assert_int_eq(close(client[i]), 0);
	}
	t_tear_down();
	ck_assert_int_eq(close(listener), 0);
}
END_TEST

/* Cancels at the first connection, when the kernel has taken many more. */
static void cancel_and_close(struct sfd_request *request, int result)
{
	crowd_count++;
	if (result >= 0)
		ck_assert_int_eq(close(result), 0);
	else
		sfd_loop_stop(t_loop);
	if (result < 0)
		ck_assert_int_eq(result, -ECANCELED);
	ck_assert_int_eq(sfd_request_is_idle(request), result < 0);
	sfd_loop_cancel(t_loop, request);
}

START_TEST(cancel_of_accept_in_a_crowd_ends_it_once)
{
	struct sfd_request request = {.done = cancel_and_close};
	struct sockaddr_un address;
	socklen_t length;
	int listener = t_listen_on(SOCK_SEQPACKET, &address, &length);
	int client[CROWD];
	int seen;

	t_set_up(_i);
	crowd_count = 0;
	for (int i = 0; i < CROWD; i++)
		client[i] = t_connect_to(SOCK_SEQPACKET, &address, length);
	ck_assert_int_eq(sfd_loop_accept(t_loop, listener, &request), 0);
	ck_assert_int_eq(sfd_loop_run(t_loop), 0);
	ck_assert(sfd_request_is_idle(&request));
	seen = crowd_count;
	t_run_quietly();
	ck_assert_int_eq(crowd_count, seen);
	for (int i = 0; i < CROWD; i++)
		ck_assert_int_eq(close(client[i]), 0);
	t_tear_down();
	ck_assert_int_eq(close(listener), 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		write_sync_result_is_readable,
		write_sync_failure_gives_the_cause,
		cancel_of_writes_completes_each_once,
		free_waits_for_writes_that_have_begun,
		many_requests_at_once_all_complete,
		accept_of_a_crowd_delivers_each_connection,
		cancel_of_accept_in_a_crowd_ends_it_once,
	};

	return t_run_on_each_backend("loop_write", tests, sizeof(tests) / sizeof(tests[0]));
}
