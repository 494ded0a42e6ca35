/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Scanning and stamping one record. No I/O. The JSON grammar is yajl's; what is done here is only
 * to find the object's opening brace and to look at the names of its members.
 */
#include "tools/stamp_record.h"

#include "tools/sfctl.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

/** What the parser's callbacks have seen of one record. */
struct sight {
	const struct sfctl_scanner *scanner;
	size_t depth;
	bool has_members;
	bool has_field;
};

static int on_open(void *data)
{
	struct sight *sight = data;

	sight->depth++;
	return 1;
}

static int on_close(void *data)
{
	struct sight *sight = data;

	sight->depth--;
	return 1;
}

/** The name comes with its escapes resolved, so no spelling of it slips through. */
static int on_name(void *data, const unsigned char *name, size_t length)
{
	struct sight *sight = data;

	if (sight->depth != 1)
		return 1;
	sight->has_members = true;
	sight->has_field = length == sight->scanner->field_length &&
			   memcmp(name, sight->scanner->field, length) == 0;
	return !sight->has_field;
}

static const yajl_callbacks callbacks = {
	.yajl_start_map = on_open,
	.yajl_end_map = on_close,
	.yajl_start_array = on_open,
	.yajl_end_array = on_close,
	.yajl_map_key = on_name,
};

int sfctl_scanner_init(struct sfctl_scanner *scanner, const char *field, struct sf_why *why)
{
	size_t length = strlen(field);
	json_t *name;
	char *quoted;

	if (length == 0 || length > SFCTL_STAMP_FIELD_MAX) {
		SFCTL_WHY(why, "field name has %zu bytes; 1 to %d are possible", length,
			  SFCTL_STAMP_FIELD_MAX);
		return -EINVAL;
	}
	name = json_string(field);
	quoted = name ? json_dumps(name, JSON_ENCODE_ANY) : NULL;
	json_decref(name);
	*scanner = (struct sfctl_scanner){.field_length = length};
	if (!quoted) {
		SFCTL_WHY(why, "field name is not UTF-8");
		return -EINVAL;
	}
	memcpy(scanner->field, field, length);
	if (asprintf(&scanner->prefix, "%s:\"", quoted) < 0)
		scanner->prefix = NULL;
	free(quoted);
	if (!scanner->prefix)
		return -ENOMEM;
	scanner->prefix_length = strlen(scanner->prefix);
	return 0;
}

void sfctl_scanner_deinit(struct sfctl_scanner *scanner)
{
	free(scanner->prefix);
	*scanner = (struct sfctl_scanner){0};
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/** Puts the parser's own message, which may span lines, into one sentence. */
static void explain(yajl_handle parser, size_t byte, struct sf_why *why)
{
	unsigned char *message = yajl_get_error(parser, 0, NULL, 0);

	SFCTL_WHY(why, "is not JSON at byte %zu: %.*s", byte,
		  (int)strcspn((const char *)message, "\n"), (const char *)message);
	yajl_free_error(parser, message);
}

/** Length of the text without the blanks at its end. */
static size_t text_length(const struct sfctl_record *record)
{
	size_t length = record->length;

	while (length > 0 && is_blank(record->text[length - 1]))
		length--;
	return length;
}

static int parse(const struct sfctl_record *record, struct sight *sight, struct sf_why *why)
{
	yajl_handle parser = yajl_alloc(&callbacks, NULL, sight);
	yajl_status status;
	size_t byte;

	if (!parser) {
		SFCTL_WHY(why, "cannot be checked: out of memory");
		return -ENOMEM;
	}
	status = yajl_parse(parser, (const unsigned char *)record->text, record->length);
	byte = yajl_get_bytes_consumed(parser);
	if (status == yajl_status_ok) {
		byte = text_length(record); /* the parser would count a blank of its own */
		status = yajl_complete_parse(parser);
	}
	if (sight->has_field)
		SFCTL_WHY(why, "has a member \"%.200s\" already", sight->scanner->field);
	else if (status != yajl_status_ok)
		explain(parser, byte, why);
	yajl_free(parser);
	return status == yajl_status_ok ? 0 : -EINVAL;
}

static enum sfctl_record_kind scan_json(const struct sfctl_scanner *scanner,
					struct sfctl_record *record, struct sf_why *why)
{
	struct sight sight = {.scanner = scanner};
	size_t at = 0;

	while (at < record->length && is_blank(record->text[at]))
		at++;
	if (at == record->length)
		return SFCTL_RECORD_BLANK;
	if (record->text[at] != '{') {
		SFCTL_WHY(why, "is not a JSON object: it starts with byte 0x%02x, not with {",
			  (unsigned char)record->text[at]);
		return SFCTL_RECORD_BAD;
	}
	record->insert_at = at + 1;
	/* yajl takes these two for blanks; JSON has them nowhere. */
	if (memchr(record->text, '\v', record->length) ||
	    memchr(record->text, '\f', record->length)) {
		SFCTL_WHY(why, "is not JSON: it holds a vertical tab or a form feed");
		return SFCTL_RECORD_BAD;
	}
	if (parse(record, &sight, why) < 0)
		return SFCTL_RECORD_BAD;
	return sight.has_members ? SFCTL_RECORD_MEMBER : SFCTL_RECORD_EMPTY;
}

enum sfctl_record_kind sfctl_record_scan(const struct sfctl_scanner *scanner, const char *text,
					 size_t length, struct sfctl_record *ret_record,
					 struct sf_why *why)
{
	struct sf_why unheard;
	struct sfctl_record record = {.text = text, .length = length, .kind = SFCTL_RECORD_LINE};

	if (scanner->prefix)
		record.kind = scan_json(scanner, &record, why ? why : &unheard);
	*ret_record = record;
	return record.kind;
}

size_t sfctl_record_size_max(const struct sfctl_scanner *scanner, const struct sfctl_record *record)
{
	/* the ID, its closing quote and a comma */
	return record->length + scanner->prefix_length + SF_WIDE_TEXT_MAX + 2;
}

static char *put(char *to, const char *from, size_t length)
{
	memcpy(to, from, length);
	return to + length;
}

size_t sfctl_record_write(const struct sfctl_scanner *scanner, const struct sfctl_record *record,
			  const struct sfctl_stamp_id *id, char *buffer)
{
	char *at = put(buffer, record->text, record->insert_at);

	if (sfctl_record_takes_id(record)) {
		if (scanner->prefix)
			at = put(at, scanner->prefix, scanner->prefix_length);
		/* A copy of fixed length costs less; what is too much is overwritten. */
		memcpy(at, id->text, sizeof(id->text));
		at += id->length;
		if (record->kind == SFCTL_RECORD_LINE)
			*at++ = '\t';
		else
			*at++ = '"';
		if (record->kind == SFCTL_RECORD_MEMBER)
			*at++ = ',';
	}
	at = put(at, record->text + record->insert_at, record->length - record->insert_at);
	return (size_t)(at - buffer);
}
