/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libFuzzer target for the record scanner of `sfctl stamp`. Any bytes are a record; what is
 * accepted must come out as a JSON object whose first member is the ID and whose rest is the input.
 * A second JSON parser is the judge. One thread.
 */
#include "tools/stamp_record.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID "1593572310593806338"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

/** The inserted member, cut out again, leaves the input. */
static void check_bytes(const struct sfctl_record *record, const char *out, size_t length)
{
	char member[64];
	size_t inserted = length - record->length;

	(void)snprintf(member, sizeof(member), "\"id\":\"%s\"%s", ID,
		       record->kind == SFCTL_RECORD_MEMBER ? "," : "");
	require(inserted == strlen(member));
	require(memcmp(out, record->text, record->insert_at) == 0);
	require(memcmp(out + record->insert_at, member, inserted) == 0);
	require(memcmp(out + record->insert_at + inserted, record->text + record->insert_at,
		       record->length - record->insert_at) == 0);
}

/** Stricter than JSON in what it can represent, so it judges only what it can read unstamped. */
static void check_json(const struct sfctl_record *record, const char *out, size_t length)
{
	json_t *before = json_loadb(record->text, record->length, JSON_ALLOW_NUL, NULL);
	json_t *after = json_loadb(out, length, JSON_ALLOW_NUL, NULL);
	const char *id;

	require(!before == !after);
	if (before) {
		id = json_string_value(json_object_get(after, "id"));
		require(id && strcmp(id, ID) == 0);
		require(!json_object_get(before, "id"));
		require(json_object_del(after, "id") == 0 && json_equal(before, after));
	}
	json_decref(before);
	json_decref(after);
}

/**
 * What the other parser takes for an object without such a member must not be refused. It is no
 * judge of NUL bytes, which it skips between tokens.
 */
static void check_refusal(const char *text, size_t length)
{
	json_t *value;

	if (memchr(text, '\0', length))
		return;
	value = json_loadb(text, length, 0, NULL);
	require(!json_is_object(value) || json_object_get(value, "id"));
	json_decref(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sfctl_stamp_id id = {.length = sizeof(ID) - 1, .text = ID};
	struct sfctl_scanner scanner;
	struct sfctl_record record;
	struct sf_why why;
	/* A copy of the exact size: a read behind the end is then caught. */
	char *text = malloc(size ? size : 1);
	char *out;
	size_t length;

	require(text && sfctl_scanner_init(&scanner, "id", &why) == 0);
	memcpy(text, data, size);
	if (sfctl_record_scan(&scanner, text, size, &record, &why) == SFCTL_RECORD_BAD)
		check_refusal(text, size);
	out = malloc(sfctl_record_size_max(&scanner, &record));
	require(out != NULL);
	length = sfctl_record_write(&scanner, &record, &id, out);
	if (sfctl_record_takes_id(&record)) {
		check_bytes(&record, out, length);
		check_json(&record, out, length);
	} else {
		require(length == size && memcmp(out, text, size) == 0);
	}
	free(out);
	free(text);
	sfctl_scanner_deinit(&scanner);
	return 0;
}
