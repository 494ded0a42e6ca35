/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Asking the next program; see upgrade.h.
 */
#include "daemon/upgrade.h"

#include "daemon/config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* A program that loads for longer is none to hand over to. */
#define TIMEOUT_NS INT64_C(10000000000)
#define DELETED " (deleted)"

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/** The last line that the program said, without its end. */
static void last_line(int fd, char *line, size_t size)
{
	char said[1024];
	ssize_t length = pread(fd, said, sizeof(said) - 1, 0);
	char *newline;

	said[length > 0 ? length : 0] = '\0';
	length = (ssize_t)strlen(said);
	while (length > 0 && said[length - 1] == '\n')
		said[--length] = '\0';
	newline = strrchr(said, '\n');
	(void)snprintf(line, size, "%s", newline ? newline + 1 : said);
}

/** Reaps the program and writes down why it would not start, if so. */
static void judge(struct sfd_upgrade *upgrade)
{
	siginfo_t info = {0};
	char said[120];

	(void)waitid(P_PID, (id_t)upgrade->pid, &info, WEXITED);
	upgrade->pid = 0;
	last_line(upgrade->said_fd, said, sizeof(said));
	if (upgrade->timed_out)
		(void)snprintf(upgrade->why, sizeof(upgrade->why),
			       "%.80s did not check the configuration within 10 s", upgrade->path);
	else if (info.si_code != CLD_EXITED)
		(void)snprintf(upgrade->why, sizeof(upgrade->why),
			       "%.80s was ended by signal %d when it checked the configuration",
			       upgrade->path, info.si_status);
	else if (info.si_status != 0)
		(void)snprintf(upgrade->why, sizeof(upgrade->why), "%.80s would not start: %s",
			       upgrade->path, said[0] ? said : "it does not say why");
	else if (!strstr(said, SFD_CONFIG_VALID))
		(void)snprintf(upgrade->why, sizeof(upgrade->why), "%.80s is no sfd",
			       upgrade->path);
}

/** Tells the caller when nothing is left to wait for. */
static void settle(struct sfd_upgrade *upgrade)
{
	if (upgrade->pid != 0 || !sfd_request_is_idle(&upgrade->ended) ||
	    !sfd_request_is_idle(&upgrade->timeout))
		return;
	close_fd(&upgrade->pid_fd);
	close_fd(&upgrade->said_fd);
	upgrade->checked(upgrade->owner, upgrade->why);
}

static void on_ended(struct sfd_request *request, int result)
{
	struct sfd_upgrade *upgrade = request->owner;

	if (upgrade->pid != 0 && result != -ECANCELED) {
		judge(upgrade);
		sfd_loop_cancel(upgrade->loop, &upgrade->ended);
		sfd_loop_cancel(upgrade->loop, &upgrade->timeout);
	}
	settle(upgrade);
}

static void on_timeout(struct sfd_request *request, int result)
{
	struct sfd_upgrade *upgrade = request->owner;

	if (result == 0 && upgrade->pid != 0) {
		upgrade->timed_out = true;
		(void)kill(upgrade->pid, SIGKILL);
	}
	settle(upgrade);
}

void sfd_upgrade_init(struct sfd_upgrade *upgrade, struct sfd_loop *loop, char *const *argv)
{
	upgrade->loop = loop;
	upgrade->argv = argv;
	upgrade->pid_fd = -1;
	upgrade->said_fd = -1;
	upgrade->ended = (struct sfd_request){.done = on_ended, .owner = upgrade};
	upgrade->timeout = (struct sfd_request){.done = on_timeout, .owner = upgrade};
}

void sfd_upgrade_deinit(struct sfd_upgrade *upgrade)
{
	if (upgrade->pid != 0) {
		(void)kill(upgrade->pid, SIGKILL);
		(void)waitpid(upgrade->pid, NULL, 0);
		upgrade->pid = 0;
	}
	if (upgrade->loop) {
		close_fd(&upgrade->pid_fd);
		close_fd(&upgrade->said_fd);
	}
}

/** The file that this program was started from, whatever lies there now. */
static int own_path(char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size - 1);
	char *deleted;

	if (length < 0)
		return -errno;
	path[length] = '\0';
	deleted = strstr(path, DELETED);
	if (deleted && deleted[sizeof(DELETED) - 1] == '\0')
		*deleted = '\0'; /* replaced by an installation */
	return 0;
}

/** Starts the program with one more argument, and nothing else of ours. @return 0 or an errno */
static int spawn(struct sfd_upgrade *upgrade)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	char check[] = "--check-config";
	char **argv;
	size_t count = 0;
	int error;

	while (upgrade->argv[count])
		count++;
	argv = calloc(count + 2, sizeof(*argv));
	if (!argv)
		return ENOMEM;
	memcpy(argv, upgrade->argv, count * sizeof(*argv));
	argv[count] = check;
	(void)sigemptyset(&none);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (error == 0)
		error = posix_spawn_file_actions_adddup2(&actions, upgrade->said_fd, STDOUT_FILENO);
	if (error == 0)
		error = posix_spawn_file_actions_adddup2(&actions, upgrade->said_fd, STDERR_FILENO);
	if (error == 0)
		error = posix_spawn(&upgrade->pid, upgrade->path, &actions, &attributes, argv,
				    environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attributes);
	free(argv);
	return error;
}

/** Waits for the program on the loop. @return 0 or a negative errno */
static int watch(struct sfd_upgrade *upgrade)
{
	int error;

	upgrade->pid_fd = pidfd_open(upgrade->pid, 0);
	if (upgrade->pid_fd < 0)
		return -errno;
	error = sfd_loop_poll(upgrade->loop, upgrade->pid_fd, &upgrade->ended);
	if (error == 0)
		error = sfd_loop_timeout(upgrade->loop, TIMEOUT_NS, &upgrade->timeout);
	return error;
}

int sfd_upgrade_begin(struct sfd_upgrade *upgrade, const char *path)
{
	int error = 0;

	if (path[0])
		(void)snprintf(upgrade->path, sizeof(upgrade->path), "%s", path);
	else
		error = own_path(upgrade->path, sizeof(upgrade->path));
	if (error < 0)
		return error;
	upgrade->why[0] = '\0';
	upgrade->timed_out = false;
	upgrade->said_fd = memfd_create("sfd:said", MFD_CLOEXEC);
	if (upgrade->said_fd < 0)
		return -errno;
	error = -spawn(upgrade);
	if (error == 0)
		error = watch(upgrade);
	if (error < 0)
		sfd_upgrade_deinit(upgrade);
	return error;
}
