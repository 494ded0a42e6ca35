/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Handles. Every public call but sf_alias_open() takes its turn here, and works on the handle alone
 * until it gives the turn back. How many handles the process has is counted, since a child that
 * was forked meanwhile can open none.
 */
#include "libclient/alias/alias.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLAGS_ALL                                                                                  \
	(SF_ALIAS_READ_ONLY | SF_ALIAS_MUST_EXIST | SF_ALIAS_MACHINE_ID | SF_ALIAS_NEXT_FREE)

/* ---- the process ---- */

/** Handles in the low half, and in the high half the pid of the process that they belong to. */
static _Atomic uint64_t census;

/**
 * Counts a handle. SQLite keeps the file locks of a process in a table, which a forked child
 * inherits without the locks: a store that it opened would be written without any.
 */
static int count_in(struct sf_why *why)
{
	uint64_t own = (uint64_t)(uint32_t)getpid() << 32;
	uint64_t seen = atomic_load_explicit(&census, memory_order_relaxed);
	uint64_t counted;

	do {
		uint32_t handles = (uint32_t)seen;

		if (handles > 0 && (seen & ~(uint64_t)UINT32_MAX) != own)
			return SF_ALIAS_REFUSE(
				why, -EINVAL,
				"this process was forked while a store was open, and can open "
				"none: exec first, or open stores after the fork only");
		counted = own | (handles + 1);
	} while (!atomic_compare_exchange_weak_explicit(
		&census, &seen, counted, memory_order_relaxed, memory_order_relaxed));
	return 0;
}

static void count_out(void)
{
	(void)atomic_fetch_sub_explicit(&census, 1, memory_order_relaxed);
}

/* ---- opening ---- */

static int check_options(const struct sf_alias_options *options, struct sf_why *why)
{
	if (!options || options->size != sizeof(*options) || (options->flags & ~FLAGS_ALL) != 0)
		return SF_ALIAS_REFUSE(why, -EINVAL, "options of wrong size or flags");
	if (!options->path || options->path[0] == '\0')
		return SF_ALIAS_REFUSE(why, -EINVAL, "a store needs a path");
	return 0;
}

/** Whether IDs of a layout can be aliases. */
static int check_layout(const struct sf_layout *layout, struct sf_why *why)
{
	int r = sf_layout_check(layout, why);

	if (r < 0 || layout->format == SF_FORMAT_SNOWFLAKE)
		return r;
	return SF_ALIAS_REFUSE(
		why, -ENOTSUP,
		"an alias is a 64-bit ID, and one of format %s is not; name a stream "
		"or layout of format snowflake",
		sf_format_name(layout->format));
}

/** The layout that the caller brings. */
static int bring_layout(struct sf_alias *alias, const struct sf_alias_options *options,
			struct sf_why *why)
{
	const struct sf_layout *own = options->layout;
	const struct sf_layout *live = options->client ? sf_client_layout(options->client) : own;
	int r = own ? check_layout(own, why) : 0;

	if (!live || r < 0)
		return r;
	r = check_layout(live, why);
	if (r < 0)
		return r;
	if (own && memcmp(own, live, sizeof(*own)) != 0)
		return SF_ALIAS_REFUSE(why, -EINVAL,
				       "the layout given is not that of stream %.60s; leave it out",
				       sf_client_stream(options->client));
	alias->layout = *live;
	return 0;
}

static int open_cursor(struct sf_alias *alias, struct sf_why *why)
{
	int r = alias->client ? sf_cursor_open(alias->client, &alias->cursor) : 0;

	return r < 0 ? SF_ALIAS_REFUSE(why, r, "cannot open a cursor: %s", sf_strerror(r)) : 0;
}

/** SQLite takes some names for no files; with a directory in front none is. */
static char *path_copy(const char *path)
{
	char *copy = NULL;

	return asprintf(&copy, "%s%s", path[0] == '/' ? "" : "./", path) < 0 ? NULL : copy;
}

static void destroy(struct sf_alias *alias)
{
	sf_alias_store_close(alias);
	sf_cursor_close(alias->cursor);
	(void)pthread_mutex_destroy(&alias->mutex);
	free(alias->path);
	free(alias);
	count_out();
}

int sf_alias_open(const struct sf_alias_options *options, struct sf_alias **ret_alias,
		  struct sf_why *why)
{
	struct sf_alias *alias;
	int r = check_options(options, why);

	if (r < 0)
		return r;
	r = count_in(why);
	if (r < 0)
		return r;
	alias = calloc(1, sizeof(*alias));
	if (!alias) {
		count_out();
		return SF_ALIAS_REFUSE(why, -ENOMEM, "no memory for a handle");
	}
	(void)pthread_mutex_init(&alias->mutex, NULL);
	alias->pid = getpid();
	alias->node_fd = -1;
	alias->flags = options->flags & ~SF_ALIAS_MACHINE_ID;
	alias->client = options->client;
	alias->path = path_copy(options->path);
	r = alias->path ? bring_layout(alias, options, why)
			: SF_ALIAS_REFUSE(why, -ENOMEM, "no memory for a path");
	if (r == 0)
		r = open_cursor(alias, why);
	if (r == 0)
		r = sf_alias_store_open(alias, options, why);
	if (r < 0) {
		destroy(alias);
		return r;
	}
	*ret_alias = alias;
	return 0;
}

void sf_alias_close(struct sf_alias *alias)
{
	if (!alias)
		return;
	/* In a forked child the database is the parent's: closing it could write to it, and even
	 * remove its log. The child's share of the memory is lost. */
	if (alias->pid == getpid())
		destroy(alias);
}

const struct sf_layout *sf_alias_layout(const struct sf_alias *alias)
{
	return &alias->layout;
}

/* ---- turns ---- */

static int enter(struct sf_alias *alias, struct sf_why *why)
{
	int r;

	if (!alias || alias->pid != getpid())
		return SF_ALIAS_REFUSE(why, -EINVAL, "%s",
				       alias ? "the store was opened before the fork; a process "
					       "works with stores that it opened itself"
					     : "no store was given");
	(void)pthread_mutex_lock(&alias->mutex);
	r = sf_alias_check_place(alias, why);
	if (r < 0)
		(void)pthread_mutex_unlock(&alias->mutex);
	return r;
}

static int leave(struct sf_alias *alias, int result)
{
	(void)pthread_mutex_unlock(&alias->mutex);
	return result;
}

/** A batch of one. */
static int apply_one(struct sf_alias *alias, struct sf_alias_record *record, size_t key_length,
		     struct sf_why *why)
{
	const struct sf_alias_batch batch = {
		.size = sizeof(batch),
		.records = record,
		.count = 1,
	};
	int r = enter(alias, why);

	if (r < 0)
		return r;
	/* A longer key than fits is refused as too long, never cut. */
	record->key_length = key_length < UINT32_MAX ? (uint32_t)key_length : UINT32_MAX;
	return leave(alias, sf_alias_apply_held(alias, &batch, why));
}

int sf_alias_get(struct sf_alias *alias, const char *key, size_t key_length, uint64_t *ret_id,
		 struct sf_why *why)
{
	struct sf_alias_record record = {.key = key};
	int r = apply_one(alias, &record, key_length, why);

	if (r == 0)
		*ret_id = record.id;
	return r;
}

int sf_alias_get_at(struct sf_alias *alias, const char *key, size_t key_length,
		    int64_t created_unix_ms, uint64_t *ret_id, struct sf_why *why)
{
	struct sf_alias_record record = {
		.key = key,
		.flags = SF_ALIAS_CREATED,
		.created_unix_ms = created_unix_ms,
	};
	int r = apply_one(alias, &record, key_length, why);

	if (r == 0)
		*ret_id = record.id;
	return r;
}

int sf_alias_put(struct sf_alias *alias, const char *key, size_t key_length, uint64_t id,
		 struct sf_why *why)
{
	struct sf_alias_record record = {.key = key, .flags = SF_ALIAS_ID, .id = id};

	return apply_one(alias, &record, key_length, why);
}

int sf_alias_find(struct sf_alias *alias, const char *key, size_t key_length, uint64_t *ret_id,
		  struct sf_why *why)
{
	struct sf_alias_key own;
	int r = sf_alias_key_init(&own, key, key_length, why);

	if (r == 0)
		r = enter(alias, why);
	if (r < 0)
		return r;
	r = leave(alias, sf_alias_look_id(alias, &own, ret_id, why));
	if (r == -ENOENT)
		return SF_ALIAS_REFUSE(why, r, "key \"%s\" has no alias",
				       sf_alias_key_show(key, key_length).text);
	return r;
}

int sf_alias_reverse(struct sf_alias *alias, uint64_t id, char *ret_key, struct sf_why *why)
{
	int r = enter(alias, why);

	if (r < 0)
		return r;
	r = leave(alias, sf_alias_look_key(alias, id, ret_key, why));
	if (r == -ENOENT)
		return SF_ALIAS_REFUSE(why, r, "ID %llu is no alias", (unsigned long long)id);
	return r;
}

int sf_alias_apply(struct sf_alias *alias, const struct sf_alias_batch *batch, struct sf_why *why)
{
	int r = enter(alias, why);

	return r < 0 ? r : leave(alias, sf_alias_apply_held(alias, batch, why));
}

int sf_alias_job(struct sf_alias *alias, const char *name, char *ret_source,
		 struct sf_alias_job *ret_job, struct sf_why *why)
{
	int r = enter(alias, why);

	return r < 0 ? r : leave(alias, sf_alias_job_held(alias, name, ret_source, ret_job, why));
}

int sf_alias_each(struct sf_alias *alias, sf_alias_pair_fn pair, void *data, struct sf_why *why)
{
	int r = enter(alias, why);

	return r < 0 ? r : leave(alias, sf_alias_walk(alias, pair, data, why));
}
