/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl alias import: options, files and messages; the work is in alias_feed.c. It may be killed at
 * any time: what was written stays, and with --resume it goes on there. Main thread.
 */
#include "tools/alias_feed.h"
#include "tools/alias_job.h"
#include "tools/alias_output.h"
#include "tools/cmd_alias.h"
#include "tools/number.h"
#include "tools/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH_MAX 1000000

static const char help[] =
	"Usage: sfctl alias import [OPTION]... [FILE]\n"
	"\n"
	"Makes aliases of the keys in FILE, or of stdin. A key that has an ID keeps it:\n"
	"an import does no harm when it is run again.\n"
	"\n"
	"  --format ndjson   an object a line: "
	"{\"key\":\"...\",\"created\":\"...\",\"id\":\"...\"}\n"
	"                    where \"created\" is RFC 3339 or Unix ms, and all but \"key\"\n"
	"                    may be left out; default\n"
	"  --format csv      the same names in a header line, in any order; default for\n"
	"                    a FILE that ends in .csv\n"
	"  --format keys     a key a line\n"
	"  --output FILE     write pairs there, \"-\" is stdout, once they are on disk: in\n"
	"                    the input's format, as JSON for keys; what is in the file\n"
	"                    goes, but with --resume it is gone on with\n"
	"  --resume          go on where an earlier run of this FILE or job ended, in\n"
	"                    whatever way; FILE may have grown, but not changed. Each\n"
	"                    pair is once in the --output; in a pipe it may come again\n"
	"  --job NAME        name to resume under (default: the path of FILE)\n"
	"  --on-error stop   a bad record ends the run; those before it are written; exit\n"
	"                    status 1; default\n"
	"  --on-error skip   bad records are reported and left out; exit status 0\n"
	"  --batch N         records a transaction, 1 to 1000000 (default: 50000)\n"
	"  --progress        show a progress bar even if stderr is no terminal\n" //
	SFCTL_ALIAS_MAKE_HELP SFCTL_ALIAS_STORE_HELP SFCTL_GLOBAL_HELP "\n"
	"A new key with an \"id\" gets that ID; else with \"created\" an ID of that time;\n"
	"else an ID of now, in the order of the input. A run may be ended at any time:\n"
	"what it wrote is on disk. Other names than these three are errors, as a misspelt\n"
	"\"created\" would be for good: cut other columns off. A record has up to 1 MiB.\n"
	"\n"
	"Examples:\n"
	"  sfctl alias import --machine-id 900 messages.ndjson\n"
	"  sfctl alias import --resume --on-error skip users.csv\n"
	"  sfctl alias export --store a.db | sfctl alias import --layout twitter \\\n"
	"    --store b.db\n";

/** Values of --format that name none. */
#define FORMAT_BY_NAME (-1)

struct import {
	const struct sfctl *sfctl;
	struct sfctl_alias_store store;
	struct sfctl_alias_reader reader;
	struct sfctl_alias_feed feed;
	struct sfctl_progress progress;
	const char *file; /* NULL: stdin */
	struct sfctl_alias_output output;
	int format;
	bool resumes;
	bool forces_progress;
	char *job; /* owned name of the job; NULL: feed.job is the caller's */
};

/* ---- options ---- */

static int word_index(const char *word, const char *const *words, int count)
{
	for (int i = 0; i < count; i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	return -1;
}

static int read_format(const struct sfctl *sfctl, int *ret_format)
{
	int index = word_index(optarg, sfctl_alias_format_names, 3);

	if (index < 0)
		return sfctl_usage(sfctl, "format \"%.60s\" is not ndjson, csv or keys", optarg);
	*ret_format = index;
	return SFCTL_GO_ON;
}

static int read_on_error(const struct sfctl *sfctl, bool *ret_stops)
{
	static const char *const words[] = {"skip", "stop"};
	int index = word_index(optarg, words, 2);

	if (index < 0)
		return sfctl_usage(sfctl, "on-error \"%.60s\" is not stop or skip", optarg);
	*ret_stops = index == 1;
	return SFCTL_GO_ON;
}

static int read_batch(const struct sfctl *sfctl, size_t *ret_records)
{
	uint64_t records;

	if (sfctl_number_parse_range(optarg, 1, BATCH_MAX, &records) < 0)
		return sfctl_usage(sfctl, "batch %.60s is not a number from 1 to %d", optarg,
				   BATCH_MAX);
	*ret_records = (size_t)records;
	return SFCTL_GO_ON;
}

static int read_job(const struct sfctl *sfctl, const char **ret_job)
{
	if (*optarg == '\0' || strlen(optarg) > SF_ALIAS_JOB_MAX)
		return sfctl_usage(sfctl, "job needs a name of up to %d bytes", SF_ALIAS_JOB_MAX);
	*ret_job = optarg;
	return SFCTL_GO_ON;
}

enum {
	OPT_FORMAT = 1,
	OPT_OUTPUT,
	OPT_RESUME,
	OPT_JOB,
	OPT_ON_ERROR,
	OPT_BATCH,
	OPT_PROGRESS
};

static int option_read(struct import *import, struct sfctl *sfctl, int option, char **argv)
{
	switch (option) {
	case OPT_FORMAT:
		return read_format(sfctl, &import->format);
	case OPT_OUTPUT:
		import->output.path = optarg;
		return SFCTL_GO_ON;
	case OPT_RESUME:
		import->resumes = true;
		return SFCTL_GO_ON;
	case OPT_JOB:
		return read_job(sfctl, &import->feed.job);
	case OPT_ON_ERROR:
		return read_on_error(sfctl, &import->feed.stops_at_bad);
	case OPT_BATCH:
		return read_batch(sfctl, &import->feed.batch_records);
	case OPT_PROGRESS:
		import->forces_progress = true;
		return SFCTL_GO_ON;
	default:
		return sfctl_alias_store_option(&import->store, sfctl, option, argv, help);
	}
}

static int options_read(struct import *import, struct sfctl *sfctl, int argc, char **argv)
{
	static const struct option options[] = {
		{"format", required_argument, NULL, OPT_FORMAT},
		{"output", required_argument, NULL, OPT_OUTPUT},
		{"resume", no_argument, NULL, OPT_RESUME},
		{"job", required_argument, NULL, OPT_JOB},
		{"on-error", required_argument, NULL, OPT_ON_ERROR},
		{"batch", required_argument, NULL, OPT_BATCH},
		{"progress", no_argument, NULL, OPT_PROGRESS},
		SFCTL_ALIAS_STORE_OPTION,
		SFCTL_ALIAS_MAKE_OPTIONS,
		SFCTL_GLOBAL_OPTIONS,
	};
	int status = SFCTL_GO_ON;
	int option;

	while (status == SFCTL_GO_ON && (option = sfctl_getopt(argc, argv, ":h", options)) != -1)
		status = option_read(import, sfctl, option, argv);
	if (status != SFCTL_GO_ON)
		return status;
	if (argc - optind > 1)
		return sfctl_usage(sfctl, "\"%.60s\" is one argument too many", argv[optind + 1]);
	import->file = argv[optind]; /* NULL when there is none */
	if (import->resumes && !import->file && !import->feed.job)
		return sfctl_usage(sfctl, "--resume of stdin needs --job");
	return SFCTL_GO_ON;
}

/* ---- files ---- */

static enum sfctl_alias_format format_of(const struct import *import)
{
	const char *file = import->file ? import->file : "";
	size_t length = strlen(file);

	if (import->format != FORMAT_BY_NAME)
		return (enum sfctl_alias_format)import->format;
	return length > 4 && strcmp(file + length - 4, ".csv") == 0 ? SFCTL_ALIAS_CSV
								    : SFCTL_ALIAS_NDJSON;
}

/** Pairs are written as they came; a line of keys would not tell which is which. */
static enum sfctl_alias_format output_format(const struct import *import)
{
	return format_of(import) == SFCTL_ALIAS_CSV ? SFCTL_ALIAS_CSV : SFCTL_ALIAS_NDJSON;
}

/** Names the job after a file. */
static int name_job(struct import *import, int fd)
{
	struct sfctl_alias_feed *feed = &import->feed;
	struct stat status;

	if (feed->job || !import->file || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return SFCTL_OK;
	import->job = realpath(import->file, NULL);
	if (!import->job)
		return sfctl_fail(import->sfctl, "cannot resolve %.200s: %s", import->file,
				  strerrordesc_np(errno));
	feed->job = import->job;
	return SFCTL_OK;
}

static int input_open(struct import *import)
{
	const struct sfctl *sfctl = import->sfctl;
	int fd = import->file ? open(import->file, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	int r;

	if (fd < 0)
		return sfctl_fail(sfctl, "cannot open %.200s: %s", import->file,
				  strerrordesc_np(errno));
	r = sfctl_alias_reader_init(&import->reader, fd, format_of(import));
	if (r < 0)
		return sfctl_fail(sfctl, "cannot read %.200s: %s",
				  import->file ? import->file : "stdin", strerrordesc_np(-r));
	return name_job(import, fd);
}

static void input_close(struct import *import)
{
	if (import->reader.fd > STDERR_FILENO)
		(void)close(import->reader.fd);
	sfctl_alias_reader_deinit(&import->reader);
	free(import->job);
}

/* ---- running ---- */

static int cannot_resume(const struct import *import, const char *reason)
{
	return sfctl_fail(import->sfctl,
			  "cannot resume %.200s: %s; run without --resume, which does no harm",
			  import->feed.job, reason);
}

/** Goes to where the last run stopped. @param job what it says of itself */
static int input_go_on(struct import *import, const struct sf_alias_job *place,
		       const struct sfctl_alias_job *job)
{
	const struct sfctl_alias_mark mark = {
		.offset = place->offset,
		.line = place->line,
		.digest = job->digest,
	};
	struct sf_why why;

	if (job->format != import->reader.format) {
		SFCTL_WHY(&why, "the last run read it as %s, not as %s",
			  sfctl_alias_format_names[job->format],
			  sfctl_alias_format_names[import->reader.format]);
		return cannot_resume(import, why.text);
	}
	if (sfctl_alias_reader_skip(&import->reader, &mark, &why) < 0)
		return cannot_resume(import, why.text);
	return SFCTL_OK;
}

/** The output begins. The job is told first, so that no later run takes what is in it for its own.
 */
static int output_begin(struct import *import)
{
	struct sfctl_alias_feed *feed = &import->feed;
	int status = SFCTL_OK;

	if (import->output.is_file && feed->job) {
		feed->mark = import->reader.mark;
		status = sfctl_alias_feed_note(feed);
	}
	return status == SFCTL_OK ? sfctl_alias_output_begin(&import->output) : status;
}

/** The output of a run that goes on. @param job what the last run said of itself */
static int output_go_on(struct import *import, const struct sfctl_alias_job *job)
{
	struct sfctl_alias_output *output = &import->output;

	if (!output->is_file)
		return sfctl_alias_output_begin(output);
	if (job->has_output)
		return sfctl_alias_output_go_on(output, &job->output);
	if (import->reader.at.offset > 0)
		return cannot_resume(import,
				     "the last run wrote no output, so that its pairs would "
				     "be missing in this one's");
	if (sfctl_alias_output_has_bytes(output))
		return cannot_resume(import, "the output has bytes that no run of this job wrote");
	return output_begin(import);
}

/** Goes to where the last run stopped, if there was one. */
static int resume(struct import *import)
{
	struct sfctl_alias_job job = {.has_output = false};
	char source[SF_ALIAS_JOB_MAX + 1];
	struct sf_alias_job place;
	struct sf_why why;
	int status = SFCTL_OK;
	int r;

	if (!import->feed.job)
		return sfctl_fail(import->sfctl, "--resume of what is no file needs --job");
	r = sf_alias_job(import->store.alias, import->feed.job, source, &place, &why);
	if (r < 0 && r != -ENOENT)
		return sfctl_fail(import->sfctl, "%s", why.text);
	if (r == 0 && sfctl_alias_job_parse(source, &job) < 0)
		return cannot_resume(import, "another program noted the job's progress");
	if (r == 0)
		status = input_go_on(import, &place, &job);
	return status == SFCTL_OK ? output_go_on(import, &job) : status;
}

static int output_open(struct import *import)
{
	int status;

	import->output.sfctl = import->sfctl;
	import->output.format = output_format(import);
	status = sfctl_alias_output_open(&import->output);
	import->feed.lags = import->output.file != NULL;
	if (status != SFCTL_OK)
		return status;
	return sfctl_alias_output_check(&import->output, import->reader.fd,
					import->store.options.path);
}

static void describe(void *data, const struct sfctl_alias_mark *mark, char *ret_source)
{
	const struct import *import = data;
	const struct sfctl_alias_job job = {
		.format = import->reader.format,
		.digest = mark->digest,
		.has_output = import->output.is_file,
		.output = import->output.marked,
	};

	sfctl_alias_job_format(&job, ret_source);
}

static void on_bad(void *data, uint64_t line, const char *sentence)
{
	struct import *import = data;

	sfctl_progress_clear(&import->progress);
	if (line == 0)
		(void)sfctl_fail(import->sfctl, "%s", sentence);
	else
		(void)sfctl_fail(import->sfctl, "line %llu: %s", (unsigned long long)line,
				 sentence);
}

static int on_done(void *data, const struct sf_alias_record *records, size_t count, size_t marked)
{
	struct import *import = data;

	sfctl_progress_show(&import->progress, import->reader.at.offset, import->feed.records,
			    false);
	return sfctl_alias_output_write(&import->output, records, count, marked);
}

static void progress_init(struct import *import)
{
	sfctl_progress_init(&import->progress, import->reader.fd);
	/* Unlike for a filter, stdout is a terminal as a rule, and has nothing to say meanwhile. */
	import->progress.is_on = import->forces_progress ||
				 (isatty(STDERR_FILENO) == 1 &&
				  (import->output.file != stdout || isatty(STDOUT_FILENO) == 0));
}

/** What was done, on stdout unless that has the pairs. */
static void summary_print(const struct import *import)
{
	const struct sfctl_alias_feed *feed = &import->feed;
	FILE *to = import->output.file == stdout ? stderr : stdout;

	(void)fprintf(to,
		      import->sfctl->json
			      ? "{\"records\":%llu,\"made\":%llu,\"known\":%llu,\"refused\":%llu}\n"
			      : "%llu records: %llu aliases made, %llu known; %llu bad records\n",
		      (unsigned long long)feed->records, (unsigned long long)feed->made,
		      (unsigned long long)(feed->records - feed->made),
		      (unsigned long long)feed->refused);
}

static int run(struct import *import)
{
	int status = sfctl_alias_store_open(&import->store, import->sfctl, 0);
	int closed;

	if (status == SFCTL_OK)
		status = output_open(import);
	if (status == SFCTL_OK)
		status = import->resumes ? resume(import) : output_begin(import);
	if (status != SFCTL_OK)
		return status;
	progress_init(import);
	status = sfctl_alias_feed_run(&import->feed);
	sfctl_progress_show(&import->progress, import->reader.at.offset, import->feed.records,
			    true);
	summary_print(import);
	closed = sfctl_alias_output_close(&import->output);
	return status == SFCTL_OK ? closed : status;
}

int sfctl_alias_import(struct sfctl *sfctl, int argc, char **argv)
{
	struct import import = {
		.sfctl = sfctl,
		.format = FORMAT_BY_NAME,
		.feed = {.sfctl = sfctl,
			 .batch_records = SFCTL_ALIAS_BATCH,
			 .stops_at_bad = true,
			 .describe = describe,
			 .bad = on_bad,
			 .done = on_done},
	};
	int status = options_read(&import, sfctl, argc, argv);

	if (status != SFCTL_GO_ON)
		return status;
	import.feed.store = &import.store;
	import.feed.reader = &import.reader;
	import.feed.data = &import;
	status = input_open(&import);
	if (status == SFCTL_OK)
		status = run(&import);
	(void)sfctl_alias_output_close(&import.output);
	input_close(&import);
	sfctl_alias_store_close(&import.store);
	return status;
}
