/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * See wall.h.
 */
#include "tests/support/wall.h"

#include "tests/support/daemon.h"
#include "tests/support/e2e.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/timex.h>
#include <unistd.h>

static struct t_wall *wall;
static char path[112];

void t_wall_init(struct t_daemon *daemon)
{
	int fd;

	(void)snprintf(path, sizeof(path), "%s/wall", daemon->directory);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, sizeof(*wall)), 0);
	wall = mmap(NULL, sizeof(*wall), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(wall, MAP_FAILED);
	(void)close(fd);
	t_wall_sync(TIME_OK, STA_PLL, 10000);
	daemon->before_exec = t_wall_preload;
}

void t_wall_preload(void)
{
	const char *library = getenv("WALL_LIB");

	if (!library || setenv("LD_PRELOAD", library, 1) < 0 ||
	    setenv(T_WALL_VARIABLE, path, 1) < 0)
		_exit(T_CHECK_FAILED);
}

void t_wall_step(int64_t ns)
{
	/* release, pairs with wall_preload.c */
	atomic_fetch_add_explicit(&wall->offset_ns, ns, memory_order_release);
}

void t_wall_set(int64_t unix_ns)
{
	t_wall_step(unix_ns - t_wall_now());
}

int64_t t_wall_now(void)
{
	/* relaxed: only the test writes it */
	return t_wall_ns() + atomic_load_explicit(&wall->offset_ns, memory_order_relaxed);
}

void t_wall_sync(int clock_state, int status, long max_error_us)
{
	/* relaxed: see wall_preload.c */
	atomic_store_explicit(&wall->clock_state, clock_state, memory_order_relaxed);
	atomic_store_explicit(&wall->status, status, memory_order_relaxed);
	atomic_store_explicit(&wall->max_error_us, max_error_us, memory_order_relaxed);
}

void t_wall_sync_fails(int error)
{
	atomic_store_explicit(&wall->sync_errno, error, memory_order_relaxed);
}
