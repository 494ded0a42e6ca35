/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * As the first process of a container, sfd inherits what other programs leave behind there.
 */
#ifndef SFD_ORPHANS_H
#define SFD_ORPHANS_H

#include <sys/types.h>

/**
 * On SIGCHLD: reaps children that have ended. One of sfd's own, `own` (0: there is none), is left
 * to whoever waits for it, and what ended after it to the call after that.
 */
void sfd_orphans_reap(pid_t own);

#endif
