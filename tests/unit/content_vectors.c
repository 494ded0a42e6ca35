/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Content IDs of coola: every row of tests/vectors/coola.json that has one, and the primitives
 * under them. What the keys mean stands in tests/vectors/README.md.
 */
#include "libclient/content/content.h"
#include "libclient/content/float_text.h"
#include "tests/unit/content_rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *t_content_load(void)
{
	static const char path[] = SF_TEST_VECTORS "/coola.json";
	json_error_t error;
	json_t *root = json_load_file(path, JSON_ALLOW_NUL, &error);

	ck_assert_msg(root != NULL, "%s: %s, line %d", path, error.text, error.line);
	return root;
}

void t_content_each(const char *key, void (*check)(json_t *row))
{
	json_t *root = t_content_load();
	json_t *rows = json_object_get(root, key);
	json_t *row;
	size_t i;

	ck_assert_msg(json_array_size(rows) > 0, "no rows under \"%s\"", key);
	json_array_foreach(rows, i, row)
	{
		check(row);
		t_content_row_done();
	}
	json_decref(root);
}

const char *t_content_string(json_t *row, const char *name)
{
	const char *text = json_string_value(json_object_get(row, name));

	ck_assert_msg(text != NULL, "no string \"%s\"", name);
	return text;
}

void t_content_assert_words(json_t *row, uint32_t profile, const char *words)
{
	ck_assert_str_eq(t_content_of(profile, 64, words).id, t_content_string(row, "content_id"));
	ck_assert_str_eq(t_content_of(profile, 128, words).uuid, t_content_string(row, "uuid5"));
}

static void assert_json(json_t *row, uint32_t profile, json_t *json)
{
	const char *text = json_string_value(json);
	size_t size = json_string_length(json);

	for (size_t piece = 1; piece <= size; piece = 2 * piece + 1)
		ck_assert_str_eq(t_content_of_json(profile, 64, text, size, piece).id,
				 t_content_string(row, "content_id"));
	ck_assert_str_eq(t_content_of_json(profile, 128, text, size, size).uuid,
			 t_content_string(row, "uuid5"));
}

/** The one row that is no JSON: Python's reader takes it, ours does not. */
static void check_nan(json_t *row)
{
	ck_assert_int_eq(t_content_of_json(SF_CONTENT_COOLA, 64, "NaN", 3, 3).error, -EBADMSG);
	t_content_assert_words(row, SF_CONTENT_COOLA, "dnan");
	t_content_assert_words(row, SF_CONTENT_COOLA_1_1, "dnan");
	ck_assert_str_eq(t_content_of(SF_CONTENT_COOLA, 16, "dnan").id,
			 t_content_string(row, "content_id_16"));
}

static void check_json(json_t *row)
{
	json_t *json = json_object_get(row, "json");
	json_t *release = json_object_get(row, "release_1_1_x");
	const char *text = t_content_string(row, "json");
	size_t size = json_string_length(json);

	if (strcmp(text, "NaN") == 0) {
		check_nan(row);
		return;
	}
	assert_json(row, SF_CONTENT_COOLA, json);
	ck_assert_str_eq(t_content_of_json(SF_CONTENT_COOLA, 16, text, size, size).id,
			 t_content_string(row, "content_id_16"));
	/* where the row has no other value, the rules agree */
	assert_json(release ? release : row, SF_CONTENT_COOLA_1_1, json);
}

START_TEST(json_coola_content_json_agrees)
{
	t_content_each("content_json", check_json);
}
END_TEST

static void check_lengths(json_t *row)
{
	uint32_t length = (uint32_t)json_integer_value(json_object_get(row, "length"));
	struct sf_content_options options = SF_CONTENT_OPTIONS;
	const char *key;
	json_t *value;
	int seen = 0;

	options.profile = SF_CONTENT_COOLA;
	options.length = length;
	json_object_foreach(row, key, value)
	{
		char id[SF_CONTENT_ID_MAX];

		if (strcmp(key, "length") == 0)
			continue;
		ck_assert_int_eq(sf_content_id_json(&options, key, strlen(key), id, NULL), length);
		ck_assert_str_eq(id, json_string_value(value));
		seen++;
	}
	ck_assert_int_gt(seen, 0);
}

START_TEST(json_coola_content_lengths_agree)
{
	t_content_each("content_lengths", check_lengths);
}
END_TEST

static void check_length_refused(json_t *row)
{
	json_int_t length = json_integer_value(json_object_get(row, "length"));
	struct sf_content_options options = SF_CONTENT_OPTIONS;
	struct sf_content *content = NULL;
	struct sf_why why;
	char said[32];

	options.length = (uint32_t)length;
	for (options.profile = 0; options.profile < 3; options.profile++) {
		ck_assert_int_eq(sf_content_open(&options, &content, &why), -EINVAL);
		ck_assert_ptr_null(content);
		(void)snprintf(said, sizeof(said), "cannot have %d digits", (int)length);
		ck_assert_msg(strstr(why.text, said) != NULL, "%s", why.text);
	}
}

START_TEST(open_coola_content_lengths_refused_are_refused)
{
	t_content_each("content_lengths_refused", check_length_refused);
}
END_TEST

START_TEST(json_coola_short_length_depends_on_the_order)
{
	json_t *root = t_content_load();
	json_t *row = json_object_get(root, "content_short_length_order_dependence");
	uint32_t length = (uint32_t)json_integer_value(json_object_get(row, "length"));
	const char *first = t_content_string(json_object_get(row, "a"), "json_in_order");
	const char *second = t_content_string(json_object_get(row, "b"), "json_in_order");

	ck_assert_str_eq(t_content_of(SF_CONTENT_COOLA, length, "'k10'").id,
			 t_content_string(row, "both_keys_digest"));
	ck_assert_str_eq(t_content_of(SF_CONTENT_COOLA, length, "'k30'").id,
			 t_content_string(row, "both_keys_digest"));
	ck_assert_str_eq(t_content_of_json(SF_CONTENT_COOLA, length, first, strlen(first), 99).id,
			 t_content_string(json_object_get(row, "a"), "content_id"));
	ck_assert_str_eq(t_content_of_json(SF_CONTENT_COOLA, length, second, strlen(second), 99).id,
			 t_content_string(json_object_get(row, "b"), "content_id"));
	/* our own profile has no such trap */
	ck_assert_str_eq(
		t_content_of_json(SF_CONTENT_SFD_1, length, first, strlen(first), 99).id,
		t_content_of_json(SF_CONTENT_SFD_1, length, second, strlen(second), 99).id);
	t_content_row_done();
	json_decref(root);
}
END_TEST

static void check_float(json_t *row)
{
	const char *literal = t_content_string(row, "literal");
	double value = sf_float_read(literal);
	double exact = strtod(t_content_string(row, "c99"), NULL);
	struct sf_content *content = t_content_open(SF_CONTENT_COOLA, 64, false);
	char text[SF_FLOAT_TEXT_MAX];
	char id[SF_CONTENT_ID_MAX];

	ck_assert(isnan(exact) ? isnan(value) : value == exact);
	ck_assert_int_eq(!signbit(value), !signbit(exact));
	(void)sf_float_text(value, text);
	ck_assert_str_eq(text, t_content_string(row, "python_repr"));
	ck_assert_int_eq(sf_content_double(content, value), 0);
	ck_assert_int_eq(sf_content_finish(content, id), 64);
	ck_assert_str_eq(id, t_content_string(row, "content_id"));
	sf_content_close(content);
	if (!isnan(value))
		ck_assert_str_eq(
			t_content_of_json(SF_CONTENT_COOLA, 64, literal, strlen(literal), 99).id,
			t_content_string(row, "content_id"));
}

START_TEST(float_text_coola_float_repr_agrees)
{
	t_content_each("float_repr", check_float);
}
END_TEST

/** Bytes of a hexadecimal text. @return malloc'ed, and NUL-terminated */
static char *unhex(const char *hex, size_t *ret_length)
{
	size_t length = strlen(hex) / 2;
	char *bytes = calloc(1, length + 1);

	ck_assert_ptr_nonnull(bytes);
	for (size_t i = 0; i < length; i++) {
		char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

		bytes[i] = (char)strtoul(pair, NULL, 16);
	}
	*ret_length = length;
	return bytes;
}

static void check_blake2b(json_t *row)
{
	size_t digest_bytes = (size_t)json_integer_value(json_object_get(row, "digest_size"));
	const char *want = t_content_string(row, "digest");
	size_t length;
	size_t person_length;
	char *input = unhex(t_content_string(row, "input_hex"), &length);
	char *person = unhex(t_content_string(row, "person_hex"), &person_length);
	struct sf_hash hash;
	uint8_t digest[SF_HASH_BYTES];
	char text[2 * SF_HASH_BYTES + 1] = "";

	sf_hash_init(&hash, digest_bytes, person_length > 0 ? person : NULL);
	sf_hash_update(&hash, input, length / 3);
	sf_hash_update(&hash, input + length / 3, length - length / 3);
	sf_hash_final(&hash, digest, digest_bytes);
	sf_hash_hex(digest, digest_bytes, text);
	ck_assert_str_eq(text, want);
	free(person);
	free(input);
}

START_TEST(hash_coola_blake2b_agrees)
{
	t_content_each("blake2b", check_blake2b);
}
END_TEST

static void check_uuid5(json_t *row)
{
	json_t *name = json_object_get(row, "name");
	char uuid[SF_CONTENT_UUID_MAX];

	ck_assert_int_eq(sf_uuid5(t_content_string(row, "namespace"), json_string_value(name),
				  json_string_length(name), uuid),
			 0);
	ck_assert_str_eq(uuid, t_content_string(row, "uuid5"));
}

START_TEST(uuid5_coola_primitive_agrees)
{
	t_content_each("uuid5_primitive", check_uuid5);
}
END_TEST

static void check_namespace(json_t *row)
{
	struct sf_content *content = t_content_open(SF_CONTENT_COOLA, 128, false);
	const char *json = t_content_string(row, "json");
	char uuid[SF_CONTENT_UUID_MAX];

	ck_assert_int_eq(sf_content_json(content, json, strlen(json)), 0);
	ck_assert_int_eq(sf_content_json_end(content), 0);
	ck_assert_int_eq(sf_content_uuid5(content, t_content_string(row, "namespace"), uuid), 0);
	ck_assert_str_eq(uuid, t_content_string(row, "uuid5"));
	sf_content_close(content);
}

START_TEST(uuid5_coola_other_namespaces_agree)
{
	t_content_each("uuid5_other_namespaces", check_namespace);
}
END_TEST

void t_add_content_vectors(Suite *suite)
{
	TCase *vectors = tcase_create("vectors");

	tcase_add_test(vectors, json_coola_content_json_agrees);
	tcase_add_test(vectors, json_coola_content_lengths_agree);
	tcase_add_test(vectors, open_coola_content_lengths_refused_are_refused);
	tcase_add_test(vectors, json_coola_short_length_depends_on_the_order);
	tcase_add_test(vectors, float_text_coola_float_repr_agrees);
	tcase_add_test(vectors, hash_coola_blake2b_agrees);
	tcase_add_test(vectors, uuid5_coola_primitive_agrees);
	tcase_add_test(vectors, uuid5_coola_other_namespaces_agree);
	suite_add_tcase(suite, vectors);
}
