/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Random bytes; see random.h.
 */
#include "libclient/formats/random.h"

#include "shm/why.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

int sf_random_fill(void *ret_bytes, size_t size, struct sf_why *why)
{
	int saved = errno; /* of the code that a signal handler interrupted */
	char *bytes = ret_bytes;
	int error = 0;

	while (size > 0 && error == 0) {
		ssize_t got = getrandom(bytes, size, 0);

		if (got >= 0) {
			bytes += got;
			size -= (size_t)got;
		} else if (errno != EINTR) {
			error = -errno;
		}
	}
	errno = saved;
	if (error < 0)
		return SF_SHM_REFUSE(why, error,
				     "getrandom: %s; allow this system call, since there is no "
				     "other source of random bytes",
				     strerrordesc_np(-error));
	return 0;
}
