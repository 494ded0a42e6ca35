/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What the log says of a stream and its clock: at start, and when something has changed. Called on
 * the control loop's thread.
 */
#ifndef SFD_REPORT_H
#define SFD_REPORT_H

#include "daemon/stream.h"
#include "daemon/sync.h"

/** A stream was opened: what it is, and what its clock makes of the stores. */
void sfd_report_start(struct sfd_stream *stream);

/** The beat thread has news: logs what has changed since the last call. */
void sfd_report_news(struct sfd_stream *stream);

/** What the kernel thinks of its clock, when that is not what `*told` says; SFD_SYNC_GOOD there
 *  says nothing to begin with. */
void sfd_report_sync(enum sfd_sync_state *told);

#endif
