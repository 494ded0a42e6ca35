/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The listening socket of the control channel, and its path: made, watched, made anew when a
 * clean-up has removed it, and removed at the end. The control loop's thread.
 */
#ifndef SFD_LISTENER_H
#define SFD_LISTENER_H

#include "shm/sflayout.h"

#include <stdbool.h>
#include <sys/types.h>

struct sfd_listener {
	char path[108]; /* empty: an abstract name */
	int fd;
	bool is_managers; /* the service manager's: only that can make it anew */
	bool keeps_path;  /* the path stays at the end: the manager keeps the socket */
	int watch_fd;     /* readable when the path may be gone; -1: nobody can tell */
	/* The socket at the path; a file that has taken its place since is another's. */
	dev_t device;
	ino_t inode; /* 0: none */
};

/**
 * Takes the socket `listener->fd`, or for -1 makes `runtime_dir/sfd.sock`: the caller holds the
 * directory's lock, so a socket found there is stale and is replaced; anything else is left alone
 * and refused. is_managers and keeps_path are set before.
 * @return 0, or a negative errno with a sentence; the descriptor is then closed
 */
int sfd_listener_open(struct sfd_listener *listener, const char *runtime_dir, struct sf_why *why);
/** Closes, and removes the path if it is still ours. */
void sfd_listener_close(struct sfd_listener *listener);

/** Nothing is at the path: nobody can connect any more. */
bool sfd_listener_is_gone(const struct sfd_listener *listener);
/** Reads watch_fd empty. */
void sfd_listener_drain_watch(const struct sfd_listener *listener);
/**
 * Makes a new socket at the path. The old one is the caller's still: it goes on with the new one
 * through sfd_listener_replace() when it no longer uses the old.
 * @return a descriptor, or a negative errno
 */
int sfd_listener_make_anew(struct sfd_listener *listener);
/** Closes the old socket, and goes on with the new. */
void sfd_listener_replace(struct sfd_listener *listener, int fd);

#endif
