/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libFuzzer: any bytes as a mark file. They are judged as they are, and again with checksums that
 * hold, since nothing gets past those by chance. What is accepted must be a record that makes sense
 * and must still be read after the next write to the other place was torn; what is refused must
 * come with a sentence.
 */
#include "daemon/mark_record.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

/* The newest record was torn off: the older one, or nothing, may be believed. */
static void tear(const uint8_t *bytes, size_t size, const struct sfd_identity *ours,
		 const struct sfd_mark_content *before)
{
	const uint32_t offset = sfd_mark_record_offset(before->record.sequence);
	uint8_t torn[SFD_MARK_FILE_BYTES] = {0};
	struct sfd_mark_content content;

	memcpy(torn, bytes, size);
	torn[offset + 24] ^= 1;
	if (sfd_mark_record_read(torn, size, "torn", ours, &content, NULL) == 0) {
		require(content.is_damaged);
		require(content.record.sequence < before->record.sequence);
		require(sfd_mark_record_tick(&content) > content.record.tick);
	}
}

static void check_accepted(const struct sfd_mark_content *content)
{
	const struct sfd_mark_record *record = &content->record;

	require(sf_layout_check(&record->layout, NULL) == 0);
	if (record->layout.format == SF_FORMAT_SNOWFLAKE)
		require(record->node_count >= 1 && record->node_count <= SF_NODES_MAX);
	else
		require(record->node_count == (record->layout.format == SF_FORMAT_HOUND));
	require(strlen(record->stream) < sizeof(record->stream));
	require(strlen(record->boot_id) < sizeof(record->boot_id));
	require(sfd_mark_record_tick(content) >= record->tick);
	require(sfd_mark_record_tick(content) + 1 != 0);
}

static void judge(const uint8_t *bytes, size_t size)
{
	const struct sfd_identity ours = {.node_count = 3, .node = {4, 5, 9}};
	struct sfd_mark_content content = {.record.tick = 77};
	struct sf_why why = {""};
	int r = sfd_mark_record_read(bytes, size, "fuzzed.mark", &ours, &content, &why);

	require((r == 0) == (why.text[0] == '\0'));
	require(r == 0 || r == -EUCLEAN || r == -EPROTO);
	if (r < 0) {
		require(content.record.tick == 77);
		return;
	}
	check_accepted(&content);
	tear(bytes, size, &ours, &content);
}

/* Gives a place the head of a record and its checksum. */
static void seal(uint8_t *bytes, size_t size, size_t offset)
{
	struct sfd_mark_record record;

	if (size < offset + sizeof(record))
		return;
	memcpy(&record, bytes + offset, sizeof(record));
	sfd_mark_record_seal(&record);
	memcpy(bytes + offset, &record, sizeof(record));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes;

	if (size > SFD_MARK_FILE_BYTES)
		return 0;
	/* exactly as long as the input, so that reading past it is seen; never of no size */
	bytes = malloc(size + 1);
	require(bytes != NULL);
	if (size > 0)
		memcpy(bytes, data, size);
	bytes = realloc(bytes, size > 0 ? size : 1);
	require(bytes != NULL);
	judge(bytes, size);
	seal(bytes, size, 0);
	judge(bytes, size);
	seal(bytes, size, SFD_MARK_PLACE_BYTES);
	judge(bytes, size);
	free(bytes);
	return 0;
}
