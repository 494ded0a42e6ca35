/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What the wide formats have in common: order, text, bytes and time of a value of any of them; see
 * sfformats.h. Any thread and any signal handler, so it must never allocate, keep state or call
 * stdio.
 */
#include <sfformats.h>

#include "libclient/formats/uuid.h"
#include "shm/why.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

int sf_wide_compare(const struct sf_wide *a, const struct sf_wide *b)
{
	if (a->high != b->high)
		return a->high < b->high ? -1 : 1;
	return (a->low > b->low) - (a->low < b->low);
}

int sf_wide_format(unsigned format, const struct sf_wide *id, char *ret_text)
{
	uint8_t bytes[SF_HOUND_BYTES];

	switch (format) {
	case SF_FORMAT_ULID:
		sf_ulid_format(id, ret_text);
		return SF_ULID_TEXT;
	case SF_FORMAT_UUID7:
		sf_uuid_format(id, ret_text);
		return SF_UUID_TEXT;
	case SF_FORMAT_OBJECTID:
		sf_objectid_format(id, ret_text);
		return SF_OBJECTID_TEXT;
	case SF_FORMAT_HOUND:
		(void)sf_wide_to_bytes(format, id, bytes);
		sf_hound_format(bytes, ret_text);
		return SF_HOUND_TEXT;
	default:
		return -EINVAL;
	}
}

int sf_wide_to_bytes(unsigned format, const struct sf_wide *id, uint8_t *ret_bytes)
{
	const uint64_t halves[2] = {htobe64(id->high), htobe64(id->low)};
	struct sf_hound hound;

	switch (format) {
	case SF_FORMAT_ULID:
	case SF_FORMAT_UUID7:
		memcpy(ret_bytes, halves, SF_WIDE_BYTES);
		return SF_WIDE_BYTES;
	case SF_FORMAT_OBJECTID:
		memcpy(ret_bytes, (const char *)halves + 4, SF_OBJECTID_BYTES);
		return SF_OBJECTID_BYTES;
	case SF_FORMAT_HOUND:
		sf_hound_from_wide(id, &hound);
		sf_hound_pack(&hound, ret_bytes);
		return SF_HOUND_BYTES;
	default:
		return -EINVAL;
	}
}

static int refuse_format(unsigned format, struct sf_why *why)
{
	const char *name = sf_format_name(format);

	return SF_SHM_REFUSE(why, -EINVAL,
			     "format %u (%s) has no value of 128 bits in bytes; legal are ulid, "
			     "uuid7 and objectid",
			     format, name ? name : "unknown");
}

int sf_wide_from_bytes(unsigned format, const uint8_t *bytes, size_t length, struct sf_wide *ret_id,
		       struct sf_why *why)
{
	const size_t wanted = format == SF_FORMAT_OBJECTID ? SF_OBJECTID_BYTES : SF_WIDE_BYTES;
	uint64_t halves[2] = {0, 0};
	char text[SF_UUID_TEXT + 1];
	struct sf_wide id;

	if (format < SF_FORMAT_ULID || format > SF_FORMAT_OBJECTID)
		return refuse_format(format, why);
	if (length != wanted)
		return SF_SHM_REFUSE(why, -EMSGSIZE,
				     "format %s has %" PRIu64 " bytes; these are %" PRIu64,
				     sf_format_name(format), (uint64_t)wanted, (uint64_t)length);
	memcpy((char *)halves + sizeof(halves) - wanted, bytes, wanted);
	id = (struct sf_wide){be64toh(halves[0]), be64toh(halves[1])};
	if (format == SF_FORMAT_UUID7) {
		sf_uuid_format(&id, text);
		if (sf_uuid7_check(text, &id, why) < 0)
			return -EINVAL;
	}
	*ret_id = id;
	sf_shm_clear(why);
	return 0;
}

int sf_wide_unix_ms(unsigned format, const struct sf_wide *id, int64_t *ret_unix_ms)
{
	switch (format) {
	case SF_FORMAT_ULID:
	case SF_FORMAT_UUID7:
	case SF_FORMAT_HOUND:
		*ret_unix_ms = (int64_t)(id->high >> 16);
		return 0;
	case SF_FORMAT_OBJECTID:
		*ret_unix_ms = sf_objectid_unix_s(id) * 1000;
		return 0;
	default:
		return -EINVAL;
	}
}
