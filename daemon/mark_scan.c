/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Every mark of a state directory, and which of them bind a stream. The state directory is locked,
 * so nobody else changes its files. Runs while only one thread exists.
 *
 * Every file DIR/NAME.mark counts, whoever wrote it: a promise that binds one of our node ids binds
 * us; so does one of our own stream, if its IDs carry no node id.
 */
#include "daemon/mark_scan.h"

#include "daemon/fsys.h"
#include "daemon/log.h"
#include "shm/why.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int sfd_mark_refuse(const struct sfd_mark_directory *dir, const char *name, int error,
		    const char *action, struct sf_why *why)
{
	char path[SFD_FSYS_SHOWN_BYTES];

	return sfd_fsys_refuse(why, error, sfd_fsys_show(path, dir->path, name), action,
			       SFD_MARK_FILE_BYTES);
}

int sfd_mark_read_bytes(int dir_fd, const char *name, uint8_t ret_bytes[SFD_MARK_FILE_BYTES],
			size_t *ret_length)
{
	size_t length = 0;
	ssize_t n;
	int r = 0;
	/* Not to hang on a pipe that lies there. */
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	do {
		n = pread(fd, ret_bytes + length, SFD_MARK_FILE_BYTES - length, (off_t)length);
		if (n > 0)
			length += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0)
		r = -errno;
	(void)close(fd);
	*ret_length = length;
	return r;
}

static int read_file(const struct sfd_mark_directory *dir, const char *name,
		     struct sfd_mark_content *ret_content, struct sf_why *why)
{
	uint8_t bytes[SFD_MARK_FILE_BYTES];
	char path[SFD_FSYS_SHOWN_BYTES];
	size_t length = 0;
	int r = sfd_mark_read_bytes(dir->fd, name, bytes, &length);

	if (r < 0)
		return sfd_mark_refuse(dir, name, r, "read the mark file", why);
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

static int refuse_layout(const struct sfd_mark_directory *dir, const char *name,
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
static bool binds(const struct sfd_mark_directory *dir, const struct sfd_mark_record *record,
		  bool is_own, uint32_t *ret_node)
{
	if (dir->identity->node_count > 0)
		return find_shared(record, dir->identity, ret_node);
	return (is_own || strcmp(record->stream, dir->stream) == 0) &&
	       has_layout(record, &dir->identity->layout);
}

/** Takes one file of the directory into account. */
static int heed(struct sfd_mark_directory *dir, const char *name, struct sf_why *why)
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

int sfd_mark_list(int dir_fd, struct dirent ***ret_entry)
{
	const int count = scandirat(dir_fd, ".", ret_entry, is_mark, alphasort);

	return count < 0 ? -errno : count;
}

int sfd_mark_scan(struct sfd_mark_directory *dir, struct sf_why *why)
{
	struct dirent **entry;
	int r = 0;
	int count = sfd_mark_list(dir->fd, &entry);

	if (count < 0)
		return sfd_fsys_refuse(why, count, dir->path, "list the state directory", 0);
	for (int i = 0; i < count; i++) {
		if (r == 0)
			r = heed(dir, entry[i]->d_name, why);
		free(entry[i]);
	}
	free(entry);
	return r;
}

bool sfd_mark_is_ours(const struct sfd_mark_directory *dir)
{
	return dir->has_own && has_nodes(&dir->own, dir->identity) &&
	       has_layout(&dir->own, &dir->identity->layout);
}

int sfd_mark_set_aside(struct sfd_mark_directory *dir, struct sf_why *why)
{
	char name[SFD_MARK_NAME_BYTES];
	const uint32_t node = dir->own.node[0];

	(void)snprintf(name, sizeof(name), "%s.%u.mark", dir->stream, node);
	for (unsigned i = 2; faccessat(dir->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0; i++)
		(void)snprintf(name, sizeof(name), "%s.%u-%u.mark", dir->stream, node, i);
	if (errno != ENOENT || renameat(dir->fd, dir->own_name, dir->fd, name) < 0)
		return sfd_mark_refuse(dir, dir->own_name, -errno, "set the old mark file aside",
				       why);
	memcpy(dir->kept_name, name, sizeof(name));
	sfd_log(SFD_LOG_INFO,
		"stream %s has other machine ids or another layout than before; the mark of the "
		"old ones is kept in %s/%s",
		dir->stream, dir->path, name);
	return 0;
}
