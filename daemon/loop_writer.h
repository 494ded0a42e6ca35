/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Durable writes for the loop on poll(2), which has no asynchronous ones: a thread makes them, in
 * order, so that a disk that hangs holds up nothing else. Under io_uring the kernel does this.
 *
 * All calls come from the loop's thread. A request is the writer's from sfd_writer_start() until
 * sfd_writer_finished() or sfd_writer_cancel() gives it back.
 */
#ifndef SFD_LOOP_WRITER_H
#define SFD_LOOP_WRITER_H

#include "daemon/loop_impl.h"

struct sfd_writer;

/** @return 0 or a negative errno */
int sfd_writer_new(struct sfd_writer **ret_writer);
/** Waits for a write that has begun, and lets go of all requests. Returns NULL; NULL is fine. */
struct sfd_writer *sfd_writer_free(struct sfd_writer *writer);
/** Readable while finished requests are waiting. */
int sfd_writer_fd(const struct sfd_writer *writer);

void sfd_writer_start(struct sfd_writer *writer, struct sfd_request *request);
/** Takes back a request that has not begun. @return whether it has not */
bool sfd_writer_cancel(struct sfd_writer *writer, struct sfd_request *request);
/** The next request that is finished, its result in the request's state; NULL for none. */
struct sfd_request *sfd_writer_finished(struct sfd_writer *writer);

#endif
