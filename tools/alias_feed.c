/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The loop of an import: gather a batch, write it, tell of it. Records that cannot be read take
 * their place in the batch, so that results come in the order of the input. Main thread.
 */
#include "tools/alias_feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH_NS INT64_C(250000000)

/** A batch being gathered. */
struct work {
	struct sf_alias_record *record;
	uint64_t *line;                /* where each record begins */
	struct sfctl_alias_mark *end;  /* where a later run could go on behind each */
	bool *is_told;                 /* of each, that it was refused */
	struct sfctl_alias_mark begin; /* of the batch */
	char *text;                    /* keys, and what is wrong with records that have none */
	size_t text_used;
	size_t count;
	bool is_ended;       /* no more input */
	int error;           /* the input cannot be read on */
	uint64_t error_line; /* where; 0: nowhere in particular */
	struct sf_why error_why;
	/* while a batch is applied */
	struct sfctl_alias_feed *feed;
	size_t refused_at; /* the last that was refused */
	struct sf_why refused_why;
};

/** Longest text kept for a record. */
#define TEXT_MAX                                                                                   \
	(sizeof(struct sf_why) > SF_ALIAS_KEY_MAX ? sizeof(struct sf_why) : SF_ALIAS_KEY_MAX)

static int64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int work_init(struct work *work, struct sfctl_alias_feed *feed)
{
	*work = (struct work){
		.record = calloc(feed->batch_records, sizeof(*work->record)),
		.line = calloc(feed->batch_records, sizeof(*work->line)),
		.end = calloc(feed->batch_records, sizeof(*work->end)),
		.is_told = calloc(feed->batch_records, sizeof(*work->is_told)),
		/* Mostly not touched, and then no memory: keys are shorter. */
		.text = calloc(feed->batch_records, TEXT_MAX),
		.feed = feed,
	};
	if (work->record && work->line && work->end && work->is_told && work->text)
		return SFCTL_OK;
	return sfctl_fail(feed->sfctl, "out of memory for batches of %zu records",
			  feed->batch_records);
}

static void work_deinit(struct work *work)
{
	free(work->record);
	free(work->line);
	free(work->end);
	free(work->is_told);
	free(work->text);
}

/* ---- gathering ---- */

static const char *keep_text(struct work *work, const char *text, size_t length)
{
	char *kept = work->text + work->text_used;

	memcpy(kept, text, length);
	work->text_used += length;
	return kept;
}

static void add(struct work *work, const struct sfctl_alias_entry *entry)
{
	const struct sfctl_alias_feed *feed = work->feed;
	struct sf_alias_record *record = &work->record[work->count];

	*record = (struct sf_alias_record){
		.key = keep_text(work, entry->key, entry->key_length),
		.key_length = entry->key_length,
		.flags = entry->flags,
		.created_unix_ms = entry->created_unix_ms,
		.id = entry->id,
	};
	if (feed->is_created && record->flags == 0) {
		record->flags = SF_ALIAS_CREATED;
		record->created_unix_ms = feed->created_unix_ms;
	}
}

/** A record without a key: the library refuses it, and its sentence is there instead. */
static void add_bad(struct work *work, const struct sf_why *why)
{
	work->record[work->count] = (struct sf_alias_record){
		.key = keep_text(work, why->text, strlen(why->text) + 1),
	};
}

/** Reads a record into the batch. @return whether there may be more */
static bool gather_one(struct work *work)
{
	struct sfctl_alias_reader *reader = work->feed->reader;
	struct sfctl_alias_entry entry;
	struct sf_why why;
	int r = sfctl_alias_reader_next(reader, &entry, &why);

	if (r == 0) {
		work->is_ended = true;
		return false;
	}
	if (r < 0 && r != -EINVAL) {
		work->error = r;
		work->error_line = r == -EPROTO ? reader->record_line : 0;
		work->error_why = why;
		return false;
	}
	if (r == 1)
		add(work, &entry);
	else
		add_bad(work, &why);
	work->line[work->count] = reader->record_line;
	work->end[work->count] = reader->mark;
	work->is_told[work->count] = false;
	work->count++;
	return true;
}

/** Reads records until the batch is complete. */
static void gather(struct work *work)
{
	const struct sfctl_alias_feed *feed = work->feed;
	int64_t until_ns;

	work->count = 0;
	work->text_used = 0;
	work->begin = feed->reader->mark;
	if (!gather_one(work)) /* which may have to wait */
		return;
	until_ns = now_ns() + BATCH_NS;
	while (work->count < feed->batch_records && now_ns() < until_ns &&
	       !sfctl_alias_reader_would_wait(feed->reader))
		if (!gather_one(work))
			return;
}

/* ---- writing ---- */

static void on_refused(void *data, size_t index, const char *sentence)
{
	struct work *work = data;
	const struct sf_alias_record *record = &work->record[index];

	work->refused_at = index;
	SFCTL_WHY(&work->refused_why, "%s", record->key_length ? sentence : record->key);
	/* In the other case it is told of after what came before it is written. And a batch may be
	 * tried twice. */
	if (work->feed->stops_at_bad || work->is_told[index])
		return;
	work->is_told[index] = true;
	work->feed->bad(work->feed->data, work->line[index], work->refused_why.text);
}

/** Looks the keys up, and makes nothing. */
static int look_up(struct work *work)
{
	struct sfctl_alias_feed *feed = work->feed;

	for (size_t i = 0; i < work->count; i++) {
		struct sf_alias_record *record = &work->record[i];
		struct sf_why why;
		int r = sf_alias_find(feed->store->alias, record->key, record->key_length,
				      &record->id, &why);

		record->error = r;
		if (r == -ENOENT || r == -EINVAL)
			on_refused(work, i, why.text);
		else if (r < 0)
			return sfctl_fail(feed->sfctl, "%s", why.text);
	}
	return 0;
}

/** Where a later run can go on when the first `count` records are done. */
static struct sfctl_alias_mark mark_behind(const struct work *work, size_t count)
{
	return count > 0 ? work->end[count - 1] : work->begin;
}

/** The progress up to a place. @param source room for SF_ALIAS_JOB_MAX + 1, used by the result */
static struct sf_alias_job job_at(const struct sfctl_alias_feed *feed,
				  const struct sfctl_alias_mark *mark, char *source)
{
	feed->describe(feed->data, mark, source);
	return (struct sf_alias_job){
		.offset = mark->offset,
		.line = mark->line,
		.source = source,
	};
}

/** Writes the first `count` records. @return as sfctl_alias_store_apply() */
static int apply(struct work *work, size_t count)
{
	struct sfctl_alias_feed *feed = work->feed;
	struct sfctl_alias_mark mark = feed->lags ? feed->mark : mark_behind(work, count);
	char source[SF_ALIAS_JOB_MAX + 1];
	struct sf_alias_job job;
	struct sf_alias_batch batch = {
		.size = sizeof(batch),
		.flags = feed->stops_at_bad ? 0 : SF_ALIAS_SKIP,
		.records = work->record,
		.count = count,
		.refused = on_refused,
		.data = work,
	};

	if (feed->is_look_up)
		return look_up(work);
	if (feed->job) {
		job = job_at(feed, &mark, source);
		batch.job_name = feed->job;
		batch.job = &job;
	}
	return sfctl_alias_store_apply(feed->store, &batch);
}

/** Counts what was written, and tells of it. */
static int tell(struct work *work, size_t count)
{
	struct sfctl_alias_feed *feed = work->feed;
	size_t before = count > 0 ? count - 1 : 0;
	bool is_open = mark_behind(work, count).offset == mark_behind(work, before).offset;
	int status;

	for (size_t i = 0; i < count; i++) {
		feed->records += work->record[i].error == 0;
		feed->refused += work->record[i].error != 0;
		feed->made += work->record[i].made;
	}
	status = feed->done(feed->data, work->record, count, is_open ? before : count);
	if (status == SFCTL_OK)
		feed->mark = mark_behind(work, count);
	return status;
}

/**
 * Writes the batch, or what comes before its first bad record.
 * @param ret_is_told false when something of it may not be written or told of
 */
static int write_batch(struct work *work, bool *ret_is_told)
{
	struct sfctl_alias_feed *feed = work->feed;
	size_t count = work->count;
	int status;
	int r = apply(work, count);

	/* Nothing of the batch was written. What comes first may be refused later than what comes
	 * after it, hence again and again. */
	while (r < 0) {
		count = work->refused_at;
		r = count > 0 ? apply(work, count) : 0;
	}
	*ret_is_told = false;
	if (r > 0)
		return r;
	status = tell(work, count);
	*ret_is_told = status == SFCTL_OK;
	if (status != SFCTL_OK || count == work->count)
		return status;
	feed->refused++;
	feed->bad(feed->data, work->line[count], work->refused_why.text);
	return SFCTL_FAILED;
}

int sfctl_alias_feed_note(struct sfctl_alias_feed *feed)
{
	char source[SF_ALIAS_JOB_MAX + 1];
	const struct sf_alias_job job = job_at(feed, &feed->mark, source);
	const struct sf_alias_batch batch = {
		.size = sizeof(batch), .job_name = feed->job, .job = &job};

	return sfctl_alias_store_apply(feed->store, &batch) == 0 ? SFCTL_OK : SFCTL_FAILED;
}

int sfctl_alias_feed_run(struct sfctl_alias_feed *feed)
{
	struct work work;
	bool is_told = true;
	int status = work_init(&work, feed);

	feed->mark = feed->reader->mark;
	while (status == SFCTL_OK && !work.is_ended && work.error == 0) {
		gather(&work);
		if (work.count > 0)
			status = write_batch(&work, &is_told);
	}
	if (is_told && feed->job && feed->lags && sfctl_alias_feed_note(feed) != SFCTL_OK)
		status = SFCTL_FAILED;
	if (status == SFCTL_OK && work.error < 0) {
		feed->bad(feed->data, work.error_line, work.error_why.text);
		status = SFCTL_FAILED;
	}
	work_deinit(&work);
	return status;
}

int sfctl_alias_feed_words(struct sfctl_alias_feed *feed, char *const *word, size_t count)
{
	struct work work;
	bool is_told;
	int status;

	feed->batch_records = count;
	status = work_init(&work, feed);
	for (; status == SFCTL_OK && work.count < count; work.count++) {
		struct sfctl_alias_entry entry = {.key_length = 0};
		const char *text = word[work.count];
		struct sf_why why;

		if (sfctl_alias_set(&entry, SFCTL_ALIAS_KEY, text, strlen(text), &why) == 0)
			add(&work, &entry);
		else
			add_bad(&work, &why);
		work.line[work.count] = work.count + 1;
	}
	if (status == SFCTL_OK)
		status = write_batch(&work, &is_told);
	work_deinit(&work);
	return status;
}
