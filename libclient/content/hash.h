/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * BLAKE2b (RFC 7693) without key and salt, with a person value. The one hash of content IDs; the
 * functions are libsodium's. Each hash belongs to one thread at a time.
 */
#ifndef SF_CONTENT_HASH_H
#define SF_CONTENT_HASH_H

#include <sodium/crypto_generichash_blake2b.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of the longest digest. */
#define SF_HASH_BYTES 64u
/** Bytes of a person value. */
#define SF_HASH_PERSON_BYTES 16u

/** A hash being fed. Its type wants an alignment of 64. */
struct sf_hash {
	crypto_generichash_blake2b_state state;
};

/**
 * @param digest_bytes 1 to SF_HASH_BYTES
 * @param person up to SF_HASH_PERSON_BYTES characters, zero-padded; NULL for none
 */
void sf_hash_init(struct sf_hash *hash, size_t digest_bytes, const char *person);

void sf_hash_update(struct sf_hash *hash, const void *bytes, size_t length);

/** @param digest_bytes what sf_hash_init() was told */
void sf_hash_final(struct sf_hash *hash, uint8_t *ret_digest, size_t digest_bytes);

/** Writes two lower-case digits a byte; no NUL. */
void sf_hash_hex(const uint8_t *bytes, size_t count, char *ret_text);

#endif
