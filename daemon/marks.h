/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Raising the marks of all streams on the control loop: one write in flight a stream, retried at a
 * bounded pace when the disk refuses. The beat thread learns of a raise through the stream's
 * mark_tick.
 */
#ifndef SFD_MARKS_H
#define SFD_MARKS_H

#include "daemon/beat.h"
#include "daemon/loop.h"
#include "daemon/stream.h"

struct sfd_marks;

/** One stream's mark on its way to the disk. */
struct sfd_mark_job {
	struct sfd_marks *marks;
	struct sfd_stream *stream;
	struct sfd_request request;
	uint64_t tick; /* in flight */
	int64_t started_mono_ns;
	uint64_t last;     /* exact last tick of a clean stop; 0 before */
	bool failing;      /* logged, and not again until it works */
	bool used_up;      /* the same for: publishing has stopped */
	struct sf_why why; /* of a raise that could not begin; else empty */
};

struct sfd_marks {
	struct sfd_loop *loop;
	struct sfd_beat *beat;
	struct sfd_mark_job *job;
	size_t job_count;
	struct sfd_request retry;
	void (*final)(void *owner); /* after the last mark of a clean stop, stored or not */
	void (*drained)(void *owner);
	void *owner;
	size_t unfinished; /* streams whose last mark is still to come */
	const char *state_dir;
	int *state_lock_fd;
};

int sfd_marks_init(struct sfd_marks *marks, struct sfd_loop *loop, struct sfd_beat *beat,
		   struct sfd_stream *stream, size_t stream_count);
/** Where the marks lie: looked after before each raise, and mended when somebody removed or changed
 *  what lies there. `*lock_fd` is the directory's lock. */
void sfd_marks_watch(struct sfd_marks *marks, const char *state_dir, int *lock_fd);
void sfd_marks_deinit(struct sfd_marks *marks);
/** Starts every raise that a stream wants and that is not in flight. */
void sfd_marks_raise(struct sfd_marks *marks);
/** Stores each stream's exact last tick, after what is in flight, and then calls `final`. */
void sfd_marks_finish(struct sfd_marks *marks, const uint64_t *last_tick,
		      void (*final)(void *owner), void *owner);

/** Lets what is in flight end, starts nothing new, and then calls `drained`: perhaps at once. */
void sfd_marks_drain(struct sfd_marks *marks, void (*drained)(void *owner), void *owner);
/** Goes on after that. */
void sfd_marks_resume(struct sfd_marks *marks);

#endif
