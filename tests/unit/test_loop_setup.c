/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * How a backend of the control loop is chosen, what is said when io_uring is refused, and that
 * loops leave nothing behind. Two functions of liburing are replaced here, so that they can fail at
 * will; refusals by the kernel itself come from a seccomp filter or a limit, in a forked child.
 */
#include "daemon/loop.h"
#include "daemon/loop_impl.h"
#include "tests/support/loop_fixture.h"

#include <check.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNPRIVILEGED 65534

/* ---- replaced functions ---- */

static int setup_error; /* what setting up a ring gives, 0 = the real thing */
static bool setup_takes_flags = true;
static int setup_calls;
static int submit_results[4]; /* what the next submissions give, without submitting; last first */
static size_t submit_results_left;
static unsigned linked_pairs; /* write and fdatasync, submitted as one */

typedef int (*setup_fn)(unsigned entries, struct io_uring *ring, struct io_uring_params *params);
typedef int (*submit_fn)(struct io_uring *ring);

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

	setup_calls++;
	if (setup_error != 0)
		return setup_error;
	if (!setup_takes_flags && p->flags != 0)
		return -EINVAL;
	find_hidden("io_uring_queue_init_params", (void *)&real);
	return real(entries, ring, p);
}

static void count_linked_pairs(const struct io_uring *ring)
{
	unsigned mask = *ring->sq.kring_mask;

	for (unsigned i = ring->sq.sqe_head; i + 1 < ring->sq.sqe_tail; i++) {
		const struct io_uring_sqe *write = &ring->sq.sqes[i & mask];
		const struct io_uring_sqe *sync = &ring->sq.sqes[(i + 1) & mask];

		if (write->opcode == IORING_OP_WRITE && (write->flags & IOSQE_IO_LINK) != 0 &&
		    sync->opcode == IORING_OP_FSYNC && write->fd == sync->fd &&
		    (sync->fsync_flags & IORING_FSYNC_DATASYNC) != 0)
			linked_pairs++;
	}
}

int io_uring_submit(struct io_uring *ring)
{
	submit_fn real;

	count_linked_pairs(ring);
	if (submit_results_left > 0)
		return submit_results[--submit_results_left];
	find_hidden("io_uring_submit", (void *)&real);
	return real(ring);
}

/* ---- explain ---- */

START_TEST(explain_names_the_cause)
{
	static const struct {
		int error;
		int disabled;
		const char *part[3];
	} rows[] = {
		{-EPERM, 2, {"EPERM", "kernel.io_uring_disabled is 2", "every process"}},
		{-EPERM, 1, {"kernel.io_uring_disabled is 1", "io_uring_group", "CAP_SYS_ADMIN"}},
		{-EPERM, 0, {"kernel.io_uring_disabled is 0", "seccomp", "container"}},
		{-EPERM, -1, {"EPERM", "unknown", "/proc/sys/kernel/io_uring_disabled"}},
		{-ENOSYS, 0, {"ENOSYS", "without CONFIG_IO_URING", "seccomp"}},
		{-ENOMEM, 0, {"ENOMEM", "RLIMIT_MEMLOCK is ", ""}},
		{-EINVAL, 0, {"EINVAL", "multishot accept", "kernel "}},
		{-EMFILE, 0, {"EMFILE", "Too many open files", ""}},
		{-12345, 0, {"unknown error", "?", ""}},
	};
	struct sf_why why;

	sfd_loop_explain(rows[_i].error, rows[_i].disabled, &why);
	for (int i = 0; i < 3; i++)
		ck_assert_msg(strstr(why.text, rows[_i].part[i]) != NULL, "\"%s\" lacks \"%s\"",
			      why.text, rows[_i].part[i]);
	ck_assert_uint_lt(strlen(why.text), sizeof(why.text) - 1); /* not cut */
}
END_TEST

START_TEST(explain_no_memory_gives_the_present_limit)
{
	struct rlimit old;
	struct rlimit limit;
	struct sf_why why;

	ck_assert_int_eq(getrlimit(RLIMIT_MEMLOCK, &old), 0);
	limit = (struct rlimit){.rlim_cur = 12288, .rlim_max = old.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	sfd_loop_explain(-ENOMEM, 0, &why);
	ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &old), 0);
	ck_assert_ptr_nonnull(strstr(why.text, "RLIMIT_MEMLOCK is 12288 bytes"));
}
END_TEST

/* ---- setting up with a ring that fails at will ---- */

static void check_completes_timeout(struct sfd_loop *loop)
{
	t_loop = loop;
	t_run_quietly();
}

START_TEST(new_without_optional_flags_uses_io_uring_fc_72)
{
	struct sfd_loop *loop;
	struct sf_why why;

	setup_takes_flags = false;
	setup_calls = 0;
	ck_assert_int_eq(sfd_loop_new(SFD_LOOP_AUTO, &loop, &why), 0);
	setup_takes_flags = true;
	ck_assert_int_eq(sfd_loop_backend_of(loop), SFD_LOOP_URING);
	ck_assert_str_eq(why.text, "");
	ck_assert_int_eq(setup_calls, 4);
	check_completes_timeout(loop);
	sfd_loop_free(loop);
}
END_TEST

START_TEST(new_with_failing_ring_falls_back_and_says_why_fc_71_fc_72)
{
	static const int errors[] = {-EINVAL, -ENOMEM, -EPERM, -ENOSYS, -ENFILE};
	struct sfd_loop *loop = NULL;
	struct utsname name;
	struct sf_why why;

	setup_error = errors[_i];
	ck_assert_int_eq(sfd_loop_new(SFD_LOOP_URING, &loop, &why), setup_error);
	ck_assert_str_ne(why.text, "");
	ck_assert_ptr_null(loop);
	ck_assert_int_eq(sfd_loop_new(SFD_LOOP_AUTO, &loop, NULL), 0);
	sfd_loop_free(loop);
	ck_assert_int_eq(sfd_loop_new(SFD_LOOP_AUTO, &loop, &why), 0);
	ck_assert_int_eq(sfd_loop_backend_of(loop), SFD_LOOP_POLL);
	ck_assert_ptr_nonnull(strstr(why.text, strerrorname_np(-setup_error)));
	ck_assert_int_eq(uname(&name), 0);
	if (setup_error == -EINVAL)
		ck_assert_ptr_nonnull(strstr(why.text, name.release));
	setup_error = 0;
	check_completes_timeout(loop);
	sfd_loop_free(loop);
}
END_TEST

START_TEST(new_poll_never_tries_io_uring)
{
	struct sfd_loop *loop;
	struct sf_why why;

	setup_calls = 0;
	ck_assert_int_eq(sfd_loop_new(SFD_LOOP_POLL, &loop, &why), 0);
	ck_assert_int_eq(setup_calls, 0);
	ck_assert_int_eq(sfd_loop_backend_of(loop), SFD_LOOP_POLL);
	ck_assert_str_eq(why.text, "");
	sfd_loop_free(loop);
}
END_TEST

START_TEST(run_with_refused_submissions_loses_no_request)
{
	struct t_noted timeout[100];

	t_set_up(SFD_LOOP_URING);
	submit_results[0] = -EBUSY;
	submit_results[1] = -EAGAIN;
	submit_results[2] = -EINTR;
	submit_results[3] = 0;
	submit_results_left = 4;
	for (int i = 0; i < 100; i++) {
		t_noted_init(&timeout[i], t_note);
		ck_assert_int_eq(sfd_loop_timeout(t_loop, 0, &timeout[i].request), 0);
	}
	t_run(100);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(timeout[i].count, 1);
	ck_assert_uint_eq(submit_results_left, 0);
	submit_results[0] = -EBADF;
	submit_results_left = 1;
	ck_assert_int_eq(sfd_loop_run(t_loop), -EBADF);
	t_tear_down();
}
END_TEST

START_TEST(write_sync_submits_write_and_fdatasync_linked)
{
	FILE *file = tmpfile();
	T_NOTED(written);

	ck_assert_ptr_nonnull(file);
	t_set_up(SFD_LOOP_URING);
	linked_pairs = 0;
	ck_assert_int_eq(sfd_loop_write_sync(t_loop, fileno(file), "x", 1, 0, &written.request), 0);
	t_run(1);
	ck_assert_int_eq(written.result[0], 0);
	ck_assert_uint_eq(linked_pairs, 1);
	t_tear_down();
	(void)fclose(file);
}
END_TEST

/* ---- refusals by the kernel ---- */

struct outcome {
	int rc;
	int backend;
	int completed;
	struct sf_why why;
};

/* Every call of number `call` answers `error` from here on. */
static int refuse_call(unsigned call, unsigned error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

static void count_and_stop(struct sfd_request *request, int result)
{
	struct outcome *outcome = request->owner;

	outcome->completed += result == 0;
	sfd_loop_stop(t_loop);
}

static void try_loop(enum sfd_loop_backend backend, struct outcome *ret_outcome)
{
	struct sfd_request request = {.done = count_and_stop, .owner = ret_outcome};

	ret_outcome->rc = sfd_loop_new(backend, &t_loop, &ret_outcome->why);
	if (ret_outcome->rc < 0)
		return;
	ret_outcome->backend = (int)sfd_loop_backend_of(t_loop);
	if (sfd_loop_timeout(t_loop, T_MS, &request) == 0)
		(void)sfd_loop_run(t_loop);
	t_loop = sfd_loop_free(t_loop);
}

/* Makes and runs a loop in a child where `call` answers `error`; call -1: where no memory may be
 * locked. */
static struct outcome outcome_in_child(enum sfd_loop_backend backend, int call, int error)
{
	static const struct rlimit none;
	struct outcome outcome = {0};
	int pipe_fd[2];
	pid_t child;
	int status;

	ck_assert_int_eq(pipe2(pipe_fd, O_CLOEXEC), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		if (call >= 0)
			outcome.rc = refuse_call((unsigned)call, (unsigned)error);
		else if (setrlimit(RLIMIT_MEMLOCK, &none) < 0 ||
			 (geteuid() == 0 &&
			  setresuid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED) < 0))
			outcome.rc = -errno;
		if (outcome.rc == 0)
			try_loop(backend, &outcome);
		_exit(write(pipe_fd[1], &outcome, sizeof(outcome)) != sizeof(outcome));
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(read(pipe_fd[0], &outcome, sizeof(outcome)), sizeof(outcome));
	t_close_pair(pipe_fd);
	return outcome;
}

static const struct {
	int call;
	int error;
} refusals[] = {
	{SYS_io_uring_setup, EPERM},
	{SYS_io_uring_setup, ENOSYS},
	{SYS_io_uring_enter, EPERM},
	{SYS_io_uring_enter, ENOSYS},
};

START_TEST(new_under_seccomp_filter_falls_back_to_poll_fc_69_fc_70)
{
	struct outcome outcome =
		outcome_in_child(SFD_LOOP_AUTO, refusals[_i].call, refusals[_i].error);

	ck_assert_int_eq(outcome.rc, 0);
	ck_assert_int_eq(outcome.backend, SFD_LOOP_POLL);
	ck_assert_int_eq(outcome.completed, 1);
	ck_assert_ptr_nonnull(strstr(outcome.why.text, strerrorname_np(refusals[_i].error)));
	if (refusals[_i].error == EPERM)
		ck_assert_ptr_nonnull(strstr(outcome.why.text, "io_uring_disabled"));
}
END_TEST

START_TEST(new_uring_under_seccomp_filter_fails_with_the_errno)
{
	struct outcome outcome =
		outcome_in_child(SFD_LOOP_URING, refusals[_i].call, refusals[_i].error);

	ck_assert_int_eq(outcome.rc, -refusals[_i].error);
	ck_assert_str_ne(outcome.why.text, "");
}
END_TEST

/* Kernels that count ring memory otherwise give a ring all the same. */
START_TEST(new_without_lockable_memory_works_fc_71)
{
	struct outcome outcome = outcome_in_child(SFD_LOOP_AUTO, -1, 0);

	ck_assert_int_eq(outcome.rc, 0);
	ck_assert_int_eq(outcome.completed, 1);
	if (outcome.backend == SFD_LOOP_URING)
		ck_assert_str_eq(outcome.why.text, "");
	else
		ck_assert_ptr_nonnull(strstr(outcome.why.text, "RLIMIT_MEMLOCK is 0 bytes"));
}
END_TEST

/* ---- what stays behind ---- */

static int count_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	ck_assert_ptr_nonnull(directory);
	while (readdir(directory) != NULL) /* NOLINT(concurrency-mt-unsafe): one thread */
		count++;
	(void)closedir(directory);
	return count;
}

/* Of two connections one is taken. Of the other the kernel may have accepted it for the loop. */
static void check_round(int backend, int listener, const struct sockaddr_un *address,
			socklen_t length)
{
	int client[2];
	int pair[2];
	char byte;
	int left;
	T_NOTED(accepted);
	T_NOTED(received);

	for (int i = 0; i < 2; i++)
		client[i] = t_connect_to(SOCK_SEQPACKET, address, length);
	t_set_up(backend);
	t_make_pair(SOCK_SEQPACKET, pair);
	ck_assert_int_eq(sfd_loop_accept(t_loop, listener, &accepted.request), 0);
	ck_assert_int_eq(sfd_loop_recv(t_loop, pair[0], &byte, 1, &received.request), 0);
	t_run(1);
	t_tear_down();
	ck_assert_int_eq(accepted.count, 1);
	ck_assert_int_eq(close(accepted.result[0]), 0);
	left = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (left >= 0)
		(void)close(left);
	t_close_pair(client);
	t_close_pair(pair);
}

START_TEST(new_and_free_a_thousand_times_leaks_no_descriptor_fc_71)
{
	struct sockaddr_un address;
	socklen_t length;
	int listener = t_listen_on(SOCK_SEQPACKET, &address, &length);
	int before;

	ck_assert_int_eq(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
	before = count_descriptors();
	for (int i = 0; i < 1000; i++)
		check_round(_i, listener, &address, length);
	ck_assert_int_eq(count_descriptors(), before);
	(void)close(listener);
}
END_TEST

START_TEST(new_with_refused_submission_leaves_no_descriptor)
{
	struct sfd_loop *loop = NULL;
	int before = count_descriptors();
	struct sf_why why;

	submit_results[0] = -EPERM;
	submit_results_left = 1;
	ck_assert_int_eq(sfd_loop_new(SFD_LOOP_URING, &loop, &why), -EPERM);
	ck_assert_int_eq(count_descriptors(), before);
}
END_TEST

/* Tests of io_uring itself make sense only where the host permits it. */
static Suite *setup_suite(bool has_uring)
{
	Suite *suite = suite_create("loop_setup");
	TCase *why = tcase_create("why");
	TCase *choice = tcase_create("choice");
	TCase *leak = tcase_create("leak");

	tcase_add_loop_test(why, explain_names_the_cause, 0, 9);
	tcase_add_test(why, explain_no_memory_gives_the_present_limit);
	suite_add_tcase(suite, why);

	tcase_add_loop_test(choice, new_with_failing_ring_falls_back_and_says_why_fc_71_fc_72, 0,
			    5);
	tcase_add_test(choice, new_poll_never_tries_io_uring);
	if (has_uring) {
		tcase_add_test(choice, new_without_optional_flags_uses_io_uring_fc_72);
		tcase_add_test(choice, write_sync_submits_write_and_fdatasync_linked);
		tcase_add_test(choice, run_with_refused_submissions_loses_no_request);
		tcase_add_loop_test(choice, new_under_seccomp_filter_falls_back_to_poll_fc_69_fc_70,
				    0, 4);
		tcase_add_loop_test(choice, new_uring_under_seccomp_filter_fails_with_the_errno, 0,
				    4);
		tcase_add_test(choice, new_without_lockable_memory_works_fc_71);
	}
	suite_add_tcase(suite, choice);

	tcase_set_timeout(leak, 60);
	tcase_add_loop_test(leak, new_and_free_a_thousand_times_leaks_no_descriptor_fc_71,
			    has_uring ? SFD_LOOP_URING : SFD_LOOP_POLL, SFD_LOOP_POLL + 1);
	if (has_uring)
		tcase_add_test(leak, new_with_refused_submission_leaves_no_descriptor);
	suite_add_tcase(suite, leak);
	return suite;
}

int main(void)
{
	SRunner *runner;
	struct sf_why why;
	bool has_uring = sfd_loop_new(SFD_LOOP_URING, &t_loop, &why) == 0;
	int failed;

	if (has_uring)
		t_loop = sfd_loop_free(t_loop);
	else
		(void)fprintf(stderr, "only the poll backend is tested: %s\n", why.text);
	runner = srunner_create(setup_suite(has_uring));
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
