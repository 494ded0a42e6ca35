/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/uring.c: what the control loop's ring takes, what becomes of it where the kernel lacks
 * something, and how the loop waits. Functions of liburing are replaced here, so that they can fail
 * at will.
 */
#include "daemon/loop_impl.h"
#include "daemon/uring.h"
#include "tests/support/loop_fixture.h"

#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The oldest liburing that we build with has no names for them. */
#define NO_IOWAIT_FEATURE (1U << 17)
#define NO_IOWAIT_ENTER (1U << 7)

/* ---- replaced functions ---- */

static bool is_disabled_known = true; /* IORING_SETUP_R_DISABLED */
static unsigned lacked_features;
static unsigned setup_calls;
static int restrict_error; /* what restricting a ring gives, 0 = the real thing */
static unsigned restrict_calls;
static unsigned enter_flags; /* of the last io_uring_enter() that the loop itself made */

typedef int (*setup_fn)(unsigned entries, struct io_uring *ring, struct io_uring_params *params);
typedef int (*register_fn)(unsigned fd, unsigned opcode, const void *argument, unsigned count);
typedef int (*enter_fn)(unsigned fd, unsigned to_submit, unsigned wanted, unsigned flags,
			sigset_t *mask);

/* The function that this program hides. ISO C has no cast from an object to a function pointer. */
static void find_hidden(const char *name, void *ret_function)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	if (symbol == NULL)
		abort();
	memcpy(ret_function, &symbol, sizeof(symbol));
}

int io_uring_queue_init_params(unsigned entries, struct io_uring *ring, struct io_uring_params *p)
{
	setup_fn real;
	int rc;

	setup_calls++;
	if (!is_disabled_known && (p->flags & IORING_SETUP_R_DISABLED) != 0)
		return -EINVAL;
	find_hidden("io_uring_queue_init_params", (void *)&real);
	rc = real(entries, ring, p);
	p->features &= ~lacked_features;
	return rc;
}

int io_uring_register(unsigned int fd, unsigned int opcode, const void *arg, unsigned int nr_args)
{
	register_fn real;

	restrict_calls += opcode == IORING_REGISTER_RESTRICTIONS;
	if (opcode == IORING_REGISTER_RESTRICTIONS && restrict_error != 0)
		return restrict_error;
	find_hidden("io_uring_register", (void *)&real);
	return real(fd, opcode, arg, nr_args);
}

int io_uring_enter(unsigned int fd, unsigned int to_submit, unsigned int min_complete,
		   unsigned int flags, sigset_t *sig)
{
	enter_fn real;

	enter_flags = flags;
	find_hidden("io_uring_enter", (void *)&real);
	return real(fd, to_submit, min_complete, flags, sig);
}

/* ---- what the ring takes ---- */

static int result_of(struct io_uring *ring, void (*prepare)(struct io_uring_sqe *sqe))
{
	struct io_uring_cqe *cqe = NULL;
	int result;

	prepare(io_uring_get_sqe(ring));
	ck_assert_int_eq(io_uring_submit(ring), 1);
	ck_assert_int_eq(io_uring_wait_cqe(ring, &cqe), 0);
	result = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return result;
}

static void prepare_openat(struct io_uring_sqe *sqe)
{
	io_uring_prep_openat(sqe, AT_FDCWD, "/dev/null", O_RDONLY, 0);
}

static void prepare_connect(struct io_uring_sqe *sqe)
{
	static const struct sockaddr_un address = {.sun_family = AF_UNIX};

	io_uring_prep_connect(sqe, 0, (const struct sockaddr *)&address, sizeof(address));
}

static void prepare_read(struct io_uring_sqe *sqe)
{
	static char byte;

	io_uring_prep_read(sqe, 0, &byte, 1, 0);
}

static void prepare_async_timeout(struct io_uring_sqe *sqe)
{
	static struct __kernel_timespec now;

	io_uring_prep_timeout(sqe, &now, 0, 0);
	sqe->flags |= IOSQE_ASYNC;
}

START_TEST(ring_takes_nothing_but_what_the_loop_submits)
{
	void (*const refused[])(struct io_uring_sqe *) = {prepare_openat, prepare_connect,
							  prepare_read, prepare_async_timeout};
	struct io_uring ring;
	unsigned features;
	int fd = STDIN_FILENO;

	ck_assert_int_eq(sfd_uring_init(&ring, &features), 0);
	ck_assert_uint_eq(restrict_calls, 1);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		ck_assert_int_eq(result_of(&ring, refused[i]), -EACCES);
	ck_assert_int_eq(io_uring_register_files(&ring, &fd, 1), -EACCES);
	io_uring_queue_exit(&ring);
}
END_TEST

/* ---- where something is missing ---- */

START_TEST(loop_without_restrictions_runs_on_io_uring_as_it_is)
{
	static const int errors[] = {0, -EINVAL, -EPERM};
	struct sf_why why;

	is_disabled_known = _i != 0;
	restrict_error = errors[_i];
	ck_assert_int_eq(sfd_loop_new(SFD_LOOP_URING, &t_loop, &why), 0);
	ck_assert_uint_eq(restrict_calls, _i == 0 ? 0 : 2);
	ck_assert_uint_eq(setup_calls, 3);
	t_run_quietly();
	t_loop = sfd_loop_free(t_loop);
}
END_TEST

/* Since Linux 6.15 a ring can wait without making the host look busy with a disk. */
START_TEST(fc73_loop_waits_without_iowait_where_the_kernel_can)
{
	struct io_uring ring;
	struct sf_why why;
	unsigned features;
	bool can;

	ck_assert_int_eq(sfd_uring_init(&ring, &features), 0);
	io_uring_queue_exit(&ring);
	lacked_features = _i == 0 ? 0 : NO_IOWAIT_FEATURE;
	can = (features & ~lacked_features & NO_IOWAIT_FEATURE) != 0;
	ck_assert_int_eq(sfd_loop_new(SFD_LOOP_URING, &t_loop, &why), 0);
	t_run_quietly();
	t_loop = sfd_loop_free(t_loop);
	ck_assert((enter_flags & IORING_ENTER_GETEVENTS) != 0);
	ck_assert_int_eq((enter_flags & NO_IOWAIT_ENTER) != 0, can);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("uring");
	TCase *ring = tcase_create("ring");
	SRunner *runner = srunner_create(suite);
	struct sf_why why;
	bool has_uring = sfd_loop_new(SFD_LOOP_URING, &t_loop, &why) == 0;
	int failed;

	/* The tests make sense only where the host permits io_uring. */
	if (has_uring) {
		t_loop = sfd_loop_free(t_loop);
		tcase_add_test(ring, ring_takes_nothing_but_what_the_loop_submits);
		tcase_add_loop_test(ring, loop_without_restrictions_runs_on_io_uring_as_it_is, 0,
				    3);
		tcase_add_loop_test(ring, fc73_loop_waits_without_iowait_where_the_kernel_can, 0,
				    2);
	} else {
		(void)printf("SKIP uring: %s\n", why.text);
	}
	restrict_calls = setup_calls = 0;
	suite_add_tcase(suite, ring);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
