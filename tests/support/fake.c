/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * See fake.h. One at a time; it runs in a child and serves one request.
 */
#include "tests/support/fake.h"

#include "tests/support/e2e.h"
#include "tests/support/process.h"

#include "shm/control.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SLOTS 16u
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

/** Everything a fake may get wrong. */
struct answer {
	struct sf_shm_grants grants;
	uint64_t grants_bytes; /* of the memfd */
	uint64_t claims_bytes;
	int seals;
	struct sf_control_attached reply;
	size_t reply_bytes;
	int fd_count;
};

static void make_good(struct answer *answer)
{
	struct sf_shm_grants *grants = &answer->grants;

	memset(answer, 0, sizeof(*answer));
	grants->magic = SF_SHM_GRANTS_MAGIC;
	grants->abi_major = SF_SHM_ABI_MAJOR;
	grants->abi_minor = SF_SHM_ABI_MINOR;
	grants->header_bytes = SF_SHM_HEADER_BYTES;
	grants->total_bytes = sf_shm_grants_bytes(SLOTS);
	grants->claims_bytes = sf_shm_claims_bytes(SLOTS);
	grants->generation = 1;
	grants->first_tick = 1;
	grants->last_tick = UINT64_C(0x1ffffffffff);
	grants->slots = SLOTS;
	grants->runway_ticks = SLOTS / 2;
	grants->capacity = 4096;
	grants->node_count = 1;
	T_CHECK(sf_layout_parse("twitter", &grants->layout, NULL) == 0);
	answer->grants_bytes = sf_shm_grants_bytes(SLOTS);
	answer->claims_bytes = sf_shm_claims_bytes(SLOTS);
	answer->seals = SEALS;
	answer->reply.head = (struct sf_control_head){.magic = SF_CONTROL_MAGIC,
						      .version = SF_CONTROL_VERSION,
						      .type = SF_CONTROL_ATTACH,
						      .length = sizeof(answer->reply)};
	answer->reply.mono_ns = t_mono_ns();
	answer->reply_bytes = sizeof(answer->reply);
	answer->fd_count = 2;
}

/* ---- what is wrong, in the order of the table ---- */

static void wrong_magic(struct answer *answer)
{
	answer->grants.magic++;
}

static void zero_header(struct answer *answer)
{
	memset(&answer->grants, 0, sizeof(answer->grants));
}

static void other_major(struct answer *answer)
{
	answer->grants.abi_major = SF_SHM_ABI_MAJOR + 1;
}

static void other_total(struct answer *answer)
{
	answer->grants.total_bytes += 32;
}

static void other_slots(struct answer *answer)
{
	answer->grants.slots = SLOTS * 2;
}

static void odd_slots(struct answer *answer)
{
	answer->grants.slots = SLOTS + 1;
	answer->grants.total_bytes = sf_shm_grants_bytes(SLOTS + 1);
	answer->grants.claims_bytes = sf_shm_claims_bytes(SLOTS + 1);
}

static void short_claims(struct answer *answer)
{
	answer->claims_bytes -= 64;
}

static void short_grants(struct answer *answer)
{
	answer->grants_bytes = 100;
}

static void no_seals(struct answer *answer)
{
	answer->seals = 0;
}

static void no_capacity(struct answer *answer)
{
	answer->grants.capacity = 0;
}

static void many_nodes(struct answer *answer)
{
	answer->grants.node_count = SF_NODES_MAX + 1;
}

static void no_layout(struct answer *answer)
{
	answer->grants.layout.time_bits = 0;
}

static void other_control_version(struct answer *answer)
{
	answer->reply.head.version = SF_CONTROL_VERSION + 1;
}

static void short_reply(struct answer *answer)
{
	answer->reply_bytes = 10;
}

static void one_descriptor(struct answer *answer)
{
	answer->fd_count = 1;
}

static void silence(struct answer *answer)
{
	answer->reply_bytes = 0;
}

static void (*const spoil[])(struct answer *) = {
	wrong_magic,           zero_header,  other_major,    other_total, other_slots, odd_slots,
	short_claims,          short_grants, no_seals,       no_capacity, many_nodes,  no_layout,
	other_control_version, short_reply,  one_descriptor, silence,
};

const struct t_fake t_fake[] = {
	{"wrong magic", -EPROTO, "not a ring"},
	{"zeroed header", -EPROTO, "not a ring"},
	{"other major version", -EPROTO, "ring has ABI version 2.2, this libsfclient knows 1"},
	{"other total size", -EPROTO, "sizes do not agree"},
	{"more slots than there are", -EPROTO, "sizes do not agree"},
	{"slots that are no power of two", -EPROTO, "sizes do not agree"},
	{"claims cut short", -EPROTO, "claims: size is"},
	{"grants cut short", -EPROTO, "shorter than a header"},
	{"no seals", -EPROTO, "not sealed against resizing"},
	{"no capacity", -EPROTO, "out of range"},
	{"too many nodes", -EPROTO, "out of range"},
	{"no layout", -EPROTO, "layout"},
	{"other control version", -EPROTO, "control version 2, this libsfclient 1"},
	{"half a reply", -EPROTO, "malformed answer"},
	{"one descriptor", -EPROTO, "1 descriptors"},
	{"closed without an answer", -ENOTCONN, "closed the connection"},
};
const size_t t_fake_count = sizeof(t_fake) / sizeof(t_fake[0]);
static_assert(sizeof(spoil) / sizeof(spoil[0]) == sizeof(t_fake) / sizeof(t_fake[0]),
	      "one row each");

/* ---- serving ---- */

static int make_memfd(const void *head, size_t head_bytes, uint64_t bytes, int seals)
{
	int fd = memfd_create("fake", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	T_CHECK(fd >= 0);
	T_CHECK(write(fd, head, head_bytes) == (ssize_t)head_bytes);
	T_CHECK(ftruncate(fd, (off_t)bytes) == 0);
	T_CHECK(fcntl(fd, F_ADD_SEALS, seals) == 0);
	return fd;
}

static void send_answer(int fd, struct answer *answer)
{
	struct sf_shm_claims claims = {.magic = SF_SHM_CLAIMS_MAGIC};
	int fds[2] = {make_memfd(&answer->grants, sizeof(answer->grants), answer->grants_bytes,
				 answer->seals),
		      make_memfd(&claims, sizeof(claims), answer->claims_bytes, answer->seals)};
	union {
		char space[CMSG_SPACE(sizeof(fds))];
		struct cmsghdr align;
	} control = {0};
	struct iovec part = {.iov_base = &answer->reply, .iov_len = answer->reply_bytes};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen =
					 CMSG_SPACE((size_t)answer->fd_count * sizeof(int))};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN((size_t)answer->fd_count * sizeof(int));
	memcpy(CMSG_DATA(head), fds, (size_t)answer->fd_count * sizeof(int));
	T_CHECK(sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)answer->reply_bytes);
}

struct job {
	int listener;
	size_t which;
};

static pid_t fake_pid;

static int serve(void *argument)
{
	const struct job *job = argument;
	struct sf_control_request request;
	struct answer answer;
	int fd = accept(job->listener, NULL, NULL);

	T_CHECK(fd >= 0);
	T_CHECK(recv(fd, &request, sizeof(request), 0) == sizeof(request));
	make_good(&answer);
	spoil[job->which](&answer);
	if (answer.reply_bytes != 0)
		send_answer(fd, &answer);
	(void)close(fd);
	return 0;
}

void t_fake_start(const char *path, size_t which)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct job job = {.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0),
			  .which = which};

	ck_assert_int_ge(job.listener, 0);
	ck_assert_uint_lt(strlen(path), sizeof(address.sun_path));
	memcpy(address.sun_path, path, strlen(path) + 1);
	(void)unlink(path);
	ck_assert_int_eq(bind(job.listener, (const struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(job.listener, 1), 0);
	fake_pid = t_child(serve, &job);
	(void)close(job.listener);
}

void t_fake_stop(void)
{
	ck_assert_int_eq(t_reap(fake_pid), 0);
}
