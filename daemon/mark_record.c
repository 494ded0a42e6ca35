/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Sealing and judging the records of a mark file. Pure; any thread. The bytes are input: nothing in
 * them is believed before the checksum and then every field has been checked.
 */
#include "daemon/mark_record.h"

#include "daemon/config.h"
#include "shm/why.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#define CRC_BYTES ((uint32_t)sizeof(uint32_t))
/* Magic, version, length: what records of every version begin with. */
#define HEAD_BYTES ((uint32_t)offsetof(struct sfd_mark_record, sequence))

static uint32_t checksum(const void *bytes, uint32_t length)
{
	return (uint32_t)crc32(0, bytes, length);
}

static uint32_t version_of(const struct sf_layout *layout)
{
	return layout->format == SF_FORMAT_SNOWFLAKE ? SFD_MARK_VERSION : SFD_MARK_VERSION_WIDE;
}

void sfd_mark_record_seal(struct sfd_mark_record *record)
{
	record->magic = SFD_MARK_MAGIC;
	record->version = version_of(&record->layout);
	record->length = sizeof(*record);
	record->crc = checksum(record, offsetof(struct sfd_mark_record, crc));
}

static bool is_zero(const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

static bool has_sane_nodes(const struct sfd_mark_record *record)
{
	const unsigned bits = sf_layout_node_bits(&record->layout);

	/* The wide formats have none, but for one number that stands for hound's. */
	if (record->layout.format != SF_FORMAT_SNOWFLAKE)
		return record->node_count == (record->layout.format == SF_FORMAT_HOUND);
	if (record->node_count == 0 || record->node_count > SF_NODES_MAX)
		return false;
	for (uint32_t i = 0; i < record->node_count; i++)
		if (record->node[i] >> bits != 0 ||
		    (i > 0 && record->node[i] <= record->node[i - 1]))
			return false;
	return is_zero((const uint8_t *)&record->node[record->node_count],
		       (SF_NODES_MAX - record->node_count) * sizeof(record->node[0]));
}

/* A tick of any layout has at most 63 bits, which also leaves room to add the lead. */
static bool is_sane(const struct sfd_mark_record *record, uint32_t offset)
{
	return record->version == version_of(&record->layout) &&
	       record->length == sizeof(*record) && record->sequence != 0 &&
	       record->sequence <= INT64_MAX && record->tick <= INT64_MAX &&
	       sfd_mark_record_offset(record->sequence) == offset &&
	       memchr(record->boot_id, '\0', sizeof(record->boot_id)) != NULL &&
	       memchr(record->stream, '\0', sizeof(record->stream)) != NULL &&
	       sf_layout_check(&record->layout, NULL) == 0 && has_sane_nodes(record);
}

static enum sfd_mark_place judge(const uint8_t *bytes, size_t length, uint32_t offset,
				 struct sfd_mark_record *ret_record)
{
	struct sfd_mark_record record = {0};
	uint32_t crc;

	if (is_zero(bytes, length))
		return SFD_MARK_EMPTY;
	memcpy(&record, bytes, length < sizeof(record) ? length : sizeof(record));
	if (record.magic != SFD_MARK_MAGIC)
		return SFD_MARK_FOREIGN;
	if (record.length < HEAD_BYTES + CRC_BYTES || record.length > length)
		return SFD_MARK_DAMAGED;
	memcpy(&crc, bytes + record.length - CRC_BYTES, sizeof(crc));
	if (crc != checksum(bytes, record.length - CRC_BYTES))
		return SFD_MARK_DAMAGED;
	if (record.version != SFD_MARK_VERSION && record.version != SFD_MARK_VERSION_WIDE) {
		*ret_record = record;
		return SFD_MARK_OTHER_VERSION;
	}
	if (!is_sane(&record, offset))
		return SFD_MARK_DAMAGED;
	*ret_record = record;
	return SFD_MARK_WHOLE;
}

static int refuse(const enum sfd_mark_place place[2], const char *path,
		  const struct sfd_identity *ours, struct sf_why *why)
{
	const char *what = "is not a mark file of sfd";
	char nodes[32] = "";

	if (place[0] == SFD_MARK_DAMAGED || place[1] == SFD_MARK_DAMAGED)
		what = "holds no whole record";
	else if (place[0] == SFD_MARK_EMPTY && place[1] == SFD_MARK_EMPTY)
		what = "is empty";
	if (ours->layout.format == SF_FORMAT_SNOWFLAKE)
		sfd_nodes_format(ours->node, ours->node_count, nodes, sizeof(nodes));
	return SF_SHM_REFUSE(why, -EUCLEAN,
			     "%s %s; restore it, or remove it once you are sure that no ID of "
			     "%s%s lies in the future",
			     path, what, nodes[0] ? "machine id " : "the stream", nodes);
}

void sfd_mark_record_look(const uint8_t *bytes, size_t length, struct sfd_mark_places *ret_places)
{
	*ret_places = (struct sfd_mark_places){0};
	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t offset = i * SFD_MARK_PLACE_BYTES;
		size_t rest = length > offset ? length - offset : 0;

		if (rest > SFD_MARK_PLACE_BYTES)
			rest = SFD_MARK_PLACE_BYTES;
		ret_places->place[i] = judge(rest > 0 ? bytes + offset : bytes, rest, offset,
					     &ret_places->record[i]);
	}
}

int sfd_mark_record_choose(const struct sfd_mark_places *places,
			   struct sfd_mark_content *ret_content)
{
	uint64_t sequence[2] = {0};
	uint32_t newest;

	for (uint32_t i = 0; i < 2; i++)
		if (places->place[i] == SFD_MARK_WHOLE)
			sequence[i] = places->record[i].sequence;
	newest = sequence[1] > sequence[0] ? 1 : 0;
	if (sequence[newest] == 0)
		return -EUCLEAN;
	/* Only the very first record has no older one beside it. */
	ret_content->is_damaged =
		places->place[newest ^ 1] != SFD_MARK_WHOLE &&
		(places->place[newest ^ 1] != SFD_MARK_EMPTY || sequence[newest] != 1);
	ret_content->record = places->record[newest];
	return 0;
}

int sfd_mark_record_read(const uint8_t *bytes, size_t length, const char *path,
			 const struct sfd_identity *ours, struct sfd_mark_content *ret_content,
			 struct sf_why *why)
{
	struct sfd_mark_places places;

	sfd_mark_record_look(bytes, length, &places);
	for (uint32_t i = 0; i < 2; i++)
		if (places.place[i] == SFD_MARK_OTHER_VERSION)
			return SF_SHM_REFUSE(why, -EPROTO,
					     "%s has format version %u, this sfd knows version %u; "
					     "start the sfd that wrote it",
					     path, places.record[i].version,
					     SFD_MARK_VERSION_WIDE + 0u);
	if (sfd_mark_record_choose(&places, ret_content) < 0)
		return refuse(places.place, path, ours, why);
	return 0;
}

uint64_t sfd_mark_record_tick(const struct sfd_mark_content *content)
{
	const uint32_t tick_ms = content->record.layout.tick_ms;

	if (!content->is_damaged)
		return content->record.tick;
	return content->record.tick + (SFD_MARK_LEAD_MS + tick_ms - 1) / tick_ms;
}
