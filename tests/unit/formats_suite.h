/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The parts of the suite of the wide formats, and what their readers have in common.
 */
#ifndef T_FORMATS_SUITE_H
#define T_FORMATS_SUITE_H

#include "libclient/include/sfformats.h"

#include "tests/support/ring_fixture.h"

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

/** Rounds of the tests with random values. */
#define T_ROUNDS 20000

typedef int (*t_read_fn)(const char *text, size_t length, struct sf_wide *ret_id,
			 struct sf_why *why);

/** A text that a reader must refuse. */
struct t_refusal {
	const char *text;
	/** 0: as long as the string. */
	size_t length;
	int error;
	/** What the sentence must hold: the character's position and look. */
	const char *said;
};

/** A copy, until the next call, that ends where memory does: reading past it kills the test. */
const char *t_at_the_edge(const char *text, size_t length);

/** Reads a copy at the edge. Fails the test unless a refusal comes with a sentence
 *  and leaves the result alone. */
int t_read(t_read_fn read, const char *text, size_t length, struct sf_wide *ret_id,
	   struct sf_why *ret_why);
struct sf_wide t_read_ok(t_read_fn read, const char *text);
void t_assert_refused(t_read_fn read, const struct t_refusal *refusal);

/** Every byte in every place of a good text is read, or refused by its position, as `takes` says.
 *  Every part from the start, and one character more, are refused, too. */
void t_assert_each_byte(t_read_fn read, const char *good, bool (*takes)(size_t at, char byte));

/** Independent of the product: Unix milliseconds as an ISO time. */
void t_assert_iso(int64_t unix_ms, const char *iso);

/** From a seed that is printed. The second is sparse at times: few or nearly all bits set. */
void t_formats_seed(void);
uint64_t t_formats_bits(void);
struct sf_wide t_formats_wide(void);

void t_add_formats_ulid(Suite *suite);
void t_add_formats_uuid(Suite *suite);
void t_add_formats_objectid(Suite *suite);
void t_add_formats_hound(Suite *suite);
void t_add_formats_wide(Suite *suite);
void t_add_formats_make(Suite *suite);

#endif
