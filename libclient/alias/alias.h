/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Inside libsfalias: what a handle is made of, and which file owns which step. README.md beside
 * this has the format of the store and its promises.
 *
 *   alias.c      handles: open, close, whose turn it is
 *   store.c      the file: is it a store, of which layout; making one; the write-ahead log
 *   place.c      what is at the path
 *   statement.c  the SQL, and SQLite's errors as ours
 *   node.c       the lock on the machine id of backfilled IDs
 *   key.c        keys: check, UUIDs, sentences
 *   look.c       look-ups and the walk
 *   make.c       batches: what makes aliases
 *   backfill.c   IDs of the past
 *
 * All but alias.c runs while the caller's thread holds the handle.
 */
#ifndef SF_ALIAS_INTERNAL_H
#define SF_ALIAS_INTERNAL_H

#include <sfalias.h>
#include <sfclient.h>

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/** Writes the sentence and yields `error`. */
#define SF_ALIAS_REFUSE(why, error, ...)                                                           \
	((void)((why) && snprintf((why)->text, sizeof((why)->text), __VA_ARGS__)), (error))

enum sf_alias_statement {
	SF_ALIAS_BEGIN_READ,
	SF_ALIAS_BEGIN_WRITE,
	SF_ALIAS_COMMIT,
	SF_ALIAS_FIND,
	SF_ALIAS_REVERSE,
	SF_ALIAS_INSERT,
	SF_ALIAS_NEXT_GET,
	SF_ALIAS_NEXT_SET,
	SF_ALIAS_JOB_GET,
	SF_ALIAS_JOB_SET,
	SF_ALIAS_EACH_LOW,
	SF_ALIAS_EACH_HIGH,
	SF_ALIAS_STATEMENTS,
};

struct sf_alias {
	pthread_mutex_t mutex; /* whose turn it is */
	pid_t pid;             /* that opened it */
	uint32_t flags;
	uint32_t busy_ms;
	uint32_t machine_id; /* valid with SF_ALIAS_MACHINE_ID in `flags` */
	int node_fd;         /* holds the lock on it; -1: none */
	int64_t busy_until_ns;
	struct sf_layout layout;
	struct sf_client *client;
	struct sf_cursor *cursor; /* NULL: no IDs of now */
	char *path;
	sqlite3 *db;
	sqlite3_stmt *statement[SF_ALIAS_STATEMENTS];
};

/** A key as the store has it. */
struct sf_alias_key {
	const char *text;
	uint32_t length;
	bool is_uuid;
	uint8_t uuid[SF_WIDE_BYTES];
};

/** Enough of a key for a sentence. */
struct sf_alias_shown {
	char text[48];
};

/** Where backfill goes on, within one transaction. Zero-initialised. */
struct sf_alias_place {
	bool is_known; /* the rest is valid */
	bool is_dirty; /* `next` differs from the store's */
	uint64_t asked_tick;
	uint64_t tick; /* where the asked tick's next ID lies */
	uint64_t next; /* its counter */
};

/* statement.c */
int sf_alias_prepare(struct sf_alias *alias, struct sf_why *why);
void sf_alias_finalize(struct sf_alias *alias);
/** Runs a statement without parameters that yields no row. */
int sf_alias_run(struct sf_alias *alias, enum sf_alias_statement which, struct sf_why *why);
/** What SQLite's last error on the handle means. */
int sf_alias_refuse(const struct sf_alias *alias, int code, const char *action, struct sf_why *why);
/** Whether an error is about one record, and not about the store or the stream. */
bool sf_alias_is_of_record(int error);
/** Ends a transaction that failed; fine when there is none. */
void sf_alias_rollback(struct sf_alias *alias);

/* store.c */
/** Opens the file; alias->path, layout and client are set. */
int sf_alias_store_open(struct sf_alias *alias, const struct sf_alias_options *options,
			struct sf_why *why);
void sf_alias_store_close(struct sf_alias *alias);

/* place.c */
/** @return 0; -EPROTO when no file is there but something else; or another negative errno */
int sf_alias_look_at_place(const struct sf_alias *alias, bool *ret_is_there, struct sf_why *why);
/** SQLite could not open the file, which was there or not: it tells of its last attempt, which was
 * only to read. */
int sf_alias_refuse_place(const struct sf_alias *alias, int code, bool is_there,
			  struct sf_why *why);
/** Whether the file is still the one at its path. @return 0 or -ESTALE */
int sf_alias_check_place(const struct sf_alias *alias, struct sf_why *why);

/* node.c */
int sf_alias_node_lock(uint32_t node, int *ret_fd, struct sf_why *why);
/** Gives the lock back and closes `fd`. */
void sf_alias_node_unlock(uint32_t node, int fd);

/* key.c */
int sf_alias_key_init(struct sf_alias_key *key, const char *text, size_t length,
		      struct sf_why *why);
int sf_alias_key_bind(sqlite3_stmt *statement, int index, const struct sf_alias_key *key);
/** Key of a row's column. `ret_key` has room for SF_ALIAS_KEY_MAX + 1. @return length or -EBADMSG
 */
int sf_alias_key_column(sqlite3_stmt *statement, int column, char *ret_key);
struct sf_alias_shown sf_alias_key_show(const char *text, size_t length);

/* look.c */
/** @return 0, -ENOENT without a sentence, or another negative errno */
int sf_alias_look_id(struct sf_alias *alias, const struct sf_alias_key *key, uint64_t *ret_id,
		     struct sf_why *why);
/** @return length of the key, -ENOENT without a sentence, or another negative errno */
int sf_alias_look_key(struct sf_alias *alias, uint64_t id, char *ret_key, struct sf_why *why);
/** sf_alias_each() */
int sf_alias_walk(struct sf_alias *alias, sf_alias_pair_fn pair, void *data, struct sf_why *why);

/* make.c */
/**
 * Inserts a pair. @return 0; 1 when the key is there already; -EEXIST without a sentence when the
 * ID is; or another negative errno
 */
int sf_alias_insert(struct sf_alias *alias, const struct sf_alias_key *key, uint64_t id,
		    struct sf_why *why);
int sf_alias_apply_held(struct sf_alias *alias, const struct sf_alias_batch *batch,
			struct sf_why *why);
/** sf_alias_job() */
int sf_alias_job_held(struct sf_alias *alias, const char *name, char *ret_source,
		      struct sf_alias_job *ret_job, struct sf_why *why);

/* backfill.c */
/**
 * Inserts a key with an ID of the past. @return 0, 1 when the key is there already, or a negative
 * errno
 */
int sf_alias_backfill(struct sf_alias *alias, struct sf_alias_place *place,
		      const struct sf_alias_key *key, int64_t unix_ms, uint64_t *ret_id,
		      struct sf_why *why);
/** Writes what the store does not know yet; before the commit. */
int sf_alias_place_store(struct sf_alias *alias, struct sf_alias_place *place, struct sf_why *why);

#endif
