/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Which notation a word is in. Digits only are a decimal, as sfd and all the world write 64-bit
 * IDs, though they may be base32, base58, base62 or hex as well: whoever has those must say so.
 * Other words of 64-bit IDs are never guessed, not even when just one notation fits. Any thread.
 */
#include "tools/id.h"

#include "tools/number.h"
#include "tools/sfctl.h"

#include <errno.h>
#include <string.h>

/** Shorter words with a hyphen are not meant to be UUIDs. */
#define UUID_LIKE_MIN 32
/** Room for the names of a few notations. */
#define NAMES_MAX 64

static bool is_decimal(const char *word, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (word[i] < '0' || word[i] > '9')
			return false;
	}
	return length > 0;
}

/** The only notation of that length, or 0. */
static int notation_by_length(const char *word, size_t length)
{
	switch (length) {
	case SF_OBJECTID_TEXT:
		return SFCTL_OBJECTID;
	case SF_ULID_TEXT:
		return SFCTL_ULID;
	case SF_UUID_TEXT:
		return SFCTL_UUID;
	case SF_HOUND_TEXT:
		return SFCTL_HOUND;
	default:
		/* In braces, quotes or blanks, or a digit too many: its reader says what is wrong.
		 */
		return length >= UUID_LIKE_MIN && memchr(word, '-', length) ? SFCTL_UUID : 0;
	}
}

/** Names the notations of 64-bit IDs that the word could be in. @return their number */
static int list_candidates(const char *word, size_t length, char ret_names[NAMES_MAX])
{
	static const struct {
		int notation;
		const char *name;
	} candidates[] = {
		{SFCTL_HEX, "hex"},
		{SF_TEXT_BASE32, "base32"},
		{SF_TEXT_BASE58, "base58"},
		{SF_TEXT_BASE62, "base62"},
		{SF_TEXT_BASE32_CHECK, "base32check"},
	};
	struct sfctl_id id;
	struct sf_why why;
	char *at = ret_names;
	int count = 0;

	*at = '\0';
	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		if (sfctl_id_parse(candidates[i].notation, word, length, &id, &why) < 0)
			continue;
		at = stpcpy(at, count++ > 0 ? " or " : "");
		at = stpcpy(at, candidates[i].name);
	}
	return count;
}

int sfctl_notation_guess(const char *word, size_t length, const char *option, struct sf_why *why)
{
	char names[NAMES_MAX];
	int notation = notation_by_length(word, length);
	int count;

	if (is_decimal(word, length) && (length <= SFCTL_NUMBER_DIGITS || notation == 0))
		return SFCTL_DECIMAL;
	if (notation > 0)
		return notation;
	count = list_candidates(word, length, names);
	if (count > 0)
		SFCTL_WHY(why, "could be %s%s; say so with %s", names,
			  count > 1 ? ", which need not be the same ID" : "", option);
	else
		SFCTL_WHY(why, "is not an ID: neither 1 to 20 decimal digits nor as long as a "
			       "ULID (26 characters), UUID (36), ObjectId (24) or Hound ID (44)");
	return -EINVAL;
}

int sfctl_id_read(int notation, const char *option, const char *word, size_t length,
		  struct sfctl_id *ret_id, struct sf_why *why)
{
	if (notation == 0)
		notation = sfctl_notation_guess(word, length, option, why);
	return notation < 0 ? notation : sfctl_id_parse(notation, word, length, ret_id, why);
}
