/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Daemons that are not quite sfd: each answers an attach request with a ring or a reply that is
 * wrong in one respect.
 */
#ifndef T_FAKE_H
#define T_FAKE_H

#include <stddef.h>

struct t_fake {
	const char *name;
	int error;            /* what sf_open must return */
	const char *sentence; /* a part of what it must say */
};

extern const struct t_fake t_fake[];
extern const size_t t_fake_count;

/** Starts one of them at a path, in a child. */
void t_fake_start(const char *path, size_t which);
void t_fake_stop(void);

#endif
