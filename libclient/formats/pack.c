/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Values of streams of the wide formats; see pack.h. Called by cursors once a claim; it must never
 * allocate, keep state or enter the kernel.
 */
#include "libclient/formats/pack.h"

#include "libclient/formats/uuid.h"

/* What a base leaves free above any counter, in the low half. */
#define LOW_63 (UINT64_MAX >> 1)
#define LOW_61 (UINT64_MAX >> 3)
/* Of 16 bits of client id; the sequence, 16 bits more, begins at 0. */
#define CLIENT_15 0x7fffu
#define MACHINE_48 (UINT64_MAX >> 16)

static_assert(SF_SHM_CAPACITY_MAX <= UINT64_C(1) << 30,
	      "counters fit above the base of any format");

void sf_wide_pack(unsigned format, const struct sf_shm_range *range, uint64_t machine,
		  uint32_t counter, struct sf_wide *ret_id)
{
	const uint64_t high = range->base_high;
	const uint64_t low = range->base_low;
	uint64_t client;

	switch (format) {
	case SF_FORMAT_ULID:
		*ret_id = (struct sf_wide){range->tick << 16 | (high & 0xffff),
					   (low & LOW_63) + counter};
		break;
	case SF_FORMAT_UUID7:
		*ret_id = sf_uuid7_pack(range->tick, high, (low & LOW_61) + counter);
		break;
	case SF_FORMAT_OBJECTID:
		*ret_id = (struct sf_wide){range->tick, (low & LOW_63) + counter};
		break;
	case SF_FORMAT_HOUND:
	default:
		client = (low & CLIENT_15) << 16;
		machine &= MACHINE_48;
		*ret_id = (struct sf_wide){range->tick << 16 | machine >> 32,
					   machine << 32 | (client + counter)};
		break;
	}
}
