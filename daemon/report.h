/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What the log says of a stream and its clock: at start, and when something has changed. Called on
 * the control loop's thread.
 */
#ifndef SFD_REPORT_H
#define SFD_REPORT_H

#include "daemon/handover.h"
#include "daemon/stream.h"
#include "daemon/sync.h"

/** A stream was opened: what it is, and what its clock makes of the stores. */
void sfd_report_start(struct sfd_stream *stream);

/** The streams were opened after a hand-over: which of them are new, which are gone, and of the
 *  others, of which the sfd before has told all, how many there are. */
void sfd_report_taken_over(const struct sfd_handover *handover, struct sfd_stream *stream,
			   size_t stream_count);

/** The beat thread has news: logs what has changed since the last call. */
void sfd_report_news(struct sfd_stream *stream);

/** What the kernel thinks of its clock, when that is not what `*told` says; SFD_SYNC_GOOD there
 *  says nothing to begin with. */
void sfd_report_sync(enum sfd_sync_state *told);

#endif
