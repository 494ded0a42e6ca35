/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The mark in a file. The control thread opens it before other threads exist; then one thread
 * prepares and confirms records, and mends what others did to the file meanwhile.
 *
 * The promises of our own file that do not bind us any more are kept: the file is renamed, and the
 * stream begins another. Never writes to the place of the last confirmed record.
 */
#include "daemon/mark_scan.h"

#include "daemon/fsys.h"
#include "daemon/hardware.h"
#include "daemon/log.h"
#include "shm/why.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct sfd_mark {
	int fd;
	char *path;                  /* of the directory */
	struct sfd_mark_record last; /* the last confirmed one */
	struct sfd_mark_record next;
};

/* Everything that stays the same in all records of this opening. */
static void init_record(struct sfd_mark_record *record, const struct sfd_mark_directory *dir)
{
	*record = (struct sfd_mark_record){
		.restarts = dir->has_own ? dir->own.restarts : 0,
		.layout = dir->identity->layout,
		.node_count = dir->identity->node_count,
	};
	memcpy(record->stream, dir->stream, strlen(dir->stream));
	memcpy(record->node, dir->identity->node, record->node_count * sizeof(uint32_t));
	sfd_fsys_boot_id(record->boot_id, sizeof(record->boot_id));
}

/* Empty texts are of no boot. */
static bool is_of_boot(const struct sfd_mark_directory *dir, const struct sfd_mark_record *ours)
{
	return dir->has_own && ours->boot_id[0] != '\0' &&
	       strcmp(dir->own.boot_id, ours->boot_id) == 0;
}

static void complete(struct sfd_mark_record *record, uint64_t sequence, uint64_t tick)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_REALTIME, &now);
	record->sequence = sequence;
	record->tick = tick;
	record->written_unix_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	sfd_mark_record_seal(record);
}

static int write_all(int fd, const void *data, size_t length, off_t offset)
{
	ssize_t n;

	do
		n = pwrite(fd, data, length, offset);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == length ? 0 : -EIO;
}

static int fill_new(int fd, const struct sfd_mark_record *record)
{
	int r = sfd_fsys_reserve(fd, SFD_MARK_FILE_BYTES);

	if (r == 0)
		r = write_all(fd, record, sizeof(*record),
			      sfd_mark_record_offset(record->sequence));
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	return r;
}

/**
 * Makes our file under another name and renames it, so that a crash leaves none or a whole one: an
 * empty mark file is never the start of something, always the end.
 */
static int create(const struct sfd_mark_directory *dir, struct sfd_mark *mark, uint64_t sequence,
		  uint64_t tick, struct sf_why *why)
{
	struct sfd_mark_record *record = &mark->next;
	char name[SFD_MARK_NAME_BYTES];
	int fd;
	int r = 0;

	(void)snprintf(name, sizeof(name), ".%s.mark.new", dir->stream);
	(void)unlinkat(dir->fd, name, 0); /* left by a crash; if it stays, the next call says so */
	fd = openat(dir->fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return sfd_mark_refuse(dir, name, -errno, "create the mark file", why);
	complete(record, sequence, tick);
	r = fill_new(fd, record);
	if (r == 0 && renameat(dir->fd, name, dir->fd, dir->own_name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dir->fd, name, 0);
	else if (fsync(dir->fd) < 0)
		r = -errno;
	if (r < 0) {
		(void)close(fd);
		return sfd_mark_refuse(dir, dir->own_name, r, "write the new mark file", why);
	}
	if (mark->fd >= 0)
		(void)close(mark->fd);
	mark->fd = fd;
	mark->last = *record;
	return 0;
}

static int open_own(const struct sfd_mark_directory *dir, struct sfd_mark *mark, struct sf_why *why)
{
	int r;

	mark->fd = openat(dir->fd, dir->own_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (mark->fd < 0)
		return sfd_mark_refuse(dir, dir->own_name, -errno, "open the mark file", why);
	/* A copy put back may have holes, or be cut. */
	r = sfd_fsys_reserve(mark->fd, SFD_MARK_FILE_BYTES);
	if (r < 0)
		return sfd_mark_refuse(dir, dir->own_name, r, "reserve room for the mark file",
				       why);
	mark->last = dir->own;
	return 0;
}

static int open_in(struct sfd_mark_directory *dir, struct sfd_mark *mark, struct sf_why *why)
{
	int r = sfd_mark_scan(dir, why);

	if (r < 0)
		return r;
	init_record(&mark->next, dir);
	if (sfd_mark_is_ours(dir)) {
		r = open_own(dir, mark, why);
	} else {
		r = dir->has_own ? sfd_mark_set_aside(dir, why) : 0;
		if (r == 0)
			r = create(dir, mark, 1, dir->tick, why);
	}
	mark->next.restarts++;
	return r;
}

/** Opens the directory. */
static int open_dir(struct sfd_mark_directory *dir, struct sf_why *why)
{
	sf_shm_clear(why);
	if (strlen(dir->stream) >= SF_SHM_STREAM_NAME_MAX)
		return SF_SHM_REFUSE(why, -EINVAL, "stream name %s is longer than %u bytes",
				     dir->stream, SF_SHM_STREAM_NAME_MAX - 1u);
	(void)snprintf(dir->own_name, sizeof(dir->own_name), "%s.mark", dir->stream);
	dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir->fd < 0)
		return sfd_fsys_refuse(why, -errno, dir->path, "open the state directory", 0);
	return 0;
}

static struct sfd_mark_found found_in(const struct sfd_mark_directory *dir)
{
	struct sfd_mark_found found = {
		.tick = dir->tick,
		.others = dir->others,
		.written_unix_ns = dir->written_unix_ns,
		.restarts = dir->has_own ? dir->own.restarts : 0,
	};

	memcpy(found.kept_name, dir->kept_name, sizeof(found.kept_name));
	return found;
}

int sfd_mark_look(const char *state_dir, const char *stream, const struct sfd_identity *identity,
		  struct sfd_mark_found *ret_found, struct sf_why *why)
{
	struct sfd_mark_directory dir = {.path = state_dir, .stream = stream, .identity = identity};
	int r = open_dir(&dir, why);

	if (r < 0)
		return r;
	r = sfd_mark_scan(&dir, why);
	(void)close(dir.fd);
	if (r == 0)
		*ret_found = found_in(&dir);
	return r;
}

int sfd_mark_open(const char *state_dir, const char *stream, const struct sfd_identity *identity,
		  struct sfd_mark **ret_mark, struct sfd_mark_found *ret_found, struct sf_why *why)
{
	struct sfd_mark_directory dir = {.path = state_dir, .stream = stream, .identity = identity};
	struct sfd_mark *mark;
	int r = open_dir(&dir, why);

	if (r < 0)
		return r;
	mark = calloc(1, sizeof(*mark));
	if (mark == NULL) {
		r = SF_SHM_REFUSE(why, -ENOMEM, "out of memory for the mark of stream %s", stream);
	} else {
		mark->fd = -1;
		mark->path = strdup(state_dir);
		r = mark->path == NULL
			    ? SF_SHM_REFUSE(why, -ENOMEM, "out of memory for %s", state_dir)
			    : open_in(&dir, mark, why);
	}
	(void)close(dir.fd);
	if (r < 0) {
		(void)sfd_mark_close(mark);
		return r;
	}
	*ret_found = found_in(&dir);
	ret_found->is_of_boot = is_of_boot(&dir, &mark->next);
	*ret_mark = mark;
	return 0;
}

struct sfd_mark *sfd_mark_close(struct sfd_mark *mark)
{
	if (mark == NULL)
		return NULL;
	if (mark->fd >= 0)
		(void)close(mark->fd);
	free(mark->path);
	free(mark);
	return NULL;
}

int sfd_mark_fd(const struct sfd_mark *mark)
{
	return mark->fd;
}

void sfd_mark_prepare(struct sfd_mark *mark, uint64_t tick, struct sfd_mark_write *ret_write)
{
	complete(&mark->next, mark->last.sequence + 1, tick);
	*ret_write = (struct sfd_mark_write){
		.data = &mark->next,
		.length = sizeof(mark->next),
		.offset = sfd_mark_record_offset(mark->next.sequence),
	};
}

void sfd_mark_written(struct sfd_mark *mark)
{
	mark->last = mark->next;
}

int sfd_mark_store(struct sfd_mark *mark, uint64_t tick)
{
	struct sfd_mark_write next;
	int r;

	sfd_mark_prepare(mark, tick, &next);
	r = write_all(mark->fd, next.data, next.length, next.offset);
	if (r < 0)
		return r;
	if (fdatasync(mark->fd) < 0)
		return -errno;
	sfd_mark_written(mark);
	return 0;
}

int sfd_mark_set(struct sfd_mark *mark, uint64_t tick)
{
	int r;

	memset(mark->next.boot_id, 0, sizeof(mark->next.boot_id));
	r = sfd_mark_store(mark, tick);
	return r < 0 ? r : sfd_mark_store(mark, tick);
}

void sfd_identity_of_machine(struct sfd_identity *identity, uint64_t machine)
{
	/* 48 bits do not fit: the low half, with a bit that no node id has. A random one is another
	 * at each start, but the same stream's. */
	identity->node_count = 1;
	identity->node[0] = UINT32_C(1) << 31;
	if ((machine & SFD_HARDWARE_RANDOM) == 0)
		identity->node[0] |= (uint32_t)machine;
}

/** The file that we have open still has its name. */
static bool is_in_place(const struct sfd_mark_directory *dir, const struct sfd_mark *mark)
{
	struct stat there;
	struct stat ours;

	return fstatat(dir->fd, dir->own_name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstat(mark->fd, &ours) == 0 && there.st_dev == ours.st_dev &&
	       there.st_ino == ours.st_ino;
}

/** What was confirmed last is still what lies there. */
static bool is_as_written(const struct sfd_mark *mark)
{
	struct sfd_mark_record there;

	return pread(mark->fd, &there, sizeof(there),
		     sfd_mark_record_offset(mark->last.sequence)) == sizeof(there) &&
	       memcmp(&there, &mark->last, sizeof(there)) == 0;
}

/** Somebody wrote over the file: the next record must be newer than all that lies there. */
static int write_over(const struct sfd_mark_directory *dir, struct sfd_mark *mark,
		      struct sf_why *why)
{
	uint8_t bytes[SFD_MARK_FILE_BYTES];
	struct sfd_mark_places places;
	size_t length = 0;
	int r = sfd_mark_read_bytes(dir->fd, dir->own_name, bytes, &length);

	if (r == 0)
		r = sfd_fsys_reserve(mark->fd, SFD_MARK_FILE_BYTES);
	if (r < 0)
		return sfd_mark_refuse(dir, dir->own_name, r, "mend the mark file", why);
	sfd_mark_record_look(bytes, length, &places);
	for (size_t i = 0; i < 2; i++)
		if (places.place[i] == SFD_MARK_WHOLE &&
		    places.record[i].sequence > mark->last.sequence)
			mark->last.sequence = places.record[i].sequence;
	r = sfd_mark_store(mark, mark->last.tick);
	if (r == 0) /* and nothing of theirs is left */
		r = sfd_mark_store(mark, mark->last.tick);
	if (r < 0)
		return sfd_mark_refuse(dir, dir->own_name, r, "mend the mark file", why);
	return SF_SHM_REFUSE(why, 1,
			     "%s/%s was written over; it was written anew. Leave it to sfd while "
			     "that runs: a crash before now would have lost the mark",
			     dir->path, dir->own_name);
}

/** Somebody took the file away, or its name. */
static int make_anew(const struct sfd_mark_directory *dir, struct sfd_mark *mark,
		     struct sf_why *why)
{
	int r = create(dir, mark, mark->last.sequence + 1, mark->last.tick, why);

	if (r < 0)
		return r;
	/* A record that is not the very first has another one beside it. */
	r = sfd_mark_store(mark, mark->last.tick);
	if (r < 0)
		return sfd_mark_refuse(dir, dir->own_name, r, "write the new mark file", why);
	return SF_SHM_REFUSE(
		why, 1,
		"%s/%s was removed or replaced; it was made anew. Leave it to sfd while "
		"that runs: a crash before now would have lost the mark",
		dir->path, dir->own_name);
}

int sfd_mark_mend(struct sfd_mark *mark, struct sf_why *why)
{
	struct sfd_mark_directory dir = {.path = mark->path, .stream = mark->next.stream};
	int r = open_dir(&dir, why);

	if (r < 0)
		return r;
	if (!is_in_place(&dir, mark)) {
		r = make_anew(&dir, mark, why);
	} else if (!is_as_written(mark)) {
		r = write_over(&dir, mark, why);
	}
	(void)close(dir.fd);
	return r;
}
