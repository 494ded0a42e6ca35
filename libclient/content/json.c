/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * JSON documents: yajl's parser drives the builder, which holds all state, so nothing here recurses
 * or knows the value. The parser hands numbers over as they are written.
 *
 * A string or number that comes in pieces is put together here, since the parser would read it anew
 * from its beginning with every piece.
 */
#include "libclient/content/content.h"
#include "libclient/content/float_text.h"
#include "libclient/content/guard.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

/* Longest number that is copied to the stack. */
#define NUMBER_SHORT 64
/* Characters of a number that a message repeats. */
#define NUMBER_SHOWN 40

/** An open document. */
struct sf_json {
	yajl_handle parser;
	struct sf_guard guard;
	struct sf_bytes held; /* the beginning of a string or number; the parser has not seen it */
	uint64_t parsed;      /* bytes of the pieces that the parser is done with, */
	uint64_t given;       /* and with the one that it is at */
};

uint64_t sf_json_position(const struct sf_content *content)
{
	const struct sf_json *json = content->json;
	uint64_t position = json->parsed + yajl_get_bytes_consumed(json->parser);

	/* at the end, the parser makes up a blank of its own */
	return position < json->given ? position : json->given;
}

/* What the parser calls: 1 goes on. */

static int on_null(void *data)
{
	return sf_content_null(data) == 0;
}

static int on_boolean(void *data, int value)
{
	return sf_content_bool(data, value) == 0;
}

static int take_double(struct sf_content *content, const char *text)
{
	double value = sf_float_read(text);

	if (isinf(value) && content->profile == SF_CONTENT_SFD_1)
		return sf_content_fail(content, -ERANGE,
				       "number %.*s%s is beyond a double, whose largest is "
				       "1.7976931348623157e308; give it as a string",
				       NUMBER_SHOWN, text,
				       strlen(text) > NUMBER_SHOWN ? "..." : "");
	return sf_content_double(content, value);
}

static int on_number(void *data, const char *text, size_t length)
{
	struct sf_content *content = data;
	char small[NUMBER_SHORT];
	char *copy = small;
	int error;

	if (!memchr(text, '.', length) && !memchr(text, 'e', length) && !memchr(text, 'E', length))
		return sf_content_integer(content, text, length) == 0;
	if (length >= sizeof(small))
		copy = malloc(length + 1);
	if (!copy)
		return sf_content_fail(content, -ENOMEM, "out of memory") == 0;
	memcpy(copy, text, length);
	copy[length] = '\0';
	error = take_double(content, copy);
	if (copy != small)
		free(copy);
	return error == 0;
}

static int on_string(void *data, const unsigned char *text, size_t length)
{
	return sf_content_text(data, (const char *)text, length) == 0;
}

static int on_map(void *data)
{
	return sf_content_begin(data, SF_CONTENT_MAP) == 0;
}

static int on_list(void *data)
{
	return sf_content_begin(data, SF_CONTENT_LIST) == 0;
}

static int on_end(void *data)
{
	return sf_content_end(data) == 0;
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_map,
	.yajl_map_key = on_string,
	.yajl_end_map = on_end,
	.yajl_start_array = on_list,
	.yajl_end_array = on_end,
};

static int json_open(struct sf_content *content)
{
	struct sf_json *json;
	int error = sf_content_enter(content);

	if (error < 0)
		return error;
	json = calloc(1, sizeof(*json));
	if (json)
		json->parser = yajl_alloc(&callbacks, NULL, content);
	if (!json || !json->parser) {
		free(json);
		return sf_content_fail(content, -ENOMEM, "out of memory");
	}
	/* UTF-8 is the guard's */
	(void)yajl_config(json->parser, yajl_dont_validate_strings, 1);
	content->json = json;
	return 0;
}

void sf_json_close(struct sf_content *content)
{
	if (!content->json)
		return;
	yajl_free(content->json->parser);
	sf_bytes_drop(&content->json->held);
	free(content->json);
	content->json = NULL;
}

/** Notes what the parser or one of the calls above says, and where. */
static int explain(struct sf_content *content, yajl_status status)
{
	struct sf_json *json = content->json;
	uint64_t position = sf_json_position(content);
	struct sf_why why = content->why;
	unsigned char *message;

	if (status == yajl_status_ok)
		return 0;
	if (status == yajl_status_client_canceled) {
		int error = content->error;

		content->error = 0;
		return sf_content_fail(content, error, "JSON, byte %" PRIu64 ": %.200s", position,
				       why.text);
	}
	message = yajl_get_error(json->parser, 0, NULL, 0);
	(void)sf_content_fail(content, -EBADMSG, "JSON, byte %" PRIu64 ": %.*s", position,
			      (int)strcspn((const char *)message, "\n"), (const char *)message);
	yajl_free_error(json->parser, message);
	return content->error;
}

static int parse(struct sf_content *content, const char *text, size_t length)
{
	struct sf_json *json = content->json;
	yajl_status status;
	int error;

	if (length == 0)
		return 0;
	json->given += length;
	content->is_parsing = true;
	status = yajl_parse(json->parser, (const unsigned char *)text, length);
	content->is_parsing = false;
	error = explain(content, status);
	json->parsed = json->given;
	return error;
}

/** Hands over what was held. */
static int release(struct sf_content *content)
{
	struct sf_bytes *held = &content->json->held;
	size_t length = held->length;

	held->length = 0; /* the bytes stay where they are */
	return parse(content, (const char *)held->at, length);
}

/** Hands over good bytes, but for a string or number at their end that goes on. */
static int take(struct sf_content *content, const char *text, size_t length)
{
	struct sf_json *json = content->json;
	size_t open = json->guard.open;
	bool is_held = json->held.length > 0;
	size_t ready = is_held ? 0 : length - open;
	int error = parse(content, text, ready);

	if (error < 0)
		return error;
	if (ready < length && sf_bytes_add(&json->held, text + ready, length - ready) < 0)
		return sf_content_fail(content, -ENOMEM, "out of memory");
	return is_held && open == 0 ? release(content) : 0;
}

int sf_content_json(struct sf_content *content, const char *text, size_t length)
{
	const char *reason = NULL;
	int bad = 0;
	int error = content->error;

	if (error == 0 && !content->json)
		error = json_open(content);
	while (error == 0 && length > 0 && !reason) {
		size_t good = sf_guard_scan(&content->json->guard, text, length, &bad, &reason);

		error = take(content, text, good);
		text += good;
		length -= good;
	}
	if (error < 0 || !reason)
		return error;
	/* the parser first: what it objects to stands before the bad byte */
	error = release(content);
	return error < 0 ? error
			 : sf_content_fail(content, bad, "JSON, byte %" PRIu64 ": %s",
					   content->json->given + 1, reason);
}

int sf_content_json_end(struct sf_content *content)
{
	struct sf_json *json = content->json;
	yajl_status status;
	int error;

	if (content->error)
		return content->error;
	if (!json)
		return sf_content_fail(content, -EINVAL, "no JSON document is open to be ended");
	error = release(content);
	if (error < 0)
		return error;
	if (json->given == 0)
		return sf_content_fail(content, -EBADMSG, "the JSON document is empty");
	if (json->guard.place != SF_GUARD_OUTSIDE && json->guard.place != SF_GUARD_NUMBER)
		return sf_content_fail(content, -EBADMSG,
				       "JSON, byte %" PRIu64 ": the document ends within a string",
				       json->given);
	content->is_parsing = true;
	status = yajl_complete_parse(json->parser);
	content->is_parsing = false;
	error = explain(content, status);
	if (error == 0)
		sf_json_close(content);
	return error;
}
