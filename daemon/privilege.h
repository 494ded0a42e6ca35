/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Least privilege: who starts sfd as root gets an sfd that makes its directories as root and does
 * all else as a user of its own, without a capability that matters. Called before other threads
 * exist.
 */
#ifndef SFD_PRIVILEGE_H
#define SFD_PRIVILEGE_H

#include "shm/sflayout.h"

#include <stdbool.h>
#include <sys/types.h>

struct sfd_config;

/** Who root's sfd becomes where nothing else is configured. */
#define SFD_ACCOUNT_DEFAULT "sfd"
#define SFD_ACCOUNT_NAME_MAX 64

/** Set for an sfd that is the host's, and so for those that it asks or becomes: its directories
 *  default to the same places as before, even when the configuration names another user by now. */
#define SFD_PRIVILEGE_HOST "SFD_OF_HOST"

/** A user of the host. */
struct sfd_account {
	char name[SFD_ACCOUNT_NAME_MAX]; /* empty: none is known */
	uid_t uid;
	gid_t gid;
	bool is_named; /* by the configuration */
};

static inline bool sfd_account_is_known(const struct sfd_account *account)
{
	return account->name[0] != '\0';
}

/** @return 0; -ENOENT when there is no such user; or another negative errno */
int sfd_account_find(const char *name, struct sfd_account *ret_account);

/**
 * Gives up what sfd does not need. As root: takes the file of machine ids out of its owner's hands,
 * makes the configured directories, hands them and the files in them that are sfd's to the
 * configured user, and becomes that user. As anybody else, only forswears new privileges: so an sfd
 * that was root may call it again after an exec. Whoever is the configured user afterwards gets
 * SFD_PRIVILEGE_HOST into the environment.
 * @param is_first no lock is held on the file of machine ids: closing it would drop that
 * @return 0 or a negative errno with a sentence in `why`
 */
int sfd_privilege_drop(const struct sfd_config *config, bool is_first, struct sf_why *why);

#endif
