/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Batches. First all keys are looked up, which disturbs nobody; then IDs of now are taken, which
 * may wait; only then the store is locked for what is new. What another process made in between is
 * found by the insertion. Nothing is acknowledged before the commit is on disk.
 */
#include "libclient/alias/alias.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/** IDs taken at a time: few, so that even a layout of some thousands a second gives them in time.
 */
#define TAKE_COUNT 1024

struct run {
	struct sf_alias *alias;
	const struct sf_alias_batch *batch;
	size_t writes;  /* records that need an alias */
	size_t lives;   /* those of them that need an ID of now */
	size_t pasts;   /* those of them that need an ID of the past */
	uint64_t *id;   /* for those */
	size_t id_next; /* the first that is not used */
	struct sf_alias_place place;
};

/** Notes that a record failed. @return 0 when the batch goes on without it */
static int refuse(struct run *run, size_t index, int error, const struct sf_why *reason,
		  struct sf_why *why)
{
	struct sf_alias_record *record = &run->batch->records[index];

	if (sf_alias_is_of_record(error)) {
		record->error = error;
		record->made = 0;
		if (run->batch->refused)
			run->batch->refused(run->batch->data, index, reason->text);
		if ((run->batch->flags & SF_ALIAS_SKIP) != 0)
			return 0;
	}
	if (why)
		*why = *reason;
	return error;
}

static int key_has_other(const struct sf_alias_record *record, uint64_t id, struct sf_why *why)
{
	return SF_ALIAS_REFUSE(why, -EEXIST, "key \"%s\" has ID %" PRIu64 " already, not %" PRIu64,
			       sf_alias_key_show(record->key, record->key_length).text, id,
			       record->id);
}

/* ---- before the lock ---- */

/** Whether a given ID can be one, and has the given time. */
static int check_id(const struct sf_alias *alias, const struct sf_alias_record *record,
		    struct sf_why *why)
{
	struct sf_parts parts;
	int r = sf_decompose(&alias->layout, record->id, &parts, why);

	if (r < 0 || (record->flags & SF_ALIAS_CREATED) == 0)
		return r;
	if (record->created_unix_ms < parts.unix_ms ||
	    record->created_unix_ms >= parts.unix_ms + alias->layout.tick_ms)
		return SF_ALIAS_REFUSE(why, -EINVAL,
				       "ID %" PRIu64 " is of %" PRId64
				       " ms, not of the creation time "
				       "%" PRId64 " ms; give one of them only",
				       record->id, parts.unix_ms, record->created_unix_ms);
	return 0;
}

static int look(struct run *run, struct sf_alias_record *record, struct sf_why *why)
{
	struct sf_alias_key key;
	uint64_t id;
	int r = sf_alias_key_init(&key, record->key, record->key_length, why);

	if (r < 0)
		return r;
	if ((record->flags & ~(SF_ALIAS_CREATED | SF_ALIAS_ID)) != 0)
		return SF_ALIAS_REFUSE(why, -EINVAL, "record flags 0x%x; legal are 0x%x",
				       record->flags, SF_ALIAS_CREATED | SF_ALIAS_ID);
	if ((record->flags & SF_ALIAS_ID) != 0)
		r = check_id(run->alias, record, why);
	if (r < 0)
		return r;
	r = sf_alias_look_id(run->alias, &key, &id, why);
	if (r == -ENOENT) {
		record->made = 1;
		run->writes++;
		run->lives += record->flags == 0;
		run->pasts += record->flags == SF_ALIAS_CREATED;
		return 0;
	}
	if (r == 0 && (record->flags & SF_ALIAS_ID) != 0 && record->id != id)
		return key_has_other(record, id, why);
	if (r == 0)
		record->id = id;
	return r;
}

static int look_all(struct run *run, struct sf_why *why)
{
	struct sf_why reason = {{0}};
	int r = 0;

	/* One snapshot for all costs less than one each. */
	if (run->batch->count > 1)
		r = sf_alias_run(run->alias, SF_ALIAS_BEGIN_READ, why);
	for (size_t i = 0; r == 0 && i < run->batch->count; i++) {
		struct sf_alias_record *record = &run->batch->records[i];

		record->error = 0;
		record->made = 0;
		r = look(run, record, &reason);
		if (r < 0)
			r = refuse(run, i, r, &reason, why);
	}
	sf_alias_rollback(run->alias);
	return r;
}

/** That the store lacks what IDs of the past need is no fault of a record. */
static int check_past(const struct run *run, struct sf_why *why)
{
	if (run->pasts == 0 || (run->alias->flags & SF_ALIAS_MACHINE_ID) != 0)
		return 0;
	return SF_ALIAS_REFUSE(why, -EADDRNOTAVAIL,
			       "%.80s: the store has no machine id for IDs of the past; give one "
			       "that no stream has",
			       run->alias->path);
}

static int refuse_take(const struct sf_alias *alias, int error, struct sf_why *why)
{
	int64_t left_ms = error == -ETIME ? sf_cursor_remaining_ms(alias->cursor) : 0;
	char wait[48] = "";

	if (left_ms > 0)
		(void)snprintf(wait, sizeof(wait), ", in %" PRId64 " ms", left_ms);
	return SF_ALIAS_REFUSE(why, error, "no ID from stream %.60s: %s%s",
			       sf_client_stream(alias->client), sf_strerror(error), wait);
}

static int take_ids(struct run *run, struct sf_why *why)
{
	struct sf_alias *alias = run->alias;

	if (run->lives == 0)
		return 0;
	if (!alias->cursor)
		return SF_ALIAS_REFUSE(why, -ENOTCONN,
				       "%.80s: a new key needs an ID of now; open the store with a "
				       "client of a running sfd",
				       alias->path);
	run->id = calloc(run->lives, sizeof(*run->id));
	if (!run->id)
		return SF_ALIAS_REFUSE(why, -ENOMEM, "no memory for %zu IDs", run->lives);
	for (size_t done = 0; done < run->lives; done += TAKE_COUNT) {
		size_t left = run->lives - done;
		int r = sf_fill(alias->cursor, run->id + done,
				left < TAKE_COUNT ? left : TAKE_COUNT);

		if (r < 0)
			return refuse_take(alias, r, why);
	}
	return 0;
}

/* ---- under the lock ---- */

int sf_alias_insert(struct sf_alias *alias, const struct sf_alias_key *key, uint64_t id,
		    struct sf_why *why)
{
	sqlite3_stmt *insert = alias->statement[SF_ALIAS_INSERT];
	int code = sqlite3_bind_int64(insert, 1, (int64_t)id);

	if (code == SQLITE_OK)
		code = sf_alias_key_bind(insert, 2, key);
	if (code == SQLITE_OK)
		code = sqlite3_step(insert);
	(void)sqlite3_reset(insert);
	/* A key that is there inserts nothing; only the ID is left to be in conflict. */
	if ((code & 0xff) == SQLITE_CONSTRAINT)
		return -EEXIST;
	if (code != SQLITE_DONE)
		return sf_alias_refuse(alias, code, "write an alias", why);
	return sqlite3_changes(alias->db) == 0;
}

/** The given ID is in the store: with this very key, if another process was quicker? */
static int put_again(struct sf_alias *alias, const struct sf_alias_key *key,
		     const struct sf_alias_record *record, struct sf_why *why)
{
	char other[SF_ALIAS_KEY_MAX + 1];
	uint64_t id;
	int r = sf_alias_look_id(alias, key, &id, why);

	if (r == 0)
		return id == record->id ? 1 : key_has_other(record, id, why);
	if (r == -ENOENT)
		r = sf_alias_look_key(alias, record->id, other, why);
	if (r < 0)
		return r;
	return SF_ALIAS_REFUSE(why, -EEXIST,
			       "ID %" PRIu64 " belongs to key \"%s\" already, not to \"%s\"",
			       record->id, sf_alias_key_show(other, (size_t)r).text,
			       sf_alias_key_show(record->key, record->key_length).text);
}

static int put(struct sf_alias *alias, const struct sf_alias_key *key,
	       const struct sf_alias_record *record, struct sf_why *why)
{
	int r = sf_alias_insert(alias, key, record->id, why);

	return r == 1 || r == -EEXIST ? put_again(alias, key, record, why) : r;
}

/** One of those taken before the lock, as long as there are some. */
static int next_id(struct run *run, uint64_t *ret_id)
{
	if (run->id_next == run->lives)
		return sf_next(run->alias->cursor, ret_id);
	*ret_id = run->id[run->id_next++];
	return 0;
}

/** With an ID of now. One that was put into the store from outside may be the same: then the next.
 */
static int make_live(struct run *run, const struct sf_alias_key *key, uint64_t *ret_id,
		     struct sf_why *why)
{
	uint64_t id = 0;
	int r;

	do {
		r = next_id(run, &id);
		if (r < 0)
			return refuse_take(run->alias, r, why);
		r = sf_alias_insert(run->alias, key, id, why);
	} while (r == -EEXIST);
	if (r == 0)
		*ret_id = id;
	return r;
}

/** @return 0, or a negative errno */
static int make(struct run *run, struct sf_alias_record *record, struct sf_why *why)
{
	struct sf_alias_key key;
	int r = sf_alias_key_init(&key, record->key, record->key_length, why);

	if (r < 0)
		return r;
	if ((record->flags & SF_ALIAS_ID) != 0)
		r = put(run->alias, &key, record, why);
	else if ((record->flags & SF_ALIAS_CREATED) != 0)
		r = sf_alias_backfill(run->alias, &run->place, &key, record->created_unix_ms,
				      &record->id, why);
	else
		r = make_live(run, &key, &record->id, why);
	if (r != 1)
		return r;
	record->made = 0; /* somebody else did, or an earlier record of this batch */
	return sf_alias_look_id(run->alias, &key, &record->id, why);
}

static int make_all(struct run *run, struct sf_why *why)
{
	struct sf_why reason = {{0}};
	int r = 0;

	for (size_t i = 0; r == 0 && i < run->batch->count; i++) {
		struct sf_alias_record *record = &run->batch->records[i];

		if (record->made == 0)
			continue;
		r = make(run, record, &reason);
		if (r < 0 && record->flags != 0)
			r = refuse(run, i, r, &reason, why);
		else if (r < 0 && why) /* that there is no ID of now is no record's fault */
			*why = reason;
	}
	if (r < 0)
		return r;
	return sf_alias_place_store(run->alias, &run->place, why);
}

static int job_set(struct sf_alias *alias, const char *name, const struct sf_alias_job *job,
		   struct sf_why *why)
{
	sqlite3_stmt *set = alias->statement[SF_ALIAS_JOB_SET];
	int code = sqlite3_bind_text(set, 1, name, -1, SQLITE_STATIC);

	if (code == SQLITE_OK)
		code = sqlite3_bind_text(set, 2, job->source, -1, SQLITE_STATIC);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(set, 3, (int64_t)job->offset);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(set, 4, (int64_t)job->line);
	if (code == SQLITE_OK)
		code = sqlite3_step(set);
	(void)sqlite3_reset(set);
	return code == SQLITE_DONE ? 0 : sf_alias_refuse(alias, code, "note a job", why);
}

/** What is new, in one transaction. */
static int write_all(struct run *run, struct sf_why *why)
{
	struct sf_alias *alias = run->alias;
	int r = sf_alias_run(alias, SF_ALIAS_BEGIN_WRITE, why);

	if (r < 0)
		return r;
	r = sf_alias_check_place(alias, why);
	if (r == 0)
		r = make_all(run, why);
	if (r == 0 && run->batch->job_name)
		r = job_set(alias, run->batch->job_name, run->batch->job, why);
	if (r == 0)
		r = sf_alias_run(alias, SF_ALIAS_COMMIT, why);
	if (r < 0)
		sf_alias_rollback(alias);
	return r;
}

static int check_batch(const struct sf_alias_batch *batch, struct sf_why *why)
{
	if (batch->size != sizeof(*batch) || (batch->flags & ~SF_ALIAS_SKIP) != 0 ||
	    batch->count > INT32_MAX || (batch->count > 0 && !batch->records))
		return SF_ALIAS_REFUSE(why, -EINVAL, "a batch of wrong size, flags or count");
	if (!batch->job_name)
		return 0;
	if (!batch->job || !batch->job->source ||
	    strnlen(batch->job_name, SF_ALIAS_JOB_MAX + 1) > SF_ALIAS_JOB_MAX ||
	    strnlen(batch->job->source, SF_ALIAS_JOB_MAX + 1) > SF_ALIAS_JOB_MAX)
		return SF_ALIAS_REFUSE(why, -EINVAL,
				       "a job needs a name and a source of up to %d bytes",
				       SF_ALIAS_JOB_MAX);
	return 0;
}

int sf_alias_apply_held(struct sf_alias *alias, const struct sf_alias_batch *batch,
			struct sf_why *why)
{
	struct run run = {.alias = alias, .batch = batch};
	int r = check_batch(batch, why);

	if (r == 0)
		r = look_all(&run, why);
	if (r < 0 || (run.writes == 0 && !batch->job_name))
		return r;
	if ((alias->flags & SF_ALIAS_READ_ONLY) != 0)
		return SF_ALIAS_REFUSE(why, -EROFS, "%.80s: the store was opened to be read only",
				       alias->path);
	r = check_past(&run, why);
	if (r == 0)
		r = take_ids(&run, why);
	if (r == 0)
		r = write_all(&run, why);
	free(run.id);
	return r;
}

int sf_alias_job_held(struct sf_alias *alias, const char *name, char *ret_source,
		      struct sf_alias_job *ret_job, struct sf_why *why)
{
	sqlite3_stmt *get = alias->statement[SF_ALIAS_JOB_GET];
	int code = sqlite3_bind_text(get, 1, name, -1, SQLITE_STATIC);

	if (code == SQLITE_OK)
		code = sqlite3_step(get);
	if (code == SQLITE_ROW) {
		const char *source = (const char *)sqlite3_column_text(get, 0);

		(void)snprintf(ret_source, SF_ALIAS_JOB_MAX + 1, "%s", source ? source : "");
		*ret_job = (struct sf_alias_job){
			.offset = (uint64_t)sqlite3_column_int64(get, 1),
			.line = (uint64_t)sqlite3_column_int64(get, 2),
			.source = ret_source,
		};
	}
	(void)sqlite3_reset(get);
	if (code == SQLITE_ROW)
		return 0;
	if (code != SQLITE_DONE)
		return sf_alias_refuse(alias, code, "look up a job", why);
	return SF_ALIAS_REFUSE(why, -ENOENT, "%.80s: no job is named \"%.80s\"", alias->path, name);
}
