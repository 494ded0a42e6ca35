/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Preloaded into a real sfd: its wall clock is the host's, moved by what the test's wall.c says in
 * a shared file; so is what the kernel thinks of it. The monotonic clock, on which clients live, is
 * left alone. Reads the kernel's clock by a system call, and nothing else once it is loaded: so it
 * works below sanitizers, seccomp filters and a beat that reads the clock a thousand times a
 * second.
 */
#include "tests/support/wall.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define NS_PER_SECOND INT64_C(1000000000)

static const struct t_wall *wall;

__attribute__((constructor)) static void open_wall(void)
{
	const char *path = getenv(T_WALL_VARIABLE);
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *memory = mmap(NULL, sizeof(*wall), PROT_READ, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		_exit(126); /* a test without its clock would pass for the wrong reason */
	(void)close(fd);
	wall = memory;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): glibc's are reserved */
EXPORT int clock_gettime(clockid_t id, struct timespec *ret)
{
	int64_t ns;

	if (syscall(SYS_clock_gettime, id, ret) < 0)
		return -1;
	if (id != CLOCK_REALTIME || !wall)
		return 0;
	/* acquire, pairs with wall.c: a caller that hears of a step sees it */
	ns = ret->tv_sec * NS_PER_SECOND + ret->tv_nsec +
	     atomic_load_explicit(&wall->offset_ns, memory_order_acquire);
	ret->tv_sec = ns / NS_PER_SECOND;
	ret->tv_nsec = ns % NS_PER_SECOND;
	return 0;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): as above */
EXPORT int adjtimex(struct timex *timex)
{
	/* relaxed: one word after the other, as the test sets them before it looks */
	int error = atomic_load_explicit(&wall->sync_errno, memory_order_relaxed);

	if (error != 0) {
		errno = error;
		return -1;
	}
	timex->status = atomic_load_explicit(&wall->status, memory_order_relaxed);
	timex->maxerror = atomic_load_explicit(&wall->max_error_us, memory_order_relaxed);
	timex->esterror = timex->maxerror / 2;
	return atomic_load_explicit(&wall->clock_state, memory_order_relaxed);
}
