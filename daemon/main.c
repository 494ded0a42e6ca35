/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfd: parses the command line, loads the configuration, runs the server.
 */
#include "daemon/config.h"
#include "daemon/handover.h"
#include "daemon/log.h"
#include "daemon/reload.h"
#include "daemon/server.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_USAGE 2

static const char *const help_text =
	"usage: sfd [options]\n"
	"\n"
	"Owns the tick engine of one or more ID streams and hands their rings to clients.\n"
	"Runs in the foreground and logs to stderr; SIGTERM or SIGINT stops it cleanly.\n"
	"\n"
	"  -c, --config FILE       read streams and settings from FILE\n"
	"      --runtime-dir DIR   socket and this boot's record; /run/sfd for root, else\n"
	"                          $XDG_RUNTIME_DIR/sfd\n"
	"      --state-dir DIR     the marks; /var/lib/sfd for root, else\n"
	"                          $XDG_STATE_HOME/sfd or ~/.local/state/sfd\n"
	"      --machine-id N|N-M  machine id or ids of the stream `default` (there is no\n"
	"                          default value: every host needs its own)\n"
	"      --layout L          its layout: a preset (twitter, which is the default,\n"
	"                          snowflakex, discord, coola, instagram, sonyflake,\n"
	"                          baidu) or fields from the high bit down, for example\n"
	"                          't41 n10 s12 epoch=0 tick=1ms'\n"
	"      --format F          its format: snowflake (the default), ulid, uuid7,\n"
	"                          objectid or hound; only snowflake takes a layout\n"
	"      --log-level L       error, warning, info (the default) or debug\n"
	"      --check-config      check the configuration and exit\n"
	"      --version           print the version and exit\n"
	"  -h, --help              print this and exit\n"
	"\n"
	"Exit codes: 0 clean stop, 1 failure, 2 wrong usage or configuration.\n"
	"\n"
	"Examples:\n"
	"  sfd --machine-id 1\n"
	"  sfd --machine-id 8-11 --layout discord --runtime-dir run --state-dir state\n"
	"  sfd --format ulid\n"
	"  sfd -c /etc/sfd/sfd.conf --check-config\n";

enum option_code {
	OPTION_RUNTIME_DIR = 256,
	OPTION_STATE_DIR,
	OPTION_MACHINE_ID,
	OPTION_FORMAT,
	OPTION_LAYOUT,
	OPTION_LOG_LEVEL,
	OPTION_CHECK_CONFIG,
	OPTION_VERSION,
	OPTION_HELP,
};

static const struct option options[] = {
	{"config", required_argument, NULL, 'c'},
	{"runtime-dir", required_argument, NULL, OPTION_RUNTIME_DIR},
	{"state-dir", required_argument, NULL, OPTION_STATE_DIR},
	{"machine-id", required_argument, NULL, OPTION_MACHINE_ID},
	{"format", required_argument, NULL, OPTION_FORMAT},
	{"layout", required_argument, NULL, OPTION_LAYOUT},
	{"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
	{"check-config", no_argument, NULL, OPTION_CHECK_CONFIG},
	{"version", no_argument, NULL, OPTION_VERSION},
	{"help", no_argument, NULL, OPTION_HELP},
	{0},
};

/** What main does after the command line was read. */
enum action {
	ACTION_RUN,
	ACTION_DONE,
	ACTION_FAILED,
	ACTION_USAGE,
};

static enum action print(const char *text)
{
	if (fputs(text, stdout) != EOF && fflush(stdout) != EOF)
		return ACTION_DONE;
	(void)fprintf(stderr, "sfd: cannot write to stdout: %s\n", strerrordesc_np(errno));
	return ACTION_FAILED;
}

static enum action take_option(int code, struct sfd_flags *flags)
{
	switch (code) {
	case 'c':
		flags->config_file = optarg;
		break;
	case OPTION_RUNTIME_DIR:
		flags->runtime_dir = optarg;
		break;
	case OPTION_STATE_DIR:
		flags->state_dir = optarg;
		break;
	case OPTION_MACHINE_ID:
		flags->machine_id = optarg;
		break;
	case OPTION_FORMAT:
		flags->format = optarg;
		break;
	case OPTION_LAYOUT:
		flags->layout = optarg;
		break;
	case OPTION_LOG_LEVEL:
		flags->log_level = optarg;
		break;
	case OPTION_CHECK_CONFIG:
		flags->check_config = true;
		break;
	case OPTION_VERSION:
		return print("sfd " SF_VERSION "\n");
	case 'h':
	case OPTION_HELP:
		return print(help_text);
	default:
		return ACTION_USAGE;
	}
	return ACTION_RUN;
}

static enum action parse(int argc, char **argv, struct sfd_flags *flags)
{
	int code;

	/* Before other threads exist. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while ((code = getopt_long(argc, argv, "c:h", options, NULL)) != -1) {
		enum action action = take_option(code, flags);

		if (action != ACTION_RUN)
			return action;
	}
	if (optind < argc) {
		(void)fprintf(stderr, "sfd: unexpected argument %s\n", argv[optind]);
		return ACTION_USAGE;
	}
	return ACTION_RUN;
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

/** Reads the configuration as the program before had it. */
static int load_kept(const struct sfd_flags *flags, int fd, struct sfd_config *config)
{
	struct sfd_flags kept = *flags;
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	kept.kept_file = path;
	return sfd_config_load(&kept, config);
}

/** Whether the program before may become this one with another configuration. */
static int compare(const struct sfd_flags *flags, int fd, const struct sfd_config *config)
{
	struct sfd_config before;
	struct sf_why why;
	int error = load_kept(flags, fd, &before);

	if (error < 0)
		return error;
	error = sfd_reload_check(&before, config, &why);
	sfd_config_deinit(&before);
	if (error < 0)
		sfd_log(SFD_LOG_ERROR, "%s", why.text);
	return error;
}

/** The configuration as it is now; of the program that is this one again, as that had it. */
static int load(const struct sfd_flags *flags, struct sfd_handover *handover,
		struct sfd_config *config)
{
	int fd = sfd_handover_find(handover, SFD_HANDOVER_CONFIG);
	int error;

	if (handover->is_return && fd >= 0)
		return load_kept(flags, fd, config);
	error = sfd_config_load(flags, config);
	if (error < 0 || fd < 0)
		return error;
	error = compare(flags, fd, config);
	if (error < 0)
		sfd_config_deinit(config);
	return error;
}

static int run(struct sfd_flags *flags, char *const *argv)
{
	struct sfd_handover handover;
	struct sfd_config config;
	int error;

	sfd_handover_receive(&handover);
	if (load(flags, &handover, &config) < 0) {
		sfd_handover_return(&handover, argv);
		sfd_handover_finish(&handover);
		return EXIT_USAGE;
	}
	sfd_log_init(config.log_level);
	error = sfd_server_run(&config, flags, argv, &handover);
	sfd_config_deinit(&config);
	return error < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/** An answer, and no line of the log: said at every log level. */
static int check(const struct sfd_flags *flags)
{
	struct sfd_config config;

	if (sfd_config_load(flags, &config) < 0)
		return EXIT_USAGE;
	(void)fprintf(stderr, "sfd: " SFD_CONFIG_VALID ": %zu stream%s\n", config.stream_count,
		      config.stream_count == 1 ? "" : "s");
	sfd_config_deinit(&config);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct sfd_flags flags = {0};

	hold_standard_descriptors();
	switch (parse(argc, argv, &flags)) {
	case ACTION_DONE:
		return EXIT_SUCCESS;
	case ACTION_FAILED:
		return EXIT_FAILURE;
	case ACTION_USAGE:
		(void)fputs("sfd: try sfd --help\n", stderr);
		return EXIT_USAGE;
	case ACTION_RUN:
		break;
	}
	sfd_log_init(SFD_LOG_INFO);
	return flags.check_config ? check(&flags) : run(&flags, argv);
}
