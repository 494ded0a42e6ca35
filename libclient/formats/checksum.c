/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Checksummed ids, to be read and typed by people; see sftext.h. Any thread and any signal handler;
 * only making one enters the kernel, and only for random bytes.
 */
#include <sftext.h>

#include "libclient/formats/base32.h"
#include "libclient/formats/random.h"
#include "shm/why.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LENGTH_DEFAULT 12u
#define GROUP_SIZE_DEFAULT 4u
#define SEP_DEFAULT "-"

/** Options with their defaults filled in. */
struct shape {
	size_t length;
	size_t group_size;
	const char *sep;
	size_t sep_length;
};

/**
 * A separator must be told from what it separates, however a person types that.
 * @return its length, or -EINVAL
 */
static int check_sep(const char *sep, struct sf_why *why)
{
	const struct sf_shm_token token = {sep, strnlen(sep, SF_CHECKSUM_SEP_MAX + 1)};

	if (token.length > SF_CHECKSUM_SEP_MAX)
		return sf_shm_refuse_token(why, &token, "a separator has at most %u characters",
					   (unsigned)SF_CHECKSUM_SEP_MAX);
	for (size_t i = 0; i < token.length; i++) {
		unsigned char c = (unsigned char)sep[i];

		if (c >= 0x80 || sf_base32_symbol_value(c) >= 0)
			return sf_shm_refuse_token(why, &token,
						   "character %u cannot be in a separator; legal "
						   "is ASCII without letters, digits, *, ~, $, =",
						   (unsigned)i + 1);
	}
	return (int)token.length;
}

static int read_options(const struct sf_checksum_options *options, struct shape *ret_shape,
			struct sf_why *why)
{
	static const struct sf_checksum_options defaults = {.size = sizeof(defaults)};
	const struct sf_checksum_options *from = options ? options : &defaults;
	const char *sep;
	int sep_length;

	if (from->size != sizeof(*from) || from->pad0)
		return SF_SHM_REFUSE(why, -EINVAL,
				     "the options of a checksummed id have size %u and padding %u; "
				     "set size to %u and the rest to zero",
				     from->size, from->pad0, (unsigned)sizeof(*from));
	sep = from->sep ? from->sep : SEP_DEFAULT;
	sep_length = check_sep(sep, why);
	if (sep_length < 0)
		return sep_length;
	*ret_shape = (struct shape){
		.length = from->length ? from->length : LENGTH_DEFAULT,
		.group_size = from->group_size ? from->group_size : GROUP_SIZE_DEFAULT,
		.sep = sep,
		.sep_length = (size_t)sep_length,
	};
	return 0;
}

/** Whether a payload of the shape's length is legal and, completed, fits a buffer. */
static int check_lengths(const struct shape *shape, size_t size, struct sf_why *why)
{
	size_t needed;

	if (shape->length == 0 || shape->length > SF_CHECKSUM_LENGTH_MAX)
		return SF_SHM_REFUSE(why, -EINVAL,
				     "a checksummed id of %" PRIu64 " characters before its check "
				     "symbol; legal is [1,%u]",
				     (uint64_t)shape->length, (unsigned)SF_CHECKSUM_LENGTH_MAX);
	needed = shape->length + 1 + shape->length / shape->group_size * shape->sep_length + 1;
	if (size < needed)
		return SF_SHM_REFUSE(why, -ENOSPC,
				     "a buffer of %" PRIu64 " bytes; this id needs %" PRIu64
				     " with its NUL",
				     (uint64_t)size, (uint64_t)needed);
	return 0;
}

/** @return length without the NUL */
static int write_groups(const struct shape *shape, const char *payload, char symbol, char *ret_text)
{
	char *end = ret_text;

	for (size_t i = 0; i <= shape->length; i++) {
		if (i > 0 && i % shape->group_size == 0) {
			memcpy(end, shape->sep, shape->sep_length);
			end += shape->sep_length;
		}
		if (i < shape->length)
			*end++ = payload[i];
		else
			*end++ = symbol;
	}
	*end = '\0';
	return (int)(end - ret_text);
}

/**
 * Draws until the check symbol is a digit, too.
 * @return the symbol, or a negative errno
 */
static int draw(char *payload, size_t length, struct sf_why *why)
{
	int symbol;

	do {
		int r = sf_random_fill(payload, length, why);

		if (r < 0)
			return r;
		/* 32 divides 256: every digit is as likely as any other */
		for (size_t i = 0; i < length; i++)
			payload[i] = SF_BASE32_DIGITS[(unsigned char)payload[i] % 32];
		symbol = sf_crockford_check(payload, length);
	} while (sf_base32_value((unsigned char)symbol) < 0);
	return symbol;
}

int sf_checksum_new(const struct sf_checksum_options *options, char *ret_text, size_t size,
		    struct sf_why *why)
{
	char payload[SF_CHECKSUM_LENGTH_MAX];
	struct shape shape;
	int symbol;
	int r;

	sf_shm_clear(why);
	r = read_options(options, &shape, why);
	if (r < 0)
		return r;
	r = check_lengths(&shape, size, why);
	if (r < 0)
		return r;
	symbol = draw(payload, shape.length, why);
	if (symbol < 0)
		return symbol;
	return write_groups(&shape, payload, (char)symbol, ret_text);
}

int sf_checksum_complete(const struct sf_checksum_options *options, const char *payload,
			 size_t length, char *ret_text, size_t size, struct sf_why *why)
{
	struct shape shape;
	int symbol;
	int r;

	sf_shm_clear(why);
	r = read_options(options, &shape, why);
	if (r < 0)
		return r;
	shape.length = length;
	r = check_lengths(&shape, size, why);
	if (r < 0)
		return r;
	symbol = sf_crockford_check(payload, length);
	if (symbol < 0)
		return sf_shm_refuse_token(why, &(struct sf_shm_token){payload, length},
					   "character %u is none that checksummed ids are made of "
					   "(0-9, A-Z without I, L, O, U)",
					   (unsigned)strspn(payload, SF_BASE32_DIGITS) + 1);
	return write_groups(&shape, payload, (char)symbol, ret_text);
}

int sf_checksum_verify(const char *text, size_t length, const char *sep)
{
	const char *between = sep ? sep : SEP_DEFAULT;
	int sep_length = check_sep(between, NULL);
	unsigned remainder = 0;
	size_t count = 0;
	int last = 0; /* value of the newest character, which may be the check symbol */

	if (sep_length < 0)
		return 0;
	for (size_t i = 0; i < length; i++) {
		if (sep_length > 0 && length - i >= (size_t)sep_length &&
		    memcmp(text + i, between, (size_t)sep_length) == 0) {
			i += (size_t)sep_length - 1;
			continue;
		}
		if (last >= 32)
			return 0;
		remainder = (remainder * 32 + (unsigned)last) % SF_BASE32_CHECK_BASE;
		last = sf_base32_symbol_value((unsigned char)text[i]);
		if (last < 0)
			return 0;
		count++;
	}
	return count >= 2 && remainder == (unsigned)last;
}
