/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * ID layouts: how a 64-bit ID is packed out of time, node and sequence.
 *
 * Everything here is a pure function of its arguments: no daemon, no clock, no allocation, no
 * state. Every function may be called from any thread and from signal handlers. Errors are
 * negative errno values; where a function takes a `struct sf_why *`, it may be NULL, and otherwise
 * receives one sentence that names the thing, the value and the remedy.
 */
#ifndef SF_LAYOUT_H
#define SF_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef SF_API
/** Marks what the shared library exports; everything else is hidden. */
#define SF_API __attribute__((visibility("default")))
#endif

/** Format of a stream's IDs: 64-bit Snowflakes of a layout. */
#define SF_FORMAT_SNOWFLAKE 0
/** ULID: 48 bits of milliseconds, 80 bits of counter. */
#define SF_FORMAT_ULID 1
/** UUID version 7: 48 bits of milliseconds, 74 bits of counter. */
#define SF_FORMAT_UUID7 2
/** ObjectId: 32 bits of seconds, 64 bits of counter. */
#define SF_FORMAT_OBJECTID 3
/** Hound: 22 bytes; milliseconds, machine id, client id and sequence. */
#define SF_FORMAT_HOUND 4

/** Most node ids (machine ids) that one stream may hold. */
#define SF_NODES_MAX 256
/** Enough room for what sf_layout_format() writes, the final NUL included. */
#define SF_LAYOUT_TEXT_MAX 96

/** Why a call failed, as a sentence for people. Empty after success. */
struct sf_why {
	/** NUL-terminated; cut when longer. */
	char text[240];
};

/**
 * A layout: the fields of an ID, and what a tick is.
 *
 * A field with width 0 is absent. A layout has a time and a sequence field, and either a node
 * field or a worker and a process field (whose values together are the node id: worker in its
 * high bits, process in its low bits). Fields do not overlap; the time field is the highest.
 *
 * The layout of a wide format (ULID, UUIDv7, ObjectId, Hound) says no more than what a tick is: its
 * packing is the format's. Functions that pack 64-bit IDs refuse it with -EINVAL.
 */
struct sf_layout {
	/** Unix time of tick 0, milliseconds. */
	int64_t epoch_ms;
	/** Length of a tick, milliseconds, 1 to 60000. */
	uint32_t tick_ms;
	/** Width of the time field, 1 to 63 bits. */
	uint8_t time_bits;
	/** Position of the time field's lowest bit. */
	uint8_t time_shift;
	/** Width of the node field, 0 to 31 bits. */
	uint8_t node_bits;
	/** Position of the node field's lowest bit. */
	uint8_t node_shift;
	/** Width of the worker field, 0 to 31 bits. */
	uint8_t worker_bits;
	/** Position of the worker field's lowest bit. */
	uint8_t worker_shift;
	/** Width of the process field, 0 to 31 bits. */
	uint8_t process_bits;
	/** Position of the process field's lowest bit. */
	uint8_t process_shift;
	/** Width of the sequence field, 1 to 31 bits. */
	uint8_t sequence_bits;
	/** Position of the sequence field's lowest bit. */
	uint8_t sequence_shift;
	/** SF_FORMAT_...; for the wide ones only epoch, tick and time field have a meaning, and all
	 *  is as sf_layout_of_format() makes it. */
	uint8_t format;
	/** Zero. */
	uint8_t pad0[1];
};

/** An ID taken apart, or what to compose one from. */
struct sf_parts {
	/** Unix time of the start of the tick, milliseconds. sf_compose() rounds down to a tick. */
	int64_t unix_ms;
	/** Ticks since the layout's epoch. Result only: sf_compose() ignores it. */
	uint64_t tick;
	/** Node id; for worker and process layouts worker << process_bits | process. */
	uint32_t node;
	/** Sequence number. */
	uint32_t sequence;
	/** Worker half of the node id; result only, 0 when the layout has none. */
	uint32_t worker;
	/** Process half of the node id; result only, 0 when the layout has none. */
	uint32_t process;
};

/** A layout that has a name of its own. */
struct sf_preset {
	/** What sf_layout_parse() accepts. */
	const char *name;
	/** The same in notation. */
	const char *notation;
	/** Where the constants are published. */
	const char *source;
};

/**
 * The presets, in a fixed order.
 * @param ret_count number of entries; not NULL
 * @return array that lives as long as the program
 */
SF_API const struct sf_preset *sf_presets(size_t *ret_count);

/**
 * Read a layout: a preset's name, or a notation such as "t41 n10 s12 epoch=1288834974657
 * tick=1ms", or the name of a wide format. Fields stand from the high bit down, each a letter (t
 * time, n node, w worker, p process, s sequence) and a width in bits. `epoch` is Unix milliseconds
 * and defaults to 0 (the Unix epoch), `tick` is a number with ms or s and defaults to 1ms.
 * @return 0, or -EINVAL with the reason in `why`; `ret_layout` is untouched on failure
 */
SF_API int sf_layout_parse(const char *text, struct sf_layout *ret_layout, struct sf_why *why);

/**
 * Write a layout in canonical notation, epoch and tick always included.
 * @param size at least SF_LAYOUT_TEXT_MAX
 * @return length without the NUL, or -EINVAL for a layout that sf_layout_check() refuses, or
 *         -ENOSPC for a buffer that is too small
 */
SF_API int sf_layout_format(const struct sf_layout *layout, char *buffer, size_t size);

/**
 * The layout of a wide format: epoch 0, ticks of 1 ms (ObjectId: 1 s), and its time field.
 * @return 0, or -EINVAL for what is no wide format
 */
SF_API int sf_layout_of_format(unsigned format, struct sf_layout *ret_layout);

/** Name of a format: "snowflake", "ulid", "uuid7", "objectid", "hound"; NULL for no format. */
SF_API const char *sf_format_name(unsigned format);

/**
 * Check a layout that did not come from sf_layout_parse().
 * @return 0, or -EINVAL with the reason in `why`
 */
SF_API int sf_layout_check(const struct sf_layout *layout, struct sf_why *why);

/**
 * Name of the preset that equals this layout, or of its wide format.
 * @return the name, or NULL for a layout of one's own
 */
SF_API const char *sf_layout_name(const struct sf_layout *layout);

/** Width of the node id: node, or worker and process together, bits. */
SF_API unsigned sf_layout_node_bits(const struct sf_layout *layout);

/** Width of the whole ID, bits; IDs are below 2 to this power. Wide formats: 128, 128, 96, 128. */
SF_API unsigned sf_layout_bits(const struct sf_layout *layout);

/** The last tick that fits the time field. */
SF_API uint64_t sf_layout_last_tick(const struct sf_layout *layout);

/** Unix time in milliseconds of the last millisecond that has an ID; INT64_MAX when later. */
SF_API int64_t sf_layout_last_ms(const struct sf_layout *layout);

/**
 * Pack an ID from `unix_ms`, `node` and `sequence`.
 * @return 0, -EINVAL for the layout of a wide format, or -ERANGE when a value does not fit, with
 * the legal range in `why`
 */
SF_API int sf_compose(const struct sf_layout *layout, const struct sf_parts *parts,
		      uint64_t *ret_id, struct sf_why *why);

/**
 * Take an ID apart.
 * @return 0, -EINVAL for the layout of a wide format, or -ERANGE for a number that the layout
 *         cannot hold
 */
SF_API int sf_decompose(const struct sf_layout *layout, uint64_t id, struct sf_parts *ret_parts,
			struct sf_why *why);

/**
 * The smallest ID that any node may make in the tick of `unix_ms`: "from this time on" is
 * `id >= sf_id_min(time)`, "before this time" is `id < sf_id_min(time)`.
 * @return 0, -EINVAL for the layout of a wide format, or -ERANGE for a time outside the layout
 */
SF_API int sf_id_min(const struct sf_layout *layout, int64_t unix_ms, uint64_t *ret_id,
		     struct sf_why *why);

/**
 * The largest ID that any node may make in the tick of `unix_ms`: "up to and including this time"
 * is `id <= sf_id_max(time)`.
 * @return 0, -EINVAL for the layout of a wide format, or -ERANGE for a time outside the layout
 */
SF_API int sf_id_max(const struct sf_layout *layout, int64_t unix_ms, uint64_t *ret_id,
		     struct sf_why *why);

#ifdef __cplusplus
}
#endif

#endif
