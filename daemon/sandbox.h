/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The list of system calls that sfd may make, from the moment at which it serves. It is for all
 * threads, and outlives an exec.
 */
#ifndef SFD_SANDBOX_H
#define SFD_SANDBOX_H

#include <stdbool.h>

enum sfd_sandbox_state {
	SFD_SANDBOX_NONE,
	SFD_SANDBOX_OURS,    /* this call put it in force */
	SFD_SANDBOX_EARLIER, /* that of an sfd which executed this one is in force */
};

/**
 * Puts the filter in force, unless it is `wanted` not, or is in force already. Never fails: where
 * the kernel or the container refuses, the log says so and sfd goes on.
 * @return what is in force afterwards
 */
enum sfd_sandbox_state sfd_sandbox_enter(bool wanted);

#endif
