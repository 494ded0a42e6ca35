/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl alias import: options, files and messages; the work is in alias_feed.c. It may be killed at
 * any time: what was written stays, and with --resume it goes on there. Main thread.
 */
#include "tools/alias_feed.h"
#include "tools/cmd_alias.h"
#include "tools/number.h"
#include "tools/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
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
	"                    the input's format, as JSON for keys\n"
	"  --resume          go on behind the last batch that an earlier run of this FILE\n"
	"                    or job wrote\n"
	"  --job NAME        name to resume under (default: the path of FILE)\n"
	"  --on-error stop   a bad record ends the run; those before it are written; exit\n"
	"                    status 1; default\n"
	"  --on-error skip   bad records are reported and left out; exit status 0\n"
	"  --batch N         records a transaction, 1 to 1000000 (default: 50000)\n"
	"  --progress        show a progress bar even if stderr is no terminal\n" //
	SFCTL_ALIAS_MAKE_HELP SFCTL_ALIAS_STORE_HELP SFCTL_GLOBAL_HELP "\n"
	"A new key with an \"id\" gets that ID; else with \"created\" an ID of that time;\n"
	"else an ID of now, in the order of the input. A run may be ended at any time:\n"
	"what it wrote is on disk.\n"
	"\n"
	"Examples:\n"
	"  sfctl alias import --machine-id 900 messages.ndjson\n"
	"  sfctl alias import --resume --on-error skip users.csv\n"
	"  sfctl alias export --store a.db | sfctl alias import --store b.db\n";

/** Values of --format that name none. */
#define FORMAT_BY_NAME (-1)

struct import {
	const struct sfctl *sfctl;
	struct sfctl_alias_store store;
	struct sfctl_alias_reader reader;
	struct sfctl_alias_feed feed;
	struct sfctl_progress progress;
	const char *file;        /* NULL: stdin */
	const char *output_path; /* NULL: none */
	FILE *output;
	int format;
	bool resumes;
	bool forces_progress;
	char *job;    /* owned name of the job; NULL: feed.job is the caller's */
	char *source; /* owned */
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
	static const char *const words[] = {"ndjson", "csv", "keys"};
	int index = word_index(optarg, words, 3);

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
		import->output_path = optarg;
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
	return import->reader.format == SFCTL_ALIAS_CSV ? SFCTL_ALIAS_CSV : SFCTL_ALIAS_NDJSON;
}

/** Names the job after a file, and the file after what cannot change while it is the same. */
static int name_job(struct import *import, int fd)
{
	struct sfctl_alias_feed *feed = &import->feed;
	struct stat status;

	feed->source = "";
	if (feed->job || !import->file || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return SFCTL_OK;
	import->job = realpath(import->file, NULL);
	if (!import->job ||
	    asprintf(&import->source, "file %llu of device %llu", (unsigned long long)status.st_ino,
		     (unsigned long long)status.st_dev) < 0) {
		import->source = NULL;
		return sfctl_fail(import->sfctl, "cannot resolve %.200s: %s", import->file,
				  strerrordesc_np(errno));
	}
	feed->job = import->job;
	feed->source = import->source;
	return SFCTL_OK;
}

static int input_open(struct import *import)
{
	const struct sfctl *sfctl = import->sfctl;
	int fd = import->file ? open(import->file, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;

	if (fd < 0)
		return sfctl_fail(sfctl, "cannot open %.200s: %s", import->file,
				  strerrordesc_np(errno));
	if (sfctl_alias_reader_init(&import->reader, fd, format_of(import)) < 0)
		return sfctl_fail(sfctl, "out of memory");
	return name_job(import, fd);
}

static void input_close(struct import *import)
{
	if (import->reader.fd > STDERR_FILENO)
		(void)close(import->reader.fd);
	sfctl_alias_reader_deinit(&import->reader);
	free(import->job);
	free(import->source);
}

/** Takes away a line that an earlier run was killed in the middle of. */
static int cut_part(int fd)
{
	char tail[SFCTL_ALIAS_PAIR_MAX];
	struct stat status;
	off_t begin;
	const char *newline;
	ssize_t count;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return 0;
	begin = status.st_size > (off_t)sizeof(tail) ? status.st_size - (off_t)sizeof(tail) : 0;
	count = pread(fd, tail, sizeof(tail), begin);
	newline = count > 0 ? memrchr(tail, '\n', (size_t)count) : NULL;
	if (count < 0)
		return -1;
	return ftruncate(fd, begin + (newline ? newline - tail + 1 : 0));
}

/** A run that goes on adds to what the earlier one wrote. */
static FILE *open_to_add(const char *path)
{
	FILE *file = fopen(path, "a+e");

	if (file && cut_part(fileno(file)) < 0) {
		(void)fclose(file);
		return NULL;
	}
	return file;
}

static int output_open(struct import *import)
{
	const char *path = import->output_path;

	if (!path)
		return SFCTL_OK;
	if (strcmp(path, "-") == 0)
		import->output = stdout;
	else
		import->output = import->resumes ? open_to_add(path) : fopen(path, "we");
	if (!import->output || (import->output != stdout &&
				fseeko(import->output, 0, SEEK_END) < 0 && errno != ESPIPE))
		return sfctl_fail(import->sfctl, "cannot open %.200s: %s", path,
				  strerrordesc_np(errno));
	if (import->output == stdout || ftello(import->output) <= 0)
		(void)fputs(sfctl_alias_header(output_format(import)), import->output);
	return SFCTL_OK;
}

static int output_failed(const struct import *import)
{
	return sfctl_fail(import->sfctl, "cannot write %.200s: %s", import->output_path,
			  strerrordesc_np(errno));
}

static int output_close(struct import *import)
{
	FILE *output = import->output;

	import->output = NULL;
	if (!output || output == stdout)
		return SFCTL_OK;
	return fclose(output) == 0 ? SFCTL_OK : output_failed(import);
}

/* ---- running ---- */

/** Goes to where the last run stopped, if there was one. */
static int resume(struct import *import)
{
	const struct sfctl_alias_feed *feed = &import->feed;
	char source[SF_ALIAS_JOB_MAX + 1];
	struct sf_alias_job job;
	struct sf_why why;
	int r;

	if (!import->resumes || !feed->job)
		return SFCTL_OK;
	r = sf_alias_job(import->store.alias, feed->job, source, &job, &why);
	if (r == -ENOENT)
		return SFCTL_OK;
	if (r < 0)
		return sfctl_fail(import->sfctl, "%s", why.text);
	if (strcmp(job.source, feed->source) != 0)
		return sfctl_fail(
			import->sfctl,
			"%.160s is not the file that the last run read (%.60s, then %.60s); "
			"run without --resume, which does no harm",
			feed->job, feed->source, job.source);
	r = sfctl_alias_reader_skip(
		&import->reader, &(struct sfctl_alias_mark){.offset = job.offset, .line = job.line},
		&why);
	return r < 0 ? sfctl_fail(import->sfctl, "%s", why.text) : SFCTL_OK;
}

static void on_bad(void *data, uint64_t line, const char *sentence)
{
	struct import *import = data;

	sfctl_progress_clear(&import->progress);
	(void)sfctl_fail(import->sfctl, "line %llu: %s", (unsigned long long)line, sentence);
}

static int on_done(void *data, const struct sf_alias_record *records, size_t count)
{
	struct import *import = data;
	char pair[SFCTL_ALIAS_PAIR_MAX];

	for (size_t i = 0; import->output && i < count; i++)
		if (records[i].error == 0)
			(void)fwrite(pair, 1,
				     sfctl_alias_write(output_format(import), records[i].key,
						       records[i].key_length, records[i].id, pair),
				     import->output);
	sfctl_progress_show(&import->progress, import->reader.at.offset, import->feed.records,
			    false);
	if (import->output && (fflush(import->output) != 0 || ferror(import->output) != 0))
		return output_failed(import);
	return SFCTL_OK;
}

static void progress_init(struct import *import)
{
	sfctl_progress_init(&import->progress, import->reader.fd);
	/* Unlike for a filter, stdout is a terminal as a rule, and has nothing to say meanwhile. */
	import->progress.is_on = import->forces_progress ||
				 (isatty(STDERR_FILENO) == 1 &&
				  (import->output != stdout || isatty(STDOUT_FILENO) == 0));
}

/** What was done, on stdout unless that has the pairs. */
static void summary_print(const struct import *import)
{
	const struct sfctl_alias_feed *feed = &import->feed;
	FILE *to = import->output == stdout ? stderr : stdout;

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
		status = resume(import);
	if (status == SFCTL_OK)
		status = output_open(import);
	if (status != SFCTL_OK)
		return status;
	progress_init(import);
	status = sfctl_alias_feed_run(&import->feed);
	sfctl_progress_show(&import->progress, import->reader.at.offset, import->feed.records,
			    true);
	summary_print(import);
	closed = output_close(import);
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
	input_close(&import);
	sfctl_alias_store_close(&import.store);
	return status;
}
