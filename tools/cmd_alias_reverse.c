/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl alias reverse: keys of IDs from the command line or stdin. An ID without a key is reported,
 * holds its place in the output, and the rest goes on. Main thread.
 */
#include "tools/alias_record.h"
#include "tools/alias_store.h"
#include "tools/cmd_alias.h"
#include "tools/number.h"
#include "tools/words.h"

#include <errno.h>
#include <string.h>

static const char help[] =
	"Usage: sfctl alias reverse [OPTION]... [ID]...\n"
	"\n"
	"Prints the keys of IDs, one a line, in order. Without arguments, IDs are read\n"
	"from stdin, separated by blanks or newlines.\n"
	"\n" SFCTL_ALIAS_STORE_HELP SFCTL_GLOBAL_HELP "\n"
	"UUIDs are printed in lower case. For an ID that is no alias an empty line is\n"
	"printed (no key is empty; in JSON null), and the exit status is 1.\n"
	"\n"
	"Examples:\n"
	"  sfctl alias reverse 1593572310593806338\n"
	"  sfctl alias reverse --json < ids\n";

struct reverse {
	const struct sfctl *sfctl;
	struct sfctl_alias_store store;
	bool has_printed;
	int status;
};

/** Prints a key, or that there is none. */
static void print_key(struct reverse *reverse, const char *key, size_t length, uint64_t id)
{
	char pair[SFCTL_ALIAS_PAIR_MAX];

	if (!reverse->sfctl->json) {
		(void)fwrite(key, 1, length, stdout);
		(void)fputc('\n', stdout);
		return;
	}
	(void)fputs(reverse->has_printed ? ",\n" : "[\n", stdout);
	reverse->has_printed = true;
	if (length == 0)
		(void)fputs("null", stdout);
	else
		(void)fwrite(pair, 1,
			     sfctl_alias_write(SFCTL_ALIAS_NDJSON, key, length, id, pair) - 1,
			     stdout);
}

static void look_up(void *data, const char *word, size_t length)
{
	struct reverse *reverse = data;
	char key[SF_ALIAS_KEY_MAX + 1];
	struct sf_why why;
	uint64_t id = 0;
	int r = sfctl_number_parse(word, length, &id);

	if (r < 0)
		SFCTL_WHY(&why, "not decimal digits up to 18446744073709551615");
	else
		r = sf_alias_reverse(reverse->store.alias, id, key, &why);
	print_key(reverse, key, r < 0 ? 0 : (size_t)r, id);
	if (r < 0)
		reverse->status = sfctl_word_fail(reverse->sfctl, word, length, why.text);
}

static int run(struct reverse *reverse, const struct sfctl_words *words)
{
	const struct sfctl *sfctl = reverse->sfctl;
	int status = sfctl_alias_store_open(&reverse->store, sfctl, SF_ALIAS_READ_ONLY);

	if (status != SFCTL_OK)
		return status;
	status = sfctl_words_each(words, sfctl, SFCTL_WORDS_BLANKS, look_up, reverse);
	/* Whatever happened, what was printed ends. */
	if (sfctl->json)
		(void)fputs(reverse->has_printed ? "\n]\n" : "[]\n", stdout);
	return status;
}

int sfctl_alias_reverse(struct sfctl *sfctl, int argc, char **argv)
{
	static const struct option options[] = {
		SFCTL_ALIAS_STORE_OPTION,
		SFCTL_GLOBAL_OPTIONS,
	};
	struct reverse reverse = {.sfctl = sfctl};
	struct sfctl_words words;
	int option;
	int status = sfctl_words_init(&words, sfctl, argc, argv);

	while (status == SFCTL_GO_ON && (option = sfctl_words_getopt(&words, options)) != -1)
		status = sfctl_alias_store_option(&reverse.store, sfctl, option, argv, help);
	if (status == SFCTL_GO_ON)
		status = run(&reverse, &words);
	sfctl_alias_store_close(&reverse.store);
	sfctl_words_deinit(&words);
	return status == SFCTL_OK ? reverse.status : status;
}
