/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Look-ups in both directions, and the walk over all pairs. Never writes, and never waits for who
 * does.
 */
#include "libclient/alias/alias.h"

#include <errno.h>

int sf_alias_look_id(struct sf_alias *alias, const struct sf_alias_key *key, uint64_t *ret_id,
		     struct sf_why *why)
{
	sqlite3_stmt *find = alias->statement[SF_ALIAS_FIND];
	int code = sf_alias_key_bind(find, 1, key);

	if (code == SQLITE_OK)
		code = sqlite3_step(find);
	if (code == SQLITE_ROW)
		*ret_id = (uint64_t)sqlite3_column_int64(find, 0);
	(void)sqlite3_reset(find);
	if (code == SQLITE_ROW)
		return 0;
	return code == SQLITE_DONE ? -ENOENT : sf_alias_refuse(alias, code, "look up a key", why);
}

int sf_alias_look_key(struct sf_alias *alias, uint64_t id, char *ret_key, struct sf_why *why)
{
	sqlite3_stmt *reverse = alias->statement[SF_ALIAS_REVERSE];
	int code = sqlite3_bind_int64(reverse, 1, (int64_t)id);
	int length = -ENOENT;

	if (code == SQLITE_OK)
		code = sqlite3_step(reverse);
	if (code == SQLITE_ROW)
		length = sf_alias_key_column(reverse, 0, ret_key);
	(void)sqlite3_reset(reverse);
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		return sf_alias_refuse(alias, code, "look up an ID", why);
	if (length == -EBADMSG)
		return sf_alias_refuse(alias, SQLITE_CORRUPT, "read a key", why);
	return length;
}

/** The pairs of one half of the IDs. @return 0, what `pair` returned, or a negative errno */
static int walk_half(struct sf_alias *alias, sqlite3_stmt *each, sf_alias_pair_fn pair, void *data,
		     struct sf_why *why)
{
	char key[SF_ALIAS_KEY_MAX + 1];
	int code = SQLITE_ROW;
	int r = 0;

	while (r == 0 && (code = sqlite3_step(each)) == SQLITE_ROW) {
		int length = sf_alias_key_column(each, 1, key);

		if (length < 0) {
			code = SQLITE_CORRUPT;
			break;
		}
		r = pair(data, key, (size_t)length, (uint64_t)sqlite3_column_int64(each, 0));
	}
	(void)sqlite3_reset(each);
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		return sf_alias_refuse(alias, code, "read its pairs", why);
	return r;
}

int sf_alias_walk(struct sf_alias *alias, sf_alias_pair_fn pair, void *data, struct sf_why *why)
{
	int r = sf_alias_run(alias, SF_ALIAS_BEGIN_READ, why);

	for (int i = SF_ALIAS_EACH_LOW; r == 0 && i <= SF_ALIAS_EACH_HIGH; i++)
		r = walk_half(alias, alias->statement[i], pair, data, why);
	/* Nothing was written: how it ends makes no difference. */
	sf_alias_rollback(alias);
	return r;
}
