/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The parts of the client suite, and what they share: one stream, one client, one cursor.
 */
#ifndef T_CLIENT_SUITE_H
#define T_CLIENT_SUITE_H

#include "tests/support/ring_fixture.h"

#include <check.h>

/** Sixteen counters a tick. */
#define T_SMALL "t41 n18 s4"
#define T_SMALL_CAPACITY 16u

extern struct t_ring t_stream;
extern struct sf_client *t_client;
extern struct sf_cursor *t_cursor;

/** Publishes at the first tick; the daemon idles. */
void t_start(const struct t_ring_setup *setup, uint32_t wait);
void t_end(void);
/** Fail the test on an error. */
uint64_t t_next(struct sf_cursor *cursor);
uint64_t t_ordered(struct sf_cursor *cursor);
/** Takes until `error` comes, which leaves the result alone. @return how many IDs it took */
size_t t_next_until(struct sf_cursor *cursor, int error, uint64_t *ret_last);
uint64_t t_tick_of(uint64_t id);
void t_floor_set(uint64_t floor);

void t_add_client_wait(Suite *suite);
void t_add_client_end(Suite *suite);
void t_add_client_daemon(Suite *suite);
void t_add_client_open(Suite *suite);
void t_add_client_ordered(Suite *suite);
void t_add_client_tally(Suite *suite);
void t_add_client_windows(Suite *suite);

#endif
