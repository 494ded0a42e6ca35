/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl decode: takes IDs apart. A word that is no ID is reported and the rest goes on. Main
 * thread.
 */
#include "tools/layout_option.h"
#include "tools/number.h"
#include "tools/plausible.h"
#include "tools/sfctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"Usage: sfctl decode [OPTION]... [ID]...\n"
	"\n"
	"Takes IDs apart into time, node and sequence. Without arguments, IDs are read\n"
	"from stdin, separated by blanks or newlines.\n"
	"\n"
	"  --layout LAYOUT   preset (twitter, snowflakex, discord, coola, instagram,\n"
	"                    sonyflake, baidu) or notation; default: ask sfd\n"
	"  --hex             IDs are hexadecimal, at most 16 digits, \"0x\" allowed\n" //
	SFCTL_GLOBAL_HELP "\n"
	"An ID is plain decimal digits up to 18446744073709551615. A word that is not, or\n"
	"does not fit the layout, is reported on stderr; the rest is decoded and the exit\n"
	"status is 1. A time in the future or within a day of the layout's epoch gives a\n"
	"warning, since the ID was probably made with another layout.\n"
	"\n"
	"Examples:\n"
	"  sfctl decode --layout twitter 1593572310593806338\n"
	"  sfctl decode --layout \"t41 n10 s12 epoch=0\" --json 7202794905796608000\n"
	"  sfctl next -n 3 | sfctl decode\n";

struct decoder {
	const struct sfctl *sfctl;
	const char *layout_text;
	struct sf_layout layout;
	int64_t now_ms;
	bool is_hex;
	bool has_printed;
	int status;
};

/** The words of the command line, in order. */
struct words {
	char **word;
	size_t count;
};

static void words_add(struct words *words, char *word)
{
	/* getopt looks at "-12" once a letter; it is one word all the same */
	if (words->count == 0 || words->word[words->count - 1] != word)
		words->word[words->count++] = word;
}

/** The word that getopt is in the middle of or has just ended. */
static char *word_at_hand(char **argv, int before)
{
	return argv[before > 0 ? before : 1];
}

static int options_read(struct decoder *decoder, struct sfctl *sfctl, int argc, char **argv,
			struct words *words)
{
	enum {
		OPT_LAYOUT = 2,
		OPT_HEX
	};
	static const struct option options[] = {
		{"layout", required_argument, NULL, OPT_LAYOUT},
		{"hex", no_argument, NULL, OPT_HEX},
		SFCTL_GLOBAL_OPTIONS,
	};
	int status = SFCTL_GO_ON;

	while (status == SFCTL_GO_ON) {
		int before = optind;
		/* "-": words come in order as option 1, so that "-1" is seen where it stands */
		int option = sfctl_getopt(argc, argv, "-:h", options);

		if (option == -1)
			break;
		if (option == 1)
			words_add(words, optarg);
		else if (option == '?' && optopt >= '0' && optopt <= '9')
			words_add(words, word_at_hand(argv, before));
		else if (option == OPT_LAYOUT)
			decoder->layout_text = optarg;
		else if (option == OPT_HEX)
			decoder->is_hex = true;
		else
			status = sfctl_option(sfctl, option, argv, help);
	}
	for (int i = optind; status == SFCTL_GO_ON && i < argc; i++)
		words_add(words, argv[i]);
	return status;
}

static void print_table_row(struct decoder *decoder, uint64_t id, const struct sf_parts *parts)
{
	bool is_split = decoder->layout.worker_bits + decoder->layout.process_bits > 0;
	char time[SFCTL_RFC3339_MAX];
	char node[32];

	if (!decoder->has_printed)
		printf("%-20s %-24s %13s %11s %8s\n", "id", "time", "unix_ms",
		       is_split ? "worker/proc" : "node", "sequence");
	sfctl_rfc3339_format(parts->unix_ms, time);
	(void)snprintf(node, sizeof(node), is_split ? "%u/%u" : "%u",
		       is_split ? parts->worker : parts->node, parts->process);
	printf("%-20llu %-24s %13lld %11s %8u\n", (unsigned long long)id, time,
	       (long long)parts->unix_ms, node, parts->sequence);
}

static void print_json_row(struct decoder *decoder, uint64_t id, const struct sf_parts *parts,
			   const char *warning)
{
	json_t *object = sfctl_id_json(&decoder->layout, id, parts);

	if (warning && json_object_set_new(object, "warning", json_string(warning)) < 0) {
		json_decref(object);
		object = NULL;
	}
	(void)fputs(decoder->has_printed ? "," : "[\n", stdout);
	if (sfctl_json_print(decoder->sfctl, object, JSON_COMPACT) != SFCTL_OK)
		decoder->status = SFCTL_FAILED;
}

static void refuse(struct decoder *decoder, const char *word, size_t length, const char *reason)
{
	decoder->status =
		sfctl_fail(decoder->sfctl, "\"%.*s\"%s %s", (int)(length < 60 ? length : 60), word,
			   length > 60 ? "..." : "", reason);
}

static void decode(struct decoder *decoder, const char *word, size_t length)
{
	char warning[SFCTL_PLAUSIBLE_MAX];
	bool is_odd;
	struct sf_parts parts;
	struct sf_why why;
	uint64_t id;
	int error = decoder->is_hex ? sfctl_number_parse_hex(word, length, &id)
				    : sfctl_number_parse(word, length, &id);

	if (error == -ERANGE) {
		refuse(decoder, word, length, "is larger than 64 bits can hold");
		return;
	}
	if (error < 0) {
		refuse(decoder, word, length,
		       decoder->is_hex ? "is not an ID: hexadecimal digits only"
				       : "is not an ID: decimal digits only");
		return;
	}
	if (sf_decompose(&decoder->layout, id, &parts, &why) < 0) {
		decoder->status = sfctl_fail(decoder->sfctl, "%s", why.text);
		return;
	}
	is_odd = sfctl_plausible_warning(&decoder->layout, id, decoder->now_ms, warning);
	if (is_odd)
		(void)sfctl_fail(decoder->sfctl, "warning: %llu: %s", (unsigned long long)id,
				 warning);
	if (decoder->sfctl->json)
		print_json_row(decoder, id, &parts, is_odd ? warning : NULL);
	else
		print_table_row(decoder, id, &parts);
	decoder->has_printed = true;
}

/** Decodes what stdin holds, line by line. */
static void decode_stdin(struct decoder *decoder)
{
	static const char blanks[] = " \t\r\n";
	char *line = NULL;
	size_t size = 0;
	ssize_t length;

	while ((length = getline(&line, &size, stdin)) >= 0 && ferror(stdout) == 0) {
		char *end = line + length;

		/* A NUL inside the line ends no word: it makes the word no ID. */
		for (char *at = line; at < end;) {
			char *word = at;

			while (at < end && (*at == '\0' || !strchr(blanks, *at)))
				at++;
			if (at > word)
				decode(decoder, word, (size_t)(at - word));
			else
				at++;
		}
	}
	if (ferror(stdin) != 0)
		decoder->status =
			sfctl_fail(decoder->sfctl, "cannot read stdin: %s", strerrordesc_np(errno));
	free(line);
}

int sfctl_cmd_decode(struct sfctl *sfctl, int argc, char **argv)
{
	struct decoder decoder = {.sfctl = sfctl, .now_ms = sfctl_now_ms()};
	struct words words = {.word = calloc((size_t)argc, sizeof(char *))};
	int status;

	if (!words.word)
		return sfctl_fail(sfctl, "out of memory");
	status = options_read(&decoder, sfctl, argc, argv, &words);
	if (status == SFCTL_GO_ON)
		status = sfctl_layout(sfctl, decoder.layout_text, &decoder.layout);
	if (status != SFCTL_GO_ON)
		goto out;
	for (size_t i = 0; i < words.count; i++)
		decode(&decoder, words.word[i], strlen(words.word[i]));
	if (words.count == 0)
		decode_stdin(&decoder);
	if (sfctl->json)
		(void)fputs(decoder.has_printed ? "]\n" : "[]\n", stdout);
	status = decoder.status;
out:
	free(words.word);
	return status;
}
