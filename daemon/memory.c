/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Locking memory; see memory.h. Called once, by the control thread. Pages are locked as they are
 * first used: nothing is read in that would not be used, stacks above all.
 */
#include "daemon/memory.h"

#include "daemon/log.h"
#include "shm/ring.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/** Under a finite limit MCL_FUTURE would make a later allocation fail: so all or not at all. */
static bool is_unlimited(const struct rlimit *limit)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

	if (limit->rlim_cur == RLIM_INFINITY)
		return true;
	return syscall(SYS_capget, &header, data) == 0 &&
	       (data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
}

static int lock_ring(const struct sfd_ring *ring, size_t *total)
{
	size_t claims_bytes = sf_shm_claims_bytes((uint32_t)ring->shm.mask + 1);

	*total += ring->arena_bytes + claims_bytes;
	return mlock(ring->arena, ring->arena_bytes) < 0 ||
			       mlock(ring->shm.claims, claims_bytes) < 0
		       ? -errno
		       : 0;
}

/** As far as the limit goes; what cannot be locked is still counted. */
static int lock_rings(const struct sfd_stream *stream, size_t stream_count, size_t *total)
{
	int error = 0;

	for (size_t i = 0; i < stream_count; i++) {
		int r = lock_ring(&stream[i].ring, total);

		if (error == 0)
			error = r;
	}
	return error;
}

void sfd_memory_lock(struct sfd_stream *stream, size_t stream_count)
{
	struct rlimit limit = {0};
	size_t bytes = 0;
	int error = -EPERM;

	(void)getrlimit(RLIMIT_MEMLOCK, &limit);
	if (is_unlimited(&limit))
		error = mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) < 0 ? -errno : 0;
	for (size_t i = 0; i < stream_count; i++)
		sfd_stats_set(stream[i].stats, SF_COUNTER_memory_locked, error == 0);
	if (error == 0)
		return;
	error = lock_rings(stream, stream_count, &bytes);
	sfd_log(SFD_LOG_INFO,
		"%s locked in memory: RLIMIT_MEMLOCK is %llu KiB, the rings alone have %zu; to "
		"lock "
		"all of sfd, set it to infinity (LimitMEMLOCK=, ulimit -l) or start sfd as root",
		error == 0 ? "only the rings are" : "the rings are not",
		(unsigned long long)limit.rlim_cur / 1024, bytes / 1024);
}
