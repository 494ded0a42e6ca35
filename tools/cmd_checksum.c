/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl checksum: makes and verifies ids that people read and type. Never asks sfd. Main thread.
 */
#include "tools/layout_option.h"
#include "tools/number.h"
#include "tools/words.h"

#include <sftext.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MAX 1000000

static const char help[] =
	"Usage: sfctl checksum new [OPTION]...\n"
	"       sfctl checksum verify [OPTION]... [ID]...\n"
	"\n"
	"Makes or verifies random ids for people to read and type: Crockford's Base32,\n"
	"whose last character is a check symbol. A single wrong character and a swap of\n"
	"two neighbours are always found.\n"
	"\n"
	"new prints ids, one a line, in the default shape XXXX-XXXX-XXXX-X:\n"
	"  -n, --count N     how many, 1 to 1000000 (default: 1)\n"
	"  --length N        random characters, 1 to 1024 (default: 12)\n"
	"  --group-size N    characters of a group, 1 to 1025 (default: 4)\n"
	"\n"
	"verify prints yes or no for each id, in order; without arguments, each line of\n"
	"stdin is an id. The exit status is 0 when all are valid, else 1. No text is an\n"
	"error; either case, O for 0 and I or L for 1 are fine.\n"
	"\n"
	"  --sep TEXT        what stands between groups, up to 8 characters, no digit,\n"
	"                    letter or check symbol; may be empty (default: -)\n" //
	SFCTL_JSON_HELP SFCTL_HELP_HELP "\n"
	"The random bits come from the kernel. Twelve characters hold 60 of them: enough\n"
	"for a voucher that a server checks, too few for a secret.\n"
	"\n"
	"Examples:\n"
	"  sfctl checksum new -n 3\n"
	"  sfctl checksum new --length 8 --group-size 3 --sep .\n"
	"  sfctl checksum verify --json < ids.txt\n";

struct request {
	uint64_t count;
	struct sf_checksum_options shape;
};

static int read_number(const struct sfctl *sfctl, const char *what, uint64_t max,
		       uint64_t *ret_number)
{
	if (sfctl_number_parse_range(optarg, 1, max, ret_number) < 0)
		return sfctl_usage(sfctl, "%s %.60s is not a number from 1 to %llu", what, optarg,
				   (unsigned long long)max);
	return SFCTL_GO_ON;
}

enum {
	OPT_LENGTH = 2,
	OPT_GROUP_SIZE,
	OPT_SEP,
};

static int read_option(struct sfctl *sfctl, int option, char **argv, struct request *request)
{
	uint64_t number = 0;
	int status;

	switch (option) {
	case 'n':
		return read_number(sfctl, "count", COUNT_MAX, &request->count);
	case OPT_LENGTH:
		status = read_number(sfctl, "length", SF_CHECKSUM_LENGTH_MAX, &number);
		request->shape.length = (uint32_t)number;
		return status;
	case OPT_GROUP_SIZE:
		status = read_number(sfctl, "group size", SF_CHECKSUM_LENGTH_MAX + 1, &number);
		request->shape.group_size = (uint32_t)number;
		return status;
	case OPT_SEP:
		request->shape.sep = optarg;
		return SFCTL_GO_ON;
	default:
		return sfctl_option(sfctl, option, argv, help);
	}
}

static int options_read_new(struct sfctl *sfctl, int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{"count", required_argument, NULL, 'n'},
		{"length", required_argument, NULL, OPT_LENGTH},
		{"group-size", required_argument, NULL, OPT_GROUP_SIZE},
		{"sep", required_argument, NULL, OPT_SEP},
		SFCTL_GLOBAL_OPTIONS,
	};
	int status = SFCTL_GO_ON;
	int option;

	while (status == SFCTL_GO_ON && (option = sfctl_getopt(argc, argv, ":hn:", options)) != -1)
		status = read_option(sfctl, option, argv, request);
	if (status == SFCTL_GO_ON && optind < argc)
		return sfctl_usage(sfctl, "\"%.60s\" is one argument too many", argv[optind]);
	return status;
}

static int run_new(struct sfctl *sfctl, int argc, char **argv)
{
	/* Every character a group of its own, and the check symbol. */
	char text[(SF_CHECKSUM_LENGTH_MAX + 1) * (SF_CHECKSUM_SEP_MAX + 1) + 1];
	struct request request = {.count = 1, .shape.size = sizeof(request.shape)};
	struct sf_why why;
	int status = options_read_new(sfctl, argc, argv, &request);

	if (status != SFCTL_GO_ON)
		return status;
	for (uint64_t i = 0; i < request.count && ferror(stdout) == 0; i++) {
		/* Only the separator can be wrong: the rest was checked when it was read. */
		int length = sf_checksum_new(&request.shape, text, sizeof(text), &why);

		if (length < 0)
			return i > 0 ? sfctl_fail(sfctl, "%s", why.text)
				     : sfctl_usage(sfctl, "%s", why.text);
		if (sfctl->json)
			printf("%s\n\"%s\"", i == 0 ? "[" : ",", text);
		else
			printf("%s\n", text);
	}
	if (sfctl->json)
		(void)fputs("\n]\n", stdout);
	return SFCTL_OK;
}

struct verifier {
	const struct sfctl *sfctl;
	const char *sep;
	bool has_printed;
	int status;
};

/** What is no UTF-8 is no JSON either, and comes as null. */
static json_t *finding(const char *word, size_t length, bool is_valid)
{
	json_t *id = json_stringn(word, length);

	return json_pack("{s:o, s:b}", "id", id ? id : json_null(), "valid", is_valid);
}

static void verify(void *data, const char *word, size_t length)
{
	struct verifier *verifier = data;
	bool is_valid = sf_checksum_verify(word, length, verifier->sep) != 0;

	if (!is_valid)
		verifier->status = SFCTL_FAILED;
	if (!verifier->sfctl->json) {
		(void)fputs(is_valid ? "yes\n" : "no\n", stdout);
		return;
	}
	(void)fputs(verifier->has_printed ? "," : "[\n", stdout);
	verifier->has_printed = true;
	if (sfctl_json_print(verifier->sfctl, finding(word, length, is_valid), JSON_COMPACT) !=
	    SFCTL_OK)
		verifier->status = SFCTL_FAILED;
}

static int run_verify(struct sfctl *sfctl, int argc, char **argv)
{
	static const struct option options[] = {
		{"sep", required_argument, NULL, OPT_SEP},
		SFCTL_GLOBAL_OPTIONS,
	};
	struct verifier verifier = {.sfctl = sfctl};
	struct sfctl_words words;
	int status = sfctl_words_init(&words, sfctl, argc, argv);
	int option;

	while (status == SFCTL_GO_ON && (option = sfctl_words_getopt(&words, options)) != -1) {
		if (option == OPT_SEP)
			verifier.sep = optarg;
		else
			status = sfctl_option(sfctl, option, argv, help);
	}
	if (status != SFCTL_GO_ON)
		goto out;
	status = sfctl_words_each(&words, sfctl, SFCTL_WORDS_LINES, verify, &verifier);
	if (sfctl->json)
		(void)fputs(verifier.has_printed ? "]\n" : "[]\n", stdout);
	if (status == SFCTL_OK)
		status = verifier.status;
out:
	sfctl_words_deinit(&words);
	return status;
}

int sfctl_cmd_checksum(struct sfctl *sfctl, int argc, char **argv)
{
	const char *action = argc > 1 ? argv[1] : "";

	/* The action takes the place of the subcommand's name. */
	if (strcmp(action, "new") == 0)
		return run_new(sfctl, argc - 1, argv + 1);
	if (strcmp(action, "verify") == 0)
		return run_verify(sfctl, argc - 1, argv + 1);
	if (strcmp(action, "--help") == 0 || strcmp(action, "-h") == 0) {
		(void)fputs(help, stdout);
		return SFCTL_OK;
	}
	return sfctl_usage(sfctl, "say new or verify first");
}
