/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * IDs of any format and their notations. The reading itself is the library's; what is decided here
 * is which reader. Any thread.
 */
#include "tools/id.h"

#include "tools/number.h"
#include "tools/sfctl.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

/** The notations that are the text of a wide format, from SFCTL_ULID on. */
static const struct {
	const char *name;
	unsigned format;
} wide_notations[] = {
	{"ulid", SF_FORMAT_ULID},         {"uuid", SF_FORMAT_UUID7},  {"uuid7", SF_FORMAT_UUID7},
	{"objectid", SF_FORMAT_OBJECTID}, {"hound", SF_FORMAT_HOUND},
};

int sfctl_notation_of(const char *name, struct sf_why *why)
{
	int notation = sf_text_of(name);

	for (int i = SFCTL_ULID; notation < 0 && i < SFCTL_NOTATION_END; i++) {
		if (strcmp(name, wide_notations[i - SFCTL_ULID].name) == 0)
			notation = i;
	}
	if (notation < 0)
		SFCTL_WHY(why,
			  "format \"%.60s\" is not decimal, decimal20, decimal19, hex, base32, "
			  "base58, base62, base32check, ulid, uuid, uuid7, objectid or hound",
			  name);
	return notation;
}

unsigned sfctl_notation_format(int notation)
{
	return notation < SFCTL_ULID ? SF_FORMAT_SNOWFLAKE
				     : wide_notations[notation - SFCTL_ULID].format;
}

/** The two notations in which more is taken than the library writes. */
static int parse_number(bool is_hex, const char *word, size_t length, uint64_t *ret_number,
			struct sf_why *why)
{
	int error = is_hex ? sfctl_number_parse_hex(word, length, ret_number)
			   : sfctl_number_parse(word, length, ret_number);

	if (error == -ERANGE)
		SFCTL_WHY(why, "is larger than 64 bits can hold");
	else if (error < 0)
		SFCTL_WHY(why, "is not an ID: %s digits only", is_hex ? "hexadecimal" : "decimal");
	return error;
}

static int parse_hound(const char *word, size_t length, uint8_t *ret_bytes, struct sf_why *why)
{
	uint8_t bytes[SF_HOUND_BYTES];
	struct sf_hound parts;
	int error = sf_hound_parse(word, length, bytes, why);

	if (error == 0)
		error = sf_hound_unpack(bytes, sizeof(bytes), 1, &parts, why);
	if (error == -EBADMSG) /* whose sentence repeats the ID */
		SFCTL_WHY(why, "is a Hound ID whose last byte, the checksum, does not fit the "
			       "others: look for a typing error");
	if (error == 0)
		memcpy(ret_bytes, bytes, sizeof(bytes));
	return error;
}

int sfctl_id_parse(int notation, const char *word, size_t length, struct sfctl_id *ret_id,
		   struct sf_why *why)
{
	struct sfctl_id id = {.format = sfctl_notation_format(notation)};
	int error;

	switch (notation) {
	case SFCTL_DECIMAL:
	case SFCTL_HEX:
		error = parse_number(notation == SFCTL_HEX, word, length, &id.number, why);
		break;
	case SFCTL_ULID:
		error = sf_ulid_parse(word, length, &id.wide, why);
		break;
	case SFCTL_UUID:
		error = sf_uuid_parse(word, length, &id.wide, why);
		break;
	case SFCTL_UUID7:
		error = sf_uuid7_parse(word, length, &id.wide, why);
		break;
	case SFCTL_OBJECTID:
		error = sf_objectid_parse(word, length, &id.wide, why);
		break;
	case SFCTL_HOUND:
		error = parse_hound(word, length, id.hound, why);
		break;
	default:
		error = sf_text_parse((unsigned)notation, word, length, &id.number, why);
	}
	if (error == 0)
		*ret_id = id;
	return error;
}

size_t sfctl_format_bytes(unsigned format)
{
	switch (format) {
	case SF_FORMAT_SNOWFLAKE:
		return sizeof(uint64_t);
	case SF_FORMAT_OBJECTID:
		return SF_OBJECTID_BYTES;
	case SF_FORMAT_HOUND:
		return SF_HOUND_BYTES;
	default:
		return SF_WIDE_BYTES;
	}
}

int sfctl_id_from_bytes(int notation, const uint8_t *bytes, struct sfctl_id *ret_id,
			struct sf_why *why)
{
	struct sfctl_id id = {.format = sfctl_notation_format(notation)};
	size_t length = sfctl_format_bytes(id.format);
	struct sf_hound parts;
	int error = 0;

	if (id.format == SF_FORMAT_SNOWFLAKE) {
		memcpy(&id.number, bytes, length);
		id.number = be64toh(id.number);
	} else if (id.format == SF_FORMAT_HOUND) {
		memcpy(id.hound, bytes, length);
		error = sf_hound_unpack(bytes, length, 1, &parts, why);
	} else {
		/* A UUID of any version is 16 bytes without a rule, as a ULID is. */
		error = sf_wide_from_bytes(notation == SFCTL_UUID ? SF_FORMAT_ULID : id.format,
					   bytes, length, &id.wide, why);
	}
	if (error == 0)
		*ret_id = id;
	return error;
}

size_t sfctl_id_to_bytes(const struct sfctl_id *id, uint8_t ret_bytes[SF_WIDE_BYTES_MAX])
{
	uint64_t number = htobe64(id->number);

	if (id->format == SF_FORMAT_SNOWFLAKE)
		memcpy(ret_bytes, &number, sizeof(number));
	else if (id->format == SF_FORMAT_HOUND)
		memcpy(ret_bytes, id->hound, SF_HOUND_BYTES);
	else
		(void)sf_wide_to_bytes(id->format, &id->wide, ret_bytes);
	return sfctl_format_bytes(id->format);
}

size_t sfctl_id_text(const struct sfctl_id *id, char ret_text[SFCTL_ID_TEXT_MAX])
{
	if (id->format == SF_FORMAT_SNOWFLAKE) {
		size_t length = sfctl_number_format(id->number, ret_text);

		ret_text[length] = '\0';
		return length;
	}
	if (id->format == SF_FORMAT_HOUND) {
		sf_hound_format(id->hound, ret_text);
		return SF_HOUND_TEXT;
	}
	return (size_t)sf_wide_format(id->format, &id->wide, ret_text);
}

size_t sfctl_id_hex(const struct sfctl_id *id, char ret_text[SFCTL_ID_TEXT_MAX])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t bytes[SF_WIDE_BYTES_MAX];
	size_t count = sfctl_id_to_bytes(id, bytes);

	for (size_t i = 0; i < count; i++) {
		ret_text[2 * i] = digits[bytes[i] >> 4];
		ret_text[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_text[2 * count] = '\0';
	return 2 * count;
}
