/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Which host a state directory belongs to. A copy of the directory on another host (a cloned disk,
 * a restored backup) holds a mark that the original leaves behind: two sfds would give the same
 * IDs.
 *
 * DIR/host names the host by a hash of /etc/machine-id, and by its name for people. Hosts that have
 * no /etc/machine-id, or share one, cannot be told apart by it.
 */
#ifndef SFD_HOST_H
#define SFD_HOST_H

#include "shm/sflayout.h"

#include <stdbool.h>

/**
 * Checks that the directory, which is locked, is this host's, and writes that down where nothing
 * is.
 * @param adopt it is from now on, whosever it was
 * @return 0; 1 when this host has no /etc/machine-id, so that nothing could be checked; -EXDEV with
 *         a sentence that names the other host; or another negative errno with a sentence
 */
int sfd_host_check(const char *state_dir, bool adopt, struct sf_why *why);

#endif
