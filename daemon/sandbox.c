/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The filter of system calls; see sandbox.h.
 *
 * Three answers besides the call itself. What is not on the list gets EPERM, and a record in the
 * kernel's audit log, which limits their rate: an answer and not a signal, because a call that was
 * forgotten here must not end a daemon that others live on. What libseccomp has no name for gets
 * ENOSYS: a C library newer than it asks for such calls on the off chance, and takes only that for
 * a no. The same goes for clone3(), whose flags a filter cannot see.
 *
 * A filter outlives an exec and cannot be taken back, and each further one costs memory and time.
 * So an sfd that was executed by another asks first, by a prctl() that only the filter answers.
 *
 * The list holds what sfd calls, what the start of an image calls (an upgrade happens under the
 * filter), and what look-ups of users and groups call.
 */
#include "daemon/sandbox.h"

#include "daemon/log.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

/* Nobody else's prctl() option, and nobody else's answer to it. */
#define QUESTION 0x53464431 /* "SFD1" */
#define ANSWER ENOTNAM
/* Above every number that a machine has for its calls today. */
#define CALLS_MAX 1024
#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)

/* Names with blanks between them: those that a machine has not are passed over. */
static const char allowed[] =
	/* files */
	"access chmod chown close close_range creat dup dup2 dup3 faccessat faccessat2 "
	"fadvise64 fallocate fchmod fchmodat fchown fchownat fcntl fdatasync flock fstat "
	"fstatfs fsync ftruncate getcwd getdents getdents64 lchown link linkat lseek lstat "
	"mkdir mkdirat newfstatat open openat openat2 pipe pipe2 pread64 preadv preadv2 "
	"pwrite64 pwritev pwritev2 read readlink readlinkat readv rename renameat "
	"renameat2 rmdir stat statfs statx truncate umask unlink unlinkat write writev "
	/* memory */
	"brk madvise membarrier memfd_create mincore mlock mlock2 mlockall mmap mprotect "
	"mremap msync munlock munlockall munmap "
	/* sockets */
	"accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom "
	"recvmmsg recvmsg sendmmsg sendmsg sendto setsockopt shutdown socketpair "
	/* waiting, and io_uring */
	"clock_nanosleep epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_wait "
	"eventfd2 futex futex_waitv inotify_add_watch inotify_init1 io_uring_enter "
	"io_uring_register io_uring_setup nanosleep pause poll ppoll pselect6 select signalfd4 "
	"timerfd_create "
	"timerfd_gettime timerfd_settime "
	/* time; setting it takes a capability that sfd has not */
	"adjtimex clock_adjtime clock_getres clock_gettime gettimeofday time "
	/* threads, processes, images */
	"arch_prctl execve execveat exit exit_group fork get_robust_list kill pidfd_open "
	"pidfd_send_signal restart_syscall rseq sched_getaffinity sched_getattr "
	"sched_getparam sched_get_priority_max sched_get_priority_min sched_getscheduler "
	"sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield "
	"set_robust_list set_tid_address tgkill tkill vfork wait4 waitid "
	/* signals */
	"alarm rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn "
	"rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo setitimer sigaltstack "
	/* who and where one is; and becoming less */
	"capget capset getcpu getegid geteuid getgid getgroups getitimer getpgid getpgrp "
	"getpid getppid getpriority getrandom getresgid getresuid getrlimit getrusage "
	"getsid gettid getuid prlimit64 seccomp setgid setgroups setpriority setregid "
	"setresgid setresuid setreuid setrlimit setsid setuid sysinfo times uname ";

/* Calls that depend on their arguments, and are not on the list; with others they get ENOSYS. */
static int add_narrow_rules(scmp_filter_ctx filter, bool *is_settled)
{
	const struct {
		int call;
		uint32_t action;
		struct scmp_arg_cmp argument[2];
		unsigned count;
	} rules[] = {
		{SCMP_SYS(prctl), SCMP_ACT_ERRNO(ANSWER), {SCMP_A0(SCMP_CMP_EQ, QUESTION, 0)}, 1},
		{SCMP_SYS(prctl), SCMP_ACT_ALLOW, {SCMP_A0(SCMP_CMP_NE, QUESTION, 0)}, 1},
		{SCMP_SYS(clone),
		 SCMP_ACT_ALLOW,
		 {SCMP_A0(SCMP_CMP_MASKED_EQ, (scmp_datum_t)NAMESPACES, 0)},
		 1},
		/* is it a terminal? */
		{SCMP_SYS(ioctl), SCMP_ACT_ALLOW, {SCMP_A1(SCMP_CMP_EQ, TCGETS, 0)}, 1},
		{SCMP_SYS(socket), SCMP_ACT_ALLOW, {SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0)}, 1},
		/* the interfaces' addresses, for a machine id of `hardware` */
		{SCMP_SYS(socket),
		 SCMP_ACT_ALLOW,
		 {SCMP_A0(SCMP_CMP_EQ, AF_NETLINK, 0), SCMP_A2(SCMP_CMP_EQ, NETLINK_ROUTE, 0)},
		 2},
	};
	int r = 0;

	is_settled[SCMP_SYS(clone3)] = true; /* never */
	for (size_t i = 0; r == 0 && i < sizeof(rules) / sizeof(rules[0]); i++) {
		r = seccomp_rule_add_array(filter, rules[i].action, rules[i].call, rules[i].count,
					   rules[i].argument);
		is_settled[rules[i].call] = true;
	}
	return r;
}

static int add_rules(scmp_filter_ctx filter)
{
	bool is_settled[CALLS_MAX] = {false};
	int r = add_narrow_rules(filter, is_settled);

	for (const char *at = allowed; r == 0 && *at != '\0'; at += strspn(at, " ")) {
		char name[32];
		const size_t length = strcspn(at, " ");
		int call;

		(void)snprintf(name, sizeof(name), "%.*s", (int)length, at);
		at += length;
		call = seccomp_syscall_resolve_name(name);

		if (call < 0 || call >= CALLS_MAX) /* not on this machine */
			continue;
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
		is_settled[call] = true;
	}
	for (int call = 0; r == 0 && call < CALLS_MAX; call++) {
		char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call);

		if (name != NULL && !is_settled[call])
			r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0);
		free(name);
	}
	return r;
}

static int load(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int r;

	if (filter == NULL)
		return -ENOMEM;
	r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1); /* every thread */
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
	if (r == 0)
		r = add_rules(filter);
	if (r == 0) {
		/* Both are only better: a log of what was refused, and a tree of numbers instead of
		 * a chain. */
		(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
		(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
		r = seccomp_load(filter);
	}
	seccomp_release(filter);
	return r;
}

static bool is_in_force(void)
{
	return prctl(QUESTION, 0UL, 0UL, 0UL, 0UL) < 0 && errno == ANSWER;
}

enum sfd_sandbox_state sfd_sandbox_enter(bool wanted)
{
	int r;

	if (is_in_force()) {
		if (!wanted)
			sfd_log(SFD_LOG_WARNING,
				"seccomp = no: the filter of the sfd that executed this one stays "
				"in force; stop sfd and start it anew to be rid of it");
		return SFD_SANDBOX_EARLIER;
	}
	if (!wanted)
		return SFD_SANDBOX_NONE;
	if (IS_SANITIZED) {
		sfd_log(SFD_LOG_INFO, "no seccomp filter: a sanitizer's own calls are not on it");
		return SFD_SANDBOX_NONE;
	}
	r = load();
	if (r == 0)
		return SFD_SANDBOX_OURS;
	sfd_log(SFD_LOG_WARNING,
		"no seccomp filter, the kernel or a sandbox refuses it: %s; say seccomp = no if "
		"that "
		"is as it should be",
		strerrordesc_np(-r));
	return SFD_SANDBOX_NONE;
}
