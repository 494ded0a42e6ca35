/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What the tests of the control loop share: a loop, requests that note their completions, sockets,
 * and a main() that runs each test over both backends (the loop test's _i is the backend).
 */
#ifndef T_LOOP_FIXTURE_H
#define T_LOOP_FIXTURE_H

#include "daemon/loop.h"

#include <check.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#define T_MS INT64_C(1000000)
#define T_RESULTS_MAX 32

struct t_noted {
	struct sfd_request request;
	int count;
	int result[T_RESULTS_MAX];
	int order; /* of its last completion among all, from 1 */
};

/* The loop under test, and how many completions t_note() has seen. */
extern struct sfd_loop *t_loop;
extern int t_completions;

/** Notes a completion, and stops the loop when t_run() has got all it wants. */
void t_note(struct sfd_request *request, int result);
void t_noted_init(struct t_noted *noted, sfd_done_fn done);
#define T_NOTED(name)                                                                              \
	struct t_noted name;                                                                       \
	t_noted_init(&(name), t_note)

void t_set_up(int backend);
void t_tear_down(void);
/** Runs until `count` more completions have come. */
void t_run(int count);
/** Runs for a moment, in which nothing may complete but the timeout that ends it. */
void t_run_quietly(void);

void t_make_pair(int type, int pair[2]);
void t_close_pair(const int pair[2]);
/** A listener on an abstract address of the kernel's choice. */
int t_listen_on(int type, struct sockaddr_un *ret_address, socklen_t *ret_length);
int t_connect_to(int type, const struct sockaddr_un *address, socklen_t length);

/** @return the exit code of the test program */
int t_run_on_each_backend(const char *name, const TTest *const *tests, size_t count);

#endif
