/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * libsfalias: the lasting pair of a native key (a UUID or any short string) and a Snowflake, in one
 * SQLite file.
 *
 *   struct sf_alias_options options = {.size = sizeof(options), .path = path, .client = client};
 *   struct sf_alias *alias;
 *   uint64_t id;
 *
 *   sf_alias_open(&options, &alias, &why);                  once a process
 *   sf_alias_get(alias, key, strlen(key), &id, &why);       the same answer ever after
 *   sf_alias_close(alias);
 *
 * A pair that a call returned is on disk and outlives a crash of the process and of the host. It is
 * the same for every process, and never changes.
 *
 * Keys are 1 to 255 bytes of UTF-8 without NUL, compared byte by byte. A UUID in its 36-character
 * form is one key in either case of letters, and comes back in lower case.
 *
 * Errors are negative errno values:
 *
 *   -ENOENT      the key or ID has no alias; the store does not exist
 *   -EEXIST      the key has another ID, or the ID another key
 *   -EOVERFLOW   the millisecond of a backfill has no free ID left
 *   -ERANGE      a time or an ID is outside the layout; a backfill lies in the future
 *   -EINVAL      an argument is out of range; layout or machine id are not the store's; the process
 *                was forked while a store was open
 *   -ENOTCONN    an ID of now is wanted and there is no client
 *   -EADDRNOTAVAIL  an ID of the past is wanted and the store has no machine id
 *   -ENOTSUP     the client's stream is of a wide format, not of 64-bit IDs
 *   -EBUSY       another process held the store for too long; the machine id is in use
 *   -EROFS       the store can only be read
 *   -ESTALE      the file was renamed, removed or replaced while it was open; open it anew
 *   -EPROTO      the file is no alias store, or one of a newer version
 *   -EBADMSG     the store is damaged
 *   -ENOSPC, -EIO, -EACCES, -ENOMEM ...   what the system refused
 *   an error of sf_next() where an ID of now was to be taken
 *
 * `why` may be NULL, and otherwise receives a sentence that names the thing, the value and the
 * remedy. Results (`ret_...`) are untouched on failure.
 *
 * Threads: a handle may be shared by any number of threads; its calls take turns, those that wait
 * for an ID or for the disk included. Threads that shall not wait for each other open a handle
 * each.
 *
 * Fork: a child that was forked while any handle was open can use none: its calls on inherited
 * handles return -EINVAL, closing them there does not touch the store, and sf_alias_open() returns
 * -EINVAL, since the child has inherited SQLite's record of file locks and not the locks. Let it
 * exec first, or open stores after the fork only: without an open handle a fork is harmless.
 */
#ifndef SF_ALIAS_H
#define SF_ALIAS_H

#include <sflayout.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Longest key, bytes. */
#define SF_ALIAS_KEY_MAX 255
/** Longest name of a job and of its source, bytes. */
#define SF_ALIAS_JOB_MAX 4095

/** Open: only look up; never makes or changes a store. */
#define SF_ALIAS_READ_ONLY 1u
/** Open: a store that does not exist is an error (-ENOENT), and not made. */
#define SF_ALIAS_MUST_EXIST 2u
/** Open: `machine_id` is set. */
#define SF_ALIAS_MACHINE_ID 4u
/** Open: a backfill whose tick is full takes the next tick with a free ID, not -EOVERFLOW. */
#define SF_ALIAS_NEXT_FREE 8u

/** An open store. */
struct sf_alias;
struct sf_client;

/** How to open a store. Zero or NULL in a field means its default. */
struct sf_alias_options {
	/** sizeof(struct sf_alias_options): lets the struct grow. */
	uint32_t size;
	/** SF_ALIAS_... of the above. */
	uint32_t flags;
	/** The file. Its directory must exist, be writable and on a local file system; to read a
	 * store that another process has open, it need not be writable. */
	const char *path;
	/** Layout of the IDs. Default: that of the store, else of the client's stream. */
	const struct sf_layout *layout;
	/** Where IDs of now come from; stays the caller's, and must outlive the handle. Not needed
	 * to look up, to backfill or to put. */
	struct sf_client *client;
	/** Node id of backfilled IDs, with SF_ALIAS_MACHINE_ID. One that no stream on any host has
	 * or ever had, and no other store. Kept in the store: needed once. */
	uint32_t machine_id;
	/** Longest wait for another process, ms; 0 = 10,000. */
	uint32_t busy_ms;
	/** Memory for the store's pages, KiB; 0 = 16,384. */
	uint32_t cache_kib;
	/** Zero. */
	uint32_t pad0;
};

/** Record: `created_unix_ms` is set, and a new alias is backfilled. */
#define SF_ALIAS_CREATED 1u
/** Record: `id` is set, and a new alias gets it. */
#define SF_ALIAS_ID 2u

/** One key of a batch. */
struct sf_alias_record {
	/** The key; need not end in NUL. */
	const char *key;
	/** Its bytes. */
	uint32_t key_length;
	/** SF_ALIAS_CREATED, SF_ALIAS_ID or both (whose times must agree) or neither: an ID of now.
	 */
	uint32_t flags;
	/** Time of the ID, Unix milliseconds. */
	int64_t created_unix_ms;
	/** In with SF_ALIAS_ID. Out: the key's ID. */
	uint64_t id;
	/** Out: 0, or why the record was refused. */
	int32_t error;
	/** Out: 1 when this batch made the alias, 0 when there was one. */
	uint32_t made;
};

/** Batch: leave refused records out and write the others. */
#define SF_ALIAS_SKIP 1u

/** How far a job has come. */
struct sf_alias_job {
	/** Bytes of its input that are done. */
	uint64_t offset;
	/** Lines of its input that are done. */
	uint64_t line;
	/** What the input is, in the caller's words; up to SF_ALIAS_JOB_MAX bytes. */
	const char *source;
};

/** Many keys in one transaction: all or nothing. */
struct sf_alias_batch {
	/** sizeof(struct sf_alias_batch): lets the struct grow. */
	uint32_t size;
	/** SF_ALIAS_SKIP or 0. */
	uint32_t flags;
	/** The records. IDs of now, and IDs of one tick, rise in their order. */
	struct sf_alias_record *records;
	/** Number of records, below 2^31. */
	size_t count;
	/** Name of a job whose progress is written in the same transaction; NULL: none. */
	const char *job_name;
	/** How far it is when the batch is done. */
	const struct sf_alias_job *job;
	/** Hears of each refused record and why, during the call; must not call the library. May be
	 *  NULL. */
	void (*refused)(void *data, size_t index, const char *sentence);
	/** First argument of `refused`. */
	void *data;
};

/**
 * Open a store, and make it if it does not exist. While a store that has a machine id is open for
 * writing, no sfd of the host can start with that machine id, and none may be running. What is
 * refused before a store is made leaves no file.
 * @return 0, -ENOTCONN (a new store, but neither layout nor client), or an error of the table above
 */
SF_API int sf_alias_open(const struct sf_alias_options *options, struct sf_alias **ret_alias,
			 struct sf_why *why);

/** Close; NULL is fine. No other thread may be in a call. */
SF_API void sf_alias_close(struct sf_alias *alias);

/** Layout of the store's IDs. Any thread; valid as long as the handle. */
SF_API const struct sf_layout *sf_alias_layout(const struct sf_alias *alias);

/**
 * The key's ID. At first sight an ID of now is taken from the client's stream. A known key needs
 * neither client nor daemon and does not wait for writers; a new one waits for the disk.
 * @return 0 or an error of the table above
 */
SF_API int sf_alias_get(struct sf_alias *alias, const char *key, size_t key_length,
			uint64_t *ret_id, struct sf_why *why);

/**
 * As sf_alias_get(), but a new ID is backfilled: it carries the time `created_unix_ms` and the
 * store's machine id, and no other ID of this store and no live ID is equal to it. Times before the
 * layout's epoch, or more than a tick ahead of the clock, are refused.
 * @return 0 or an error of the table above
 */
SF_API int sf_alias_get_at(struct sf_alias *alias, const char *key, size_t key_length,
			   int64_t created_unix_ms, uint64_t *ret_id, struct sf_why *why);

/**
 * Pair a key with an ID, as when a store is restored. A pair that exists is fine.
 * @return 0, -EEXIST naming both, or another error of the table above
 */
SF_API int sf_alias_put(struct sf_alias *alias, const char *key, size_t key_length, uint64_t id,
			struct sf_why *why);

/** The key's ID, if it has one. @return 0, -ENOENT, or another error of the table above */
SF_API int sf_alias_find(struct sf_alias *alias, const char *key, size_t key_length,
			 uint64_t *ret_id, struct sf_why *why);

/**
 * The key of an ID.
 * @param ret_key room for SF_ALIAS_KEY_MAX + 1; a NUL ends it
 * @return length of the key, -ENOENT, or another error of the table above
 */
SF_API int sf_alias_reverse(struct sf_alias *alias, uint64_t id, char *ret_key, struct sf_why *why);

/**
 * Get, backfill or put many keys in one transaction. IDs of now are taken before the store is
 * locked, so that no writer waits for them.
 *
 * Without SF_ALIAS_SKIP the first refused record ends the call and nothing is written. With it only
 * what concerns the store or the stream as a whole fails the call.
 * @return 0 when the records' results count and are on disk; else an error of the table above,
 *         after which `id` of records without SF_ALIAS_ID, and `made`, mean nothing
 */
SF_API int sf_alias_apply(struct sf_alias *alias, const struct sf_alias_batch *batch,
			  struct sf_why *why);

/**
 * How far a job has come, as the last batch that named it said.
 * @param ret_source room for SF_ALIAS_JOB_MAX + 1; `ret_job->source` then points to it
 * @return 0, -ENOENT when no batch named it, or another error of the table above
 */
SF_API int sf_alias_job(struct sf_alias *alias, const char *name, char *ret_source,
			struct sf_alias_job *ret_job, struct sf_why *why);

/** Hears of a pair. `key` ends in NUL. @return 0 to go on; anything else ends the walk */
typedef int (*sf_alias_pair_fn)(void *data, const char *key, size_t key_length, uint64_t id);

/**
 * Walk over all pairs in the order of their IDs, as of the moment of the call. `pair` must not call
 * the library with this handle. While the walk lasts, writers work on but their log grows.
 * @return 0, what `pair` returned, or an error of the table above
 */
SF_API int sf_alias_each(struct sf_alias *alias, sf_alias_pair_fn pair, void *data,
			 struct sf_why *why);

#ifdef __cplusplus
}
#endif

#endif
