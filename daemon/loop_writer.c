/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The writer of the loop on poll(2); see loop_writer.h. The mutex guards the lists and `stopping`;
 * a request that is being written is on no list and belongs to the thread alone.
 */
#include "daemon/loop_writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct sfd_writer {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t work; /* something is queued, or stopping */
	int fd;              /* eventfd */
	bool stopping;
	struct sfd_request_list queue;
	struct sfd_request_list finished;
};

/* One write, as under io_uring, so that both backends give the same errors. */
static int write_sync(const struct sfd_request_state *what)
{
	ssize_t written;
	int rc;

	do {
		written = pwrite(what->fd, what->from, what->length, what->offset);
	} while (written < 0 && errno == EINTR);
	if (written < 0)
		return -errno;
	if ((size_t)written != what->length)
		return -EIO;
	do {
		rc = fdatasync(what->fd);
	} while (rc < 0 && errno == EINTR);
	return rc < 0 ? -errno : 0;
}

/* With the mutex held, but for the write itself. */
static void write_next(struct sfd_writer *writer)
{
	struct sfd_request *request = writer->queue.first;
	const uint64_t one = 1;
	int result;

	sfd_request_list_remove(&writer->queue, request);
	(void)pthread_mutex_unlock(&writer->mutex);
	result = write_sync(&request->loop);
	(void)pthread_mutex_lock(&writer->mutex);
	request->loop.result = result;
	sfd_request_list_insert(&writer->finished, request, NULL);
	(void)!write(writer->fd, &one, sizeof(one));
}

static void *run(void *argument)
{
	struct sfd_writer *writer = argument;

	(void)pthread_mutex_lock(&writer->mutex);
	while (!writer->stopping) {
		if (writer->queue.first != NULL)
			write_next(writer);
		else
			(void)pthread_cond_wait(&writer->work, &writer->mutex);
	}
	(void)pthread_mutex_unlock(&writer->mutex);
	return NULL;
}

/* Signals are the loop's. */
static int start_thread(struct sfd_writer *writer)
{
	sigset_t all;
	sigset_t before;
	int r;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&writer->thread, NULL, run, writer);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

int sfd_writer_new(struct sfd_writer **ret_writer)
{
	struct sfd_writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (writer == NULL)
		return -ENOMEM;
	writer->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (writer->fd < 0) {
		r = -errno;
		free(writer);
		return r;
	}
	(void)pthread_mutex_init(&writer->mutex, NULL);
	(void)pthread_cond_init(&writer->work, NULL);
	r = start_thread(writer);
	if (r < 0) {
		(void)close(writer->fd);
		free(writer);
		return r;
	}
	*ret_writer = writer;
	return 0;
}

static void forget(struct sfd_request_list *list)
{
	while (list->first != NULL) {
		struct sfd_request *request = list->first;

		sfd_request_list_remove(list, request);
		sfd_request_make_idle(request);
	}
}

struct sfd_writer *sfd_writer_free(struct sfd_writer *writer)
{
	if (writer == NULL)
		return NULL;
	(void)pthread_mutex_lock(&writer->mutex);
	writer->stopping = true;
	(void)pthread_cond_signal(&writer->work);
	(void)pthread_mutex_unlock(&writer->mutex);
	(void)pthread_join(writer->thread, NULL);
	forget(&writer->queue);
	forget(&writer->finished);
	(void)pthread_cond_destroy(&writer->work);
	(void)pthread_mutex_destroy(&writer->mutex);
	(void)close(writer->fd);
	free(writer);
	return NULL;
}

int sfd_writer_fd(const struct sfd_writer *writer)
{
	return writer->fd;
}

void sfd_writer_start(struct sfd_writer *writer, struct sfd_request *request)
{
	(void)pthread_mutex_lock(&writer->mutex);
	sfd_request_list_insert(&writer->queue, request, NULL);
	(void)pthread_cond_signal(&writer->work);
	(void)pthread_mutex_unlock(&writer->mutex);
}

static bool is_on(const struct sfd_request_list *list, const struct sfd_request *request)
{
	for (const struct sfd_request *at = list->first; at != NULL; at = at->loop.next)
		if (at == request)
			return true;
	return false;
}

bool sfd_writer_cancel(struct sfd_writer *writer, struct sfd_request *request)
{
	bool is_queued;

	(void)pthread_mutex_lock(&writer->mutex);
	is_queued = is_on(&writer->queue, request);
	if (is_queued)
		sfd_request_list_remove(&writer->queue, request);
	(void)pthread_mutex_unlock(&writer->mutex);
	return is_queued;
}

struct sfd_request *sfd_writer_finished(struct sfd_writer *writer)
{
	struct sfd_request *request;
	uint64_t count;

	(void)pthread_mutex_lock(&writer->mutex);
	request = writer->finished.first;
	if (request != NULL)
		sfd_request_list_remove(&writer->finished, request);
	else
		(void)!read(writer->fd, &count, sizeof(count));
	(void)pthread_mutex_unlock(&writer->mutex);
	return request;
}
