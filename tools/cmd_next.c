/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl next: takes IDs and prints them. Prints nothing for an ID that it did not get. Main thread.
 */
#include "tools/batch.h"
#include "tools/cause.h"
#include "tools/client.h"
#include "tools/number.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define COUNT_MAX 1000000000
#define TIMEOUT_MS_MAX 86400000
#define TIMEOUT_NS_DEFAULT INT64_C(5000000000)
/* Who waits for longer wants to know for what. */
#define PATIENCE_NS INT64_C(1000000000)

static const char help[] =
	"Usage: sfctl next [OPTION]...\n"
	"\n"
	"Takes IDs from a stream and prints them, one a line, in rising order.\n"
	"\n"
	"  -n, --count N     how many, 1 to 1000000000 (default: 1)\n"
	"  --format FORMAT   text (default): the canonical text of the stream's format;\n"
	"                    bin: big-endian bytes with nothing in between, 8 an ID (ULID\n"
	"                    and UUID 16, ObjectId 12, Hound 22); json: an array of\n"
	"                    strings, since IDs exceed 2^53 (--json means this); and for\n"
	"                    64-bit IDs dec, which is text, and hex, 16 lower-case digits\n"
	"  --wait HOW        when no ID can be given now: sleep (default), spin, or none\n"
	"                    (stop with an error)\n"
	"  --timeout-ms N    longest wait for a batch, 1 to 86400000 (default: 5000)\n"
	"  --ordered         each ID is larger than every ID that anyone on this host was\n"
	"                    given before it; slower\n" SFCTL_GLOBAL_HELP "\n"
	"When IDs run out in the middle, those printed are good, and the exit status is\n"
	"1. Who gets none within a second reads on stderr what the stream waits for.\n"
	"\n"
	"Examples:\n"
	"  sfctl next\n"
	"  sfctl next -n 1000 --format hex\n"
	"  sfctl next -n 5 --json --stream orders\n"
	"  sfctl next -n 1000 --stream events --format bin > ids.bin\n";

enum format {
	FORMAT_TEXT,
	FORMAT_BIN,
	FORMAT_JSON,
	FORMAT_DEC, /* from here on for 64-bit IDs only */
	FORMAT_HEX,
};

struct request {
	uint64_t count;
	int64_t timeout_ns;
	uint32_t wait;
	enum format format;
	bool has_format;
	bool is_ordered;
};

struct run {
	const struct sfctl *sfctl;
	const struct request *request;
	struct sf_cursor *cursor;
	bool told; /* what the stream waits for */
};

/** Index of a word in a list, or -1. */
static int word_index(const char *word, const char *const *words, int count)
{
	for (int i = 0; i < count; i++) {
		if (strcmp(word, words[i]) == 0)
			return i;
	}
	return -1;
}

static int read_count(const struct sfctl *sfctl, struct request *request)
{
	if (sfctl_number_parse_range(optarg, 1, COUNT_MAX, &request->count) < 0)
		return sfctl_usage(sfctl, "count %.60s is not a number from 1 to %d", optarg,
				   COUNT_MAX);
	return SFCTL_GO_ON;
}

static int read_timeout(const struct sfctl *sfctl, struct request *request)
{
	uint64_t ms;

	if (sfctl_number_parse_range(optarg, 1, TIMEOUT_MS_MAX, &ms) < 0)
		return sfctl_usage(sfctl, "time-out %.60s is not a number of ms from 1 to %d",
				   optarg, TIMEOUT_MS_MAX);
	request->timeout_ns = (int64_t)ms * 1000000;
	return SFCTL_GO_ON;
}

static int read_format(const struct sfctl *sfctl, struct request *request)
{
	static const char *const words[] = {"text", "bin", "json", "dec", "hex"};
	int index = word_index(optarg, words, 5);

	if (index < 0)
		return sfctl_usage(sfctl, "format \"%.60s\" is not text, bin, json, dec or hex",
				   optarg);
	request->format = (enum format)index;
	request->has_format = true;
	return SFCTL_GO_ON;
}

static int read_wait(const struct sfctl *sfctl, struct request *request)
{
	static const char *const words[] = {"sleep", "spin", "none"};
	int index = word_index(optarg, words, 3);

	if (index < 0)
		return sfctl_usage(sfctl, "wait \"%.60s\" is not sleep, spin or none", optarg);
	request->wait = SF_WAIT_SLEEP + (uint32_t)index;
	return SFCTL_GO_ON;
}

static int check(const struct sfctl *sfctl, struct request *request)
{
	if (sfctl->json && request->has_format && request->format != FORMAT_JSON)
		return sfctl_usage(sfctl, "--json means --format json: give no other format");
	if (sfctl->json)
		request->format = FORMAT_JSON;
	if (request->format == FORMAT_BIN && isatty(STDOUT_FILENO))
		return sfctl_usage(sfctl, "bytes would garble this terminal: send them to a file "
					  "or program");
	return SFCTL_GO_ON;
}

static int options_read(struct sfctl *sfctl, int argc, char **argv, struct request *request)
{
	enum {
		OPT_FORMAT = 1,
		OPT_WAIT,
		OPT_TIMEOUT,
		OPT_ORDERED
	};
	static const struct option options[] = {
		{"count", required_argument, NULL, 'n'},
		{"format", required_argument, NULL, OPT_FORMAT},
		{"wait", required_argument, NULL, OPT_WAIT},
		{"timeout-ms", required_argument, NULL, OPT_TIMEOUT},
		{"ordered", no_argument, NULL, OPT_ORDERED},
		SFCTL_GLOBAL_OPTIONS,
	};
	int status = SFCTL_GO_ON;
	int option;

	while (status == SFCTL_GO_ON &&
	       (option = sfctl_getopt(argc, argv, ":hn:", options)) != -1) {
		switch (option) {
		case 'n':
			status = read_count(sfctl, request);
			break;
		case OPT_FORMAT:
			status = read_format(sfctl, request);
			break;
		case OPT_WAIT:
			status = read_wait(sfctl, request);
			break;
		case OPT_TIMEOUT:
			status = read_timeout(sfctl, request);
			break;
		case OPT_ORDERED:
			request->is_ordered = true;
			break;
		default:
			status = sfctl_option(sfctl, option, argv, help);
		}
	}
	if (status == SFCTL_GO_ON && optind < argc)
		return sfctl_usage(sfctl, "\"%.60s\" is one argument too many", argv[optind]);
	return status == SFCTL_GO_ON ? check(sfctl, request) : status;
}

/** Prints one ID; no format's text needs JSON escaping. */
static void print_id(enum format format, const struct sfctl_batch *batch, size_t at, bool is_first)
{
	char text[SF_WIDE_TEXT_MAX + 8];
	size_t length = 0;

	switch (format) {
	case FORMAT_BIN:
		length = sfctl_batch_bytes(batch, at, (uint8_t *)text);
		break;
	case FORMAT_HEX:
		sfctl_number_format_hex(batch->number[at], text);
		length = 16;
		text[length++] = '\n';
		break;
	case FORMAT_JSON:
		text[length++] = is_first ? '[' : ',';
		text[length++] = '\n';
		text[length++] = '"';
		length += sfctl_batch_text(batch, at, text + length);
		text[length++] = '"';
		break;
	case FORMAT_TEXT:
	case FORMAT_DEC:
	default:
		length = sfctl_batch_text(batch, at, text);
		text[length++] = '\n';
	}
	/* Failures of stdout are found at the end, in main(), or at the next batch. */
	(void)fwrite(text, 1, length, stdout);
}

/**
 * Takes one ID and says, when there is none within a moment, what keeps the stream from giving any;
 * then waits on. @return as sfctl_batch_take()
 */
static int take_first(struct run *run, struct sfctl_batch *batch, size_t *ret_got,
		      struct sf_why *why)
{
	const struct request *request = run->request;
	const int64_t rest_ns = request->timeout_ns - PATIENCE_NS;
	char cause[SFCTL_CAUSE_MAX];
	int error;

	if (request->wait == SF_WAIT_NONE || rest_ns <= 0)
		return sfctl_batch_take(batch, run->cursor, 1, ret_got, why);
	(void)sf_cursor_set_wait(run->cursor, request->wait, PATIENCE_NS);
	error = sfctl_batch_take(batch, run->cursor, 1, ret_got, why);
	if (error == -ETIMEDOUT) {
		run->told = sfctl_cause_ask(run->sfctl, cause);
		if (run->told)
			(void)sfctl_fail(run->sfctl, "stream %.40s is %s",
					 sfctl_stream_name(run->sfctl), cause);
		(void)sf_cursor_set_wait(run->cursor, request->wait, rest_ns);
		error = sfctl_batch_take(batch, run->cursor, 1, ret_got, why);
	}
	(void)sf_cursor_set_wait(run->cursor, request->wait, request->timeout_ns);
	return error;
}

/** What the library says and, unless that was told, what sfd says of the stream. */
static int fail(const struct run *run, uint64_t done, const struct sf_why *why)
{
	char cause[SFCTL_CAUSE_MAX] = "";
	bool is_known = !run->told && sfctl_cause_ask(run->sfctl, cause);

	return sfctl_fail(
		run->sfctl, "got %llu of %llu IDs: %s%s%.40s%s%s", (unsigned long long)done,
		(unsigned long long)run->request->count, why->text, is_known ? "; stream " : "",
		is_known ? sfctl_stream_name(run->sfctl) : "", is_known ? " is " : "", cause);
}

static int print_all(struct run *run, struct sfctl_batch *batch)
{
	const struct request *request = run->request;
	uint64_t done = 0;
	struct sf_why why;
	int error = 0;

	while (error == 0 && done < request->count && ferror(stdout) == 0) {
		uint64_t left = request->count - done;
		size_t got;

		if (done == 0)
			error = take_first(run, batch, &got, &why);
		else
			error = sfctl_batch_take(batch, run->cursor,
						 left < SFCTL_BATCH ? left : SFCTL_BATCH, &got,
						 &why);
		for (size_t i = 0; i < got; i++)
			print_id(request->format, batch, i, done + i == 0);
		done += got;
	}
	if (request->format == FORMAT_JSON && done > 0)
		(void)fputs("\n]\n", stdout);
	return error < 0 ? fail(run, done, &why) : SFCTL_OK;
}

static int take_all(struct run *run, const struct sf_client *client)
{
	unsigned format = sf_client_layout(client)->format;
	struct sfctl_batch batch;

	if (format != SF_FORMAT_SNOWFLAKE && run->request->format >= FORMAT_DEC)
		return sfctl_usage(run->sfctl,
				   "formats dec and hex are for 64-bit IDs, but stream %.40s holds "
				   "%s: take text, bin or json",
				   sf_client_stream(client), sf_format_name(format));
	batch.format = format;
	batch.is_ordered = run->request->is_ordered;
	return print_all(run, &batch);
}

int sfctl_cmd_next(struct sfctl *sfctl, int argc, char **argv)
{
	struct request request = {
		.count = 1, .wait = SF_WAIT_SLEEP, .timeout_ns = TIMEOUT_NS_DEFAULT};
	struct sfctl_client client;
	struct run run;
	int status = options_read(sfctl, argc, argv, &request);

	if (status != SFCTL_GO_ON)
		return status;
	status = sfctl_client_open(sfctl, request.wait, request.timeout_ns, &client);
	if (status != SFCTL_OK)
		return status;
	run = (struct run){.sfctl = sfctl, .request = &request, .cursor = client.cursor};
	status = take_all(&run, client.client);
	sfctl_client_close(&client);
	return status;
}
