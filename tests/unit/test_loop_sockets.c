/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Sockets on the control loop: accept, recv and send. The same tests run over both backends.
 */
#include "tests/support/loop_fixture.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* ---- accept ---- */

static void check_accept(int type)
{
	struct sockaddr_un address;
	socklen_t length;
	int listener = t_listen_on(type, &address, &length);
	int client[3];
	char byte = 0;
	T_NOTED(accepted);
	T_NOTED(received);

	for (int i = 0; i < 2; i++)
		client[i] = t_connect_to(type, &address, length);
	ck_assert_int_eq(sfd_loop_accept(t_loop, listener, &accepted.request), 0);
	t_run(2);
	client[2] = t_connect_to(type, &address, length);
	t_run(1);
	ck_assert(!sfd_request_is_idle(&accepted.request));
	for (int i = 0; i < 3; i++) {
		int fd = accepted.result[i];

		ck_assert_int_ge(fd, 0);
		ck_assert_int_ne(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
		ck_assert_int_ne(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
		/* A receive on the non-blocking descriptor waits all the same. */
		ck_assert_int_eq(sfd_loop_recv(t_loop, fd, &byte, 1, &received.request), 0);
		t_run_quietly();
		ck_assert_int_eq(send(client[i], &(char){(char)i}, 1, 0), 1);
		t_run(1);
		ck_assert_int_eq(received.result[i], 1);
		ck_assert_int_eq(byte, i);
		ck_assert_int_eq(close(fd), 0);
		ck_assert_int_eq(close(client[i]), 0);
	}
	sfd_loop_cancel(t_loop, &accepted.request);
	t_run(1);
	ck_assert_int_eq(accepted.result[3], -ECANCELED);
	ck_assert(sfd_request_is_idle(&accepted.request));
	ck_assert_int_eq(close(listener), 0);
}

START_TEST(accept_on_stream_delivers_each_connection)
{
	t_set_up(_i);
	check_accept(SOCK_STREAM);
	t_tear_down();
}
END_TEST

START_TEST(accept_on_seqpacket_delivers_each_connection)
{
	t_set_up(_i);
	check_accept(SOCK_SEQPACKET);
	t_tear_down();
}
END_TEST

START_TEST(accept_on_nonblocking_listener_waits)
{
	struct sockaddr_un address;
	socklen_t length;
	int listener = t_listen_on(SOCK_SEQPACKET, &address, &length);
	int client;
	T_NOTED(accepted);

	t_set_up(_i);
	ck_assert_int_eq(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(sfd_loop_accept(t_loop, listener, &accepted.request), 0);
	t_run_quietly();
	client = t_connect_to(SOCK_SEQPACKET, &address, length);
	t_run(1);
	ck_assert_int_ge(accepted.result[0], 0);
	(void)close(accepted.result[0]);
	(void)close(client);
	(void)close(listener);
	t_tear_down();
}
END_TEST

START_TEST(accept_on_no_listener_ends_with_the_error)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	T_NOTED(accepted);

	t_set_up(_i);
	ck_assert_int_eq(sfd_loop_accept(t_loop, fd, &accepted.request), 0);
	t_run(1);
	ck_assert_int_eq(accepted.result[0], -EINVAL);
	ck_assert(sfd_request_is_idle(&accepted.request));
	(void)close(fd);
	ck_assert_int_eq(sfd_loop_accept(t_loop, fd, &accepted.request), 0);
	t_run(1);
	ck_assert_int_eq(accepted.result[1], -EBADF);
	t_tear_down();
}
END_TEST

#define DESCRIPTORS 64

/* What exhaust_descriptors() took. */
static int taken[DESCRIPTORS];
static int taken_count;

/* @return the limit to set again */
static struct rlimit limit_descriptors(void)
{
	struct rlimit old;
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	limit = (struct rlimit){.rlim_cur = DESCRIPTORS, .rlim_max = old.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return old;
}

/* Takes every descriptor that the limit leaves. */
static void exhaust_descriptors(void)
{
	int fd;

	taken_count = 0;
	while ((fd = dup(STDERR_FILENO)) >= 0)
		taken[taken_count++] = fd;
	ck_assert_int_eq(errno, EMFILE);
	ck_assert_int_gt(taken_count, 2);
}

static void release_descriptors(void)
{
	for (int i = 0; i < taken_count; i++)
		(void)close(taken[i]);
}

START_TEST(accept_without_descriptors_tries_again_at_a_bounded_pace)
{
	struct rlimit old = limit_descriptors();
	struct timespec begin;
	struct timespec end;
	struct sockaddr_un address;
	socklen_t length;
	int listener;
	int client[2];
	T_NOTED(accepted);

	t_set_up(_i);
	listener = t_listen_on(SOCK_SEQPACKET, &address, &length);
	for (int i = 0; i < 2; i++)
		client[i] = t_connect_to(SOCK_SEQPACKET, &address, length);
	exhaust_descriptors();
	(void)clock_gettime(CLOCK_MONOTONIC, &begin);
	ck_assert_int_eq(sfd_loop_accept(t_loop, listener, &accepted.request), 0);
	t_run(3);
	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	ck_assert_int_ge((end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec,
			 200 * T_MS);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(accepted.result[i], -EMFILE);
	ck_assert(!sfd_request_is_idle(&accepted.request));

	release_descriptors();
	t_run(2);
	ck_assert_int_ge(accepted.result[3], 0);
	ck_assert_int_ge(accepted.result[4], 0);
	(void)close(accepted.result[3]);
	(void)close(accepted.result[4]);
	(void)close(client[0]);
	(void)close(client[1]);
	(void)close(listener);
	t_tear_down();
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
}
END_TEST

START_TEST(cancel_while_out_of_descriptors_ends_the_accept)
{
	struct rlimit old = limit_descriptors();
	struct sockaddr_un address;
	socklen_t length;
	int listener;
	int client;
	T_NOTED(accepted);

	t_set_up(_i);
	listener = t_listen_on(SOCK_SEQPACKET, &address, &length);
	client = t_connect_to(SOCK_SEQPACKET, &address, length);
	exhaust_descriptors();
	ck_assert_int_eq(sfd_loop_accept(t_loop, listener, &accepted.request), 0);
	t_run(1);
	ck_assert_int_eq(accepted.result[0], -EMFILE);
	t_run_quietly();
	sfd_loop_cancel(t_loop, &accepted.request);
	t_run(1);
	ck_assert_int_eq(accepted.result[1], -ECANCELED);
	ck_assert(sfd_request_is_idle(&accepted.request));
	release_descriptors();
	(void)close(client);
	(void)close(listener);
	t_tear_down();
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
}
END_TEST

/* ---- recv and send ---- */

START_TEST(recv_gives_exact_oversized_and_closed)
{
	int pair[2];
	char buffer[8] = {0};
	T_NOTED(received);

	t_set_up(_i);
	t_make_pair(SOCK_SEQPACKET, pair);
	ck_assert_int_eq(send(pair[1], "12345678", 8, 0), 8);
	ck_assert_int_eq(send(pair[1], "abcdefghijkl", 12, 0), 12);
	ck_assert_int_eq(sfd_loop_recv(t_loop, pair[0], buffer, 8, &received.request), 0);
	ck_assert_int_eq(received.count, 0); /* not inside the starting call */
	ck_assert(!sfd_request_is_idle(&received.request));
	t_run(1);
	ck_assert(sfd_request_is_idle(&received.request));
	ck_assert_int_eq(received.result[0], 8);
	ck_assert_mem_eq(buffer, "12345678", 8);

	ck_assert_int_eq(sfd_loop_recv(t_loop, pair[0], buffer, 8, &received.request), 0);
	t_run(1);
	ck_assert_int_eq(received.result[1], 12);
	ck_assert_mem_eq(buffer, "abcdefgh", 8);

	ck_assert_int_eq(sfd_loop_recv(t_loop, pair[0], buffer, 8, &received.request), 0);
	t_run_quietly();
	ck_assert_int_eq(close(pair[1]), 0);
	t_run(1);
	ck_assert_int_eq(received.result[2], 0);
	ck_assert_int_eq(close(pair[0]), 0);
	t_tear_down();
}
END_TEST

START_TEST(send_with_descriptors_delivers_them)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} out = {0}, in = {0};
	char text[4] = "ids";
	char text_in[8] = {0};
	struct iovec iov = {.iov_base = text, .iov_len = 4};
	struct iovec iov_in = {.iov_base = text_in, .iov_len = 8};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = out.bytes,
				 .msg_controllen = sizeof(out.bytes)};
	struct msghdr message_in = {.msg_iov = &iov_in,
				    .msg_iovlen = 1,
				    .msg_control = in.bytes,
				    .msg_controllen = sizeof(in.bytes)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	int pipe_fd[2];
	int got[2];
	int pair[2];
	char byte;
	T_NOTED(sent);

	t_set_up(_i);
	t_make_pair(SOCK_SEQPACKET, pair);
	ck_assert_int_eq(pipe2(pipe_fd, O_CLOEXEC), 0);
	*head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
				 .cmsg_type = SCM_RIGHTS,
				 .cmsg_len = CMSG_LEN(sizeof(pipe_fd))};
	memcpy(CMSG_DATA(head), pipe_fd, sizeof(pipe_fd));
	ck_assert_int_eq(sfd_loop_send(t_loop, pair[0], &message, &sent.request), 0);
	ck_assert_int_eq(sent.count, 0);
	t_run(1);
	ck_assert_int_eq(sent.result[0], 4);

	ck_assert_int_eq(recvmsg(pair[1], &message_in, MSG_CMSG_CLOEXEC), 4);
	ck_assert_str_eq(text_in, "ids");
	head = CMSG_FIRSTHDR(&message_in);
	ck_assert_ptr_nonnull(head);
	ck_assert_int_eq(head->cmsg_type, SCM_RIGHTS);
	ck_assert_uint_eq(head->cmsg_len, CMSG_LEN(sizeof(got)));
	memcpy(got, CMSG_DATA(head), sizeof(got));
	ck_assert_int_eq(write(got[1], "x", 1), 1);
	ck_assert_int_eq(read(pipe_fd[0], &byte, 1), 1);
	ck_assert_int_eq(byte, 'x');
	t_close_pair(got);
	t_close_pair(pipe_fd);
	t_close_pair(pair);
	t_tear_down();
}
END_TEST

START_TEST(send_to_slow_reader_does_not_hold_up_others)
{
	char block[4096] = {0};
	struct iovec iov = {.iov_base = block, .iov_len = sizeof(block)};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	int slow[2];
	int quick[2];
	char buffer[4];
	T_NOTED(sent);
	T_NOTED(received);

	t_set_up(_i);
	t_make_pair(SOCK_SEQPACKET, slow);
	t_make_pair(SOCK_SEQPACKET, quick);
	while (send(slow[0], block, sizeof(block), MSG_DONTWAIT) > 0)
		;
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(sfd_loop_send(t_loop, slow[0], &message, &sent.request), 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(sfd_loop_recv(t_loop, quick[0], buffer, 4, &received.request), 0);
		t_run_quietly();
		ck_assert_int_eq(send(quick[1], "1234", 4, 0), 4);
		t_run(1);
		ck_assert_int_eq(received.result[i], 4);
	}
	ck_assert_int_eq(sent.count, 0);
	while (recv(slow[1], block, sizeof(block), MSG_DONTWAIT) > 0)
		;
	t_run(1);
	ck_assert_int_eq(sent.result[0], sizeof(block));
	t_close_pair(slow);
	t_close_pair(quick);
	t_tear_down();
}
END_TEST

static void stop_only(struct sfd_request *request, int result)
{
	(void)request;
	(void)result;
	sfd_loop_stop(t_loop);
}

START_TEST(send_of_more_than_fits_waits_for_the_reader)
{
	static char block[60000];
	struct sfd_request pause = {.done = stop_only};
	struct iovec iov = {.iov_base = block, .iov_len = sizeof(block)};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	struct t_noted sent[8];
	int received = 0;
	int pair[2];

	t_set_up(_i);
	t_make_pair(SOCK_SEQPACKET, pair);
	for (int i = 0; i < 8; i++) {
		t_noted_init(&sent[i], t_note);
		ck_assert_int_eq(sfd_loop_send(t_loop, pair[0], &message, &sent[i].request), 0);
	}
	while (received < 8 || t_completions < 8) {
		ck_assert_int_eq(sfd_loop_timeout(t_loop, T_MS, &pause), 0);
		ck_assert_int_eq(sfd_loop_run(t_loop), 0);
		ck_assert_int_lt(t_completions - received, 8);
		while (recv(pair[1], block, sizeof(block), MSG_DONTWAIT) == sizeof(block))
			received++;
	}
	ck_assert_int_eq(t_completions, 8);
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(sent[i].result[0], sizeof(block));
	t_close_pair(pair);
	t_tear_down();
}
END_TEST

START_TEST(send_to_closed_peer_gives_epipe_and_no_signal)
{
	static const int types[] = {SOCK_SEQPACKET, SOCK_STREAM};
	struct iovec iov = {.iov_base = (char[4]){0}, .iov_len = 4};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	int pair[2];
	T_NOTED(sent);

	t_set_up(_i);
	for (int i = 0; i < 2; i++) {
		t_make_pair(types[i], pair);
		ck_assert_int_eq(close(pair[1]), 0);
		ck_assert_int_eq(sfd_loop_send(t_loop, pair[0], &message, &sent.request), 0);
		t_run(1);
		ck_assert_int_eq(sent.result[i], -EPIPE);
		ck_assert_int_eq(close(pair[0]), 0);
	}
	t_tear_down();
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		accept_on_stream_delivers_each_connection,
		accept_on_seqpacket_delivers_each_connection,
		accept_on_nonblocking_listener_waits,
		accept_on_no_listener_ends_with_the_error,
		accept_without_descriptors_tries_again_at_a_bounded_pace,
		cancel_while_out_of_descriptors_ends_the_accept,
		recv_gives_exact_oversized_and_closed,
		send_with_descriptors_delivers_them,
		send_to_slow_reader_does_not_hold_up_others,
		send_of_more_than_fits_waits_for_the_reader,
		send_to_closed_peer_gives_epipe_and_no_signal,
	};

	return t_run_on_each_backend("loop_sockets", tests, sizeof(tests) / sizeof(tests[0]));
}
