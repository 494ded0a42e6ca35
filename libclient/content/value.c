/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Scalars: how each type becomes the bytes under its digests. A text or bytes may come in pieces;
 * all others are whole at once.
 */
#include "libclient/content/content.h"
#include "libclient/content/float_text.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Characters of a bad integer that a message repeats. */
#define INTEGER_SHOWN 40

int sf_bytes_add(struct sf_bytes *bytes, const void *more, size_t length)
{
	size_t needed = bytes->length + length;

	if (needed > bytes->capacity) {
		size_t capacity = needed < 64 ? 64 : needed + needed / 2;
		uint8_t *grown = realloc(bytes->at, capacity);

		if (!grown)
			return -ENOMEM;
		bytes->at = grown;
		bytes->capacity = capacity;
	}
	memcpy(bytes->at + bytes->length, more, length);
	bytes->length = needed;
	return 0;
}

void sf_bytes_drop(struct sf_bytes *bytes)
{
	free(bytes->at);
	*bytes = (struct sf_bytes){0};
}

void sf_digester_init(const struct sf_content *content, struct sf_digester *digester,
		      enum sf_content_tag tag)
{
	uint8_t first = (uint8_t)tag;

	digester->is_plain = content->profile != SF_CONTENT_SFD_1;
	digester->is_tagged = !digester->is_plain || sf_content_in_key(content);
	if (digester->is_plain)
		sf_hash_init(&digester->plain, content->digest_bytes, NULL);
	if (!digester->is_tagged)
		return;
	sf_hash_init(&digester->tagged, SF_HASH_BYTES, SF_CONTENT_PERSON);
	sf_hash_update(&digester->tagged, &first, 1);
}

void sf_digester_final(const struct sf_content *content, struct sf_digester *digester,
		       struct sf_digest *ret_digest)
{
	*ret_digest = (struct sf_digest){0};
	if (digester->is_plain)
		sf_hash_final(&digester->plain, ret_digest->plain, content->digest_bytes);
	if (digester->is_tagged)
		sf_hash_final(&digester->tagged, ret_digest->tagged, SF_HASH_BYTES);
}

/** Whether the open atom orders its map, and so must be kept. */
static bool is_kept(const struct sf_content *content)
{
	return content->profile == SF_CONTENT_COOLA_1_1 && sf_content_at_key(content);
}

static void piece_add(struct sf_atom *atom, const uint8_t *bytes, size_t length)
{
	uint64_t prefix = htobe64(length);

	sf_hash_update(&atom->digester.tagged, &prefix, sizeof(prefix));
	sf_hash_update(&atom->digester.tagged, bytes, length);
}

/** Puts bytes aside until they are a piece. @return how many were taken */
static size_t piece_fill(struct sf_atom *atom, const uint8_t *bytes, size_t length)
{
	size_t room = SF_CONTENT_PIECE - atom->held;
	size_t count = length < room ? length : room;

	memcpy(atom->piece + atom->held, bytes, count);
	atom->held += count;
	if (atom->held == SF_CONTENT_PIECE) {
		piece_add(atom, atom->piece, SF_CONTENT_PIECE);
		atom->held = 0;
	}
	return count;
}

/** Cuts the body in pieces of one size, whatever the pieces it comes in. */
static void feed_tagged(struct sf_atom *atom, const uint8_t *bytes, size_t length)
{
	while (length > 0) {
		size_t count = SF_CONTENT_PIECE;

		if (atom->held == 0 && length >= SF_CONTENT_PIECE)
			piece_add(atom, bytes, count);
		else
			count = piece_fill(atom, bytes, length);
		bytes += count;
		length -= count;
	}
}

static int feed_plain(struct sf_content *content, const void *bytes, size_t length)
{
	sf_hash_update(&content->atom.digester.plain, bytes, length);
	if (is_kept(content) && sf_bytes_add(&content->key, bytes, length) < 0)
		return sf_content_fail(content, -ENOMEM, "out of memory");
	return 0;
}

int sf_atom_begin(struct sf_content *content, enum sf_content_tag tag)
{
	struct sf_atom *atom = &content->atom;
	int error = sf_content_enter(content);

	if (error < 0)
		return error;
	atom->tag = tag;
	atom->utf8 = (struct sf_utf8){0};
	atom->length = 0;
	atom->held = 0;
	sf_digester_init(content, &atom->digester, tag);
	return 0;
}

int sf_atom_feed(struct sf_content *content, const void *bytes, size_t length)
{
	struct sf_atom *atom = &content->atom;

	if (length == 0)
		return 0;
	if (atom->tag == SF_TAG_TEXT) {
		size_t good = sf_utf8_scan(&atom->utf8, bytes, length);

		if (good < length)
			return sf_content_fail(
				content, -EILSEQ,
				"text is not UTF-8 at its byte %" PRIu64 ", 0x%02x; give it as "
				"bytes",
				atom->length + good + 1, ((const uint8_t *)bytes)[good]);
	}
	atom->length += length;
	if (atom->digester.is_tagged)
		feed_tagged(atom, bytes, length);
	return atom->digester.is_plain ? feed_plain(content, bytes, length) : 0;
}

int sf_atom_end(struct sf_content *content)
{
	struct sf_atom *atom = &content->atom;
	enum sf_content_tag tag = atom->tag;
	struct sf_digest digest;

	if (!sf_utf8_is_whole(&atom->utf8))
		return sf_content_fail(content, -EILSEQ,
				       "text of %" PRIu64 " bytes ends within a character",
				       atom->length);
	if (atom->digester.is_tagged)
		piece_add(atom, atom->piece, atom->held);
	sf_digester_final(content, &atom->digester, &digest);
	atom->tag = SF_TAG_NONE;
	return sf_content_take(content, tag, &digest);
}

/** A scalar whose body differs between the digests. */
static int whole(struct sf_content *content, enum sf_content_tag tag, const void *tagged,
		 size_t tagged_length, const char *plain)
{
	struct sf_atom *atom = &content->atom;
	int error = sf_atom_begin(content, tag);

	if (error < 0)
		return error;
	if (atom->digester.is_tagged)
		feed_tagged(atom, tagged, tagged_length);
	if (atom->digester.is_plain)
		error = feed_plain(content, plain, strlen(plain));
	return error < 0 ? error : sf_atom_end(content);
}

static int whole_bytes(struct sf_content *content, enum sf_content_tag tag, const void *bytes,
		       size_t length)
{
	int error = sf_atom_begin(content, tag);

	if (error == 0)
		error = sf_atom_feed(content, bytes, length);
	return error < 0 ? error : sf_atom_end(content);
}

int sf_content_null(struct sf_content *content)
{
	return whole(content, SF_TAG_NULL, NULL, 0, "None");
}

int sf_content_bool(struct sf_content *content, int value)
{
	return whole(content, value ? SF_TAG_TRUE : SF_TAG_FALSE, NULL, 0,
		     value ? "True" : "False");
}

int sf_content_int64(struct sf_content *content, int64_t value)
{
	char text[24];
	int length = snprintf(text, sizeof(text), "%" PRId64, value);

	return whole_bytes(content, SF_TAG_INTEGER, text, (size_t)length);
}

int sf_content_integer(struct sf_content *content, const char *text, size_t length)
{
	size_t first = length > 0 && text[0] == '-';
	size_t digits = 0;

	while (first + digits < length && text[first + digits] >= '0' &&
	       text[first + digits] <= '9')
		digits++;
	if (digits == 0 || first + digits < length || (digits > 1 && text[first] == '0'))
		return sf_content_fail(content, -EINVAL,
				       "\"%.*s\"%s is no integer; give decimal digits without "
				       "leading zeros",
				       length < INTEGER_SHOWN ? (int)length : INTEGER_SHOWN, text,
				       length > INTEGER_SHOWN ? "..." : "");
	if (digits == 1 && text[first] == '0')
		return whole_bytes(content, SF_TAG_INTEGER, "0", 1);
	return whole_bytes(content, SF_TAG_INTEGER, text, length);
}

int sf_content_double(struct sf_content *content, double value)
{
	char text[SF_FLOAT_TEXT_MAX] = "";
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	if (isnan(value))
		bits = UINT64_C(0x7ff8000000000000);
	bits = htobe64(bits);
	if (content->profile != SF_CONTENT_SFD_1)
		(void)sf_float_text(value, text);
	return whole(content, SF_TAG_DOUBLE, &bits, sizeof(bits), text);
}

int sf_content_text(struct sf_content *content, const char *text, size_t length)
{
	return whole_bytes(content, SF_TAG_TEXT, text, length);
}

int sf_content_bytes(struct sf_content *content, const void *bytes, size_t length)
{
	return whole_bytes(content, SF_TAG_BYTES, bytes, length);
}

int sf_content_unsupported(struct sf_content *content, const char *type_name)
{
	char *text;
	int error;

	if (!content->ignores_unsupported)
		return sf_content_fail(content, -ENOTSUP,
				       "profile %s has no rule for type \"%.60s\"; convert the "
				       "value, or let such be ignored",
				       sf_content_profile_name(content->profile), type_name);
	if (*type_name == '\0')
		return sf_content_fail(content, -EINVAL, "a type's name cannot be empty");
	if (asprintf(&text, "<unhashable:<class '%s'>>", type_name) < 0)
		return sf_content_fail(content, -ENOMEM, "out of memory");
	error = whole(content, SF_TAG_UNSUPPORTED, type_name, strlen(type_name), text);
	free(text);
	return error;
}

int sf_content_feed(struct sf_content *content, const void *bytes, size_t length)
{
	if (content->error)
		return content->error;
	if (content->atom.tag == SF_TAG_NONE)
		return sf_content_fail(content, -EINVAL, "no text or bytes is open to be fed");
	return sf_atom_feed(content, bytes, length);
}
