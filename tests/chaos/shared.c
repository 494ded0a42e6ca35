/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The shared memory of a run, and the small things that every role needs.
 */
#include "tests/chaos/chaos.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct chaos_shared *chaos;
int chaos_fd;

static int map(int fd)
{
	void *memory = mmap(NULL, sizeof(*chaos), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	chaos = memory;
	chaos_fd = fd;
	return 0;
}

int chaos_share_new(void)
{
	int fd = memfd_create("chaos", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, sizeof(*chaos)) < 0)
		return -errno;
	return map(fd);
}

int chaos_share_open(int fd)
{
	return map(fd);
}

int64_t chaos_mono_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void chaos_nap_us(int64_t us)
{
	struct timespec left = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

	while (nanosleep(&left, &left) < 0)
		;
}

bool chaos_is_over(void)
{
	/* relaxed: a moment later is as good */
	return atomic_load_explicit(&chaos->stop, memory_order_relaxed) != 0;
}

void chaos_happened(enum chaos_event event)
{
	atomic_fetch_add_explicit(&chaos->happened[event], 1, memory_order_relaxed);
}

void chaos_find(const char *format, ...)
{
	/* relaxed: read when all writers have ended */
	uint32_t at = atomic_fetch_add_explicit(&chaos->findings, 1, memory_order_relaxed);
	uint32_t event = atomic_load_explicit(&chaos->event, memory_order_relaxed);
	double seconds = (double)(chaos_mono_ns() - chaos->began_ns) / 1e9;
	va_list arguments;
	int length;

	if (at >= CHAOS_FINDINGS_MAX)
		return;
	length = snprintf(chaos->finding[at], CHAOS_FINDING_BYTES, "%.3f s, %s: ", seconds,
			  chaos_event_name(event));
	va_start(arguments, format);
	(void)vsnprintf(chaos->finding[at] + length, CHAOS_FINDING_BYTES - (size_t)length, format,
			arguments);
	va_end(arguments);
}

/* ---- the highest ID that was returned: sixteen bytes, so the compiler's older built-ins ---- */

__extension__ typedef unsigned __int128 wide;

static wide pack(struct chaos_id id)
{
	return (wide)id.high << 64 | id.low;
}

static struct chaos_id unpack(wide value)
{
	return (struct chaos_id){.low = (uint64_t)value, .high = (uint64_t)(value >> 64)};
}

struct chaos_id chaos_returned(unsigned stream)
{
	wide *word = (wide *)&chaos->stream[stream].returned;

	return unpack(__sync_val_compare_and_swap(word, 0, 0));
}

void chaos_returned_raise(unsigned stream, struct chaos_id id)
{
	wide *word = (wide *)&chaos->stream[stream].returned;
	wide wanted = pack(id);
	wide seen = __sync_val_compare_and_swap(word, 0, 0);

	while (seen < wanted) {
		wide before = __sync_val_compare_and_swap(word, seen, wanted);

		if (before == seen)
			return;
		seen = before;
	}
}
