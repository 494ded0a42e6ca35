/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The control loop on io_uring. The thread that makes the loop makes every call: the ring is set up
 * for a single issuer. Waits only in io_uring_enter(), and in a short pause when the kernel cannot
 * take submissions.
 *
 * Every submission goes through `queue`, so a full ring never fails a request: a turn moves what
 * fits into the ring and leaves the rest for the next. The kernel takes submissions in order, so a
 * cancellation can never hit the next use of the same request.
 *
 * The ring is made in uring.c, which knows what is submitted here.
 */
#include "daemon/loop_impl.h"
#include "daemon/uring.h"

#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BUSY_PAUSE_NS 10000000

/* Since Linux 6.15; not in the oldest liburing that we build with. */
#ifndef IORING_FEAT_NO_IOWAIT
#define IORING_FEAT_NO_IOWAIT (1U << 17)
#endif
#ifndef IORING_ENTER_NO_IOWAIT
#define IORING_ENTER_NO_IOWAIT (1U << 7)
#endif

/* Which list a request is on. */
enum state {
	STATE_QUEUED = 1, /* queue: to be submitted */
	STATE_FLIGHT,     /* flight: the kernel has it */
	STATE_CANCEL,     /* queue: the kernel has it and is to be told to end it */
	STATE_READY,      /* ready: its result is known */
};

struct loop_uring {
	struct sfd_loop base;
	struct io_uring ring;
	unsigned wait_flags; /* IORING_ENTER_* */
	bool discarding;     /* being freed: nobody takes results any more */
	struct sfd_request_list queue;
	struct sfd_request_list flight;
	struct sfd_request_list ready;
};

static struct loop_uring *from_base(struct sfd_loop *base)
{
	return (struct loop_uring *)base;
}

static struct sfd_request_list *list_of(struct loop_uring *loop, int state)
{
	switch ((enum state)state) {
	case STATE_FLIGHT:
		return &loop->flight;
	case STATE_READY:
		return &loop->ready;
	case STATE_QUEUED:
	case STATE_CANCEL:
		break;
	}
	return &loop->queue;
}

static void move(struct loop_uring *loop, struct sfd_request *request, enum state state)
{
	sfd_request_list_remove(list_of(loop, request->loop.state), request);
	request->loop.state = (int)state;
	sfd_request_list_insert(list_of(loop, (int)state), request, NULL);
}

static void deliver(const struct loop_uring *loop, struct sfd_request *request, int result)
{
	if (!loop->discarding)
		request->done(request, result);
	else if (request->loop.kind == SFD_LOOP_KIND_ACCEPT && result >= 0)
		(void)close(result);
}

static void finish(struct loop_uring *loop, struct sfd_request *request, int result)
{
	sfd_request_list_remove(list_of(loop, request->loop.state), request);
	sfd_request_make_idle(request);
	deliver(loop, request, result);
}

static int uring_start(struct sfd_loop *base, struct sfd_request *request)
{
	request->loop.state = STATE_QUEUED;
	sfd_request_list_insert(&from_base(base)->queue, request, NULL);
	return 0;
}

static void uring_cancel(struct sfd_loop *base, struct sfd_request *request)
{
	struct loop_uring *loop = from_base(base);

	switch ((enum state)request->loop.state) {
	case STATE_QUEUED:
		request->loop.result = -ECANCELED;
		move(loop, request, STATE_READY);
		break;
	case STATE_FLIGHT:
		move(loop, request, STATE_CANCEL);
		break;
	case STATE_CANCEL:
	case STATE_READY:
		break;
	}
}

/* ---- submission ---- */

/* A completion's user data is its request's address. The second half of a linked pair has bit 0
 * set besides; a cancellation has none, and its own result is of no interest. */

static void prepare_timeout(struct io_uring_sqe *sqe, struct sfd_request *request)
{
	request->loop.time.tv_sec = request->loop.deadline_ns / 1000000000;
	request->loop.time.tv_nsec = request->loop.deadline_ns % 1000000000;
	io_uring_prep_timeout(sqe, &request->loop.time, 0, IORING_TIMEOUT_ABS);
}

static void prepare_write_sync(struct loop_uring *loop, struct io_uring_sqe *sqe,
			       struct sfd_request *request)
{
	const struct sfd_request_state *what = &request->loop;
	struct io_uring_sqe *sync = io_uring_get_sqe(&loop->ring);

	io_uring_prep_write(sqe, what->fd, what->from, (unsigned)what->length,
			    (uint64_t)what->offset);
	sqe->flags |= IOSQE_IO_LINK;
	io_uring_prep_fsync(sync, what->fd, IORING_FSYNC_DATASYNC);
	io_uring_sqe_set_data(sync, (char *)request + 1);
	request->loop.pending++;
}

static void prepare(struct loop_uring *loop, struct io_uring_sqe *sqe, struct sfd_request *request)
{
	const struct sfd_request_state *what = &request->loop;

	switch ((enum sfd_loop_kind)what->kind) {
	case SFD_LOOP_KIND_ACCEPT:
		if (what->delayed)
			prepare_timeout(sqe, request);
		else
			io_uring_prep_multishot_accept(sqe, what->fd, NULL, NULL,
						       SOCK_CLOEXEC | SOCK_NONBLOCK);
		break;
	case SFD_LOOP_KIND_POLL:
		io_uring_prep_poll_multishot(sqe, what->fd, POLLIN);
		break;
	case SFD_LOOP_KIND_RECV:
		io_uring_prep_recv(sqe, what->fd, what->into, what->length, MSG_TRUNC);
		break;
	case SFD_LOOP_KIND_SEND:
		io_uring_prep_sendmsg(sqe, what->fd, what->message, MSG_NOSIGNAL);
		break;
	case SFD_LOOP_KIND_TIMEOUT:
		prepare_timeout(sqe, request);
		break;
	case SFD_LOOP_KIND_WRITE_SYNC:
		prepare_write_sync(loop, sqe, request);
		break;
	case SFD_LOOP_KIND_IDLE:
		break;
	}
	io_uring_sqe_set_data(sqe, request);
	request->loop.pending++;
}

static void prepare_first_queued(struct loop_uring *loop)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&loop->ring);
	struct sfd_request *request = loop->queue.first;

	if (request->loop.state == STATE_CANCEL) {
		io_uring_prep_cancel(sqe, request, 0);
		io_uring_sqe_set_data(sqe, NULL);
	} else {
		prepare(loop, sqe, request);
	}
	move(loop, request, STATE_FLIGHT);
}

/* A linked pair must go into the kernel in one submission. */
static bool has_room(const struct loop_uring *loop)
{
	const struct sfd_request_state *what = &loop->queue.first->loop;
	bool is_pair = what->kind == SFD_LOOP_KIND_WRITE_SYNC && what->state == STATE_QUEUED;

	return io_uring_sq_space_left(&loop->ring) >= (is_pair ? 2 : 1);
}

/* Moves the queue into the kernel, as far as the kernel takes it. */
static int submit(struct loop_uring *loop)
{
	int rc;

	while (loop->queue.first != NULL) {
		if (!has_room(loop)) {
			rc = io_uring_submit(&loop->ring);
			if (rc < 0)
				return rc;
			if (!has_room(loop))
				return 0;
		}
		prepare_first_queued(loop);
	}
	rc = io_uring_submit(&loop->ring);
	return rc < 0 ? rc : 0;
}

/* ---- completion ---- */

static void on_multishot(struct loop_uring *loop, struct sfd_request *request, int result,
			 bool has_more)
{
	bool is_accept = request->loop.kind == SFD_LOOP_KIND_ACCEPT;
	bool was_delayed = request->loop.delayed && result == -ETIME;

	if (has_more) {
		deliver(loop, request, result);
		return;
	}
	if (!was_delayed && (is_accept ? !sfd_accept_goes_on(result) : result < 0)) {
		finish(loop, request, result);
		return;
	}
	request->loop.delayed = false;
	if (request->loop.cancelled) {
		request->loop.result = -ECANCELED;
		move(loop, request, STATE_READY);
	} else {
		if (is_accept && sfd_accept_lacks_resource(result)) {
			request->loop.delayed = true;
			request->loop.deadline_ns = sfd_loop_now_ns() + SFD_LOOP_ACCEPT_RETRY_NS;
		}
		move(loop, request, STATE_QUEUED);
	}
	if (!was_delayed)
		deliver(loop, request, result);
}

/* The half that failed of itself has the cause; the other one is merely cancelled. */
static void on_write_sync(struct loop_uring *loop, struct sfd_request *request, bool is_sync,
			  int result)
{
	struct sfd_request_state *what = &request->loop;

	if (!is_sync && result >= 0 && (size_t)result != what->length)
		result = -EIO;
	if (result < 0 && (what->result == 0 || what->result == -ECANCELED))
		what->result = result;
	if (what->pending == 0)
		finish(loop, request, what->result);
}

static void on_completion(struct loop_uring *loop, char *data, int result, bool has_more)
{
	bool is_second = ((uintptr_t)data & 1) != 0;
	struct sfd_request *request = (void *)(is_second ? data - 1 : data);

	if (request == NULL)
		return;
	if (!has_more)
		request->loop.pending--;
	switch ((enum sfd_loop_kind)request->loop.kind) {
	case SFD_LOOP_KIND_ACCEPT:
	case SFD_LOOP_KIND_POLL:
		on_multishot(loop, request, result, has_more);
		break;
	case SFD_LOOP_KIND_TIMEOUT:
		finish(loop, request, result == -ETIME ? 0 : result);
		break;
	case SFD_LOOP_KIND_WRITE_SYNC:
		on_write_sync(loop, request, is_second, result);
		break;
	case SFD_LOOP_KIND_RECV:
	case SFD_LOOP_KIND_SEND:
	case SFD_LOOP_KIND_IDLE:
		finish(loop, request, result);
		break;
	}
}

/* Only what was ready before: what becomes ready meanwhile waits for the next turn. */
static void complete_ready(struct loop_uring *loop)
{
	const struct sfd_request *last = loop->ready.last;
	bool is_last = false;

	while (loop->ready.first != NULL && !is_last && !loop->base.stopping) {
		struct sfd_request *request = loop->ready.first;

		is_last = request == last;
		finish(loop, request, request->loop.result);
	}
}

static void complete_kernels(struct loop_uring *loop)
{
	struct io_uring_cqe *cqe;

	while (!loop->base.stopping && io_uring_peek_cqe(&loop->ring, &cqe) == 0) {
		char *data = io_uring_cqe_get_data(cqe);
		int result = cqe->res;
		bool has_more = (cqe->flags & IORING_CQE_F_MORE) != 0;

		io_uring_cqe_seen(&loop->ring, cqe);
		on_completion(loop, data, result, has_more);
	}
}

static bool must_wait(const struct loop_uring *loop)
{
	return loop->queue.first == NULL && loop->ready.first == NULL &&
	       io_uring_sq_ready(&loop->ring) == 0 && io_uring_cq_ready(&loop->ring) == 0;
}

/* Every turn enters the kernel for completions, even when some are there already: the kernel posts
 * the deferred ones (timeouts, connections) only then, and a busy peer must not hold them up. */
static int uring_turn(struct sfd_loop *base)
{
	struct loop_uring *loop = from_base(base);
	unsigned wanted = 0;
	int rc = submit(loop);

	if (rc == -EAGAIN || rc == -EBUSY)
		/* No memory, or completions to fetch first; what is queued stays queued. */
		(void)nanosleep(&(struct timespec){.tv_nsec = BUSY_PAUSE_NS}, NULL);
	else if (rc < 0 && rc != -EINTR)
		return rc;
	else if (rc == 0 && must_wait(loop))
		wanted = 1;
	rc = io_uring_enter((unsigned)loop->ring.ring_fd, 0, wanted, loop->wait_flags, NULL);
	if (rc < 0 && rc != -EINTR)
		return rc;
	complete_ready(loop);
	complete_kernels(loop);
	return 0;
}

/* ---- life ---- */

static void cancel_all(struct loop_uring *loop, struct sfd_request_list *list)
{
	struct sfd_request *next;

	for (struct sfd_request *r = list->first; r != NULL; r = next) {
		next = r->loop.next;
		sfd_loop_cancel(&loop->base, r);
	}
}

/* Buffers are the caller's, so the kernel has to let go of them before the loop goes. */
static void discard(struct loop_uring *loop)
{
	int rc = 0;

	loop->discarding = true;
	loop->base.stopping = false;
	cancel_all(loop, &loop->queue);
	cancel_all(loop, &loop->flight);
	while (rc == 0 && (loop->queue.first != NULL || loop->flight.first != NULL ||
			   loop->ready.first != NULL))
		rc = uring_turn(&loop->base);
}

static void uring_free(struct sfd_loop *base)
{
	struct loop_uring *loop = from_base(base);

	discard(loop);
	io_uring_queue_exit(&loop->ring);
	free(loop);
}

static const struct sfd_loop_ops uring_ops = {
	.backend = SFD_LOOP_URING,
	.start = uring_start,
	.cancel = uring_cancel,
	.turn = uring_turn,
	.free = uring_free,
};

int sfd_loop_new_uring(struct sfd_loop **ret_loop)
{
	struct loop_uring *loop = calloc(1, sizeof(*loop));
	unsigned features;
	int rc;

	if (loop == NULL)
		return -ENOMEM;
	rc = sfd_uring_init(&loop->ring, &features);
	if (rc < 0) {
		free(loop);
		return rc;
	}
	loop->base.ops = &uring_ops;
	loop->wait_flags = IORING_ENTER_GETEVENTS;
	if ((features & IORING_FEAT_NO_IOWAIT) != 0)
		loop->wait_flags |= IORING_ENTER_NO_IOWAIT; /* an idle loop is not disk load */
	*ret_loop = &loop->base;
	return 0;
}
