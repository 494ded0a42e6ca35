/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The control loop's view of the kernel: asynchronous requests with a completion function. Two
 * implementations, chosen when the loop is made: io_uring (loop_uring.c), and poll(2) where
 * io_uring is not permitted (loop_poll.c). One thread owns a loop and makes every call.
 *
 * A request is the caller's memory, stays put until it is idle again, and is idle before its first
 * use, after its last completion and after its cancellation has completed. Completion functions
 * run inside sfd_loop_run(), never inside the call that starts a request, and may start, cancel
 * and reuse requests.
 */
#ifndef SFD_LOOP_H
#define SFD_LOOP_H

#include "shm/sflayout.h"

#include <linux/time_types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct sfd_loop;
struct sfd_request;

/**
 * @param result what the system call would have returned: a count, a descriptor, an event mask, or
 *        a negative errno; -ECANCELED after sfd_loop_cancel()
 */
typedef void (*sfd_done_fn)(struct sfd_request *request, int result);

/** What the loop keeps of a request. The loop's own; all zero when idle. */
struct sfd_request_state {
	int kind;  /* enum sfd_loop_kind, 0 = idle */
	int state; /* the backend's: which list the request is on */
	int fd;
	int result;
	int pending;    /* completions that the kernel still owes */
	bool cancelled; /* sfd_loop_cancel() was called */
	bool delayed;   /* accept: out of descriptors, until deadline_ns */
	union {
		void *into;
		const void *from;
		const struct msghdr *message;
	};
	size_t length;
	int64_t offset;
	int64_t deadline_ns; /* CLOCK_MONOTONIC */
	struct __kernel_timespec time;
	struct sfd_request *next;
	struct sfd_request *previous;
};

struct sfd_request {
	sfd_done_fn done;
	void *owner; /* the caller's; the loop does not look at it */
	struct sfd_request_state loop;
};

enum sfd_loop_backend {
	SFD_LOOP_AUTO = 0, /* io_uring, else poll */
	SFD_LOOP_URING = 1,
	SFD_LOOP_POLL = 2,
};

/**
 * Make a loop. With SFD_LOOP_AUTO, `why` says why io_uring was not used (naming the cause: the
 * sysctl kernel.io_uring_disabled and its value, a seccomp filter, a kernel without io_uring, too
 * little RLIMIT_MEMLOCK), and the call still succeeds; it is empty when io_uring is used.
 * @return 0 or a negative errno with the reason in `why`
 */
int sfd_loop_new(enum sfd_loop_backend backend, struct sfd_loop **ret_loop, struct sf_why *why);
/** Frees the loop; NULL is allowed. Requests in flight are ended without a completion and are idle
 *  afterwards; a write that the disk has begun is waited for. Returns NULL. */
struct sfd_loop *sfd_loop_free(struct sfd_loop *loop);
/** SFD_LOOP_URING or SFD_LOOP_POLL. */
enum sfd_loop_backend sfd_loop_backend_of(const struct sfd_loop *loop);

/** Runs completions until sfd_loop_stop(). @return 0 or a negative errno of the backend itself */
int sfd_loop_run(struct sfd_loop *loop);
/** Makes sfd_loop_run() return after the completion function that called this; called outside, the
 *  next sfd_loop_run() returns at once. What is left to complete waits for the run after. */
void sfd_loop_stop(struct sfd_loop *loop);

/*
 * The calls that start a request return 0 or a negative errno; after an error the request is idle
 * and does not complete. -EBUSY: it is not idle. -EINVAL: a length above INT_MAX.
 */

/** Multishot: completes with a new descriptor (CLOEXEC, non-blocking) for each connection, until
 *  cancelled or until it completes with an error other than -EMFILE, -ENFILE, -ENOBUFS, -ENOMEM and
 *  -ECONNABORTED. Those five are handed over for the log, and the request goes on; after the first
 *  four the loop tries again by itself, ten times a second. `fd` may be made non-blocking. */
int sfd_loop_accept(struct sfd_loop *loop, int fd, struct sfd_request *request);
/** Multishot: completes with an event mask (POLLIN, POLLERR, POLLHUP) each time `fd` is readable,
 *  until cancelled or until it completes with an error. The completion function must read the
 *  descriptor empty, and may find it empty. */
int sfd_loop_poll(struct sfd_loop *loop, int fd, struct sfd_request *request);
/** One message; 0 means that the peer closed. With MSG_TRUNC semantics: the result is the message's
 *  real length, which may exceed `length`. */
int sfd_loop_recv(struct sfd_loop *loop, int fd, void *buffer, size_t length,
		  struct sfd_request *request);
/** One message, descriptors included; MSG_NOSIGNAL. `message` and what it points to stay put. */
int sfd_loop_send(struct sfd_loop *loop, int fd, const struct msghdr *message,
		  struct sfd_request *request);
/** Completes with 0 after `delay_ns`. */
int sfd_loop_timeout(struct sfd_loop *loop, int64_t delay_ns, struct sfd_request *request);
/** Writes all of `buffer` at `offset` and then makes it durable (fdatasync), as linked requests
 *  under io_uring. Completes with 0, or a negative errno (-EIO for a short write). */
int sfd_loop_write_sync(struct sfd_loop *loop, int fd, const void *buffer, size_t length,
			int64_t offset, struct sfd_request *request);
/** Asks that a request end; it completes with -ECANCELED, or with its result if that came first. A
 *  multishot request always ends with a negative result. Nothing happens for an idle request. */
void sfd_loop_cancel(struct sfd_loop *loop, struct sfd_request *request);
/** The request has no completion outstanding. */
bool sfd_request_is_idle(const struct sfd_request *request);

#endif
