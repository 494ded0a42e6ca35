/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Client processes at full speed: each takes IDs in every way in turn until told to stop, enters
 * them into a map, and notes its longest call. An error or an ID out of order ends a client with a
 * failure. Clients may be killed and started anew at any time.
 */
#ifndef T_LOAD_H
#define T_LOAD_H

#include "tests/support/daemon.h"
#include "tests/support/ids.h"

#define T_LOAD_CLIENTS_MAX 16

struct t_load_client {
	_Atomic uint64_t taken;
	_Atomic int64_t longest_ns;
	uint64_t pad0[6];
};

/** In memory that the clients share. */
struct t_load {
	_Atomic int stop;
	struct t_map *map;
	char socket[112];
	int count;
	pid_t pid[T_LOAD_CLIENTS_MAX];
	struct t_load_client client[T_LOAD_CLIENTS_MAX];
};

/** Starts clients of a running sfd with one machine id, and waits until each has taken IDs. */
struct t_load *t_load_start(const struct t_daemon *daemon, int count);
/** Adds clients, of this or another sfd that has the same machine id. */
void t_load_add(struct t_load *load, const struct t_daemon *daemon, int count);
/** SIGKILLs one client, and starts another in its place. */
void t_load_replace(struct t_load *load, int client);
/** Ends all of them and checks their results and every ID. */
void t_load_stop(struct t_load *load);
/** IDs that the clients of one place took. */
uint64_t t_load_taken(const struct t_load *load, int client);
/** The longest call of all. */
int64_t t_load_longest_ns(const struct t_load *load);

#endif
