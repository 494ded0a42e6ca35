/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Raising the marks; see marks.h. Called on the control loop's thread.
 */
#include "daemon/marks.h"

#include "daemon/lock.h"
#include "daemon/log.h"
#include "daemon/probe.h"
#include "shm/why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_NS INT64_C(1000000000)
/* A write that takes longer is worth a line in the log. */
#define SLOW_NS INT64_C(2000000000)

static void fail(struct sfd_mark_job *job, const char *sentence)
{
	struct sfd_marks *marks = job->marks;

	sfd_stats_add(job->stream->stats, SF_COUNTER_mark_errors, 1);
	if (!job->failing)
		sfd_log(SFD_LOG_ERROR,
			"stream %s: the mark in %s cannot be raised: %s; publishing stops when it "
			"is used up, and goes on when the mark can be written again",
			job->stream->config->name, marks->state_dir, sentence);
	job->failing = true;
	if (!marks->final && sfd_request_is_idle(&marks->retry))
		(void)sfd_loop_timeout(marks->loop, RETRY_NS, &marks->retry);
}

/** The state directory is there and ours, and so is the mark. @return 0 or a negative errno */
static int look_after(struct sfd_mark_job *job)
{
	struct sfd_marks *marks = job->marks;
	struct sf_why *why = &job->why;
	int r = sfd_lock_dir_again("state", marks->state_dir, SFD_STATE_MODE, marks->state_lock_fd,
				   why);

	if (r > 0)
		sfd_log(SFD_LOG_ERROR,
			"%s or the lock in it was removed; it was made anew. Leave it to sfd while "
			"that runs: a crash before now would have lost the marks",
			marks->state_dir);
	if (r >= 0)
		r = sfd_mark_mend(job->stream->mark, why);
	if (r > 0)
		sfd_log(SFD_LOG_ERROR, "stream %s: %s", job->stream->config->name, why->text);
	if (r < 0)
		return r;
	sf_shm_clear(why);
	return 0;
}

static void start(struct sfd_mark_job *job, uint64_t tick)
{
	struct sfd_mark_write record;
	int error = look_after(job);

	job->tick = tick;
	job->started_mono_ns = sfd_clock_now().mono_ns;
	if (error == 0) {
		sfd_mark_prepare(job->stream->mark, tick, &record);
		error = sfd_loop_write_sync(job->marks->loop, sfd_mark_fd(job->stream->mark),
					    record.data, record.length, record.offset,
					    &job->request);
	}
	if (error < 0)
		job->request.done(&job->request, error);
}

static void succeed(struct sfd_mark_job *job)
{
	if (job->failing)
		sfd_log(SFD_LOG_INFO, "stream %s: the mark can be raised again",
			job->stream->config->name);
	job->failing = false;
	job->used_up = false;
	sfd_mark_written(job->stream->mark);
	sfd_stream_session_begin(job->stream);
	sfd_stats_add(job->stream->stats, SF_COUNTER_mark_writes, 1);
	/* M1, pairs with M2 in stream.c */
	atomic_store_explicit(&job->stream->mark_tick, job->tick, memory_order_release);
	if (!job->marks->final)
		sfd_beat_kick(job->marks->beat);
}

static void check_drained(struct sfd_marks *marks)
{
	for (size_t i = 0; i < marks->job_count; i++)
		if (!sfd_request_is_idle(&marks->job[i].request))
			return;
	marks->drained(marks->owner);
}

static void on_written(struct sfd_request *request, int result)
{
	struct sfd_mark_job *job = request->owner;
	struct sfd_marks *marks = job->marks;

	if (SFD_PROBE_IS_ON(mark_write))
		SFD_PROBE4(mark_write, job->stream->config->name, job->tick,
			   sfd_clock_now().mono_ns - job->started_mono_ns, (int32_t)result);
	if (result < 0)
		fail(job, job->why.text[0] ? job->why.text : strerrordesc_np(-result));
	else
		succeed(job);
	if (marks->drained) {
		check_drained(marks);
		return;
	}
	if (!marks->final) {
		if (result == 0)
			sfd_marks_raise(marks);
		return;
	}
	if (job->tick != job->last)
		start(job, job->last);
	else if (--marks->unfinished == 0)
		marks->final(marks->owner);
}

static void on_retry(struct sfd_request *request, int result)
{
	if (result == 0)
		sfd_marks_raise(request->owner);
}

int sfd_marks_init(struct sfd_marks *marks, struct sfd_loop *loop, struct sfd_beat *beat,
		   struct sfd_stream *stream, size_t stream_count)
{
	*marks = (struct sfd_marks){.loop = loop, .beat = beat, .job_count = stream_count};
	marks->retry = (struct sfd_request){.done = on_retry, .owner = marks};
	marks->job = calloc(stream_count, sizeof(*marks->job));
	if (!marks->job)
		return -ENOMEM;
	for (size_t i = 0; i < stream_count; i++) {
		struct sfd_mark_job *job = &marks->job[i];

		job->marks = marks;
		job->stream = &stream[i];
		job->request = (struct sfd_request){.done = on_written, .owner = job};
	}
	return 0;
}

void sfd_marks_watch(struct sfd_marks *marks, const char *state_dir, int *lock_fd)
{
	marks->state_dir = state_dir;
	marks->state_lock_fd = lock_fd;
}

void sfd_marks_deinit(struct sfd_marks *marks)
{
	free(marks->job);
	marks->job = NULL;
}

/** The beat thread asks anew every few seconds, so a disk that neither takes a write nor refuses it
 *  is noticed here. */
static void notice_delay(struct sfd_mark_job *job)
{
	const int64_t waited_ns = sfd_clock_now().mono_ns - job->started_mono_ns;

	if (job->failing || waited_ns < SLOW_NS)
		return;
	job->failing = true;
	sfd_log(SFD_LOG_ERROR,
		"stream %s: the disk under %s has not taken the mark for %d s; publishing goes on "
		"until the mark is used up, and after that when the disk has taken it",
		job->stream->config->name, job->marks->state_dir,
		(int)(waited_ns / INT64_C(1000000000)));
}

/** What is wanted lies the whole lead ahead of the horizon, or, when that has stopped, of now. */
static void notice_end(struct sfd_mark_job *job, uint64_t wanted, uint64_t mark)
{
	const struct sfd_stream_config *config = job->stream->config;

	if (!job->failing || job->used_up ||
	    wanted < mark + sfd_ticks(&config->layout, SFD_MARK_AHEAD_MS))
		return;
	job->used_up = true;
	sfd_log(SFD_LOG_ERROR,
		"stream %s: the mark is used up: no more IDs until it can be raised in %s",
		config->name, job->marks->state_dir);
}

void sfd_marks_raise(struct sfd_marks *marks)
{
	if (marks->final || marks->drained)
		return;
	for (size_t i = 0; i < marks->job_count; i++) {
		struct sfd_mark_job *job = &marks->job[i];
		/* M4, pairs with M3 in stream.c */
		uint64_t wanted =
			atomic_load_explicit(&job->stream->mark_wanted, memory_order_acquire);
		/* relaxed: this thread is the only writer */
		uint64_t mark = atomic_load_explicit(&job->stream->mark_tick, memory_order_relaxed);

		if (wanted <= mark)
			continue;
		if (sfd_request_is_idle(&job->request))
			start(job, wanted);
		else
			notice_delay(job);
		notice_end(job, wanted, mark);
	}
}

void sfd_marks_finish(struct sfd_marks *marks, const uint64_t *last_tick,
		      void (*final)(void *owner), void *owner)
{
	marks->drained = NULL;
	marks->final = final;
	marks->owner = owner;
	marks->unfinished = marks->job_count;
	for (size_t i = 0; i < marks->job_count; i++) {
		marks->job[i].last = last_tick[i];
		if (sfd_request_is_idle(&marks->job[i].request))
			start(&marks->job[i], last_tick[i]);
	}
}

void sfd_marks_drain(struct sfd_marks *marks, void (*drained)(void *owner), void *owner)
{
	marks->drained = drained;
	marks->owner = owner;
	check_drained(marks);
}

void sfd_marks_resume(struct sfd_marks *marks)
{
	marks->drained = NULL;
	sfd_marks_raise(marks);
}
