/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/sandbox.c: which system calls are answered how, in which threads, and after an exec.
 */
#include "daemon/log.h"
#include "daemon/sandbox.h"
#include "tests/support/stderr.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define T_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define T_SANITIZED 1
#endif
#endif
#ifndef T_SANITIZED
#define T_SANITIZED 0
#endif

/* What an exec'd image of this program does instead of the tests. */
#define ROLE "--in-force"

/** What a call with these arguments is answered; 0 for success. */
static int answer(long number, long a, long b, long c)
{
	return syscall(number, a, b, c, 0L, 0L, 0L) < 0 ? errno : 0;
}

static int ptrace_answer(void)
{
	return answer(SYS_ptrace, 0, 0, 0); /* PTRACE_TRACEME */
}

static const struct {
	const char *name;
	long number;
	long a;
	long b;
	long c;
	int error;
} refused[] = {
	{"ptrace", SYS_ptrace, 0, 0, 0, EPERM},
	{"mount", SYS_mount, 0, 0, 0, EPERM},
	{"umount2", SYS_umount2, 0, 0, 0, EPERM},
	{"pivot_root", SYS_pivot_root, 0, 0, 0, EPERM},
	{"chroot", SYS_chroot, 0, 0, 0, EPERM},
	{"bpf", SYS_bpf, 0, 0, 0, EPERM},
	{"perf_event_open", SYS_perf_event_open, 0, 0, 0, EPERM},
	{"kexec_load", SYS_kexec_load, 0, 0, 0, EPERM},
	{"init_module", SYS_init_module, 0, 0, 0, EPERM},
	{"finit_module", SYS_finit_module, -1, 0, 0, EPERM},
	{"delete_module", SYS_delete_module, 0, 0, 0, EPERM},
	{"add_key", SYS_add_key, 0, 0, 0, EPERM},
	{"keyctl", SYS_keyctl, 0, 0, 0, EPERM},
	{"process_vm_readv", SYS_process_vm_readv, 1, 0, 0, EPERM},
	{"process_vm_writev", SYS_process_vm_writev, 1, 0, 0, EPERM},
	{"pidfd_getfd", SYS_pidfd_getfd, -1, 0, 0, EPERM},
	{"userfaultfd", SYS_userfaultfd, 0, 0, 0, EPERM},
	{"unshare", SYS_unshare, CLONE_NEWNS, 0, 0, EPERM},
	{"setns", SYS_setns, -1, 0, 0, EPERM},
	{"reboot", SYS_reboot, 0, 0, 0, EPERM},
	{"swapon", SYS_swapon, 0, 0, 0, EPERM},
	{"settimeofday", SYS_settimeofday, 0, 0, 0, EPERM},
	{"clock_settime", SYS_clock_settime, -1, 0, 0, EPERM},
	{"sethostname", SYS_sethostname, 0, 0, 0, EPERM},
	{"mknodat", SYS_mknodat, AT_FDCWD, 0, 0, EPERM},
	{"open_by_handle_at", SYS_open_by_handle_at, -1, 0, 0, EPERM},
	{"acct", SYS_acct, 0, 0, 0, EPERM},
	/* by their arguments */
	{"ioctl TIOCSTI", SYS_ioctl, 0, TIOCSTI, 0, ENOSYS},
	{"socket AF_INET", SYS_socket, AF_INET, SOCK_STREAM, 0, ENOSYS},
	{"socket AF_PACKET", SYS_socket, AF_PACKET, SOCK_RAW, 0, ENOSYS},
	{"socket AF_NETLINK, audit", SYS_socket, AF_NETLINK, SOCK_RAW, 9, ENOSYS},
	{"clone CLONE_NEWUSER", SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, ENOSYS},
	{"clone3", SYS_clone3, 0, 0, 0, ENOSYS},
	/* what no C library of today knows */
	{"call 1000", 1000, 0, 0, 0, ENOSYS},
};

/** Runs a function in a process of its own: a filter is for life. @return its result */
static int in_child(int (*run)(void))
{
	int status = -1;
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(run());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/** @return 0, or the number of the row that was answered otherwise, from 1 */
static int call_what_is_refused(void)
{
	if (sfd_sandbox_enter(true) != SFD_SANDBOX_OURS)
		return 99;
	for (int i = 0; i < (int)(sizeof(refused) / sizeof(refused[0])); i++) {
		int error = answer(refused[i].number, refused[i].a, refused[i].b, refused[i].c);

		if (error == refused[i].error)
			continue;
		(void)fprintf(stderr, "%s: %s\n", refused[i].name, strerror(error));
		return i + 1;
	}
	return 0;
}

START_TEST(filter_answers_what_sfd_never_calls)
{
	ck_assert_int_eq(in_child(call_what_is_refused), 0);
}
END_TEST

static sem_t steps[2];

/** @return NULL when the thread is under the filter */
static void *judge(void *argument)
{
	(void)sem_post(&steps[0]);
	(void)sem_wait(&steps[1]);
	return ptrace_answer() == EPERM ? NULL : argument;
}

static bool is_judged(pthread_t thread)
{
	void *result = &thread;

	(void)sem_post(&steps[1]);
	return pthread_join(thread, &result) == 0 && result == NULL;
}

/** One thread that is there already, and one that the C library makes under the filter. */
static int start_threads(void)
{
	pthread_t thread;

	(void)sem_init(&steps[0], 0, 0);
	(void)sem_init(&steps[1], 0, 0);
	if (pthread_create(&thread, NULL, judge, steps) != 0)
		return 1;
	(void)sem_wait(&steps[0]);
	if (sfd_sandbox_enter(true) != SFD_SANDBOX_OURS || !is_judged(thread))
		return 2;
	return pthread_create(&thread, NULL, judge, steps) == 0 && is_judged(thread) ? 0 : 3;
}

START_TEST(filter_holds_for_threads_before_and_after)
{
	ck_assert_int_eq(in_child(start_threads), 0);
}
END_TEST

static unsigned count_filters(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	unsigned filters = 0;

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "Seccomp_filters:", 16) == 0)
			filters = (unsigned)strtoul(line + 16, NULL, 10);
	if (file)
		(void)fclose(file);
	return filters;
}

/** What this program does as the next image. */
static int be_next(void)
{
	const unsigned before = count_filters();
	const enum sfd_sandbox_state state = sfd_sandbox_enter(true);

	if (state != SFD_SANDBOX_EARLIER)
		return 10;
	if (count_filters() != before)
		return 11;
	return ptrace_answer() == EPERM ? 0 : 12;
}

static int execute_next(void)
{
	(void)execl("/proc/self/exe", "next", ROLE, (char *)NULL);
	return 98;
}

static int execute_next_under_the_filter(void)
{
	enum sfd_sandbox_state first = sfd_sandbox_enter(true);
	enum sfd_sandbox_state second = sfd_sandbox_enter(true);

	if (first != SFD_SANDBOX_OURS || second != SFD_SANDBOX_EARLIER)
		return 1;
	return execute_next();
}

/* A thousand upgrades must not leave a thousand filters. */
START_TEST(next_image_starts_under_the_filter_and_adds_none)
{
	ck_assert_int_eq(in_child(execute_next_under_the_filter), 0);
	ck_assert_int_eq(in_child(execute_next), 10); /* there is none to be found */
}
END_TEST

static int change_ones_mind(void)
{
	const char *said;

	if (sfd_sandbox_enter(true) != SFD_SANDBOX_OURS)
		return 1;
	t_stderr_begin();
	sfd_log_init(SFD_LOG_INFO);
	if (sfd_sandbox_enter(false) != SFD_SANDBOX_EARLIER)
		return 2;
	said = t_stderr_end();
	return strstr(said, "seccomp = no: the filter of the sfd that") != NULL ? 0 : 3;
}

START_TEST(filter_that_cannot_be_taken_back_is_said)
{
	ck_assert_int_eq(in_child(change_ones_mind), 0);
}
END_TEST

static int be_without(void)
{
	return sfd_sandbox_enter(false) == SFD_SANDBOX_NONE && ptrace_answer() == 0 ? 0 : 1;
}

START_TEST(filter_that_is_not_wanted_is_not_there)
{
	ck_assert_int_eq(in_child(be_without), 0);
}
END_TEST

/** What a container may do: seccomp() itself is refused. */
static int be_refused(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	const char *said;

	if (!filter || seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(seccomp), 0) < 0 ||
	    seccomp_load(filter) < 0)
		return 1;
	seccomp_release(filter);
	t_stderr_begin();
	sfd_log_init(SFD_LOG_INFO);
	if (sfd_sandbox_enter(true) != SFD_SANDBOX_NONE)
		return 2;
	said = t_stderr_end();
	return strstr(said, "no seccomp filter") && strstr(said, "seccomp = no") ? 0 : 3;
}

START_TEST(filter_that_is_refused_is_said_and_survived)
{
	ck_assert_int_eq(in_child(be_refused), 0);
}
END_TEST

START_TEST(sanitized_build_says_that_it_has_no_filter)
{
	t_stderr_begin();
	sfd_log_init(SFD_LOG_INFO);
	ck_assert_int_eq(sfd_sandbox_enter(true), SFD_SANDBOX_NONE);
	ck_assert_ptr_nonnull(strstr(t_stderr_end(), "no seccomp filter: a sanitizer"));
}
END_TEST

static Suite *sandbox_suite(void)
{
	Suite *suite = suite_create("sandbox");
	TCase *filter = tcase_create("filter");

	tcase_add_test(filter, filter_that_is_not_wanted_is_not_there);
	if (T_SANITIZED) {
		tcase_add_test(filter, sanitized_build_says_that_it_has_no_filter);
	} else {
		tcase_add_test(filter, filter_answers_what_sfd_never_calls);
		tcase_add_test(filter, filter_holds_for_threads_before_and_after);
		tcase_add_test(filter, next_image_starts_under_the_filter_and_adds_none);
		tcase_add_test(filter, filter_that_cannot_be_taken_back_is_said);
		tcase_add_test(filter, filter_that_is_refused_is_said_and_survived);
	}
	suite_add_tcase(suite, filter);
	return suite;
}

int main(int argc, char **argv)
{
	SRunner *runner;
	int failed;

	if (argc > 1 && strcmp(argv[1], ROLE) == 0)
		return be_next();
	runner = srunner_create(sandbox_suite());
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
