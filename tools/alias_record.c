/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Records and pairs as text. Allocates only inside the JSON parser, and keeps nothing.
 */
#include "tools/alias_record.h"

#include "tools/number.h"
#include "tools/rfc3339.h"
#include "tools/sfctl.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

static const char *const names[SFCTL_ALIAS_FIELDS] = {"key", "created", "id"};

int sfctl_alias_field_of(const char *name, size_t length, struct sf_why *why)
{
	for (int i = 0; i < SFCTL_ALIAS_FIELDS; i++)
		if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
			return i;
	/* An error, as a misspelt "created" would become an ID of now, for good. */
	SFCTL_WHY(why, "\"%.*s\" is none of key, created and id; leave it out of the input",
		  length < 60 ? (int)length : 60, name);
	return -EINVAL;
}

static int set_key(struct sfctl_alias_entry *entry, const char *text, size_t length,
		   struct sf_why *why)
{
	if (length == 0 || length > SF_ALIAS_KEY_MAX) {
		SFCTL_WHY(why, "the key has %zu bytes; legal is [1,%d]", length, SF_ALIAS_KEY_MAX);
		return -EINVAL;
	}
	if (memchr(text, '\0', length)) {
		SFCTL_WHY(why, "the key holds a NUL; name it by a text without one");
		return -EINVAL;
	}
	memcpy(entry->key, text, length);
	entry->key[length] = '\0';
	entry->key_length = (uint32_t)length;
	return 0;
}

int sfctl_alias_set(struct sfctl_alias_entry *entry, enum sfctl_alias_field field, const char *text,
		    size_t length, struct sf_why *why)
{
	if (field == SFCTL_ALIAS_KEY)
		return set_key(entry, text, length, why);
	if (length == 0)
		return 0;
	if (field == SFCTL_ALIAS_CREATED) {
		/* A NUL would hide what follows it. */
		if (memchr(text, '\0', length)) {
			SFCTL_WHY(why, "the creation time holds a NUL");
			return -EINVAL;
		}
		entry->flags |= SF_ALIAS_CREATED;
		return sfctl_time_parse(text, &entry->created_unix_ms, why);
	}
	entry->flags |= SF_ALIAS_ID;
	if (sfctl_number_parse(text, length, &entry->id) == 0)
		return 0;
	SFCTL_WHY(why, "ID \"%.*s\" is not decimal digits up to 18446744073709551615",
		  length < 60 ? (int)length : 60, text);
	return -EINVAL;
}

static int set_json(struct sfctl_alias_entry *entry, enum sfctl_alias_field field,
		    const json_t *value, struct sf_why *why)
{
	if (json_is_string(value))
		return sfctl_alias_set(entry, field, json_string_value(value),
				       json_string_length(value), why);
	if (json_is_null(value) && field != SFCTL_ALIAS_KEY)
		return 0;
	if (json_is_integer(value) && field == SFCTL_ALIAS_CREATED) {
		entry->flags |= SF_ALIAS_CREATED;
		entry->created_unix_ms = json_integer_value(value);
		return 0;
	}
	SFCTL_WHY(why, "\"%s\" is not a string%s", names[field],
		  field == SFCTL_ALIAS_ID ? "; programs lose digits of an ID that is a number"
					  : "");
	return -EINVAL;
}

static int read_object(json_t *object, struct sfctl_alias_entry *entry, struct sf_why *why)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		int field = sfctl_alias_field_of(name, strlen(name), why);

		if (field < 0 || set_json(entry, (enum sfctl_alias_field)field, value, why) < 0)
			return -EINVAL;
	}
	if (entry->key_length > 0)
		return 0;
	SFCTL_WHY(why, "there is no \"key\"");
	return -EINVAL;
}

/** What is wrong with a text that is no JSON, in words of our own. */
static const char *syntax_fault(const json_error_t *error)
{
	/* Those of the other codes are not about a text. */
	static const struct {
		enum json_error_code code;
		const char *fault;
	} faults[] = {
		{json_error_stack_overflow, "nested too deeply"},
		{json_error_invalid_utf8, "bytes that are not UTF-8"},
		{json_error_premature_end_of_input, "the end comes too early"},
		{json_error_end_of_input_expected, "something follows the object"},
		{json_error_null_byte_in_key, "a name holds a NUL"},
		{json_error_duplicate_key, "a name comes twice"},
		{json_error_numeric_overflow, "the number is too large"},
		{json_error_out_of_memory, "out of memory"},
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (json_error_code(error) == faults[i].code)
			return faults[i].fault;
	return "the syntax is wrong";
}

int sfctl_alias_read_json(const char *text, size_t length, struct sfctl_alias_entry *ret_entry,
			  struct sf_why *why)
{
	struct sfctl_alias_entry entry = {.key_length = 0};
	const char *nul = memchr(text, '\0', length);
	json_error_t error;
	json_t *object;
	int r = -EINVAL;

	/* The parser passes over NUL bytes between tokens. */
	if (nul) {
		SFCTL_WHY(why, "not a JSON object: byte %td is a NUL", nul - text + 1);
		return -EINVAL;
	}
	/* An escaped NUL is a text like any other; whether it may be there is for the field to say.
	 */
	object = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);

	if (json_is_object(object))
		r = read_object(object, &entry, why);
	else if (object)
		SFCTL_WHY(why, "not a JSON object");
	else
		SFCTL_WHY(why, "not a JSON object: %s, at byte %d", syntax_fault(&error),
			  error.position);
	json_decref(object);
	if (r == 0)
		*ret_entry = entry;
	return r;
}

/** Writes a key as a JSON string; it is UTF-8, so that only controls need escaping. */
static size_t put_json(const char *key, size_t length, char *buffer)
{
	char *at = buffer;

	*at++ = '"';
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)key[i];

		if (c < 0x20) {
			at = stpcpy(at, c < 0x10 ? "\\u000" : "\\u001");
			*at++ = "0123456789abcdef"[c & 15];
			continue;
		}
		if (c == '"' || c == '\\')
			*at++ = '\\';
		*at++ = (char)c;
	}
	*at++ = '"';
	return (size_t)(at - buffer);
}

/** Writes a key as a CSV field, in quotes where any reader could take it for something else. */
static size_t put_csv(const char *key, size_t length, char *buffer)
{
	bool is_plain = key[0] != ' ' && key[0] != '\t' && key[length - 1] != ' ' &&
			key[length - 1] != '\t';
	char *at = buffer;

	for (size_t i = 0; i < length; i++)
		is_plain &= key[i] != '"' && key[i] != ',' && key[i] != '\n' && key[i] != '\r';
	if (is_plain) {
		memcpy(buffer, key, length);
		return length;
	}
	*at++ = '"';
	for (size_t i = 0; i < length; i++) {
		if (key[i] == '"')
			*at++ = '"';
		*at++ = key[i];
	}
	*at++ = '"';
	return (size_t)(at - buffer);
}

size_t sfctl_alias_write(enum sfctl_alias_format format, const char *key, size_t key_length,
			 uint64_t id, char *buffer)
{
	char *at = buffer;

	if (format == SFCTL_ALIAS_NDJSON) {
		at = stpcpy(at, "{\"key\":");
		at += put_json(key, key_length, at);
		at = stpcpy(at, ",\"id\":\"");
		at += sfctl_number_format(id, at);
		at = stpcpy(at, "\"}\n");
		return (size_t)(at - buffer);
	}
	if (format == SFCTL_ALIAS_CSV) {
		at += put_csv(key, key_length, at);
		*at++ = ',';
	}
	at += sfctl_number_format(id, at);
	*at++ = '\n';
	return (size_t)(at - buffer);
}

const char *sfctl_alias_header(enum sfctl_alias_format format)
{
	return format == SFCTL_ALIAS_CSV ? "key,id\n" : "";
}
