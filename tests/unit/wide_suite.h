/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The parts of the suite of wide streams, and what they share: one ring, one client, one cursor.
 */
#ifndef T_WIDE_SUITE_H
#define T_WIDE_SUITE_H

#include "tests/support/ring_fixture.h"

#include <sfformats.h>

/** The wide formats, by number: 0 to T_WIDE_FORMATS - 1 are those from SF_FORMAT_ULID on. */
#define T_WIDE_FORMATS 4
extern const char *const t_wide_formats[T_WIDE_FORMATS];

extern struct t_ring t_wide_ring;
extern struct sf_client *t_wide_client;
extern struct sf_cursor *t_wide_cursor;

/** Publishes at the first tick. The random bits are the kernel's, unless a test says otherwise. */
void t_wide_start(int format, bool is_beating);
void t_wide_start_with(const struct t_ring_setup *setup, bool is_beating);
void t_wide_end(void);
/** Random bits of every base from the next tick published on: all ones, all zero. */
void t_wide_draw_ones(void);
void t_wide_draw_zeros(void);
/** The same for the ring's first tick: nothing is published before. */
extern ssize_t (*t_wide_draw)(void *buffer, size_t bytes, unsigned flags);

/** Fails the test on an error, and unless the ID is larger than `*last`, which it becomes. */
void t_wide_take(struct sf_cursor *cursor, struct sf_wide *last);
uint64_t t_wide_tick(const struct sf_wide *id);
/** Fails the test unless text and bytes of two IDs order as the IDs do, and are well formed. */
void t_wide_assert_order(const struct sf_wide *smaller, const struct sf_wide *larger);

void t_add_wide_order(Suite *suite);
void t_add_wide_bits(Suite *suite);

#endif
