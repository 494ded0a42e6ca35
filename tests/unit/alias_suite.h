/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What the files of test_alias share: a store in a directory of the test's own. One thread, unless
 * a function says otherwise. The layouts have machine ids that no sfd of this host has.
 */
#ifndef T_ALIAS_SUITE_H
#define T_ALIAS_SUITE_H

#include <check.h>
#include <sfalias.h>
#include <string.h>

/** 4 IDs a tick; bits to spare above. */
#define T_ALIAS_LAYOUT "t41 n20 s2 epoch=1577836800000"
#define T_ALIAS_NODE 900000u
#define T_COUNT(array) (sizeof(array) / sizeof((array)[0]))
/** A time within the layout. */
#define T_ALIAS_MS INT64_C(1600000000123)

/** The sentence of the last failure. */
extern struct sf_why t_alias_why;

/** Options for "a.db" in the test's directory with a layout and T_ALIAS_NODE. */
struct sf_alias_options t_alias_options(const char *layout);
/** Set-up and tear-down of every test. */
void t_alias_set_up(void);
void t_alias_tear_down(void);
/** Opens; fails the test if that does. */
struct sf_alias *t_alias_open(const struct sf_alias_options *options);
/** The same for T_ALIAS_LAYOUT. */
struct sf_alias *t_alias_open_default(void);
/** Opening fails so, and says `sentence`. */
void t_alias_refused(const struct sf_alias_options *options, int error, const char *sentence);
/** An ID of the layout. */
uint64_t t_alias_id(const char *layout, int64_t unix_ms, uint32_t node, uint32_t sequence);
/** The same with T_ALIAS_LAYOUT, T_ALIAS_MS and T_ALIAS_NODE. */
uint64_t t_alias_own_id(uint32_t sequence);
/** Backfills; fails the test if that does. Any thread. */
uint64_t t_alias_get_at(struct sf_alias *alias, const char *key, int64_t unix_ms);
/** Looks up; fails the test if there is none. */
uint64_t t_alias_find(struct sf_alias *alias, const char *key);
/** The ID has this key. */
void t_alias_assert_key(struct sf_alias *alias, uint64_t id, const char *expected);
/** sf_alias_put() */
int t_alias_put(struct sf_alias *alias, const char *key, uint64_t id);
/** The last failure's sentence has this part. */
void t_alias_said(const char *part);

void t_add_alias_store(Suite *suite);
void t_add_alias_pairs(Suite *suite);
void t_add_alias_batch(Suite *suite);
void t_add_alias_place(Suite *suite);

#endif
