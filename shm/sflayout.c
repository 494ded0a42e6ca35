/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Layouts as numbers: the check of layouts that come from elsewhere, and the packing of single IDs.
 * The notation is in notation.c. Any thread and any signal handler may call it, so it must never
 * allocate, keep state or call stdio. All but sf_layout_check() trust the layout they are given.
 */
#include "shm/sflayout.h"

#include "shm/notation.h"
#include "shm/why.h"

#include <errno.h>
#include <inttypes.h>

/** All ones below bit `bits`, 0 to 63. */
static uint64_t mask(unsigned bits)
{
	return (UINT64_C(1) << bits) - 1;
}

static int check_widths(const struct sf_layout *layout, struct sf_why *why)
{
	for (size_t i = 0; i < SF_SHM_FIELD_COUNT; i++) {
		unsigned bits = sf_shm_field_bits(layout, &sf_shm_fields[i]);

		if (bits < sf_shm_fields[i].bits_min || bits > sf_shm_fields[i].bits_max)
			return SF_SHM_REFUSE(why, -EINVAL,
					     "the %s field (%s) has %u bits; a layout needs one "
					     "whose width is in [%u,%u]",
					     sf_shm_fields[i].name, sf_shm_fields[i].letter, bits,
					     (unsigned)sf_shm_fields[i].bits_min,
					     (unsigned)sf_shm_fields[i].bits_max);
	}
	return 0;
}

static int check_node(const struct sf_layout *layout, struct sf_why *why)
{
	unsigned halves = (unsigned)layout->worker_bits + layout->process_bits;

	if (layout->node_bits && halves)
		return SF_SHM_REFUSE(why, -EINVAL,
				     "a node field (n) stands beside a worker or process field "
				     "(w, p); leave n out, or both others");
	if (!layout->node_bits && !halves)
		return SF_SHM_REFUSE(why, -EINVAL,
				     "the node field is missing; add n, or w and p, such as n10");
	if (halves > SF_SHM_NODE_BITS_MAX)
		return SF_SHM_REFUSE(why, -EINVAL,
				     "the worker and process fields (w, p) have %u bits together; "
				     "at most %u are legal",
				     halves, SF_SHM_NODE_BITS_MAX);
	return 0;
}

/**
 * Fields that lie below bit `total`, do not overlap, and are `total` bits wide together leave no
 * gap either.
 */
static int check_positions(const struct sf_layout *layout, struct sf_why *why)
{
	unsigned total = sf_layout_bits(layout);
	uint64_t used = 0;

	if (total > SF_SHM_ID_BITS_MAX)
		return SF_SHM_REFUSE(why, -EINVAL,
				     "the fields have %u bits together; at most %u fit", total,
				     SF_SHM_ID_BITS_MAX);
	for (size_t i = 0; i < SF_SHM_FIELD_COUNT; i++) {
		unsigned bits = sf_shm_field_bits(layout, &sf_shm_fields[i]);
		unsigned shift = sf_shm_field_shift(layout, &sf_shm_fields[i]);
		uint64_t own;

		if (bits == 0 ? shift != 0 : shift + bits > total)
			return SF_SHM_REFUSE(
				why, -EINVAL,
				"the %s field (%s), %u bits, lies at bit %u of %u; fields must "
				"adjoin and end at bit 0, absent ones lie at 0",
				sf_shm_fields[i].name, sf_shm_fields[i].letter, bits, shift, total);
		/* bits == 0 goes with shift == 0, all else with shift < 64 */
		own = mask(bits) << shift;
		if (used & own)
			return SF_SHM_REFUSE(
				why, -EINVAL,
				"the %s field (%s), %u bits at bit %u, overlaps another field",
				sf_shm_fields[i].name, sf_shm_fields[i].letter, bits, shift);
		used |= own;
	}
	if ((unsigned)layout->time_shift + layout->time_bits != total)
		return SF_SHM_REFUSE(why, -EINVAL,
				     "the time field (t) does not come first; put it before all "
				     "others, so that IDs rise with time");
	return 0;
}

int sf_layout_check(const struct sf_layout *layout, struct sf_why *why)
{
	int r;

	sf_shm_clear(why);
	if (layout->format != SF_FORMAT_SNOWFLAKE)
		return sf_shm_format_check(layout, why);
	r = check_widths(layout, why);
	if (r < 0)
		return r;
	r = check_node(layout, why);
	if (r < 0)
		return r;
	r = check_positions(layout, why);
	if (r < 0)
		return r;
	if (layout->tick_ms == 0 || layout->tick_ms > SF_SHM_TICK_MS_MAX)
		return SF_SHM_REFUSE(why, -EINVAL, "the tick is %u ms; legal is [1,%u]",
				     layout->tick_ms, SF_SHM_TICK_MS_MAX);
	if (layout->epoch_ms < -SF_SHM_EPOCH_MS_MAX || layout->epoch_ms > SF_SHM_EPOCH_MS_MAX)
		return SF_SHM_REFUSE(why, -EINVAL,
				     "the epoch is %" PRId64 " ms; legal is [%" PRId64 ",%" PRId64
				     "]",
				     layout->epoch_ms, -SF_SHM_EPOCH_MS_MAX, SF_SHM_EPOCH_MS_MAX);
	if (layout->pad0[0])
		return SF_SHM_REFUSE(why, -EINVAL,
				     "the layout's padding is not zero; it was not written by sfd");
	return 0;
}

unsigned sf_layout_node_bits(const struct sf_layout *layout)
{
	return (unsigned)layout->node_bits + layout->worker_bits + layout->process_bits;
}

unsigned sf_layout_bits(const struct sf_layout *layout)
{
	if (layout->format != SF_FORMAT_SNOWFLAKE)
		return sf_shm_format_bits(layout);
	return sf_layout_node_bits(layout) + layout->time_bits + layout->sequence_bits;
}

uint64_t sf_layout_last_tick(const struct sf_layout *layout)
{
	return mask(layout->time_bits);
}

int64_t sf_layout_last_ms(const struct sf_layout *layout)
{
	uint64_t ms;
	int64_t last;

	/* a product past 64 bits stays past 63 bits after the epoch, at most 2^53, is added */
	if (__builtin_mul_overflow(sf_layout_last_tick(layout) + 1, layout->tick_ms, &ms) ||
	    __builtin_add_overflow(layout->epoch_ms, ms - 1, &last))
		return INT64_MAX;
	return last;
}

/** Tick that holds a time, rounded down. */
static int tick_at(const struct sf_layout *layout, int64_t unix_ms, uint64_t *ret_tick,
		   struct sf_why *why)
{
	int64_t last_ms = sf_layout_last_ms(layout);
	uint64_t tick;

	if (layout->format != SF_FORMAT_SNOWFLAKE)
		return SF_SHM_REFUSE_WIDE(layout, why);
	if (unix_ms < layout->epoch_ms)
		return SF_SHM_REFUSE(why, -ERANGE,
				     "time %" PRId64 " ms lies before the layout's epoch; "
				     "legal is [%" PRId64 ",%" PRId64 "]",
				     unix_ms, layout->epoch_ms, last_ms);
	/* the distance of two int64_t always fits uint64_t */
	tick = ((uint64_t)unix_ms - (uint64_t)layout->epoch_ms) / layout->tick_ms;
	if (tick > sf_layout_last_tick(layout))
		return SF_SHM_REFUSE(why, -ERANGE,
				     "time %" PRId64 " ms lies past the layout's end: the layout "
				     "is exhausted; legal is [%" PRId64 ",%" PRId64 "]",
				     unix_ms, layout->epoch_ms, last_ms);
	*ret_tick = tick;
	return 0;
}

static int check_value(const char *name, uint32_t value, unsigned bits, struct sf_why *why)
{
	if (value > mask(bits))
		return SF_SHM_REFUSE(why, -ERANGE,
				     "%s %u does not fit %u bits; legal is [0,%" PRIu64 "]", name,
				     value, bits, mask(bits));
	return 0;
}

/** The bits of a node id that fits. */
static uint64_t pack_node(const struct sf_layout *layout, uint64_t node)
{
	if (layout->node_bits)
		return node << layout->node_shift;
	return (node >> layout->process_bits) << layout->worker_shift |
	       (node & mask(layout->process_bits)) << layout->process_shift;
}

int sf_compose(const struct sf_layout *layout, const struct sf_parts *parts, uint64_t *ret_id,
	       struct sf_why *why)
{
	uint64_t tick;
	int r;

	sf_shm_clear(why);
	r = tick_at(layout, parts->unix_ms, &tick, why);
	if (r < 0)
		return r;
	r = check_value("node", parts->node, sf_layout_node_bits(layout), why);
	if (r < 0)
		return r;
	r = check_value("sequence", parts->sequence, layout->sequence_bits, why);
	if (r < 0)
		return r;
	*ret_id = tick << layout->time_shift | pack_node(layout, parts->node) |
		  (uint64_t)parts->sequence << layout->sequence_shift;
	return 0;
}

/** The value of a field of at most 31 bits, 0 for an absent one. */
static uint32_t unpack(uint64_t id, unsigned bits, unsigned shift)
{
	return (uint32_t)(id >> shift & mask(bits));
}

int sf_decompose(const struct sf_layout *layout, uint64_t id, struct sf_parts *ret_parts,
		 struct sf_why *why)
{
	unsigned bits = sf_layout_bits(layout);
	struct sf_parts parts = {.tick = id >> layout->time_shift};
	uint64_t ms;

	sf_shm_clear(why);
	if (layout->format != SF_FORMAT_SNOWFLAKE)
		return SF_SHM_REFUSE_WIDE(layout, why);
	if (bits < SF_SHM_ID_BITS_MAX && id >> bits)
		return SF_SHM_REFUSE(why, -ERANGE,
				     "id %" PRIu64
				     " does not fit this %u-bit layout: largest id is %" PRIu64,
				     id, bits, mask(bits));
	if (__builtin_mul_overflow(parts.tick, layout->tick_ms, &ms) ||
	    __builtin_add_overflow(layout->epoch_ms, ms, &parts.unix_ms))
		return SF_SHM_REFUSE(why, -ERANGE,
				     "id %" PRIu64 " is of tick %" PRIu64 ", whose time in ms does "
				     "not fit 64 bits; use the layout that the ID was made with",
				     id, parts.tick);
	parts.worker = unpack(id, layout->worker_bits, layout->worker_shift);
	parts.process = unpack(id, layout->process_bits, layout->process_shift);
	parts.node = layout->node_bits ? unpack(id, layout->node_bits, layout->node_shift)
				       : parts.worker << layout->process_bits | parts.process;
	parts.sequence = unpack(id, layout->sequence_bits, layout->sequence_shift);
	*ret_parts = parts;
	return 0;
}

int sf_id_min(const struct sf_layout *layout, int64_t unix_ms, uint64_t *ret_id, struct sf_why *why)
{
	uint64_t tick;
	int r;

	sf_shm_clear(why);
	r = tick_at(layout, unix_ms, &tick, why);
	if (r < 0)
		return r;
	*ret_id = tick << layout->time_shift;
	return 0;
}

int sf_id_max(const struct sf_layout *layout, int64_t unix_ms, uint64_t *ret_id, struct sf_why *why)
{
	uint64_t first;
	int r;

	r = sf_id_min(layout, unix_ms, &first, why);
	if (r < 0)
		return r;
	*ret_id = first | mask(layout->time_shift);
	return 0;
}
