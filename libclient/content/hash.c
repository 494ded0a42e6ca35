/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * BLAKE2b by libsodium. Its functions fail for sizes out of range only, which no caller here gives.
 * Any thread.
 */
#include "libclient/content/hash.h"

#include <string.h>

void sf_hash_init(struct sf_hash *hash, size_t digest_bytes, const char *person)
{
	uint8_t padded[SF_HASH_PERSON_BYTES] = {0};

	if (person)
		memcpy(padded, person, strnlen(person, sizeof(padded)));
	(void)crypto_generichash_blake2b_init_salt_personal(&hash->state, NULL, 0, digest_bytes,
							    NULL, padded);
}

void sf_hash_update(struct sf_hash *hash, const void *bytes, size_t length)
{
	(void)crypto_generichash_blake2b_update(&hash->state, bytes, length);
}

void sf_hash_final(struct sf_hash *hash, uint8_t *ret_digest, size_t digest_bytes)
{
	(void)crypto_generichash_blake2b_final(&hash->state, ret_digest, digest_bytes);
}

void sf_hash_hex(const uint8_t *bytes, size_t count, char *ret_text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < count; i++) {
		ret_text[2 * i] = digits[bytes[i] >> 4];
		ret_text[2 * i + 1] = digits[bytes[i] & 15];
	}
}
