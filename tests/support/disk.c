/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * See disk.h. The trap is a seccomp filter whose notifications a thread of the test answers.
 */
#include "tests/support/disk.h"

#include "tests/support/e2e.h"
#include "tests/support/process.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct t_disk {
	int hand_over; /* where the trap's listener comes from; -1: no trap */
	int listener;
	pthread_t thread;
	_Atomic int answer; /* W: test | R: thread | relaxed, only a number */
	_Atomic bool ends;
	char path[128];
	int freezer; /* pipe to the process that freezes: closed, it thaws and ends */
	pid_t freezer_pid;
};

/* ---- trap ---- */

/* Between the child that becomes sfd and the test: the listener comes over it. */
static int hand_over[2];

static void send_descriptor(int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	char byte = 0;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};

	control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
					.cmsg_level = SOL_SOCKET,
					.cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	(void)sendmsg(hand_over[1], &message, 0);
}

/* In the child, before it becomes sfd. */
static void trap(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_fdatasync, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
	long fd;

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL);
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		     &program);
	if (fd >= 0)
		send_descriptor((int)fd);
	(void)close((int)fd);
	(void)close(hand_over[0]);
	(void)close(hand_over[1]);
}

static int receive_descriptor(int from)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	char byte;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	int fd = -1;

	if (recvmsg(from, &message, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	return fd;
}

static void respond(struct t_disk *disk, const struct seccomp_notif *request)
{
	struct seccomp_notif_resp response = {.id = request->id};
	int answer;

	while ((answer = atomic_load_explicit(&disk->answer, memory_order_relaxed)) ==
		       T_DISK_HANGS &&
	       !atomic_load_explicit(&disk->ends, memory_order_relaxed))
		t_nap_ms(5);
	if (answer > 0)
		response.error = -answer;
	else
		response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	(void)ioctl(disk->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static void *answer_all(void *argument)
{
	struct t_disk *disk = argument;
	struct pollfd poller = {.events = POLLIN};

	disk->listener = receive_descriptor(disk->hand_over);
	poller.fd = disk->listener;
	while (!atomic_load_explicit(&disk->ends, memory_order_relaxed)) {
		struct seccomp_notif request = {0};

		if (poll(&poller, 1, 20) == 1 && (poller.revents & POLLIN) != 0 &&
		    ioctl(disk->listener, SECCOMP_IOCTL_NOTIF_RECV, &request) == 0)
			respond(disk, &request);
	}
	return NULL;
}

struct t_disk *t_disk_trap(struct t_daemon *daemon)
{
	struct t_disk *disk = calloc(1, sizeof(*disk));

	ck_assert_ptr_nonnull(disk);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, hand_over), 0);
	daemon->before_exec = trap;
	disk->hand_over = hand_over[0];
	ck_assert_int_eq(pthread_create(&disk->thread, NULL, answer_all, disk), 0);
	return disk;
}

void t_disk_answer(struct t_disk *disk, int answer)
{
	atomic_store_explicit(&disk->answer, answer, memory_order_relaxed);
}

/* ---- mount ---- */

/** Runs a shell command. @return whether it succeeded */
static bool run(const char *command)
{
	return system(command) == 0; /* NOLINT(concurrency-mt-unsafe): one thread */
}

struct t_disk *t_disk_mount(const char *directory, const char *path)
{
	struct t_disk *disk;
	char command[512];

	if (!t_may_mount())
		return NULL;
	ck_assert_int_eq(mkdir(path, 0700), 0);
	(void)snprintf(command, sizeof(command),
		       "{ truncate -s 8M %s/image && mkfs.ext4 -q %s/image && "
		       "mount -o loop %s/image %s; } 2>/dev/null",
		       directory, directory, directory, path);
	if (!run(command)) {
		ck_assert_int_eq(rmdir(path), 0);
		return NULL;
	}
	disk = calloc(1, sizeof(*disk));
	ck_assert_ptr_nonnull(disk);
	disk->hand_over = -1;
	(void)snprintf(disk->path, sizeof(disk->path), "%s", path);
	return disk;
}

/* Neither bound to the test nor of its process group, which Check kills: whatever ends the test
 * must not leave the file system frozen. */
static void freeze_until(const char *path, int begun, int end)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const bool is_frozen = setpgid(0, 0) == 0 && fd >= 0 && ioctl(fd, FIFREEZE, 0) == 0;
	char byte = is_frozen ? 1 : 0;

	(void)!write(begun, &byte, 1);
	(void)!read(end, &byte, 1);
	(void)ioctl(fd, FITHAW, 0);
	_exit(0);
}

void t_disk_freeze(struct t_disk *disk)
{
	int begun[2];
	int end[2];
	char byte = 0;

	ck_assert_int_eq(pipe2(begun, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(end, O_CLOEXEC), 0);
	(void)fflush(NULL);
	disk->freezer_pid = fork();
	ck_assert_int_ge(disk->freezer_pid, 0);
	if (disk->freezer_pid == 0) {
		(void)close(end[1]);
		freeze_until(disk->path, begun[1], end[0]);
	}
	(void)close(begun[1]);
	(void)close(end[0]);
	disk->freezer = end[1];
	ck_assert_int_eq(read(begun[0], &byte, 1), 1);
	ck_assert_msg(byte == 1, "%s cannot be frozen", disk->path);
	(void)close(begun[0]);
}

void t_disk_thaw(struct t_disk *disk)
{
	(void)close(disk->freezer);
	ck_assert_int_eq(t_reap(disk->freezer_pid), 0);
}

void t_disk_release(struct t_disk *disk)
{
	if (!disk)
		return;
	if (disk->hand_over >= 0) {
		atomic_store_explicit(&disk->ends, true, memory_order_relaxed);
		(void)pthread_join(disk->thread, NULL);
		(void)close(disk->listener);
		(void)close(disk->hand_over);
	} else {
		ck_assert_int_eq(umount2(disk->path, 0), 0);
	}
	free(disk);
}
