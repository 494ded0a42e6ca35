/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What subcommands share: global options, messages, and where the daemon is to be found. Prints
 * nothing but messages. Main thread, except sfctl_fail().
 */
#include "tools/sfctl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void complain(const struct sfctl *sfctl, const char *format, va_list arguments,
		     const char *end)
{
	char sentence[1024];

	(void)vsnprintf(sentence, sizeof(sentence), format, arguments);
	/* One call, so that messages of processes that share a terminal do not mix. */
	(void)fprintf(stderr, "sfctl%s%s: %s%s%s%s", sfctl->command ? " " : "",
		      sfctl->command ? sfctl->command : "", sentence, end,
		      *end && sfctl->command ? sfctl->command : "", *end ? " --help\n" : "\n");
}

int sfctl_usage(const struct sfctl *sfctl, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	complain(sfctl, format, arguments, sfctl->command ? "; try sfctl " : "; try sfctl");
	va_end(arguments);
	return SFCTL_USAGE;
}

int sfctl_fail(const struct sfctl *sfctl, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	complain(sfctl, format, arguments, "");
	va_end(arguments);
	return SFCTL_FAILED;
}

int sfctl_getopt(int argc, char **argv, const char *letters, const struct option *options)
{
	/* Options are read before there is a second thread. */
	return getopt_long(argc, argv, letters, options, NULL); /* NOLINT(concurrency-mt-unsafe) */
}

static int option_error(const struct sfctl *sfctl, int option, char **argv)
{
	char letter[] = {'-', (char)optopt, '\0'};
	/* optopt is a character only for short options; long ones are the word just passed. */
	const char *name = optopt > 0 && optopt < SFCTL_OPT_SOCKET && argv[optind - 1][1] != '-'
				   ? letter
				   : argv[optind - 1];

	if (option == ':')
		return sfctl_usage(sfctl, "option %.60s needs a value", name);
	return sfctl_usage(sfctl, "option %.60s is unknown, ambiguous or takes no value", name);
}

int sfctl_check_use(const struct sfctl *sfctl)
{
	const char *name = NULL;

	if (sfctl->socket && !(sfctl->uses & SFCTL_USES_SOCKET))
		name = "socket";
	else if (sfctl->stream && !(sfctl->uses & SFCTL_USES_STREAM))
		name = "stream";
	else if (sfctl->json && !(sfctl->uses & SFCTL_USES_JSON))
		name = "json";
	if (!name)
		return SFCTL_GO_ON;
	return sfctl_usage(sfctl, "--%s changes nothing here: leave it out", name);
}

int sfctl_option(struct sfctl *sfctl, int option, char **argv, const char *help)
{
	switch (option) {
	case SFCTL_OPT_SOCKET:
		sfctl->socket = optarg;
		break;
	case SFCTL_OPT_STREAM:
		sfctl->stream = optarg;
		break;
	case SFCTL_OPT_JSON:
		sfctl->json = true;
		break;
	case SFCTL_OPT_HELP:
	case 'h':
		(void)fputs(help, stdout);
		return SFCTL_OK;
	default:
		return option_error(sfctl, option, argv);
	}
	if (option != SFCTL_OPT_JSON && *optarg == '\0')
		return sfctl_usage(sfctl, "option --%s has an empty value",
				   option == SFCTL_OPT_SOCKET ? "socket" : "stream");
	return sfctl_check_use(sfctl);
}

const char *sfctl_environment(const char *name)
{
	/* Nothing in this program changes the environment. */
	const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe) */

	return value && *value ? value : NULL;
}

int sfctl_socket_path(const struct sfctl *sfctl, char **ret_path)
{
	const char *given = sfctl->socket ? sfctl->socket : sfctl_environment("SFD_SOCKET");
	const char *runtime = sfctl_environment("XDG_RUNTIME_DIR");
	char *path = NULL;

	if (!given && runtime) {
		if (asprintf(&path, "%s/sfd/sfd.sock", runtime) < 0)
			return -ENOMEM;
		if (access(path, F_OK) == 0) {
			*ret_path = path;
			return 0;
		}
		free(path);
	}
	path = strdup(given ? given : "/run/sfd/sfd.sock");
	if (!path)
		return -ENOMEM;
	*ret_path = path;
	return 0;
}

int sfctl_state_path(const char *name, char **ret_path)
{
	const char *state = sfctl_environment("XDG_STATE_HOME");
	const char *home = sfctl_environment("HOME");
	const char *slash = *name ? "/" : "";
	int length;

	if (geteuid() == 0)
		length = asprintf(ret_path, "/var/lib/sfd%s%s", slash, name);
	else if (state)
		length = asprintf(ret_path, "%s/sfd%s%s", state, slash, name);
	else if (home)
		length = asprintf(ret_path, "%s/.local/state/sfd%s%s", home, slash, name);
	else
		return -ENOENT;
	return length < 0 ? -ENOMEM : 0;
}

const char *sfctl_stream_name(const struct sfctl *sfctl)
{
	const char *name = sfctl->stream ? sfctl->stream : sfctl_environment("SFD_STREAM");

	return name ? name : "default";
}
