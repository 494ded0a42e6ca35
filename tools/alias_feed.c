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
	struct sfctl_alias_mark *end;  /* where each ends */
	struct sfctl_alias_mark begin; /* of the batch */
	char *text;                    /* keys, and what is wrong with records that have none */
	size_t text_used;
	size_t count;
	bool is_ended; /* no more input */
	int error;     /* the input cannot be read on */
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
		/* Mostly not touched, and then no memory: keys are shorter. */
		.text = calloc(feed->batch_records, TEXT_MAX),
		.feed = feed,
	};
	if (work->record && work->line && work->end && work->text)
		return SFCTL_OK;
	return sfctl_fail(feed->sfctl, "out of memory for batches of %zu records",
			  feed->batch_records);
}

static void work_deinit(struct work *work)
{
	free(work->record);
	free(work->line);
	free(work->end);
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
	if (r == 1)
		add(work, &entry);
	else
		add_bad(work, &why);
	work->line[work->count] = reader->record_line;
	work->end[work->count] = reader->at;
	work->count++;
	if (r == 1 || r == -EINVAL)
		return true;
	work->error = r;
	return false;
}

/** Reads records until the batch is complete. */
static void gather(struct work *work)
{
	const struct sfctl_alias_feed *feed = work->feed;
	int64_t until_ns;

	work->count = 0;
	work->text_used = 0;
	work->begin = feed->reader->at;
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
	/* In the other case it is told of after what came before it is written. */
	if (!work->feed->stops_at_bad)
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

/** How far the input is done when the first `count` records are. */
static struct sf_alias_job job_at(const struct work *work, size_t count)
{
	struct sfctl_alias_mark mark = work->begin;

	if (count == work->count)
		mark = work->feed->reader->at;
	else if (count > 0)
		mark = work->end[count - 1];
	return (struct sf_alias_job){
		.offset = mark.offset,
		.line = mark.line,
		.source = work->feed->source,
	};
}

/** Writes the first `count` records. @return as sfctl_alias_store_apply() */
static int apply(struct work *work, size_t count)
{
	struct sfctl_alias_feed *feed = work->feed;
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
		job = job_at(work, count);
		batch.job_name = feed->job;
		batch.job = &job;
	}
	return sfctl_alias_store_apply(feed->store, &batch);
}

/** Counts what was written, and tells of it. */
static int tell(struct work *work, size_t count)
{
	struct sfctl_alias_feed *feed = work->feed;

	for (size_t i = 0; i < count; i++) {
		feed->records += work->record[i].error == 0;
		feed->refused += work->record[i].error != 0;
		feed->made += work->record[i].made;
	}
	return feed->done(feed->data, work->record, count);
}

/** Writes the batch, or what comes before its first bad record. */
static int write_batch(struct work *work)
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
	if (r > 0)
		return r;
	status = tell(work, count);
	if (status != SFCTL_OK || count == work->count)
		return status;
	feed->refused++;
	feed->bad(feed->data, work->line[count], work->refused_why.text);
	return SFCTL_FAILED;
}

int sfctl_alias_feed_run(struct sfctl_alias_feed *feed)
{
	struct work work;
	int status = work_init(&work, feed);

	while (status == SFCTL_OK && !work.is_ended && work.error == 0) {
		gather(&work);
		if (work.count > 0)
			status = write_batch(&work);
	}
	if (status == SFCTL_OK && work.error < 0)
		status = SFCTL_FAILED;
	work_deinit(&work);
	return status;
}

int sfctl_alias_feed_words(struct sfctl_alias_feed *feed, char *const *word, size_t count)
{
	struct work work;
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
		status = write_batch(&work);
	work_deinit(&work);
	return status;
}
