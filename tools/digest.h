/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A digest that tells whether a file is the one that was seen before: FNV-1a of 64 bits. It finds
 * accidents; who wants to deceive it can. Pure; any thread.
 */
#ifndef SFCTL_DIGEST_H
#define SFCTL_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/** Of nothing. */
#define SFCTL_DIGEST_EMPTY UINT64_C(0xcbf29ce484222325)

/** The digest with more bytes behind those it has. */
static inline uint64_t sfctl_digest(uint64_t digest, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		digest = (digest ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
	return digest;
}

#endif
