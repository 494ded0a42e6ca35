/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl shard: which of n shards an ID belongs to. A word that is no ID is reported and the rest
 * goes on. Main thread.
 */
#include "tools/layout_option.h"
#include "tools/number.h"
#include "tools/words.h"

#include <errno.h>
#include <sfpaging.h>

static const char help[] =
	"Usage: sfctl shard N [OPTION]... [ID]...\n"
	"\n"
	"Prints the number of the shard, 0 to N-1, that each 64-bit ID belongs to, one a\n"
	"line: the ID's tick modulo N, as Discord's gateway has it. Without arguments,\n"
	"decimal IDs are read from stdin, separated by blanks or newlines.\n"
	"\n"
	"  --layout LAYOUT   preset (twitter, snowflakex, discord, coola, instagram,\n"
	"                    sonyflake, baidu) or notation; default: ask sfd\n" //
	SFCTL_GLOBAL_HELP "\n"
	"All IDs of a tick are in one shard, so IDs that are taken together, as by\n"
	"sfctl next -n 100, share one or a few; over time all shards get as many.\n"
	"N is 1 to 4294967295. A word that is no ID, or does not fit the layout, is\n"
	"reported on stderr and makes the exit status 1.\n"
	"\n"
	"Examples:\n"
	"  sfctl shard 16 --layout discord 175928847299117063\n"
	"  for i in 1 2 3 4 5 6 7 8; do sfctl next; done | sfctl shard 4\n";

struct sharder {
	const struct sfctl *sfctl;
	const char *layout_text;
	struct sf_layout layout;
	uint32_t shards;
	bool has_printed;
	int status;
};

static int options_read(struct sharder *sharder, struct sfctl *sfctl, struct sfctl_words *words)
{
	enum {
		OPT_LAYOUT = 2
	};
	static const struct option options[] = {
		{"layout", required_argument, NULL, OPT_LAYOUT},
		SFCTL_GLOBAL_OPTIONS,
	};
	int status = SFCTL_GO_ON;
	uint64_t shards;
	const char *word;
	int option;

	while (status == SFCTL_GO_ON && (option = sfctl_words_getopt(words, options)) != -1) {
		if (option == OPT_LAYOUT)
			sharder->layout_text = optarg;
		else
			status = sfctl_option(sfctl, option, words->argv, help);
	}
	if (status != SFCTL_GO_ON)
		return status;
	word = sfctl_words_shift(words);
	if (!word)
		return sfctl_usage(sfctl, "the number of shards is missing");
	if (sfctl_number_parse_range(word, 1, UINT32_MAX, &shards) < 0)
		return sfctl_usage(sfctl, "number of shards %.60s is not a number from 1 to %u",
				   word, UINT32_MAX);
	sharder->shards = (uint32_t)shards;
	return SFCTL_GO_ON;
}

static void print(struct sharder *sharder, uint64_t id, uint32_t shard)
{
	char decimal[SFCTL_NUMBER_DIGITS + 1];

	if (!sharder->sfctl->json) {
		printf("%u\n", shard);
		return;
	}
	decimal[sfctl_number_format(id, decimal)] = '\0';
	(void)fputs(sharder->has_printed ? "," : "[\n", stdout);
	sharder->has_printed = true;
	if (sfctl_json_print(sharder->sfctl,
			     json_pack("{s:s, s:I}", "id", decimal, "shard", (json_int_t)shard),
			     JSON_COMPACT) != SFCTL_OK)
		sharder->status = SFCTL_FAILED;
}

static void shard_word(void *data, const char *word, size_t length)
{
	struct sharder *sharder = data;
	struct sf_why why;
	uint32_t shard;
	uint64_t id;
	int error = sfctl_number_parse(word, length, &id);

	if (error < 0)
		SFCTL_WHY(&why, "is no 64-bit ID: decimal digits up to 18446744073709551615 only");
	else
		error = sf_shard(&sharder->layout, id, sharder->shards, &shard, &why);
	if (error < 0)
		sharder->status = sfctl_word_fail(sharder->sfctl, word, length, why.text);
	else
		print(sharder, id, shard);
}

int sfctl_cmd_shard(struct sfctl *sfctl, int argc, char **argv)
{
	struct sharder sharder = {.sfctl = sfctl};
	struct sfctl_words words;
	int status = sfctl_words_init(&words, sfctl, argc, argv);

	if (status == SFCTL_GO_ON)
		status = options_read(&sharder, sfctl, &words);
	if (status == SFCTL_GO_ON)
		status = sfctl_layout(sfctl, sharder.layout_text, &sharder.layout);
	if (status != SFCTL_GO_ON)
		goto out;
	status = sfctl_words_each(&words, sfctl, SFCTL_WORDS_BLANKS, shard_word, &sharder);
	if (sfctl->json)
		(void)fputs(sharder.has_printed ? "]\n" : "[]\n", stdout);
	if (status == SFCTL_OK)
		status = sharder.status;
out:
	sfctl_words_deinit(&words);
	return status;
}
