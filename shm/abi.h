/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The shared memory of one stream: every struct that crosses the boundary, and nothing else.
 *
 *   memfd    struct                     written by            read by
 *   grants   sf_shm_grants (4096 B)     daemon                clients, read-only mapping
 *   grants   sf_shm_grant[slots]        daemon                clients, read-only mapping
 *   claims   sf_shm_claims (4096 B)     clients and daemon    clients and daemon
 *   claims   sf_shm_claim[slots]        clients and daemon    clients and daemon
 *
 * The protocol is explained in shm/README.md. Anything that the daemon reads from the claims memfd
 * is hostile input: bounded, never an index or a size unchecked.
 */
#ifndef SF_SHM_ABI_H
#define SF_SHM_ABI_H

#include "shm/sflayout.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the beat's futex half is its upper half");
static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && sizeof(_Atomic uint64_t) == 8,
	      "shared words are plain lock-free u64");

/** Another major version is refused; a minor version only appends. */
#define SF_SHM_ABI_MAJOR 1
#define SF_SHM_ABI_MINOR 2
/** What a minor version brought that the other side must know of. */
#define SF_SHM_ABI_MINOR_TALLIES 2
#define SF_SHM_GRANTS_MAGIC UINT64_C(0x31544e5247464453) /* "SDFGRNT1" */
#define SF_SHM_CLAIMS_MAGIC UINT64_C(0x314d4c4347464453) /* "SDFGCLM1" */
#define SF_SHM_HEADER_BYTES 4096u
#define SF_SHM_STREAM_NAME_MAX 32
/** Bounds of the ring, so that a client can check a header before it multiplies. */
#define SF_SHM_SLOTS_MIN 16u
#define SF_SHM_SLOTS_MAX (1u << 20)
/** Keeps a claim word's counter, overshoot included, far from the tag above it. */
#define SF_SHM_CAPACITY_MAX (1u << 30)
/** Most counters that one claim may take; a sixteenth of the capacity bounds it, too. */
#define SF_SHM_CLAIM_MAX 8192u
/** Tallies: counters beside the claim words, one an attached client (since minor 2). */
#define SF_SHM_TALLIES_A_LINE 7u
/** Lines of the claims' head that hold tallies and no claim word. */
#define SF_SHM_SPARE_LINES 59u

/** Values of sf_shm_grants.state. */
enum sf_shm_state {
	SF_SHM_RUNNING = 1,   /* ticks are being published */
	SF_SHM_WAITING = 2,   /* the clock is before the layout's epoch: no tick exists yet */
	SF_SHM_EXHAUSTED = 3, /* the clock is past the layout's last tick */
	SF_SHM_STOPPED = 4,   /* clean stop: the unused runway was given back */
	SF_SHM_HELD = 5,      /* the mark cannot be raised: publishing stands still */
	SF_SHM_BEHIND = 6,    /* the wall went back, and callers wait or are refused meanwhile */
};

/** One copy of the time page's clock; see shm/timepage.h. */
struct sf_shm_time {
	/* CLOCK_MONOTONIC of the pair, ns | W: daemon, beat thread | R: clients | relaxed, latch */
	_Atomic int64_t base_mono_ns;
	/* Unix time of the pair, ns | W: daemon, beat thread | R: clients | relaxed, latch */
	_Atomic int64_t base_unix_ns;
	/* low half: time runs at 1 / 2^shift of the monotonic clock from the pair on; high half:
	 * enum sf_shm_behind, in force before the pair (since minor 1) | relaxed, latch */
	_Atomic uint64_t shift;
};

/** The time page: a latch of two copies. */
struct sf_shm_timepage {
	/* its lowest bit picks the copy to read | W: daemon | R: clients | release T1, acquire B1
	 */
	_Atomic uint64_t sequence;
	struct sf_shm_time copy[2];
};

/** The head of the grants memfd. */
struct sf_shm_grants {
	/* ---- constant: written before the descriptors are handed out, never again ---- */
	uint64_t magic;        /* SF_SHM_GRANTS_MAGIC */
	uint16_t abi_major;    /* SF_SHM_ABI_MAJOR */
	uint16_t abi_minor;    /* SF_SHM_ABI_MINOR */
	uint32_t header_bytes; /* SF_SHM_HEADER_BYTES */
	uint64_t total_bytes;  /* size of the grants memfd */
	uint64_t claims_bytes; /* size of the claims memfd */
	uint64_t generation;   /* random, never 0: tells one ring from the next */
	uint64_t first_tick;   /* nothing below was or will be published in this ring */
	uint64_t last_tick;    /* the layout's last tick */
	uint32_t slots;        /* power of two, SF_SHM_SLOTS_MIN..SF_SHM_SLOTS_MAX */
	uint32_t ahead_ticks;  /* ahead limit */
	uint32_t runway_ticks; /* horizon - now, when the daemon has just published */
	uint32_t capacity;     /* counters of a tick over all nodes, 1..SF_SHM_CAPACITY_MAX */
	uint32_t node_count;   /* 1..SF_NODES_MAX; 0 for the wide formats */
	uint32_t pid;          /* of the daemon, in its own pid namespace */
	struct sf_layout layout;
	char stream[SF_SHM_STREAM_NAME_MAX]; /* NUL-terminated */
	/* the daemon's CLOCK_MONOTONIC from which on the ring may be claimed from: a ring before
	 * this one, of the same boot, has run out by then. 0: there is none */
	int64_t open_mono_ns;
	uint8_t pad0[368];

	/* ---- changing, each group on cache lines of its own ---- */
	/* beat, see shm/beat.h | W: daemon, beat thread; the kernel at its death | R: clients */
	_Atomic uint64_t beat;
	/* last tick published | W: daemon, beat thread | R: clients | release R2, acquire A2 */
	_Atomic uint64_t horizon;
	uint8_t pad1[112];

	struct sf_shm_timepage time;
	uint8_t pad2[72];

	/* enum sf_shm_state | W: daemon, beat thread | R: clients | relaxed: only picks an error */
	_Atomic uint32_t state;
	uint8_t pad3[252];

	/* ---- constant ---- */
	uint32_t node[SF_NODES_MAX]; /* node ids, in the order of their bits */
	/* the same as bits of an ID, ascending; format hound: the machine id comes first */
	uint64_t node_packed[SF_NODES_MAX];
};

/** One tick's range as the daemon grants it. Written before the claim word carries the tag. */
struct sf_shm_grant {
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

/**
 * One claim word, one cache line: tag in the high half, next counter in the low half. Behind it, in
 * the same line, tallies.
 */
struct sf_shm_claim {
	/* W: clients add, daemon exchanges | R: all | release R1, acquire A1 */
	_Atomic uint64_t word;
	/* statistic: IDs given to the client that has this tally | W: that client adds, daemon
	 * zeroes | R: daemon | relaxed */
	_Atomic uint64_t tally[SF_SHM_TALLIES_A_LINE];
};

/** The head of the claims memfd. All of it is written by clients. */
struct sf_shm_claims {
	uint64_t magic; /* SF_SHM_CLAIMS_MAGIC */
	uint64_t pad0[15];
	/* highest tick claimed from | W: clients, CAS maximum | R: all | release R4, acquire A4 */
	_Atomic uint64_t floor;
	uint64_t pad1[15];
	/* statistic: times a caller had to wait or was told EAGAIN | relaxed adds */
	_Atomic uint64_t waits;
	/* statistic: counters claimed and dropped unused at a tick's end | relaxed adds */
	_Atomic uint64_t dropped;
	uint64_t pad2[6];
	/* tallies without a claim word beside them; the slots' lines follow at once */
	struct sf_shm_claim spare[SF_SHM_SPARE_LINES];
};

#define SF_SHM_AT(type, field, off)                                                                \
	static_assert(offsetof(struct type, field) == (off), #type "." #field " moved")

static_assert(sizeof(struct sf_layout) == 24, "sf_layout is part of the header");
SF_SHM_AT(sf_shm_grants, magic, 0);
SF_SHM_AT(sf_shm_grants, abi_major, 8);
SF_SHM_AT(sf_shm_grants, abi_minor, 10);
SF_SHM_AT(sf_shm_grants, header_bytes, 12);
SF_SHM_AT(sf_shm_grants, total_bytes, 16);
SF_SHM_AT(sf_shm_grants, claims_bytes, 24);
SF_SHM_AT(sf_shm_grants, generation, 32);
SF_SHM_AT(sf_shm_grants, first_tick, 40);
SF_SHM_AT(sf_shm_grants, last_tick, 48);
SF_SHM_AT(sf_shm_grants, slots, 56);
SF_SHM_AT(sf_shm_grants, ahead_ticks, 60);
SF_SHM_AT(sf_shm_grants, runway_ticks, 64);
SF_SHM_AT(sf_shm_grants, capacity, 68);
SF_SHM_AT(sf_shm_grants, node_count, 72);
SF_SHM_AT(sf_shm_grants, pid, 76);
SF_SHM_AT(sf_shm_grants, layout, 80);
SF_SHM_AT(sf_shm_grants, stream, 104);
SF_SHM_AT(sf_shm_grants, open_mono_ns, 136);
SF_SHM_AT(sf_shm_grants, beat, 512);
SF_SHM_AT(sf_shm_grants, horizon, 520);
SF_SHM_AT(sf_shm_grants, time, 640);
static_assert(sizeof(struct sf_shm_timepage) == 56, "a sequence and two copies");
SF_SHM_AT(sf_shm_grants, state, 768);
SF_SHM_AT(sf_shm_grants, node, 1024);
SF_SHM_AT(sf_shm_grants, node_packed, 2048);
static_assert(sizeof(struct sf_shm_grants) == SF_SHM_HEADER_BYTES, "the header is one page");
SF_SHM_AT(sf_shm_grant, tick, 0);
SF_SHM_AT(sf_shm_grant, capacity, 8);
SF_SHM_AT(sf_shm_grant, start, 12);
SF_SHM_AT(sf_shm_grant, base_high, 16);
SF_SHM_AT(sf_shm_grant, base_low, 24);
static_assert(sizeof(struct sf_shm_grant) == 32, "two grants a cache line");
SF_SHM_AT(sf_shm_claims, floor, 128);
SF_SHM_AT(sf_shm_claims, waits, 256);
SF_SHM_AT(sf_shm_claims, dropped, 264);
SF_SHM_AT(sf_shm_claims, spare, 320);
static_assert(sizeof(struct sf_shm_claims) == SF_SHM_HEADER_BYTES, "the header is one page");
SF_SHM_AT(sf_shm_claim, word, 0);
SF_SHM_AT(sf_shm_claim, tally, 8);
static_assert(sizeof(struct sf_shm_claim) == 64, "one claim word, one cache line");

/** Size of the grants memfd of a ring. */
static inline uint64_t sf_shm_grants_bytes(uint32_t slots)
{
	return SF_SHM_HEADER_BYTES + (uint64_t)slots * sizeof(struct sf_shm_grant);
}

/** Tallies that a ring has room for; they are numbered from 1. */
static inline uint32_t sf_shm_tallies(uint32_t slots)
{
	return SF_SHM_TALLIES_A_LINE * (SF_SHM_SPARE_LINES + slots);
}

/** Size of the claims memfd of a ring. */
static inline uint64_t sf_shm_claims_bytes(uint32_t slots)
{
	return SF_SHM_HEADER_BYTES + (uint64_t)slots * sizeof(struct sf_shm_claim);
}

#endif
