/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The parts of the vectors suite, and what they read the rows with. What the keys mean stands in
 * tests/vectors/README.md. A part gives each top-level key of a file one test; the suite then knows
 * which rows were run, and which fields of them were looked at. Main thread of a test only.
 */
#ifndef T_VECTORS_SUITE_H
#define T_VECTORS_SUITE_H

#include "shm/sflayout.h"

#include <check.h>
#include <jansson.h>
#include <sfformats.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef T_COUNT
#define T_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#endif

/** Runs a check on every row of an array, of which there must be one at least. Every field of a
 *  row must be read, or left out on purpose, else the row fails. */
void t_vectors_each(const char *file, const char *key, void (*check)(json_t *row));
/** The same for a value that is no array: the value is the row. */
void t_vectors_one(const char *file, const char *key, void (*check)(json_t *row));

/** A field, which must be there. */
json_t *t_vectors_field(json_t *row, const char *name);
/** A field, or NULL. */
json_t *t_vectors_field_if_any(json_t *row, const char *name);
/** A field that is for readers only. */
void t_vectors_skip(json_t *row, const char *name);
/** A string, without the NULs that a few of them hold: see json_string_length(). */
const char *t_vectors_text(json_t *row, const char *name);
bool t_vectors_flag(json_t *row, const char *name);
/** A number or a decimal string; a negative one keeps its bits. */
uint64_t t_vectors_u64(json_t *row, const char *name);
int64_t t_vectors_i64(json_t *row, const char *name);
uint32_t t_vectors_u32(json_t *row, const char *name);
/** A number of up to 128 bits, as decimal or hexadecimal string. */
struct sf_wide t_vectors_wide(json_t *row, const char *name, unsigned base);
/** A floating-point number, as a string in any notation of C. */
double t_vectors_double(json_t *row, const char *name);

void t_vectors_same(const struct sf_wide *a, const struct sf_wide *b);
/** Fails the test unless a field is this time as text. */
void t_vectors_assert_iso(json_t *row, const char *iso_name, int64_t unix_ms);
/** Fails the test unless one field is this time as a number, and another the same as text. */
void t_vectors_assert_time(json_t *row, const char *name, const char *iso_name, int64_t unix_ms);
struct sf_layout t_vectors_layout(const char *text);
/** Fails the test unless the parts make this ID and come out of it again, and it lies between the
 *  smallest and the largest ID of its time. */
void t_vectors_assert_id(const struct sf_layout *layout, const struct sf_parts *want, uint64_t id);

void t_add_vectors_discord(Suite *suite);
void t_add_vectors_snowflakex(Suite *suite);
void t_add_vectors_hound(Suite *suite);
void t_add_vectors_snowflakex_clock(Suite *suite);
void t_add_vectors_hound_clock(Suite *suite);
void t_add_vectors_coola_engine(Suite *suite);
void t_add_vectors_coola_wide(Suite *suite);
void t_add_vectors_coola_text(Suite *suite);
void t_add_vectors_coola_snowflake(Suite *suite);

#endif
