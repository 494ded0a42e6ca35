/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libclient/attach.c: what a client does with an answer to its request that sfd would not give. It
 * says what is wrong and keeps neither the answer's descriptors nor its memory.
 */
#include "tests/support/ring_fixture.h"

#include "tests/unit/abi_suite.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

static struct sf_client *client;
static int pair[2];

static void set_up(void)
{
	client = t_client_new(SF_WAIT_NONE);
	t_client_said[0] = '\0';
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

static void tear_down(void)
{
	(void)close(pair[0]);
	(void)close(pair[1]);
	sf_close(client);
}

static struct sf_control_head head_of(size_t length, int status)
{
	return (struct sf_control_head){.magic = SF_CONTROL_MAGIC,
					.version = SF_CONTROL_VERSION,
					.type = SF_CONTROL_ATTACH,
					.length = (uint32_t)length,
					.status = status};
}

/* Sends an answer with two descriptors, which are closed here. */
static void answer(void *bytes, size_t length, int first, int second)
{
	const int fds[2] = {first, second};
	_Alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(fds))] = {0};
	struct iovec part = {.iov_base = bytes, .iov_len = length};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = space,
				 .msg_controllen = sizeof(space)};

	*CMSG_FIRSTHDR(&message) = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
						    .cmsg_type = SCM_RIGHTS,
						    .cmsg_len = CMSG_LEN(sizeof(fds))};
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), fds, sizeof(fds));
	ck_assert_int_eq(sendmsg(pair[1], &message, 0), (ssize_t)length);
	(void)close(first);
	(void)close(second);
}

static int receive(void)
{
	return sf_attach_receive(client, pair[0], client->mono_ns());
}

static void expect_said(const char *what)
{
	ck_assert_msg(strstr(t_client_said, what) != NULL, "\"%s\" is missing in: %s", what,
		      t_client_said);
}

/* The pipe's other end sees the end of file when nobody holds this one any more. */
static void expect_hung_up(int fd)
{
	char byte;

	ck_assert_int_eq(read(fd, &byte, 1), 0);
	(void)close(fd);
}

/* It reads like the end of the connection, but for its descriptors. */
START_TEST(fc63_empty_answer_with_descriptors_leaves_none)
{
	int pipe_fds[2];

	ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK), 0);
	answer((char[]){""}, 0, pipe_fds[1], dup(pipe_fds[0]));
	ck_assert_int_eq(receive(), -ENOTCONN);
	expect_said("closed the connection without an answer");
	expect_hung_up(pipe_fds[0]);
}
END_TEST

START_TEST(fc63_malformed_answer_with_descriptors_leaves_none)
{
	int pipe_fds[2];

	ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK), 0);
	answer((char[]){"hello"}, 5, pipe_fds[1], dup(pipe_fds[0]));
	ck_assert_int_eq(receive(), -EPROTO);
	expect_said("malformed answer of 5 bytes");
	expect_hung_up(pipe_fds[0]);
}
END_TEST

START_TEST(refusal_without_a_reason_is_told)
{
	struct sf_control_head head = head_of(sizeof(head), -EACCES);

	ck_assert_int_eq(send(pair[1], &head, sizeof(head), 0), sizeof(head));
	ck_assert_int_eq(receive(), -EACCES);
	expect_said("refused without a reason (-13)");
}
END_TEST

START_TEST(refusal_with_a_status_that_is_no_errno_reads_as_a_protocol_error)
{
	struct sf_control_refused refused = {.head = head_of(sizeof(refused), -4096),
					     .text = "go away"};

	ck_assert_int_eq(send(pair[1], &refused, sizeof(refused), 0), sizeof(refused));
	ck_assert_int_eq(receive(), -EPROTO);
	ck_assert_str_eq(t_client_said, "go away");
}
END_TEST

/* A text that fills its field to the last byte is no reason to read on. */
START_TEST(refusal_that_does_not_end_is_cut)
{
	struct sf_control_refused refused = {.head = head_of(sizeof(refused), -EACCES)};

	memset(refused.text, 'x', sizeof(refused.text));
	ck_assert_int_eq(send(pair[1], &refused, sizeof(refused), 0), sizeof(refused));
	ck_assert_int_eq(receive(), -EACCES);
	ck_assert_uint_eq(strlen(t_client_said), sizeof(refused.text));
}
END_TEST

static int memfd_of(off_t bytes)
{
	int fd = memfd_create("huge", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, bytes), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, SEALS), 0);
	return fd;
}

/* Mapping all of a memfd takes its size in memory: a hole of a terabyte would take the host's. */
START_TEST(fc63_memory_larger_than_any_ring_is_not_touched)
{
	struct sf_control_attached attached = {.head = head_of(sizeof(attached), 0)};
	int grants = memfd_of((off_t)sf_shm_grants_bytes(SF_SHM_SLOTS_MAX) + 1);
	int kept = dup(grants);
	struct stat status;

	answer(&attached, sizeof(attached), grants, memfd_of(4096));
	ck_assert_int_eq(receive(), -EPROTO);
	expect_said("longer than a ring of 1048576 slots");
	ck_assert_int_eq(fstat(kept, &status), 0);
	ck_assert_int_eq(status.st_blocks, 0);
	(void)close(kept);
}
END_TEST

void t_add_abi_reply(Suite *suite)
{
	TCase *reply = tcase_create("reply");

	tcase_add_checked_fixture(reply, set_up, tear_down);
	tcase_add_test(reply, fc63_empty_answer_with_descriptors_leaves_none);
	tcase_add_test(reply, fc63_malformed_answer_with_descriptors_leaves_none);
	tcase_add_test(reply, refusal_without_a_reason_is_told);
	tcase_add_test(reply, refusal_with_a_status_that_is_no_errno_reads_as_a_protocol_error);
	tcase_add_test(reply, refusal_that_does_not_end_is_cut);
	tcase_add_test(reply, fc63_memory_larger_than_any_ring_is_not_touched);
	suite_add_tcase(suite, reply);
}
