/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Floods: one user's connections, in every form, against another user's clients and the operator's
 * questions.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LAYOUT "t41 n10 s12 epoch=1577836800000"
#define FLOODER 54321
#define OTHER 54322
#define LIMIT 20
#define LIMIT_LINE "max_connections_per_user = 20\n"
#define HEADROOM 16
#define SILENT 50
/* Connections that may wait to hear why. */
#define PARTING 16
/* Descriptors of sfd besides connections: what it has, and what is on its way out. */
#define SLACK 64

static struct t_daemon daemon_now;

static void run(const char *loop)
{
	t_daemon_init(&daemon_now, 0);
	daemon_now.loop = loop;
	daemon_now.lines = LIMIT_LINE;
	t_daemon_configure(&daemon_now, LAYOUT, "allow = *\n");
	t_daemon_start(&daemon_now);
}

/* relaxed: only a step between a test and its child */
static int get(_Atomic int *step)
{
	return atomic_load_explicit(step, memory_order_relaxed);
}

static void set(_Atomic int *step, int value)
{
	atomic_store_explicit(step, value, memory_order_relaxed);
}

/** What a request on a connection of its own is answered; the connection stays open. */
static int ask(uint16_t type, int *ret_fd, char text[256])
{
	struct sf_control_request request = t_request(type, "default");
	union {
		struct sf_control_head head;
		struct sf_control_refused refused;
		uint8_t bytes[SF_CONTROL_MESSAGE_MAX];
	} reply = {.head = {0}};

	*ret_fd = t_connect(daemon_now.socket);
	T_CHECK(t_exchange(*ret_fd, &request, sizeof(request), &reply, sizeof(reply)) > 0);
	text[0] = '\0';
	if (reply.head.status < 0)
		memcpy(text, reply.refused.text, sizeof(reply.refused.text));
	return reply.head.status;
}

static int attach_as_other(void *argument)
{
	struct sf_client *client;

	(void)argument;
	t_become(OTHER);
	client = t_open(daemon_now.socket, 0);
	(void)t_next(t_cursor(client));
	return 0;
}

static void assert_others_are_served(void)
{
	ck_assert_int_eq(t_reap(t_child(attach_as_other, NULL)), 0);
	(void)t_daemon_counter(&daemon_now, SF_COUNTER_clients);
}

/* ---- one user ---- */

/** Those who do not ask must not keep those who do from an answer: all but the last few have to go.
 */
static void be_turned_away_in_silence(void)
{
	struct pollfd silent[SILENT];
	int closed = 0;

	for (int i = 0; i < SILENT; i++)
		silent[i] = (struct pollfd){.fd = t_connect(daemon_now.socket)};
	while (closed < SILENT - PARTING) {
		t_nap_ms(2);
		(void)poll(silent, SILENT, 0);
		closed = 0;
		for (int i = 0; i < SILENT; i++)
			closed += (silent[i].revents & POLLHUP) != 0;
	}
}

static int fill_up(void *argument)
{
	static const char sentence[] = "user 54321 has 20 connections to sfd, as many as one user "
				       "may have: close some, or raise max_connections_per_user";
	_Atomic int *ready = argument;
	int fd[LIMIT];
	int more;
	char text[256];
	char said[T_SAID_BYTES];
	struct sf_client *client = NULL;

	t_become(FLOODER);
	for (int i = 0; i < LIMIT; i++)
		T_CHECK(ask(SF_CONTROL_STATS, &fd[i], text) == 0);
	be_turned_away_in_silence();
	for (int i = 0; i < 3; i++) {
		T_CHECK(ask(i == 0 ? SF_CONTROL_ATTACH : SF_CONTROL_STATS, &more, text) == -EUSERS);
		T_CHECK(strcmp(text, sentence) == 0);
		/* And it is closed. */
		T_CHECK(recv(more, text, 1, 0) == 0);
		(void)close(more);
	}
	T_CHECK(t_try_open(daemon_now.socket, "default", &client, said) == -EUSERS);
	T_CHECK(strstr(said, sentence) != NULL);
	set(ready, 1);
	while (get(ready) == 1)
		t_nap_ms(2);
	/* Each that goes makes room for one. */
	(void)close(fd[0]);
	do {
		t_nap_ms(2);
	} while (t_try_open(daemon_now.socket, "default", &client, said) != 0);
	return 0;
}

START_TEST(user_at_the_limit_is_told_so_and_others_are_served)
{
	/* Shared: the child sets it to 1, the test to 2. */
	_Atomic int *step = t_shared(sizeof(*step));
	pid_t pid;

	if (!t_has_root(__func__))
		return;
	run("auto");
	pid = t_child(fill_up, step);
	T_WAIT_UNTIL(get(step) == 1, 20000);
	assert_others_are_served();
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_connections_refused),
			  SILENT + 4);
	t_daemon_assert_said(&daemon_now, "was turned away: user 54321 has 20 connections");
	set(step, 2);
	ck_assert_int_eq(t_reap(pid), 0);
	t_daemon_stop(&daemon_now);
}
END_TEST

/* Clients run as root, too. What leaks there must not lock the operator out. */
START_TEST(operator_at_the_limit_may_ask_and_not_attach)
{
	int fd[LIMIT + HEADROOM];
	int more;
	char text[256];

	run("auto");
	for (int i = 0; i < LIMIT; i++)
		ck_assert_int_eq(ask(SF_CONTROL_ATTACH, &fd[i], text), 0);
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_clients), LIMIT);
	for (int i = LIMIT; i < LIMIT + HEADROOM; i++) {
		struct sf_control_request request = t_request(SF_CONTROL_ATTACH, "default");
		struct sf_control_refused refused = {0};

		ck_assert_int_eq(ask(SF_CONTROL_STATS, &fd[i], text), 0);
		ck_assert_uint_eq(
			t_exchange(fd[i], &request, sizeof(request), &refused, sizeof(refused)),
			sizeof(refused));
		ck_assert_int_eq(refused.head.status, -EUSERS);
		ck_assert_ptr_nonnull(strstr(refused.text, "raise max_connections_per_user"));
	}
	ck_assert_int_eq(ask(SF_CONTROL_STATS, &more, text), -EUSERS);
	for (int i = 0; i < LIMIT + HEADROOM; i++)
		(void)close(fd[i]);
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_clients) == 0, 20000);
	t_daemon_stop(&daemon_now);
}
END_TEST

/** Connections as fast as they come, the last of them open, none with a word. */
static int flood(void *argument)
{
	int fd[10 * LIMIT];
	_Atomic int *is_over = argument;

	t_become(FLOODER);
	memset(fd, -1, sizeof(fd));
	for (size_t i = 0; get(is_over) == 0; i = (i + 1) % (sizeof(fd) / sizeof(fd[0]))) {
		(void)close(fd[i]);
		fd[i] = t_connect(daemon_now.socket);
	}
	return 0;
}

static unsigned count_lines(const char *part)
{
	unsigned count = 0;

	for (const char *at = t_daemon_said(&daemon_now); (at = strstr(at, part)) != NULL; at++)
		count++;
	return count;
}

START_TEST(flood_of_connections_starves_nobody_and_fills_neither_table_nor_log)
{
	static const char *const loops[] = {"auto", "poll"};

	if (!t_has_root(__func__))
		return;
	for (int i = 0; i < 2; i++) {
		_Atomic int *is_over = t_shared(sizeof(*is_over));
		pid_t pid;

		run(loops[i]);
		pid = t_child(flood, is_over);
		T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_connections_refused) > 200,
			     20000);
		for (int k = 0; k < 5; k++) {
			assert_others_are_served();
			/* The kernel may have taken a whole backlog for sfd just now. */
			T_WAIT_UNTIL(t_count_descriptors(daemon_now.pid) < LIMIT + SLACK, 20000);
		}
		ck_assert_uint_ge(count_lines("turned away"), 1);
		ck_assert_uint_le(count_lines("turned away"), 2 * 5 + 1);
		set(is_over, 1);
		ck_assert_int_eq(t_reap(pid), 0);
		/* Nothing of it is left. */
		T_WAIT_UNTIL(t_count_descriptors(daemon_now.pid) < LIMIT, 20000);
		t_daemon_stop(&daemon_now);
	}
}
END_TEST

/* ---- descriptors ---- */

/** A request with as many descriptors as a message can carry. */
static void send_with_descriptors(int fd)
{
	enum {
		MOST = 253 /* the kernel's SCM_MAX_FD */
	};
	union {
		char space[CMSG_SPACE(MOST * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct sf_control_request request = t_request(SF_CONTROL_STATS, "default");
	struct iovec part = {.iov_base = &request, .iov_len = sizeof(request)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	int fds[MOST];

	for (int i = 0; i < MOST; i++)
		fds[i] = fd; /* the connection itself: a cycle, if anybody kept it */
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(head), fds, sizeof(fds));
	ck_assert_int_eq(sendmsg(fd, &message, MSG_NOSIGNAL), sizeof(request));
}

START_TEST(descriptors_by_the_hundred_never_arrive_in_sfd)
{
	static const char *const loops[] = {"auto", "poll"};

	for (int i = 0; i < 2; i++) {
		struct sf_control_stats stats;
		unsigned before;
		int fd;

		run(loops[i]);
		fd = t_connect(daemon_now.socket);
		(void)t_daemon_counter(&daemon_now, SF_COUNTER_clients);
		T_WAIT_UNTIL(t_count_descriptors(daemon_now.pid) ==
				     (before = t_count_descriptors(daemon_now.pid)),
			     1000);
		for (int k = 0; k < 50; k++) {
			send_with_descriptors(fd);
			ck_assert_int_eq(recv(fd, &stats, sizeof(stats), 0), sizeof(stats));
			ck_assert_uint_le(t_count_descriptors(daemon_now.pid), before);
		}
		/* Unread ones go with the connection. */
		for (int k = 0; k < 3; k++)
			send_with_descriptors(fd);
		(void)close(fd);
		T_WAIT_UNTIL(t_count_descriptors(daemon_now.pid) < before, 20000);
		t_daemon_stop(&daemon_now);
	}
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		user_at_the_limit_is_told_so_and_others_are_served,
		operator_at_the_limit_may_ask_and_not_attach,
		flood_of_connections_starves_nobody_and_fills_neither_table_nor_log,
		descriptors_by_the_hundred_never_arrive_in_sfd,
	};
	const struct t_program program = {.name = "limits",
					  .machine_id = 592,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
