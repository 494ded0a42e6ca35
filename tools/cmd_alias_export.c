/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl alias export: all pairs, as of one moment, in the order of their IDs. Main thread.
 */
#include "tools/alias_record.h"
#include "tools/alias_store.h"
#include "tools/cmd_alias.h"

#include <errno.h>
#include <string.h>

static const char help[] =
	"Usage: sfctl alias export [OPTION]...\n"
	"\n"
	"Writes all pairs of a store to stdout, in the order of their IDs, as they are at\n"
	"one moment. An import of the output into an empty store makes the same pairs. It\n"
	"has neither the layout nor the machine id of the store: name them there.\n"
	"\n"
	"  --format ndjson   {\"key\":\"...\",\"id\":\"...\"} a line; default\n"
	"  --format csv      key,id with a header line\n" //
	SFCTL_ALIAS_STORE_HELP SFCTL_GLOBAL_HELP "\n"
	"UUIDs are written in lower case.\n"
	"\n"
	"Examples:\n"
	"  sfctl alias export > aliases.ndjson\n"
	"  sfctl alias export --format csv | gzip > aliases.csv.gz\n";

static int options_read(struct sfctl *sfctl, int argc, char **argv, struct sfctl_alias_store *store,
			enum sfctl_alias_format *ret_format)
{
	enum {
		OPT_FORMAT = 1
	};
	static const struct option options[] = {
		{"format", required_argument, NULL, OPT_FORMAT},
		SFCTL_ALIAS_STORE_OPTION,
		SFCTL_GLOBAL_OPTIONS,
	};
	int status = SFCTL_GO_ON;
	int option;

	while (status == SFCTL_GO_ON && (option = sfctl_getopt(argc, argv, ":h", options)) != -1) {
		if (option != OPT_FORMAT)
			status = sfctl_alias_store_option(store, sfctl, option, argv, help);
		else if (strcmp(optarg, "csv") == 0)
			*ret_format = SFCTL_ALIAS_CSV;
		else if (strcmp(optarg, "ndjson") == 0)
			*ret_format = SFCTL_ALIAS_NDJSON;
		else
			status =
				sfctl_usage(sfctl, "format \"%.60s\" is not ndjson or csv", optarg);
	}
	if (status == SFCTL_GO_ON && optind < argc)
		return sfctl_usage(sfctl, "\"%.60s\" is one argument too many", argv[optind]);
	return status;
}

static int write_pair(void *data, const char *key, size_t key_length, uint64_t id)
{
	const enum sfctl_alias_format *format = data;
	char pair[SFCTL_ALIAS_PAIR_MAX];
	size_t length = sfctl_alias_write(*format, key, key_length, id, pair);

	/* Why it failed is found, and told, in main(). */
	return fwrite(pair, 1, length, stdout) == length ? 0 : 1;
}

int sfctl_alias_export(struct sfctl *sfctl, int argc, char **argv)
{
	enum sfctl_alias_format format = SFCTL_ALIAS_NDJSON;
	struct sfctl_alias_store store = {.alias = NULL};
	struct sf_why why;
	int status = options_read(sfctl, argc, argv, &store, &format);
	int r;

	if (status != SFCTL_GO_ON)
		return status;
	status = sfctl_alias_store_open(&store, sfctl, SF_ALIAS_READ_ONLY);
	if (status == SFCTL_OK) {
		(void)fputs(sfctl_alias_header(format), stdout);
		r = sf_alias_each(store.alias, write_pair, &format, &why);
		if (r < 0)
			status = sfctl_fail(sfctl, "%s", why.text);
		else if (r > 0)
			status = SFCTL_FAILED;
	}
	sfctl_alias_store_close(&store);
	return status;
}
