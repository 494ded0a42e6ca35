/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Life of a builder, and what it gives in the end. Computes no digest of its own.
 */
#include "libclient/content/content.h"

#include <errno.h>
#include <sodium/core.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

static const char *const profile_names[] = {
	[SF_CONTENT_SFD_1] = "sfd-1",
	[SF_CONTENT_COOLA] = "coola",
	[SF_CONTENT_COOLA_1_1] = "coola-1.1",
};

#define PROFILE_COUNT (sizeof(profile_names) / sizeof(profile_names[0]))

int sf_content_profile_of(const char *name)
{
	for (size_t i = 0; i < PROFILE_COUNT; i++)
		if (strcmp(profile_names[i], name) == 0)
			return (int)i;
	return -EINVAL;
}

const char *sf_content_profile_name(uint32_t profile)
{
	return profile < PROFILE_COUNT ? profile_names[profile] : NULL;
}

static void say(struct sf_why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct sf_why *why, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (why)
		(void)vsnprintf(why->text, sizeof(why->text), format, arguments);
	va_end(arguments);
}

/** Writes the sentence and yields `error`. A macro, so that static analysis knows the value. */
#define REFUSE(why, error, ...) (say(why, __VA_ARGS__), (error))

int sf_content_fail(struct sf_content *content, int error, const char *format, ...)
{
	va_list arguments;

	if (content->error)
		return content->error;
	va_start(arguments, format);
	(void)vsnprintf(content->why.text, sizeof(content->why.text), format, arguments);
	va_end(arguments);
	content->error = error;
	return error;
}

static int options_check(const struct sf_content_options *options, struct sf_why *why)
{
	if (options->size != sizeof(*options))
		return REFUSE(why, -EINVAL, "size of the options is %u; this library knows %zu",
			      options->size, sizeof(*options));
	if (options->profile >= PROFILE_COUNT)
		return REFUSE(why, -EINVAL, "there is no profile %u", options->profile);
	if (options->length < SF_CONTENT_LENGTH_MIN || options->length > SF_CONTENT_LENGTH_MAX ||
	    options->length % 2 != 0)
		return REFUSE(why, -EINVAL,
			      "an ID cannot have %d digits; even numbers from %d to %d are "
			      "possible",
			      (int)options->length, SF_CONTENT_LENGTH_MIN, SF_CONTENT_LENGTH_MAX);
	return 0;
}

int sf_content_open(const struct sf_content_options *options, struct sf_content **ret_content,
		    struct sf_why *why)
{
	static const struct sf_content_options defaults = SF_CONTENT_OPTIONS;
	struct sf_content *content;
	int error;

	if (!options)
		options = &defaults;
	error = options_check(options, why);
	if (error < 0)
		return error;
	/* picks the fastest code for this processor; again and again is fine */
	if (sodium_init() < 0)
		return REFUSE(why, -ENOMEM, "libsodium has no resources to start");
	content = aligned_alloc(_Alignof(struct sf_content), sizeof(*content));
	if (!content)
		return REFUSE(why, -ENOMEM, "out of memory");
	/* All but the last piece of text, which is 64 KiB and starts out unused. */
	memset(content, 0, offsetof(struct sf_content, atom.piece));
	content->profile = options->profile;
	content->digest_bytes = options->length / 2;
	content->ignores_unsupported = options->ignore_unsupported != 0;
	*ret_content = content;
	return 0;
}

void sf_content_reset(struct sf_content *content)
{
	sf_json_close(content);
	sf_bytes_drop(&content->key);
	while (content->depth > 0)
		sf_frame_clear(content->frames[--content->depth]);
	content->atom.tag = SF_TAG_NONE;
	content->has_value = false;
	content->error = 0;
	content->why.text[0] = '\0';
}

void sf_content_close(struct sf_content *content)
{
	if (!content)
		return;
	sf_content_reset(content);
	for (size_t i = 0; i < SF_CONTENT_DEPTH_MAX && content->frames[i]; i++)
		free(content->frames[i]);
	free(content);
}

const char *sf_content_why(const struct sf_content *content)
{
	return content->why.text;
}

int sf_content_finish(struct sf_content *content, char *ret_id)
{
	size_t length = 2 * (size_t)content->digest_bytes;

	if (content->error)
		return content->error;
	if (content->json || content->atom.tag != SF_TAG_NONE || content->depth > 0)
		return sf_content_fail(content, -EINVAL, "the value is not complete: %s is open",
				       content->json                      ? "a JSON document"
				       : content->atom.tag != SF_TAG_NONE ? "a text or bytes"
									  : "a list or map");
	if (!content->has_value)
		return sf_content_fail(content, -EINVAL, "there is no value to make an ID of");
	sf_hash_hex(sf_content_digest(content, &content->value), content->digest_bytes, ret_id);
	ret_id[length] = '\0';
	return (int)length;
}

int sf_uuid5(const char *name_space, const char *name, size_t length, char *ret_uuid)
{
	uuid_t space;
	uuid_t uuid;

	if (uuid_parse(name_space, space) < 0)
		return -EINVAL;
	uuid_generate_sha1(uuid, space, name, length);
	uuid_unparse_lower(uuid, ret_uuid);
	return 0;
}

int sf_content_uuid5(struct sf_content *content, const char *name_space, char *ret_uuid)
{
	char id[SF_CONTENT_ID_MAX];
	int length = sf_content_finish(content, id);

	if (length < 0)
		return length;
	if (length != SF_CONTENT_LENGTH_MAX)
		return sf_content_fail(content, -EINVAL,
				       "a UUID is made of an ID of %d digits, not of %d; open with "
				       "that length",
				       SF_CONTENT_LENGTH_MAX, length);
	if (!name_space)
		name_space = SF_CONTENT_NAMESPACE;
	if (sf_uuid5(name_space, id, (size_t)length, ret_uuid) < 0)
		return sf_content_fail(content, -EINVAL,
				       "namespace \"%.60s\" is no UUID; give 8-4-4-4-12 "
				       "hexadecimal digits",
				       name_space);
	return 0;
}

/** Ends a one-call function: the ID or the reason, and the builder's end. */
static int conclude(struct sf_content *content, char *ret_id, struct sf_why *why)
{
	int result = sf_content_finish(content, ret_id);

	if (result < 0 && why)
		*why = content->why;
	sf_content_close(content);
	return result;
}

int sf_content_id_bytes(const struct sf_content_options *options, const void *bytes, size_t length,
			char *ret_id, struct sf_why *why)
{
	struct sf_content *content;
	int error = sf_content_open(options, &content, why);

	if (error < 0)
		return error;
	(void)sf_content_bytes(content, bytes, length);
	return conclude(content, ret_id, why);
}

int sf_content_id_json(const struct sf_content_options *options, const char *text, size_t length,
		       char *ret_id, struct sf_why *why)
{
	struct sf_content *content;
	int error = sf_content_open(options, &content, why);

	if (error < 0)
		return error;
	(void)sf_content_json(content, text, length);
	(void)sf_content_json_end(content);
	return conclude(content, ret_id, why);
}
