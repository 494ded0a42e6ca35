/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The mark: the durable promise that no tick above it was ever published, kept in a small file a
 * stream (mark_file.c), and its exact twin for a restart within the same boot, kept in a mapped
 * record in the runtime directory (runtime.c).
 *
 * Both name what they belong to: layout and node ids. A mark of another layout for one of our node
 * ids is refused, one of the same layout is honoured whatever stream wrote it.
 */
#ifndef SFD_MARK_H
#define SFD_MARK_H

#include "shm/abi.h"
#include "shm/timepage.h"

#include <stdbool.h>
#include <stdint.h>

/** How far ahead of the horizon a mark is raised, at most; so also what must be added to the older
 *  record of a file when the newer one is damaged. */
#define SFD_MARK_LEAD_MS 20000u

/** Room for the name of a mark file. */
#define SFD_MARK_NAME_BYTES 96

/** What a mark belongs to. */
struct sfd_identity {
	struct sf_layout layout;
	uint32_t node_count;
	uint32_t node[SF_NODES_MAX]; /* ascending; the rest is 0 */
};

struct sfd_mark;

/** One record on its way to the file: write `length` bytes of `data` at `offset`, then fdatasync.
 */
struct sfd_mark_write {
	const void *data;
	size_t length;
	int64_t offset;
};

/** What was found at the opening. */
struct sfd_mark_found {
	uint64_t tick; /* 0: no mark that concerns us */
	/* the same, of all files but the stream's own: its runtime record never speaks for these */
	uint64_t others;
	uint64_t restarts; /* starts of a daemon on this file before this one */
	/* A daemon of this boot wrote the stream's own: only of such a mark can the runtime record
	 * be the exact twin. One from another host or boot, or set by hand, counts beside it. */
	bool is_of_boot;
	/* wall clock when the mark was written, 0: never; a wall behind it has gone back since */
	int64_t written_unix_ns;
	/* what the stream's own file is called by now, since it is of other node ids or another
	 * layout; empty: it is not */
	char kept_name[SFD_MARK_NAME_BYTES];
};

/**
 * Opens or makes `DIR/STREAM.mark`, and reads every other mark of the directory that shares a node
 * id with `identity`.
 * @return 0, or a negative errno with a sentence in `why`: -EUCLEAN when both records of a file are
 *         damaged, -EEXIST when a node id was used with another layout, -EROFS, -EACCES, -ENOSPC
 * ...
 */
int sfd_mark_open(const char *state_dir, const char *stream, const struct sfd_identity *identity,
		  struct sfd_mark **ret_mark, struct sfd_mark_found *ret_found, struct sf_why *why);
/** What sfd_mark_open() would find, with the same refusals; makes and changes nothing. */
int sfd_mark_look(const char *state_dir, const char *stream, const struct sfd_identity *identity,
		  struct sfd_mark_found *ret_found, struct sf_why *why);
/** Returns NULL; NULL is fine. */
struct sfd_mark *sfd_mark_close(struct sfd_mark *mark);
int sfd_mark_fd(const struct sfd_mark *mark);
/** The next record. Its data stays valid until the next call. The place of the last record that
 *  sfd_mark_written() confirmed is never overwritten by it. */
void sfd_mark_prepare(struct sfd_mark *mark, uint64_t tick, struct sfd_mark_write *ret_write);
/** The prepared record is durable. */
void sfd_mark_written(struct sfd_mark *mark);
/** prepare, write, fdatasync and written in one, blocking: at start and at a clean stop. */
int sfd_mark_store(struct sfd_mark *mark, uint64_t tick);
/** Stores a mark set by hand, in both places: no runtime record of this boot can stand for it. */
int sfd_mark_set(struct sfd_mark *mark, uint64_t tick);

/**
 * Looks whether the file is still the one that was written, and writes it anew if somebody removed,
 * replaced or overwrote it: what a crash leaves must be our promise. Blocks only then. Not while a
 * prepared record is being written.
 * @return 0; 1 when it was mended, or a negative errno, each with a sentence
 */
int sfd_mark_mend(struct sfd_mark *mark, struct sf_why *why);

/** Sets the node ids to what stands for a hound stream's machine id. */
void sfd_identity_of_machine(struct sfd_identity *identity, uint64_t machine);

/** The mapped record of this boot. Written by the beat thread, read by the next daemon. */
struct sfd_runtime {
	uint64_t magic;
	uint32_t version;
	uint32_t pad0;
	char boot_id[40];
	struct sfd_identity identity;
	uint32_t pad1;
	/* the ring that this record speaks of */
	uint64_t generation;
	/* a ring after it may be claimed from when this has passed, too: until then there are
	 * clients of rings before it, or of what was handed over to it */
	int64_t open_mono_ns;
	/* start of the daemon that owns the record, as the mark file counts them: a record of
	 * another session is older than the mark */
	uint64_t session;
	/* no tick above was published | W: beat thread, before it publishes | R: the next daemon */
	_Atomic uint64_t horizon;
	/* the clock of the time page | W: beat thread | R: the next daemon */
	struct sf_shm_timepage time;
};

/** What the last daemon of this boot left. */
struct sfd_runtime_found {
	uint64_t horizon;          /* 0: nothing of this boot */
	uint64_t session;          /* valid when horizon != 0 */
	uint64_t generation;       /* valid when horizon != 0 */
	int64_t open_mono_ns;      /* valid when horizon != 0 */
	struct sf_shm_clock clock; /* valid when horizon != 0 */
};

/**
 * Maps `DIR/STREAM.runtime`, made anew when it is missing, of another boot, malformed or of another
 * identity (logged with the reason). Its blocks are reserved, so that writing to the mapping cannot
 * raise SIGBUS. `boot_id` is the text of /proc/sys/kernel/random/boot_id.
 */
int sfd_runtime_open(const char *runtime_dir, const char *stream,
		     const struct sfd_identity *identity, const char *boot_id,
		     struct sfd_runtime **ret_runtime, struct sfd_runtime_found *ret_found,
		     struct sf_why *why);
/** Unmaps; the record stays. Returns NULL; NULL is fine. */
struct sfd_runtime *sfd_runtime_close(struct sfd_runtime *runtime);

#endif
