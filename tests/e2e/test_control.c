/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The control channel against peers that do not behave: whatever one of them sends, or does not
 * send, the others attach, and the lists stay true.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LAYOUT "t41 n10 s12 epoch=1577836800000"

static struct t_daemon daemon_now;

static void assert_others_are_served(void)
{
	struct sf_client *client = t_open(daemon_now.socket, 0);
	struct sf_cursor *cursor = t_cursor(client);

	(void)t_next(cursor);
	sf_cursor_close(cursor);
	sf_close(client);
}

/* ---- messages ---- */

static void make_garbage(struct sf_control_request *request)
{
	memset(request, 0xa5, sizeof(*request));
}

static void make_zero(struct sf_control_request *request)
{
	memset(request, 0, sizeof(*request));
}

static void make_wrong_length(struct sf_control_request *request)
{
	request->head.length = UINT32_MAX;
}

static void make_unknown_type(struct sf_control_request *request)
{
	request->head.type = 999;
}

static void make_endless_name(struct sf_control_request *request)
{
	memset(request->stream, 'a', sizeof(request->stream));
}

static void make_nothing(struct sf_control_request *request)
{
	(void)request;
}

static const struct {
	void (*spoil)(struct sf_control_request *request);
	size_t length; /* sent; of what lies beyond the request, zeros */
} messages[] = {
	{make_garbage, sizeof(struct sf_control_request)},
	{make_zero, sizeof(struct sf_control_request)},
	{make_wrong_length, sizeof(struct sf_control_request)},
	{make_unknown_type, sizeof(struct sf_control_request)},
	{make_endless_name, sizeof(struct sf_control_request)},
	{make_nothing, sizeof(struct sf_control_request) / 2},
	{make_nothing, sizeof(struct sf_control_request) - 1},
	{make_nothing, sizeof(struct sf_control_head)},
	{make_nothing, sizeof(struct sf_control_head) - 1},
	{make_nothing, 1},
	{make_nothing, sizeof(struct sf_control_request) + 1},
	{make_nothing, 100000},
};

START_TEST(bad_message_is_answered_and_ends_only_its_own_connection)
{
	enum {
		ROWS = sizeof(messages) / sizeof(messages[0])
	};
	static uint8_t bytes[100000];

	t_daemon_run(&daemon_now, LAYOUT, "");
	for (size_t i = 0; i < ROWS; i++) {
		struct sf_control_request request = t_request(SF_CONTROL_ATTACH, "default");
		struct sf_control_refused refused = {0};
		int fd = t_connect(daemon_now.socket);
		size_t length;
		char byte;

		messages[i].spoil(&request);
		memset(bytes, 0, sizeof(bytes));
		memcpy(bytes, &request, sizeof(request));
		length = t_exchange(fd, bytes, messages[i].length, &refused, sizeof(refused));
		ck_assert_msg(length == sizeof(refused), "row %zu: %zu bytes", i, length);
		ck_assert_int_eq(refused.head.status, -EPROTO);
		ck_assert_msg(refused.text[0] != '\0', "row %zu", i);
		/* The connection is closed; recv() waits for that. */
		ck_assert_int_eq(recv(fd, &byte, 1, 0), 0);
		(void)close(fd);
		assert_others_are_served();
	}
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_requests_bad), ROWS);
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_clients), 0);
	t_daemon_stop(&daemon_now);
}
END_TEST

START_TEST(random_messages_harm_nobody)
{
	enum {
		ROUNDS = 2000
	};
	unsigned short seed[3] = {0x5eed, (unsigned short)t_wall_ns(), 0x330e};
	uint8_t bytes[256];

	(void)printf("seed %u\n", seed[1]);
	t_daemon_run(&daemon_now, LAYOUT, "");
	for (int i = 0; i < ROUNDS; i++) {
		struct sf_control_request request =
			t_request((uint16_t)(nrand48(seed) % 5), i % 2 == 0 ? "default" : "");
		int fd = t_connect(daemon_now.socket);

		memcpy(bytes, &request, sizeof(request));
		for (long k = nrand48(seed) % 8; k > 0; k--)
			bytes[nrand48(seed) % (long)sizeof(request)] = (uint8_t)nrand48(seed);
		/* Half of them do not wait for the answer. */
		(void)send(fd, bytes, (size_t)(nrand48(seed) % (long)sizeof(bytes)) + 1,
			   MSG_NOSIGNAL);
		if (i % 4 < 2)
			(void)recv(fd, bytes, sizeof(bytes), 0);
		(void)close(fd);
	}
	assert_others_are_served();
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_clients) == 0, 10000);
	t_daemon_stop(&daemon_now);
}
END_TEST

/* ---- connections ---- */

START_TEST(silent_connections_do_not_keep_others_from_attaching)
{
	enum {
		SILENT = 300
	};
	int fd[SILENT];
	char byte;

	t_daemon_run(&daemon_now, LAYOUT, "");
	for (int i = 0; i < SILENT; i++)
		fd[i] = t_connect(daemon_now.socket);
	for (int i = 0; i < 10; i++)
		assert_others_are_served();
	/* They were not turned away either. */
	for (int i = 0; i < SILENT; i++)
		ck_assert_int_eq(recv(fd[i], &byte, 1, MSG_DONTWAIT), -1);
	ck_assert_uint_eq(t_daemon_counter(&daemon_now, SF_COUNTER_clients), 0);
	for (int i = 0; i < SILENT; i++)
		(void)close(fd[i]);
	t_daemon_stop(&daemon_now);
}
END_TEST

START_TEST(peer_that_reads_no_answer_harms_only_itself)
{
	struct sf_control_request request = t_request(SF_CONTROL_STATS, "default");
	int fd;
	ssize_t sent;

	t_daemon_run(&daemon_now, LAYOUT, "");
	fd = t_connect(daemon_now.socket);
	ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	/* Until neither side has room: with one message in work, that is soon. */
	do {
		sent = send(fd, &request, sizeof(request), MSG_NOSIGNAL);
		if (sent < 0)
			t_nap_ms(20);
	} while (sent >= 0 || send(fd, &request, sizeof(request), MSG_NOSIGNAL) >= 0);
	ck_assert_int_eq(errno, EAGAIN);
	assert_others_are_served();
	(void)close(fd);
	assert_others_are_served();
	t_daemon_stop(&daemon_now);
}
END_TEST

START_TEST(descriptors_sent_to_sfd_do_not_pile_up)
{
	enum {
		ROUNDS = 100
	};
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct sf_control_request request = t_request(SF_CONTROL_STATS, "default");
	struct iovec part = {.iov_base = &request, .iov_len = sizeof(request)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	struct sf_control_stats stats;
	unsigned before;
	int fd;

	t_daemon_run(&daemon_now, LAYOUT, "");
	fd = t_connect(daemon_now.socket);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	ck_assert_uint_eq(t_exchange(fd, &request, sizeof(request), &stats, sizeof(stats)),
			  sizeof(stats));
	before = t_count_descriptors(daemon_now.pid);
	for (int i = 0; i < ROUNDS; i++) {
		ck_assert_int_eq(sendmsg(fd, &message, MSG_NOSIGNAL), sizeof(request));
		ck_assert_int_eq(recv(fd, &stats, sizeof(stats), 0), sizeof(stats));
	}
	ck_assert_uint_eq(t_count_descriptors(daemon_now.pid), before);
	(void)close(fd);
	t_daemon_stop(&daemon_now);
}
END_TEST

/* ---- attached clients ---- */

static int attach_and_wait(void *argument)
{
	struct sf_cursor *cursor = t_cursor(t_open(argument, 0));

	(void)t_next(cursor);
	(void)pause();
	return 0;
}

static void read_clients(struct sf_control_clients *ret_clients)
{
	struct sf_control_request request = t_request(SF_CONTROL_CLIENTS, "default");
	int fd = t_connect(daemon_now.socket);

	ck_assert_uint_eq(
		t_exchange(fd, &request, sizeof(request), ret_clients, sizeof(*ret_clients)),
		sizeof(*ret_clients));
	ck_assert_int_eq(ret_clients->head.status, 0);
	(void)close(fd);
}

static bool has_client(const struct sf_control_clients *clients, pid_t pid)
{
	for (uint32_t i = 0; i < clients->count; i++)
		if (clients->client[i].pid == (uint32_t)pid &&
		    clients->client[i].uid == (uint32_t)getuid())
			return true;
	return false;
}

START_TEST(client_that_was_killed_leaves_the_list)
{
	enum {
		CLIENTS = 5
	};
	pid_t pid[CLIENTS];
	struct sf_control_clients clients;

	t_daemon_run(&daemon_now, LAYOUT, "");
	for (int i = 0; i < CLIENTS; i++)
		pid[i] = t_child(attach_and_wait, daemon_now.socket);
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_clients) == CLIENTS, 10000);
	read_clients(&clients);
	ck_assert_uint_eq(clients.total, CLIENTS);
	ck_assert_uint_eq(clients.count, CLIENTS);
	for (int i = 0; i < CLIENTS; i++)
		ck_assert(has_client(&clients, pid[i]));
	for (int i = 0; i < CLIENTS; i++) {
		ck_assert_int_eq(kill(pid[i], SIGKILL), 0);
		ck_assert_int_eq(t_reap(pid[i]), -SIGKILL);
		T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_clients) ==
				     (uint64_t)(CLIENTS - 1 - i),
			     10000);
		read_clients(&clients);
		ck_assert(!has_client(&clients, pid[i]));
		ck_assert_uint_eq(clients.total, (uint32_t)(CLIENTS - 1 - i));
	}
	t_daemon_stop(&daemon_now);
}
END_TEST

/* The poll(2) loop serves the same. */
START_TEST(control_channel_on_poll_serves_as_on_io_uring)
{
	enum {
		SILENT = 50
	};
	struct sf_control_stats stats;
	int fd[SILENT];

	t_daemon_init(&daemon_now, 0);
	daemon_now.loop = "poll";
	t_daemon_configure(&daemon_now, LAYOUT, "");
	t_daemon_start(&daemon_now);
	for (int i = 0; i < SILENT; i++)
		fd[i] = t_connect(daemon_now.socket);
	assert_others_are_served();
	t_daemon_stats(&daemon_now, &stats);
	ck_assert_uint_eq(stats.loop, 1);
	for (int i = 0; i < SILENT; i++)
		(void)close(fd[i]);
	t_daemon_stop(&daemon_now);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		bad_message_is_answered_and_ends_only_its_own_connection,
		random_messages_harm_nobody,
		silent_connections_do_not_keep_others_from_attaching,
		peer_that_reads_no_answer_harms_only_itself,
		descriptors_sent_to_sfd_do_not_pile_up,
		client_that_was_killed_leaves_the_list,
		control_channel_on_poll_serves_as_on_io_uring,
	};
	const struct t_program program = {.name = "control",
					  .machine_id = 96,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
