/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The output of an alias import. A file is never cut before it is known to be the one that an
 * earlier run wrote, or to be given up. Main thread.
 */
#include "tools/alias_output.h"

#include "tools/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const struct sfctl_alias_output *output, const char *action, int error)
{
	return sfctl_fail(output->sfctl, "cannot %s %.200s: %s", action, output->path,
			  strerrordesc_np(error));
}

int sfctl_alias_output_open(struct sfctl_alias_output *output)
{
	struct stat status;
	int fd;

	if (!output->path)
		return SFCTL_OK;
	if (strcmp(output->path, "-") == 0) {
		output->file = stdout;
		return SFCTL_OK;
	}
	fd = open(output->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return fail(output, "open", errno);
	output->file = fdopen(fd, "w");
	if (!output->file || fstat(fd, &status) < 0) {
		int error = errno;

		if (!output->file)
			(void)close(fd);
		return fail(output, "open", error);
	}
	output->is_file = S_ISREG(status.st_mode);
	output->all = (struct sfctl_alias_extent){
		.device = status.st_dev,
		.inode = status.st_ino,
		.digest = SFCTL_DIGEST_EMPTY,
	};
	output->marked = output->all;
	return SFCTL_OK;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return S_ISREG(b->st_mode) && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

int sfctl_alias_output_check(const struct sfctl_alias_output *output, int input_fd,
			     const char *store_path)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
	struct stat own;
	struct stat other;

	if (!output->file || fstat(fileno(output->file), &own) < 0)
		return SFCTL_OK;
	if (fstat(input_fd, &other) == 0 && is_same(&own, &other))
		return sfctl_fail(output->sfctl, "output %.200s is the input; name another file",
				  output->path);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		char *path = NULL;
		int r;

		if (asprintf(&path, "%s%s", store_path, suffixes[i]) < 0)
			return sfctl_fail(output->sfctl, "out of memory");
		r = stat(path, &other);
		free(path);
		if (r == 0 && is_same(&own, &other))
			return sfctl_fail(output->sfctl,
					  "output %.200s is a file of the store; name another one",
					  output->path);
	}
	return SFCTL_OK;
}

bool sfctl_alias_output_has_bytes(const struct sfctl_alias_output *output)
{
	struct stat status;

	return output->is_file && fstat(fileno(output->file), &status) == 0 && status.st_size > 0;
}

/** Everything that is written comes by here. Errors are found when it has to be on disk. */
static void put(struct sfctl_alias_output *output, const char *text, size_t length)
{
	(void)fwrite(text, 1, length, output->file);
	output->all.length += length;
	output->all.digest = sfctl_digest(output->all.digest, text, length);
}

/** Cuts the file off behind what is written, and starts it where it is empty. */
static int cut(struct sfctl_alias_output *output)
{
	const char *header = sfctl_alias_header(output->format);
	off_t length = (off_t)output->all.length;

	if (output->is_file && (ftruncate(fileno(output->file), length) < 0 ||
				fseeko(output->file, length, SEEK_SET) < 0))
		return fail(output, "write", errno);
	if (length == 0)
		put(output, header, strlen(header));
	return SFCTL_OK;
}

int sfctl_alias_output_begin(struct sfctl_alias_output *output)
{
	return output->file ? cut(output) : SFCTL_OK;
}

/** Digest of the first bytes of the file, whose end may come before. @return 0 or -errno */
static int digest_file(const char *path, uint64_t length, uint64_t *ret_digest)
{
	char buffer[65536];
	uint64_t digest = SFCTL_DIGEST_EMPTY;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t count = 1;
	int error;

	if (fd < 0)
		return -errno;
	while (length > 0 && count > 0) {
		count = read(fd, buffer, length < sizeof(buffer) ? length : sizeof(buffer));
		if (count > 0) {
			digest = sfctl_digest(digest, buffer, (size_t)count);
			length -= (uint64_t)count;
		}
	}
	error = count < 0 ? errno : 0;
	(void)close(fd);
	*ret_digest = digest;
	return -error;
}

int sfctl_alias_output_go_on(struct sfctl_alias_output *output,
			     const struct sfctl_alias_extent *extent)
{
	struct stat status;
	uint64_t digest = 0;
	int r;

	if (fstat(fileno(output->file), &status) < 0)
		return fail(output, "read", errno);
	r = digest_file(output->path, extent->length, &digest);
	if (r < 0)
		return fail(output, "read", -r);
	if (extent->device != output->all.device || extent->inode != output->all.inode ||
	    (uint64_t)status.st_size < extent->length || digest != extent->digest)
		return sfctl_fail(output->sfctl,
				  "output %.200s is not as the last run left it, and cannot be "
				  "gone on with; run without --resume, which does no harm",
				  output->path);
	output->all = *extent;
	output->marked = *extent;
	return cut(output);
}

/** Sees to it that what was written is on disk. A stream has none. */
static int settle(struct sfctl_alias_output *output)
{
	if (fflush(output->file) != 0 || ferror(output->file) != 0 ||
	    (output->is_file && fdatasync(fileno(output->file)) < 0))
		return fail(output, "write", errno);
	return SFCTL_OK;
}

int sfctl_alias_output_write(struct sfctl_alias_output *output,
			     const struct sf_alias_record *records, size_t count, size_t marked)
{
	char pair[SFCTL_ALIAS_PAIR_MAX];
	struct sfctl_alias_extent mark;
	int status;

	if (!output->file)
		return SFCTL_OK;
	for (size_t i = 0; i < count; i++) {
		if (i == marked)
			mark = output->all;
		if (records[i].error == 0)
			put(output, pair,
			    sfctl_alias_write(output->format, records[i].key, records[i].key_length,
					      records[i].id, pair));
	}
	if (marked >= count)
		mark = output->all;
	status = settle(output);
	if (status == SFCTL_OK)
		output->marked = mark;
	return status;
}

int sfctl_alias_output_close(struct sfctl_alias_output *output)
{
	FILE *file = output->file;
	bool has_failed = file && ferror(file) != 0; /* which was told */

	output->file = NULL;
	if (!file || file == stdout)
		return SFCTL_OK;
	return fclose(file) == 0 || has_failed ? SFCTL_OK : fail(output, "write", errno);
}
