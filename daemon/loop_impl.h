/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What loop.c and the two backends share, and nobody else includes but their test: the operations
 * of a backend, the kinds of requests, and the lists that requests are kept on.
 */
#ifndef SFD_LOOP_IMPL_H
#define SFD_LOOP_IMPL_H

#include "daemon/loop.h"

#include <errno.h>
#include <string.h>

/** Pause before accepting again after the process or the host ran out of descriptors or memory. */
#define SFD_LOOP_ACCEPT_RETRY_NS INT64_C(100000000)

enum sfd_loop_kind {
	SFD_LOOP_KIND_IDLE = 0,
	SFD_LOOP_KIND_ACCEPT,
	SFD_LOOP_KIND_POLL,
	SFD_LOOP_KIND_RECV,
	SFD_LOOP_KIND_SEND,
	SFD_LOOP_KIND_TIMEOUT,
	SFD_LOOP_KIND_WRITE_SYNC,
};

struct sfd_loop_ops {
	enum sfd_loop_backend backend;
	/* takes a request whose kind and arguments are filled in; 0 or a negative errno */
	int (*start)(struct sfd_loop *loop, struct sfd_request *request);
	/* a request that is not idle and not cancelled yet */
	void (*cancel)(struct sfd_loop *loop, struct sfd_request *request);
	/* sleeps until there is something to do, then runs completions until `stopping` */
	int (*turn)(struct sfd_loop *loop);
	void (*free)(struct sfd_loop *loop);
};

/** The first member of both backends' loops. */
struct sfd_loop {
	const struct sfd_loop_ops *ops;
	bool stopping;
};

/** @return 0 or a negative errno */
int sfd_loop_new_uring(struct sfd_loop **ret_loop);
/** @return 0 or a negative errno */
int sfd_loop_new_poll(struct sfd_loop **ret_loop);

/**
 * Why there is no io_uring, as one sentence.
 * @param error what sfd_loop_new_uring() returned
 * @param disabled value of the sysctl kernel.io_uring_disabled, or -1 when it cannot be read
 */
void sfd_loop_explain(int error, int disabled, struct sf_why *why);

/** CLOCK_MONOTONIC. */
int64_t sfd_loop_now_ns(void);

/** Requests in order. A request is on one list at most. */
struct sfd_request_list {
	struct sfd_request *first;
	struct sfd_request *last;
};

/** Inserts before `at`; NULL appends. */
static inline void sfd_request_list_insert(struct sfd_request_list *list,
					   struct sfd_request *request, struct sfd_request *at)
{
	struct sfd_request *previous = at != NULL ? at->loop.previous : list->last;

	request->loop.next = at;
	request->loop.previous = previous;
	*(previous != NULL ? &previous->loop.next : &list->first) = request;
	*(at != NULL ? &at->loop.previous : &list->last) = request;
}

static inline void sfd_request_list_remove(struct sfd_request_list *list,
					   struct sfd_request *request)
{
	struct sfd_request *next = request->loop.next;
	struct sfd_request *previous = request->loop.previous;

	*(previous != NULL ? &previous->loop.next : &list->first) = next;
	*(next != NULL ? &next->loop.previous : &list->last) = previous;
	request->loop.next = NULL;
	request->loop.previous = NULL;
}

/** The request is off every list: from here on its memory is the caller's again. */
static inline void sfd_request_make_idle(struct sfd_request *request)
{
	memset(&request->loop, 0, sizeof(request->loop));
}

/** No descriptor or memory was free; some may be later. */
static inline bool sfd_accept_lacks_resource(int result)
{
	return result == -EMFILE || result == -ENFILE || result == -ENOBUFS || result == -ENOMEM;
}

/** The listener is fine after this result. */
static inline bool sfd_accept_goes_on(int result)
{
	return result >= 0 || result == -ECONNABORTED || sfd_accept_lacks_resource(result);
}

#endif
