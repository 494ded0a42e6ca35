/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The bits of a UUIDv7, for streams and for single IDs; RFC 9562, section 5.7. Pure; any thread and
 * any signal handler.
 */
#ifndef SF_FORMATS_UUID_H
#define SF_FORMATS_UUID_H

#include <sfformats.h>

/** Packs 48 bits of time, the low 12 bits of `a`, and the low 62 bits of `b`. */
static inline struct sf_wide sf_uuid7_pack(uint64_t unix_ms, uint64_t a, uint64_t b)
{
	return (struct sf_wide){unix_ms << 16 | UINT64_C(7) << 12 | (a & 0xfff),
				UINT64_C(2) << 62 | (b & (UINT64_MAX >> 2))};
}

/**
 * Checks version and variant.
 * @param text of `id`, which the sentence quotes
 * @return 0 or -EINVAL
 */
int sf_uuid7_check(const char *text, const struct sf_wide *id, struct sf_why *why);

#endif
