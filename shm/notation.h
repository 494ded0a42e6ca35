/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The fields of the layout notation, and where struct sf_layout keeps each. Constants; any thread.
 */
#ifndef SF_SHM_NOTATION_H
#define SF_SHM_NOTATION_H

#include "shm/sflayout.h"
#include "shm/why.h"

#include <stdint.h>

#define SF_SHM_FIELD_COUNT 5
/** Width of the widest ID. */
#define SF_SHM_ID_BITS_MAX 64u
/** Width of the widest node id, worker and process together; and of the widest sequence. */
#define SF_SHM_NODE_BITS_MAX 31u
#define SF_SHM_SEQUENCE_BITS_MAX 31u
/** Width of the widest time field. */
#define SF_SHM_TIME_BITS_MAX 63u
#define SF_SHM_TICK_MS_MAX 60000u
/** Either side of 1970: what still fits a signed 64-bit count of nanoseconds, 1684 to 2255. */
#define SF_SHM_EPOCH_MS_MAX INT64_C(9000000000000)

struct sf_shm_field {
	const char *letter;
	const char *name;
	uint8_t bits_min; /* 0: the field may be absent */
	uint8_t bits_max;
	uint8_t bits_at; /* offsets in struct sf_layout */
	uint8_t shift_at;
};

extern const struct sf_shm_field sf_shm_fields[SF_SHM_FIELD_COUNT];

static inline unsigned sf_shm_field_bits(const struct sf_layout *layout,
					 const struct sf_shm_field *field)
{
	return ((const uint8_t *)layout)[field->bits_at];
}

static inline unsigned sf_shm_field_shift(const struct sf_layout *layout,
					  const struct sf_shm_field *field)
{
	return ((const uint8_t *)layout)[field->shift_at];
}

/** Bits of the IDs of a wide layout. */
unsigned sf_shm_format_bits(const struct sf_layout *layout);
/** sf_layout_check() for a layout whose format is not 0. */
int sf_shm_format_check(const struct sf_layout *layout, struct sf_why *why);
/** The wide format of that name, or SF_FORMAT_SNOWFLAKE. */
unsigned sf_shm_format_find(const struct sf_shm_token *token);
/** What functions of 64-bit IDs say of a wide layout, and yield. */
#define SF_SHM_REFUSE_WIDE(layout, why)                                                            \
	SF_SHM_REFUSE(why, -EINVAL, "format %s has no 64-bit IDs; use the functions of its own",   \
		      sf_format_name((layout)->format))

#endif
