/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The state disk runs full under a running sfd, or cannot be written when it starts. A mark file
 * has its blocks from the beginning, so that a full disk does not hurt it; for one that does, the
 * place that is written next loses its block first.
 */
#include "tests/chaos/events.h"

#include "daemon/mark_record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define FILL_BYTES 4096
#define BUSY_NS INT64_C(2000000000)
#define BUSY_NAP_US 1000
#define MARK_RAISED_SECONDS 60.0
#define MARK_RAISED_US 300000
/* More than half of the mark's lead, which makes sfd raise it, and not all of it. */
#define CLOCK_STEP_SECONDS 11.0

static bool punch_next_place(int directory, const char *name)
{
	struct sfd_mark_record record[2] = {0};
	unsigned older;
	bool done;
	int fd = openat(directory, name, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return false;
	for (off_t i = 0; i < 2; i++)
		(void)pread(fd, &record[i], sizeof(record[i]), i * (off_t)SFD_MARK_PLACE_BYTES);
	older = record[0].sequence < record[1].sequence ? 0 : 1;
	done = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			 (off_t)older * (off_t)SFD_MARK_PLACE_BYTES, SFD_MARK_PLACE_BYTES) == 0;
	(void)close(fd);
	return done;
}

static bool punch_all(const char *path)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;
	bool done = directory != NULL;

	while (directory && (entry = readdir(directory)) != NULL)
		if (strstr(entry->d_name, ".mark") && entry->d_name[0] != '.')
			done &= punch_next_place(dirfd(directory), entry->d_name);
	if (directory)
		(void)closedir(directory);
	return done;
}

/** Writes until nothing fits. */
static bool fill(const char *path)
{
	static const char bytes[FILL_BYTES];
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ssize_t n;

	if (fd < 0)
		return false;
	do
		n = write(fd, bytes, sizeof(bytes));
	while (n > 0);
	(void)close(fd);
	return errno == ENOSPC;
}

bool chaos_disk_fill(struct chaos_events *events)
{
	struct chaos_sfd *sfd = events->sfd;
	char path[CHAOS_PATH_BYTES + 8];
	unsigned errors = chaos_sfd_said(sfd, "cannot be raised");
	bool is_full;

	/* Beyond all that was shown before: the mark has just been raised, and leads by all its
	 * twenty seconds. */
	chaos_events_step_clock(events, events->highest - events->clock + MARK_RAISED_SECONDS);
	chaos_nap_us(MARK_RAISED_US);
	(void)snprintf(path, sizeof(path), "%s/fill", sfd->state_dir);
	/* Held, so that it writes no mark between the look at the places and the hole. */
	(void)kill(sfd->pid, SIGSTOP);
	is_full = punch_all(sfd->state_dir) && fill(path);
	(void)kill(sfd->pid, SIGCONT);
	if (!is_full)
		chaos_find("the state disk could not be filled");
	chaos_events_step_clock(events, CLOCK_STEP_SECONDS);
	chaos_nap_us(chaos_events_pause_us(events, 500000, 1500000));
	if (is_full && chaos_sfd_said(sfd, "cannot be raised") == errors)
		chaos_find("the state disk is full, and no mark write failed");
	if (unlink(path) < 0)
		return false;
	return true;
}

/** The files of a sfd that was killed stay open until the kernel has taken down its io_uring. */
static int mount_read_only(const char *path)
{
	int64_t deadline_ns = chaos_mono_ns() + BUSY_NS;

	while (mount(NULL, path, NULL, MS_REMOUNT | MS_RDONLY, NULL) < 0) {
		if (errno != EBUSY || chaos_mono_ns() > deadline_ns)
			return -errno;
		chaos_nap_us(BUSY_NAP_US);
	}
	return 0;
}

bool chaos_disk_lock(struct chaos_events *events)
{
	struct chaos_sfd *sfd = events->sfd;
	int error;

	if (!chaos_sfd_end(sfd, SIGKILL))
		return false;
	error = mount_read_only(sfd->state_dir);
	if (error < 0) {
		chaos_find("the state disk cannot be mounted read-only: %s", strerror(-error));
		return false;
	}
	(void)chaos_sfd_refuses(sfd);
	if (mount(NULL, sfd->state_dir, NULL, MS_REMOUNT, NULL) < 0)
		return false;
	return chaos_sfd_start(sfd);
}
