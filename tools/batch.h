/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * IDs taken from a stream of any format, a batch at a time, and as text. A batch belongs to the
 * thread of its cursor.
 */
#ifndef SFCTL_BATCH_H
#define SFCTL_BATCH_H

#include <sfclient.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Most IDs of a batch. */
#define SFCTL_BATCH 4096

struct sfctl_batch {
	unsigned format; /* SF_FORMAT_... of the stream */
	bool is_ordered; /* take with sf_next_ordered() and its kin */
	union {
		uint64_t number[SFCTL_BATCH]; /* SF_FORMAT_SNOWFLAKE */
		struct sf_wide wide[SFCTL_BATCH];
	};
};

/**
 * Takes `count` IDs, or, where they are ordered, as many of them as there are before the error.
 * @return 0 or an error of sf_next(), with a sentence in `why`; `ret_got` is set either way
 */
int sfctl_batch_take(struct sfctl_batch *batch, struct sf_cursor *cursor, size_t count,
		     size_t *ret_got, struct sf_why *why);

/** Writes an ID's canonical text, with no NUL to count on. @return its length */
size_t sfctl_batch_text(const struct sfctl_batch *batch, size_t at,
			char ret_text[SF_WIDE_TEXT_MAX]);

/** Writes an ID's binary form, big-endian. @return its length */
size_t sfctl_batch_bytes(const struct sfctl_batch *batch, size_t at,
			 uint8_t ret_bytes[SF_WIDE_BYTES_MAX]);

#endif
