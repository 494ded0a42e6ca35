/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * An ID of any format, read from any notation that the tool knows, and guessing which one that is.
 * Pure functions; any thread.
 */
#ifndef SFCTL_ID_H
#define SFCTL_ID_H

#include "shm/sflayout.h"

#include <sfformats.h>
#include <sftext.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** How an ID is written. The notations of 64-bit IDs have the numbers of sftext.h. */
enum sfctl_notation {
	SFCTL_DECIMAL = SF_TEXT_DECIMAL, /* leading zeros are fine */
	SFCTL_HEX = SF_TEXT_HEX,         /* 1 to 16 digits, perhaps after "0x" */
	SFCTL_ULID = SF_TEXT_BASE32_CHECK + 1,
	SFCTL_UUID, /* of any version */
	SFCTL_UUID7,
	SFCTL_OBJECTID,
	SFCTL_HOUND,
	SFCTL_NOTATION_END,
};

/** The notations as a block of help texts, after an option of 20 columns. */
#define SFCTL_NOTATIONS_HELP                                                                       \
	"decimal, decimal20, decimal19, hex, base32, base58,\n"                                    \
	"                    base62, base32check (64-bit IDs), ulid, uuid, uuid7,\n"               \
	"                    objectid, hound"

/** Longest text of an ID, the NUL included. */
#define SFCTL_ID_TEXT_MAX SF_WIDE_TEXT_MAX

/** An ID. */
struct sfctl_id {
	unsigned format;               /* SF_FORMAT_...; a UUID of any version is an UUID7 here */
	uint64_t number;               /* SF_FORMAT_SNOWFLAKE */
	struct sf_wide wide;           /* ULID, UUID and ObjectId */
	uint8_t hound[SF_HOUND_BYTES]; /* Hound; its sum is right, unless decode was told to let it
					  be */
};

/** Notation of a name. @return enum sfctl_notation, or -EINVAL with the names in `why` */
int sfctl_notation_of(const char *name, struct sf_why *why);

/** Format of the IDs that a notation is for: SF_FORMAT_... */
unsigned sfctl_notation_format(int notation);

/**
 * Reads an ID.
 * @return 0, or a negative errno with a sentence in `why` that does not repeat the word; -EBADMSG
 *         only for a Hound ID whose checksum is wrong
 */
int sfctl_id_parse(int notation, const char *word, size_t length, struct sfctl_id *ret_id,
		   struct sf_why *why);

/**
 * Guesses the notation of a word: 1 to 20 decimal digits, or the length of a ULID, UUID, ObjectId
 * or Hound ID. (sfctl_id_parse() then finds what is wrong with it.)
 * @param option how the user says the notation, such as "--format"
 * @return enum sfctl_notation, or -EINVAL with a sentence as above: what the word could be, or that
 *         it is no ID
 */
int sfctl_notation_guess(const char *word, size_t length, const char *option, struct sf_why *why);

/** Reads an ID in `notation`, or in the guessed one where that is 0. @return as the two above */
int sfctl_id_read(int notation, const char *option, const char *word, size_t length,
		  struct sfctl_id *ret_id, struct sf_why *why);

/** Number of bytes of a format's binary form. */
size_t sfctl_format_bytes(unsigned format);

/**
 * Reads the binary form of what `notation` stands for: big-endian, of exactly its length.
 * @return as sfctl_id_parse()
 */
int sfctl_id_from_bytes(int notation, const uint8_t *bytes, struct sfctl_id *ret_id,
			struct sf_why *why);

/** Writes the binary form. @return number of bytes */
size_t sfctl_id_to_bytes(const struct sfctl_id *id, uint8_t ret_bytes[SF_WIDE_BYTES_MAX]);

/** Writes the canonical text (decimal for 64 bits) with a NUL. @return length without it */
size_t sfctl_id_text(const struct sfctl_id *id, char ret_text[SFCTL_ID_TEXT_MAX]);

/** Writes the binary form as lower-case hexadecimal digits with a NUL. @return length without it */
size_t sfctl_id_hex(const struct sfctl_id *id, char ret_text[SFCTL_ID_TEXT_MAX]);

#endif
