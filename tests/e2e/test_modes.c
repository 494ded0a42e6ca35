/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Modes and owners, whatever the umask, the mount and the kernel's opinion of memfds.
 */
#include "tests/support/daemon.h"
#include "tests/support/e2e.h"
#include "tests/support/process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LAYOUT "t41 n10 s12 epoch=1577836800000"
#define NOBODY 65534
#define LISTED 54321
/* Exit code of a child. */
#define CANNOT_SET 2

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#define MFD_EXEC 0x0010U
#endif

static struct t_daemon daemon_now;

static int visit(void *argument)
{
	const uid_t *uid = argument;
	char said[T_SAID_BYTES];
	struct sf_client *client = NULL;
	uint64_t id;
	int error;

	t_become(*uid);
	error = t_try_open(daemon_now.socket, "default", &client, said);
	if (*uid == LISTED)
		return error == 0 ? sf_next(t_cursor(client), &id) : 1;
	T_CHECK(strstr(said, "stream default") != NULL && strstr(said, "allow list") != NULL);
	return error == -EACCES ? 0 : 1;
}

static void assert_listed_only(void)
{
	static uid_t users[] = {LISTED, NOBODY};

	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(t_reap(t_child(visit, &users[i])), 0);
}

static mode_t mode_of(const char *path)
{
	struct stat status;

	ck_assert_int_eq(stat(path, &status), 0);
	return status.st_mode & 07777;
}

static void set_umask_0077(void)
{
	(void)umask(0077);
}

static void set_umask_0000(void)
{
	(void)umask(0000);
}

static void assert_modes(void)
{
	ck_assert_uint_eq(mode_of(daemon_now.socket), 0666);
	ck_assert_uint_eq(mode_of(daemon_now.runtime_dir), 0755);
	ck_assert_uint_eq(mode_of(daemon_now.state_dir), 0700);
	ck_assert_uint_eq(mode_of(t_path(daemon_now.state_dir, "default.mark")), 0600);
	ck_assert_uint_eq(mode_of(t_path(daemon_now.runtime_dir, "default.runtime")), 0600);
	ck_assert_uint_eq(mode_of("/run/lock/sfd.nodes"), 0666);
}

START_TEST(fc65_modes_are_the_same_whatever_the_umask)
{
	void (*const umasks[])(void) = {set_umask_0077, set_umask_0000};
	const char *const users[] = {"user = root\n", "user = nobody\n"};

	if (!t_has_root(__func__))
		return;
	for (int i = 0; i < 4; i++) {
		t_daemon_init(&daemon_now, 0);
		daemon_now.before_exec = umasks[i % 2];
		daemon_now.lines = users[i / 2];
		t_daemon_configure(&daemon_now, LAYOUT, "allow = 54321\n");
		t_daemon_start(&daemon_now);
		assert_modes();
		if (i < 2)
			assert_listed_only();
		t_daemon_stop(&daemon_now);
	}
}
END_TEST

START_TEST(fc65_runtime_directory_mounted_noexec_nosuid_nodev_is_fine)
{
	if (!t_may_mount()) {
		t_skip(__func__, "needs the right to mount");
		return;
	}
	t_daemon_init(&daemon_now, 0);
	t_daemon_configure(&daemon_now, LAYOUT, "allow = 54321\n");
	ck_assert_int_eq(mkdir(daemon_now.runtime_dir, 0755), 0);
	ck_assert_int_eq(mount("tmpfs", daemon_now.runtime_dir, "tmpfs",
			       MS_NOEXEC | MS_NOSUID | MS_NODEV, "size=64k,mode=0755"),
			 0);
	t_daemon_start(&daemon_now);
	assert_listed_only();
	t_daemon_stop(&daemon_now);
	ck_assert_int_eq(umount2(daemon_now.runtime_dir, MNT_DETACH), 0);
}
END_TEST

static void become_nobody(void)
{
	t_become(NOBODY);
}

/* The file in which both lock their machine ids belongs to the one, and the other can use it. */
START_TEST(fc65_instances_of_two_users_do_not_clash)
{
	struct t_daemon second;
	char said[T_SAID_BYTES];

	if (!t_has_root(__func__))
		return;
	for (int first_is_root = 0; first_is_root < 2; first_is_root++) {
		t_daemon_init(&daemon_now, 0);
		t_daemon_init(&second, 1);
		daemon_now.before_exec = first_is_root ? NULL : become_nobody;
		second.before_exec = first_is_root ? become_nobody : NULL;
		ck_assert_int_eq(chown(daemon_now.directory, NOBODY, NOBODY), 0);
		ck_assert_int_eq(chown(second.directory, NOBODY, NOBODY), 0);
		t_daemon_configure(&daemon_now, LAYOUT, "");
		t_daemon_configure(&second, LAYOUT, "");
		if (t_may_mount())
			(void)unlink("/run/lock/sfd.nodes");
		t_daemon_start(&daemon_now);
		t_daemon_start(&second);
		t_daemon_stop(&second);
		/* But not with the same machine id. */
		second.machine_id = daemon_now.machine_id;
		t_daemon_configure(&second, LAYOUT, "");
		ck_assert_int_eq(t_daemon_start_refused(&second, said), 1);
		ck_assert_msg(strstr(said, "is in use on this host by another sfd") != NULL, "%s",
			      said);
		t_daemon_stop(&daemon_now);
	}
}
END_TEST

/** A kernel before 6.3: memfd_create() with the no-exec flag gets EINVAL. */
static void forget_noexec_flag(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MFD_NOEXEC_SEAL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	T_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0);
	T_CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

START_TEST(fc65_kernel_without_the_noexec_flag_gives_a_ring_all_the_same)
{
	t_daemon_init(&daemon_now, 0);
	daemon_now.before_exec = forget_noexec_flag;
	t_daemon_configure(&daemon_now, LAYOUT, "");
	t_daemon_start(&daemon_now);
	(void)t_take_one(daemon_now.socket);
	t_daemon_stop(&daemon_now);
}
END_TEST

/** The sysctl is the pid namespace's, and starts with the parent's value: no host is changed. */
static int run_where_memfds_must_not_be_executable(void *argument)
{
	char said[T_SAID_BYTES];
	int fd = open("/proc/sys/vm/memfd_noexec", O_RDWR | O_CLOEXEC);

	(void)argument;
	if (fd < 0 || pwrite(fd, "2", 1, 0) != 1)
		return CANNOT_SET;
	(void)close(fd);
	if (memfd_create("x", MFD_CLOEXEC | MFD_EXEC) >= 0 || errno != EACCES)
		return CANNOT_SET;
	return t_run_sfd((const char *const[]){"-c", daemon_now.config, NULL},
			 daemon_now.before_exec, said) == 0
		       ? 0
		       : 1;
}

/** The namespace of the children of this process, and so of a process that has no others. */
static int enter_and_run(void *argument)
{
	T_CHECK(unshare(CLONE_NEWPID) == 0);
	return t_reap(t_child(run_where_memfds_must_not_be_executable, argument));
}

START_TEST(fc65_memfd_noexec_2_gives_a_ring_all_the_same)
{
	int code;

	if (!t_may_mount()) {
		t_skip(__func__, "needs a namespace of its own");
		return;
	}
	t_daemon_init(&daemon_now, 0);
	t_daemon_configure(&daemon_now, LAYOUT, "");
	daemon_now.pid = t_child(enter_and_run, NULL);
	T_WAIT_UNTIL(access(daemon_now.socket, F_OK) == 0 || !t_daemon_lives(&daemon_now), 20000);
	if (t_daemon_lives(&daemon_now)) {
		(void)t_take_one(daemon_now.socket);
		/* Its child ends with it, and that takes the whole namespace along. */
		ck_assert_int_eq(kill(daemon_now.pid, SIGKILL), 0);
	}
	code = t_reap(daemon_now.pid);
	if (code == CANNOT_SET)
		t_skip(__func__, "the sysctl vm.memfd_noexec cannot be set here");
	else
		ck_assert_int_eq(code, -SIGKILL);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		fc65_modes_are_the_same_whatever_the_umask,
		fc65_runtime_directory_mounted_noexec_nosuid_nodev_is_fine,
		fc65_instances_of_two_users_do_not_clash,
		fc65_kernel_without_the_noexec_flag_gives_a_ring_all_the_same,
		fc65_memfd_noexec_2_gives_a_ring_all_the_same,
	};
	const struct t_program program = {.name = "modes",
					  .machine_id = 608,
					  .tests = tests,
					  .test_count = sizeof(tests) / sizeof(tests[0])};

	return t_main(argc, argv, &program);
}
