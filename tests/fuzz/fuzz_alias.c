/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libFuzzer target for the readers of alias imports. Any bytes are an input; the first chooses the
 * format. Every record that is read has a key; its pair, written and read again, is the same; the
 * places between records rise; and reading on from any of them gives what was read the first time.
 * One thread.
 */
#include "tools/alias_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/** Records of an input whose successors are compared. */
#define MARKS_MAX 8

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

/** A reader on an input of these bytes. */
static void reader_on(struct sfctl_alias_reader *reader, enum sfctl_alias_format format,
		      const void *bytes, size_t length)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	require(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
	require(lseek(fd, 0, SEEK_SET) == 0);
	require(sfctl_alias_reader_init(reader, fd, format) == 0);
}

static void reader_end(struct sfctl_alias_reader *reader)
{
	(void)close(reader->fd);
	sfctl_alias_reader_deinit(reader);
}

/** Any valid text is a key, and keys are not checked for more here. */
static int is_text(const struct sfctl_alias_entry *entry)
{
	struct sfctl_alias_entry other;
	struct sf_why why;
	char line[SFCTL_ALIAS_PAIR_MAX];
	size_t length =
		sfctl_alias_write(SFCTL_ALIAS_NDJSON, entry->key, entry->key_length, 7, line);

	return sfctl_alias_read_json(line, length, &other, &why) == 0;
}

/** The record's pair, in a file of one format, reads back. */
static void check_pair(const struct sfctl_alias_entry *entry, enum sfctl_alias_format format)
{
	struct sfctl_alias_reader reader;
	struct sfctl_alias_entry other;
	struct sf_why why;
	char text[16 + SFCTL_ALIAS_PAIR_MAX];
	size_t header = strlen(sfctl_alias_header(format));
	size_t length;

	memcpy(text, sfctl_alias_header(format), header);
	length = header + sfctl_alias_write(format, entry->key, entry->key_length, UINT64_MAX,
					    text + header);
	require(length <= sizeof(text));
	reader_on(&reader, format, text, length);
	require(sfctl_alias_reader_next(&reader, &other, &why) == 1);
	require(other.key_length == entry->key_length);
	require(memcmp(other.key, entry->key, entry->key_length) == 0);
	require(other.flags == SF_ALIAS_ID && other.id == UINT64_MAX);
	require(sfctl_alias_reader_next(&reader, &other, &why) == 0);
	reader_end(&reader);
}

static void check_entry(const struct sfctl_alias_entry *entry)
{
	require(entry->key_length >= 1 && entry->key_length <= SF_ALIAS_KEY_MAX);
	require(entry->key[entry->key_length] == '\0');
	require((entry->flags & ~(SF_ALIAS_CREATED | SF_ALIAS_ID)) == 0);
	/* NUL would end a CSV's line for nobody, but the other is no JSON then. */
	check_pair(entry, SFCTL_ALIAS_CSV);
	if (is_text(entry))
		check_pair(entry, SFCTL_ALIAS_NDJSON);
}

/** Reads on from a place; the next record must be this one. */
static void check_resume(enum sfctl_alias_format format, const uint8_t *data, size_t size,
			 const struct sfctl_alias_mark *mark, int expected,
			 const struct sfctl_alias_entry *entry)
{
	struct sfctl_alias_reader reader;
	struct sfctl_alias_entry other;
	struct sf_why why;

	reader_on(&reader, format, data, size);
	require(sfctl_alias_reader_skip(&reader, mark, &why) == 0);
	require(reader.at.offset >= mark->offset);
	require(sfctl_alias_reader_next(&reader, &other, &why) == expected);
	require(expected != 1 || (other.key_length == entry->key_length &&
				  memcmp(other.key, entry->key, entry->key_length) == 0));
	reader_end(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum sfctl_alias_format format;
	struct sfctl_alias_reader reader;
	unsigned marks = 0;
	int r = 1;

	if (size == 0)
		return 0;
	format = (enum sfctl_alias_format)(data[0] % 3);
	data++;
	size--;
	reader_on(&reader, format, data, size);
	while (r == 1 || r == -EINVAL) {
		struct sfctl_alias_mark before = reader.mark;
		bool is_place = before.offset > 0 && before.offset == reader.at.offset;
		struct sfctl_alias_entry entry;
		struct sf_why why = {{0}};

		r = sfctl_alias_reader_next(&reader, &entry, &why);
		require(reader.at.offset <= size);
		require(r >= 0 || why.text[0] != '\0');
		if (r == 1)
			check_entry(&entry);
		require(reader.mark.offset >= before.offset);
		require(reader.mark.offset <= reader.at.offset);
		if (is_place && marks++ < MARKS_MAX)
			check_resume(format, data, size, &before, r, &entry);
	}
	require(r != 0 || reader.at.offset == size);
	reader_end(&reader);
	return 0;
}
