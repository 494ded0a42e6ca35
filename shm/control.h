/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The control channel: messages between sfd and libsfclient or sfctl over a Unix SOCK_SEQPACKET
 * socket. One request, one reply; a reply's type is the request's. Every field is little-endian and
 * fixed width. A connection that sent ATTACH counts as an attached client until it closes.
 *
 * Version history: 1 first version. Either side refuses another version, naming both numbers.
 */
#ifndef SF_SHM_CONTROL_H
#define SF_SHM_CONTROL_H

#include "shm/abi.h"

#include <stdbool.h>
#include <stdint.h>

#define SF_CONTROL_MAGIC UINT32_C(0x43444653) /* "SFDC" */
#define SF_CONTROL_VERSION 1
#define SF_CONTROL_SOCKET_NAME "sfd.sock"

enum sf_control_type {
	SF_CONTROL_ATTACH = 1,  /* reply sf_control_attached, with the grants and claims memfds */
	SF_CONTROL_STATS = 2,   /* reply sf_control_stats of one stream */
	SF_CONTROL_CLIENTS = 3, /* reply sf_control_clients: a page of the attached clients */
	SF_CONTROL_UPGRADE = 4, /* reply sf_control_upgraded, by the next sfd */
};

/** What starts every message, either way. */
struct sf_control_head {
	uint32_t magic;   /* SF_CONTROL_MAGIC */
	uint16_t version; /* SF_CONTROL_VERSION */
	uint16_t type;    /* enum sf_control_type */
	uint32_t length;  /* of the whole message, bytes */
	int32_t status;   /* reply: 0 or a negative errno; request: 0 */
};

/** Every request but UPGRADE. */
struct sf_control_request {
	struct sf_control_head head;
	/* NUL-terminated. Empty for STATS and CLIENTS: take the stream number `index` instead. */
	char stream[SF_SHM_STREAM_NAME_MAX];
	uint32_t index;     /* STATS, CLIENTS without a name: stream number from 0 */
	uint32_t offset;    /* CLIENTS: how many to skip */
	uint16_t abi_major; /* ATTACH: what the client was built for */
	uint16_t abi_minor;
	uint32_t pad0;
};

#define SF_CONTROL_PATH_MAX 1008

/**
 * Request UPGRADE: sfd becomes another program, which goes on with its rings and connections. Root
 * and sfd's own user may ask.
 */
struct sf_control_upgrade {
	struct sf_control_head head;
	/* absolute, NUL-terminated, as sfd sees it. Empty: the file that sfd was started from */
	char path[SF_CONTROL_PATH_MAX];
};

/** Reply to UPGRADE, on the same connection. */
struct sf_control_upgraded {
	struct sf_control_head head;
	uint32_t pid;
	uint32_t pad0;
	char version[16]; /* of the sfd that replies */
	char before[16];  /* of the sfd that was asked */
};

/** Reply to any request that was refused (head.status < 0). */
struct sf_control_refused {
	struct sf_control_head head;
	char text[240]; /* a sentence, NUL-terminated */
};

/** Reply to ATTACH; SCM_RIGHTS carries the grants memfd, then the claims memfd. */
struct sf_control_attached {
	struct sf_control_head head;
	uint64_t generation;
	uint64_t grants_bytes;
	uint64_t claims_bytes;
	int64_t mono_ns; /* the daemon's CLOCK_MONOTONIC: finds a client in another time namespace
			  */
	/* where the client counts its IDs, see sf_shm_tally(); 0: nowhere. Only for a client that
	 * knows ABI minor 2: the reply ends before it otherwise. */
	uint32_t tally;
	uint32_t pad0;
};

/** Length of that reply to a client that knows no tally, and of an sfd that knows none. */
#define SF_CONTROL_ATTACHED_SHORT offsetof(struct sf_control_attached, tally)

enum sf_counter {
#define SF_COUNTER(name, kind, unit, help) SF_COUNTER_##name,
#include "shm/counters.def"
#undef SF_COUNTER
	SF_COUNTER_COUNT
};

/** Reply to STATS. */
struct sf_control_stats {
	struct sf_control_head head;
	char stream[SF_SHM_STREAM_NAME_MAX];
	uint32_t index;
	uint32_t stream_count;
	uint32_t pid;
	uint32_t state; /* enum sf_shm_state */
	uint32_t ahead_ticks;
	uint32_t runway_ticks;
	uint32_t node_count;
	uint32_t loop; /* 0 io_uring, 1 poll */
	char version[16];
	int64_t started_unix_ns;
	int64_t now_unix_ns;
	struct sf_layout layout;
	uint64_t counter[SF_COUNTER_COUNT]; /* signed where the help says so */
	uint32_t node[SF_NODES_MAX];
};

struct sf_control_client {
	uint32_t pid;
	uint32_t uid;
	int64_t since_unix_ns;
	char command[16];
	/* IDs given to it since then; SF_CONTROL_NOT_COUNTED: its libsfclient does not count */
	uint64_t ids;
};

#define SF_CONTROL_NOT_COUNTED UINT64_MAX
#define SF_CONTROL_CLIENTS_PAGE 64

/** Reply to CLIENTS. */
struct sf_control_clients {
	struct sf_control_head head;
	uint32_t total; /* attached to the stream now */
	uint32_t count; /* valid entries below */
	struct sf_control_client client[SF_CONTROL_CLIENTS_PAGE];
};

static_assert(sizeof(struct sf_control_head) == 16, "control ABI");
static_assert(sizeof(struct sf_control_request) == 64, "control ABI");
static_assert(sizeof(struct sf_control_upgrade) == 1024, "control ABI");
static_assert(sizeof(struct sf_control_upgraded) == 56, "control ABI");
static_assert(sizeof(struct sf_control_refused) == 256, "control ABI");
static_assert(SF_CONTROL_ATTACHED_SHORT == 48 && sizeof(struct sf_control_attached) == 56,
	      "control ABI");
static_assert(sizeof(struct sf_control_client) == 40, "control ABI");
static_assert(sizeof(struct sf_control_clients) == 24 + 40 * SF_CONTROL_CLIENTS_PAGE,
	      "control ABI");
static_assert(sizeof(struct sf_control_stats) ==
		      16 + 32 + 32 + 16 + 16 + 24 + 8 * SF_COUNTER_COUNT + 4 * SF_NODES_MAX,
	      "control ABI");

/** Largest message of the protocol. */
#define SF_CONTROL_MESSAGE_MAX sizeof(struct sf_control_clients)
static_assert(SF_CONTROL_MESSAGE_MAX >= sizeof(struct sf_control_stats), "largest of all");

/** Length of a successful reply of a type; 0 for an unknown type. */
static inline uint32_t sf_control_reply_length(uint16_t type)
{
	switch (type) {
	case SF_CONTROL_ATTACH:
		return sizeof(struct sf_control_attached);
	case SF_CONTROL_STATS:
		return sizeof(struct sf_control_stats);
	case SF_CONTROL_CLIENTS:
		return sizeof(struct sf_control_clients);
	case SF_CONTROL_UPGRADE:
		return sizeof(struct sf_control_upgraded);
	default:
		return 0;
	}
}

/** Length of a request of a type. */
static inline uint32_t sf_control_request_length(uint16_t type)
{
	return type == SF_CONTROL_UPGRADE ? sizeof(struct sf_control_upgrade)
					  : sizeof(struct sf_control_request);
}

#endif
