/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What every backend of the control loop must do: timeouts, poll, cancellation, reuse, stop
 * and free. The same tests run over both backends. Sockets are in test_loop_sockets.c, writes in
 * test_loop_write.c; how a backend is chosen and set up is in test_loop_setup.c.
 */
#include "tests/support/loop_fixture.h"

#include <check.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- timeout and poll ---- */

START_TEST(timeout_completes_in_order_of_deadlines)
{
	static const int64_t delay_ms[5] = {20, 5, 15, 10, -3};
	static const int order[5] = {5, 2, 4, 3, 1};
	struct t_noted timeout[5];

	t_set_up(_i);
	for (int i = 0; i < 5; i++) {
		t_noted_init(&timeout[i], t_note);
		ck_assert_int_eq(sfd_loop_timeout(t_loop, delay_ms[i] * T_MS, &timeout[i].request),
				 0);
	}
	ck_assert_int_eq(t_completions, 0);
	t_run(5);
	for (int i = 0; i < 5; i++) {
		ck_assert_int_eq(timeout[i].result[0], 0);
		ck_assert_int_eq(timeout[i].order, order[i]);
	}
	t_tear_down();
}
END_TEST

START_TEST(timeout_without_end_can_be_cancelled)
{
	T_NOTED(timeout);

	t_set_up(_i);
	ck_assert_int_eq(sfd_loop_timeout(t_loop, INT64_MAX, &timeout.request), 0);
	t_run_quietly();
	sfd_loop_cancel(t_loop, &timeout.request);
	t_run(1);
	ck_assert_int_eq(timeout.result[0], -ECANCELED);
	t_tear_down();
}
END_TEST

/* The loop must sleep while it has nothing to do: each wake-up is a voluntary context switch. */
START_TEST(run_without_events_sleeps)
{
	struct rusage before;
	struct rusage after;
	int pair[2];
	char byte;
	T_NOTED(timeout);
	T_NOTED(received);

	t_set_up(_i);
	t_make_pair(SOCK_SEQPACKET, pair);
	ck_assert_int_eq(sfd_loop_recv(t_loop, pair[0], &byte, 1, &received.request), 0);
	t_run_quietly();
	ck_assert_int_eq(sfd_loop_timeout(t_loop, 200 * T_MS, &timeout.request), 0);
	ck_assert_int_eq(getrusage(RUSAGE_THREAD, &before), 0);
	t_run(1);
	ck_assert_int_eq(getrusage(RUSAGE_THREAD, &after), 0);
	ck_assert_int_ge(after.ru_nvcsw - before.ru_nvcsw, 1);
	ck_assert_int_le(after.ru_nvcsw - before.ru_nvcsw, 4);
	t_tear_down();
	ck_assert_int_eq(received.count, 0);
	t_close_pair(pair);
}
END_TEST

static int event_fd;

static void note_and_signal_again(struct sfd_request *request, int result)
{
	uint64_t value;

	/* It may be empty: a spurious completion is allowed. */
	if (result > 0 && read(event_fd, &value, sizeof(value)) < 0)
		return;
	t_note(request, result);
	if (t_completions < 10)
		ck_assert_int_eq(eventfd_write(event_fd, 1), 0);
}

START_TEST(poll_completes_each_time_the_descriptor_is_readable)
{
	struct t_noted polled;

	t_noted_init(&polled, note_and_signal_again);
	t_set_up(_i);
	event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ck_assert_int_eq(sfd_loop_poll(t_loop, event_fd, &polled.request), 0);
	t_run_quietly();
	t_completions = 0;
	ck_assert_int_eq(eventfd_write(event_fd, 1), 0);
	t_run(10);
	for (int i = 0; i < 10; i++)
		ck_assert_int_ne(polled.result[i] & POLLIN, 0);
	ck_assert(!sfd_request_is_idle(&polled.request));
	t_run_quietly();
	sfd_loop_cancel(t_loop, &polled.request);
	t_run(1);
	ck_assert_int_eq(polled.result[10], -ECANCELED);
	ck_assert_int_eq(close(event_fd), 0);

	ck_assert_int_eq(sfd_loop_poll(t_loop, event_fd, &polled.request), 0);
	t_run(1);
	ck_assert_int_eq(polled.result[11], -EBADF);
	ck_assert(sfd_request_is_idle(&polled.request));
	t_tear_down();
}
END_TEST

/* ---- cancel, reuse, stop, free ---- */

/* Five requests of all kinds that wait. */
struct waiting {
	int pair[2];
	int full[2];
	int listener;
	char buffer[4];
	char block[4096];
	struct iovec iov;
	struct msghdr message;
	struct t_noted request[5];
};

static void start_waiting(struct waiting *w)
{
	struct sockaddr_un address;
	socklen_t length;

	t_make_pair(SOCK_SEQPACKET, w->pair);
	t_make_pair(SOCK_SEQPACKET, w->full);
	while (send(w->full[0], w->block, sizeof(w->block), MSG_DONTWAIT) > 0)
		;
	w->listener = t_listen_on(SOCK_SEQPACKET, &address, &length);
	w->iov = (struct iovec){.iov_base = w->block, .iov_len = sizeof(w->block)};
	w->message = (struct msghdr){.msg_iov = &w->iov, .msg_iovlen = 1};
	for (int i = 0; i < 5; i++) {
		t_noted_init(&w->request[i], t_note);
	}
	ck_assert_int_eq(sfd_loop_recv(t_loop, w->pair[0], w->buffer, 4, &w->request[0].request),
			 0);
	ck_assert_int_eq(sfd_loop_send(t_loop, w->full[0], &w->message, &w->request[1].request), 0);
	ck_assert_int_eq(sfd_loop_accept(t_loop, w->listener, &w->request[2].request), 0);
	ck_assert_int_eq(sfd_loop_poll(t_loop, w->pair[1], &w->request[3].request), 0);
	ck_assert_int_eq(sfd_loop_timeout(t_loop, 3600000 * T_MS, &w->request[4].request), 0);
}

static void stop_waiting(const struct waiting *w)
{
	t_close_pair(w->pair);
	t_close_pair(w->full);
	ck_assert_int_eq(close(w->listener), 0);
}

static void cancel_waiting(struct waiting *w)
{
	for (int i = 0; i < 5; i++) {
		sfd_loop_cancel(t_loop, &w->request[i].request);
		sfd_loop_cancel(t_loop, &w->request[i].request);
		ck_assert(!sfd_request_is_idle(&w->request[i].request));
	}
	ck_assert_int_eq(w->request[0].count, 0);
	t_run(5);
	t_run_quietly();
	for (int i = 0; i < 5; i++) {
		ck_assert_int_eq(w->request[i].count, 1);
		ck_assert_int_eq(w->request[i].result[0], -ECANCELED);
		ck_assert(sfd_request_is_idle(&w->request[i].request));
		sfd_loop_cancel(t_loop, &w->request[i].request);
	}
	t_run_quietly();
}

START_TEST(cancel_of_waiting_requests_completes_each_once)
{
	struct waiting w = {0};

	t_set_up(_i);
	start_waiting(&w);
	t_run_quietly();
	cancel_waiting(&w);
	stop_waiting(&w);
	t_tear_down();
}
END_TEST

START_TEST(cancel_right_after_start_completes_each_once)
{
	struct waiting w = {0};

	t_set_up(_i);
	start_waiting(&w);
	cancel_waiting(&w);
	stop_waiting(&w);
	t_tear_down();
}
END_TEST

START_TEST(cancel_leaves_other_requests_alone)
{
	int pair[2];
	char first[4];
	char second[4];
	T_NOTED(cancelled);
	T_NOTED(received);

	t_set_up(_i);
	t_make_pair(SOCK_SEQPACKET, pair);
	ck_assert_int_eq(sfd_loop_recv(t_loop, pair[0], first, 4, &cancelled.request), 0);
	ck_assert_int_eq(sfd_loop_recv(t_loop, pair[0], second, 4, &received.request), 0);
	t_run_quietly();
	sfd_loop_cancel(t_loop, &cancelled.request);
	t_run(1);
	ck_assert_int_eq(cancelled.result[0], -ECANCELED);
	ck_assert_int_eq(send(pair[1], "data", 4, 0), 4);
	t_run(1);
	ck_assert_int_eq(received.result[0], 4);
	ck_assert_mem_eq(second, "data", 4);
	t_close_pair(pair);
	t_tear_down();
}
END_TEST

static int reuse_fd;
static char reuse_buffer[4];

/* Cancels its own next use at the first completion, and is used to the end after that. */
static void receive_again(struct sfd_request *request, int result)
{
	t_note(request, result);
	ck_assert(sfd_request_is_idle(request));
	if (result == 0)
		return;
	ck_assert_int_eq(sfd_loop_recv(t_loop, reuse_fd, reuse_buffer, 4, request), 0);
	if (t_completions == 1)
		sfd_loop_cancel(t_loop, request);
}

START_TEST(request_is_reused_in_its_own_completion)
{
	struct t_noted received;
	int pair[2];

	t_noted_init(&received, receive_again);
	t_set_up(_i);
	t_make_pair(SOCK_SEQPACKET, pair);
	reuse_fd = pair[0];
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(send(pair[1], "1234", 4, 0), 4);
	ck_assert_int_eq(close(pair[1]), 0);
	ck_assert_int_eq(sfd_loop_recv(t_loop, pair[0], reuse_buffer, 4, &received.request), 0);
	t_run(22);
	for (int i = 0; i < 21; i++)
		ck_assert_int_eq(received.result[i], i == 1 ? -ECANCELED : 4);
	ck_assert_int_eq(received.result[21], 0);
	ck_assert_int_eq(close(pair[0]), 0);
	t_tear_down();
}
END_TEST

/* A completion ends another request that is ready as well, and gives its descriptor away. */
static struct t_noted *victim;
static int victim_fd;
static int heir_fd;

static void cancel_victim(struct sfd_request *request, int result)
{
	t_note(request, result);
	sfd_loop_cancel(t_loop, &victim->request);
	ck_assert_int_eq(dup2(heir_fd, victim_fd), victim_fd);
}

START_TEST(cancel_in_a_completion_of_a_ready_request_completes_it_once)
{
	struct t_noted first;
	char buffer[2][4];
	int pair[3][2];
	T_NOTED(second);

	t_noted_init(&first, cancel_victim);
	t_set_up(_i);
	for (int i = 0; i < 3; i++) {
		t_make_pair(SOCK_SEQPACKET, pair[i]);
		ck_assert_int_eq(send(pair[i][1], "1234", 4, 0), 4);
	}
	victim = &second;
	victim_fd = pair[1][0];
	heir_fd = pair[2][0];
	ck_assert_int_eq(sfd_loop_recv(t_loop, pair[0][0], buffer[0], 4, &first.request), 0);
	ck_assert_int_eq(sfd_loop_recv(t_loop, victim_fd, buffer[1], 4, &second.request), 0);
	t_run(2);
	t_run_quietly();
	ck_assert_int_eq(first.result[0], 4);
	ck_assert(second.result[0] == 4 || second.result[0] == -ECANCELED);
	ck_assert_int_eq(recv(heir_fd, buffer[0], 4, MSG_DONTWAIT), 4);
	for (int i = 0; i < 3; i++)
		t_close_pair(pair[i]);
	t_tear_down();
}
END_TEST

static void start_and_cancel(struct sfd_request *request, int result)
{
	(void)result;
	ck_assert_int_eq(sfd_loop_timeout(t_loop, T_MS, request), 0);
	sfd_loop_cancel(t_loop, request);
}

START_TEST(cancel_without_end_does_not_starve_others)
{
	struct sfd_request restless = {.done = start_and_cancel};

	t_set_up(_i);
	start_and_cancel(&restless, 0);
	t_run_quietly();
	t_tear_down();
}
END_TEST

static int busy_pair[2];

static void send_and_receive_again(struct sfd_request *request, int result)
{
	static char byte;

	(void)result;
	ck_assert_int_eq(send(busy_pair[1], "x", 1, 0), 1);
	ck_assert_int_eq(sfd_loop_recv(t_loop, busy_pair[0], &byte, 1, request), 0);
}

START_TEST(recv_from_busy_peer_does_not_starve_others)
{
	struct sfd_request busy = {.done = send_and_receive_again};

	t_set_up(_i);
	t_make_pair(SOCK_SEQPACKET, busy_pair);
	send_and_receive_again(&busy, 0);
	t_run_quietly();
	t_tear_down();
	t_close_pair(busy_pair);
}
END_TEST

START_TEST(start_of_busy_or_oversized_request_is_refused)
{
	char byte;
	T_NOTED(timeout);
	T_NOTED(received);

	t_set_up(_i);
	ck_assert_int_eq(sfd_loop_timeout(t_loop, 0, &timeout.request), 0);
	ck_assert_int_eq(sfd_loop_timeout(t_loop, 0, &timeout.request), -EBUSY);
	ck_assert_int_eq(sfd_loop_recv(t_loop, 0, &byte, (size_t)INT_MAX + 1, &received.request),
			 -EINVAL);
	ck_assert(sfd_request_is_idle(&received.request));
	t_run(1);
	ck_assert_int_eq(timeout.count, 1);
	t_tear_down();
}
END_TEST

START_TEST(stop_leaves_the_rest_for_the_next_run)
{
	struct t_noted noted[4];
	char buffer[2][4];
	int pair[2][2];
	int count = 0;

	t_set_up(_i);
	for (int i = 0; i < 4; i++)
		t_noted_init(&noted[i], t_note);
	for (int i = 0; i < 2; i++) {
		t_make_pair(SOCK_SEQPACKET, pair[i]);
		ck_assert_int_eq(send(pair[i][1], "1234", 4, 0), 4);
		ck_assert_int_eq(sfd_loop_recv(t_loop, pair[i][0], buffer[i], 4, &noted[i].request),
				 0);
		ck_assert_int_eq(sfd_loop_timeout(t_loop, 0, &noted[2 + i].request), 0);
	}
	t_run(1);
	sfd_loop_stop(t_loop);
	ck_assert_int_eq(sfd_loop_run(t_loop), 0);
	ck_assert_int_eq(t_completions, 1);
	for (int i = 0; i < 3; i++)
		t_run(1);
	for (int i = 0; i < 4; i++)
		count += noted[i].count == 1;
	ck_assert_int_eq(count, 4);
	t_close_pair(pair[0]);
	t_close_pair(pair[1]);
	t_tear_down();
}
END_TEST

START_TEST(free_ends_requests_without_completing_them)
{
	struct waiting w = {0};
	char data[4];

	t_set_up(_i);
	start_waiting(&w);
	t_run_quietly();
	t_completions = 0;
	sfd_loop_cancel(t_loop, &w.request[4].request);
	t_tear_down();
	ck_assert_int_eq(t_completions, 0);
	for (int i = 0; i < 5; i++)
		ck_assert(sfd_request_is_idle(&w.request[i].request));
	/* Nobody else reads the socket or writes the buffer any more. */
	ck_assert_int_eq(send(w.pair[1], "data", 4, 0), 4);
	ck_assert_int_eq(recv(w.pair[0], data, 4, MSG_DONTWAIT), 4);
	ck_assert_mem_eq(w.buffer, "\0\0\0\0", 4);
	stop_waiting(&w);
	ck_assert_ptr_null(sfd_loop_free(NULL));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		timeout_completes_in_order_of_deadlines,
		timeout_without_end_can_be_cancelled,
		run_without_events_sleeps,
		poll_completes_each_time_the_descriptor_is_readable,
		cancel_of_waiting_requests_completes_each_once,
		cancel_right_after_start_completes_each_once,
		cancel_leaves_other_requests_alone,
		request_is_reused_in_its_own_completion,
		cancel_in_a_completion_of_a_ready_request_completes_it_once,
		cancel_without_end_does_not_starve_others,
		recv_from_busy_peer_does_not_starve_others,
		start_of_busy_or_oversized_request_is_refused,
		stop_leaves_the_rest_for_the_next_run,
		free_ends_requests_without_completing_them,
	};

	return t_run_on_each_backend("loop", tests, sizeof(tests) / sizeof(tests[0]));
}
