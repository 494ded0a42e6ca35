/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Keys: a UUID is its 16 bytes, whatever the case of its letters; any other key is its text. Pure
 * but for the statement it is given.
 */
#include "libclient/alias/alias.h"

#include <errno.h>
#include <string.h>

#define MIDDLE_BYTE(c) (((c)&0xc0) == 0x80)

/** Bytes of the UTF-8 character at `text`; 0 when it is none, or NUL. */
static size_t character_bytes(const unsigned char *text, size_t left)
{
	/* The second byte's range excludes overlong forms, surrogates and what is above U+10FFFF.
	 */
	unsigned char first = text[0];
	unsigned char low = 0x80;
	unsigned char high = 0xbf;
	size_t count = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

	if (first < 0x80)
		return first != 0;
	if (first < 0xc2 || first > 0xf4 || count > left)
		return 0;
	if (first == 0xe0)
		low = 0xa0;
	else if (first == 0xed)
		high = 0x9f;
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f;
	if (text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < count; i++)
		if (!MIDDLE_BYTE(text[i]))
			return 0;
	return count;
}

static int check_text(const char *text, size_t length, struct sf_why *why)
{
	for (size_t at = 0; at < length;) {
		size_t count = character_bytes((const unsigned char *)text + at, length - at);

		if (count == 0)
			return SF_ALIAS_REFUSE(why, -EINVAL,
					       "key \"%s\" is not UTF-8 without NUL: byte %zu is "
					       "0x%02x",
					       sf_alias_key_show(text, length).text, at + 1,
					       (unsigned char)text[at]);
		at += count;
	}
	return 0;
}

int sf_alias_key_init(struct sf_alias_key *key, const char *text, size_t length, struct sf_why *why)
{
	struct sf_wide uuid;

	if (!text || length == 0 || length > SF_ALIAS_KEY_MAX)
		return SF_ALIAS_REFUSE(why, -EINVAL, "a key of %zu bytes; legal is [1,%d]",
				       text ? length : 0, SF_ALIAS_KEY_MAX);
	*key = (struct sf_alias_key){.text = text, .length = (uint32_t)length};
	if (length == SF_UUID_TEXT && sf_uuid_parse(text, length, &uuid, NULL) == 0) {
		key->is_uuid = true;
		(void)sf_wide_to_bytes(SF_FORMAT_ULID, &uuid, key->uuid);
		return 0;
	}
	return check_text(text, length, why);
}

int sf_alias_key_bind(sqlite3_stmt *statement, int index, const struct sf_alias_key *key)
{
	if (key->is_uuid)
		return sqlite3_bind_blob(statement, index, key->uuid, sizeof(key->uuid),
					 SQLITE_STATIC);
	return sqlite3_bind_text(statement, index, key->text, (int)key->length, SQLITE_STATIC);
}

int sf_alias_key_column(sqlite3_stmt *statement, int column, char *ret_key)
{
	bool is_uuid = sqlite3_column_type(statement, column) == SQLITE_BLOB;
	const void *bytes = is_uuid ? sqlite3_column_blob(statement, column)
				    : (const void *)sqlite3_column_text(statement, column);
	size_t length = (size_t)sqlite3_column_bytes(statement, column);
	struct sf_wide uuid;

	if (!bytes || length > SF_ALIAS_KEY_MAX || (is_uuid && length != SF_WIDE_BYTES))
		return -EBADMSG;
	if (is_uuid) {
		/* Of a ULID any 16 bytes are one: no version is asked for. */
		(void)sf_wide_from_bytes(SF_FORMAT_ULID, bytes, length, &uuid, NULL);
		sf_uuid_format(&uuid, ret_key);
		return SF_UUID_TEXT;
	}
	memcpy(ret_key, bytes, length);
	ret_key[length] = '\0';
	return (int)length;
}

struct sf_alias_shown sf_alias_key_show(const char *text, size_t length)
{
	struct sf_alias_shown shown;
	size_t room = sizeof(shown.text) - sizeof("...");
	size_t count = length < room ? length : room;

	while (count < length && count > 0 && MIDDLE_BYTE((unsigned char)text[count]))
		count--; /* no half characters */
	memcpy(shown.text, text, count);
	for (size_t i = 0; i < count; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == '\x7f')
			shown.text[i] = '?';
	memcpy(shown.text + count, length > count ? "..." : "", length > count ? 4 : 1);
	return shown;
}
