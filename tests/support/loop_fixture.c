/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * See loop_fixture.h. A test runs in a process of its own, so one loop is enough.
 */
#include "tests/support/loop_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct sfd_loop *t_loop;
int t_completions;
static int completions_wanted;

void t_note(struct sfd_request *request, int result)
{
	struct t_noted *noted = request->owner;

	ck_assert_int_lt(noted->count, T_RESULTS_MAX);
	noted->result[noted->count++] = result;
	noted->order = ++t_completions;
	if (t_completions == completions_wanted)
		sfd_loop_stop(t_loop);
}

void t_noted_init(struct t_noted *noted, sfd_done_fn done)
{
	*noted = (struct t_noted){.request = {.done = done, .owner = noted}};
}

void t_set_up(int backend)
{
	struct sf_why why;

	t_completions = 0;
	completions_wanted = 0;
	ck_assert_int_eq(sfd_loop_new((enum sfd_loop_backend)backend, &t_loop, &why), 0);
	ck_assert_str_eq(why.text, "");
	ck_assert_int_eq((int)sfd_loop_backend_of(t_loop), backend);
}

void t_tear_down(void)
{
	t_loop = sfd_loop_free(t_loop);
	ck_assert_ptr_null(t_loop);
}

void t_run(int count)
{
	completions_wanted = t_completions + count;
	ck_assert_int_eq(sfd_loop_run(t_loop), 0);
	ck_assert_int_eq(t_completions, completions_wanted);
}

void t_run_quietly(void)
{
	T_NOTED(timeout);

	ck_assert_int_eq(sfd_loop_timeout(t_loop, 5 * T_MS, &timeout.request), 0);
	t_run(1);
	ck_assert_int_eq(timeout.count, 1);
}

void t_make_pair(int type, int pair[2])
{
	ck_assert_int_eq(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair), 0);
}

void t_close_pair(const int pair[2])
{
	ck_assert_int_eq(close(pair[0]), 0);
	ck_assert_int_eq(close(pair[1]), 0);
}

int t_listen_on(int type, struct sockaddr_un *ret_address, socklen_t *ret_length)
{
	struct sockaddr_un any = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&any, sizeof(sa_family_t)), 0);
	*ret_length = sizeof(*ret_address);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)ret_address, ret_length), 0);
	ck_assert_int_eq(listen(fd, 512), 0);
	return fd;
}

int t_connect_to(int type, const struct sockaddr_un *address, socklen_t length)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(connect(fd, (const struct sockaddr *)address, length), 0);
	return fd;
}

/* SFD_LOOP_URING, or SFD_LOOP_POLL where the host does not permit io_uring. */
static int first_backend(void)
{
	struct sf_why why;

	if (sfd_loop_new(SFD_LOOP_URING, &t_loop, &why) < 0) {
		(void)fprintf(stderr, "only the poll backend is tested: %s\n", why.text);
		return SFD_LOOP_POLL;
	}
	t_loop = sfd_loop_free(t_loop);
	return SFD_LOOP_URING;
}

int t_run_on_each_backend(const char *name, const TTest *const *tests, size_t count)
{
	Suite *suite = suite_create(name);
	TCase *both = tcase_create("both backends");
	int first = first_backend();
	SRunner *runner;
	int failed;

	tcase_set_timeout(both, 20);
	for (size_t i = 0; i < count; i++)
		tcase_add_loop_test(both, tests[i], first, SFD_LOOP_POLL + 1);
	suite_add_tcase(suite, both);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
