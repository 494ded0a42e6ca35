/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * ID formats of more than 64 bits: ULID, UUID (version 7), ObjectId and Hound, as values, as text
 * and as bytes. A format is a packing of (time, counter), nothing more.
 *
 * Everything here is a pure function of its arguments (but for sf_..._make(), which ask the
 * kernel for random bits): no daemon, no clock, no allocation, no state. Any thread, any signal
 * handler. Errors are negative errno values; where a function takes a `struct sf_why *`, it may be
 * NULL, and otherwise receives one sentence that names the rule that failed, the character it
 * failed at (counted from 1) and the remedy. Results (`ret_...`) are untouched on failure.
 *
 * Readers accept the canonical form and nothing else, as each says; `length` is the number of
 * bytes of `text`, which need not end in NUL and may hold any byte.
 */
#ifndef SF_FORMATS_H
#define SF_FORMATS_H

#include <sflayout.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Characters of a ULID, without the NUL. */
#define SF_ULID_TEXT 26
/** Characters of a UUID, without the NUL. */
#define SF_UUID_TEXT 36
/** Characters of an ObjectId, without the NUL. */
#define SF_OBJECTID_TEXT 24
/** Characters of a Hound ID, without the NUL. */
#define SF_HOUND_TEXT 44
/** Room for the text of any format, the NUL included. */
#define SF_WIDE_TEXT_MAX 45

/** Bytes of a ULID or UUID in binary form. */
#define SF_WIDE_BYTES 16
/** Bytes of an ObjectId in binary form. */
#define SF_OBJECTID_BYTES 12
/** Bytes of a Hound ID in binary form. */
#define SF_HOUND_BYTES 22
/** Room for the bytes of any format. */
#define SF_WIDE_BYTES_MAX 22

/** Largest time of a ULID or UUIDv7, Unix milliseconds: 2^48 - 1. */
#define SF_WIDE_MS_MAX INT64_C(281474976710655)
/** Largest time of an ObjectId, Unix seconds: 2^32 - 1. */
#define SF_OBJECTID_S_MAX INT64_C(4294967295)

/**
 * A value of up to 128 bits. Values of one format order as numbers as their texts and bytes do.
 *
 *   ULID, UUID   the 16 bytes, big-endian
 *   ObjectId     high: seconds, below 2^32; low: the other 8 bytes
 *   Hound        of a stream: milliseconds (48 bits), machine id (48), client id (16), sequence
 *                (16), from the high bit down; see sf_hound_from_wide()
 *
 * The values of a stream's tick begin at random bits, drawn anew for each tick, and rise by 1 in
 * `low`; `high` is the same for all of them. A tick has at most 2^30, and the highest bit of the
 * counter's part of `low` is clear at the start, so that nothing ever carries out of it: a ULID or
 * ObjectId has headroom for 2^63 more, a UUIDv7 for 2^61, a Hound ID (client id and sequence, which
 * begins at 0 and carries into the client id) for 2^31.
 */
struct sf_wide {
	/** Upper half. */
	uint64_t high;
	/** Lower half. */
	uint64_t low;
};

/** Order of two values. @return below 0, 0 or above 0, as memcmp() */
SF_API int sf_wide_compare(const struct sf_wide *a, const struct sf_wide *b);

/**
 * Text of a value of any of the wide formats, with a NUL.
 * @param format SF_FORMAT_ULID, SF_FORMAT_UUID7, SF_FORMAT_OBJECTID or SF_FORMAT_HOUND
 * @param ret_text room for SF_WIDE_TEXT_MAX
 * @return length without the NUL, or -EINVAL for another format
 */
SF_API int sf_wide_format(unsigned format, const struct sf_wide *id, char *ret_text);

/**
 * Binary form of a value of any of the wide formats, big-endian; bytes order as values do.
 * @param ret_bytes room for SF_WIDE_BYTES_MAX
 * @return number of bytes (16, 16, 12, 22), or -EINVAL for another format
 */
SF_API int sf_wide_to_bytes(unsigned format, const struct sf_wide *id, uint8_t *ret_bytes);

/**
 * Value of the binary form of a ULID, UUID or ObjectId. A ULID may be any 16 bytes; a UUIDv7 must
 * have version 7 and the RFC variant.
 * @return 0; -EINVAL for another format or a UUID of another version; -EMSGSIZE for a wrong length
 */
SF_API int sf_wide_from_bytes(unsigned format, const uint8_t *bytes, size_t length,
			      struct sf_wide *ret_id, struct sf_why *why);

/**
 * Time in a value, Unix milliseconds.
 * @return 0, or -EINVAL for another format than the wide ones
 */
SF_API int sf_wide_unix_ms(unsigned format, const struct sf_wide *id, int64_t *ret_unix_ms);

/* ---- ULID: 48 bits of milliseconds, 80 bits of counter; github.com/ulid/spec ---- */

/**
 * Crockford's Base32, upper case, 26 characters and a NUL.
 * @param ret_text room for SF_ULID_TEXT + 1
 */
SF_API void sf_ulid_format(const struct sf_wide *id, char *ret_text);

/**
 * Read a ULID: 26 characters of either case, O as 0, I and L as 1, the first at most 7.
 * @return 0; -EINVAL for a wrong length or character; -ERANGE for more than 128 bits
 */
SF_API int sf_ulid_parse(const char *text, size_t length, struct sf_wide *ret_id,
			 struct sf_why *why);

/** Time of a ULID, Unix milliseconds, 0 to SF_WIDE_MS_MAX. */
SF_API int64_t sf_ulid_unix_ms(const struct sf_wide *id);

/**
 * Pack a ULID.
 * @param unix_ms 0 to SF_WIDE_MS_MAX
 * @param counter below 2^80
 * @return 0, or -ERANGE
 */
SF_API int sf_ulid_compose(int64_t unix_ms, const struct sf_wide *counter, struct sf_wide *ret_id,
			   struct sf_why *why);

/**
 * Make a ULID of a given time with 80 random bits, without a daemon. Enters the kernel.
 * @return 0, -ERANGE, or what getrandom(2) failed with
 */
SF_API int sf_ulid_make(int64_t unix_ms, struct sf_wide *ret_id, struct sf_why *why);

/* ---- UUID: RFC 9562 ---- */

/**
 * 8-4-4-4-12 lower-case hexadecimal digits and a NUL; any UUID.
 * @param ret_text room for SF_UUID_TEXT + 1
 */
SF_API void sf_uuid_format(const struct sf_wide *id, char *ret_text);

/**
 * Read a UUID of any version: the 36-character form in either case; no braces, no "urn:", no plain
 * digits.
 * @return 0 or -EINVAL
 */
SF_API int sf_uuid_parse(const char *text, size_t length, struct sf_wide *ret_id,
			 struct sf_why *why);

/**
 * Version of a UUID.
 * @return 0 to 15, or -EINVAL when its variant is not that of RFC 9562 (so for nil and max, too)
 */
SF_API int sf_uuid_version(const struct sf_wide *id);

/**
 * Read a UUIDv7: as sf_uuid_parse(), and version 7 and the RFC variant.
 * @return 0 or -EINVAL
 */
SF_API int sf_uuid7_parse(const char *text, size_t length, struct sf_wide *ret_id,
			  struct sf_why *why);

/** Time of a UUIDv7, Unix milliseconds, 0 to SF_WIDE_MS_MAX. Nothing is said below that. */
SF_API int64_t sf_uuid7_unix_ms(const struct sf_wide *id);

/**
 * Pack a UUIDv7. The counter's 12 high bits go before the variant, its 62 low bits behind it, so
 * that order as text is order of counters.
 * @param unix_ms 0 to SF_WIDE_MS_MAX
 * @param counter below 2^74
 * @return 0, or -ERANGE
 */
SF_API int sf_uuid7_compose(int64_t unix_ms, const struct sf_wide *counter, struct sf_wide *ret_id,
			    struct sf_why *why);

/**
 * Make a UUIDv7 of a given time with 74 random bits, without a daemon. Enters the kernel.
 * @return 0, -ERANGE, or what getrandom(2) failed with
 */
SF_API int sf_uuid7_make(int64_t unix_ms, struct sf_wide *ret_id, struct sf_why *why);

/* ---- ObjectId: 32 bits of seconds, 64 bits of counter; MongoDB manual, ObjectId ---- */

/**
 * 24 lower-case hexadecimal digits and a NUL.
 * @param ret_text room for SF_OBJECTID_TEXT + 1
 */
SF_API void sf_objectid_format(const struct sf_wide *id, char *ret_text);

/**
 * Read an ObjectId: 24 lower-case hexadecimal digits.
 * @return 0 or -EINVAL
 */
SF_API int sf_objectid_parse(const char *text, size_t length, struct sf_wide *ret_id,
			     struct sf_why *why);

/** Time of an ObjectId, Unix seconds, 0 to SF_OBJECTID_S_MAX. */
SF_API int64_t sf_objectid_unix_s(const struct sf_wide *id);

/**
 * Pack an ObjectId.
 * @param unix_s 0 to SF_OBJECTID_S_MAX
 * @return 0, or -ERANGE
 */
SF_API int sf_objectid_compose(int64_t unix_s, uint64_t counter, struct sf_wide *ret_id,
			       struct sf_why *why);

/**
 * Make an ObjectId of a given time with 64 random bits, without a daemon. Enters the kernel.
 * @return 0, -ERANGE, or what getrandom(2) failed with
 */
SF_API int sf_objectid_make(int64_t unix_s, struct sf_wide *ret_id, struct sf_why *why);

/* ---- Hound: 22 bytes; github.com/getzlab/hound 1.0.1, hound/snowflake.py ---- */

/** A Hound ID taken apart. */
struct sf_hound {
	/** Unix time, seconds; 238 ns fine until 2038, then 477 ns. */
	double time;
	/** Machine id; a hardware address sits in the low 48 bits. */
	uint64_t machine;
	/** Client id. */
	uint16_t client;
	/** Sequence, wraps at 65536. */
	uint16_t sequence;
	/** Zero. */
	uint32_t pad0;
};

/**
 * The 22 bytes, big-endian: time, machine, client, sequence, a zero, and the sum of all before.
 * @param ret_bytes room for SF_HOUND_BYTES
 */
SF_API void sf_hound_pack(const struct sf_hound *id, uint8_t *ret_bytes);

/**
 * Take the 22 bytes apart.
 * @param validate 0 skips the check of the sum (of bytes 0 to 19, as the original has it)
 * @return 0; -EMSGSIZE for a wrong length; -EBADMSG for a wrong sum
 */
SF_API int sf_hound_unpack(const uint8_t *bytes, size_t length, int validate,
			   struct sf_hound *ret_id, struct sf_why *why);

/**
 * 44 lower-case hexadecimal digits and a NUL.
 * @param bytes SF_HOUND_BYTES of them
 * @param ret_text room for SF_HOUND_TEXT + 1
 */
SF_API void sf_hound_format(const uint8_t *bytes, char *ret_text);

/**
 * Read the hexadecimal form: digits of either case, ASCII white space between bytes, as the
 * original does.
 * @param ret_bytes room for SF_HOUND_BYTES
 * @return 0; -EINVAL for what is no hexadecimal; -EMSGSIZE when it is not 22 bytes
 */
SF_API int sf_hound_parse(const char *text, size_t length, uint8_t *ret_bytes, struct sf_why *why);

/** The Hound ID that a value of a stream stands for. */
SF_API void sf_hound_from_wide(const struct sf_wide *id, struct sf_hound *ret_id);

#ifdef __cplusplus
}
#endif

#endif
