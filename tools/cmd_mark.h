/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The actions of sfctl mark, and what they share. argv[0] is the action's name. Main thread only.
 */
#ifndef SFCTL_CMD_MARK_H
#define SFCTL_CMD_MARK_H

#include "daemon/mark.h"
#include "tools/sfctl.h"

/** The directory, for help texts. */
#define SFCTL_MARK_DIR_HELP                                                                        \
	"  --state-dir DIR   the marks (default: /var/lib/sfd for root, else\n"                    \
	"                    $XDG_STATE_HOME/sfd or ~/.local/state/sfd)\n"

/** Values of options that actions share, clear of each action's own. */
enum {
	SFCTL_OPT_STATE_DIR = 0x2000,
};
#define SFCTL_MARK_DIR_OPTION                                                                      \
	{                                                                                          \
		"state-dir", required_argument, NULL, SFCTL_OPT_STATE_DIR                          \
	}

/** @return an exit code */
int sfctl_mark_show(struct sfctl *sfctl, int argc, char **argv);
int sfctl_mark_set(struct sfctl *sfctl, int argc, char **argv);
int sfctl_mark_adopt(struct sfctl *sfctl, int argc, char **argv);

/**
 * The directory of --state-dir, or sfd's default one; the caller frees it.
 * @param given NULL without the option
 * @return NULL after one sentence on stderr
 */
char *sfctl_mark_dir(const struct sfctl *sfctl, const char *given);

/**
 * Makes and locks a state directory, as sfd does. As root, goes on as the owner of one that exists:
 * what is made in it must be that sfd's.
 * @return SFCTL_OK with the lock, or SFCTL_FAILED after one sentence on stderr
 */
int sfctl_mark_lock(const struct sfctl *sfctl, const char *dir, int *ret_fd);

/** Start of a tick, Unix milliseconds; bounded, since records are input. */
int64_t sfctl_mark_unix_ms(const struct sf_layout *layout, uint64_t tick);

#endif
