/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libFuzzer: any bytes as the text and as the binary form of every wide format. What is refused
 * comes with a sentence and leaves the result alone; what is read is what its format writes, but
 * for case, look-alike letters and, in Hound IDs, blanks. A reader that takes one more spelling is
 * thus found, too. One thread.
 */
#include <sfformats.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef int (*read_fn)(const char *text, size_t length, struct sf_wide *ret_id, struct sf_why *why);

struct reader {
	unsigned format;
	read_fn read;
	/* The character that the format writes where `c` was read. */
	int (*canonical)(int c);
};

static void require(int condition)
{
	if (!condition)
		abort();
}

static void require_sentence(int r, const struct sf_why *why)
{
	require(memchr(why->text, '\0', sizeof(why->text)) != NULL);
	require((r == 0) == (why->text[0] == '\0'));
}

static int of_base32(int c)
{
	switch (c) {
	case 'O':
	case 'o':
		return '0';
	case 'I':
	case 'i':
	case 'L':
	case 'l':
		return '1';
	default:
		return toupper(c);
	}
}

static int of_hex(int c)
{
	return tolower(c);
}

static int as_it_is(int c)
{
	return c;
}

static const struct reader readers[] = {
	{SF_FORMAT_ULID, sf_ulid_parse, of_base32},
	{SF_FORMAT_UUID7, sf_uuid_parse, of_hex},
	{SF_FORMAT_UUID7, sf_uuid7_parse, of_hex},
	{SF_FORMAT_OBJECTID, sf_objectid_parse, as_it_is},
};

static void try_text(const struct reader *reader, const char *text, size_t length)
{
	struct sf_wide id = {1, 2};
	struct sf_why why;
	char written[SF_WIDE_TEXT_MAX];
	int r = reader->read(text, length, &id, &why);

	require_sentence(r, &why);
	if (r < 0) {
		require(r == -EINVAL || r == -ERANGE);
		require(id.high == 1 && id.low == 2);
		return;
	}
	require(sf_wide_format(reader->format, &id, written) == (int)length);
	for (size_t i = 0; i < length; i++)
		require(written[i] == reader->canonical((unsigned char)text[i]));
}

static void try_bytes(unsigned format, const uint8_t *bytes, size_t length)
{
	struct sf_wide id = {1, 2};
	struct sf_why why;
	uint8_t written[SF_WIDE_BYTES_MAX];
	int r = sf_wide_from_bytes(format, bytes, length, &id, &why);

	require_sentence(r, &why);
	if (r < 0) {
		require(r == -EINVAL || r == -EMSGSIZE);
		require(id.high == 1 && id.low == 2);
		return;
	}
	require(sf_wide_to_bytes(format, &id, written) == (int)length);
	require(memcmp(written, bytes, length) == 0);
}

/* Only zero and sum may be others than those that packing writes. */
static void try_hound_bytes(const uint8_t *bytes, size_t length)
{
	struct sf_hound id = {.client = 7};
	struct sf_hound unchecked;
	struct sf_why why;
	uint8_t written[SF_HOUND_BYTES];
	int r = sf_hound_unpack(bytes, length, 1, &id, &why);

	require_sentence(r, &why);
	if (r < 0)
		require((r == -EBADMSG || r == -EMSGSIZE) && id.client == 7);
	if (r == -EMSGSIZE)
		return;
	require(sf_hound_unpack(bytes, length, 0, &unchecked, NULL) == 0);
	sf_hound_pack(&unchecked, written);
	require(memcmp(written, bytes, 20) == 0);
	if (r == 0) {
		sf_hound_pack(&id, written);
		require(memcmp(written, bytes, 20) == 0);
	}
	require((r == 0) == (written[21] == bytes[21]));
}

static void try_hound_text(const char *text, size_t length)
{
	uint8_t bytes[SF_HOUND_BYTES] = {7};
	char written[SF_HOUND_TEXT + 1];
	struct sf_why why;
	size_t digits = 0;
	int r = sf_hound_parse(text, length, bytes, &why);

	require_sentence(r, &why);
	if (r < 0) {
		require((r == -EINVAL || r == -EMSGSIZE) && bytes[0] == 7);
		return;
	}
	try_hound_bytes(bytes, sizeof(bytes));
	sf_hound_format(bytes, written);
	for (size_t i = 0; i < length; i++) {
		if (isspace((unsigned char)text[i]))
			require(digits % 2 == 0);
		else
			require(written[digits++] == tolower((unsigned char)text[i]));
	}
	require(digits == SF_HOUND_TEXT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* exactly as long as the input, so that reading past it is seen */
	uint8_t *copy = malloc(size ? size : 1);

	require(copy != NULL);
	if (size > 0)
		memcpy(copy, data, size);
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		try_text(&readers[i], (const char *)copy, size);
	for (unsigned format = SF_FORMAT_SNOWFLAKE; format <= SF_FORMAT_HOUND + 1; format++)
		try_bytes(format, copy, size);
	try_hound_text((const char *)copy, size);
	try_hound_bytes(copy, size);
	free(copy);
	return 0;
}
