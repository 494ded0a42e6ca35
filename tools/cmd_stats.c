/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl stats: shows what the daemon and its streams are doing, once or again and again. Never
 * attaches, so looking does not change what is seen. Main thread.
 */
#include "tools/layout_option.h"
#include "tools/number.h"
#include "tools/stats.h"

#include <time.h>
#include <unistd.h>

#define WATCH_MAX 86400

static const char help[] =
	"Usage: sfctl stats [OPTION]...\n"
	"\n"
	"Shows the daemon and its streams: all of them, or the one that --stream names.\n"
	"\n"
	"  --watch SECONDS   again every 1 to 86400 seconds, until interrupted\n" //
	SFCTL_SFD_ALL_HELP SFCTL_JSON_HELP SFCTL_HELP_HELP "\n"
	"The text lists at most 16 clients of a stream; --json lists all of them, as\n"
	"\"attached_clients\", and has these integers in \"counters\":\n"
	"\n"
#define SF_COUNTER(name, kind, unit, help) "  " #name " (" unit ")\n      " help "\n"
#include "shm/counters.def"
#undef SF_COUNTER
	"\n"
	"Examples:\n"
	"  sfctl stats\n"
	"  sfctl stats --stream orders\n"
	"  sfctl stats --json | jq '.streams[].counters.rate_1s'\n"
	"  sfctl stats --watch 2\n";

struct request {
	uint64_t watch_seconds; /* 0: once */
};

static int options_read(struct sfctl *sfctl, int argc, char **argv, struct request *request)
{
	enum {
		OPT_WATCH = 1
	};
	static const struct option options[] = {
		{"watch", required_argument, NULL, OPT_WATCH},
		SFCTL_GLOBAL_OPTIONS,
	};
	int status = SFCTL_GO_ON;
	int option;

	while (status == SFCTL_GO_ON && (option = sfctl_getopt(argc, argv, ":h", options)) != -1) {
		if (option != OPT_WATCH)
			status = sfctl_option(sfctl, option, argv, help);
		else if (sfctl_number_parse_range(optarg, 1, WATCH_MAX, &request->watch_seconds) <
			 0)
			return sfctl_usage(sfctl,
					   "interval %.60s is not a number of seconds from "
					   "1 to %d",
					   optarg, WATCH_MAX);
	}
	if (status == SFCTL_GO_ON && optind < argc)
		return sfctl_usage(sfctl, "\"%.60s\" is one argument too many", argv[optind]);
	return status;
}

static int show_once(const struct sfctl *sfctl, int fd, const struct request *request)
{
	struct sfctl_stats stats;
	struct sf_why why;
	int status = SFCTL_OK;

	if (sfctl_stats_init(&stats, fd, sfctl->stream, &why) < 0)
		return sfctl_fail(sfctl, "%s", why.text);
	if (sfctl->json)
		status = sfctl_json_print(sfctl, sfctl_stats_json(&stats),
					  request->watch_seconds ? JSON_COMPACT : JSON_INDENT(2));
	else
		sfctl_stats_print(&stats);
	sfctl_stats_deinit(&stats);
	return status;
}

/** Repeats until the user or an error ends it; a signal ends the process as usual. */
static int watch(const struct sfctl *sfctl, int fd, const struct request *request)
{
	bool is_screen = !sfctl->json && isatty(STDOUT_FILENO) == 1;
	struct timespec next;
	int status;

	(void)clock_gettime(CLOCK_MONOTONIC, &next);
	for (;;) {
		if (is_screen)
			(void)fputs("\033[H\033[J", stdout);
		status = show_once(sfctl, fd, request);
		if (status != SFCTL_OK)
			return status;
		if (!is_screen && !sfctl->json)
			(void)fputc('\n', stdout);
		if (fflush(stdout) != 0)
			return SFCTL_FAILED;
		next.tv_sec += (time_t)request->watch_seconds;
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}

int sfctl_cmd_stats(struct sfctl *sfctl, int argc, char **argv)
{
	struct request request = {0};
	struct sf_why why;
	int status = options_read(sfctl, argc, argv, &request);
	int fd;

	if (status != SFCTL_GO_ON)
		return status;
	if (sfctl_control_open(sfctl, &fd, &why) < 0)
		return sfctl_fail(sfctl, "%s", why.text);
	status =
		request.watch_seconds ? watch(sfctl, fd, &request) : show_once(sfctl, fd, &request);
	(void)sfctl_control_close(fd);
	return status;
}
