/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * See mark_file.h.
 */
#include "tests/support/mark_file.h"

#include <check.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* Inside the tick of a record. */
#define FLIPPED_BYTE 30

void t_mark_file_read(const struct t_daemon *daemon, struct t_mark_file *ret_file)
{
	int fd = open(t_path(daemon->state_dir, "default.mark"), O_RDONLY | O_CLOEXEC);
	ssize_t length = read(fd, ret_file->byte, sizeof(ret_file->byte));

	ck_assert_int_ge(length, 0);
	ret_file->length = (size_t)length;
	(void)close(fd);
}

void t_mark_file_write(const struct t_daemon *daemon, const struct t_mark_file *file)
{
	int fd = open(t_path(daemon->state_dir, "default.mark"),
		      O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_eq(write(fd, file->byte, file->length), (ssize_t)file->length);
	(void)close(fd);
}

static void change(struct t_mark_file *file, uint64_t ticks, uint64_t writes)
{
	for (size_t i = 0; i < 2; i++) {
		uint8_t *at = file->byte + i * SFD_MARK_PLACE_BYTES;
		struct sfd_mark_record record;

		memcpy(&record, at, sizeof(record));
		record.tick += ticks;
		record.written_unix_ns += (int64_t)(ticks * record.layout.tick_ms) * 1000000;
		record.sequence += writes;
		record.crc = (uint32_t)crc32(0, (const uint8_t *)&record,
					     offsetof(struct sfd_mark_record, crc));
		memcpy(at, &record, sizeof(record));
	}
}

void t_mark_file_promise_more(struct t_mark_file *file, uint64_t ticks)
{
	change(file, ticks, 0);
}

void t_mark_file_promise_less(struct t_mark_file *file, uint64_t ticks, uint64_t writes)
{
	change(file, 0 - ticks, writes);
}

void t_mark_file_flip_newest(struct t_mark_file *file)
{
	struct sfd_mark_record record[2];
	size_t newest;

	for (size_t i = 0; i < 2; i++)
		memcpy(&record[i], file->byte + i * SFD_MARK_PLACE_BYTES, sizeof(record[i]));
	newest = record[1].sequence > record[0].sequence;
	file->byte[newest * SFD_MARK_PLACE_BYTES + FLIPPED_BYTE] ^= 4;
}
