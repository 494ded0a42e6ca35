/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Raising the marks; see marks.h. Called on the control loop's thread.
 */
#include "daemon/marks.h"

#include "daemon/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_NS INT64_C(1000000000)

static void start(struct sfd_mark_job *job, uint64_t tick)
{
	struct sfd_mark_write record;
	int error;

	sfd_mark_prepare(job->stream->mark, tick, &record);
	job->tick = tick;
	error = sfd_loop_write_sync(job->marks->loop, sfd_mark_fd(job->stream->mark), record.data,
				    record.length, record.offset, &job->request);
	if (error < 0)
		job->request.done(&job->request, error);
}

static void fail(struct sfd_mark_job *job, int error)
{
	struct sfd_marks *marks = job->marks;

	sfd_stats_add(job->stream->stats, SF_COUNTER_mark_errors, 1);
	if (!job->failing)
		sfd_log(SFD_LOG_ERROR,
			"stream %s: the mark cannot be raised: %s; publishing stops when it is "
			"used "
			"up, and goes on when the state directory can be written again",
			job->stream->config->name, strerrordesc_np(-error));
	job->failing = true;
	if (!marks->final && sfd_request_is_idle(&marks->retry))
		(void)sfd_loop_timeout(marks->loop, RETRY_NS, &marks->retry);
}

static void succeed(struct sfd_mark_job *job)
{
	if (job->failing)
		sfd_log(SFD_LOG_INFO, "stream %s: the mark can be raised again",
			job->stream->config->name);
	job->failing = false;
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

	if (result < 0)
		fail(job, result);
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

void sfd_marks_deinit(struct sfd_marks *marks)
{
	free(marks->job);
	marks->job = NULL;
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
		if (wanted > atomic_load_explicit(&job->stream->mark_tick, memory_order_relaxed) &&
		    sfd_request_is_idle(&job->request))
			start(job, wanted);
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
