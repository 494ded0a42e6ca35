/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The SQL of the daily work, and what SQLite's errors mean. Every statement is prepared once a
 * handle, and reset by whoever stepped it.
 */
#include "libclient/alias/alias.h"

#include <errno.h>
#include <string.h>

/* Some take two lines. NOLINTBEGIN(bugprone-suspicious-missing-comma) */
static const char *const texts[SF_ALIAS_STATEMENTS] = {
	[SF_ALIAS_BEGIN_READ] = "BEGIN",
	/* The write lock at once: a transaction that begins to write later may have to begin anew.
	 */
	[SF_ALIAS_BEGIN_WRITE] = "BEGIN IMMEDIATE",
	[SF_ALIAS_COMMIT] = "COMMIT",
	[SF_ALIAS_FIND] = "SELECT id FROM alias WHERE key = ?1",
	[SF_ALIAS_REVERSE] = "SELECT key FROM alias WHERE id = ?1",
	[SF_ALIAS_INSERT] = "INSERT INTO alias(id, key) VALUES(?1, ?2) ON CONFLICT(key) DO NOTHING",
	[SF_ALIAS_NEXT_GET] = "SELECT next FROM backfill WHERE tick = ?1",
	[SF_ALIAS_NEXT_SET] = "INSERT INTO backfill(tick, next) VALUES(?1, ?2)"
			      " ON CONFLICT(tick) DO UPDATE SET next = excluded.next",
	[SF_ALIAS_JOB_GET] = "SELECT source, offset, line FROM job WHERE name = ?1",
	[SF_ALIAS_JOB_SET] = "INSERT INTO job(name, source, offset, line) VALUES(?1, ?2, ?3, ?4)"
			     " ON CONFLICT(name) DO UPDATE SET source = excluded.source,"
			     " offset = excluded.offset, line = excluded.line",
	/* IDs are unsigned, SQLite's integers are not: the upper half is negative, and comes last.
	 */
	[SF_ALIAS_EACH_LOW] = "SELECT id, key FROM alias WHERE id >= 0 ORDER BY id",
	[SF_ALIAS_EACH_HIGH] = "SELECT id, key FROM alias WHERE id < 0 ORDER BY id",
};
/* NOLINTEND(bugprone-suspicious-missing-comma) */

int sf_alias_prepare(struct sf_alias *alias, struct sf_why *why)
{
	for (int i = 0; i < SF_ALIAS_STATEMENTS; i++) {
		int code = sqlite3_prepare_v3(alias->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
					      &alias->statement[i], NULL);

		if (code != SQLITE_OK)
			return sf_alias_refuse(alias, code, "read its tables", why);
	}
	return 0;
}

void sf_alias_finalize(struct sf_alias *alias)
{
	for (int i = 0; i < SF_ALIAS_STATEMENTS; i++) {
		(void)sqlite3_finalize(alias->statement[i]);
		alias->statement[i] = NULL;
	}
}

int sf_alias_run(struct sf_alias *alias, enum sf_alias_statement which, struct sf_why *why)
{
	sqlite3_stmt *statement = alias->statement[which];
	int code = sqlite3_step(statement);

	(void)sqlite3_reset(statement);
	if (code == SQLITE_DONE)
		return 0;
	return sf_alias_refuse(alias, code, which == SF_ALIAS_COMMIT ? "commit" : "begin", why);
}

void sf_alias_rollback(struct sf_alias *alias)
{
	/* Some failures have ended the transaction already. */
	if (!sqlite3_get_autocommit(alias->db))
		(void)sqlite3_exec(alias->db, "ROLLBACK", NULL, NULL, NULL);
}

bool sf_alias_is_of_record(int error)
{
	return error == -EINVAL || error == -EEXIST || error == -ERANGE || error == -EOVERFLOW;
}

struct meaning {
	int code; /* SQLite's primary code */
	int error;
	const char *remedy;
};

static const struct meaning meanings[] = {
	{SQLITE_BUSY, -EBUSY, "another process held it too long; wait longer, or end that process"},
	{SQLITE_LOCKED, -EBUSY,
	 "another process held it too long; wait longer, or end that process"},
	{SQLITE_PROTOCOL, -EBUSY, "too many processes open it at once; try again"},
	{SQLITE_CORRUPT, -EBADMSG, "the store is damaged; restore it from an export"},
	{SQLITE_NOTADB, -EPROTO, "the file is no store of aliases; name another one"},
	{SQLITE_READONLY, -EROFS, "let this user write the file and its directory"},
	{SQLITE_FULL, -ENOSPC, "free space on its file system"},
	{SQLITE_NOMEM, -ENOMEM, "free memory"},
	{SQLITE_PERM, -EACCES, "let this user read and write the file and its directory"},
};

int sf_alias_refuse(const struct sf_alias *alias, int code, const char *action, struct sf_why *why)
{
	const char *reason = sqlite3_errstr(code);
	const char *remedy = NULL;
	int error = -EIO;
	int system = sqlite3_system_errno(alias->db);

	if ((alias->flags & SF_ALIAS_READ_ONLY) != 0 && (code & 0xff) == SQLITE_READONLY)
		return SF_ALIAS_REFUSE(
			why, -EACCES,
			"%.80s: cannot %s: nobody has it open, and even to read it files must be "
			"made beside it; let this user write its directory, or read a copy",
			alias->path, action);
	for (size_t i = 0; !remedy && i < sizeof(meanings) / sizeof(meanings[0]); i++) {
		if (meanings[i].code != (code & 0xff))
			continue;
		error = meanings[i].error;
		remedy = meanings[i].remedy;
	}
	/* Else a file could not be opened, read or written: the system knows why. */
	if (!remedy && system > 0) {
		reason = strerrordesc_np(system);
		error = sf_alias_is_of_record(-system) ? -EIO : -system;
	}
	return SF_ALIAS_REFUSE(why, error, "%.80s: cannot %s: %s; %s", alias->path, action, reason,
			       remedy ? remedy : "check the file, its directory and file system");
}
