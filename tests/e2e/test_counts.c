/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What sfd says of each client's IDs: exact for those that count, honest about those that do not,
 * bounded for those that lie, and kept over an upgrade.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/process.h"

#include "shm/ring.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define LAYOUT "t41 n10 s12 epoch=1577836800000"
#define TAKEN UINT64_C(20000)

static struct t_daemon daemon_now;

static struct sf_control_clients read_clients(void)
{
	struct sf_control_request request = t_request(SF_CONTROL_CLIENTS, "default");
	struct sf_control_clients clients;
	int fd = t_connect(daemon_now.socket);

	ck_assert_uint_eq(t_exchange(fd, &request, sizeof(request), &clients, sizeof(clients)),
			  sizeof(clients));
	(void)close(fd);
	return clients;
}

/** What sfd says of a process that has one client. */
static uint64_t ids_of(pid_t pid)
{
	struct sf_control_clients clients = read_clients();

	for (uint32_t i = 0; i < clients.count; i++)
		if (clients.client[i].pid == (uint32_t)pid)
			return clients.client[i].ids;
	ck_abort_msg("pid %d is not listed", (int)pid);
	return 0;
}

static bool is_listed(pid_t pid)
{
	struct sf_control_clients clients = read_clients();

	for (uint32_t i = 0; i < clients.count; i++)
		if (clients.client[i].pid == (uint32_t)pid)
			return true;
	return false;
}

/** Attaches as a client of a minor version, and stays. @return the connection */
static int attach(uint16_t abi_minor, size_t length, struct sf_control_attached *ret_attached,
		  int ret_fds[2])
{
	struct sf_control_request request = t_request(SF_CONTROL_ATTACH, "default");
	union {
		char space[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = {.iov_base = ret_attached, .iov_len = sizeof(*ret_attached)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	int fd = t_connect(daemon_now.socket);

	*ret_attached = (struct sf_control_attached){0};
	request.abi_minor = abi_minor;
	ck_assert_int_eq(send(fd, &request, sizeof(request), MSG_NOSIGNAL), sizeof(request));
	ck_assert_int_eq(recvmsg(fd, &message, MSG_CMSG_CLOEXEC), (ssize_t)length);
	ck_assert_int_eq(ret_attached->head.status, 0);
	ck_assert_uint_eq(ret_attached->head.length, length);
	memcpy(ret_fds, CMSG_DATA(CMSG_FIRSTHDR(&message)), 2 * sizeof(int));
	return fd;
}

/** Takes TAKEN IDs, half of them in order, gives back what it holds, and waits for SIGUSR1 each
 *  time before it does so again. */
static int take_again_and_again(void *argument)
{
	struct sf_client *client = t_open(argument, INT64_C(5000000000));
	sigset_t set;
	int signal;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	for (;;) {
		struct sf_cursor *cursor = t_cursor(client);
		uint64_t id;

		for (uint64_t i = 0; i < TAKEN; i++)
			T_CHECK((i % 2 ? sf_next_ordered : sf_next)(cursor, &id) == 0);
		sf_cursor_close(cursor);
		(void)sigwait(&set, &signal);
	}
	return 0;
}

static pid_t start_taker(void)
{
	pid_t pid = t_child(take_again_and_again, daemon_now.socket);

	T_WAIT_UNTIL(is_listed(pid) && ids_of(pid) == TAKEN, 20000);
	return pid;
}

static void end_taker(pid_t pid)
{
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(t_reap(pid), -SIGKILL);
}

START_TEST(each_client_has_the_count_of_its_own_ids)
{
	pid_t one;
	pid_t two;

	t_daemon_run(&daemon_now, LAYOUT, "");
	one = start_taker();
	two = start_taker();
	ck_assert_int_eq(kill(two, SIGUSR1), 0);
	T_WAIT_UNTIL(ids_of(two) == 2 * TAKEN, 20000);
	ck_assert_uint_eq(ids_of(one), TAKEN);
	end_taker(one);
	T_WAIT_UNTIL(!is_listed(one), 10000);
	one = start_taker(); /* has the tally of the one that is gone, and starts at zero */
	ck_assert_uint_eq(ids_of(two), 2 * TAKEN);
	end_taker(one);
	end_taker(two);
	t_daemon_stop(&daemon_now);
}
END_TEST

/* The connection of a client that rests goes on in the next sfd, and its count with it. */
START_TEST(count_goes_on_over_an_upgrade)
{
	struct sf_control_upgrade request = {.head = {.magic = SF_CONTROL_MAGIC,
						      .version = SF_CONTROL_VERSION,
						      .type = SF_CONTROL_UPGRADE,
						      .length = sizeof(request)}};
	struct sf_control_upgraded upgraded = {0};
	pid_t one;
	int fd;

	t_daemon_run(&daemon_now, LAYOUT, "");
	one = start_taker();
	fd = t_connect(daemon_now.socket);
	ck_assert_uint_eq(t_exchange(fd, &request, sizeof(request), &upgraded, sizeof(upgraded)),
			  sizeof(upgraded));
	ck_assert_int_eq(upgraded.head.status, 0);
	ck_assert_uint_eq(ids_of(one), TAKEN);
	/* It takes IDs again, attaches for that, and is counted from then on. */
	ck_assert_int_eq(kill(one, SIGUSR1), 0);
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_attaches) == 2, 20000);
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_clients) == 1, 20000);
	ck_assert_int_eq(kill(one, SIGUSR1), 0);
	T_WAIT_UNTIL(ids_of(one) >= TAKEN && ids_of(one) < 2 * TAKEN, 20000);
	end_taker(one);
	(void)close(fd);
	t_daemon_stop(&daemon_now);
}
END_TEST

START_TEST(client_that_knows_no_tally_is_not_counted)
{
	struct sf_control_attached attached;
	int fds[2];
	int fd;

	t_daemon_run(&daemon_now, LAYOUT, "");
	for (uint16_t minor = 0; minor < SF_SHM_ABI_MINOR_TALLIES; minor++) {
		fd = attach(minor, SF_CONTROL_ATTACHED_SHORT, &attached, fds);
		ck_assert_uint_eq(ids_of(getpid()), SF_CONTROL_NOT_COUNTED);
		(void)close(fds[0]);
		(void)close(fds[1]);
		(void)close(fd);
		T_WAIT_UNTIL(!is_listed(getpid()), 10000);
	}
	t_daemon_stop(&daemon_now);
}
END_TEST

/* It can write any count, also into others' tallies: no more is shown than the stream has given. */
START_TEST(count_that_a_client_made_up_is_bounded)
{
	static const uint64_t made_up[] = {1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
	static const uint64_t shown[] = {1, TAKEN, 0, 0};
	struct sf_control_attached attached;
	struct sf_shm_grants *grants;
	struct sf_shm_ring ring;
	uint64_t bytes;
	void *claims;
	int fds[2];
	pid_t one;
	int fd;

	t_daemon_run(&daemon_now, LAYOUT, "");
	one = start_taker();
	T_WAIT_UNTIL(t_daemon_counter(&daemon_now, SF_COUNTER_ids_claimed) >= TAKEN, 10000);
	fd = attach(SF_SHM_ABI_MINOR, sizeof(attached), &attached, fds);
	grants = mmap(NULL, sizeof(*grants), PROT_READ, MAP_SHARED, fds[0], 0);
	ck_assert(grants != MAP_FAILED);
	bytes = grants->claims_bytes;
	claims = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
	ck_assert(claims != MAP_FAILED);
	sf_shm_ring_map(&ring, grants, claims, grants->slots);
	ck_assert_uint_eq(attached.tally, 2);
	ck_assert_uint_eq(ids_of(getpid()), 0);
	for (size_t i = 0; i < sizeof(made_up) / sizeof(made_up[0]); i++) {
		uint64_t claimed = t_daemon_counter(&daemon_now, SF_COUNTER_ids_claimed);

		atomic_store_explicit(sf_shm_tally(&ring, attached.tally), made_up[i],
				      memory_order_relaxed);
		atomic_store_explicit(sf_shm_tally(&ring, 1), made_up[i], memory_order_relaxed);
		ck_assert_uint_eq(ids_of(getpid()), shown[i] == TAKEN ? claimed : shown[i]);
		ck_assert_uint_eq(ids_of(one), shown[i] == TAKEN ? claimed : shown[i]);
	}
	(void)munmap(claims, bytes);
	(void)munmap(grants, sizeof(*grants));
	(void)close(fds[0]);
	(void)close(fds[1]);
	(void)close(fd);
	end_taker(one);
	t_daemon_stop(&daemon_now);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		each_client_has_the_count_of_its_own_ids,
		count_goes_on_over_an_upgrade,
		client_that_knows_no_tally_is_not_counted,
		count_that_a_client_made_up_is_bounded,
	};
	const struct t_program program = {.name = "counts",
					  .machine_id = 848,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
