/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What processes of different builds share under ABI version 1: the memory of a ring, and the
 * cursor, which sf_next() is inlined on. A literal copy under other names, taken when version 1 was
 * made and never edited: a test holds today's structs against it, field by field. A new major
 * version gets a file of its own beside this one.
 */
#ifndef SF_SHM_FROZEN_LAYOUT_V1_H
#define SF_SHM_FROZEN_LAYOUT_V1_H

#include <stdatomic.h>
#include <stdint.h>

#define SF_SHM_V1_ABI_MAJOR 1
#define SF_SHM_V1_GRANTS_MAGIC UINT64_C(0x31544e5247464453)
#define SF_SHM_V1_CLAIMS_MAGIC UINT64_C(0x314d4c4347464453)
#define SF_SHM_V1_HEADER_BYTES 4096u
#define SF_SHM_V1_SLOTS_MIN 16u
#define SF_SHM_V1_SLOTS_MAX (1u << 20)
#define SF_SHM_V1_CAPACITY_MAX (1u << 30)
#define SF_SHM_V1_BEAT_FUTEX_OFFSET 4

/**
 * A layout: the fields of an ID, and what a tick is.
 *
 * A field with width 0 is absent. A layout has a time and a sequence field, and either a node
 * field or a worker and a process field (whose values together are the node id: worker in its
 * high bits, process in its low bits). Fields do not overlap; the time field is the highest.
 */
struct sf_shm_v1_layout {
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
	/** Zero. */
	uint8_t pad0[2];
};

/** Values of sf_shm_grants.state. */
enum sf_shm_v1_state {
	SF_SHM_V1_RUNNING = 1,   /* ticks are being published */
	SF_SHM_V1_WAITING = 2,   /* the clock is before the layout's epoch: no tick exists yet */
	SF_SHM_V1_EXHAUSTED = 3, /* the clock is past the layout's last tick */
	SF_SHM_V1_STOPPED = 4,   /* clean stop: the unused runway was given back */
	SF_SHM_V1_HELD = 5,      /* the mark cannot be raised: publishing stands still */
};

struct sf_shm_v1_time {
	/* CLOCK_MONOTONIC of the pair, ns | W: daemon, beat thread | R: clients | relaxed, latch */
	_Atomic int64_t base_mono_ns;
	/* Unix time of the pair, ns | W: daemon, beat thread | R: clients | relaxed, latch */
	_Atomic int64_t base_unix_ns;
	/* time runs at 1 / 2^shift of the monotonic clock; 63 = stands still | relaxed, latch */
	_Atomic uint64_t shift;
};

/** The time page: a latch of two copies. */
struct sf_shm_v1_timepage {
	/* its lowest bit picks the copy to read | W: daemon | R: clients | release T1, acquire B1
	 */
	_Atomic uint64_t sequence;
	struct sf_shm_v1_time copy[2];
};

/** The head of the grants memfd. */
struct sf_shm_v1_grants {
	/* ---- constant: written before the descriptors are handed out, never again ---- */
	uint64_t magic;        /* SF_SHM_V1_GRANTS_MAGIC */
	uint16_t abi_major;    /* SF_SHM_V1_ABI_MAJOR */
	uint16_t abi_minor;    /* the minor version */
	uint32_t header_bytes; /* SF_SHM_V1_HEADER_BYTES */
	uint64_t total_bytes;  /* size of the grants memfd */
	uint64_t claims_bytes; /* size of the claims memfd */
	uint64_t generation;   /* random, never 0: tells one ring from the next */
	uint64_t first_tick;   /* nothing below was or will be published in this ring */
	uint64_t last_tick;    /* the layout's last tick */
	uint32_t slots;        /* power of two, SF_SHM_V1_SLOTS_MIN..SF_SHM_V1_SLOTS_MAX */
	uint32_t ahead_ticks;  /* ahead limit */
	uint32_t runway_ticks; /* horizon - now, when the daemon has just published */
	uint32_t capacity;     /* counters of a tick over all nodes, 1..SF_SHM_V1_CAPACITY_MAX */
	uint32_t node_count;   /* 1..256 */
	uint32_t pid;          /* of the daemon, in its own pid namespace */
	struct sf_shm_v1_layout layout;
	char stream[32]; /* NUL-terminated */
	int64_t open_mono_ns;
	uint8_t pad0[368];

	/* ---- changing, each group on cache lines of its own ---- */
	/* beat, see shm/beat.h | W: daemon, beat thread; the kernel at its death | R: clients */
	_Atomic uint64_t beat;
	/* last tick published | W: daemon, beat thread | R: clients | release R2, acquire A2 */
	_Atomic uint64_t horizon;
	uint8_t pad1[112];

	struct sf_shm_v1_timepage time;
	uint8_t pad2[72];

	/* enum sf_shm_v1_state | W: daemon, beat thread | R: clients | relaxed: only picks an error
	 */
	_Atomic uint32_t state;
	uint8_t pad3[252];

	/* ---- constant ---- */
	uint32_t node[256];        /* node ids, in the order of their bits */
	uint64_t node_packed[256]; /* the same as bits of an ID, ascending */
};

/** One tick's range as the daemon grants it. Written before the claim word carries the tag. */
struct sf_shm_v1_grant {
	/* the tick, 0 while being rewritten | W: daemon | R: clients | release R3, acquire A3 */
	_Atomic uint64_t tick;
	/* counters to claim | W: daemon | R: clients | relaxed between two reads of tick */
	_Atomic uint32_t capacity;
	/* sequence offset of counter 0 | W: daemon | R: clients | relaxed, likewise */
	_Atomic uint32_t start;
	/* random base of wide formats | W: daemon | R: clients | relaxed, likewise */
	_Atomic uint64_t base_high;
	_Atomic uint64_t base_low;
};

/** The head of the claims memfd. All of it is written by clients. */
struct sf_shm_v1_claims {
	uint64_t magic; /* SF_SHM_V1_CLAIMS_MAGIC */
	uint64_t pad0[15];
	/* highest tick claimed from | W: clients, CAS maximum | R: all | release R4, acquire A4 */
	_Atomic uint64_t floor;
	uint64_t pad1[15];
	/* statistic: times a caller had to wait or was told EAGAIN | relaxed adds */
	_Atomic uint64_t waits;
	/* statistic: counters claimed and dropped unused at a tick's end | relaxed adds */
	_Atomic uint64_t dropped;
	uint64_t pad2[478];
};

/** One claim word, one cache line: tag in the high half, next counter in the low half. */
struct sf_shm_v1_claim {
	/* W: clients add, daemon exchanges | R: all | release R1, acquire A1 */
	_Atomic uint64_t word;
	uint64_t pad0[7];
};

/**
 * A thread's private position in the range it claimed last. The fields belong to sf_next(), which
 * is inlined into programs; do not touch them.
 */
struct sf_shm_v1_cursor {
	/** Next ID to give. */
	uint64_t next;
	/** One step past the last ID of the range; equal to `next` when the range is used up. */
	uint64_t end;
	/** Distance of neighbouring IDs. */
	uint64_t step;
	/** Shared beat at the time of the claim. */
	uint64_t beat;
	/** The shared beat. */
	const uint64_t *shared_beat;
	/** Zero. */
	uint64_t reserved[3];
};

#endif
