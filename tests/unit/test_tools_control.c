/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl's control-channel client against a peer that answers as each test says.
 */
#include "tools/control.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/** A connection whose answer already waits in it: one request, one reply, no second thread. */
struct peer {
	int fd[2]; /* ours, the peer's */
	struct sf_control_stats stats;
	struct sf_why why;
};

static void setup(struct peer *peer)
{
	*peer = (struct peer){.stats = {
				      .head = {.magic = SF_CONTROL_MAGIC,
					       .version = SF_CONTROL_VERSION,
					       .type = SF_CONTROL_STATS,
					       .length = sizeof(struct sf_control_stats)},
				      .stream = "orders",
				      .stream_count = 1,
				      .node_count = 1,
				      .version = "1.2.3",
			      }};
	ck_assert_int_eq(sf_layout_parse("twitter", &peer->stats.layout, NULL), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, peer->fd), 0);
}

static void teardown(struct peer *peer)
{
	close(peer->fd[0]);
	if (peer->fd[1] >= 0)
		close(peer->fd[1]);
}

static void answer(struct peer *peer, size_t length)
{
	ck_assert_int_eq(send(peer->fd[1], &peer->stats, length, 0), (ssize_t)length);
}

static int ask(struct peer *peer, struct sf_control_stats *ret_stats)
{
	return sfctl_control_stats(peer->fd[0], "orders", 0, ret_stats, &peer->why);
}

static void assert_refused(struct peer *peer, const char *sentence)
{
	struct sf_control_stats stats = {.pid = 42};

	ck_assert_int_eq(ask(peer, &stats), -EPROTO);
	ck_assert_msg(strstr(peer->why.text, sentence) != NULL, "%s", peer->why.text);
	ck_assert_uint_eq(stats.pid, 42);
}

START_TEST(control_stats_good_reply_is_taken_and_request_is_whole)
{
	struct sf_control_request request;
	struct sf_control_stats stats;
	struct peer peer;

	setup(&peer);
	memset(peer.stats.stream, 'x', sizeof(peer.stats.stream));
	memset(peer.stats.version, 'y', sizeof(peer.stats.version));
	answer(&peer, sizeof(peer.stats));
	ck_assert_int_eq(ask(&peer, &stats), 0);
	ck_assert_uint_eq(strlen(stats.stream), sizeof(stats.stream) - 1);
	ck_assert_uint_eq(strlen(stats.version), sizeof(stats.version) - 1);
	ck_assert_int_eq(recv(peer.fd[1], &request, sizeof(request), 0), sizeof(request));
	ck_assert_uint_eq(request.head.magic, SF_CONTROL_MAGIC);
	ck_assert_uint_eq(request.head.version, SF_CONTROL_VERSION);
	ck_assert_uint_eq(request.head.type, SF_CONTROL_STATS);
	ck_assert_uint_eq(request.head.length, sizeof(request));
	ck_assert_str_eq(request.stream, "orders");
	teardown(&peer);
}
END_TEST

START_TEST(control_stats_other_version_names_both)
{
	struct peer peer;

	setup(&peer);
	peer.stats.head.version = 77;
	answer(&peer, sizeof(peer.stats));
	assert_refused(&peer, "speaks control version 77, this sfctl 1");
	teardown(&peer);
}
END_TEST

START_TEST(control_stats_other_magic_is_not_sfd)
{
	struct peer peer;

	setup(&peer);
	peer.stats.head.magic = 1;
	answer(&peer, sizeof(peer.stats));
	assert_refused(&peer, "is not sfd");
	teardown(&peer);
	setup(&peer);
	answer(&peer, 3);
	assert_refused(&peer, "is not sfd");
	teardown(&peer);
}
END_TEST

START_TEST(control_stats_wrong_length_or_type_is_refused)
{
	struct peer peer;

	setup(&peer);
	answer(&peer, sizeof(peer.stats) - 8);
	assert_refused(&peer, "malformed");
	peer.stats.head.length -= 8;
	answer(&peer, sizeof(peer.stats) - 8);
	assert_refused(&peer, "malformed");
	peer.stats.head.length += 8;
	peer.stats.head.type = SF_CONTROL_CLIENTS;
	answer(&peer, sizeof(peer.stats));
	assert_refused(&peer, "malformed");
	peer.stats.head.type = SF_CONTROL_STATS;
	peer.stats.head.status = -ENOENT;
	answer(&peer, sizeof(peer.stats));
	assert_refused(&peer, "malformed");
	teardown(&peer);
}
END_TEST

START_TEST(control_stats_impossible_values_are_refused)
{
	struct peer peer;

	setup(&peer);
	peer.stats.node_count = SF_NODES_MAX + 1;
	answer(&peer, sizeof(peer.stats));
	assert_refused(&peer, "257 node ids");
	peer.stats.node_count = 1;
	peer.stats.layout.time_bits = 0;
	answer(&peer, sizeof(peer.stats));
	assert_refused(&peer, "");
	teardown(&peer);
}
END_TEST

START_TEST(control_stats_refusal_gives_the_daemons_sentence)
{
	struct sf_control_refused refused = {
		.head = {.magic = SF_CONTROL_MAGIC,
			 .version = SF_CONTROL_VERSION,
			 .type = SF_CONTROL_STATS,
			 .length = sizeof(refused),
			 .status = -ENOENT},
	};
	struct sf_control_stats stats;
	struct peer peer;

	setup(&peer);
	/* without a NUL, as a broken daemon might send it */
	memset(refused.text, 'z', sizeof(refused.text));
	ck_assert_int_eq(send(peer.fd[1], &refused, sizeof(refused), 0), sizeof(refused));
	ck_assert_int_eq(ask(&peer, &stats), -ENOENT);
	ck_assert_uint_eq(strlen(peer.why.text), sizeof(refused.text) - 1);
	teardown(&peer);
}
END_TEST

START_TEST(control_stats_closed_by_peer_says_so)
{
	struct sf_control_stats stats;
	struct peer peer;

	setup(&peer);
	close(peer.fd[1]);
	peer.fd[1] = -1;
	ck_assert_int_eq(ask(&peer, &stats), -ENOTCONN);
	ck_assert_ptr_nonnull(strstr(peer.why.text, "closed the connection"));
	teardown(&peer);
}
END_TEST

START_TEST(control_clients_overfull_page_is_refused)
{
	struct sf_control_clients clients = {
		.head = {.magic = SF_CONTROL_MAGIC,
			 .version = SF_CONTROL_VERSION,
			 .type = SF_CONTROL_CLIENTS,
			 .length = sizeof(clients)},
		.count = SF_CONTROL_CLIENTS_PAGE + 1,
	};
	struct sf_control_clients got;
	struct peer peer;

	setup(&peer);
	memset(clients.client[0].command, 'c', sizeof(clients.client[0].command));
	ck_assert_int_eq(send(peer.fd[1], &clients, sizeof(clients), 0), sizeof(clients));
	ck_assert_int_eq(sfctl_control_clients(peer.fd[0], "orders", 0, &got, &peer.why), -EPROTO);
	clients.count = 1;
	ck_assert_int_eq(send(peer.fd[1], &clients, sizeof(clients), 0), sizeof(clients));
	ck_assert_int_eq(sfctl_control_clients(peer.fd[0], "orders", 0, &got, &peer.why), 0);
	ck_assert_uint_eq(strlen(got.client[0].command), sizeof(got.client[0].command) - 1);
	teardown(&peer);
}
END_TEST

START_TEST(control_open_nobody_there_names_path_and_remedy)
{
	const struct sfctl sfctl = {.socket = "/nonexistent/sfd.sock"};
	struct sf_why why;
	int fd = 42;

	ck_assert_int_eq(sfctl_control_open(&sfctl, &fd, &why), -ENOTCONN);
	ck_assert_ptr_nonnull(strstr(why.text, "no sfd listens at /nonexistent/sfd.sock"));
	ck_assert_int_eq(fd, 42);
}
END_TEST

START_TEST(control_open_overlong_path_is_refused)
{
	char path[200];
	const struct sfctl sfctl = {.socket = path};
	struct sf_why why;
	int fd = 42;

	memset(path, 'p', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	ck_assert_int_eq(sfctl_control_open(&sfctl, &fd, &why), -EINVAL);
	ck_assert_int_eq(fd, 42);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tools_control");
	TCase *control = tcase_create("control");
	SRunner *runner;
	int failed;

	tcase_add_test(control, control_stats_good_reply_is_taken_and_request_is_whole);
	tcase_add_test(control, control_stats_other_version_names_both);
	tcase_add_test(control, control_stats_other_magic_is_not_sfd);
	tcase_add_test(control, control_stats_wrong_length_or_type_is_refused);
	tcase_add_test(control, control_stats_impossible_values_are_refused);
	tcase_add_test(control, control_stats_refusal_gives_the_daemons_sentence);
	tcase_add_test(control, control_stats_closed_by_peer_says_so);
	tcase_add_test(control, control_clients_overfull_page_is_refused);
	tcase_add_test(control, control_open_nobody_there_names_path_and_remedy);
	tcase_add_test(control, control_open_overlong_path_is_refused);
	suite_add_tcase(suite, control);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
