/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What every subcommand of sfctl shares: the global options, how errors and help are printed, and
 * the exit codes. Main thread only, unless a function says otherwise.
 */
#ifndef SFCTL_H
#define SFCTL_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** Exit codes of the program. */
enum sfctl_exit {
	SFCTL_OK = 0,
	SFCTL_FAILED = 1,
	SFCTL_USAGE = 2,
};

/** Writes the sentence of a struct sf_why. */
#define SFCTL_WHY(why, ...) ((void)snprintf((why)->text, sizeof((why)->text), __VA_ARGS__))

/** Which of the global options a subcommand has a use for. */
enum sfctl_use {
	SFCTL_USES_SOCKET = 1,
	SFCTL_USES_STREAM = 2,
	SFCTL_USES_JSON = 4,
	SFCTL_USES_SFD = SFCTL_USES_SOCKET | SFCTL_USES_STREAM,
	SFCTL_USES_ALL = SFCTL_USES_SFD | SFCTL_USES_JSON,
};

/** What the command line said for all subcommands. */
struct sfctl {
	const char *command; /* name of the subcommand, for messages */
	unsigned uses;       /* enum sfctl_use; all others are refused */
	const char *socket;  /* --socket; NULL: the library's default */
	const char *stream;  /* --stream; NULL: not given */
	bool json;           /* --json */
};

/** sfctl_getopt() values of the global options, clear of any character. */
enum sfctl_option {
	SFCTL_OPT_SOCKET = 0x1000,
	SFCTL_OPT_STREAM,
	SFCTL_OPT_JSON,
	SFCTL_OPT_HELP,
};

/**
 * The global options, for the end of a subcommand's own table; the terminator is included. The
 * subcommand's short options start with ":" and hold "h".
 */
#define SFCTL_GLOBAL_OPTIONS                                                                       \
	{"socket", required_argument, NULL, SFCTL_OPT_SOCKET},                                     \
		{"stream", required_argument, NULL, SFCTL_OPT_STREAM},                             \
		{"json", no_argument, NULL, SFCTL_OPT_JSON},                                       \
		{"help", no_argument, NULL, SFCTL_OPT_HELP},                                       \
	{                                                                                          \
		NULL, 0, NULL, 0                                                                   \
	}

/** The global options, for help texts: each shows those that its subcommand has a use for. */
#define SFCTL_SOCKET_HELP                                                                          \
	"  --socket PATH     control socket of sfd (default: $SFD_SOCKET, else the first\n"        \
	"                    that exists of $XDG_RUNTIME_DIR/sfd/sfd.sock and\n"                   \
	"                    /run/sfd/sfd.sock)\n"
#define SFCTL_SFD_HELP                                                                             \
	SFCTL_SOCKET_HELP                                                                          \
	"  --stream NAME     stream (default: $SFD_STREAM, else \"default\")\n"
/** The same for those that show all streams. */
#define SFCTL_SFD_ALL_HELP                                                                         \
	SFCTL_SOCKET_HELP                                                                          \
	"  --stream NAME     only this stream (default: all)\n"
#define SFCTL_JSON_HELP "  --json            print JSON\n"
#define SFCTL_HELP_HELP "  -h, --help        print this help\n"
#define SFCTL_GLOBAL_HELP SFCTL_SFD_HELP SFCTL_JSON_HELP SFCTL_HELP_HELP

/** Returned by sfctl_option() when parsing goes on; no exit code. */
#define SFCTL_GO_ON (-1)

/**
 * Deals with what sfctl_getopt() returned and the subcommand does not know: a global option, help,
 * or an error, which is reported.
 * @param argv the subcommand's, argv[0] being its name
 * @return SFCTL_GO_ON, or the exit code to return at once
 */
int sfctl_option(struct sfctl *sfctl, int option, char **argv, const char *help);

/** Whether all global options so far are of use. @return SFCTL_GO_ON or SFCTL_USAGE */
int sfctl_check_use(const struct sfctl *sfctl);

/** getopt_long(), for the main thread. @return the option, or -1 after the last */
int sfctl_getopt(int argc, char **argv, const char *letters, const struct option *options);

/** Prints one sentence and where to find help on stderr. @return SFCTL_USAGE */
int sfctl_usage(const struct sfctl *sfctl, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** Prints one sentence on stderr, after "sfctl COMMAND: ". Any thread. @return SFCTL_FAILED */
int sfctl_fail(const struct sfctl *sfctl, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** A variable of the environment; NULL when it is unset or empty. */
const char *sfctl_environment(const char *name);

/** Path of the control socket by --socket or the library's rule. @return 0 or -ENOMEM */
int sfctl_socket_path(const struct sfctl *sfctl, char **ret_path);

/**
 * Path of a file in sfd's default state directory, or of that itself for an empty name. The caller
 * frees it.
 * @return 0, -ENOENT when $HOME is needed and not set, or -ENOMEM
 */
int sfctl_state_path(const char *name, char **ret_path);

/** Name of the stream by --stream or the library's rule. */
const char *sfctl_stream_name(const struct sfctl *sfctl);

/** The subcommands: argv[0] is the subcommand's name. @return an exit code */
int sfctl_cmd_alias(struct sfctl *sfctl, int argc, char **argv);
int sfctl_cmd_bench(struct sfctl *sfctl, int argc, char **argv);
int sfctl_cmd_content_id(struct sfctl *sfctl, int argc, char **argv);
int sfctl_cmd_checksum(struct sfctl *sfctl, int argc, char **argv);
int sfctl_cmd_convert(struct sfctl *sfctl, int argc, char **argv);
int sfctl_cmd_decode(struct sfctl *sfctl, int argc, char **argv);
int sfctl_cmd_doctor(struct sfctl *sfctl, int argc, char **argv);
int sfctl_cmd_encode(struct sfctl *sfctl, int argc, char **argv);
int sfctl_cmd_exporter(struct sfctl *sfctl, int argc, char **argv);
int sfctl_cmd_mark(struct sfctl *sfctl, int argc, char **argv);
int sfctl_cmd_next(struct sfctl *sfctl, int argc, char **argv);
int sfctl_cmd_range(struct sfctl *sfctl, int argc, char **argv);
int sfctl_cmd_shard(struct sfctl *sfctl, int argc, char **argv);
int sfctl_cmd_sort(struct sfctl *sfctl, int argc, char **argv);
int sfctl_cmd_stamp(struct sfctl *sfctl, int argc, char **argv);
int sfctl_cmd_stats(struct sfctl *sfctl, int argc, char **argv);
int sfctl_cmd_top(struct sfctl *sfctl, int argc, char **argv);
int sfctl_cmd_trace(struct sfctl *sfctl, int argc, char **argv);
int sfctl_cmd_upgrade(struct sfctl *sfctl, int argc, char **argv);

#endif
