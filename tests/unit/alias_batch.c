/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Batches: all or nothing, what is left out when asked, and the progress of jobs.
 */
#include "tests/unit/alias_suite.h"

#include "tests/support/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/** What the callback heard. */
struct heard {
	size_t count;
	size_t index[8];
	char sentence[240];
};

static struct heard heard;
static struct sf_alias *alias;

static void on_refused(void *data, size_t index, const char *sentence)
{
	ck_assert_ptr_eq(data, &heard);
	heard.index[heard.count++] = index;
	(void)snprintf(heard.sentence, sizeof(heard.sentence), "%s", sentence);
}

static void set_up(void)
{
	t_alias_set_up();
	heard = (struct heard){.count = 0};
	alias = t_alias_open_default();
}

static void tear_down(void)
{
	sf_alias_close(alias);
	t_alias_tear_down();
}

static struct sf_alias_record past(const char *key, int64_t unix_ms)
{
	return (struct sf_alias_record){
		.key = key,
		.key_length = (uint32_t)strlen(key),
		.flags = SF_ALIAS_CREATED,
		.created_unix_ms = unix_ms,
	};
}

static struct sf_alias_record given(const char *key, uint64_t id)
{
	return (struct sf_alias_record){
		.key = key,
		.key_length = (uint32_t)strlen(key),
		.flags = SF_ALIAS_ID,
		.id = id,
	};
}

static struct sf_alias_batch batch_of(struct sf_alias_record *records, size_t count, uint32_t flags)
{
	return (struct sf_alias_batch){
		.size = sizeof(struct sf_alias_batch),
		.flags = flags,
		.records = records,
		.count = count,
		.refused = on_refused,
		.data = &heard,
	};
}

static int apply(struct sf_alias_record *records, size_t count, uint32_t flags)
{
	const struct sf_alias_batch batch = batch_of(records, count, flags);

	return sf_alias_apply(alias, &batch, &t_alias_why);
}

static int count_one(void *data, const char *key, size_t key_length, uint64_t id)
{
	(void)key;
	(void)key_length;
	(void)id;
	++*(size_t *)data;
	return 0;
}

static size_t pairs(void)
{
	size_t count = 0;

	ck_assert_int_eq(sf_alias_each(alias, count_one, &count, NULL), 0);
	return count;
}

START_TEST(apply_makes_what_is_new_and_finds_the_rest)
{
	struct sf_alias_record records[] = {
		past("known", T_ALIAS_MS),   past("new", T_ALIAS_MS),
		past("new", T_ALIAS_MS + 9), /* twice in one batch */
		given("put", 5000),          given("put", 5000),
	};

	ck_assert_uint_eq(t_alias_get_at(alias, "known", T_ALIAS_MS), t_alias_own_id(0));
	ck_assert_int_eq(apply(records, T_COUNT(records), 0), 0);
	ck_assert_uint_eq(records[0].id, t_alias_own_id(0));
	ck_assert_uint_eq(records[0].made, 0);
	ck_assert_uint_eq(records[1].id, t_alias_own_id(1));
	ck_assert_uint_eq(records[1].made, 1);
	ck_assert_uint_eq(records[2].id, t_alias_own_id(1));
	ck_assert_uint_eq(records[2].made, 0);
	ck_assert_uint_eq(records[3].made, 1);
	ck_assert_uint_eq(records[4].made, 0);
	ck_assert_uint_eq(records[4].id, 5000);
	ck_assert_uint_eq(heard.count, 0);
	ck_assert_uint_eq(pairs(), 3);
	/* Finding took no counter. */
	ck_assert_uint_eq(t_alias_get_at(alias, "next", T_ALIAS_MS), t_alias_own_id(2));
}
END_TEST

START_TEST(apply_with_one_bad_record_writes_nothing)
{
	struct sf_alias_record records[] = {
		past("a", T_ALIAS_MS),
		given("b", 5000),
		past("", T_ALIAS_MS),
		past("c", T_ALIAS_MS),
	};

	ck_assert_int_eq(apply(records, T_COUNT(records), 0), -EINVAL);
	ck_assert_uint_eq(heard.count, 1);
	ck_assert_uint_eq(heard.index[0], 2);
	ck_assert_str_eq(heard.sentence, t_alias_why.text);
	ck_assert_int_eq(records[2].error, -EINVAL);
	ck_assert_uint_eq(pairs(), 0);
	/* also when it shows only in the middle of the writing */
	heard.count = 0;
	records[2] = given("other", 5000);
	ck_assert_int_eq(apply(records, T_COUNT(records), 0), -EEXIST);
	ck_assert_uint_eq(heard.index[0], 2);
	ck_assert_uint_eq(pairs(), 0);
	/* and the counters are as if it had never been */
	ck_assert_uint_eq(t_alias_get_at(alias, "d", T_ALIAS_MS), t_alias_own_id(0));
}
END_TEST

START_TEST(apply_leaves_bad_records_out_when_asked)
{
	struct sf_alias_record records[] = {
		past("", T_ALIAS_MS), past("a", T_ALIAS_MS), past("b", 0),
		given("c", 5000),     given("d", 5000),      past("e", T_ALIAS_MS),
	};
	static const int errors[] = {-EINVAL, 0, -ERANGE, 0, -EEXIST, 0};

	ck_assert_int_eq(apply(records, T_COUNT(records), SF_ALIAS_SKIP), 0);
	for (size_t i = 0; i < T_COUNT(records); i++) {
		ck_assert_int_eq(records[i].error, errors[i]);
		ck_assert_uint_eq(records[i].made, errors[i] == 0);
	}
	ck_assert_uint_eq(heard.count, 3);
	ck_assert_uint_eq(records[5].id, t_alias_own_id(1));
	ck_assert_uint_eq(pairs(), 3);
}
END_TEST

START_TEST(apply_of_a_full_tick_leaves_the_rest_out_when_asked)
{
	struct sf_alias_record records[7];
	static const char *const keys[] = {"0", "1", "2", "3", "4", "5", "2"};

	for (size_t i = 0; i < T_COUNT(records); i++)
		records[i] = past(keys[i], T_ALIAS_MS);
	ck_assert_int_eq(apply(records, T_COUNT(records), SF_ALIAS_SKIP), 0);
	for (size_t i = 0; i < 4; i++)
		ck_assert_uint_eq(records[i].id, t_alias_own_id((uint32_t)i));
	ck_assert_int_eq(records[4].error, -EOVERFLOW);
	ck_assert_int_eq(records[5].error, -EOVERFLOW);
	/* one that an earlier record made needs no room */
	ck_assert_int_eq(records[6].error, 0);
	ck_assert_uint_eq(records[6].id, t_alias_own_id(2));
}
END_TEST

START_TEST(apply_goes_back_and_forth_between_ticks)
{
	struct sf_alias_record records[8];
	char key[8][2];

	for (uint32_t i = 0; i < 8; i++) {
		key[i][0] = (char)('a' + i);
		key[i][1] = '\0';
		records[i] = past(key[i], T_ALIAS_MS + i % 2);
	}
	ck_assert_int_eq(apply(records, 8, 0), 0);
	for (uint32_t i = 0; i < 8; i++)
		ck_assert_uint_eq(records[i].id, t_alias_id(T_ALIAS_LAYOUT, T_ALIAS_MS + i % 2,
							    T_ALIAS_NODE, i / 2));
}
END_TEST

START_TEST(apply_of_an_id_and_a_time_wants_them_to_agree)
{
	struct sf_alias_record records[] = {given("a", t_alias_own_id(3)),
					    given("b", t_alias_own_id(2))};

	records[0].flags |= SF_ALIAS_CREATED;
	records[0].created_unix_ms = T_ALIAS_MS;
	records[1].flags |= SF_ALIAS_CREATED;
	records[1].created_unix_ms = T_ALIAS_MS + 1;
	ck_assert_int_eq(apply(records, 2, SF_ALIAS_SKIP), 0);
	ck_assert_int_eq(records[0].error, 0);
	ck_assert_int_eq(records[1].error, -EINVAL);
	ck_assert_ptr_nonnull(strstr(heard.sentence, "not of the creation time 1600000000124 ms"));
}
END_TEST

START_TEST(apply_refuses_what_is_no_batch)
{
	struct sf_alias_record record = past("a", T_ALIAS_MS);
	struct sf_alias_batch batch = batch_of(&record, 1, 0);

	batch.size--;
	ck_assert_int_eq(sf_alias_apply(alias, &batch, NULL), -EINVAL);
	batch = batch_of(&record, 1, 2);
	ck_assert_int_eq(sf_alias_apply(alias, &batch, NULL), -EINVAL);
	batch = batch_of(NULL, 1, 0);
	ck_assert_int_eq(sf_alias_apply(alias, &batch, NULL), -EINVAL);
	batch = batch_of(&record, 1, 0);
	batch.job_name = "job";
	ck_assert_int_eq(sf_alias_apply(alias, &batch, NULL), -EINVAL);
	record.flags = 4;
	ck_assert_int_eq(apply(&record, 1, 0), -EINVAL);
	ck_assert_int_eq(apply(NULL, 0, 0), 0);
	ck_assert_uint_eq(pairs(), 0);
}
END_TEST

/* ---- jobs ---- */

static int apply_job(struct sf_alias_record *record, uint64_t offset)
{
	struct sf_alias_batch batch = batch_of(record, 1, 0);
	const struct sf_alias_job job = {.offset = offset, .line = offset / 10, .source = "src"};

	batch.job_name = "job";
	batch.job = &job;
	return sf_alias_apply(alias, &batch, &t_alias_why);
}

static void assert_job(uint64_t offset)
{
	char source[SF_ALIAS_JOB_MAX + 1];
	struct sf_alias_job job;

	ck_assert_int_eq(sf_alias_job(alias, "job", source, &job, NULL), 0);
	ck_assert_uint_eq(job.offset, offset);
	ck_assert_uint_eq(job.line, offset / 10);
	ck_assert_str_eq(job.source, "src");
}

START_TEST(job_goes_on_with_the_batch_and_only_with_it)
{
	char source[SF_ALIAS_JOB_MAX + 1];
	struct sf_alias_job job;
	struct sf_alias_record good = given("a", 5000);
	struct sf_alias_record bad = given("b", 5000);
	struct sf_alias_record early = past("c", 0);

	ck_assert_int_eq(sf_alias_job(alias, "job", source, &job, &t_alias_why), -ENOENT);
	t_alias_said("no job is named \"job\"");
	ck_assert_int_eq(apply_job(&good, 100), 0);
	assert_job(100);
	ck_assert_int_eq(apply_job(&bad, 200), -EEXIST);
	ck_assert_int_eq(apply_job(&early, 300), -ERANGE);
	assert_job(100);
	/* also when nothing of the batch was new */
	ck_assert_int_eq(apply_job(&good, 400), 0);
	assert_job(400);
	ck_assert_int_eq(apply_job(&good, 0), 0);
	assert_job(0);
}
END_TEST

void t_add_alias_batch(Suite *suite)
{
	TCase *batches = tcase_create("batches");

	tcase_add_checked_fixture(batches, set_up, tear_down);
	tcase_add_test(batches, apply_makes_what_is_new_and_finds_the_rest);
	tcase_add_test(batches, apply_with_one_bad_record_writes_nothing);
	tcase_add_test(batches, apply_leaves_bad_records_out_when_asked);
	tcase_add_test(batches, apply_of_a_full_tick_leaves_the_rest_out_when_asked);
	tcase_add_test(batches, apply_goes_back_and_forth_between_ticks);
	tcase_add_test(batches, apply_of_an_id_and_a_time_wants_them_to_agree);
	tcase_add_test(batches, apply_refuses_what_is_no_batch);
	tcase_add_test(batches, job_goes_on_with_the_batch_and_only_with_it);
	suite_add_tcase(suite, batches);
}
