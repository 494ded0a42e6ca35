/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Hangs one thread of a process and lets the others run: stops it as a debugger would, says so, and
 * waits until the process has ended.
 * usage: hang_thread PID THREAD-NAME
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int is_named(long pid, const char *thread, const char *name)
{
	char path[64];
	char found[32] = "";
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%ld/task/%.16s/comm", pid, thread);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (!fgets(found, sizeof(found), file))
		found[0] = '\0';
	(void)fclose(file);
	found[strcspn(found, "\n")] = '\0';
	return strcmp(found, name) == 0;
}

/** @return its number, or 0 */
static pid_t find_thread(long pid, const char *name)
{
	char path[64];
	pid_t found = 0;
	DIR *threads;
	struct dirent *entry;

	(void)snprintf(path, sizeof(path), "/proc/%ld/task", pid);
	threads = opendir(path);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
	while (threads && found == 0 && (entry = readdir(threads)) != NULL)
		if (is_named(pid, entry->d_name, name))
			found = (pid_t)strtol(entry->d_name, NULL, 10);
	if (threads)
		(void)closedir(threads);
	return found;
}

int main(int argc, char **argv)
{
	pid_t thread;
	int status;

	if (argc != 3)
		return 2;
	thread = find_thread(strtol(argv[1], NULL, 10), argv[2]);
	if (thread <= 0) {
		(void)fprintf(stderr, "hang_thread: pid %s has no thread %s\n", argv[1], argv[2]);
		return 1;
	}
	if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) < 0 ||
	    ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) < 0) {
		perror("hang_thread: ptrace");
		return 1;
	}
	(void)puts("hung");
	(void)fflush(stdout);
	while (waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status)) {
		/* it stays stopped */
	}
	return 0;
}
