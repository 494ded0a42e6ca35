/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libFuzzer target for the JSON reader of content IDs. Any bytes are a document. A second JSON
 * parser is the judge of what is one; each ID must be the same however the document is cut, and
 * that of the document as the other parser writes it, keys sorted. One thread.
 */
#include <errno.h>
#include <jansson.h>
#include <sfcontent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Flags under which the judge reads and writes what we do. */
#define READ_FLAGS (JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL)
#define WRITE_FLAGS (JSON_ENCODE_ANY | JSON_SORT_KEYS | JSON_ENSURE_ASCII | JSON_INDENT(3))

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

/** @return 64, or the error, which has a sentence */
static int make(uint32_t profile, const char *text, size_t size, size_t piece, char *ret_id)
{
	struct sf_content_options options = SF_CONTENT_OPTIONS;
	struct sf_content *content;
	int result;

	options.profile = profile;
	require(sf_content_open(&options, &content, NULL) == 0);
	(void)sf_content_json(content, "", 0);
	for (size_t at = 0; at < size; at += piece)
		(void)sf_content_json(content, text + at, size - at < piece ? size - at : piece);
	(void)sf_content_json_end(content);
	result = sf_content_finish(content, ret_id);
	require((result == 64) != (sf_content_why(content)[0] != '\0'));
	sf_content_close(content);
	return result;
}

/** The judge knows integers of 64 bits and finite doubles only: it says less, never more. */
static void check_refusal(const char *text, size_t size)
{
	json_t *value;

	/* it skips a NUL between tokens */
	if (memchr(text, '\0', size))
		return;
	value = json_loadb(text, size, READ_FLAGS, NULL);
	require(!value);
}

static void check_rewritten(const char *text, size_t size, const char *id)
{
	json_t *value = json_loadb(text, size, READ_FLAGS, NULL);
	char again[SF_CONTENT_ID_MAX];
	char *written;

	if (!value)
		return;
	written = json_dumps(value, WRITE_FLAGS);
	require(written && make(SF_CONTENT_SFD_1, written, strlen(written), 7, again) == 64);
	require(strcmp(id, again) == 0);
	free(written);
	json_decref(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of the exact size: a read behind the end is then caught. */
	char *text = malloc(size ? size : 1);
	char whole[SF_CONTENT_ID_MAX];
	char cut[SF_CONTENT_ID_MAX];
	int result;

	require(text != NULL);
	memcpy(text, data, size);
	for (uint32_t profile = SF_CONTENT_SFD_1; profile <= SF_CONTENT_COOLA_1_1; profile++) {
		result = make(profile, text, size, size + 1, whole);
		require(make(profile, text, size, 1, cut) == result);
		require(result != 64 || strcmp(whole, cut) == 0);
	}
	result = make(SF_CONTENT_SFD_1, text, size, size + 1, whole);
	if (result == 64)
		check_rewritten(text, size, whole);
	else if (result != -EOVERFLOW)
		check_refusal(text, size);
	free(text);
	return 0;
}
