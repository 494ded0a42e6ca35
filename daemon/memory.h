/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Locked memory: a beat must not wait for a page to come back from disk.
 */
#ifndef SFD_MEMORY_H
#define SFD_MEMORY_H

#include "daemon/stream.h"

#include <stddef.h>

/**
 * Locks all memory of the process, now and later, where the limit allows any amount; else the
 * rings, where it allows those; else says what the limit is. Sets the streams' memory_locked.
 */
void sfd_memory_lock(struct sfd_stream *stream, size_t stream_count);

#endif
