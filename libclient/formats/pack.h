/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The values of a stream of a wide format: counter `c` of a tick is the tick's first value + c. The
 * first value is made of the random base that the tick's grant carries, with the highest bit of
 * the counter's part kept clear, so that no counter carries out of the low half: all values of a
 * tick have one `high`, and their `low` rise by 1.
 */
#ifndef SF_FORMATS_PACK_H
#define SF_FORMATS_PACK_H

#include "shm/ring.h"

#include <sfformats.h>

/**
 * Value of a counter.
 * @param format one of the wide ones
 * @param range its tick, in the format's unit since 1970, and its base; nothing else is looked at
 * @param machine of a Hound stream, 48 bits; others ignore it
 * @param counter below SF_SHM_CAPACITY_MAX
 */
void sf_wide_pack(unsigned format, const struct sf_shm_range *range, uint64_t machine,
		  uint32_t counter, struct sf_wide *ret_id);

#endif
