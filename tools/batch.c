/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Batches of IDs of either width. Takes them and nothing else: the cursor is the caller's.
 */
#include "tools/batch.h"

#include "tools/number.h"
#include "tools/sfctl.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

static int take_one_ordered(struct sfctl_batch *batch, struct sf_cursor *cursor, size_t at)
{
	return batch->format == SF_FORMAT_SNOWFLAKE ? sf_next_ordered(cursor, &batch->number[at])
						    : sf_next128_ordered(cursor, &batch->wide[at]);
}

int sfctl_batch_take(struct sfctl_batch *batch, struct sf_cursor *cursor, size_t count,
		     size_t *ret_got, struct sf_why *why)
{
	int error = 0;
	size_t got = 0;

	if (batch->is_ordered) {
		while (got < count && error == 0) {
			error = take_one_ordered(batch, cursor, got);
			got += error == 0;
		}
	} else {
		error = batch->format == SF_FORMAT_SNOWFLAKE
				? sf_fill(cursor, batch->number, count)
				: sf_fill128(cursor, batch->wide, count);
		got = error < 0 ? 0 : count;
	}
	*ret_got = got;
	if (error == -ETIME)
		SFCTL_WHY(why, "the clock went back; refusing for another %lld ms",
			  (long long)sf_cursor_remaining_ms(cursor));
	else if (error < 0)
		SFCTL_WHY(why, "%s", sf_strerror(error));
	return error;
}

size_t sfctl_batch_text(const struct sfctl_batch *batch, size_t at, char ret_text[SF_WIDE_TEXT_MAX])
{
	if (batch->format == SF_FORMAT_SNOWFLAKE)
		return sfctl_number_format(batch->number[at], ret_text);
	return (size_t)sf_wide_format(batch->format, &batch->wide[at], ret_text);
}

size_t sfctl_batch_bytes(const struct sfctl_batch *batch, size_t at,
			 uint8_t ret_bytes[SF_WIDE_BYTES_MAX])
{
	uint64_t number;

	if (batch->format != SF_FORMAT_SNOWFLAKE)
		return (size_t)sf_wide_to_bytes(batch->format, &batch->wide[at], ret_bytes);
	number = htobe64(batch->number[at]);
	memcpy(ret_bytes, &number, sizeof(number));
	return sizeof(number);
}
