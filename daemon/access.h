/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A stream's access list: which users and groups may attach.
 */
#ifndef SFD_ACCESS_H
#define SFD_ACCESS_H

#include "shm/sflayout.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** Zero-initialised: nobody is listed, so only the daemon's own user and root may attach. */
struct sfd_access {
	bool everyone;
	uid_t *user;
	size_t user_count;
	gid_t *group;
	size_t group_count;
};

/** Who is at the other end of a control connection. */
struct sfd_peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	gid_t *group; /* supplementary groups, SO_PEERGROUPS */
	size_t group_count;
};

/**
 * Reads "alice, @staff, 1000, @50" or "*": users, groups after @, everyone.
 * @return 0, or -EINVAL (malformed), -ENOENT (no such user or group), -ENOMEM, reason in `why`
 */
int sfd_access_parse(const char *text, struct sfd_access *ret_access, struct sf_why *why);
void sfd_access_deinit(struct sfd_access *access);

/** Fills `ret_peer` from a connected Unix socket. @return 0 or a negative errno */
int sfd_peer_init(int fd, struct sfd_peer *ret_peer);
void sfd_peer_deinit(struct sfd_peer *peer);

/** Root, the daemon's own user, everyone, a listed user or a listed group. */
bool sfd_access_allows(const struct sfd_access *access, const struct sfd_peer *peer);

#endif
