/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Setting up the control loop's io_uring; see uring.h. Called by the loop's thread.
 *
 * The ring starts disabled and is restricted to what the loop uses before it runs, where the kernel
 * can: what is submitted to a ring passes by every filter of system calls.
 *
 * The ring has 64 entries: its submissions then fill exactly one page, and everything else fits
 * a second one. A smaller ring would not need less memory.
 */
#include "daemon/uring.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define ENTRIES 64u
#define FLAGS_WANTED (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CLAMP)

/* The youngest thing that the loop cannot do without: a kernel that knows multishot accept looks at
 * the descriptor. This finds a filter on io_uring_enter() as well. */
static int try_multishot_accept(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	struct io_uring_cqe *cqe;
	int rc;

	io_uring_prep_multishot_accept(sqe, -1, NULL, NULL, SOCK_CLOEXEC);
	rc = io_uring_submit(ring);
	if (rc < 0)
		return rc;
	do {
		rc = io_uring_wait_cqe(ring, &cqe);
	} while (rc == -EINTR);
	if (rc < 0)
		return rc;
	rc = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return rc == -EBADF ? 0 : rc;
}

/* What loop_uring.c submits, and no registration. */
static int restrict_and_enable(struct io_uring *ring)
{
	static const uint8_t opcodes[] = {
		IORING_OP_ACCEPT,  IORING_OP_POLL_ADD, IORING_OP_RECV,  IORING_OP_SENDMSG,
		IORING_OP_TIMEOUT, IORING_OP_WRITE,    IORING_OP_FSYNC, IORING_OP_ASYNC_CANCEL,
	};
	enum {
		OPCODES = sizeof(opcodes) / sizeof(opcodes[0])
	};
	struct io_uring_restriction restrictions[OPCODES + 1] = {
		{.opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED, .sqe_flags = IOSQE_IO_LINK}};
	int rc;

	for (int i = 0; i < OPCODES; i++)
		restrictions[i + 1] = (struct io_uring_restriction){
			.opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = opcodes[i]};
	/* The calls that wrap these two are missing from liburing 2.3's shared library. */
	rc = io_uring_register((unsigned)ring->ring_fd, IORING_REGISTER_RESTRICTIONS, restrictions,
			       OPCODES + 1);
	return rc < 0 ? rc
		      : io_uring_register((unsigned)ring->ring_fd, IORING_REGISTER_ENABLE_RINGS,
					  NULL, 0);
}

/* From the best to the least: a kernel, or what stands before it, may know no flag, or no
 * restrictions. */
static int ring_set_up(struct io_uring *ring, unsigned *ret_features)
{
	static const unsigned flags[] = {FLAGS_WANTED | IORING_SETUP_R_DISABLED,
					 IORING_SETUP_R_DISABLED, FLAGS_WANTED, 0};
	int rc = -EINVAL;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct io_uring_params params = {.flags = flags[i]};

		rc = io_uring_queue_init_params(ENTRIES, ring, &params);
		if (rc == -EINVAL)
			continue;
		if (rc < 0)
			return rc;
		*ret_features = params.features;
		if ((flags[i] & IORING_SETUP_R_DISABLED) == 0)
			return 0;
		rc = restrict_and_enable(ring);
		if (rc >= 0)
			return 0;
		io_uring_queue_exit(ring);
	}
	return rc;
}

int sfd_uring_init(struct io_uring *ring, unsigned *ret_features)
{
	int rc = ring_set_up(ring, ret_features);

	if (rc < 0)
		return rc;
	rc = try_multishot_accept(ring);
	if (rc < 0) {
		io_uring_queue_exit(ring);
		return rc;
	}
	return 0;
}
