/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Lines out of a descriptor, and records out of lines. The buffer holds the longest line and is
 * never grown. One thread.
 */
#include "tools/alias_reader.h"

#include "tools/digest.h"
#include "tools/sfctl.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES (SFCTL_ALIAS_RECORD_MAX + 1)

struct line {
	const char *text;
	size_t length; /* newline included, which only the last line may lack */
};

int sfctl_alias_reader_init(struct sfctl_alias_reader *reader, int fd,
			    enum sfctl_alias_format format)
{
	const struct sfctl_alias_mark begin = {.digest = SFCTL_DIGEST_EMPTY};
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	*reader = (struct sfctl_alias_reader){
		.fd = fd,
		.format = format,
		.at = begin,
		.mark = begin,
		.buffer = malloc(BUFFER_BYTES),
	};
	if (!reader->buffer)
		return -ENOMEM;
	if (sfctl_alias_csv_init(&reader->csv) == 0)
		return 0;
	free(reader->buffer);
	reader->buffer = NULL;
	return -ENOMEM;
}

void sfctl_alias_reader_deinit(struct sfctl_alias_reader *reader)
{
	if (!reader->buffer)
		return;
	sfctl_alias_csv_deinit(&reader->csv);
	free(reader->buffer);
}

/** Reads behind what is there. @return 0 or a negative errno */
static int fill(struct sfctl_alias_reader *reader, struct sf_why *why)
{
	ssize_t count;

	if (reader->begin > 0) {
		memmove(reader->buffer, reader->buffer + reader->begin,
			reader->end - reader->begin);
		reader->end -= reader->begin;
		reader->begin = 0;
	}
	do {
		count = read(reader->fd, reader->buffer + reader->end, BUFFER_BYTES - reader->end);
		if (count < 0 && errno == EAGAIN)
			(void)poll(&(struct pollfd){.fd = reader->fd, .events = POLLIN}, 1, -1);
	} while (count < 0 && (errno == EINTR || errno == EAGAIN));
	if (count < 0) {
		int error = -errno;

		SFCTL_WHY(why, "cannot read the input: %s", strerrordesc_np(-error));
		return error;
	}
	reader->end += (size_t)count;
	reader->is_ended = count == 0;
	return 0;
}

/** Takes bytes out of the buffer. */
static void consume(struct sfctl_alias_reader *reader, size_t count)
{
	reader->at.digest = sfctl_digest(reader->at.digest, reader->buffer + reader->begin, count);
	reader->at.offset += count;
	reader->begin += count;
}

/** Notes that a later run can go on here, if it can. */
static void set_mark(struct sfctl_alias_reader *reader)
{
	bool is_between = reader->format != SFCTL_ALIAS_CSV ||
			  (reader->csv.columns > 0 && !reader->csv.is_inside);

	if (reader->is_whole && is_between)
		reader->mark = reader->at;
}

/** Drops a line that does not fit. @return -EINVAL or another negative errno */
static int drop_line(struct sfctl_alias_reader *reader, struct sf_why *why)
{
	const char *newline = NULL;

	while (!newline && !reader->is_ended) {
		const char *begin = reader->buffer + reader->begin;
		size_t left = reader->end - reader->begin;
		int r;

		newline = memchr(begin, '\n', left);
		consume(reader, newline ? (size_t)(newline - begin) + 1 : left);
		r = newline ? 0 : fill(reader, why);
		if (r < 0)
			return r;
	}
	reader->is_whole = newline != NULL;
	reader->at.line++;
	SFCTL_WHY(why, "longer than %u bytes", SFCTL_ALIAS_RECORD_MAX);
	return -EINVAL;
}

/** @return 1, 0 at the end, -EINVAL for a line that was dropped, or another negative errno */
static int next_line(struct sfctl_alias_reader *reader, struct line *ret_line, struct sf_why *why)
{
	size_t looked = 0;

	for (;;) {
		size_t left = reader->end - reader->begin;
		const char *begin = reader->buffer + reader->begin;
		const char *newline = memchr(begin + looked, '\n', left - looked);
		int r;

		if (newline || reader->is_ended) {
			size_t length = newline ? (size_t)(newline - begin) + 1 : left;

			*ret_line = (struct line){begin, length};
			consume(reader, length);
			reader->is_whole = newline != NULL;
			reader->at.line += length > 0;
			return length > 0;
		}
		if (left > SFCTL_ALIAS_RECORD_MAX)
			return drop_line(reader, why);
		looked = left;
		r = fill(reader, why);
		if (r < 0)
			return r;
	}
}

/** What spreadsheets put in front of a text. */
static void cut_byte_order_mark(const struct sfctl_alias_reader *reader, struct line *line)
{
	if (reader->at.line != 1 || line->length < 3 || memcmp(line->text, "\xef\xbb\xbf", 3) != 0)
		return;
	line->text += 3;
	line->length -= 3;
}

static size_t without_end(const struct line *line)
{
	size_t length = line->length;

	if (length > 0 && line->text[length - 1] == '\n')
		length--;
	if (length > 0 && line->text[length - 1] == '\r')
		length--;
	return length;
}

static bool is_blank(const struct line *line)
{
	for (size_t i = 0; i < line->length; i++)
		if (line->text[i] != ' ' && line->text[i] != '\t' && line->text[i] != '\r' &&
		    line->text[i] != '\n')
			return false;
	return true;
}

/** A record of a CSV is too long. @return as sfctl_alias_reader_next() */
static int refuse_long(struct sfctl_alias_reader *reader)
{
	if (sfctl_alias_csv_reset(&reader->csv) < 0)
		return -ENOMEM;
	set_mark(reader);
	/* Without its header the rest means nothing. */
	return reader->csv.columns == 0 ? -EPROTO : -EINVAL;
}

static int next_of_csv(struct sfctl_alias_reader *reader, struct sfctl_alias_entry *ret_entry,
		       struct sf_why *why)
{
	uint64_t begin = reader->at.offset;
	struct line line;
	int r;

	do {
		bool is_inside = reader->csv.is_inside;

		if (!is_inside) {
			begin = reader->at.offset;
			reader->record_line = reader->at.line + 1;
		}
		r = next_line(reader, &line, why);
		if (r == 0)
			return sfctl_alias_csv_feed(&reader->csv, NULL, 0, ret_entry, why);
		if (r == 1 && reader->at.offset - begin > SFCTL_ALIAS_RECORD_MAX) {
			SFCTL_WHY(why, "a record longer than %u bytes; is a quote missing?",
				  SFCTL_ALIAS_RECORD_MAX);
			r = -EINVAL;
		}
		if (r < 0)
			return r == -EINVAL ? refuse_long(reader) : r;
		cut_byte_order_mark(reader, &line);
		r = sfctl_alias_csv_feed(&reader->csv, line.text, line.length, ret_entry, why);
		set_mark(reader);
	} while (r == 0);
	return r;
}

static int next_of_lines(struct sfctl_alias_reader *reader, struct sfctl_alias_entry *ret_entry,
			 struct sf_why *why)
{
	bool is_keys = reader->format == SFCTL_ALIAS_KEYS;
	struct line line;
	int r;

	do {
		reader->record_line = reader->at.line + 1;
		r = next_line(reader, &line, why);
		set_mark(reader);
		if (r <= 0)
			return r;
		cut_byte_order_mark(reader, &line);
	} while (!is_keys && is_blank(&line));
	if (is_keys) {
		*ret_entry = (struct sfctl_alias_entry){.key_length = 0};
		r = sfctl_alias_set(ret_entry, SFCTL_ALIAS_KEY, line.text, without_end(&line), why);
	} else {
		r = sfctl_alias_read_json(line.text, line.length, ret_entry, why);
	}
	return r < 0 ? r : 1;
}

int sfctl_alias_reader_next(struct sfctl_alias_reader *reader, struct sfctl_alias_entry *ret_entry,
			    struct sf_why *why)
{
	return reader->format == SFCTL_ALIAS_CSV ? next_of_csv(reader, ret_entry, why)
						 : next_of_lines(reader, ret_entry, why);
}

bool sfctl_alias_reader_would_wait(const struct sfctl_alias_reader *reader)
{
	struct pollfd poller = {.fd = reader->fd, .events = POLLIN};

	if (reader->is_ended ||
	    memchr(reader->buffer + reader->begin, '\n', reader->end - reader->begin))
		return false;
	return poll(&poller, 1, 0) == 0;
}

/** Reads the header of a CSV. */
static int read_header(struct sfctl_alias_reader *reader, struct sf_why *why)
{
	struct sfctl_alias_entry entry;
	struct line line;
	int r = 0;

	while (r == 0 && reader->csv.columns == 0) {
		r = next_line(reader, &line, why);
		if (r <= 0)
			return r;
		cut_byte_order_mark(reader, &line);
		r = sfctl_alias_csv_feed(&reader->csv, line.text, line.length, &entry, why);
	}
	return r;
}

int sfctl_alias_reader_skip(struct sfctl_alias_reader *reader, const struct sfctl_alias_mark *mark,
			    struct sf_why *why)
{
	int r = reader->format == SFCTL_ALIAS_CSV && mark->offset > 0 ? read_header(reader, why)
								      : 0;

	while (r == 0 && reader->at.offset < mark->offset) {
		uint64_t left = mark->offset - reader->at.offset;
		size_t count = reader->end - reader->begin;

		if (count > left)
			count = (size_t)left;
		consume(reader, count);
		if (count > 0)
			continue;
		if (reader->is_ended) {
			SFCTL_WHY(why,
				  "the input ends before byte %llu, where the last run stopped",
				  (unsigned long long)mark->offset);
			return -ENODATA;
		}
		/* Read and dropped, also where one could seek: a pipe must do as well. */
		r = fill(reader, why);
	}
	if (r == 0 && reader->at.digest != mark->digest) {
		SFCTL_WHY(why, "its first %llu bytes are not those that the last run read",
			  (unsigned long long)mark->offset);
		return -ESTALE;
	}
	reader->at.line = mark->line;
	reader->mark = reader->at;
	return r;
}
