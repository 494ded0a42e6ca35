/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl: choice of the subcommand, and the last look at stdout. Does no work of its own.
 */
#include "tools/sfctl.h"

#include <errno.h>
#include <fcntl.h>
#include <sfclient.h>
#include <string.h>
#include <unistd.h>

struct command {
	const char *name;
	int (*run)(struct sfctl *sfctl, int argc, char **argv);
	unsigned uses; /* of the global options: enum sfctl_use */
	const char *summary;
};

static const struct command commands[] = {
	{"next", sfctl_cmd_next, SFCTL_USES_ALL, "take IDs and print them"},
	{"decode", sfctl_cmd_decode, SFCTL_USES_ALL, "take IDs apart: time, node, sequence"},
	{"encode", sfctl_cmd_encode, SFCTL_USES_ALL, "make the ID of a time, node and sequence"},
	{"convert", sfctl_cmd_convert, SFCTL_USES_JSON,
	 "move IDs between decimal, hex, base32, bytes and others"},
	{"range", sfctl_cmd_range, SFCTL_USES_ALL,
	 "smallest and largest ID of an interval, for queries"},
	{"sort", sfctl_cmd_sort, 0, "sort lines by the decimal IDs that they begin with"},
	{"shard", sfctl_cmd_shard, SFCTL_USES_ALL, "which of n shards IDs belong to"},
	{"checksum", sfctl_cmd_checksum, SFCTL_USES_JSON,
	 "make and verify ids that people read and type"},
	{"content-id", sfctl_cmd_content_id, SFCTL_USES_JSON,
	 "make the ID that a file has by its content"},
	{"stamp", sfctl_cmd_stamp, SFCTL_USES_SFD,
	 "add an ID to each record of a stream of records"},
	{"alias", sfctl_cmd_alias, SFCTL_USES_ALL, "lasting pairs of keys and IDs"},
	{"mark", sfctl_cmd_mark, SFCTL_USES_STREAM | SFCTL_USES_JSON,
	 "show marks, and set one to move a machine id to another host"},
	{"stats", sfctl_cmd_stats, SFCTL_USES_ALL,
	 "show what the daemon and its streams are doing"},
	{"exporter", sfctl_cmd_exporter, SFCTL_USES_SOCKET, "serve the statistics to Prometheus"},
	{"top", sfctl_cmd_top, SFCTL_USES_SFD,
	 "the same on a terminal, live: streams, and clients by rate"},
	{"upgrade", sfctl_cmd_upgrade, SFCTL_USES_SOCKET | SFCTL_USES_JSON,
	 "have the running sfd become another program"},
	{"trace", sfctl_cmd_trace, SFCTL_USES_ALL,
	 "watch fetches and sfd itself, by the nanosecond"},
	{"doctor", sfctl_cmd_doctor, SFCTL_USES_ALL,
	 "say whether all is well, and what helps if not"},
	{"bench", sfctl_cmd_bench, SFCTL_USES_ALL,
	 "measure how fast IDs can be had, and check them"},
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void help_print(void)
{
	printf("Usage: sfctl [OPTION]... COMMAND [ARGUMENT]...\n"
	       "\n"
	       "Takes IDs from sfd, explains them, and shows what sfd is doing.\n"
	       "\n"
	       "Commands (each has its own --help):\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].summary);
	printf("\n"
	       "Options, before or after the command, where they are of use to "
	       "it:\n" SFCTL_GLOBAL_HELP
	       "  --version         print the version (before the command only)\n"
	       "\n"
	       "Exit status: 0 success, 1 failure, 2 usage error; trace also has 3.\n"
	       "\n"
	       "Examples:\n"
	       "  sfctl next -n 3\n"
	       "  sfctl next | sfctl decode\n"
	       "  sfctl --stream orders stats --watch 2\n");
}

/** Reads what stands before the subcommand. @return SFCTL_GO_ON or an exit code */
static int options_read(struct sfctl *sfctl, int argc, char **argv)
{
	enum {
		OPT_VERSION = 1
	};
	static const struct option options[] = {
		{"version", no_argument, NULL, OPT_VERSION},
		SFCTL_GLOBAL_OPTIONS,
	};
	int option;
	int status;

	while ((option = sfctl_getopt(argc, argv, "+:h", options)) != -1) {
		if (option == OPT_VERSION) {
			printf("sfctl %s\n", sf_version());
			return SFCTL_OK;
		}
		if (option == 'h' || option == SFCTL_OPT_HELP) {
			help_print();
			return SFCTL_OK;
		}
		status = sfctl_option(sfctl, option, argv, "");
		if (status != SFCTL_GO_ON)
			return status;
	}
	if (optind == argc)
		return sfctl_usage(sfctl, "no command given");
	return SFCTL_GO_ON;
}

static int run(int argc, char **argv)
{
	struct sfctl sfctl = {.uses = SFCTL_USES_ALL};
	const char *name;
	int status = options_read(&sfctl, argc, argv);

	if (status != SFCTL_GO_ON)
		return status;
	name = argv[optind];
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		int first = optind;

		if (strcmp(commands[i].name, name) != 0)
			continue;
		sfctl.command = commands[i].name;
		sfctl.uses = commands[i].uses;
		status = sfctl_check_use(&sfctl);
		if (status != SFCTL_GO_ON)
			return status;
		optind = 0; /* the subcommand parses a line of its own */
		return commands[i].run(&sfctl, argc - first, argv + first);
	}
	return sfctl_usage(&sfctl, "there is no command \"%.60s\"", name);
}

/**
 * A descriptor that was closed before the start would be given to the next file or socket, and
 * written to as standard output. Opened the wrong way round, its uses fail as they should.
 */
static void hold_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
	struct sfctl sfctl = {0};
	int status;

	hold_standard_descriptors();
	status = run(argc, argv);

	/* A full disk may show only now: what was not written was not done. */
	errno = 0;
	if (fflush(stdout) != 0 || ferror(stdout) != 0) {
		(void)sfctl_fail(&sfctl, "cannot write to stdout: %s",
				 errno ? strerrordesc_np(errno) : "an earlier write failed");
		return status ? status : SFCTL_FAILED;
	}
	return status;
}
