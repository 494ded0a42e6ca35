/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Every row of tests/vectors: exact values of the systems whose IDs sfd speaks. The rows are
 * checked in the vectors_*.c files beside this one; this file reads them, counts them, and fails
 * when one was left out.
 */
#include "tests/unit/vectors_suite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define KEYS_MAX 128u

__extension__ typedef unsigned __int128 u128;

static const char *const files[] = {"coola.json", "discord.json", "hound.json", "snowflakex.json"};

/* Keys that need no test, or have it elsewhere. */
static const struct {
	const char *file; /* NULL: every file */
	const char *key;
} elsewhere[] = {
	{NULL, "source"}, /* where the values come from, for readers */
	/* content ids: test_content */
	{"coola.json", "content_json"},
	{"coola.json", "content_typed"},
	{"coola.json", "content_collisions"},
	{"coola.json", "content_short_length_order_dependence"},
	{"coola.json", "content_lengths"},
	{"coola.json", "content_lengths_refused"},
	{"coola.json", "float_repr"},
	{"coola.json", "blake2b"},
	{"coola.json", "uuid5_primitive"},
	{"coola.json", "uuid5_other_namespaces"},
};

/* What was run, in memory that the tests' processes share. */
struct done {
	const char *file;
	const char *key;
	size_t rows;
};
static struct done *done;

/* The row that is checked, less the fields that were read. NULL for a row without fields. */
static json_t *row_now;
static json_t *unread;

static json_t *load(const char *name)
{
	char path[4096];
	json_error_t error;
	json_t *root;

	ck_assert_int_lt(snprintf(path, sizeof(path), "%s/%s", SF_TEST_VECTORS, name),
			 (int)sizeof(path));
	root = json_load_file(path, JSON_ALLOW_NUL, &error);
	ck_assert_msg(root != NULL, "%s: %s, line %d", path, error.text, error.line);
	return root;
}

static struct done *done_of(const char *file, const char *key)
{
	for (size_t i = 0; i < KEYS_MAX; i++) {
		if (!done[i].file)
			done[i] = (struct done){.file = file, .key = key};
		if (strcmp(done[i].file, file) == 0 && strcmp(done[i].key, key) == 0)
			return &done[i];
	}
	ck_abort_msg("more than %u keys", KEYS_MAX);
}

static void check_row(struct done *key, json_t *row, void (*check)(json_t *row))
{
	const char *name;
	json_t *value;

	row_now = row;
	unread = json_is_object(row) ? json_copy(row) : NULL;
	check(row);
	json_object_foreach(unread, name, value)
	{
		ck_abort_msg("%s: %s[%zu]: nobody looks at \"%s\"", key->file, key->key, key->rows,
			     name);
	}
	json_decref(unread);
	key->rows++;
}

void t_vectors_each(const char *file, const char *key, void (*check)(json_t *row))
{
	json_t *root = load(file);
	json_t *rows = json_object_get(root, key);
	struct done *now = done_of(file, key);
	json_t *row;
	size_t i;

	ck_assert_msg(json_array_size(rows) > 0, "%s: no rows under \"%s\"", file, key);
	now->rows = 0;
	json_array_foreach(rows, i, row) check_row(now, row, check);
	json_decref(root);
}

void t_vectors_one(const char *file, const char *key, void (*check)(json_t *row))
{
	json_t *root = load(file);
	json_t *row = json_object_get(root, key);
	struct done *now = done_of(file, key);

	ck_assert_msg(row && !json_is_array(row), "%s: no single value under \"%s\"", file, key);
	now->rows = 0;
	check_row(now, row, check);
	json_decref(root);
}

/* ---- fields ---- */

json_t *t_vectors_field_if_any(json_t *row, const char *name)
{
	if (row == row_now)
		(void)json_object_del(unread, name);
	return json_object_get(row, name);
}

json_t *t_vectors_field(json_t *row, const char *name)
{
	json_t *value = t_vectors_field_if_any(row, name);

	ck_assert_msg(value != NULL, "no field \"%s\"", name);
	return value;
}

void t_vectors_skip(json_t *row, const char *name)
{
	(void)t_vectors_field(row, name);
}

const char *t_vectors_text(json_t *row, const char *name)
{
	const char *text = json_string_value(t_vectors_field(row, name));

	ck_assert_msg(text != NULL, "\"%s\" is no string", name);
	return text;
}

bool t_vectors_flag(json_t *row, const char *name)
{
	json_t *value = t_vectors_field(row, name);

	ck_assert_msg(json_is_boolean(value), "\"%s\" is neither true nor false", name);
	return json_is_true(value);
}

uint64_t t_vectors_u64(json_t *row, const char *name)
{
	json_t *value = t_vectors_field(row, name);
	const char *text;
	char *end;
	uint64_t number;

	if (json_is_integer(value))
		return (uint64_t)json_integer_value(value);
	text = t_vectors_text(row, name);
	errno = 0;
	number = *text == '-' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
	ck_assert_msg(errno == 0 && end != text && *end == '\0', "\"%s\" is no number", text);
	return number;
}

int64_t t_vectors_i64(json_t *row, const char *name)
{
	return (int64_t)t_vectors_u64(row, name);
}

uint32_t t_vectors_u32(json_t *row, const char *name)
{
	uint64_t value = t_vectors_u64(row, name);

	ck_assert_uint_le(value, UINT32_MAX);
	return (uint32_t)value;
}

struct sf_wide t_vectors_wide(json_t *row, const char *name, unsigned base)
{
	static const char digits[] = "0123456789abcdef";
	const char *text = t_vectors_text(row, name);
	u128 number = 0;

	ck_assert_uint_gt(strlen(text), 0);
	for (const char *at = text; *at != '\0'; at++) {
		const char *digit = memchr(digits, *at, base);
		u128 next;

		ck_assert_msg(digit != NULL, "\"%s\" is no number", text);
		next = number * base + (unsigned)(digit - digits);
		ck_assert_msg(next / base == number, "\"%s\" has more than 128 bits", text);
		number = next;
	}
	return (struct sf_wide){.high = (uint64_t)(number >> 64), .low = (uint64_t)number};
}

double t_vectors_double(json_t *row, const char *name)
{
	const char *text = t_vectors_text(row, name);
	char *end;
	double number = strtod(text, &end);

	ck_assert_msg(end != text && *end == '\0', "\"%s\" is no number", text);
	return number;
}

void t_vectors_same(const struct sf_wide *a, const struct sf_wide *b)
{
	ck_assert_uint_eq(a->high, b->high);
	ck_assert_uint_eq(a->low, b->low);
}

void t_vectors_assert_iso(json_t *row, const char *iso_name, int64_t unix_ms)
{
	time_t seconds = (time_t)(unix_ms / 1000);
	char whole[32];
	char text[48];
	struct tm tm;

	ck_assert_ptr_nonnull(gmtime_r(&seconds, &tm));
	ck_assert_uint_gt(strftime(whole, sizeof(whole), "%Y-%m-%dT%H:%M:%S", &tm), 0);
	(void)snprintf(text, sizeof(text), "%s.%03dZ", whole, (int)(unix_ms % 1000));
	ck_assert_str_eq(text, t_vectors_text(row, iso_name));
}

void t_vectors_assert_time(json_t *row, const char *name, const char *iso_name, int64_t unix_ms)
{
	ck_assert_int_eq(t_vectors_i64(row, name), unix_ms);
	t_vectors_assert_iso(row, iso_name, unix_ms);
}

/* ---- 64-bit IDs ---- */

struct sf_layout t_vectors_layout(const char *text)
{
	struct sf_layout layout;
	struct sf_why why;

	ck_assert_msg(sf_layout_parse(text, &layout, &why) == 0, "%s: %s", text, why.text);
	return layout;
}

void t_vectors_assert_id(const struct sf_layout *layout, const struct sf_parts *want, uint64_t id)
{
	struct sf_parts got;
	struct sf_why why;
	uint64_t made = ~id;
	uint64_t first;
	uint64_t last;

	ck_assert_msg(sf_compose(layout, want, &made, &why) == 0, "%s", why.text);
	ck_assert_uint_eq(made, id);
	ck_assert_msg(sf_decompose(layout, id, &got, &why) == 0, "%s", why.text);
	ck_assert_int_eq(got.unix_ms, want->unix_ms);
	ck_assert_uint_eq(got.tick, want->tick);
	ck_assert_uint_eq(got.node, want->node);
	ck_assert_uint_eq(got.worker, want->worker);
	ck_assert_uint_eq(got.process, want->process);
	ck_assert_uint_eq(got.sequence, want->sequence);
	ck_assert_int_eq(sf_id_min(layout, want->unix_ms, &first, &why), 0);
	ck_assert_int_eq(sf_id_max(layout, want->unix_ms, &last, &why), 0);
	ck_assert_uint_le(first, id);
	ck_assert_uint_ge(last, id);
}

/* ---- nothing was left out ---- */

static bool is_elsewhere(const char *file, const char *key)
{
	for (size_t i = 0; i < T_COUNT(elsewhere); i++)
		if (strcmp(elsewhere[i].key, key) == 0 &&
		    (!elsewhere[i].file || strcmp(elsewhere[i].file, file) == 0))
			return true;
	return false;
}

/* Runs last. A key that is new to a file, or whose test failed at row N, fails here, too. */
START_TEST(files_hold_no_row_that_was_not_run)
{
	const char *file = files[_i];
	json_t *root = load(file);
	const char *key;
	json_t *value;

	json_object_foreach(root, key, value)
	{
		size_t rows = json_is_array(value) ? json_array_size(value) : 1;

		if (is_elsewhere(file, key))
			continue;
		ck_assert_msg(done_of(file, key)->rows == rows, "%s: \"%s\": %zu of %zu rows run",
			      file, key, done_of(file, key)->rows, rows);
	}
	json_decref(root);
}
END_TEST

static size_t rows_run(void)
{
	size_t rows = 0;

	for (size_t i = 0; i < KEYS_MAX; i++)
		rows += done[i].rows;
	return rows;
}

int main(void)
{
	Suite *suite = suite_create("vectors");
	TCase *all = tcase_create("all rows");
	SRunner *runner = srunner_create(suite);
	int failed;

	done = mmap(NULL, KEYS_MAX * sizeof(*done), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (done == MAP_FAILED) {
		perror("mmap");
		return EXIT_FAILURE;
	}
	t_add_vectors_discord(suite);
	t_add_vectors_snowflakex(suite);
	t_add_vectors_snowflakex_clock(suite);
	t_add_vectors_hound(suite);
	t_add_vectors_hound_clock(suite);
	t_add_vectors_coola_wide(suite);
	t_add_vectors_coola_text(suite);
	t_add_vectors_coola_snowflake(suite);
	t_add_vectors_coola_engine(suite);
	tcase_add_loop_test(all, files_hold_no_row_that_was_not_run, 0, T_COUNT(files));
	suite_add_tcase(suite, all);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	(void)printf("vectors: %zu rows run\n", rows_run());
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
