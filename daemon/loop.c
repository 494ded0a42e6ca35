/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The backend-independent half of the control loop: checks and fills requests, chooses the backend
 * and says why io_uring was not it. The loop's thread makes every call. Never waits by itself.
 */
#include "daemon/loop.h"

#include "daemon/loop_impl.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define DISABLED_SYSCTL "/proc/sys/kernel/io_uring_disabled"

int64_t sfd_loop_now_ns(void)
{
	struct timespec now;
	int rc = clock_gettime(CLOCK_MONOTONIC, &now);

	assert(rc == 0);
	(void)rc;
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The sysctl's value, or -1: it is one digit, and absent from kernels before 6.6. */
static int read_disabled(void)
{
	char text[2];
	ssize_t length;
	int fd = open(DISABLED_SYSCTL, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	length = read(fd, text, sizeof(text));
	(void)close(fd);
	if (length < 1 || text[0] < '0' || text[0] > '9')
		return -1;
	return text[0] - '0';
}

static void explain_not_permitted(int disabled, struct sf_why *why)
{
	const char *cause;

	switch (disabled) {
	case 2:
		cause = "the sysctl kernel.io_uring_disabled is 2, which forbids it to every "
			"process; set it to 0 or 1";
		break;
	case 1:
		cause = "the sysctl kernel.io_uring_disabled is 1, which leaves it to "
			"CAP_SYS_ADMIN and the group of the sysctl kernel.io_uring_group; join "
			"that group or set it to 0";
		break;
	case 0:
		cause = "the sysctl kernel.io_uring_disabled is 0, so the seccomp filter of a "
			"sandbox or container refuses it; allow io_uring_setup and io_uring_enter "
			"there";
		break;
	default:
		cause = "the cause is unknown, since " DISABLED_SYSCTL
			" cannot be read; look for that sysctl and for a sandbox's seccomp filter";
		break;
	}
	(void)snprintf(why->text, sizeof(why->text), "io_uring is not permitted (EPERM): %s",
		       cause);
}

static void explain_no_memory(struct sf_why *why)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		(void)snprintf(why->text, sizeof(why->text),
			       "io_uring got no memory (ENOMEM): RLIMIT_MEMLOCK is %" PRIu64
			       " bytes for all rings of this user; raise it (ulimit -l, "
			       "LimitMEMLOCK=)",
			       (uint64_t)limit.rlim_cur);
	else
		(void)snprintf(why->text, sizeof(why->text),
			       "io_uring got no memory (ENOMEM): RLIMIT_MEMLOCK is unlimited, so "
			       "the host or the memory cgroup is short of it");
}

static void explain_not_supported(struct sf_why *why)
{
	struct utsname name = {.release = "unknown"};

	(void)uname(&name);
	(void)snprintf(why->text, sizeof(why->text),
		       "io_uring of kernel %.40s lacks what sfd needs (EINVAL to set-up flags 0 or "
		       "to multishot accept); it needs Linux 5.19 or later, or a sandbox that does "
		       "not change the calls",
		       name.release);
}

void sfd_loop_explain(int error, int disabled, struct sf_why *why)
{
	const char *name;

	switch (-error) {
	case EPERM:
		explain_not_permitted(disabled, why);
		break;
	case ENOSYS:
		(void)snprintf(why->text, sizeof(why->text),
			       "io_uring is not there (ENOSYS): the kernel was built without "
			       "CONFIG_IO_URING, or the seccomp filter of a sandbox or container "
			       "hides it");
		break;
	case ENOMEM:
		explain_no_memory(why);
		break;
	case EINVAL:
		explain_not_supported(why);
		break;
	default:
		name = strerrorname_np(-error);
		(void)snprintf(why->text, sizeof(why->text), "io_uring cannot be set up: %s (%s)",
			       name != NULL ? strerrordesc_np(-error) : "unknown error",
			       name != NULL ? name : "?");
		break;
	}
}

int sfd_loop_new(enum sfd_loop_backend backend, struct sfd_loop **ret_loop, struct sf_why *why)
{
	struct sf_why ignored;
	int rc;

	if (why == NULL)
		why = &ignored;
	why->text[0] = '\0';
	if (backend != SFD_LOOP_POLL) {
		rc = sfd_loop_new_uring(ret_loop);
		if (rc == 0)
			return 0;
		sfd_loop_explain(rc, read_disabled(), why);
		if (backend == SFD_LOOP_URING)
			return rc;
	}
	rc = sfd_loop_new_poll(ret_loop);
	if (rc < 0)
		(void)snprintf(why->text, sizeof(why->text),
			       "no control loop: %s; allow it memory, a descriptor and a thread",
			       strerrordesc_np(-rc));
	return rc;
}

struct sfd_loop *sfd_loop_free(struct sfd_loop *loop)
{
	if (loop != NULL)
		loop->ops->free(loop);
	return NULL;
}

enum sfd_loop_backend sfd_loop_backend_of(const struct sfd_loop *loop)
{
	return loop->ops->backend;
}

int sfd_loop_run(struct sfd_loop *loop)
{
	int rc = 0;

	while (rc == 0 && !loop->stopping)
		rc = loop->ops->turn(loop);
	loop->stopping = false;
	return rc;
}

void sfd_loop_stop(struct sfd_loop *loop)
{
	loop->stopping = true;
}

bool sfd_request_is_idle(const struct sfd_request *request)
{
	return request->loop.kind == SFD_LOOP_KIND_IDLE;
}

static int start(struct sfd_loop *loop, struct sfd_request *request,
		 const struct sfd_request_state *what)
{
	int rc;

	if (!sfd_request_is_idle(request))
		return -EBUSY;
	if (what->length > INT_MAX)
		return -EINVAL;
	request->loop = *what;
	rc = loop->ops->start(loop, request);
	if (rc < 0)
		sfd_request_make_idle(request);
	return rc;
}

int sfd_loop_accept(struct sfd_loop *loop, int fd, struct sfd_request *request)
{
	return start(loop, request,
		     &(struct sfd_request_state){.kind = SFD_LOOP_KIND_ACCEPT, .fd = fd});
}

int sfd_loop_poll(struct sfd_loop *loop, int fd, struct sfd_request *request)
{
	return start(loop, request,
		     &(struct sfd_request_state){.kind = SFD_LOOP_KIND_POLL, .fd = fd});
}

int sfd_loop_recv(struct sfd_loop *loop, int fd, void *buffer, size_t length,
		  struct sfd_request *request)
{
	return start(
		loop, request,
		&(struct sfd_request_state){
			.kind = SFD_LOOP_KIND_RECV, .fd = fd, .into = buffer, .length = length});
}

int sfd_loop_send(struct sfd_loop *loop, int fd, const struct msghdr *message,
		  struct sfd_request *request)
{
	return start(loop, request,
		     &(struct sfd_request_state){
			     .kind = SFD_LOOP_KIND_SEND, .fd = fd, .message = message});
}

int sfd_loop_timeout(struct sfd_loop *loop, int64_t delay_ns, struct sfd_request *request)
{
	int64_t now = sfd_loop_now_ns();

	if (delay_ns < 0)
		delay_ns = 0;
	return start(loop, request,
		     &(struct sfd_request_state){.kind = SFD_LOOP_KIND_TIMEOUT,
						 .fd = -1,
						 .deadline_ns = delay_ns > INT64_MAX - now
									? INT64_MAX
									: now + delay_ns});
}

int sfd_loop_write_sync(struct sfd_loop *loop, int fd, const void *buffer, size_t length,
			int64_t offset, struct sfd_request *request)
{
	return start(loop, request,
		     &(struct sfd_request_state){.kind = SFD_LOOP_KIND_WRITE_SYNC,
						 .fd = fd,
						 .from = buffer,
						 .length = length,
						 .offset = offset});
}

void sfd_loop_cancel(struct sfd_loop *loop, struct sfd_request *request)
{
	if (sfd_request_is_idle(request) || request->loop.cancelled)
		return;
	request->loop.cancelled = true;
	loop->ops->cancel(loop, request);
}
