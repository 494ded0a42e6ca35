/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * 64-bit IDs in other notations, Crockford's Base32, and checksummed ids for people.
 *
 * Pure functions, but for sf_checksum_new(), which asks the kernel for random bits. Any thread, any
 * signal handler. Errors are negative errno values; a `struct sf_why *` may be NULL, and otherwise
 * receives one sentence that names the rule that failed and the character it failed at (counted
 * from 1). Results (`ret_...`) are untouched on failure.
 */
#ifndef SF_TEXT_H
#define SF_TEXT_H

#include <sfformats.h>
#include <sflayout.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- notations of 64-bit IDs ---- */

/** Decimal without leading zeros, 1 to 20 digits. Does not sort as text. */
#define SF_TEXT_DECIMAL 1
/** Decimal, zero-padded to 20 digits. Sorts as text. */
#define SF_TEXT_DECIMAL20 2
/** Decimal, zero-padded to 19 digits, for IDs below 2^63. Sorts as text. */
#define SF_TEXT_DECIMAL19 3
/** Hexadecimal, 16 lower-case digits. Sorts as text. */
#define SF_TEXT_HEX 4
/** Crockford's Base32, 13 upper-case characters. Sorts as text. */
#define SF_TEXT_BASE32 5
/** Base58 (123456789A-Za-z without I, O, l), 11 characters. Sorts as text. */
#define SF_TEXT_BASE58 6
/** Base62 (0-9A-Za-z), 11 characters. Sorts as text. */
#define SF_TEXT_BASE62 7
/** Crockford's Base32 without leading zeros and with its mod-37 check symbol last. */
#define SF_TEXT_BASE32_CHECK 8
/** Room for any notation, the NUL included. */
#define SF_TEXT_MAX 24

/**
 * Write an ID in a notation, with a NUL.
 * @param kind SF_TEXT_...
 * @param ret_text room for SF_TEXT_MAX
 * @return length without the NUL; -EINVAL for an unknown notation; -ERANGE for an ID of 2^63 or
 *         more in SF_TEXT_DECIMAL19
 */
SF_API int sf_text_format(unsigned kind, uint64_t id, char *ret_text);

/**
 * Read an ID in a notation, strictly: the width and alphabet that sf_text_format() writes, and
 * nothing around it. Hexadecimal and Base32 take either case; Base32 takes O as 0, I and L as 1;
 * SF_TEXT_BASE32_CHECK also takes leading zeros and hyphens between characters.
 * @return 0; -EINVAL for an unknown notation, a wrong length, character or check symbol; -ERANGE
 *         for more than 64 bits (63 in SF_TEXT_DECIMAL19)
 */
SF_API int sf_text_parse(unsigned kind, const char *text, size_t length, uint64_t *ret_id,
			 struct sf_why *why);

/**
 * Notation of a name: "decimal", "decimal20", "decimal19", "hex", "base32", "base58", "base62",
 * "base32check".
 * @return SF_TEXT_..., or -EINVAL
 */
SF_API int sf_text_of(const char *name);

/**
 * Order of two decimal numbers by value, whatever their numbers of digits; leading zeros do not
 * count. (As text, "9" sorts after "10".) Texts that hold anything but digits, or nothing, come
 * after all numbers, in byte order.
 * @return below 0, 0 or above 0
 */
SF_API int sf_decimal_compare(const char *a, size_t a_length, const char *b, size_t b_length);

/* ---- Crockford's Base32; crockford.com/base32.html ---- */

/**
 * Write a number in `length` characters, zero-padded, with a NUL.
 * @param length 1 to 26
 * @param ret_text room for length + 1
 * @return 0; -EINVAL for a bad length; -ERANGE when the number needs more characters
 */
SF_API int sf_crockford_format(const struct sf_wide *value, unsigned length, char *ret_text);

/**
 * Read a number of 1 to 26 characters: either case, O as 0, I and L as 1.
 * @return 0; -EINVAL for a wrong length or character; -ERANGE for more than 128 bits
 */
SF_API int sf_crockford_parse(const char *text, size_t length, struct sf_wide *ret_value,
			      struct sf_why *why);

/**
 * Check symbol of a payload: the payload as a base-32 number, modulo 37, as one of
 * "0-9A-Z without I, L, O, U, then * ~ $ = U".
 * @param payload canonical characters (upper case, no separators), any number of them
 * @return the symbol, or -EINVAL for an empty payload or another character
 */
SF_API int sf_crockford_check(const char *payload, size_t length);

/* ---- checksummed ids: random, to be read and typed by people ---- */

/** Longest payload of a checksummed id that is made here; any may be verified. */
#define SF_CHECKSUM_LENGTH_MAX 1024
/** Longest separator. */
#define SF_CHECKSUM_SEP_MAX 8

/** Shape of checksummed ids. Zero or NULL in a field means its default. */
struct sf_checksum_options {
	/** sizeof(struct sf_checksum_options): lets the struct grow. */
	uint32_t size;
	/** Random characters, 1 to SF_CHECKSUM_LENGTH_MAX; default 12. */
	uint32_t length;
	/** Characters of a group, the last of which may be shorter; default 4. */
	uint32_t group_size;
	/** Zero. */
	uint32_t pad0;
	/** Between groups; up to SF_CHECKSUM_SEP_MAX ASCII characters, none of which the readers
	 *  would take for a digit or check symbol; default "-"; "" is none. */
	const char *sep;
};

/**
 * Make a checksummed id: random characters from the kernel, their check symbol last, in groups.
 * A payload whose symbol would be one of * ~ $ = U is drawn anew. With the defaults:
 * XXXX-XXXX-XXXX-X. Enters the kernel.
 * @param options NULL for all defaults
 * @return length without the NUL; -EINVAL with the reason in `why`; -ENOSPC when `size` is too
 *         small; or what getrandom(2) failed with
 */
SF_API int sf_checksum_new(const struct sf_checksum_options *options, char *ret_text, size_t size,
			   struct sf_why *why);

/**
 * The same for a given payload (canonical characters; its length counts, options->length does
 * not), whatever its check symbol.
 * @return as sf_checksum_new()
 */
SF_API int sf_checksum_complete(const struct sf_checksum_options *options, const char *payload,
				size_t length, char *ret_text, size_t size, struct sf_why *why);

/**
 * Whether a text is a checksummed id. Separators are ignored wherever they stand; either case,
 * O as 0, I and L as 1; all 37 check symbols are accepted in last place. Never an error: what
 * cannot be one (also with a separator that sf_checksum_new() refuses) is none.
 * @param sep NULL for "-"
 * @return 1 or 0
 */
SF_API int sf_checksum_verify(const char *text, size_t length, const char *sep);

#ifdef __cplusplus
}
#endif

#endif
