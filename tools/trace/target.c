/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Whom to trace; see target.h. Processes come and go meanwhile: what is gone is passed over.
 */
#include "tools/trace/target.h"

#include "tools/sfctl.h"
#include "tools/trace/notes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DELETED " (deleted)"

const struct sfctl_provider sfctl_provider_client = {"sfclient", "libsfclient.so", "libsfclient"};
const struct sfctl_provider sfctl_provider_daemon = {"sfd", "sfd", "sfd"};

/** What /proc/PID/maps says of one mapping. */
struct mapping {
	unsigned long begin;
	unsigned long end;
	unsigned major;
	unsigned minor;
	unsigned long inode;
	const char *path;
	bool is_deleted;
};

/** A file without probes, as mappings name it. */
struct plain {
	unsigned major;
	unsigned minor;
	unsigned long inode;
};

/** The search so far. */
struct hunt {
	struct sfctl_targets *targets;
	const struct sfctl_provider *provider;
	void *plain; /* tree of struct plain: each is looked into once only */
	bool out_of_memory;
};

static int compare_plain(const void *a, const void *b)
{
	const struct plain *x = a;
	const struct plain *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	if (x->minor != y->minor)
		return x->minor < y->minor ? -1 : 1;
	return x->major < y->major ? -1 : x->major > y->major;
}

static void remember_plain(struct hunt *hunt, const struct mapping *mapping)
{
	struct plain *plain = malloc(sizeof(*plain));

	if (!plain)
		return; /* it is looked into again */
	*plain = (struct plain){mapping->major, mapping->minor, mapping->inode};
	if (!tsearch(plain, &hunt->plain, compare_plain))
		free(plain);
}

static bool is_plain(const struct hunt *hunt, const struct mapping *mapping)
{
	struct plain key = {mapping->major, mapping->minor, mapping->inode};

	return tfind(&key, &hunt->plain, compare_plain) != NULL;
}

/** Reads a line of /proc/PID/maps, and cuts it. @return whether code of a file is mapped there */
static bool read_mapping(char *line, struct mapping *mapping)
{
	char mode[5];
	int path = 0;
	size_t length;

	/* what the kernel writes: nothing overflows */
	if (sscanf(line, "%lx-%lx %4s %*x %x:%x %lu %n", &mapping->begin, // NOLINT(cert-err34-c)
		   &mapping->end, mode, &mapping->major, &mapping->minor, &mapping->inode,
		   &path) != 6 ||
	    mode[2] != 'x' || line[path] != '/')
		return false;
	line[strcspn(line, "\n")] = '\0';
	mapping->path = line + path;
	length = strlen(mapping->path);
	mapping->is_deleted = length > strlen(DELETED) &&
			      strcmp(mapping->path + length - strlen(DELETED), DELETED) == 0;
	if (mapping->is_deleted)
		line[(size_t)path + length - strlen(DELETED)] = '\0';
	return true;
}

/** A path as we see it, if that is the mapped file. */
static int open_if_same(const struct mapping *mapping)
{
	struct stat status;
	int fd = open(mapping->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (fstat(fd, &status) == 0 && status.st_ino == mapping->inode &&
	    major(status.st_dev) == mapping->major && minor(status.st_dev) == mapping->minor)
		return fd;
	(void)close(fd);
	return -1;
}

/** The file itself, where that is permitted; else its path, as that process sees it or as we do. */
static int open_mapped(pid_t pid, const struct mapping *mapping)
{
	char path[64];
	char *seen;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)pid, mapping->begin,
		       mapping->end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 || mapping->is_deleted)
		return fd;
	if (asprintf(&seen, "/proc/%d/root%s", (int)pid, mapping->path) < 0)
		return -1;
	fd = open(seen, O_RDONLY | O_CLOEXEC);
	free(seen);
	return fd >= 0 ? fd : open_if_same(mapping);
}

static bool is_named_so(const struct hunt *hunt, const struct mapping *mapping)
{
	const char *name = strrchr(mapping->path, '/') + 1;

	return strncmp(name, hunt->provider->file, strlen(hunt->provider->file)) == 0;
}

static void note_path(char **note, const char *path)
{
	free(*note);
	*note = strdup(path);
}

/** @return whether the descriptor was taken */
static bool add_file(struct hunt *hunt, pid_t pid, const struct mapping *mapping, int fd)
{
	struct sfctl_targets *targets = hunt->targets;
	struct sfctl_target_file *grown;
	struct stat status;
	char *path;

	if (fstat(fd, &status) < 0)
		return false;
	for (size_t i = 0; i < targets->file_count; i++)
		if (targets->file[i].device == status.st_dev &&
		    targets->file[i].inode == status.st_ino)
			return false;
	grown = reallocarray(targets->file, targets->file_count + 1, sizeof(*grown));
	path = strdup(mapping->path);
	if (grown)
		targets->file = grown;
	if (!grown || !path) {
		hunt->out_of_memory = true;
		free(path);
		return false;
	}
	grown[targets->file_count++] =
		(struct sfctl_target_file){.fd = fd,
					   .path = path,
					   .pid = pid,
					   .is_replaced = mapping->is_deleted,
					   .device = status.st_dev,
					   .inode = status.st_ino};
	return true;
}

/** @return whether the mapped file has the probes */
static bool look_into(struct hunt *hunt, pid_t pid, const struct mapping *mapping)
{
	int fd = open_mapped(pid, mapping);
	bool has = fd >= 0 && sfctl_notes_have(fd, hunt->provider->name);

	if (fd < 0 && is_named_so(hunt, mapping))
		note_path(mapping->is_deleted ? &hunt->targets->replaced : &hunt->targets->locked,
			  mapping->path);
	if (fd >= 0 && !has) {
		if (is_named_so(hunt, mapping))
			note_path(&hunt->targets->bare, mapping->path);
		remember_plain(hunt, mapping);
	}
	if (fd >= 0 && (!has || !add_file(hunt, pid, mapping, fd)))
		(void)close(fd);
	return has;
}

static void add_process(struct hunt *hunt, pid_t pid)
{
	struct sfctl_targets *targets = hunt->targets;
	pid_t *grown = reallocarray(targets->pid, targets->pid_count + 1, sizeof(*grown));

	if (!grown) {
		hunt->out_of_memory = true;
		return;
	}
	targets->pid = grown;
	grown[targets->pid_count++] = pid;
}

/** @return 0, or the negative errno that keeps the process from being looked at */
static int look_at(struct hunt *hunt, pid_t pid)
{
	char path[32];
	char *line = NULL;
	size_t size = 0;
	bool has = false;
	FILE *maps;
	int error;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (!maps)
		return -errno;
	errno = 0;
	while (getline(&line, &size, maps) > 0) {
		struct mapping mapping;

		if (read_mapping(line, &mapping) && !is_plain(hunt, &mapping))
			has |= look_into(hunt, pid, &mapping);
		errno = 0;
	}
	error = ferror(maps) != 0 ? -errno : 0;
	free(line);
	(void)fclose(maps);
	if (has && pid != getpid())
		add_process(hunt, pid);
	return error;
}

static void look_at_all(struct hunt *hunt)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;

	if (!proc)
		return;
	/* one thread: the entry is the directory's own */
	while ((entry = readdir(proc)) != NULL) { // NOLINT(concurrency-mt-unsafe)
		int error = 0;

		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			error = look_at(hunt, (pid_t)strtol(entry->d_name, NULL, 10));
		if (error != 0 && error != -ENOENT && error != -ESRCH)
			hunt->targets->hidden++;
	}
	(void)closedir(proc);
}

static int explain_process(pid_t pid, int error, struct sf_why *why)
{
	if (error == -ENOENT || error == -ESRCH)
		SFCTL_WHY(why, "there is no process %d: give a pid as this pid namespace has it",
			  (int)pid);
	else
		SFCTL_WHY(why,
			  "process %d may not be looked at (%s): be its user, or add "
			  "CAP_SYS_PTRACE",
			  (int)pid, strerrordesc_np(-error));
	return error;
}

/** Nothing was found. */
static int explain(const struct hunt *hunt, pid_t pid, struct sf_why *why)
{
	const struct sfctl_targets *targets = hunt->targets;
	const char *program = hunt->provider->program;
	char whose[64];

	if (pid != 0)
		(void)snprintf(whose, sizeof(whose), "process %d has", (int)pid);
	else
		(void)snprintf(whose, sizeof(whose), "there is");
	if (targets->bare)
		SFCTL_WHY(why,
			  "%s %.100s without probes: build it with sys/sdt.h and -Dusdt=enabled",
			  whose, targets->bare);
	else if (targets->replaced)
		SFCTL_WHY(why,
			  "%s %.80s, replaced since: start it anew, or add "
			  "CAP_CHECKPOINT_RESTORE to trace what it has",
			  whose, targets->replaced);
	else if (targets->locked)
		SFCTL_WHY(why,
			  "%s %.80s, which may not be opened: be its user, or add CAP_SYS_PTRACE",
			  whose, targets->locked);
	else if (pid != 0)
		SFCTL_WHY(why, "process %d has no %s: look for one that has", (int)pid, program);
	else if (targets->hidden > 0)
		SFCTL_WHY(why,
			  "no %s among the processes that may be looked at; %zu may not: be their "
			  "user, or add CAP_SYS_PTRACE",
			  program, targets->hidden);
	else
		SFCTL_WHY(why, "no %s runs here: start it first", program);
	return -ENOENT;
}

int sfctl_targets_init(struct sfctl_targets *targets, const struct sfctl_provider *provider,
		       pid_t pid, struct sf_why *why)
{
	struct hunt hunt = {.targets = targets, .provider = provider};
	int error = 0;

	*targets = (struct sfctl_targets){0};
	if (pid != 0)
		error = look_at(&hunt, pid);
	else
		look_at_all(&hunt);
	tdestroy(hunt.plain, free);
	if (error < 0) {
		error = explain_process(pid, error, why);
	} else if (hunt.out_of_memory) {
		SFCTL_WHY(why, "out of memory");
		error = -ENOMEM;
	} else if (targets->file_count == 0) {
		error = explain(&hunt, pid, why);
	}
	if (error < 0)
		sfctl_targets_deinit(targets);
	return error;
}

void sfctl_targets_deinit(struct sfctl_targets *targets)
{
	for (size_t i = 0; i < targets->file_count; i++) {
		(void)close(targets->file[i].fd);
		free(targets->file[i].path);
	}
	free(targets->file);
	free(targets->pid);
	free(targets->bare);
	free(targets->replaced);
	free(targets->locked);
	*targets = (struct sfctl_targets){0};
}
