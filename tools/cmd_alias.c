/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl alias: choice of the action. Does no work of its own. Main thread.
 */
#include "tools/cmd_alias.h"

#include <string.h>

static const char help[] =
	"Usage: sfctl alias ACTION [OPTION]... [ARGUMENT]...\n"
	"\n"
	"Keeps pairs of a native key (a UUID or any string up to 255 bytes) and an ID:\n"
	"made once, the same ever after, for all processes of the host.\n"
	"\n"
	"Actions (each has its own --help):\n"
	"  get               the ID of a key, made at first sight\n"
	"  reverse           the key of an ID\n"
	"  import            the same as get for many keys, from a file\n"
	"  export            all pairs\n"
	"\n" SFCTL_GLOBAL_HELP "\n"
	"Examples:\n"
	"  sfctl alias get 7d444840-9dc0-11d1-b245-5ffdce74fad2\n"
	"  sfctl alias reverse 1593572310593806338\n"
	"  sfctl alias import users.ndjson\n"
	"  sfctl alias export > aliases.ndjson\n";

struct action {
	const char *name;
	const char *command; /* as messages call it */
	int (*run)(struct sfctl *sfctl, int argc, char **argv);
};

static const struct action actions[] = {
	{"get", "alias get", sfctl_alias_get},
	{"reverse", "alias reverse", sfctl_alias_reverse},
	{"import", "alias import", sfctl_alias_import},
	{"export", "alias export", sfctl_alias_export},
};

int sfctl_cmd_alias(struct sfctl *sfctl, int argc, char **argv)
{
	static const struct option options[] = {SFCTL_GLOBAL_OPTIONS};
	int option;

	while ((option = sfctl_getopt(argc, argv, "+:h", options)) != -1) {
		int status = sfctl_option(sfctl, option, argv, help);

		if (status != SFCTL_GO_ON)
			return status;
	}
	if (optind == argc)
		return sfctl_usage(sfctl, "no action given");
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		int first = optind;

		if (strcmp(actions[i].name, argv[first]) != 0)
			continue;
		sfctl->command = actions[i].command;
		optind = 0; /* the action parses a line of its own */
		return actions[i].run(sfctl, argc - first, argv + first);
	}
	return sfctl_usage(sfctl, "there is no action \"%.60s\"", argv[optind]);
}
