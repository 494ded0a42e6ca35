/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl upgrade: has the running sfd become another program, which goes on with its rings and
 * connections. Main thread.
 */
#include "tools/control.h"
#include "tools/layout_option.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"Usage: sfctl upgrade [OPTION]... [PATH]\n"
	"\n"
	"Has the running sfd become the program PATH, without a pause for its clients: the\n"
	"process stays, rings, socket and connections are handed over, and IDs and counts go\n"
	"on. Without PATH it is the file that sfd was started from, as it is now: after an\n"
	"installation, the new version. The new program reads the configuration anew.\n"
	"\n"
	"It is asked first whether it would start (--check-config). If it then cannot, sfd\n"
	"goes on as it was. Only root and sfd's own user may upgrade it.\n"
	"\n" SFCTL_SOCKET_HELP SFCTL_JSON_HELP SFCTL_HELP_HELP "\n"
	"Examples:\n"
	"  sfctl upgrade\n"
	"  sfctl upgrade /usr/local/sbin/sfd\n";

/** The path as sfd wants it. @return SFCTL_GO_ON or an exit code */
static int path_read(const struct sfctl *sfctl, int argc, char **argv, char path[PATH_MAX])
{
	path[0] = '\0';
	if (optind == argc)
		return SFCTL_GO_ON;
	if (optind + 1 < argc)
		return sfctl_usage(sfctl, "\"%.60s\" is one argument too many", argv[optind + 1]);
	if (!realpath(argv[optind], path))
		return sfctl_fail(sfctl, "%.100s: %s", argv[optind], strerrordesc_np(errno));
	return SFCTL_GO_ON;
}

int sfctl_cmd_upgrade(struct sfctl *sfctl, int argc, char **argv)
{
	static const struct option options[] = {SFCTL_GLOBAL_OPTIONS};
	struct sf_control_upgraded upgraded;
	int status = SFCTL_GO_ON;
	char path[PATH_MAX];
	struct sf_why why;
	int option;
	int error;
	int fd;

	while (status == SFCTL_GO_ON && (option = sfctl_getopt(argc, argv, ":h", options)) != -1)
		status = sfctl_option(sfctl, option, argv, help);
	if (status == SFCTL_GO_ON)
		status = path_read(sfctl, argc, argv, path);
	if (status != SFCTL_GO_ON)
		return status;
	if (sfctl_control_open(sfctl, &fd, &why) < 0)
		return sfctl_fail(sfctl, "%s", why.text);
	error = sfctl_control_upgrade(fd, path, &upgraded, &why);
	(void)sfctl_control_close(fd);
	if (error < 0)
		return sfctl_fail(sfctl, "%s", why.text);
	if (sfctl->json)
		return sfctl_json_print(sfctl,
					json_pack("{s:s, s:s, s:I}", "version", upgraded.version,
						  "before", upgraded.before, "pid",
						  (json_int_t)upgraded.pid),
					JSON_INDENT(2));
	printf("sfd %s goes on as sfd %s, process %u\n", upgraded.before, upgraded.version,
	       upgraded.pid);
	return SFCTL_OK;
}
