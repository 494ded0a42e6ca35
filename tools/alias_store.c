/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Opening a store of aliases, at first without sfd. Makes directories for the default path only.
 * Main thread.
 */
#include "tools/alias_store.h"

#include "tools/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** A batch and the read of an import go through some ten thousand pages. */
#define CACHE_KIB (256 * 1024)

/* ---- options ---- */

static int read_machine_id(struct sfctl_alias_store *store, const struct sfctl *sfctl)
{
	uint64_t id;

	if (sfctl_number_parse_range(optarg, 0, INT32_MAX, &id) < 0)
		return sfctl_usage(sfctl, "machine id \"%.60s\" is not a number from 0 to %d",
				   optarg, INT32_MAX);
	store->options.machine_id = (uint32_t)id;
	store->options.flags |= SF_ALIAS_MACHINE_ID;
	return SFCTL_GO_ON;
}

static int read_layout(struct sfctl_alias_store *store, const struct sfctl *sfctl)
{
	struct sf_why why;

	if (sf_layout_parse(optarg, &store->layout, &why) < 0)
		return sfctl_usage(sfctl, "%s", why.text);
	store->options.layout = &store->layout;
	return SFCTL_GO_ON;
}

static int read_when_full(struct sfctl_alias_store *store, const struct sfctl *sfctl)
{
	if (strcmp(optarg, "next") == 0)
		store->options.flags |= SF_ALIAS_NEXT_FREE;
	else if (strcmp(optarg, "error") == 0)
		store->options.flags &= ~SF_ALIAS_NEXT_FREE;
	else
		return sfctl_usage(sfctl, "when-full \"%.60s\" is not error or next", optarg);
	return SFCTL_GO_ON;
}

int sfctl_alias_store_option(struct sfctl_alias_store *store, struct sfctl *sfctl, int option,
			     char **argv, const char *help)
{
	switch (option) {
	case SFCTL_OPT_STORE:
		if (*optarg == '\0')
			return sfctl_usage(sfctl, "option --store has an empty value");
		store->options.path = optarg;
		return SFCTL_GO_ON;
	case SFCTL_OPT_LAYOUT:
		return read_layout(store, sfctl);
	case SFCTL_OPT_MACHINE_ID:
		return read_machine_id(store, sfctl);
	case SFCTL_OPT_WHEN_FULL:
		return read_when_full(store, sfctl);
	default:
		return sfctl_option(sfctl, option, argv, help);
	}
}

/* ---- the default path ---- */

/** Makes the directories of a path that are missing. */
static int make_parents(const struct sfctl *sfctl, char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int r;

		*slash = '\0';
		r = mkdir(path, geteuid() == 0 ? 0755 : 0700);
		if (r < 0 && errno != EEXIST)
			return sfctl_fail(sfctl,
					  "cannot make the directory %.160s: %s; or give --store",
					  path, strerrordesc_np(errno));
		*slash = '/';
	}
	return SFCTL_OK;
}

/** @return NULL after one sentence on stderr */
static char *default_path(const struct sfctl *sfctl)
{
	const char *given = sfctl_environment("SFD_ALIAS_STORE");
	char *path = NULL;
	int r = 0;

	if (given)
		path = strdup(given);
	else
		r = sfctl_state_path("alias.db", &path);
	if (r == 0 && path)
		return path;
	(void)sfctl_fail(sfctl, r == -ENOENT
					? "no store is named and $HOME is not set; give --store"
					: "out of memory");
	return NULL;
}

/** The path, and its directories where nobody chose them. */
static int settle_path(struct sfctl_alias_store *store)
{
	bool is_writer = (store->options.flags & SF_ALIAS_READ_ONLY) == 0;

	if (store->options.path)
		return SFCTL_OK;
	store->path = default_path(store->sfctl);
	store->options.path = store->path;
	if (!store->path)
		return SFCTL_FAILED;
	return is_writer && !sfctl_environment("SFD_ALIAS_STORE")
		       ? make_parents(store->sfctl, store->path)
		       : SFCTL_OK;
}

/* ---- opening ---- */

/** Opens a client, and the store anew with it. */
static int connect_store(struct sfctl_alias_store *store)
{
	struct sf_why why;
	int status = sfctl_client_open(store->sfctl, SF_WAIT_SLEEP, 0, &store->client);

	if (status != SFCTL_OK)
		return status;
	sf_alias_close(store->alias);
	store->alias = NULL;
	store->options.client = store->client.client;
	if (sf_alias_open(&store->options, &store->alias, &why) < 0)
		return sfctl_fail(store->sfctl, "%s", why.text);
	return SFCTL_OK;
}

int sfctl_alias_store_open(struct sfctl_alias_store *store, const struct sfctl *sfctl,
			   uint32_t flags)
{
	struct sf_why why;
	int status;
	int r;

	store->sfctl = sfctl;
	store->options.size = sizeof(store->options);
	store->options.flags |= flags;
	store->options.cache_kib = CACHE_KIB;
	status = settle_path(store);
	if (status != SFCTL_OK)
		return status;
	r = sf_alias_open(&store->options, &store->alias, &why);
	if (r == -ENOTCONN)
		return connect_store(store);
	if (r == 0)
		return SFCTL_OK;
	/* A store that is there and cannot be written may still be read. */
	if (store->read_hint && (r == -EROFS || r == -EACCES) &&
	    access(store->options.path, R_OK) == 0)
		return sfctl_fail(sfctl, "%s; %s", why.text, store->read_hint);
	return sfctl_fail(sfctl, "%s", why.text);
}

void sfctl_alias_store_close(struct sfctl_alias_store *store)
{
	sf_alias_close(store->alias);
	sfctl_client_close(&store->client);
	free(store->path);
}

static bool has_refused(const struct sf_alias_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		if (batch->records[i].error < 0)
			return true;
	return false;
}

int sfctl_alias_store_apply(struct sfctl_alias_store *store, const struct sf_alias_batch *batch)
{
	struct sf_why why;
	int r = sf_alias_apply(store->alias, batch, &why);

	if (r == -ENOTCONN && !store->client.client) {
		int status = connect_store(store);

		if (status != SFCTL_OK)
			return status;
		r = sf_alias_apply(store->alias, batch, &why);
	}
	if (r == -EADDRNOTAVAIL)
		return sfctl_fail(store->sfctl, "%s, with --machine-id", why.text);
	if (r == 0 || ((batch->flags & SF_ALIAS_SKIP) == 0 && has_refused(batch)))
		return r;
	return sfctl_fail(store->sfctl, "%s", why.text);
}
