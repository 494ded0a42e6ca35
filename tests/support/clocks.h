/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A real sfd with a wall clock of the test's own (wall.h), one client of it, and what sfctl says.
 */
#ifndef T_CLOCKS_H
#define T_CLOCKS_H

#include "tests/support/daemon.h"

#include <sfclient.h>

/** The stream's layout; it ends in 2089. */
#define T_CLOCKS_LAYOUT "t41 n10 s12 epoch=1577836800000"
#define T_CLOCKS_EPOCH_NS INT64_C(1577836800000000000)
#define T_SECOND INT64_C(1000000000)
#define T_HOUR (3600 * T_SECOND)
#define T_DAY (24 * T_HOUR)

enum t_policy {
	T_SLEW,
	T_WAIT,
	T_REFUSE,
	T_AHEAD,
	T_POLICIES
};

extern struct t_daemon t_clocks_daemon;
extern struct sf_cursor *t_clocks_cursor;
/** The last ID that was taken. */
extern uint64_t t_clocks_last;

/** Configures the daemon, whose wall shows the host's time; its runway is 400 ms. */
void t_clocks_configure(enum t_policy policy);
void t_clocks_open(void);
void t_clocks_close(void);
/** Closes the client, and stops the daemon. */
void t_clocks_end(void);
/** The wall steps, and sfd has seen it. */
void t_clocks_step(int64_t ns);
/** Takes IDs in both ways, each above all before. */
void t_clocks_take(unsigned count);
/** The last ID shows the wall, within a second and what a loaded host takes to get here. */
void t_clocks_assert_fresh(void);

/** Runs sfctl. @return its exit code */
int t_clocks_sfctl(const char *arguments);
/** sfctl's last words, on both of its outputs. */
void t_clocks_assert_said(const char *text);

#endif
