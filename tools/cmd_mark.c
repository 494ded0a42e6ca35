/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * sfctl mark: choice of the action, and what the actions share. Main thread.
 */
#include "tools/cmd_mark.h"

#include "daemon/lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
	"Usage: sfctl mark ACTION [OPTION]...\n"
	"\n"
	"Looks at and sets the marks: what sfd has promised to start above, so that a\n"
	"machine id can move to another host. Works on sfd's state directory; needs no\n"
	"running sfd.\n"
	"\n"
	"Actions (each has its own --help):\n"
	"  show              the marks of a state directory, and how they are\n"
	"  set               a mark above all IDs of another host\n"
	"  adopt             takes over a state directory that came from another host\n"
	"\n" SFCTL_HELP_HELP "\n"
	"Examples:\n"
	"  sfctl mark show\n"
	"  sfctl mark set --layout twitter --machine-id 7 --above-tick 531703212345\n"
	"  sfctl mark adopt\n";

struct action {
	const char *name;
	const char *command; /* as messages call it */
	int (*run)(struct sfctl *sfctl, int argc, char **argv);
	unsigned uses;
};

static const struct action actions[] = {
	{"show", "mark show", sfctl_mark_show, SFCTL_USES_STREAM | SFCTL_USES_JSON},
	{"set", "mark set", sfctl_mark_set, SFCTL_USES_STREAM | SFCTL_USES_JSON},
	{"adopt", "mark adopt", sfctl_mark_adopt, 0},
};

static int run(const struct action *action, struct sfctl *sfctl, int argc, char **argv)
{
	int status;

	sfctl->command = action->command;
	sfctl->uses = action->uses;
	status = sfctl_check_use(sfctl);
	if (status != SFCTL_GO_ON)
		return status;
	optind = 0; /* the action parses a line of its own */
	return action->run(sfctl, argc, argv);
}

int sfctl_cmd_mark(struct sfctl *sfctl, int argc, char **argv)
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
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strcmp(actions[i].name, argv[optind]) == 0)
			return run(&actions[i], sfctl, argc - optind, argv + optind);
	return sfctl_usage(sfctl, "there is no action \"%.60s\"", argv[optind]);
}

/* ---- what the actions share ---- */

char *sfctl_mark_dir(const struct sfctl *sfctl, const char *given)
{
	char *dir = NULL;
	int r = 0;

	if (given)
		dir = strdup(given);
	else
		r = sfctl_state_path("", &dir);
	if (!dir)
		(void)sfctl_fail(sfctl, r == -ENOENT
						? "no directory is named and $HOME is not set; "
						  "give --state-dir"
						: "out of memory");
	return dir;
}

int sfctl_mark_lock(const struct sfctl *sfctl, const char *dir, int *ret_fd)
{
	struct stat status;
	struct sf_why why;

	if (geteuid() == 0 && stat(dir, &status) == 0 &&
	    (setegid(status.st_gid) < 0 || seteuid(status.st_uid) < 0))
		return sfctl_fail(sfctl, "cannot become user %u, who owns %.160s: %s",
				  status.st_uid, dir, strerrordesc_np(errno));
	if (sfd_lock_dir("state", dir, SFD_STATE_MODE, ret_fd, &why) < 0)
		return sfctl_fail(sfctl, "%s", why.text);
	return SFCTL_OK;
}

int64_t sfctl_mark_unix_ms(const struct sf_layout *layout, uint64_t tick)
{
	int64_t unix_ms;

	if (tick > INT64_MAX || __builtin_mul_overflow((int64_t)tick, layout->tick_ms, &unix_ms) ||
	    __builtin_add_overflow(unix_ms, layout->epoch_ms, &unix_ms))
		return INT64_MAX;
	return unix_ms;
}
