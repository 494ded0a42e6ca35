/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Records from a reader into a store, a transaction a batch. A batch ends when it is full, after a
 * quarter of a second, or when no more input is there: so no record waits for others to come. Main
 * thread.
 */
#ifndef SFCTL_ALIAS_FEED_H
#define SFCTL_ALIAS_FEED_H

#include "tools/alias_reader.h"
#include "tools/alias_store.h"

/** Records of a batch, unless the caller says otherwise: with fewer, more pages are written for
 * each pair; with more, other writers wait longer. */
#define SFCTL_ALIAS_BATCH 50000

/** Hears of a record that was refused, or with line 0 that the input cannot be read. */
typedef void (*sfctl_alias_bad_fn)(void *data, uint64_t line, const char *sentence);
/**
 * Hears of a batch that is on disk. Its first `marked` records, which are all or all but the last,
 * lie before the place where a later run would go on.
 * @return SFCTL_OK, or an exit code that ends the run
 */
typedef int (*sfctl_alias_done_fn)(void *data, const struct sf_alias_record *records, size_t count,
				   size_t marked);
/** Says what the job was about, up to a place in the input. `ret_source` has room for
 * SF_ALIAS_JOB_MAX + 1. */
typedef void (*sfctl_alias_describe_fn)(void *data, const struct sfctl_alias_mark *mark,
					char *ret_source);

struct sfctl_alias_feed {
	/* set by the caller */
	const struct sfctl *sfctl;
	struct sfctl_alias_store *store;
	struct sfctl_alias_reader *reader;
	size_t batch_records;
	bool stops_at_bad; /* else bad records are left out */
	bool is_look_up;   /* makes no aliases: an unknown key is a bad record */
	const char *job;   /* name under which the progress is kept; NULL: nowhere */
	/* A batch notes the progress up to where it begins, not ends: `done` has to have finished
	 * with what is noted. The last batch is noted alone. */
	bool lags;
	sfctl_alias_describe_fn describe; /* with `job` */
	bool is_created; /* records without a time have that of `created_unix_ms` */
	int64_t created_unix_ms;
	sfctl_alias_bad_fn bad;
	sfctl_alias_done_fn done;
	void *data; /* first argument of the two */

	/* what was done */
	struct sfctl_alias_mark mark; /* up to where `done` has heard of it */
	uint64_t records;             /* bad ones not counted */
	uint64_t made;
	uint64_t refused;
};

/** @return SFCTL_OK; SFCTL_FAILED after a sentence, on stderr or to `bad`; or what `done` returned
 */
int sfctl_alias_feed_run(struct sfctl_alias_feed *feed);

/** Notes the job's progress up to feed->mark. @return SFCTL_OK, or SFCTL_FAILED after a sentence */
int sfctl_alias_feed_note(struct sfctl_alias_feed *feed);

/** The same as sfctl_alias_feed_run() for keys of the command line, in one batch; "lines" are their
 * numbers from 1 on. */
int sfctl_alias_feed_words(struct sfctl_alias_feed *feed, char *const *word, size_t count);

#endif
