/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Who can do what to a ring: a stranger who holds its descriptors, and a program that sfd executes.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define LAYOUT "t41 n10 s12 epoch=1577836800000"
#define NOBODY 65534

static struct t_daemon daemon_now;

/* ---- a stranger who holds the descriptors ---- */

/** Attaches by hand. @param ret_fds grants and claims */
static void attach(int ret_fds[2])
{
	struct sf_control_request request = t_request(SF_CONTROL_ATTACH, "default");
	struct sf_control_attached attached = {0};
	union {
		char space[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = {.iov_base = &attached, .iov_len = sizeof(attached)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	int fd = t_connect(daemon_now.socket);

	T_CHECK(send(fd, &request, sizeof(request), MSG_NOSIGNAL) == sizeof(request));
	T_CHECK(recvmsg(fd, &message, MSG_CMSG_CLOEXEC) == sizeof(attached));
	T_CHECK(attached.head.status == 0 && CMSG_FIRSTHDR(&message) != NULL);
	memcpy(ret_fds, CMSG_DATA(CMSG_FIRSTHDR(&message)), 2 * sizeof(int));
	(void)close(fd);
}

static off_t size_of(int fd)
{
	struct stat status;

	T_CHECK(fstat(fd, &status) == 0);
	return status.st_size;
}

static int reopen(int fd)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDWR | O_CLOEXEC);
}

/** Nothing makes this half writable. */
static void assert_read_only(int fd)
{
	const size_t size = (size_t)size_of(fd);
	struct iovec part = {.iov_base = (char[]){"x"}, .iov_len = 1};
	void *map;

	T_CHECK(mmap(NULL, size, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	T_CHECK(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	T_CHECK(map != MAP_FAILED);
	T_CHECK(mprotect(map, size, PROT_READ | PROT_WRITE) < 0);
	T_CHECK(madvise(map, size, MADV_REMOVE) < 0);
	T_CHECK(munmap(map, size) == 0);
	T_CHECK(write(fd, "x", 1) < 0);
	T_CHECK(pwrite(fd, "x", 1, 0) < 0);
	T_CHECK(pwritev(fd, &part, 1, 0) < 0);
	T_CHECK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) < 0);
	T_CHECK(fallocate(fd, FALLOC_FL_ZERO_RANGE, 0, 4096) < 0);
}

/** Nor does anything change its size, or what it is sealed against. */
static void assert_sealed(int fd)
{
	const off_t size = size_of(fd);

	T_CHECK(ftruncate(fd, 0) < 0);
	T_CHECK(ftruncate(fd, size - 4096) < 0);
	T_CHECK(ftruncate(fd, size + 4096) < 0);
	T_CHECK(fallocate(fd, 0, size, 4096) < 0);
	T_CHECK(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, 4096) < 0);
	T_CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) < 0 && errno == EPERM);
	T_CHECK(size_of(fd) == size);
}

static void assert_harmless(int grants_fd, int claims_fd)
{
	assert_read_only(grants_fd);
	assert_sealed(grants_fd);
	assert_sealed(claims_fd);
}

struct stranger {
	uid_t uid;
	int socket;
};

static int try_everything(void *argument)
{
	const struct stranger *stranger = argument;
	char said[T_SAID_BYTES];
	struct sf_client *client = NULL;
	int again[2];
	int fds[2];
	union {
		char space[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};

	t_become(stranger->uid);
	if (stranger->uid != 0) {
		T_CHECK(t_try_open(daemon_now.socket, "default", &client, said) == -EACCES);
		T_CHECK(strstr(said, "stream default: user 65534 may not attach: add it to the "
				     "stream's allow list") != NULL);
	}
	T_CHECK(recvmsg(stranger->socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message) != NULL);
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fds));
	assert_harmless(fds[0], fds[1]);
	/* What is open anew may be writable; what it leads to is not. */
	for (int i = 0; i < 2; i++)
		again[i] = reopen(fds[i]);
	if (again[0] >= 0)
		assert_read_only(again[0]);
	for (int i = 0; i < 2; i++)
		if (again[i] >= 0)
			assert_sealed(again[i]);
	return 0;
}

static void pass_on(int socket, const int fds[2])
{
	union {
		char space[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec part = {.iov_base = (char[]){"x"}, .iov_len = 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(head), fds, 2 * sizeof(int));
	ck_assert_int_eq(sendmsg(socket, &message, MSG_NOSIGNAL), 1);
}

START_TEST(stranger_with_the_descriptors_can_neither_write_grants_nor_shrink_either)
{
	static const uid_t users[] = {NOBODY, 0};
	struct sf_client *client;
	struct sf_cursor *cursor;
	uint64_t last = 0;

	if (!t_has_root(__func__))
		return;
	t_daemon_run(&daemon_now, LAYOUT, "");
	client = t_open(daemon_now.socket, 0);
	cursor = t_cursor(client);
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		struct stranger stranger = {.uid = users[i]};
		int pair[2];
		int fds[2];
		pid_t pid;

		attach(fds);
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
		stranger.socket = pair[1];
		pid = t_child(try_everything, &stranger);
		pass_on(pair[0], fds);
		ck_assert_int_eq(t_reap(pid), 0);
		for (int k = 0; k < 2; k++) {
			(void)close(fds[k]);
			(void)close(pair[k]);
		}
		for (int k = 0; k < 1000; k++) {
			uint64_t id = t_next(cursor);

			ck_assert_uint_gt(id, last);
			last = id;
		}
	}
	sf_cursor_close(cursor);
	sf_close(client);
	t_daemon_stop(&daemon_now);
}
END_TEST

/* ---- a program that sfd executes ---- */

static bool is_closed_by_exec(const char *fd)
{
	char path[320];
	char line[128];
	unsigned long flags = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", (int)daemon_now.pid, fd);
	file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, "flags:", 6) == 0)
			flags = strtoul(line + 6, NULL, 8);
	(void)fclose(file);
	return (flags & O_CLOEXEC) != 0;
}

/** What the test itself has open is not sfd's. */
static void close_the_tests_own(void)
{
	(void)close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
}

/* Its ring is made by the very process that answers: a ring's thread cannot be another's. */
START_TEST(fc74_program_that_sfd_executes_inherits_no_ring_and_no_socket)
{
	const char *const kinds[] = {"io_uring", "socket:", "memfd:sfd:default:grants",
				     "memfd:sfd:default:claims"};
	bool is_seen[4] = {false};
	struct sf_control_stats stats;
	char path[320];
	char target[128];
	const struct dirent *entry;
	DIR *dir;
	int client;

	t_daemon_init(&daemon_now, 0);
	daemon_now.before_exec = close_the_tests_own;
	t_daemon_configure(&daemon_now, LAYOUT, "");
	t_daemon_start(&daemon_now);
	client = t_connect(daemon_now.socket);
	t_daemon_stats(&daemon_now, &stats);
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)daemon_now.pid);
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)) != NULL) {
		ssize_t length = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		if (length < 0 || strtoul(entry->d_name, NULL, 10) <= STDERR_FILENO)
			continue;
		target[length] = '\0';
		ck_assert_msg(is_closed_by_exec(entry->d_name), "%s stays open", target);
		for (int i = 0; i < 4; i++)
			is_seen[i] = is_seen[i] || strstr(target, kinds[i]) != NULL;
	}
	(void)closedir(dir);
	for (int i = stats.loop == 0 ? 0 : 1; i < 4; i++)
		ck_assert_msg(is_seen[i], "no %s", kinds[i]);
	(void)close(client);
	t_daemon_stop(&daemon_now);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		stranger_with_the_descriptors_can_neither_write_grants_nor_shrink_either,
		fc74_program_that_sfd_executes_inherits_no_ring_and_no_socket,
	};
	const struct t_program program = {.name = "trust",
					  .machine_id = 560,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
