/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The mark in a file. The control thread opens it before other threads exist; then one thread
 * prepares and confirms records. The state directory is locked, so nobody else changes its files.
 *
 * Every file DIR/NAME.mark counts, whoever wrote it: a promise that binds one of our node ids binds
 * us; so does one of our own stream, if its IDs carry no node id. The promises of our own file that
 * do not bind us any more are kept: the file is renamed, and the stream begins another. Never
 * writes to the place of the last confirmed record.
 */
#include "daemon/mark_record.h"

#include "daemon/fsys.h"
#include "daemon/log.h"
#include "shm/why.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NAME_BYTES 96

struct sfd_mark {
	int fd;
	uint64_t sequence; /* of the last confirmed record */
	struct sfd_mark_record next;
};

/** The marks of the directory, as seen from one stream. */
struct directory {
	const char *path;
	int fd;
	const char *stream;
	const struct sfd_identity *identity;
	char own_name[NAME_BYTES];
	bool has_own;
	struct sfd_mark_record own; /* valid when has_own */
	uint64_t tick;              /* the highest that binds us */
	uint64_t others;            /* the highest of those in files that are not our own */
	int64_t written_unix_ns;    /* when the newest of them was */
};

static int refuse(const struct directory *dir, const char *name, int error, const char *action,
		  struct sf_why *why)
{
	char path[SFD_FSYS_SHOWN_BYTES];

	return sfd_fsys_refuse(why, error, sfd_fsys_show(path, dir->path, name), action,
			       SFD_MARK_FILE_BYTES);
}

static int read_bytes(int fd, uint8_t bytes[SFD_MARK_FILE_BYTES], size_t *ret_length)
{
	size_t length = 0;
	ssize_t n;

	do {
		n = pread(fd, bytes + length, SFD_MARK_FILE_BYTES - length, (off_t)length);
		if (n > 0)
			length += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0)
		return -errno;
	*ret_length = length;
	return 0;
}

static int read_file(const struct directory *dir, const char *name,
		     struct sfd_mark_content *ret_content, struct sf_why *why)
{
	uint8_t bytes[SFD_MARK_FILE_BYTES];
	char path[SFD_FSYS_SHOWN_BYTES];
	size_t length = 0;
	int r = 0;
	/* Not to hang on a pipe that lies there. */
	int fd = openat(dir->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return refuse(dir, name, -errno, "read the mark file", why);
	r = read_bytes(fd, bytes, &length);
	(void)close(fd);
	if (r < 0)
		return refuse(dir, name, r, "read the mark file", why);
	return sfd_mark_record_read(bytes, length, sfd_fsys_show(path, dir->path, name),
				    dir->identity, ret_content, why);
}

/* @return whether the record and the identity share a node id */
static bool find_shared(const struct sfd_mark_record *record, const struct sfd_identity *identity,
			uint32_t *ret_node)
{
	uint32_t i = 0;
	uint32_t j = 0;

	while (i < record->node_count && j < identity->node_count) {
		if (record->node[i] == identity->node[j]) {
			*ret_node = record->node[i];
			return true;
		}
		if (record->node[i] < identity->node[j])
			i++;
		else
			j++;
	}
	return false;
}

static bool has_layout(const struct sfd_mark_record *record, const struct sf_layout *layout)
{
	return memcmp(&record->layout, layout, sizeof(*layout)) == 0;
}

static bool has_nodes(const struct sfd_mark_record *record, const struct sfd_identity *identity)
{
	return record->node_count == identity->node_count &&
	       memcmp(record->node, identity->node, identity->node_count * sizeof(uint32_t)) == 0;
}

static int refuse_layout(const struct directory *dir, const char *name,
			 const struct sfd_mark_record *record, uint32_t node, struct sf_why *why)
{
	char path[SFD_FSYS_SHOWN_BYTES];
	char theirs[SF_LAYOUT_TEXT_MAX] = "?";
	char ours[SF_LAYOUT_TEXT_MAX] = "?";

	(void)sf_layout_format(&record->layout, theirs, sizeof(theirs));
	(void)sf_layout_format(&dir->identity->layout, ours, sizeof(ours));
	return SF_SHM_REFUSE(why, -EEXIST,
			     "%s: machine id %u had layout %s, not %s; take another id, or remove "
			     "the file if its old IDs do not matter",
			     sfd_fsys_show(path, dir->path, name), node, theirs, ours);
}

/**
 * IDs with node ids must not meet those of any stream that had one of them; IDs without must not
 * fall below those of their own stream.
 * @param ret_node the node id; set in the first case only
 */
static bool binds(const struct directory *dir, const struct sfd_mark_record *record, bool is_own,
		  uint32_t *ret_node)
{
	if (dir->identity->node_count > 0)
		return find_shared(record, dir->identity, ret_node);
	return (is_own || strcmp(record->stream, dir->stream) == 0) &&
	       has_layout(record, &dir->identity->layout);
}

/** Takes one file of the directory into account. */
static int heed(struct directory *dir, const char *name, struct sf_why *why)
{
	struct sfd_mark_content content = {0};
	bool is_own;
	uint32_t node = 0;
	uint64_t tick;
	int r = read_file(dir, name, &content, why);

	if (r < 0)
		return r;
	is_own = strcmp(name, dir->own_name) == 0;
	if (is_own) {
		dir->has_own = true;
		dir->own = content.record;
	}
	if (!binds(dir, &content.record, is_own, &node))
		return 0;
	if (!has_layout(&content.record, &dir->identity->layout))
		return refuse_layout(dir, name, &content.record, node, why);
	tick = sfd_mark_record_tick(&content);
	if (content.is_damaged)
		sfd_log(SFD_LOG_WARNING,
			"%s/%s: one of its two records is damaged; going on %u ms above the other",
			dir->path, name, SFD_MARK_LEAD_MS);
	if (tick > dir->tick)
		dir->tick = tick;
	if (content.record.written_unix_ns > dir->written_unix_ns)
		dir->written_unix_ns = content.record.written_unix_ns;
	if (!is_own && tick > dir->others)
		dir->others = tick;
	return 0;
}

static int is_mark(const struct dirent *entry)
{
	static const char suffix[] = ".mark";
	const size_t length = strlen(entry->d_name);

	return length >= sizeof(suffix) &&
	       strcmp(entry->d_name + length - (sizeof(suffix) - 1), suffix) == 0;
}

/** Takes every mark of the directory into account; changes nothing. */
static int scan(struct directory *dir, struct sf_why *why)
{
	struct dirent **entry;
	int r = 0;
	int count = scandirat(dir->fd, ".", &entry, is_mark, alphasort);

	if (count < 0)
		return sfd_fsys_refuse(why, -errno, dir->path, "list the state directory", 0);
	for (int i = 0; i < count; i++) {
		if (r == 0)
			r = heed(dir, entry[i]->d_name, why);
		free(entry[i]);
	}
	free(entry);
	return r;
}

/** Renames our file to a name that is free, so that what it promises goes on being read. */
static int set_aside(const struct directory *dir, struct sf_why *why)
{
	char name[NAME_BYTES];
	const uint32_t node = dir->own.node[0];

	(void)snprintf(name, sizeof(name), "%s.%u.mark", dir->stream, node);
	for (unsigned i = 2; faccessat(dir->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0; i++)
		(void)snprintf(name, sizeof(name), "%s.%u-%u.mark", dir->stream, node, i);
	if (errno != ENOENT || renameat(dir->fd, dir->own_name, dir->fd, name) < 0)
		return refuse(dir, dir->own_name, -errno, "set the old mark file aside", why);
	sfd_log(SFD_LOG_INFO,
		"stream %s has other machine ids or another layout than before; the mark of the "
		"old ones is kept in %s/%s",
		dir->stream, dir->path, name);
	return 0;
}

/* Everything that stays the same in all records of this opening. */
static void init_record(struct sfd_mark_record *record, const struct directory *dir)
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
		r = write_all(fd, record, sizeof(*record), sfd_mark_record_offset(1));
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	return r;
}

/**
 * Makes our file under another name and renames it, so that a crash leaves none or a whole one: an
 * empty mark file is never the start of something, always the end.
 */
static int create(const struct directory *dir, struct sfd_mark *mark, struct sf_why *why)
{
	struct sfd_mark_record *record = &mark->next;
	char name[NAME_BYTES];
	int r = 0;

	(void)snprintf(name, sizeof(name), ".%s.mark.new", dir->stream);
	(void)unlinkat(dir->fd, name, 0); /* left by a crash; if it stays, the next call says so */
	mark->fd = openat(dir->fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (mark->fd < 0)
		return refuse(dir, name, -errno, "create the mark file", why);
	complete(record, 1, dir->tick);
	r = fill_new(mark->fd, record);
	if (r == 0 && renameat(dir->fd, name, dir->fd, dir->own_name) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlinkat(dir->fd, name, 0);
		return refuse(dir, dir->own_name, r, "write the new mark file", why);
	}
	if (fsync(dir->fd) < 0)
		return refuse(dir, dir->own_name, -errno, "make the new mark file durable", why);
	mark->sequence = 1;
	return 0;
}

static int open_own(const struct directory *dir, struct sfd_mark *mark, struct sf_why *why)
{
	int r;

	mark->fd = openat(dir->fd, dir->own_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (mark->fd < 0)
		return refuse(dir, dir->own_name, -errno, "open the mark file", why);
	/* A copy put back may have holes, or be cut. */
	r = sfd_fsys_reserve(mark->fd, SFD_MARK_FILE_BYTES);
	if (r < 0)
		return refuse(dir, dir->own_name, r, "reserve room for the mark file", why);
	mark->sequence = dir->own.sequence;
	return 0;
}

static int open_in(struct directory *dir, struct sfd_mark *mark, struct sf_why *why)
{
	int r = scan(dir, why);

	if (r < 0)
		return r;
	init_record(&mark->next, dir);
	if (dir->has_own && has_nodes(&dir->own, dir->identity) &&
	    has_layout(&dir->own, &dir->identity->layout)) {
		r = open_own(dir, mark, why);
	} else {
		r = dir->has_own ? set_aside(dir, why) : 0;
		if (r == 0)
			r = create(dir, mark, why);
	}
	mark->next.restarts++;
	return r;
}

int sfd_mark_open(const char *state_dir, const char *stream, const struct sfd_identity *identity,
		  struct sfd_mark **ret_mark, struct sfd_mark_found *ret_found, struct sf_why *why)
{
	struct directory dir = {.path = state_dir, .stream = stream, .identity = identity};
	struct sfd_mark *mark;
	int r;

	sf_shm_clear(why);
	if (strlen(stream) >= SF_SHM_STREAM_NAME_MAX)
		return SF_SHM_REFUSE(why, -EINVAL, "stream name %s is longer than %u bytes", stream,
				     SF_SHM_STREAM_NAME_MAX - 1u);
	(void)snprintf(dir.own_name, sizeof(dir.own_name), "%s.mark", stream);
	mark = calloc(1, sizeof(*mark));
	if (mark == NULL)
		return SF_SHM_REFUSE(why, -ENOMEM, "out of memory for the mark of stream %s",
				     stream);
	mark->fd = -1;
	dir.fd = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir.fd < 0) {
		r = sfd_fsys_refuse(why, -errno, state_dir, "open the state directory", 0);
	} else {
		r = open_in(&dir, mark, why);
		(void)close(dir.fd);
	}
	if (r < 0) {
		(void)sfd_mark_close(mark);
		return r;
	}
	*ret_mark = mark;
	*ret_found = (struct sfd_mark_found){
		.tick = dir.tick,
		.others = dir.others,
		.written_unix_ns = dir.written_unix_ns,
		.restarts = dir.has_own ? dir.own.restarts : 0,
	};
	return 0;
}

struct sfd_mark *sfd_mark_close(struct sfd_mark *mark)
{
	if (mark == NULL)
		return NULL;
	if (mark->fd >= 0)
		(void)close(mark->fd);
	free(mark);
	return NULL;
}

int sfd_mark_fd(const struct sfd_mark *mark)
{
	return mark->fd;
}

void sfd_mark_prepare(struct sfd_mark *mark, uint64_t tick, struct sfd_mark_write *ret_write)
{
	complete(&mark->next, mark->sequence + 1, tick);
	*ret_write = (struct sfd_mark_write){
		.data = &mark->next,
		.length = sizeof(mark->next),
		.offset = sfd_mark_record_offset(mark->next.sequence),
	};
}

void sfd_mark_written(struct sfd_mark *mark)
{
	mark->sequence = mark->next.sequence;
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
