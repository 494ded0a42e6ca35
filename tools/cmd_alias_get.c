/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl alias get: IDs of keys from the command line or stdin. A key that gets none is reported,
 * holds its place in the output, and the rest goes on. Main thread.
 */
#include "tools/alias_feed.h"
#include "tools/cmd_alias.h"
#include "tools/rfc3339.h"
#include "tools/words.h"

#include <string.h>
#include <unistd.h>

static const char help[] =
	"Usage: sfctl alias get [OPTION]... [KEY]...\n"
	"\n"
	"Prints the IDs of keys, one a line, in order. A key without an ID gets one, for\n"
	"good. Without arguments, keys are read from stdin, one a line.\n"
	"\n"
	"  --no-make         only look up: a key without an ID is an error\n"
	"  --created TIME    new IDs are of this time (RFC 3339 or Unix ms), not of "
	"now\n" SFCTL_ALIAS_MAKE_HELP SFCTL_ALIAS_STORE_HELP SFCTL_GLOBAL_HELP "\n"
	"Known keys, and IDs of the past, need no running sfd. A UUID is the same key in\n"
	"either case of letters. For a key that gets no ID a \"-\" is printed, and the exit\n"
	"status is 1. A line of stdin has up to 1 MiB.\n"
	"\n"
	"Examples:\n"
	"  sfctl alias get 7d444840-9dc0-11d1-b245-5ffdce74fad2\n"
	"  sfctl alias get --created 2021-03-04T05:06:07Z --machine-id 900 invoice/17\n"
	"  cut -f 1 users.tsv | sfctl alias get --no-make\n";

struct get {
	const struct sfctl *sfctl;
	struct sfctl_alias_store store;
	struct sfctl_words words;
	struct sfctl_alias_reader reader; /* of stdin */
	bool no_make;
	bool is_created;
	int64_t created_unix_ms;
	bool has_printed;
	int status;
};

static int options_read(struct get *get, struct sfctl *sfctl)
{
	enum {
		OPT_NO_MAKE = 2,
		OPT_CREATED
	};
	static const struct option options[] = {
		{"no-make", no_argument, NULL, OPT_NO_MAKE},
		{"created", required_argument, NULL, OPT_CREATED},
		SFCTL_ALIAS_STORE_OPTION,
		SFCTL_ALIAS_MAKE_OPTIONS,
		SFCTL_GLOBAL_OPTIONS,
	};
	struct sf_why why;
	int status = SFCTL_GO_ON;
	int option;

	while (status == SFCTL_GO_ON && (option = sfctl_words_getopt(&get->words, options)) != -1) {
		if (option == OPT_NO_MAKE) {
			get->no_make = true;
		} else if (option == OPT_CREATED) {
			get->is_created = true;
			if (sfctl_time_parse(optarg, &get->created_unix_ms, &why) < 0)
				status = sfctl_usage(sfctl, "%s", why.text);
		} else {
			status = sfctl_alias_store_option(&get->store, sfctl, option,
							  get->words.argv, help);
		}
	}
	if (status == SFCTL_GO_ON && get->no_make && get->is_created)
		return sfctl_usage(sfctl, "--no-make makes no ID of --created");
	return status;
}

static void on_bad(void *data, uint64_t line, const char *sentence)
{
	struct get *get = data;

	get->status = SFCTL_FAILED;
	if (line == 0) {
		(void)sfctl_fail(get->sfctl, "%s", sentence);
		return;
	}
	if (get->words.count == 0) {
		(void)sfctl_fail(get->sfctl, "line %llu: %s", (unsigned long long)line, sentence);
		return;
	}
	(void)sfctl_word_fail(get->sfctl, get->words.word[line - 1],
			      strlen(get->words.word[line - 1]), sentence);
}

static void print_one(struct get *get, const struct sf_alias_record *record)
{
	char pair[SFCTL_ALIAS_PAIR_MAX];
	size_t length;

	if (!get->sfctl->json && record->error != 0) {
		(void)fputs("-\n", stdout);
		return;
	}
	if (get->sfctl->json && record->error != 0) {
		(void)fputs(get->has_printed ? ",\nnull" : "[\nnull", stdout);
		get->has_printed = true;
		return;
	}
	length = sfctl_alias_write(get->sfctl->json ? SFCTL_ALIAS_NDJSON : SFCTL_ALIAS_KEYS,
				   record->key, record->key_length, record->id, pair);
	if (get->sfctl->json) {
		(void)fputs(get->has_printed ? ",\n" : "[\n", stdout);
		length--; /* no newline before the comma */
	}
	(void)fwrite(pair, 1, length, stdout);
	get->has_printed = true;
}

static int on_done(void *data, const struct sf_alias_record *records, size_t count, size_t marked)
{
	struct get *get = data;

	(void)marked;
	for (size_t i = 0; i < count; i++)
		print_one(get, &records[i]);
	/* Whoever reads a pipe may wait for these before it goes on; a failure is found in main().
	 */
	return fflush(stdout) == 0 ? SFCTL_OK : SFCTL_FAILED;
}

/** Before the store is opened: a file of it would take the place of a closed stdin. */
static int input_open(struct get *get)
{
	int r;

	if (get->words.count > 0)
		return SFCTL_OK;
	r = sfctl_alias_reader_init(&get->reader, STDIN_FILENO, SFCTL_ALIAS_KEYS);
	return r == 0 ? SFCTL_OK
		      : sfctl_fail(get->sfctl, "cannot read stdin: %s", strerrordesc_np(-r));
}

static int feed_keys(struct get *get)
{
	struct sfctl_alias_feed feed = {
		.sfctl = get->sfctl,
		.store = &get->store,
		.reader = &get->reader,
		.batch_records = SFCTL_ALIAS_BATCH,
		.is_look_up = get->no_make,
		.is_created = get->is_created,
		.created_unix_ms = get->created_unix_ms,
		.bad = on_bad,
		.done = on_done,
		.data = get,
	};
	int status;

	if (get->words.count > 0)
		status = sfctl_alias_feed_words(&feed, get->words.word, get->words.count);
	else
		status = sfctl_alias_feed_run(&feed);
	/* Whatever happened, what was printed ends. */
	if (get->sfctl->json)
		(void)fputs(get->has_printed ? "\n]\n" : "[]\n", stdout);
	return status;
}

static int run(struct get *get)
{
	int status = input_open(get);

	if (!get->no_make)
		get->store.read_hint = "--no-make looks up and writes nothing";
	if (status == SFCTL_OK)
		status = sfctl_alias_store_open(&get->store, get->sfctl,
						get->no_make ? SF_ALIAS_READ_ONLY : 0);
	return status == SFCTL_OK ? feed_keys(get) : status;
}

int sfctl_alias_get(struct sfctl *sfctl, int argc, char **argv)
{
	struct get get = {.sfctl = sfctl};
	int status = sfctl_words_init(&get.words, sfctl, argc, argv);

	if (status != SFCTL_GO_ON)
		return status;
	status = options_read(&get, sfctl);
	if (status == SFCTL_GO_ON)
		status = run(&get);
	sfctl_alias_store_close(&get.store);
	sfctl_alias_reader_deinit(&get.reader);
	sfctl_words_deinit(&get.words);
	return status == SFCTL_OK ? get.status : status;
}
