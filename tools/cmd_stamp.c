/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl stamp: the ingestion filter. Options, signals and messages; the work is in stamp_stream.c.
 * Main thread.
 */
#include "tools/batch.h"
#include "tools/cause.h"
#include "tools/client.h"
#include "tools/progress.h"
#include "tools/sfctl.h"
#include "tools/stamp_stream.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"Usage: sfctl stamp [OPTION]... [FILE]\n"
	"\n"
	"Adds an ID to each record of FILE, or of stdin, and writes the records to stdout\n"
	"in the same order, their IDs strictly increasing. IDs of any format of a stream\n"
	"are written as their canonical text.\n"
	"\n"
	"  --input ndjson    a JSON object a line (default): the ID becomes its first\n"
	"                    member, a string, {\"id\":\"123\",...; all other bytes stay as\n"
	"                    they are. Blank lines pass through.\n"
	"  --input lines     any line: the ID and a tab go in front, blank lines included\n"
	"  --field NAME      name of the member (default: id); ndjson only\n"
	"  --on-error stop   a line that is not a JSON object, or has a member NAME, ends\n"
	"                    the run; the records before it are written; exit status 1;\n"
	"                    default\n"
	"  --on-error pass   such a line passes through unstamped and is reported; their\n"
	"                    number is reported at the end; exit status 0\n" //
	SFCTL_SFD_HELP SFCTL_HELP_HELP "\n"
	"Lines have up to 64 MiB; the last need not end with a newline, and CR LF stays.\n"
	"SIGINT and SIGTERM end the run after the records read so far, whole, with status\n"
	"130 or 143; a second one ends it at once.\n"
	"\n"
	"Examples:\n"
	"  sfctl stamp events.ndjson > stamped.ndjson\n"
	"  producer | sfctl stamp --field event_id --on-error pass | consumer\n"
	"  tail -F access.log | sfctl stamp --input lines >> access.stamped\n";

struct request {
	const char *field;
	const char *file;
	bool is_lines;
	bool passes_bad;
};

/** One run: what the stamper's callbacks need. */
struct run {
	const struct sfctl *sfctl;
	struct sf_cursor *cursor;
	struct sfctl_batch batch;
	struct sfctl_progress progress;
	struct sfctl_stamper stamper;
	bool got_none; /* no ID when one was needed */
};

/** The signal that was caught. */
static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	caught = number;
}

/** Catches the first of each; the next has its usual effect. Ignored ones stay ignored. */
static void signals_catch(void)
{
	static const int numbers[] = {SIGINT, SIGTERM};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
		struct sigaction before;

		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			(void)sigaction(numbers[i], &action, NULL);
	}
}

/** Reads one of two words. */
static int read_choice(const struct sfctl *sfctl, const char *what, const char *no, const char *yes,
		       bool *ret_is_yes)
{
	bool is_yes = strcmp(optarg, yes) == 0;

	if (!is_yes && strcmp(optarg, no) != 0)
		return sfctl_usage(sfctl, "%s \"%.60s\" is not %s or %s", what, optarg, no, yes);
	*ret_is_yes = is_yes;
	return SFCTL_GO_ON;
}

static int options_read(struct sfctl *sfctl, int argc, char **argv, struct request *request)
{
	enum {
		OPT_FIELD = 1,
		OPT_INPUT,
		OPT_ON_ERROR
	};
	static const struct option options[] = {
		{"field", required_argument, NULL, OPT_FIELD},
		{"input", required_argument, NULL, OPT_INPUT},
		{"on-error", required_argument, NULL, OPT_ON_ERROR},
		SFCTL_GLOBAL_OPTIONS,
	};
	int status = SFCTL_GO_ON;
	int option;

	while (status == SFCTL_GO_ON && (option = sfctl_getopt(argc, argv, ":h", options)) != -1) {
		switch (option) {
		case OPT_FIELD:
			request->field = optarg;
			break;
		case OPT_INPUT:
			status = read_choice(sfctl, "input", "ndjson", "lines", &request->is_lines);
			break;
		case OPT_ON_ERROR:
			status = read_choice(sfctl, "on-error", "stop", "pass",
					     &request->passes_bad);
			break;
		default:
			status = sfctl_option(sfctl, option, argv, help);
		}
	}
	if (status != SFCTL_GO_ON)
		return status;
	if (argc - optind > 1)
		return sfctl_usage(sfctl, "\"%.60s\" is one argument too many", argv[optind + 1]);
	if (request->is_lines && request->field)
		return sfctl_usage(sfctl, "--field is for --input ndjson");
	request->file = argv[optind]; /* NULL when there is none */
	return SFCTL_GO_ON;
}

static_assert(SFCTL_STAMP_TAKE_MAX <= SFCTL_BATCH, "what is asked for fits a batch");

static int take(void *data, struct sfctl_stamp_id *ret_ids, size_t count, struct sf_why *why)
{
	struct run *run = data;
	struct sf_why reason;
	size_t got;
	int error = sfctl_batch_take(&run->batch, run->cursor, count, &got, &reason);

	if (error < 0) {
		run->got_none = true;
		SFCTL_WHY(why, "gets no ID: %.200s", reason.text);
		return error;
	}
	for (size_t i = 0; i < count; i++)
		ret_ids[i].length = (uint8_t)sfctl_batch_text(&run->batch, i, ret_ids[i].text);
	return 0;
}

static void on_bad(void *data, uint64_t line, const char *reason)
{
	struct run *run = data;

	sfctl_progress_clear(&run->progress);
	(void)sfctl_fail(run->sfctl, "line %llu %s", (unsigned long long)line, reason);
}

static void on_done(void *data)
{
	struct run *run = data;

	sfctl_progress_show(&run->progress, run->stamper.bytes, run->stamper.stamped, false);
}

/** Runs and reports. @return the exit status */
static int run_all(struct run *run)
{
	const struct sfctl_stamper *stamper = &run->stamper;
	char cause[SFCTL_CAUSE_MAX];
	struct sf_why why;
	int error = sfctl_stamper_run(&run->stamper, &why);

	sfctl_progress_show(&run->progress, stamper->bytes, stamper->stamped, true);
	if (stamper->bad_lines > 0 && !stamper->stops_at_bad)
		(void)sfctl_fail(run->sfctl, "%llu of %llu lines were passed on unstamped",
				 (unsigned long long)stamper->bad_lines,
				 (unsigned long long)stamper->lines);
	if (error == -EINTR && caught) {
		(void)sfctl_fail(run->sfctl, "stopped by signal %d after %llu records", (int)caught,
				 (unsigned long long)stamper->stamped);
		return 128 + (int)caught;
	}
	if (error < 0 && run->got_none && sfctl_cause_ask(run->sfctl, cause))
		return sfctl_fail(run->sfctl, "%s; stream %.40s is %s", why.text,
				  sfctl_stream_name(run->sfctl), cause);
	if (error < 0)
		return sfctl_fail(run->sfctl, "%s", why.text);
	return SFCTL_OK;
}

static int input_open(const struct sfctl *sfctl, const char *file, int *ret_fd)
{
	int fd = file ? open(file, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;

	if (fd < 0)
		return sfctl_fail(sfctl, "cannot open %.200s: %s", file, strerrordesc_np(errno));
	*ret_fd = fd;
	return SFCTL_GO_ON;
}

int sfctl_cmd_stamp(struct sfctl *sfctl, int argc, char **argv)
{
	struct request request = {0};
	struct sfctl_scanner scanner = {.prefix = NULL};
	struct sfctl_client client = {0};
	struct run run = {.sfctl = sfctl};
	struct sf_why why;
	int fd = STDIN_FILENO;
	int status = options_read(sfctl, argc, argv, &request);

	if (status != SFCTL_GO_ON)
		return status;
	if (!request.is_lines &&
	    sfctl_scanner_init(&scanner, request.field ? request.field : "id", &why) < 0)
		return sfctl_usage(sfctl, "%s", why.text);
	status = input_open(sfctl, request.file, &fd);
	if (status != SFCTL_GO_ON)
		goto out;
	status = sfctl_client_open(sfctl, SF_WAIT_SLEEP, 0, &client);
	if (status != SFCTL_OK)
		goto out;
	run.cursor = client.cursor;
	run.batch.format = sf_client_layout(client.client)->format;
	run.stamper = (struct sfctl_stamper){
		.scanner = &scanner,
		.in_fd = fd,
		.out_fd = STDOUT_FILENO,
		.stops_at_bad = !request.passes_bad,
		.take = take,
		.bad = on_bad,
		.done = on_done,
		.data = &run,
		.stop = &caught,
	};
	sfctl_progress_init(&run.progress, fd);
	signals_catch();
	status = run_all(&run);
out:
	sfctl_client_close(&client);
	sfctl_scanner_deinit(&scanner);
	if (fd > STDERR_FILENO)
		(void)close(fd);
	return status;
}
