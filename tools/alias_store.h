/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The store of aliases that a subcommand works with: its options, where it lies by default, and a
 * client of sfd that is opened only when an ID of now is needed, so that known keys and IDs of the
 * past need no sfd. Main thread only.
 */
#ifndef SFCTL_ALIAS_STORE_H
#define SFCTL_ALIAS_STORE_H

#include "tools/client.h"

#include <sfalias.h>

struct sfctl_alias_store {
	const struct sfctl *sfctl;
	struct sf_alias_options options;
	struct sf_layout layout; /* --layout */
	char *path;
	const char *read_hint; /* how to do without writing; NULL: not at all */
	struct sfctl_client client;
	struct sf_alias *alias; /* NULL: not open */
};

/** sfctl_getopt() values of the options here. */
enum sfctl_alias_option {
	SFCTL_OPT_STORE = 0x2000,
	SFCTL_OPT_LAYOUT,
	SFCTL_OPT_MACHINE_ID,
	SFCTL_OPT_WHEN_FULL,
};

/** For all actions, in front of SFCTL_GLOBAL_OPTIONS. */
#define SFCTL_ALIAS_STORE_OPTION                                                                   \
	{                                                                                          \
		"store", required_argument, NULL, SFCTL_OPT_STORE                                  \
	}
/** For actions that make aliases, too. */
#define SFCTL_ALIAS_MAKE_OPTIONS                                                                   \
	{"layout", required_argument, NULL, SFCTL_OPT_LAYOUT},                                     \
		{"machine-id", required_argument, NULL, SFCTL_OPT_MACHINE_ID},                     \
	{                                                                                          \
		"when-full", required_argument, NULL, SFCTL_OPT_WHEN_FULL                          \
	}

#define SFCTL_ALIAS_STORE_HELP                                                                     \
	"  --store PATH      file of the aliases (default: $SFD_ALIAS_STORE, else as root\n"       \
	"                    /var/lib/sfd/alias.db, else sfd/alias.db in\n"                        \
	"                    $XDG_STATE_HOME or ~/.local/state)\n"
#define SFCTL_ALIAS_MAKE_HELP                                                                      \
	"  --machine-id N    machine id of IDs of the past: one that no stream has\n"              \
	"                    or ever had; needed once, then kept in the store\n"                   \
	"  --when-full error a tick of the past without a free ID is an error; default\n"          \
	"  --when-full next  its IDs come from the next tick that has one\n"                       \
	"  --layout LAYOUT   layout of a new store (default: that of sfd's stream)\n"

/**
 * Takes an option of the above, or leaves it to sfctl_option().
 * @return SFCTL_GO_ON, or the exit code to return at once
 */
int sfctl_alias_store_option(struct sfctl_alias_store *store, struct sfctl *sfctl, int option,
			     char **argv, const char *help);

/**
 * Opens the store. @param flags SF_ALIAS_READ_ONLY, or 0, which makes one that is missing
 * @return SFCTL_OK, or SFCTL_FAILED after one sentence on stderr
 */
int sfctl_alias_store_open(struct sfctl_alias_store *store, const struct sfctl *sfctl,
			   uint32_t flags);
/** Closes; zero-initialised is fine. */
void sfctl_alias_store_close(struct sfctl_alias_store *store);

/**
 * sf_alias_apply(), with sfd's help if it is needed.
 * @return 0; a negative errno of a record that was refused, where the batch has no SF_ALIAS_SKIP;
 * or SFCTL_FAILED after one sentence on stderr
 */
int sfctl_alias_store_apply(struct sfctl_alias_store *store, const struct sf_alias_batch *batch);

#endif
