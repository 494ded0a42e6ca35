/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The ingestion filter's scanner for one record.
 */
#include "tools/stamp_record.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LONG_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
	const char *in;
	const char *out; /* NULL: bad */
	const char *why; /* part of the reason; bad records only */
} records[] = {
	{"{\"a\":1}", "{\"id\":\"123\",\"a\":1}", NULL},
	{"{\"a\":1}\n", "{\"id\":\"123\",\"a\":1}\n", NULL},
	{"{\"a\":1}\r\n", "{\"id\":\"123\",\"a\":1}\r\n", NULL},
	{"{}\n", "{\"id\":\"123\"}\n", NULL},
	{"{ }\n", "{\"id\":\"123\" }\n", NULL},
	{" \t{ \"a\" : [ 1 , {\"id\":2} ] }  \n",
	 " \t{\"id\":\"123\", \"a\" : [ 1 , {\"id\":2} ] }  \n", NULL},
	{"{\"a\":{\"id\":1}}", "{\"id\":\"123\",\"a\":{\"id\":1}}", NULL},
	{"{\"ID\":1}", "{\"id\":\"123\",\"ID\":1}", NULL},
	{"{\"a\":\"id\"}", "{\"id\":\"123\",\"a\":\"id\"}", NULL},
	{"{\"a\":1e999,\"b\":123456789012345678901234567890,\"a\":2}",
	 "{\"id\":\"123\",\"a\":1e999,\"b\":123456789012345678901234567890,\"a\":2}", NULL},
	{"{\"\xc3\xa9\":\"\\ud83d\\ude00\\u0000\"}",
	 "{\"id\":\"123\",\"\xc3\xa9\":\"\\ud83d\\ude00\\u0000\"}", NULL},
	{"{\"" LONG_A "\":\"" LONG_A "\"}", "{\"id\":\"123\",\"" LONG_A "\":\"" LONG_A "\"}", NULL},
	{"", "", NULL},
	{"\n", "\n", NULL},
	{" \t\r\n", " \t\r\n", NULL},
	{"[1]\n", NULL, "is not a JSON object"},
	{"\"a\"", NULL, "is not a JSON object"},
	{"12", NULL, "is not a JSON object"},
	{"hello", NULL, "is not a JSON object"},
	{"\xef\xbb\xbf{}", NULL, "0xef"},
	{"{\"id\":1}\n", NULL, "has a member \"id\" already"},
	{"{\"a\":1,\"id\":null}\n", NULL, "has a member \"id\" already"},
	{"{\"\\u0069\\u0064\":1}\n", NULL, "has a member \"id\" already"},
	{"{\"a\":1", NULL, "is not JSON at byte 6: parse error: premature EOF"},
	{" {\"a\":2 \r\n", NULL, "is not JSON at byte 7: parse error: premature EOF"},
	{"{\"a\":\"b", NULL, "is not JSON at byte 7: parse error: premature EOF"},
	{"{\"a\" 1}", NULL, "is not JSON at byte 6: "},
	{"{\"a\":1}}", NULL, "is not JSON"},
	{"{\"a\":1}{\"b\":2}\n", NULL, "is not JSON"},
	{"{\"a\":1} x\n", NULL, "is not JSON"},
	{"{\"a\":1} 5", NULL, "is not JSON"},
	{"{\"a\":01}", NULL, "is not JSON"},
	{"{\"a\":+1}", NULL, "is not JSON"},
	{"{\"a\":NaN}", NULL, "is not JSON"},
	{"{\"a\":1,}", NULL, "is not JSON"},
	{"{a:1}", NULL, "is not JSON"},
	{"{'a':1}", NULL, "is not JSON"},
	{"{\"a\":\"\t\"}", NULL, "is not JSON"},
	{"{\"a\":\"\xff\"}", NULL, "is not JSON"},
	{"{\"a\":\"\\x\"}", NULL, "is not JSON"},
	{"{\"a\":1/**/}", NULL, "is not JSON"},
	{"{\v\"a\":1}", NULL, "is not JSON"},
	{"{\"a\":1}\f", NULL, "is not JSON"},
	{"{", NULL, "is not JSON"},
};

/** Scans and writes into memory of the exact sizes, so that a sanitizer sees one byte too many. */
static char *stamped(const struct sfctl_scanner *scanner, const char *text, size_t length,
		     struct sf_why *why)
{
	const struct sfctl_stamp_id id = {.length = 3, .text = "123"};
	struct sfctl_record record;
	char *copy = malloc(length ? length : 1);
	char *out = NULL;
	size_t size;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, text, length);
	if (sfctl_record_scan(scanner, copy, length, &record, why) != SFCTL_RECORD_BAD) {
		size = sfctl_record_size_max(scanner, &record);
		out = malloc(size + 1);
		ck_assert_ptr_nonnull(out);
		length = sfctl_record_write(scanner, &record, &id, out);
		ck_assert_uint_le(length, size);
		out[length] = '\0';
	}
	free(copy);
	return out;
}

START_TEST(record_scan_table_stamps_or_refuses)
{
	struct sfctl_scanner scanner;
	struct sf_why why = {{0}};
	char *out;

	ck_assert_int_eq(sfctl_scanner_init(&scanner, "id", &why), 0);
	out = stamped(&scanner, records[_i].in, strlen(records[_i].in), &why);
	if (records[_i].out) {
		ck_assert_msg(out != NULL, "%s", why.text);
		ck_assert_str_eq(out, records[_i].out);
	} else {
		ck_assert_ptr_null(out);
		ck_assert_msg(strstr(why.text, records[_i].why) != NULL, "%s", why.text);
		ck_assert_ptr_null(strchr(why.text, '\n'));
	}
	free(out);
	sfctl_scanner_deinit(&scanner);
}
END_TEST

START_TEST(record_scan_nul_byte_is_refused)
{
	struct sfctl_scanner scanner;
	struct sf_why why;

	ck_assert_int_eq(sfctl_scanner_init(&scanner, "id", &why), 0);
	ck_assert_ptr_null(stamped(&scanner, "{\"a\":1\0}", 8, &why));
	ck_assert_ptr_null(stamped(&scanner, "{}\0", 3, &why));
	ck_assert_ptr_null(stamped(&scanner, "\0", 1, &why));
	sfctl_scanner_deinit(&scanner);
}
END_TEST

START_TEST(record_scan_deep_nesting_neither_crashes_nor_is_refused)
{
	enum {
		DEPTH = 100000
	};
	struct sfctl_scanner scanner;
	struct sf_why why;
	char *text = malloc(5 + 2 * DEPTH + 1);
	char *out;

	ck_assert_ptr_nonnull(text);
	(void)stpcpy(text, "{\"a\":");
	memset(text + 5, '[', DEPTH);
	memset(text + 5 + DEPTH, ']', DEPTH);
	text[5 + 2 * DEPTH] = '}';
	ck_assert_int_eq(sfctl_scanner_init(&scanner, "id", &why), 0);
	out = stamped(&scanner, text, 5 + 2 * DEPTH + 1, &why);
	ck_assert_ptr_nonnull(out);
	free(out);
	ck_assert_ptr_null(stamped(&scanner, text, 5 + 2 * DEPTH, &why));
	free(text);
	sfctl_scanner_deinit(&scanner);
}
END_TEST

START_TEST(scanner_init_odd_name_is_escaped_and_found)
{
	struct sfctl_scanner scanner;
	struct sf_why why;
	char *out;

	ck_assert_int_eq(sfctl_scanner_init(&scanner, "a\"\\\n", &why), 0);
	out = stamped(&scanner, "{\"b\":1}", 7, &why);
	ck_assert_str_eq(out, "{\"a\\\"\\\\\\n\":\"123\",\"b\":1}");
	free(out);
	ck_assert_ptr_null(stamped(&scanner, "{\"a\\\"\\\\\\u000a\":1}", 17, &why));
	sfctl_scanner_deinit(&scanner);
}
END_TEST

START_TEST(scanner_init_impossible_name_is_refused)
{
	struct sfctl_scanner scanner;
	struct sf_why why;
	char name[SFCTL_STAMP_FIELD_MAX + 2];

	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	ck_assert_int_eq(sfctl_scanner_init(&scanner, name, &why), -EINVAL);
	name[SFCTL_STAMP_FIELD_MAX] = '\0';
	ck_assert_int_eq(sfctl_scanner_init(&scanner, name, &why), 0);
	sfctl_scanner_deinit(&scanner);
	ck_assert_int_eq(sfctl_scanner_init(&scanner, "", &why), -EINVAL);
	ck_assert_int_eq(sfctl_scanner_init(&scanner, "\xff", &why), -EINVAL);
}
END_TEST

START_TEST(record_write_lines_mode_puts_id_and_tab)
{
	struct sfctl_scanner scanner = {.prefix = NULL};
	struct sf_why why;
	char *out = stamped(&scanner, "a line\r\n", 8, &why);

	ck_assert_str_eq(out, "123\ta line\r\n");
	free(out);
	out = stamped(&scanner, "\n", 1, &why);
	ck_assert_str_eq(out, "123\t\n");
	free(out);
}
END_TEST

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

static Suite *stamp_record_suite(void)
{
	Suite *suite = suite_create("stamp_record");
	TCase *record = tcase_create("record");

	tcase_add_loop_test(record, record_scan_table_stamps_or_refuses, 0, LENGTH(records));
	tcase_add_test(record, record_scan_nul_byte_is_refused);
	tcase_add_test(record, record_scan_deep_nesting_neither_crashes_nor_is_refused);
	tcase_add_test(record, scanner_init_odd_name_is_escaped_and_found);
	tcase_add_test(record, scanner_init_impossible_name_is_refused);
	tcase_add_test(record, record_write_lines_mode_puts_id_and_tab);
	suite_add_tcase(suite, record);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(stamp_record_suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
