/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The bytes of a mark file: two places, each for one record, written in turn. Reading and judging
 * them is pure, so that tests and the fuzzer reach it without a file.
 *
 * Every version of the format begins with magic, version and length, and ends, at `length`, with
 * the CRC32 of all before; so a record of another version is told from a damaged one.
 */
#ifndef SFD_MARK_RECORD_H
#define SFD_MARK_RECORD_H

#include "daemon/mark.h"

#define SFD_MARK_MAGIC UINT64_C(0x314b52414d444653) /* "SFDMARK1" */
#define SFD_MARK_VERSION 1
/** Of a wide format's record: the same struct, but an sfd that knows none must not misread it. */
#define SFD_MARK_VERSION_WIDE 2
/** A place is a page, so that writing one never rewrites a sector of the other. */
#define SFD_MARK_PLACE_BYTES 4096u
#define SFD_MARK_FILE_BYTES 8192u

/** One record as it lies in the file. Little-endian, as shm/abi.h asserts. */
struct sfd_mark_record {
	uint64_t magic;
	uint32_t version;
	uint32_t length;         /* of the record, CRC included */
	uint64_t sequence;       /* 1 for the first record; odd ones lie in the first place */
	uint64_t tick;           /* the mark */
	uint64_t restarts;       /* starts of a daemon on this file, the writer's included */
	int64_t written_unix_ns; /* for people */
	char boot_id[40];        /* for people; empty when unknown */
	char stream[SF_SHM_STREAM_NAME_MAX];
	struct sf_layout layout;
	uint32_t node_count;
	uint32_t node[SF_NODES_MAX]; /* ascending; the rest is 0 */
	uint32_t crc;                /* CRC32 of everything before it */
};

SF_SHM_AT(sfd_mark_record, magic, 0);
SF_SHM_AT(sfd_mark_record, version, 8);
SF_SHM_AT(sfd_mark_record, length, 12);
SF_SHM_AT(sfd_mark_record, sequence, 16);
SF_SHM_AT(sfd_mark_record, tick, 24);
SF_SHM_AT(sfd_mark_record, restarts, 32);
SF_SHM_AT(sfd_mark_record, written_unix_ns, 40);
SF_SHM_AT(sfd_mark_record, boot_id, 48);
SF_SHM_AT(sfd_mark_record, stream, 88);
SF_SHM_AT(sfd_mark_record, layout, 120);
SF_SHM_AT(sfd_mark_record, node_count, 144);
SF_SHM_AT(sfd_mark_record, node, 148);
SF_SHM_AT(sfd_mark_record, crc, 1172);
static_assert(sizeof(struct sfd_mark_record) == 1176, "no padding inside the checksum");

static_assert(SFD_MARK_FILE_BYTES == 2 * SFD_MARK_PLACE_BYTES, "two places");

/** What lies in one place of the file. */
enum sfd_mark_place {
	SFD_MARK_EMPTY,
	SFD_MARK_FOREIGN,       /* no record of sfd */
	SFD_MARK_DAMAGED,       /* torn by a crash, cut, or altered */
	SFD_MARK_OTHER_VERSION, /* whole, but of a format that this sfd does not know */
	SFD_MARK_WHOLE,
};

/** Both places of a file, each judged by itself. */
struct sfd_mark_places {
	enum sfd_mark_place place[2];
	struct sfd_mark_record record[2]; /* of SFD_MARK_OTHER_VERSION only what all begin with */
};

/** What a mark file says. */
struct sfd_mark_content {
	struct sfd_mark_record record; /* the newest whole one */
	bool is_damaged;               /* the other one is damaged, and may have been the newer */
};

/** Where the record with this sequence number lies in the file. */
static inline uint32_t sfd_mark_record_offset(uint64_t sequence)
{
	return (sequence & 1) != 0 ? 0 : SFD_MARK_PLACE_BYTES;
}

/** Sets magic, version, length and CRC of a record that is otherwise complete. */
void sfd_mark_record_seal(struct sfd_mark_record *record);

/** Looks at the first `length` bytes of a mark file, at most SFD_MARK_FILE_BYTES. */
void sfd_mark_record_look(const uint8_t *bytes, size_t length, struct sfd_mark_places *ret_places);

/**
 * The newest whole record of a file.
 * @return 0, or -EUCLEAN without one; other versions are left out of account
 */
int sfd_mark_record_choose(const struct sfd_mark_places *places,
			   struct sfd_mark_content *ret_content);

/**
 * Judges the first `length` bytes of a mark file, at most SFD_MARK_FILE_BYTES.
 * @param path of the file, for the sentence
 * @param ours whose start the file would stop, for the sentence
 * @return 0; -EUCLEAN without a whole record; -EPROTO for another version of the format
 */
int sfd_mark_record_read(const uint8_t *bytes, size_t length, const char *path,
			 const struct sfd_identity *ours, struct sfd_mark_content *ret_content,
			 struct sf_why *why);

/** No tick above this was published, whatever the damaged record said. */
uint64_t sfd_mark_record_tick(const struct sfd_mark_content *content);

#endif
