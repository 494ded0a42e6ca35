/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Ranges of IDs for queries and paging, and shards.
 *
 * Pure functions: no daemon, no clock, no allocation, no state. Any thread, any signal handler.
 * Errors are negative errno values; a `struct sf_why *` may be NULL, and otherwise receives one
 * sentence. Results (`ret_...`) are untouched on failure. See also sf_id_min() and sf_id_max().
 */
#ifndef SF_PAGING_H
#define SF_PAGING_H

#include <sfformats.h>
#include <sflayout.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Smallest and largest ID that any node may make from `since_ms` (its tick included) up to and not
 * including the tick of `until_ms`.
 * @param until_ms Unix milliseconds, in a later tick than `since_ms`; may be the first instant past
 *        the layout's end
 * @return 0; -EINVAL when both lie in one tick or the wrong way round, or for the layout of a wide
 *         format; -ERANGE outside the layout
 */
SF_API int sf_id_range(const struct sf_layout *layout, int64_t since_ms, int64_t until_ms,
		       uint64_t *ret_first, uint64_t *ret_last, struct sf_why *why);

/**
 * For a query with a strict "after ID": the value that makes the tick of `unix_ms` the first on
 * the page.
 * @return 0; -ENOENT for the layout's very first tick, for which there is none: ask without
 *         "after"; -EINVAL for the layout of a wide format; -ERANGE outside the layout
 */
SF_API int sf_id_after(const struct sf_layout *layout, int64_t unix_ms, uint64_t *ret_id,
		       struct sf_why *why);

/**
 * For a query with a strict "before ID": the value that makes the tick of `unix_ms` the last on
 * the page.
 * @return 0; -ENOENT when that is past the largest 64-bit number: ask without "before"; -EINVAL
 *         for the layout of a wide format; -ERANGE outside the layout
 */
SF_API int sf_id_before(const struct sf_layout *layout, int64_t unix_ms, uint64_t *ret_id,
			struct sf_why *why);

/**
 * Shard of an ID: its tick modulo the number of shards, as Discord's gateway has it.
 * @param shards 1 to 2^32 - 1
 * @return 0; -EINVAL for 0 shards or the layout of a wide format; -ERANGE for an ID that the
 *         layout cannot hold
 */
SF_API int sf_shard(const struct sf_layout *layout, uint64_t id, uint32_t shards,
		    uint32_t *ret_shard, struct sf_why *why);

/**
 * Smallest and largest value of a wide format from `since_ms` (its tick included) up to and not
 * including the tick of `until_ms`.
 * @param format SF_FORMAT_ULID, SF_FORMAT_UUID7 or SF_FORMAT_OBJECTID (whose tick is a second)
 * @param until_ms as in sf_id_range()
 * @return 0; -EINVAL for another format or an empty interval; -ERANGE outside the format
 */
SF_API int sf_wide_range(unsigned format, int64_t since_ms, int64_t until_ms,
			 struct sf_wide *ret_first, struct sf_wide *ret_last, struct sf_why *why);

#ifdef __cplusplus
}
#endif

#endif
