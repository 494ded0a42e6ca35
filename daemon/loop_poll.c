/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The control loop on poll(2), for hosts where io_uring is not permitted. Requests wait either for
 * their descriptor or for a point in time; a cancelled request is due at once.
 * The loop's thread makes every call, and waits nowhere but in ppoll(): writes to disk are
 * another thread's (loop_writer.c).
 *
 * A turn first goes through the descriptors that ppoll() found ready, then through what is due.
 * Completion functions cancel and start requests meanwhile. A cancelled request becomes due and
 * stays the loop's until the second half, so the pointers of the first half stay good.
 */
#include "daemon/loop_writer.h"
#include "daemon/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Which list a request is on. */
enum state {
	STATE_WAITING = 1,
	STATE_DUE,
	STATE_WRITING, /* the writer's, which keeps its own lists */
};

struct loop_poll {
	struct sfd_loop base;
	struct sfd_request_list waiting; /* for the descriptor */
	struct sfd_request_list due;     /* by deadline_ns; equal ones in order of arrival */
	struct sfd_writer *writer;
	size_t count;    /* requests that are not idle */
	size_t capacity; /* of the arrays; above `count`, since the writer's descriptor is first */
	struct pollfd *pollfd;
	struct sfd_request **polled; /* whose pollfd it is */
};

static struct loop_poll *from_base(struct sfd_loop *base)
{
	return (struct loop_poll *)base;
}

static void make_waiting(struct loop_poll *loop, struct sfd_request *request)
{
	request->loop.state = STATE_WAITING;
	sfd_request_list_insert(&loop->waiting, request, NULL);
}

static void make_due(struct loop_poll *loop, struct sfd_request *request, int64_t deadline_ns)
{
	struct sfd_request *before = loop->due.last;

	while (before != NULL && before->loop.deadline_ns > deadline_ns)
		before = before->loop.previous;
	request->loop.state = STATE_DUE;
	request->loop.deadline_ns = deadline_ns;
	sfd_request_list_insert(&loop->due, request,
				before != NULL ? before->loop.next : loop->due.first);
}

static void take(struct loop_poll *loop, struct sfd_request *request)
{
	sfd_request_list_remove(request->loop.state == STATE_WAITING ? &loop->waiting : &loop->due,
				request);
}

static void finish(struct loop_poll *loop, struct sfd_request *request, int result)
{
	take(loop, request);
	loop->count--;
	sfd_request_make_idle(request);
	request->done(request, result);
}

/* Room for one more request, so that a turn never has to allocate. */
static int reserve(struct loop_poll *loop)
{
	size_t capacity = loop->capacity == 0 ? 16 : loop->capacity * 2;
	struct sfd_request **polled;
	struct pollfd *pollfd;

	if (loop->count + 1 < loop->capacity)
		return 0;
	pollfd = reallocarray(loop->pollfd, capacity, sizeof(*pollfd));
	if (pollfd == NULL)
		return -ENOMEM;
	loop->pollfd = pollfd;
	polled = reallocarray(loop->polled, capacity, sizeof(struct sfd_request *));
	if (polled == NULL)
		return -ENOMEM;
	loop->polled = polled;
	loop->capacity = capacity;
	return 0;
}

/* Between ppoll() and accept4() a connection may vanish, and accept4() would wait for the next. A
 * descriptor that takes no flags is no listener: accept4() says so better. */
static void make_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		(void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static int poll_start(struct sfd_loop *base, struct sfd_request *request)
{
	struct loop_poll *loop = from_base(base);
	int rc = reserve(loop);

	if (rc < 0)
		return rc;
	loop->count++;
	switch ((enum sfd_loop_kind)request->loop.kind) {
	case SFD_LOOP_KIND_TIMEOUT:
		make_due(loop, request, request->loop.deadline_ns);
		break;
	case SFD_LOOP_KIND_WRITE_SYNC:
		request->loop.state = STATE_WRITING;
		sfd_writer_start(loop->writer, request);
		break;
	case SFD_LOOP_KIND_ACCEPT:
		make_nonblocking(request->loop.fd);
		make_waiting(loop, request);
		break;
	case SFD_LOOP_KIND_POLL:
	case SFD_LOOP_KIND_RECV:
	case SFD_LOOP_KIND_SEND:
	case SFD_LOOP_KIND_IDLE:
		make_waiting(loop, request);
		break;
	}
	return 0;
}

static void poll_cancel(struct sfd_loop *base, struct sfd_request *request)
{
	struct loop_poll *loop = from_base(base);

	if (request->loop.state != STATE_WRITING)
		take(loop, request);
	else if (!sfd_writer_cancel(loop->writer, request))
		return; /* the disk has it: its result comes */
	make_due(loop, request, sfd_loop_now_ns());
}

static void try_accept(struct loop_poll *loop, struct sfd_request *request)
{
	int result = accept4(request->loop.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (result < 0)
		result = -errno;
	if (result == -EAGAIN || result == -EINTR)
		return;
	if (!sfd_accept_goes_on(result)) {
		finish(loop, request, result);
		return;
	}
	if (sfd_accept_lacks_resource(result)) {
		take(loop, request);
		make_due(loop, request, sfd_loop_now_ns() + SFD_LOOP_ACCEPT_RETRY_NS);
	}
	request->done(request, result);
}

static void finish_transfer(struct loop_poll *loop, struct sfd_request *request, ssize_t result)
{
	if (result >= 0)
		finish(loop, request, (int)result);
	else if (errno != EAGAIN && errno != EINTR)
		finish(loop, request, -errno);
}

static void on_ready(struct loop_poll *loop, struct sfd_request *request, int events)
{
	const struct sfd_request_state *what = &request->loop;

	switch ((enum sfd_loop_kind)what->kind) {
	case SFD_LOOP_KIND_ACCEPT:
		try_accept(loop, request);
		break;
	case SFD_LOOP_KIND_POLL:
		if ((events & POLLNVAL) != 0)
			finish(loop, request, -EBADF);
		else
			request->done(request, events);
		break;
	case SFD_LOOP_KIND_RECV:
		finish_transfer(loop, request,
				recv(what->fd, what->into, what->length, MSG_TRUNC | MSG_DONTWAIT));
		break;
	case SFD_LOOP_KIND_SEND:
		finish_transfer(loop, request,
				sendmsg(what->fd, what->message, MSG_NOSIGNAL | MSG_DONTWAIT));
		break;
	case SFD_LOOP_KIND_TIMEOUT:
	case SFD_LOOP_KIND_WRITE_SYNC:
	case SFD_LOOP_KIND_IDLE:
		break;
	}
}

static void complete_writes(struct loop_poll *loop)
{
	struct sfd_request *request;

	while (!loop->base.stopping && (request = sfd_writer_finished(loop->writer)) != NULL) {
		int result = request->loop.result;

		loop->count--;
		sfd_request_make_idle(request);
		request->done(request, result);
	}
}

static void on_due(struct loop_poll *loop, struct sfd_request *request)
{
	if (request->loop.cancelled) {
		finish(loop, request, -ECANCELED);
	} else if (request->loop.kind == SFD_LOOP_KIND_ACCEPT) {
		take(loop, request);
		make_waiting(loop, request);
	} else {
		finish(loop, request, 0);
	}
}

/* @return the number of requests to wait for, or a negative errno */
static int wait_for_events(struct loop_poll *loop)
{
	const struct sfd_request *first = loop->due.first;
	struct timespec timeout = {0};
	int64_t left_ns;
	nfds_t count = 1;
	int ready;

	loop->polled[0] = NULL;
	loop->pollfd[0] = (struct pollfd){.fd = sfd_writer_fd(loop->writer), .events = POLLIN};
	for (struct sfd_request *r = loop->waiting.first; r != NULL; r = r->loop.next) {
		loop->polled[count] = r;
		loop->pollfd[count++] = (struct pollfd){
			.fd = r->loop.fd,
			.events = r->loop.kind == SFD_LOOP_KIND_SEND ? POLLOUT : POLLIN};
	}
	if (first != NULL) {
		left_ns = first->loop.deadline_ns - sfd_loop_now_ns();
		if (left_ns > 0) {
			timeout.tv_sec = left_ns / 1000000000;
			timeout.tv_nsec = left_ns % 1000000000;
		}
	}
	ready = ppoll(loop->pollfd, count, first != NULL ? &timeout : NULL, NULL);
	if (ready < 0)
		return errno == EINTR ? 0 : -errno;
	SFD_PROBE1(loop_wake, (int32_t)ready);
	return (int)count;
}

static int poll_turn(struct sfd_loop *base)
{
	struct loop_poll *loop = from_base(base);
	int count = wait_for_events(loop);
	int64_t now;

	if (count < 0)
		return count;
	for (int i = 1; i < count && !base->stopping; i++)
		if (loop->pollfd[i].revents != 0 && loop->polled[i]->loop.state == STATE_WAITING)
			on_ready(loop, loop->polled[i], loop->pollfd[i].revents);

	if (loop->pollfd[0].revents != 0)
		complete_writes(loop);
	/* What becomes due from here on has a later deadline and waits for the next turn. */
	now = sfd_loop_now_ns();
	while (!base->stopping && loop->due.first != NULL &&
	       loop->due.first->loop.deadline_ns <= now)
		on_due(loop, loop->due.first);
	return 0;
}

static void forget(struct sfd_request_list *list)
{
	struct sfd_request *request = list->first;

	while (request != NULL) {
		struct sfd_request *next = request->loop.next;

		sfd_request_make_idle(request);
		request = next;
	}
}

static void poll_free(struct sfd_loop *base)
{
	struct loop_poll *loop = from_base(base);

	loop->writer = sfd_writer_free(loop->writer);
	forget(&loop->waiting);
	forget(&loop->due);
	free(loop->pollfd);
	free(loop->polled);
	free(loop);
}

static const struct sfd_loop_ops poll_ops = {
	.backend = SFD_LOOP_POLL,
	.start = poll_start,
	.cancel = poll_cancel,
	.turn = poll_turn,
	.free = poll_free,
};

int sfd_loop_new_poll(struct sfd_loop **ret_loop)
{
	struct loop_poll *loop = calloc(1, sizeof(*loop));
	int r;

	if (loop == NULL)
		return -ENOMEM;
	loop->base.ops = &poll_ops;
	r = reserve(loop);
	if (r == 0)
		r = sfd_writer_new(&loop->writer);
	if (r < 0)
		poll_free(&loop->base);
	else
		*ret_loop = &loop->base;
	return r;
}
