/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl exporter: becomes sfctl-exporter, which lies beside sfctl and reads the options; see
 * tools/exporter/main.c for why it is a program of its own. Main thread.
 */
#include "tools/sfctl.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "sfctl-exporter"

/** Path of the program beside this one. @return 0 or a negative errno */
static int program_find(char path[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - sizeof(PROGRAM));
	char *slash;

	if (length < 0)
		return -errno;
	path[length] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return -ENOENT;
	memcpy(slash + 1, PROGRAM, sizeof(PROGRAM));
	return 0;
}

int sfctl_cmd_exporter(struct sfctl *sfctl, int argc, char **argv)
{
	char path[PATH_MAX];
	char **program_argv;
	size_t count = 0;
	int error = program_find(path);

	if (error < 0)
		return sfctl_fail(sfctl, "cannot tell where sfctl is: /proc/self/exe: %s",
				  strerrordesc_np(-error));
	program_argv = calloc((size_t)argc + 3, sizeof(*program_argv));
	if (!program_argv)
		return sfctl_fail(sfctl, "out of memory");
	program_argv[count++] = (char *)PROGRAM;
	if (sfctl->socket) { /* came before the subcommand */
		program_argv[count++] = (char *)"--socket";
		program_argv[count++] = (char *)sfctl->socket;
	}
	for (int i = 1; i < argc; i++)
		program_argv[count++] = argv[i];
	(void)execv(path, program_argv);
	error = errno;
	free(program_argv);
	if (error == ENOENT)
		return sfctl_fail(sfctl,
				  "%s is not installed: build sfd with libmicrohttpd-dev and "
				  "-Dexporter=enabled",
				  path);
	return sfctl_fail(sfctl, "%s cannot be run: %s", path, strerrordesc_np(error));
}
