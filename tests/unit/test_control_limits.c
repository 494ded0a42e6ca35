/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/control.c and crowd.c: how many connections a user gets, and how long a reply waits for a
 * reader that does not read. On both backends; the channel has no stream, so that every answer is a
 * refusal.
 */
#include "daemon/config.h"
#include "daemon/control.h"
#include "daemon/crowd.h"
#include "tests/support/loop_fixture.h"

#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define USER 54321

/* ---- limits ---- */

static struct sfd_connection guests[300];
static struct sfd_control_state state;

/** So many connections of a user, besides those that there are. */
static void add_guests(uint32_t count, uid_t uid, enum sfd_standing standing)
{
	for (uint32_t i = 0; i < count; i++) {
		struct sfd_connection *guest = &guests[state.connection_count];

		*guest = (struct sfd_connection){.peer.uid = uid, .standing = standing};
		sfd_connection_add(&state, guest);
	}
}

static enum sfd_standing judge(uid_t uid)
{
	return sfd_crowd_judge(&state, &(struct sfd_peer){.uid = uid});
}

static void begin(uint32_t total, uint32_t per_user)
{
	state = (struct sfd_control_state){.connections_max = total,
					   .connections_per_user = per_user};
}

START_TEST(judge_gives_each_user_its_own_number)
{
	begin(1000, 10);
	add_guests(9, USER, SFD_STANDING_GUEST);
	/* Who was turned away does not count. */
	add_guests(50, USER, SFD_STANDING_TURNED_AWAY);
	ck_assert_int_eq(judge(USER), SFD_STANDING_GUEST);
	add_guests(1, USER, SFD_STANDING_GUEST);
	ck_assert_int_eq(judge(USER), SFD_STANDING_TURNED_AWAY);
	ck_assert_int_eq(judge(USER + 1), SFD_STANDING_GUEST);
	ck_assert_int_eq(judge(0), SFD_STANDING_GUEST);
	ck_assert_uint_eq(sfd_crowd_turned_away(&state), 50);
}
END_TEST

START_TEST(judge_leaves_root_and_ones_own_user_questions)
{
	const uid_t users[] = {0, geteuid()};

	for (int i = 0; i < 2; i++) {
		begin(1000, 10);
		add_guests(10, users[i], SFD_STANDING_GUEST);
		ck_assert_int_eq(judge(users[i]), SFD_STANDING_ASKING);
		add_guests(SFD_CROWD_HEADROOM - 1, users[i], SFD_STANDING_ASKING);
		ck_assert_int_eq(judge(users[i]), SFD_STANDING_ASKING);
		add_guests(1, users[i], SFD_STANDING_ASKING);
		ck_assert_int_eq(judge(users[i]), SFD_STANDING_TURNED_AWAY);
	}
}
END_TEST

START_TEST(judge_of_a_full_house_keeps_a_reserve_for_the_operator)
{
	char text[256];

	begin(200, 1000);
	add_guests(200 - SFD_CROWD_RESERVE - 1, USER, SFD_STANDING_GUEST);
	ck_assert_int_eq(judge(USER), SFD_STANDING_GUEST);
	add_guests(1, USER, SFD_STANDING_GUEST);
	ck_assert_int_eq(judge(USER), SFD_STANDING_TURNED_AWAY);
	sfd_crowd_explain(&state, &guests[0], text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "sfd has 136 connections"));
	ck_assert_int_eq(judge(0), SFD_STANDING_GUEST);
	add_guests(SFD_CROWD_RESERVE, 0, SFD_STANDING_GUEST);
	ck_assert_int_eq(judge(0), SFD_STANDING_TURNED_AWAY);
}
END_TEST

/* Or accepting would fail for all, and not be refused to some. */
START_TEST(total_stays_below_the_limit_of_descriptors)
{
	struct rlimit kept;
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &kept), 0);
	limit = (struct rlimit){.rlim_cur = 100, .rlim_max = kept.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_uint_le(sfd_crowd_total(1), 100 - 20);
	ck_assert_uint_lt(sfd_crowd_total(10), sfd_crowd_total(1));
	ck_assert_uint_ge(sfd_crowd_total(SFD_STREAMS_MAX), 1);
	limit.rlim_cur = kept.rlim_max;
	if (limit.rlim_cur > 2 * (rlim_t)SFD_CONNECTIONS_MAX) {
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
		ck_assert_uint_eq(sfd_crowd_total(1), SFD_CONNECTIONS_MAX);
	}
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &kept), 0);
}
END_TEST

/* ---- readers ---- */

static char directory[64];
static struct sfd_control *control;

static void open_control(int backend, int64_t reply_ns)
{
	const struct sfd_control_setup setup = {.runtime_dir = directory,
						.listen_fd = -1,
						.connections_per_user = 100,
						.reply_ns = reply_ns};
	struct sf_why why = {0};

	(void)snprintf(directory, sizeof(directory), "/tmp/sfd-control-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	t_set_up(backend);
	ck_assert_msg(sfd_control_open(t_loop, &setup, &control, &why) == 0, "%s", why.text);
}

static void close_control(void)
{
	t_tear_down();
	control = sfd_control_close(control);
	ck_assert_int_eq(rmdir(directory), 0);
}

static void stop(struct sfd_request *request, int result)
{
	(void)request;
	(void)result;
	sfd_loop_stop(t_loop);
}

static void run_for_ms(int ms)
{
	struct sfd_request timeout = {.done = stop};

	ck_assert_int_eq(sfd_loop_timeout(t_loop, ms * INT64_C(1000000), &timeout), 0);
	ck_assert_int_eq(sfd_loop_run(t_loop), 0);
}

static int enter(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/sfd.sock", directory);
	ck_assert_int_eq(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static bool ask(int fd)
{
	const struct sf_control_request request = {.head = {.magic = SF_CONTROL_MAGIC,
							    .version = SF_CONTROL_VERSION,
							    .type = SF_CONTROL_STATS,
							    .length = sizeof(request)}};

	return send(fd, &request, sizeof(request), MSG_NOSIGNAL) == sizeof(request);
}

/** Asks and never reads, until there is no room for anything on either side. */
static int enter_without_reading(void)
{
	int fd = enter();

	for (int full = 0; full < 3; run_for_ms(1))
		full = ask(fd) ? 0 : full + 1;
	return fd;
}

static bool is_closed(int fd)
{
	struct pollfd poller = {.fd = fd};

	return poll(&poller, 1, 0) == 1 && (poller.revents & POLLHUP) != 0;
}

static void assert_served(void)
{
	struct sf_control_refused refused;
	int fd = enter();

	ck_assert(ask(fd));
	run_for_ms(20);
	ck_assert_int_eq(recv(fd, &refused, sizeof(refused), 0), sizeof(refused));
	(void)close(fd);
}

START_TEST(reply_that_nobody_reads_waits_and_then_ends_its_connection)
{
	int fd;

	open_control(_i, INT64_C(3600000000000));
	fd = enter_without_reading();
	run_for_ms(50);
	ck_assert(!is_closed(fd));
	assert_served();
	close_control();
	(void)close(fd);

	open_control(_i, 20000000);
	fd = enter_without_reading();
	for (int i = 0; i < 1000 && !is_closed(fd); i++)
		run_for_ms(10);
	ck_assert(is_closed(fd));
	assert_served();
	close_control();
	(void)close(fd);
}
END_TEST

/* Who has nothing on its way may stay silent for as long as it likes: clients do. */
START_TEST(silent_connection_is_left_alone)
{
	struct sf_control_refused refused;
	int fd;

	open_control(_i, 5000000);
	fd = enter();
	ck_assert(ask(fd));
	run_for_ms(20);
	ck_assert_int_eq(recv(fd, &refused, sizeof(refused), 0), sizeof(refused));
	run_for_ms(50);
	ck_assert(!is_closed(fd));
	(void)close(fd);
	close_control();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("control_limits");
	TCase *limits = tcase_create("limits");
	TCase *readers = tcase_create("readers");
	SRunner *runner;
	struct sf_why why;
	const int first =
		sfd_loop_new(SFD_LOOP_URING, &t_loop, &why) == 0 ? SFD_LOOP_URING : SFD_LOOP_POLL;
	int failed;

	t_loop = first == SFD_LOOP_URING ? sfd_loop_free(t_loop) : NULL;
	tcase_add_test(limits, judge_gives_each_user_its_own_number);
	tcase_add_test(limits, judge_leaves_root_and_ones_own_user_questions);
	tcase_add_test(limits, judge_of_a_full_house_keeps_a_reserve_for_the_operator);
	tcase_add_test(limits, total_stays_below_the_limit_of_descriptors);
	suite_add_tcase(suite, limits);
	tcase_set_timeout(readers, 60);
	tcase_add_loop_test(readers, reply_that_nobody_reads_waits_and_then_ends_its_connection,
			    first, SFD_LOOP_POLL + 1);
	tcase_add_loop_test(readers, silent_connection_is_left_alone, first, SFD_LOOP_POLL + 1);
	suite_add_tcase(suite, readers);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
