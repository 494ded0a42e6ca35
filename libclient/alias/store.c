/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The file: whether it is a store and of which layout, making one, and its write-ahead log. A file
 * that is not ours is never written to.
 */
#include "libclient/alias/alias.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* "sfal": the file is a store of aliases. */
#define APPLICATION_ID 0x7366616c
/* The format; a change that this library could not read or write safely raises it. */
#define FORMAT 1
/* Larger than usual: keys come in no order, so each batch touches most pages of a young store, and
 * fewer pages are fewer places to find, to log and to write back. */
#define PAGE_BYTES "8192"
/* The log is written back to the file from here on: 64 MiB. */
#define LOG_PAGES 8192
#define LOG_BYTES "67108864"
/* Longest wait for readers when the log has grown far beyond that, because writers took turns
 * without a pause and it could not start anew. */
#define LOG_RESTART_MS 50
#define BUSY_PAUSE_NS 1000000
#define BUSY_MS_DEFAULT 10000
#define CACHE_KIB_DEFAULT 16384

#define TEXT(x) TEXT_OF(x)
#define TEXT_OF(x) #x

static const char schema[] =
	"CREATE TABLE meta(name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;"
	"CREATE TABLE alias(id INTEGER PRIMARY KEY, key ANY NOT NULL UNIQUE) STRICT;"
	"CREATE TABLE backfill(tick INTEGER PRIMARY KEY, next INTEGER NOT NULL) STRICT;"
	"CREATE TABLE job(name TEXT PRIMARY KEY, source TEXT NOT NULL, offset INTEGER NOT NULL,"
	" line INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
	"PRAGMA application_id = " TEXT(APPLICATION_ID) "; PRAGMA user_version = " TEXT(FORMAT);

/** What a file turned out to be. */
enum kind {
	KIND_STORE,
	KIND_EMPTY,
};

/* ---- waiting for others ---- */

static int64_t mono_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void pause_shortly(void)
{
	(void)nanosleep(&(struct timespec){.tv_nsec = BUSY_PAUSE_NS}, NULL);
}

/**
 * Another process has the lock. Looks again every millisecond: with the growing pauses that SQLite
 * itself would make, one busy writer starves all others.
 */
static int on_busy(void *data, int count)
{
	struct sf_alias *alias = data;

	if (count == 0)
		alias->busy_until_ns = mono_ns() + alias->busy_ms * INT64_C(1000000);
	else if (mono_ns() >= alias->busy_until_ns)
		return 0;
	pause_shortly();
	return 1;
}

/** After a commit, whose result is good whatever happens here. */
static int on_commit(void *data, sqlite3 *db, const char *name, int log_pages)
{
	struct sf_alias *alias = data;
	uint32_t busy_ms = alias->busy_ms;

	if (log_pages < LOG_PAGES)
		return SQLITE_OK;
	if (log_pages < 4 * LOG_PAGES) {
		(void)sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
		return SQLITE_OK;
	}
	alias->busy_ms = LOG_RESTART_MS;
	(void)sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
	alias->busy_ms = busy_ms;
	return SQLITE_OK;
}

/* ---- small SQL ---- */

static int run_text(struct sf_alias *alias, const char *sql, const char *action, struct sf_why *why)
{
	int code = sqlite3_exec(alias->db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : sf_alias_refuse(alias, code, action, why);
}

/** One value of a query, as a text. @return 0, -ENOENT for no row, or another negative errno */
static int read_text(struct sf_alias *alias, const char *sql, char *ret_text, size_t size,
		     struct sf_why *why)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(alias->db, sql, -1, &statement, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW) {
		const char *value = (const char *)sqlite3_column_text(statement, 0);

		(void)snprintf(ret_text, size, "%s", value ? value : "");
	}
	(void)sqlite3_finalize(statement);
	if (code == SQLITE_ROW)
		return 0;
	return code == SQLITE_DONE ? -ENOENT
				   : sf_alias_refuse(alias, code, "read it and its log", why);
}

static int read_number(struct sf_alias *alias, const char *sql, long *ret_number,
		       struct sf_why *why)
{
	char text[24];
	int r = read_text(alias, sql, text, sizeof(text), why);

	if (r == 0)
		*ret_number = strtol(text, NULL, 10);
	return r;
}

/* ---- which file it is ---- */

/** Within a transaction: another process may be making the store. */
static int identify(struct sf_alias *alias, enum kind *ret_kind, struct sf_why *why)
{
	long application = 0;
	long format = 0;
	long tables = 0;
	int r = read_number(alias, "PRAGMA application_id", &application, why);

	if (r == 0)
		r = read_number(alias, "PRAGMA user_version", &format, why);
	if (r == 0)
		r = read_number(alias, "SELECT count(*) FROM sqlite_schema", &tables, why);
	if (r < 0)
		return r;
	if (application == 0 && format == 0 && tables == 0) {
		*ret_kind = KIND_EMPTY;
		return 0;
	}
	if (application != APPLICATION_ID)
		return SF_ALIAS_REFUSE(why, -EPROTO,
				       "%.80s is a database of another program (application id "
				       "%ld), no store of aliases; name another file",
				       alias->path, application);
	if (format != FORMAT)
		return SF_ALIAS_REFUSE(why, -EPROTO,
				       "%.80s is a store of format %ld, this library knows format "
				       "%d; use the library that made it, or a newer one",
				       alias->path, format, FORMAT);
	*ret_kind = KIND_STORE;
	return 0;
}

static int identify_first(struct sf_alias *alias, enum kind *ret_kind, struct sf_why *why)
{
	int r = run_text(alias, "BEGIN", "read it and its log", why);

	if (r == 0)
		r = identify(alias, ret_kind, why);
	sf_alias_rollback(alias);
	return r;
}

static int start_log(struct sf_alias *alias, struct sf_why *why)
{
	char mode[16];
	int r = read_text(alias, "PRAGMA journal_mode = WAL", mode, sizeof(mode), why);

	if (r == 0 && strcmp(mode, "wal") != 0)
		return SF_ALIAS_REFUSE(why, -EIO,
				       "%.80s: its file system cannot hold a write-ahead log; put "
				       "the store on a local one",
				       alias->path);
	return r;
}

static int write_layout(struct sf_alias *alias, struct sf_why *why)
{
	char text[SF_LAYOUT_TEXT_MAX];
	char *sql;
	int r;

	(void)sf_layout_format(&alias->layout, text, sizeof(text));
	sql = sqlite3_mprintf("INSERT INTO meta(name, value) VALUES('layout', %Q)", text);
	if (!sql)
		return SF_ALIAS_REFUSE(why, -ENOMEM, "no memory to make the store");
	r = run_text(alias, sql, "make the store", why);
	sqlite3_free(sql);
	return r;
}

/** Makes the tables, unless another process is quicker. */
static int make_tables(struct sf_alias *alias, struct sf_why *why)
{
	enum kind kind;
	int r = identify(alias, &kind, why);

	if (r < 0 || kind == KIND_STORE)
		return r;
	r = run_text(alias, schema, "make the store", why);
	return r < 0 ? r : write_layout(alias, why);
}

static int make_store(struct sf_alias *alias, struct sf_why *why)
{
	int r = run_text(alias, "PRAGMA page_size = " PAGE_BYTES, "make the store", why);

	/* Before the tables: a store is never seen without its log. */
	if (r == 0)
		r = start_log(alias, why);
	if (r == 0)
		r = run_text(alias, "BEGIN IMMEDIATE", "make the store", why);
	if (r < 0)
		return r;
	r = make_tables(alias, why);
	if (r == 0)
		r = run_text(alias, "COMMIT", "make the store", why);
	if (r < 0)
		sf_alias_rollback(alias);
	return r;
}

/* ---- what it is bound to ---- */

/** The store's layout must be the one that was given, if one was. */
static int check_layout(struct sf_alias *alias, bool is_given, struct sf_why *why)
{
	char stored[SF_LAYOUT_TEXT_MAX];
	char given[SF_LAYOUT_TEXT_MAX];
	struct sf_layout layout;
	int r = read_text(alias, "SELECT value FROM meta WHERE name = 'layout'", stored,
			  sizeof(stored), why);

	if (r == -ENOENT || (r == 0 && sf_layout_parse(stored, &layout, NULL) < 0))
		return sf_alias_refuse(alias, SQLITE_CORRUPT, "read its layout", why);
	if (r < 0)
		return r;
	if (is_given) {
		(void)sf_layout_format(&alias->layout, given, sizeof(given));
		if (strcmp(given, stored) != 0)
			return SF_ALIAS_REFUSE(
				why, -EINVAL,
				"%.60s: the store's layout is %.48s, not %.48s; name "
				"the stream or layout of the store",
				alias->path, stored, given);
	}
	alias->layout = layout;
	return 0;
}

static int check_machine_id(const struct sf_alias *alias, uint32_t machine_id, struct sf_why *why)
{
	unsigned bits = sf_layout_node_bits(&alias->layout);
	uint32_t count = 0;
	const uint32_t *node = alias->client ? sf_client_nodes(alias->client, &count) : NULL;

	if (machine_id >> bits != 0)
		return SF_ALIAS_REFUSE(why, -EINVAL, "machine id %u; the store's layout has [0,%u]",
				       machine_id, (unsigned)((UINT64_C(1) << bits) - 1));
	for (uint32_t i = 0; i < count; i++)
		if (node[i] == machine_id)
			return SF_ALIAS_REFUSE(
				why, -EINVAL,
				"machine id %u is one of stream %.60s; IDs of the past "
				"need one that no stream has",
				machine_id, sf_client_stream(alias->client));
	return 0;
}

static int read_machine_id(struct sf_alias *alias, long *ret_id, struct sf_why *why)
{
	return read_number(alias, "SELECT value FROM meta WHERE name = 'machine_id'", ret_id, why);
}

static int refuse_other_id(const struct sf_alias *alias, long kept, uint32_t given,
			   struct sf_why *why)
{
	return SF_ALIAS_REFUSE(why, -EINVAL,
			       "%.80s: the store's machine id is %ld, not %u; leave it out",
			       alias->path, kept, given);
}

/** Keeps the machine id in the store, unless another process has just done so. */
static int keep_machine_id(struct sf_alias *alias, struct sf_why *why)
{
	char sql[128];
	long kept = -1;
	int r;

	(void)snprintf(sql, sizeof(sql),
		       "INSERT INTO meta(name, value) VALUES('machine_id', %u)"
		       " ON CONFLICT DO NOTHING",
		       alias->machine_id);
	r = run_text(alias, sql, "keep the machine id", why);
	if (r == 0)
		r = read_machine_id(alias, &kept, why);
	if (r == 0 && kept != (long)alias->machine_id)
		return refuse_other_id(alias, kept, alias->machine_id, why);
	return r;
}

/** Makes a machine id the handle's; with its lock, if the store may be written. */
static int claim_machine_id(struct sf_alias *alias, uint32_t machine_id, struct sf_why *why)
{
	int r = check_machine_id(alias, machine_id, why);

	if (r < 0)
		return r;
	alias->machine_id = machine_id;
	alias->flags |= SF_ALIAS_MACHINE_ID;
	if ((alias->flags & SF_ALIAS_READ_ONLY) != 0 || alias->node_fd >= 0)
		return 0;
	return sf_alias_node_lock(machine_id, &alias->node_fd, why);
}

/** The given or the kept machine id. */
static int take_machine_id(struct sf_alias *alias, const struct sf_alias_options *options,
			   struct sf_why *why)
{
	bool is_given = (options->flags & SF_ALIAS_MACHINE_ID) != 0;
	long kept = -1;
	int r = read_machine_id(alias, &kept, why);

	if (r < 0 && r != -ENOENT)
		return r;
	if (kept < 0 && !is_given)
		return 0;
	if (is_given && kept >= 0 && kept != (long)options->machine_id)
		return refuse_other_id(alias, kept, options->machine_id, why);
	r = claim_machine_id(alias, is_given ? options->machine_id : (uint32_t)kept, why);
	if (r < 0 || kept >= 0 || (alias->flags & SF_ALIAS_READ_ONLY) != 0)
		return r;
	return keep_machine_id(alias, why);
}

/* ---- opening ---- */

static int settle(struct sf_alias *alias, uint32_t cache_kib, struct sf_why *why)
{
	char sql[192];

	/* FULL: in this journal mode less would let a power failure take back what was committed.
	 */
	(void)snprintf(sql, sizeof(sql),
		       "PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;"
		       "PRAGMA journal_size_limit = " LOG_BYTES ";"
		       "PRAGMA cache_size = -%u",
		       cache_kib ? cache_kib : CACHE_KIB_DEFAULT);
	return run_text(alias, sql, "set it up", why);
}

static int set_up(struct sf_alias *alias, const struct sf_alias_options *options,
		  struct sf_why *why)
{
	bool is_read_only = (alias->flags & SF_ALIAS_READ_ONLY) != 0;
	bool has_layout = options->layout || options->client;
	enum kind kind = KIND_EMPTY;
	int r = identify_first(alias, &kind, why);

	if (r == 0 && kind == KIND_EMPTY && is_read_only)
		return SF_ALIAS_REFUSE(why, -ENOENT, "%.80s is empty, and no store", alias->path);
	if (r == 0 && kind == KIND_EMPTY && !has_layout)
		return SF_ALIAS_REFUSE(
			why, -ENOTCONN,
			"%.80s: a new store needs a layout, or a client of a running "
			"sfd to ask for it",
			alias->path);
	if (r == 0)
		r = settle(alias, options->cache_kib, why);
	if (r == 0 && kind == KIND_EMPTY)
		r = make_store(alias, why);
	if (r == 0 && kind == KIND_STORE && !is_read_only)
		r = start_log(alias, why);
	return r == 0 ? check_layout(alias, has_layout, why) : r;
}

/** What is at the path, and what is given for a store that is to be made there. */
static int look_at_path(struct sf_alias *alias, const struct sf_alias_options *options,
			bool *ret_is_there, struct sf_why *why)
{
	bool is_there;
	int r = sf_alias_look_at_place(alias, &is_there, why);

	if (r < 0)
		return r;
	*ret_is_there = is_there;
	if (!is_there && (alias->flags & (SF_ALIAS_READ_ONLY | SF_ALIAS_MUST_EXIST)) != 0)
		return SF_ALIAS_REFUSE(why, -ENOENT, "there is no store of aliases at %.160s",
				       alias->path);
	/* Else a failure further on would leave an empty file. */
	if (!is_there && !options->layout && !options->client)
		return SF_ALIAS_REFUSE(
			why, -ENOTCONN,
			"%.80s: a new store needs a layout, or a client of a running "
			"sfd to ask for it",
			alias->path);
	if (!is_there && (options->flags & SF_ALIAS_MACHINE_ID) != 0)
		return claim_machine_id(alias, options->machine_id, why);
	return 0;
}

/** Opens the file, and only that. */
static int open_file(struct sf_alias *alias, const struct sf_alias_options *options,
		     struct sf_why *why)
{
	bool is_read_only = (alias->flags & SF_ALIAS_READ_ONLY) != 0;
	bool is_there;
	int code;
	int r = look_at_path(alias, options, &is_there, why);

	if (r < 0)
		return r;
	code = sqlite3_open_v2(alias->path, &alias->db,
			       SQLITE_OPEN_NOMUTEX |
				       (is_read_only ? SQLITE_OPEN_READONLY
						     : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE),
			       NULL);
	if (code != SQLITE_OK)
		return sf_alias_refuse_place(alias, code, is_there, why);
	if (!is_read_only && sqlite3_db_readonly(alias->db, "main") != 0)
		return sf_alias_refuse(alias, SQLITE_READONLY, "open it for writing", why);
	(void)sqlite3_busy_handler(alias->db, on_busy, alias);
	(void)sqlite3_wal_hook(alias->db, on_commit, alias);
	return 0;
}

int sf_alias_store_open(struct sf_alias *alias, const struct sf_alias_options *options,
			struct sf_why *why)
{
	int64_t deadline_ns;
	int r;

	alias->busy_ms = options->busy_ms ? options->busy_ms : BUSY_MS_DEFAULT;
	deadline_ns = mono_ns() + alias->busy_ms * INT64_C(1000000);
	r = open_file(alias, options, why);
	if (r < 0)
		return r;
	/* Not every wait is left to on_busy(): that for the log to be turned on or recovered is
	 * not. */
	while ((r = set_up(alias, options, why)) == -EBUSY && mono_ns() < deadline_ns)
		pause_shortly();
	if (r == 0)
		r = take_machine_id(alias, options, why);
	return r == 0 ? sf_alias_prepare(alias, why) : r;
}

void sf_alias_store_close(struct sf_alias *alias)
{
	sf_alias_finalize(alias);
	(void)sqlite3_close(alias->db);
	alias->db = NULL;
	if (alias->node_fd >= 0)
		sf_alias_node_unlock(alias->machine_id, alias->node_fd);
	alias->node_fd = -1;
}
