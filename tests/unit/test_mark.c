/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * daemon/mark_file.c and daemon/mark_record.c: the life of a mark file, and every way in which its
 * bytes may not be what was written.
 */
#include "daemon/mark_record.h"

#include "tests/support/state.h"
#include "tests/support/stderr.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define RECORD_BYTES sizeof(struct sfd_mark_record)

static struct sfd_identity twitter;
static uint8_t image[SFD_MARK_FILE_BYTES];

static void set_up(void)
{
	t_state_init();
	twitter = t_identity("twitter", 5, 1);
	memset(image, 0, sizeof(image));
}

/* A file whose newest record (sequence 3, first place) says 200, and the other one 100. */
static void store_two(void)
{
	t_mark_store("own", &twitter, (uint64_t[]){100, 200}, 2);
	ck_assert_uint_eq(t_state_read("own.mark", image, sizeof(image)), sizeof(image));
}

/* Opens a damaged file. @return the mark, which comes with a warning if it holds a lead */
static uint64_t mark_of(const uint8_t *bytes, size_t length)
{
	struct sfd_mark_found found;
	const char *log;

	t_state_write("own.mark", bytes, length);
	t_stderr_begin();
	found = t_mark_found("own", &twitter);
	log = t_stderr_end();
	ck_assert_msg((found.tick > 10000) == (strstr(log, "own.mark: one of its") != NULL),
		      "%ju goes with: %s", (uintmax_t)found.tick, log);
	return found.tick;
}

START_TEST(open_without_a_file_makes_a_whole_private_one)
{
	struct sfd_mark_found found = t_mark_found("own", &twitter);
	struct stat status;

	ck_assert_uint_eq(found.tick, 0);
	ck_assert_uint_eq(found.restarts, 0);
	ck_assert_int_eq(stat(t_state_path("own.mark"), &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0600);
	ck_assert_int_eq(status.st_size, SFD_MARK_FILE_BYTES);
	ck_assert_int_ge(status.st_blocks * 512, SFD_MARK_FILE_BYTES);
	ck_assert_uint_eq(t_state_count(), 1);
	/* killed before the first mark: no mark, but no damage either */
	ck_assert_uint_eq(t_mark_found("own", &twitter).tick, 0);
}
END_TEST

START_TEST(open_beside_what_a_crash_left_makes_the_file)
{
	t_state_write(".own.mark.new", "half", 4);
	ck_assert_uint_eq(t_mark_found("own", &twitter).tick, 0);
	ck_assert_uint_eq(t_state_count(), 1);
}
END_TEST

START_TEST(store_and_open_give_the_last_mark_even_a_lower_one)
{
	t_mark_store("own", &twitter, (uint64_t[]){100, 300, 250}, 3);
	ck_assert_uint_eq(t_mark_found("own", &twitter).tick, 250);
}
END_TEST

START_TEST(open_counts_the_starts_that_wrote_a_mark)
{
	for (uint64_t i = 0; i < 3; i++) {
		ck_assert_uint_eq(t_mark_found("own", &twitter).restarts, i);
		t_mark_store("own", &twitter, (uint64_t[]){100, 200}, 2);
	}
}
END_TEST

START_TEST(prepare_takes_the_other_place_until_written_confirms_it)
{
	struct sfd_mark_write first;
	struct sfd_mark_write next;
	struct sfd_mark_found found;
	struct sfd_mark *mark;

	ck_assert_int_eq(t_mark_open("own", &twitter, &mark, &found), 0);
	sfd_mark_prepare(mark, 10, &first);
	ck_assert_uint_eq(first.length, RECORD_BYTES);
	for (unsigned i = 0; i < 5; i++) {
		sfd_mark_prepare(mark, 20 + i, &next); /* the last one failed: same place again */
		ck_assert_int_eq(next.offset, first.offset);
		sfd_mark_written(mark);
		sfd_mark_prepare(mark, 30 + i, &next);
		ck_assert_int_eq(next.offset, SFD_MARK_PLACE_BYTES - first.offset);
		first = next;
	}
	(void)sfd_mark_close(mark);
}
END_TEST

START_TEST(store_writes_the_places_in_turn)
{
	const struct sfd_mark_record *record = (const void *)image;

	for (uint64_t k = 1; k <= 6; k++) {
		t_mark_store("own", &twitter, &(uint64_t){1000 * k}, 1);
		ck_assert_uint_eq(t_state_read("own.mark", image, sizeof(image)), sizeof(image));
		record = (const void *)(image + (k % 2 == 0 ? 0 : SFD_MARK_PLACE_BYTES));
		ck_assert_uint_eq(record->tick, 1000 * k);
		ck_assert_uint_eq(record->sequence, k + 1);
		ck_assert_uint_eq(record->restarts, k);
		ck_assert_str_eq(record->stream, "own");
		ck_assert_uint_eq(strlen(record->boot_id), 36);
		ck_assert_int_gt(record->written_unix_ns, 0);
	}
}
END_TEST

START_TEST(store_to_a_closed_descriptor_fails)
{
	struct sfd_mark_found found;
	struct sfd_mark *mark;

	ck_assert_int_eq(t_mark_open("own", &twitter, &mark, &found), 0);
	ck_assert_int_eq(close(sfd_mark_fd(mark)), 0);
	ck_assert_int_eq(sfd_mark_store(mark, 100), -EBADF);
	(void)sfd_mark_close(mark);
}
END_TEST

START_TEST(store_cut_short_fails_and_leaves_the_confirmed_record)
{
	struct rlimit limit = {.rlim_cur = SFD_MARK_PLACE_BYTES + 100, .rlim_max = RLIM_INFINITY};
	struct sfd_mark_found found;
	struct sfd_mark *mark;

	t_mark_store("own", &twitter, (uint64_t[]){100, 200}, 2);
	ck_assert_int_eq(t_mark_open("own", &twitter, &mark, &found), 0);
	ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(sfd_mark_store(mark, 300), -EIO);
	limit.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	(void)sfd_mark_close(mark);
	t_stderr_begin();
	ck_assert_uint_eq(t_mark_found("own", &twitter).tick, 200 + SFD_MARK_LEAD_MS);
	(void)t_stderr_end();
}
END_TEST

static const struct {
	size_t length;
	const char *sentence;
} hollow_files[] = {
	{0, "own.mark is empty; restore it, or remove it"},
	{1, "is empty"},
	{SFD_MARK_PLACE_BYTES, "is empty"},
	{SFD_MARK_FILE_BYTES, "no ID of machine id 5 lies in the future"},
};

START_TEST(fc85_open_of_a_hollow_file_is_never_a_fresh_start)
{
	t_state_write("own.mark", image, hollow_files[_i].length);
	t_mark_refused(&twitter, -EUCLEAN, hollow_files[_i].sentence);
}
END_TEST

START_TEST(fc85_open_of_a_file_cut_anywhere_goes_on_above_it_or_refuses)
{
	store_two();
	for (size_t length = 8; length < RECORD_BYTES; length += 7) {
		t_state_write("own.mark", image, length);
		t_mark_refused(&twitter, -EUCLEAN, "holds no whole record");
	}
	/* cut in half: the newer record was in the half that is left, but who knows that */
	for (size_t length = RECORD_BYTES; length < sizeof(image) / 2 + RECORD_BYTES; length += 97)
		ck_assert_uint_eq(mark_of(image, length), 200 + SFD_MARK_LEAD_MS);
	ck_assert_uint_eq(mark_of(image, sizeof(image) / 2 + RECORD_BYTES), 200);
	ck_assert_uint_eq(t_state_read("own.mark", image, sizeof(image)), sizeof(image));
}
END_TEST

/* Every bit of both checksums, and a sample of all others. */
START_TEST(fc85_open_after_one_bit_flipped_adds_the_lead)
{
	const size_t crc = offsetof(struct sfd_mark_record, crc);

	store_two();
	for (size_t bit = 0; bit < RECORD_BYTES * 8;
	     bit += bit / 8 < 64 || bit / 8 >= crc ? 1 : 5) {
		image[bit / 8] ^= (uint8_t)(1u << bit % 8);
		ck_assert_uint_eq(mark_of(image, sizeof(image)), 100 + SFD_MARK_LEAD_MS);
		image[bit / 8] ^= (uint8_t)(1u << bit % 8);
		image[SFD_MARK_PLACE_BYTES + bit / 8] ^= (uint8_t)(1u << bit % 8);
		ck_assert_uint_eq(mark_of(image, sizeof(image)), 200 + SFD_MARK_LEAD_MS);
		image[SFD_MARK_PLACE_BYTES + bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	ck_assert_uint_eq(mark_of(image, sizeof(image)), 200);
}
END_TEST

START_TEST(fc85_open_after_one_bit_flipped_in_each_record_refuses)
{
	store_two();
	image[30] ^= 1;
	image[SFD_MARK_PLACE_BYTES + offsetof(struct sfd_mark_record, crc)] ^= 0x80;
	t_state_write("own.mark", image, sizeof(image));
	t_mark_refused(&twitter, -EUCLEAN, "holds no whole record; restore it");
}
END_TEST

/* The write of mark 300 (sequence 4, second place) stopped after k bytes. */
START_TEST(open_after_a_torn_write_goes_on_above_the_other_record)
{
	uint8_t after[SFD_MARK_FILE_BYTES];
	uint8_t torn[SFD_MARK_FILE_BYTES];

	store_two();
	t_mark_store("own", &twitter, (uint64_t[]){300}, 1);
	ck_assert_uint_eq(t_state_read("own.mark", after, sizeof(after)), sizeof(after));
	for (size_t k = 17; k < RECORD_BYTES; k += 19) {
		memcpy(torn, image, sizeof(torn));
		memcpy(torn + SFD_MARK_PLACE_BYTES, after + SFD_MARK_PLACE_BYTES, k);
		ck_assert_uint_eq(mark_of(torn, sizeof(torn)), 200 + SFD_MARK_LEAD_MS);
	}
	/* up to the sequence number both are alike: not a byte of the new one is there */
	ck_assert_uint_eq(mark_of(image, sizeof(image)), 200);
	ck_assert_uint_eq(mark_of(after, sizeof(after)), 300);
}
END_TEST

START_TEST(open_after_a_torn_write_then_store_mends_the_file)
{
	store_two();
	image[SFD_MARK_PLACE_BYTES + 24] ^= 1;
	ck_assert_uint_eq(mark_of(image, sizeof(image)), 200 + SFD_MARK_LEAD_MS);
	t_stderr_begin();
	t_mark_store("own", &twitter, (uint64_t[]){5000}, 1);
	(void)t_stderr_end();
	t_stderr_begin();
	ck_assert_uint_eq(t_mark_found("own", &twitter).tick, 5000);
	ck_assert_str_eq(t_stderr_end(), "");
}
END_TEST

START_TEST(open_without_the_second_record_adds_the_lead_but_after_the_first_write)
{
	t_mark_store("own", &twitter, NULL, 0);
	ck_assert_uint_eq(t_state_read("own.mark", image, sizeof(image)), sizeof(image));
	ck_assert_uint_eq(mark_of(image, sizeof(image)), 0);
	store_two();
	memset(image + SFD_MARK_PLACE_BYTES, 0, SFD_MARK_PLACE_BYTES);
	ck_assert_uint_eq(mark_of(image, sizeof(image)), 200 + SFD_MARK_LEAD_MS);
}
END_TEST

START_TEST(open_adds_the_lead_in_ticks_of_the_layout)
{
	static const struct {
		const char *layout;
		uint64_t ticks;
	} cases[] = {
		{"sonyflake", 2000},
		{"baidu", 20},
		{"t28 n22 s13 tick=30s", 1},
	};
	struct sfd_identity identity;

	t_stderr_begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		identity = t_identity(cases[i].layout, 5, 1);
		t_mark_store("own", &identity, (uint64_t[]){100, 200}, 2);
		ck_assert_uint_eq(t_state_read("own.mark", image, sizeof(image)), sizeof(image));
		image[24] ^= 1;
		t_state_write("own.mark", image, sizeof(image));
		ck_assert_uint_eq(t_mark_found("own", &identity).tick, 100 + cases[i].ticks);
		ck_assert_int_eq(unlink(t_state_path("own.mark")), 0);
	}
	(void)t_stderr_end();
}
END_TEST

/* The documented limit: a whole older copy cannot be told from the present one. */
START_TEST(fc85_open_of_an_older_copy_believes_it)
{
	store_two();
	t_mark_store("own", &twitter, (uint64_t[]){900, 1000}, 2);
	ck_assert_uint_eq(mark_of(image, sizeof(image)), 200);
}
END_TEST

START_TEST(open_of_something_else_refuses_and_names_it)
{
	memset(image, 'x', sizeof(image));
	t_state_write("own.mark", image, sizeof(image));
	t_mark_refused(&twitter, -EUCLEAN, "own.mark is not a mark file of sfd");
}
END_TEST

START_TEST(open_of_another_format_version_refuses)
{
	struct sfd_mark_record record;
	uint32_t crc;

	store_two();
	memcpy(&record, image, sizeof(record));
	record.version = 9;
	record.length = 2000;
	memcpy(image, &record, sizeof(record));
	/* without its checksum, wherever that version has it, it is only damage */
	ck_assert_uint_eq(mark_of(image, sizeof(image)), 100 + SFD_MARK_LEAD_MS);
	crc = (uint32_t)crc32(0, image, 1996);
	memcpy(image + 1996, &crc, sizeof(crc));
	t_state_write("own.mark", image, sizeof(image));
	t_mark_refused(&twitter, -EPROTO,
		       "own.mark has format version 9, this sfd knows version 2");
}
END_TEST

/* Records with a checksum that holds, which sfd never writes. */
static void spoil(struct sfd_mark_record *record, int how)
{
	switch (how) {
	case 0:
		record->sequence = 0;
		break;
	case 1:
		record->sequence = 4; /* belongs to the other place */
		break;
	case 2:
		record->sequence = UINT64_MAX;
		break;
	case 3:
		record->tick = UINT64_MAX;
		break;
	case 4:
		memset(record->boot_id, 'x', sizeof(record->boot_id));
		break;
	case 5:
		memset(record->stream, 'x', sizeof(record->stream));
		break;
	case 6:
		record->layout.time_bits = 64;
		break;
	case 7:
		record->node_count = 0;
		break;
	case 8:
		record->node_count = SF_NODES_MAX + 1;
		break;
	case 9:
		record->node[0] = 1024; /* the layout has 10 bits */
		break;
	case 10:
		record->node_count = 2; /* 5, 0: not ascending */
		break;
	default:
		record->node[1] = 6; /* after the last one */
		break;
	}
}

START_TEST(open_believes_no_record_that_makes_no_sense)
{
	struct sfd_mark_record record;

	store_two();
	memcpy(&record, image, sizeof(record));
	spoil(&record, _i);
	sfd_mark_record_seal(&record);
	memcpy(image, &record, sizeof(record));
	ck_assert_uint_eq(mark_of(image, sizeof(image)), 100 + SFD_MARK_LEAD_MS);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mark");
	TCase *life = tcase_create("life");
	TCase *bytes = tcase_create("bytes");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(life, set_up, t_state_deinit);
	tcase_add_test(life, open_without_a_file_makes_a_whole_private_one);
	tcase_add_test(life, open_beside_what_a_crash_left_makes_the_file);
	tcase_add_test(life, store_and_open_give_the_last_mark_even_a_lower_one);
	tcase_add_test(life, open_counts_the_starts_that_wrote_a_mark);
	tcase_add_test(life, prepare_takes_the_other_place_until_written_confirms_it);
	tcase_add_test(life, store_writes_the_places_in_turn);
	tcase_add_test(life, store_to_a_closed_descriptor_fails);
	tcase_add_test(life, store_cut_short_fails_and_leaves_the_confirmed_record);
	tcase_add_checked_fixture(bytes, set_up, t_state_deinit);
	tcase_set_timeout(bytes, 60);
	tcase_add_loop_test(bytes, fc85_open_of_a_hollow_file_is_never_a_fresh_start, 0,
			    sizeof(hollow_files) / sizeof(hollow_files[0]));
	tcase_add_test(bytes, fc85_open_of_a_file_cut_anywhere_goes_on_above_it_or_refuses);
	tcase_add_test(bytes, fc85_open_after_one_bit_flipped_adds_the_lead);
	tcase_add_test(bytes, fc85_open_after_one_bit_flipped_in_each_record_refuses);
	tcase_add_test(bytes, open_after_a_torn_write_goes_on_above_the_other_record);
	tcase_add_test(bytes, open_after_a_torn_write_then_store_mends_the_file);
	tcase_add_test(bytes,
		       open_without_the_second_record_adds_the_lead_but_after_the_first_write);
	tcase_add_test(bytes, open_adds_the_lead_in_ticks_of_the_layout);
	tcase_add_test(bytes, fc85_open_of_an_older_copy_believes_it);
	tcase_add_test(bytes, open_of_something_else_refuses_and_names_it);
	tcase_add_test(bytes, open_of_another_format_version_refuses);
	tcase_add_loop_test(bytes, open_believes_no_record_that_makes_no_sense, 0, 12);
	suite_add_tcase(suite, life);
	suite_add_tcase(suite, bytes);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
