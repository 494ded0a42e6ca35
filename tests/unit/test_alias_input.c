/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The readers of alias imports: JSON and CSV records, lines, and the places between them; and what
 * is written for a pair.
 */
#include "tools/alias_reader.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define T_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CREATED SF_ALIAS_CREATED
#define ID SF_ALIAS_ID

static struct sf_why why;

static void assert_said(const char *part)
{
	ck_assert_msg(strstr(why.text, part) != NULL, "no \"%s\" in: %s", part, why.text);
}

/* ---- JSON ---- */

static const struct {
	const char *text;
	const char *key;
	uint32_t flags;
	int64_t created_unix_ms;
	uint64_t id;
} json_rows[] = {
	{"{\"key\":\"a\"}", "a", 0, 0, 0},
	{" {\"key\" : \"a\" , \"id\" : null, \"created\": null}\r\n", "a", 0, 0, 0},
	{"{\"id\":\"18446744073709551615\",\"key\":\"a\"}", "a", ID, 0, UINT64_MAX},
	{"{\"key\":\"a\",\"created\":1600000000123}", "a", CREATED, 1600000000123, 0},
	{"{\"key\":\"a\",\"created\":-5}", "a", CREATED, -5, 0},
	{"{\"key\":\"a\",\"created\":\"1600000000123\"}", "a", CREATED, 1600000000123, 0},
	{"{\"key\":\"a\",\"created\":\"2020-09-13T12:26:40.123Z\"}", "a", CREATED, 1600000000123,
	 0},
	{"{\"key\":\"\\u00fc\\n\\\"\"}", "\xc3\xbc\n\"", 0, 0, 0},
	{"{\"key\":\"a\",\"id\":\"0\",\"created\":0}", "a", CREATED | ID, 0, 0},
};

START_TEST(read_json_takes_a_record)
{
	const char *text = json_rows[_i].text;
	struct sfctl_alias_entry entry;

	ck_assert_msg(sfctl_alias_read_json(text, strlen(text), &entry, &why) == 0, "%s", why.text);
	ck_assert_str_eq(entry.key, json_rows[_i].key);
	ck_assert_uint_eq(entry.key_length, strlen(json_rows[_i].key));
	ck_assert_uint_eq(entry.flags, json_rows[_i].flags);
	ck_assert_int_eq(entry.created_unix_ms, json_rows[_i].created_unix_ms);
	ck_assert_uint_eq(entry.id, json_rows[_i].id);
}
END_TEST

static const struct {
	const char *text;
	const char *sentence;
} bad_json_rows[] = {
	{"", "not a JSON object: the end comes too early, at byte "},
	{"[]", "not a JSON object"},
	{"\"a\"", "not a JSON object"},
	{"{\"key\":\"a\"", "not a JSON object: the end comes too early, at byte 10"},
	{"{\"key\":\"a\"} {", "not a JSON object: something follows the object, at byte 13"},
	{"{\"key\" \"a\"}", "not a JSON object: the syntax is wrong, at byte "},
	{"{\"key\":\"a\",\"key\":\"b\"}", "not a JSON object: a name comes twice, at byte "},
	{"{\"key\":\"\xff\"}", "not a JSON object: bytes that are not UTF-8, at byte "},
	{"{\"key\":\"a\\u0000b\"}", "the key holds a NUL"},
	{"{\"key\":\"a\",\"created\":\"5\\u0000\"}", "the creation time holds a NUL"},
	{"{\"k\\u0000\":\"a\"}", "not a JSON object: a name holds a NUL, at byte "},
	{"{}", "there is no \"key\""},
	{"{\"id\":\"5\"}", "there is no \"key\""},
	{"{\"key\":\"\"}", "the key has 0 bytes; legal is [1,255]"},
	{"{\"key\":7}", "\"key\" is not a string"},
	{"{\"key\":null}", "\"key\" is not a string"},
	{"{\"key\":\"a\",\"craeted\":5}",
	 "\"craeted\" is none of key, created and id; leave it out"},
	{"{\"key\":\"a\",\"id\":5}", "\"id\" is not a string; programs lose digits"},
	{"{\"key\":\"a\",\"id\":\"5x\"}", "ID \"5x\" is not decimal digits"},
	{"{\"key\":\"a\",\"id\":\"18446744073709551616\"}", "is not decimal digits up to"},
	{"{\"key\":\"a\",\"id\":\"-1\"}", "is not decimal digits"},
	{"{\"key\":\"a\",\"created\":1.5}", "\"created\" is not a string"},
	{"{\"key\":\"a\",\"created\":9223372036854775808}",
	 "not a JSON object: the number is too large, at byte "},
	{"{\"key\":\"a\",\"created\":\"yesterday\"}", "time \"yesterday\""},
};

START_TEST(read_json_refuses_what_is_no_record)
{
	const char *text = bad_json_rows[_i].text;
	struct sfctl_alias_entry entry = {.key = "untouched"};

	ck_assert_int_eq(sfctl_alias_read_json(text, strlen(text), &entry, &why), -EINVAL);
	assert_said(bad_json_rows[_i].sentence);
	ck_assert_str_eq(entry.key, "untouched");
}
END_TEST

START_TEST(read_json_refuses_a_nul_between_tokens)
{
	struct sfctl_alias_entry entry;

	ck_assert_int_eq(sfctl_alias_read_json("{\"key\":\"a\"}\0", 12, &entry, &why), -EINVAL);
	assert_said("not a JSON object: byte 12 is a NUL");
}
END_TEST

/* ---- whole inputs ---- */

/** Opens a reader on a text in a pipe, whose other end is closed or not. */
static int pipes[2];

static void reader_on(struct sfctl_alias_reader *reader, enum sfctl_alias_format format,
		      const char *text, size_t length)
{
	ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
	ck_assert_int_eq((int)write(pipes[1], text, length), (int)length);
	ck_assert_int_eq(sfctl_alias_reader_init(reader, pipes[0], format), 0);
}

static void reader_end(struct sfctl_alias_reader *reader)
{
	sfctl_alias_reader_deinit(reader);
	(void)close(pipes[0]);
}

/** All records of a text as "KEY/created/id@line ", with "!" for a bad one. */
static const char *read_all(enum sfctl_alias_format format, const char *text, size_t length)
{
	static char all[1024];
	struct sfctl_alias_reader reader;
	struct sfctl_alias_entry entry;
	int r = 1;

	all[0] = '\0';
	reader_on(&reader, format, text, length);
	(void)close(pipes[1]);
	while (r > 0 || r == -EINVAL) {
		size_t used = strlen(all);

		r = sfctl_alias_reader_next(&reader, &entry, &why);
		if (r == 0)
			break;
		if (r == 1)
			(void)snprintf(all + used, sizeof(all) - used, "%s/%s%s@%llu ", entry.key,
				       (entry.flags & CREATED) != 0 ? "c" : "",
				       (entry.flags & ID) != 0 ? "i" : "",
				       (unsigned long long)reader.record_line);
		else
			(void)snprintf(all + used, sizeof(all) - used, "%s@%llu ",
				       r == -EINVAL ? "!" : "end", /* one that ends it all */
				       (unsigned long long)reader.record_line);
	}
	ck_assert(r != 0 || reader.at.offset == length);
	reader_end(&reader);
	return all;
}

static const struct {
	enum sfctl_alias_format format;
	const char *text;
	const char *records;
} input_rows[] = {
	{SFCTL_ALIAS_NDJSON, "{\"key\":\"a\"}\n\n \t\n{\"key\":\"b\"}", "a/@1 b/@4 "},
	{SFCTL_ALIAS_NDJSON, "nonsense\n{\"key\":\"b\"}\n", "!@1 b/@2 "},
	{SFCTL_ALIAS_NDJSON, "\xef\xbb\xbf{\"key\":\"b\"}\n", "b/@1 "},
	{SFCTL_ALIAS_NDJSON, "", ""},
	{SFCTL_ALIAS_KEYS, "a\r\n b \n\nc", "a/@1  b /@2 !@3 c/@4 "},
	{SFCTL_ALIAS_CSV, "key\na\nb", "a/@2 b/@3 "},
	{SFCTL_ALIAS_CSV, "key\r\na\r\nb\r\n", "a/@2 b/@3 "},
	{SFCTL_ALIAS_CSV, "\xef\xbb\xbfkey,id\na,5\n", "a/i@2 "},
	{SFCTL_ALIAS_CSV, "id,created,key\n5,,a\n,0,b\n,,c\n6,7,d\n", "a/i@2 b/c@3 c/@4 d/ci@5 "},
	{SFCTL_ALIAS_CSV, "\n\r\nkey\n\na\n", "a/@5 "},
	{SFCTL_ALIAS_CSV, "\"key\",\"id\"\n\"a,\"\"\nb\",\"5\"\nc,6\n", "a,\"\nb/i@2 c/i@4 "},
	{SFCTL_ALIAS_CSV, "key\n a b \n", " a b /@2 "},
	{SFCTL_ALIAS_CSV, "key,id\na\nb,1,2\nc,3\n", "!@2 !@3 c/i@4 "},
	{SFCTL_ALIAS_CSV, "key,id\n,5\na,x\nb,1\n", "!@2 !@3 b/i@4 "},
	{SFCTL_ALIAS_CSV, "key\n\"a\"b\nc\"d\nok\n", "!@2 !@3 ok/@4 "},
	{SFCTL_ALIAS_CSV, "key\na\n\"open\nuntil the end", "a/@2 !@3 "},
	{SFCTL_ALIAS_CSV, "id\n5\n", "end@1 "},
	{SFCTL_ALIAS_CSV, "key,key\na,b\n", "end@1 "},
	{SFCTL_ALIAS_CSV, "key,name\na,b\n", "end@1 "},
	{SFCTL_ALIAS_CSV, "key,id,created,key\n", "end@1 "},
	{SFCTL_ALIAS_CSV, "\"key\"x\n", "end@1 "},
	{SFCTL_ALIAS_CSV, "", ""},
};

START_TEST(reader_cuts_an_input_into_records)
{
	ck_assert_str_eq(
		read_all(input_rows[_i].format, input_rows[_i].text, strlen(input_rows[_i].text)),
		input_rows[_i].records);
}
END_TEST

START_TEST(reader_passes_over_a_record_longer_than_a_mebibyte)
{
	static char text[SFCTL_ALIAS_RECORD_MAX + 2];
	struct sfctl_alias_reader reader;
	struct sfctl_alias_entry entry;
	int fd = memfd_create("input", MFD_CLOEXEC);

	memset(text, ' ', sizeof(text));
	ck_assert_int_eq((int)write(fd, text, sizeof(text)), (int)sizeof(text));
	(void)lseek(fd, 0, SEEK_SET);
	ck_assert_int_eq(sfctl_alias_reader_init(&reader, fd, SFCTL_ALIAS_NDJSON), 0);
	(void)pwrite(fd, "\n{\"key\":\"a\"}\n", 13, 3 * (off_t)sizeof(text));
	ck_assert_int_eq(sfctl_alias_reader_next(&reader, &entry, &why), -EINVAL);
	assert_said("longer than 1048576 bytes");
	ck_assert_uint_eq(reader.at.offset, 3 * sizeof(text) + 1);
	ck_assert_uint_eq(reader.mark.offset, reader.at.offset);
	ck_assert_int_eq(sfctl_alias_reader_next(&reader, &entry, &why), 1);
	ck_assert_uint_eq(reader.record_line, 2);
	ck_assert_int_eq(sfctl_alias_reader_next(&reader, &entry, &why), 0);
	sfctl_alias_reader_deinit(&reader);
	/* a quote that is missing would make all lines one record of a CSV */
	for (size_t i = 99; i < sizeof(text); i += 100)
		text[i] = '\n';
	(void)snprintf(text, sizeof(text), "key\n\"a\n\"");
	text[strlen(text)] = ' ';
	(void)pwrite(fd, text, sizeof(text), 0);
	(void)pwrite(fd, text, sizeof(text), sizeof(text));
	(void)lseek(fd, 0, SEEK_SET);
	ck_assert_int_eq(sfctl_alias_reader_init(&reader, fd, SFCTL_ALIAS_CSV), 0);
	ck_assert_int_eq(sfctl_alias_reader_next(&reader, &entry, &why), -EINVAL);
	ck_assert_uint_eq(reader.at.line, 3);
	sfctl_alias_reader_deinit(&reader);
	text[strlen("key\n\"a\n")] = ' ';
	(void)pwrite(fd, text, sizeof(text), 0);
	(void)pwrite(fd, "key\nb \n", 7, sizeof(text));
	(void)lseek(fd, 0, SEEK_SET);
	ck_assert_int_eq(sfctl_alias_reader_init(&reader, fd, SFCTL_ALIAS_CSV), 0);
	ck_assert_int_eq(sfctl_alias_reader_next(&reader, &entry, &why), -EINVAL);
	assert_said("is a quote missing?");
	/* and what follows is read line by line */
	ck_assert_int_eq(sfctl_alias_reader_next(&reader, &entry, &why), 1);
	ck_assert_uint_eq(reader.record_line, reader.at.line);
	ck_assert_str_eq(entry.key, "b ");
	sfctl_alias_reader_deinit(&reader);
	(void)close(fd);
}
END_TEST

START_TEST(reader_takes_no_directory_and_nothing_that_is_closed)
{
	struct sfctl_alias_reader reader;
	int fd = open("/", O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(sfctl_alias_reader_init(&reader, fd, SFCTL_ALIAS_KEYS), -EISDIR);
	(void)close(fd);
	ck_assert_int_eq(sfctl_alias_reader_init(&reader, fd, SFCTL_ALIAS_KEYS), -EBADF);
}
END_TEST

static const struct {
	enum sfctl_alias_format format;
	const char *text;
	uint64_t mark;
} mark_rows[] = {
	{SFCTL_ALIAS_KEYS, "a\nb\n", 4},
	{SFCTL_ALIAS_KEYS, "a\nb", 2},
	{SFCTL_ALIAS_KEYS, "a", 0},
	{SFCTL_ALIAS_NDJSON, "{\"key\":\"a\"}\n{\"key\":\"b\"}", 12},
	{SFCTL_ALIAS_NDJSON, "{\"key\":\"a\"}\n \n ", 14},
	{SFCTL_ALIAS_NDJSON, "{\"key\":\"a\"}\n{\"key\":\"b", 12},
	{SFCTL_ALIAS_CSV, "\nkey", 0},
	{SFCTL_ALIAS_CSV, "\nkey\na", 5},
	{SFCTL_ALIAS_CSV, "key\na\n\"b\nb\nb\n", 6},
	{SFCTL_ALIAS_CSV, "key\na\n\"b\nb\"\nc", 12},
};

/* What has no end yet may be a part of something else, once it has. */
START_TEST(reader_mark_stays_before_what_has_no_end)
{
	struct sfctl_alias_reader reader;
	struct sfctl_alias_entry entry;
	int r = 1;

	reader_on(&reader, mark_rows[_i].format, mark_rows[_i].text, strlen(mark_rows[_i].text));
	(void)close(pipes[1]);
	while (r == 1 || r == -EINVAL)
		r = sfctl_alias_reader_next(&reader, &entry, &why);
	ck_assert_uint_eq(reader.at.offset, strlen(mark_rows[_i].text));
	ck_assert_uint_eq(reader.mark.offset, mark_rows[_i].mark);
	reader_end(&reader);
}
END_TEST

START_TEST(reader_skip_over_other_bytes_is_refused)
{
	struct sfctl_alias_reader first;
	struct sfctl_alias_reader second;
	struct sfctl_alias_entry entry;
	int fds[2];

	reader_on(&first, SFCTL_ALIAS_KEYS, "one\ntwo\n", 8);
	memcpy(fds, pipes, sizeof(fds));
	ck_assert_int_eq(sfctl_alias_reader_next(&first, &entry, &why), 1);
	reader_on(&second, SFCTL_ALIAS_KEYS, "oen\ntwo\n", 8);
	ck_assert_int_eq(sfctl_alias_reader_skip(&second, &first.mark, &why), -ESTALE);
	assert_said("its first 4 bytes are not those that the last run read");
	(void)close(pipes[1]);
	reader_end(&second);
	sfctl_alias_reader_deinit(&first);
	(void)close(fds[0]);
	(void)close(fds[1]);
}
END_TEST

/* What an earlier run reached is skipped, and the rest is as it would have been. */
START_TEST(reader_goes_on_at_every_place_between_records)
{
	static const char *const texts[] = {
		[SFCTL_ALIAS_NDJSON] = "{\"key\":\"a\"}\nbad\n\n{\"key\":\"b\"}\n{\"key\":\"c\"}",
		[SFCTL_ALIAS_CSV] = "id,key\n1,a\n\n2,\"b\nb\"\nbad\n3,c",
		[SFCTL_ALIAS_KEYS] = "a\nb\nc\n",
	};
	const char *text = texts[_i];
	size_t records = 5;

	for (size_t stop = 0; stop < records; stop++) {
		struct sfctl_alias_reader first;
		struct sfctl_alias_reader second;
		struct sfctl_alias_entry entry[2];
		int fds[2];
		int r = 1;

		reader_on(&first, (enum sfctl_alias_format)_i, text, strlen(text));
		memcpy(fds, pipes, sizeof(fds));
		(void)close(fds[1]);
		for (size_t i = 0; r != 0 && i < stop; i++)
			r = sfctl_alias_reader_next(&first, &entry[0], &why);
		reader_on(&second, (enum sfctl_alias_format)_i, text, strlen(text));
		(void)close(pipes[1]);
		if (first.at.offset != first.mark.offset)
			r = 0; /* behind the unfinished end no run goes on */
		else
			ck_assert_int_eq(sfctl_alias_reader_skip(&second, &first.mark, &why), 0);
		while (r != 0) {
			r = sfctl_alias_reader_next(&first, &entry[0], &why);
			ck_assert_int_eq(sfctl_alias_reader_next(&second, &entry[1], &why), r);
			if (r == 1)
				ck_assert_str_eq(entry[0].key, entry[1].key);
			if (r != 0)
				ck_assert_uint_eq(first.record_line, second.record_line);
			ck_assert_uint_eq(first.at.offset, second.at.offset);
		}
		reader_end(&second);
		sfctl_alias_reader_deinit(&first);
		(void)close(fds[0]);
	}
}
END_TEST

START_TEST(reader_skip_behind_the_end_is_refused)
{
	const struct sfctl_alias_mark mark = {.offset = 13, .line = 1};
	struct sfctl_alias_reader reader;

	reader_on(&reader, SFCTL_ALIAS_NDJSON, "{\"key\":\"a\"}\n", 12);
	(void)close(pipes[1]);
	ck_assert_int_eq(sfctl_alias_reader_skip(&reader, &mark, &why), -ENODATA);
	assert_said("before byte 13");
	reader_end(&reader);
}
END_TEST

START_TEST(reader_would_wait_only_without_a_whole_line)
{
	struct sfctl_alias_reader reader;
	struct sfctl_alias_entry entry;

	reader_on(&reader, SFCTL_ALIAS_KEYS, "a\nb\npart", 8);
	ck_assert(!sfctl_alias_reader_would_wait(&reader));
	ck_assert_int_eq(sfctl_alias_reader_next(&reader, &entry, &why), 1);
	ck_assert(!sfctl_alias_reader_would_wait(&reader));
	ck_assert_int_eq(sfctl_alias_reader_next(&reader, &entry, &why), 1);
	ck_assert(sfctl_alias_reader_would_wait(&reader));
	(void)close(pipes[1]);
	ck_assert(!sfctl_alias_reader_would_wait(&reader));
	ck_assert_int_eq(sfctl_alias_reader_next(&reader, &entry, &why), 1);
	ck_assert_str_eq(entry.key, "part");
	reader_end(&reader);
}
END_TEST

/* ---- pairs ---- */

static const struct {
	const char *key;
	const char *json;
	const char *csv;
} pair_rows[] = {
	{"a", "{\"key\":\"a\",\"id\":\"5\"}\n", "a,5\n"},
	{"\xc3\xbc", "{\"key\":\"\xc3\xbc\",\"id\":\"5\"}\n", "\xc3\xbc,5\n"},
	{"\"\\", "{\"key\":\"\\\"\\\\\",\"id\":\"5\"}\n", "\"\"\"\\\",5\n"},
	{"\n\r\x1f\x7f", "{\"key\":\"\\u000a\\u000d\\u001f\x7f\",\"id\":\"5\"}\n",
	 "\"\n\r\x1f\x7f\",5\n"},
	{"a,b", "{\"key\":\"a,b\",\"id\":\"5\"}\n", "\"a,b\",5\n"},
	{" a", "{\"key\":\" a\",\"id\":\"5\"}\n", "\" a\",5\n"},
	{"a\t", "{\"key\":\"a\\u0009\",\"id\":\"5\"}\n", "\"a\t\",5\n"},
};

static void assert_pair(enum sfctl_alias_format format, const char *key, uint64_t id,
			const char *expected)
{
	char pair[SFCTL_ALIAS_PAIR_MAX + 1];

	pair[sfctl_alias_write(format, key, strlen(key), id, pair)] = '\0';
	ck_assert_str_eq(pair, expected);
}

START_TEST(write_gives_a_line_that_reads_back)
{
	assert_pair(SFCTL_ALIAS_NDJSON, pair_rows[_i].key, 5, pair_rows[_i].json);
	assert_pair(SFCTL_ALIAS_CSV, pair_rows[_i].key, 5, pair_rows[_i].csv);
	assert_pair(SFCTL_ALIAS_KEYS, pair_rows[_i].key, UINT64_MAX, "18446744073709551615\n");
}
END_TEST

START_TEST(write_of_the_worst_key_fits)
{
	char key[SF_ALIAS_KEY_MAX];
	char pair[SFCTL_ALIAS_PAIR_MAX];

	memset(key, 1, sizeof(key));
	ck_assert_uint_le(sfctl_alias_write(SFCTL_ALIAS_NDJSON, key, sizeof(key), UINT64_MAX, pair),
			  sizeof(pair));
	memset(key, '"', sizeof(key));
	ck_assert_uint_le(sfctl_alias_write(SFCTL_ALIAS_CSV, key, sizeof(key), UINT64_MAX, pair),
			  sizeof(pair));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("alias_input");
	TCase *json = tcase_create("json");
	TCase *inputs = tcase_create("inputs");
	TCase *pairs = tcase_create("pairs");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_loop_test(json, read_json_takes_a_record, 0, T_COUNT(json_rows));
	tcase_add_loop_test(json, read_json_refuses_what_is_no_record, 0, T_COUNT(bad_json_rows));
	tcase_add_test(json, read_json_refuses_a_nul_between_tokens);
	suite_add_tcase(suite, json);
	tcase_add_loop_test(inputs, reader_cuts_an_input_into_records, 0, T_COUNT(input_rows));
	tcase_add_test(inputs, reader_passes_over_a_record_longer_than_a_mebibyte);
	tcase_add_test(inputs, reader_takes_no_directory_and_nothing_that_is_closed);
	tcase_add_loop_test(inputs, reader_mark_stays_before_what_has_no_end, 0,
			    T_COUNT(mark_rows));
	tcase_add_test(inputs, reader_skip_over_other_bytes_is_refused);
	tcase_add_loop_test(inputs, reader_goes_on_at_every_place_between_records, 0, 3);
	tcase_add_test(inputs, reader_skip_behind_the_end_is_refused);
	tcase_add_test(inputs, reader_would_wait_only_without_a_whole_line);
	suite_add_tcase(suite, inputs);
	tcase_add_loop_test(pairs, write_gives_a_line_that_reads_back, 0, T_COUNT(pair_rows));
	tcase_add_test(pairs, write_of_the_worst_key_fits);
	suite_add_tcase(suite, pairs);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
