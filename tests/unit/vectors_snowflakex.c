/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * snowflakex.json, but for what depends on the clock: IDs, and the machine ids that a daemon
 * starts with.
 */
#include "tests/support/config.h"
#include "tests/unit/vectors_suite.h"

#include <errno.h>
#include <inttypes.h>
#include <sftext.h>
#include <stdio.h>
#include <string.h>

#define MACHINE_ID_BITS 10

static struct sf_layout layout;

static void set_up(void)
{
	layout = t_vectors_layout("snowflakex");
	t_config_init();
}

static void check_id(json_t *row)
{
	int64_t unix_ms = t_vectors_i64(row, "timestamp_unix_ms");

	t_vectors_assert_id(&layout,
			    &(struct sf_parts){.unix_ms = unix_ms,
					       .tick = (uint64_t)(unix_ms - layout.epoch_ms),
					       .node = t_vectors_u32(row, "machine_id"),
					       .sequence = t_vectors_u32(row, "sequence")},
			    t_vectors_u64(row, "id"));
}

static void check_hex_and_tick(json_t *row)
{
	char hex[SF_TEXT_MAX];

	check_id(row);
	ck_assert_int_eq(t_vectors_i64(row, "ms_since_epoch"),
			 t_vectors_i64(row, "timestamp_unix_ms") - layout.epoch_ms);
	ck_assert_int_eq(sf_text_format(SF_TEXT_HEX, t_vectors_u64(row, "id"), hex), 16);
	ck_assert_str_eq(hex, t_vectors_text(row, "hex"));
}

static void check_pack(json_t *row)
{
	check_hex_and_tick(row);
	t_vectors_assert_time(row, "timestamp_unix_ms", "timestamp_iso",
			      t_vectors_i64(row, "timestamp_unix_ms"));
}

START_TEST(compose_and_decompose_snowflakex_pack_agree)
{
	t_vectors_each("snowflakex.json", "pack", check_pack);
}
END_TEST

START_TEST(compose_and_decompose_snowflakex_printed_decompose_agree)
{
	t_vectors_one("snowflakex.json", "printed_decompose", check_hex_and_tick);
}
END_TEST

static void check_sample(json_t *row)
{
	check_id(row);
	t_vectors_assert_time(row, "timestamp_unix_ms", "timestamp_iso",
			      t_vectors_i64(row, "timestamp_unix_ms"));
}

START_TEST(compose_and_decompose_snowflakex_printed_sample_agree)
{
	t_vectors_one("snowflakex.json", "printed_usage_sample", check_sample);
}
END_TEST

static void check_format(json_t *row)
{
	uint64_t id;

	ck_assert_uint_eq(t_vectors_u64(row, "sign_bit"), 64 - sf_layout_bits(&layout) - 1);
	ck_assert_uint_eq(layout.time_bits, t_vectors_u64(row, "timestamp_bits"));
	ck_assert_uint_eq(layout.node_bits, t_vectors_u64(row, "machine_id_bits"));
	ck_assert_uint_eq(layout.sequence_bits, t_vectors_u64(row, "sequence_bits"));
	t_vectors_assert_time(row, "epoch_unix_ms", "epoch_iso", layout.epoch_ms);
	t_vectors_assert_time(row, "last_unix_ms", "last_iso", sf_layout_last_ms(&layout));
	ck_assert_int_eq(sf_id_max(&layout, sf_layout_last_ms(&layout), &id, NULL), 0);
	ck_assert_uint_eq(id, t_vectors_u64(row, "max_id"));
}

START_TEST(layout_snowflakex_format_agrees)
{
	t_vectors_one("snowflakex.json", "format", check_format);
}
END_TEST

/* ---- machine ids ---- */

static int load_machine_id(const char *line)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "[stream a]\nlayout = snowflakex\n%s\n", line);
	return t_config_load(text);
}

static void check_machine_id(json_t *row)
{
	json_int_t machine_id = json_integer_value(row);
	uint32_t node[SF_NODES_MAX];
	uint32_t count = 0;
	char text[32];
	char line[64];
	struct sf_why why;

	(void)snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, machine_id);
	ck_assert_msg(sfd_nodes_parse(text, MACHINE_ID_BITS, node, &count, &why) == 0, "%s",
		      why.text);
	ck_assert_uint_eq(count, 1);
	ck_assert_int_eq(node[0], machine_id);
	(void)snprintf(line, sizeof(line), "machine_id = %s", text);
	ck_assert_msg(load_machine_id(line) == 0, "%s", t_config_said);
	ck_assert_int_eq(t_config.stream[0].node[0], machine_id);
	t_config_deinit();
}

START_TEST(config_snowflakex_machine_ids_are_taken)
{
	t_vectors_each("snowflakex.json", "machine_id_valid", check_machine_id);
}
END_TEST

/* What the rows' values are in a configuration file, and what the daemon says instead of starting:
 * there the application only fails to start. */
static const struct {
	const char *row;
	const char *line;
	const char *said;
} refused[] = {
	{"1024", "machine_id = 1024", "legal is [0,1023]"},
	{"-1", "machine_id = -1", "legal is [0,1023]"},
	{"unset (nil)", "", "has no machine id"},
	{"string \"5\"", "machine_id = \"5\"", "legal is [0,1023]"},
	{"float 5.0", "machine_id = 5.0", "legal is [0,1023]"},
	{"atom", "machine_id = five", "legal is [0,1023]"},
};

static void check_refused_machine_id(json_t *row)
{
	const char *text = json_string_value(row);
	size_t i = 0;

	while (i < T_COUNT(refused) && strcmp(refused[i].row, text) != 0)
		i++;
	ck_assert_msg(i < T_COUNT(refused), "machine id \"%s\"", text);
	ck_assert_int_eq(load_machine_id(refused[i].line), -EINVAL);
	t_config_assert_said(refused[i].said);
}

START_TEST(config_snowflakex_refused_machine_ids_are_refused_with_a_sentence)
{
	t_vectors_each("snowflakex.json", "machine_id_refused_at_start", check_refused_machine_id);
}
END_TEST

void t_add_vectors_snowflakex(Suite *suite)
{
	TCase *tcase = tcase_create("snowflakex");

	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, compose_and_decompose_snowflakex_pack_agree);
	tcase_add_test(tcase, compose_and_decompose_snowflakex_printed_decompose_agree);
	tcase_add_test(tcase, compose_and_decompose_snowflakex_printed_sample_agree);
	tcase_add_test(tcase, layout_snowflakex_format_agrees);
	tcase_add_test(tcase, config_snowflakex_machine_ids_are_taken);
	tcase_add_test(tcase, config_snowflakex_refused_machine_ids_are_refused_with_a_sentence);
	suite_add_tcase(suite, tcase);
}
