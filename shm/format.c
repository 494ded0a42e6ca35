/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The formats of a stream, and what a tick is in the wide ones. Any thread and any signal handler
 * may call it, so it must never allocate, keep state or call stdio.
 */
#include "shm/notation.h"

#include <errno.h>
#include <string.h>

struct format {
	const char *name;
	uint32_t tick_ms;
	uint8_t time_bits;
	uint8_t id_bits;
};

static const struct format formats[] = {
	[SF_FORMAT_SNOWFLAKE] = {"snowflake", 0, 0, 0},
	[SF_FORMAT_ULID] = {"ulid", 1, 48, 128},
	[SF_FORMAT_UUID7] = {"uuid7", 1, 48, 128},
	[SF_FORMAT_OBJECTID] = {"objectid", 1000, 32, 96},
	[SF_FORMAT_HOUND] = {"hound", 1, 48, 128},
};
#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

const char *sf_format_name(unsigned format)
{
	return format < FORMAT_COUNT ? formats[format].name : NULL;
}

int sf_layout_of_format(unsigned format, struct sf_layout *ret_layout)
{
	if (format == SF_FORMAT_SNOWFLAKE || format >= FORMAT_COUNT)
		return -EINVAL;
	*ret_layout = (struct sf_layout){
		.tick_ms = formats[format].tick_ms,
		.time_bits = formats[format].time_bits,
		.format = (uint8_t)format,
	};
	return 0;
}

unsigned sf_shm_format_bits(const struct sf_layout *layout)
{
	return layout->format < FORMAT_COUNT ? formats[layout->format].id_bits : 0;
}

int sf_shm_format_check(const struct sf_layout *layout, struct sf_why *why)
{
	struct sf_layout wide;

	if (sf_layout_of_format(layout->format, &wide) < 0)
		return SF_SHM_REFUSE(why, -EINVAL,
				     "the layout has format number %u, which this version does not "
				     "know; upgrade the older of sfd and libsfclient",
				     layout->format);
	if (memcmp(&wide, layout, sizeof(wide)) != 0)
		return SF_SHM_REFUSE(why, -EINVAL,
				     "the layout of format %s has fields of its own; take it from "
				     "sf_layout_of_format()",
				     formats[layout->format].name);
	return 0;
}

unsigned sf_shm_format_find(const struct sf_shm_token *token)
{
	for (unsigned i = SF_FORMAT_SNOWFLAKE + 1; i < FORMAT_COUNT; i++) {
		if (strlen(formats[i].name) == token->length &&
		    memcmp(formats[i].name, token->at, token->length) == 0)
			return i;
	}
	return SF_FORMAT_SNOWFLAKE;
}
