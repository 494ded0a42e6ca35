/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Reading, stamping and writing in pieces that stay in the processor's cache. One thread.
 */
#include "tools/stamp_stream.h"

#include "tools/sfctl.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** Bytes asked for at a time. */
#define PIECE_BYTES (256u << 10)

struct entry {
	struct sfctl_record record;
	size_t out_end; /* where the stamped record ends in the output */
};

/** Everything that grows with the input. */
struct work {
	char *in;
	size_t in_used;
	size_t in_size;
	char *out;
	size_t out_size;
	struct entry *entry;
	size_t entry_count;
	size_t entry_size;
	uint64_t lines_before; /* of the input, before the first entry */
};

/** Makes room for `count` elements, at least doubling. @return 0 or -ENOMEM */
static int grow(void *array_at, size_t *size, size_t count, size_t element, struct sf_why *why)
{
	void *array;
	size_t wanted = *size * 2 > count ? *size * 2 : count;

	if (count <= *size)
		return 0;
	memcpy(&array, array_at, sizeof(array));
	array = reallocarray(array, wanted, element);
	if (!array) {
		SFCTL_WHY(why, "out of memory");
		return -ENOMEM;
	}
	memcpy(array_at, &array, sizeof(array));
	*size = wanted;
	return 0;
}

static void line_why(uint64_t line, const struct sf_why *reason, struct sf_why *why)
{
	SFCTL_WHY(why, "line %llu %.200s", (unsigned long long)line, reason->text);
}

/** Looks at one line. @return 0, or -EINVAL or -ENOMEM when the run ends here */
static int add_line(struct sfctl_stamper *stamper, struct work *work, const char *text,
		    size_t length, struct sf_why *why)
{
	struct sf_why reason = {{0}};
	struct entry *entry;
	int error =
		grow(&work->entry, &work->entry_size, work->entry_count + 1, sizeof(*entry), why);

	if (error < 0)
		return error;
	entry = &work->entry[work->entry_count];
	stamper->lines++;
	if (length > SFCTL_STAMP_LINE_MAX) {
		SFCTL_WHY(&reason, "is longer than %u bytes", SFCTL_STAMP_LINE_MAX);
		line_why(stamper->lines, &reason, why);
		return -EINVAL;
	}
	if (sfctl_record_scan(stamper->scanner, text, length, &entry->record, &reason) ==
	    SFCTL_RECORD_BAD) {
		stamper->bad_lines++;
		if (stamper->stops_at_bad) {
			line_why(stamper->lines, &reason, why);
			return -EINVAL;
		}
		stamper->bad(stamper->data, stamper->lines, reason.text);
	}
	work->entry_count++;
	return 0;
}

/** IDs at hand. */
struct pool {
	struct sfctl_stamp_id id[SFCTL_STAMP_TAKE_MAX];
	size_t next;
	size_t end;
	size_t wanted; /* by the records still to come */
};

static int pool_get(struct sfctl_stamper *stamper, struct pool *pool,
		    const struct sfctl_stamp_id **ret_id, struct sf_why *why)
{
	if (pool->next == pool->end) {
		size_t count =
			pool->wanted < SFCTL_STAMP_TAKE_MAX ? pool->wanted : SFCTL_STAMP_TAKE_MAX;
		int error = stamper->take(stamper->data, pool->id, count, why);

		if (error < 0)
			return error;
		pool->wanted -= count;
		pool->next = 0;
		pool->end = count;
	}
	*ret_id = &pool->id[pool->next++];
	stamper->stamped++;
	return 0;
}

/** Takes IDs and writes the stamped records into the output buffer. */
static int stamp_entries(struct sfctl_stamper *stamper, struct work *work, struct sf_why *why)
{
	struct pool pool;
	struct sf_why reason;
	size_t at = 0;

	pool.next = pool.end = pool.wanted = 0;
	for (size_t i = 0; i < work->entry_count; i++)
		pool.wanted += sfctl_record_takes_id(&work->entry[i].record);
	for (size_t i = 0; i < work->entry_count; i++) {
		struct entry *entry = &work->entry[i];
		const struct sfctl_stamp_id *id = NULL;
		int error = sfctl_record_takes_id(&entry->record)
				    ? pool_get(stamper, &pool, &id, &reason)
				    : 0;

		if (error < 0) {
			work->entry_count = i; /* those before have their IDs and are written */
			line_why(work->lines_before + i + 1, &reason, why);
			return error;
		}
		at += sfctl_record_write(stamper->scanner, &entry->record, id, work->out + at);
		entry->out_end = at;
	}
	return 0;
}

/** Takes the part of a record that was written before an error back out of a file. */
static void take_back(int fd, size_t cut_bytes)
{
	struct stat status;
	off_t at = lseek(fd, 0, SEEK_CUR);

	/* Only where the part is the very end of a file: nobody else has written behind it. */
	if (cut_bytes == 0 || at < (off_t)cut_bytes || fstat(fd, &status) < 0 ||
	    !S_ISREG(status.st_mode) || status.st_size != at)
		return;
	if (ftruncate(fd, at - (off_t)cut_bytes) == 0)
		(void)lseek(fd, at - (off_t)cut_bytes, SEEK_SET);
}

static int write_failed(const struct sfctl_stamper *stamper, const struct work *work, size_t done,
			int error, struct sf_why *why)
{
	size_t whole = 0;

	for (size_t i = 0; i < work->entry_count && work->entry[i].out_end <= done; i++)
		whole = work->entry[i].out_end;
	take_back(stamper->out_fd, done - whole);
	SFCTL_WHY(why, "cannot write the output: %s", strerrordesc_np(error));
	return -error;
}

static int write_out(const struct sfctl_stamper *stamper, const struct work *work,
		     struct sf_why *why)
{
	size_t length = work->entry_count ? work->entry[work->entry_count - 1].out_end : 0;
	size_t done = 0;

	while (done < length) {
		ssize_t count = write(stamper->out_fd, work->out + done, length - done);

		if (count >= 0) {
			done += (size_t)count;
		} else if (errno == EAGAIN) {
			struct pollfd poller = {.fd = stamper->out_fd, .events = POLLOUT};

			(void)poll(&poller, 1, -1);
		} else if (errno != EINTR) {
			return write_failed(stamper, work, done, errno, why);
		}
	}
	return 0;
}

/** Stamps and writes whole lines; the last may lack its newline. */
static int process(struct sfctl_stamper *stamper, struct work *work, size_t length,
		   struct sf_why *why)
{
	size_t room = 0;
	int scan_error = 0;
	int error;

	work->entry_count = 0;
	work->lines_before = stamper->lines;
	for (size_t at = 0; at < length && scan_error == 0;) {
		const char *newline = memchr(work->in + at, '\n', length - at);
		size_t line = newline ? (size_t)(newline - (work->in + at)) + 1 : length - at;

		scan_error = add_line(stamper, work, work->in + at, line, why);
		at += line;
	}
	for (size_t i = 0; i < work->entry_count; i++)
		room += sfctl_record_size_max(stamper->scanner, &work->entry[i].record);
	error = grow(&work->out, &work->out_size, room, 1, why);
	if (error < 0)
		return error;
	error = stamp_entries(stamper, work, why);
	if (write_out(stamper, work, why) < 0)
		return -EIO;
	stamper->bytes += length;
	stamper->done(stamper->data);
	return error < 0 ? error : scan_error;
}

/**
 * Waits for input, or for a signal, which may come at any time but is seen only here.
 * @return 0, or -EINTR
 */
static int wait_for_input(const struct sfctl_stamper *stamper)
{
	struct pollfd poller = {.fd = stamper->in_fd, .events = POLLIN};
	sigset_t signals;
	sigset_t before;
	bool is_stopped;

	/* Blocked from the look at `stop` to the wait: a signal between the two would be slept
	 * through. */
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &signals, &before);
	is_stopped = *stamper->stop != 0;
	while (!is_stopped && ppoll(&poller, 1, NULL, &before) < 0 && errno == EINTR)
		is_stopped = *stamper->stop != 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return is_stopped ? -EINTR : 0;
}

/** Reads a piece behind what is there. @return bytes, 0 at the end, or a negative errno */
static ssize_t read_piece(struct sfctl_stamper *stamper, struct work *work, struct sf_why *why)
{
	ssize_t count;
	int error = 0;

	if (work->in_size - work->in_used < PIECE_BYTES)
		error = grow(&work->in, &work->in_size, work->in_used + PIECE_BYTES, 1, why);
	if (error < 0)
		return error;
	do {
		error = wait_for_input(stamper);
		if (error < 0)
			return error;
		count = read(stamper->in_fd, work->in + work->in_used, PIECE_BYTES);
	} while (count < 0 && (errno == EINTR || errno == EAGAIN));
	if (count < 0) {
		error = -errno;
		SFCTL_WHY(why, "cannot read the input: %s", strerrordesc_np(-error));
		return error;
	}
	return count;
}

/** Works off what a read of `count` bytes completed, and keeps the rest. */
static int piece_done(struct sfctl_stamper *stamper, struct work *work, size_t count,
		      struct sf_why *why)
{
	const char *newline = memrchr(work->in + work->in_used, '\n', count);
	size_t whole = newline ? (size_t)(newline - work->in) + 1 : 0;
	int error = 0;

	work->in_used += count;
	/* The end of the input ends its last line; a line without end is not waited for. */
	if (count == 0 || (whole == 0 && work->in_used > SFCTL_STAMP_LINE_MAX))
		whole = work->in_used;
	if (whole > 0)
		error = process(stamper, work, whole, why);
	work->in_used -= whole;
	memmove(work->in, work->in + whole, work->in_used);
	return error;
}

int sfctl_stamper_run(struct sfctl_stamper *stamper, struct sf_why *why)
{
	struct work work = {0};
	ssize_t count;
	int error;

	do {
		count = read_piece(stamper, &work, why);
		error = count < 0 ? (int)count : piece_done(stamper, &work, (size_t)count, why);
	} while (count > 0 && error == 0);
	free(work.in);
	free(work.out);
	free(work.entry);
	return error;
}
