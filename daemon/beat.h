/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The beat thread: the only thread that publishes, beats and moves the time pages, of all streams.
 * It registers every ring's beat in its robust list, so that the kernel marks the beats when it
 * ends, however it ends. It never touches disk, sockets or the log.
 */
#ifndef SFD_BEAT_H
#define SFD_BEAT_H

#include "daemon/stream.h"

#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

struct sfd_beat {
	struct sfd_stream *stream;
	size_t stream_count;
	/* eventfd: the control loop should look (marks wanted, clock steps) */
	int news_fd;
	pthread_t thread;
	sem_t started; /* posted after the first turn */
	/* futex word: anything that should end the sleep | W: other threads, add then wake */
	_Atomic uint32_t kick;
	/* how the thread is to end; 0: not yet | relaxed: read after kick was seen to change */
	_Atomic uint32_t stop;
	/* results of sfd_beat_stop(), one a stream: the last tick used */
	uint64_t *last_tick;
	/* the thread's list of robust words: the kernel reads it when the thread has ended, so it
	 * must not lie on that thread's stack */
	struct robust_list_head robust;
};

/** Starts the thread; returns after its first turn, when every stream is published. @return 0 or a
 * negative errno */
int sfd_beat_start(struct sfd_beat *beat, struct sfd_stream *stream, size_t stream_count,
		   int news_fd);
/** Ends the sleep: a clock step, or a raised mark. Any thread. */
void sfd_beat_kick(struct sfd_beat *beat);
/** Clean stop: gives back the unused runway of every stream, and joins. */
void sfd_beat_stop(struct sfd_beat *beat);
/** Hand-over: joins, and leaves everything as a dead thread would. It can be started again. */
void sfd_beat_pause(struct sfd_beat *beat);
/** Frees what start made, after sfd_beat_stop(). */
void sfd_beat_deinit(struct sfd_beat *beat);

#endif
