/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The record of this boot in the runtime directory. Opened by the control thread before the beat
 * thread exists, which then writes horizon and time. Losing the record is always safe, since the
 * durable mark lies above its horizon; so what is doubtful is made anew, never repaired.
 */
#include "daemon/mark.h"

#include "daemon/fsys.h"
#include "daemon/log.h"
#include "shm/why.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUNTIME_MAGIC UINT64_C(0x31454d4954444653) /* "SFDTIME1" */
#define RUNTIME_VERSION 2
#define RUNTIME_BYTES 4096u
#define NAME_BYTES 64

static_assert(sizeof(struct sfd_runtime) <= RUNTIME_BYTES, "the record fits its page");

/** What a record is opened for. */
struct purpose {
	const char *dir;
	int dir_fd;
	char name[NAME_BYTES];
	const struct sfd_identity *identity;
	const char *boot_id;
};

static int refuse(const struct purpose *purpose, int error, const char *action, struct sf_why *why)
{
	char path[SFD_FSYS_SHOWN_BYTES];

	return sfd_fsys_refuse(why, error, sfd_fsys_show(path, purpose->dir, purpose->name), action,
			       RUNTIME_BYTES);
}

/* Reserved first: a page of the mapping that finds no room would be SIGBUS.
 * @return NULL with errno set on failure */
static struct sfd_runtime *map(int fd)
{
	const int r = sfd_fsys_reserve(fd, RUNTIME_BYTES);
	void *address;

	if (r < 0) {
		errno = -r;
		return NULL;
	}
	address = mmap(NULL, RUNTIME_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return address == MAP_FAILED ? NULL : address;
}

static bool has_nodes(const struct sfd_identity *a, const struct sfd_identity *b)
{
	return a->node_count == b->node_count &&
	       memcmp(a->node, b->node, a->node_count * sizeof(a->node[0])) == 0;
}

/*
 * @return NULL, or why the record cannot be used. What it says is also set when only the node ids
 * differ: the stream's clients are the same, and their IDs must go on rising.
 */
static const char *judge(const struct sfd_runtime *runtime, const struct purpose *purpose,
			 struct sfd_runtime_found *ret_found)
{
	struct sfd_runtime_found found = {0};

	if (runtime->magic != RUNTIME_MAGIC)
		return "is not a whole record of sfd";
	if (!purpose->boot_id[0])
		return "is of a boot that cannot be told from this one";
	if (runtime->version != RUNTIME_VERSION)
		return "was written by another version of sfd";
	if (strncmp(runtime->boot_id, purpose->boot_id, sizeof(runtime->boot_id)) != 0)
		return "was written before the last boot";
	if (memcmp(&runtime->identity.layout, &purpose->identity->layout,
		   sizeof(purpose->identity->layout)) != 0)
		return "belongs to another layout";
	/* relaxed: its writer has ended */
	found.horizon = atomic_load_explicit(&runtime->horizon, memory_order_relaxed);
	if (found.horizon > sf_shm_last_tick(&purpose->identity->layout))
		return "has a horizon outside its layout";
	if (runtime->identity.node_count > SF_NODES_MAX)
		return "has a malformed list of machine ids";
	found.session = runtime->session;
	found.generation = runtime->generation;
	found.open_mono_ns = runtime->open_mono_ns;
	if (sf_shm_time_read(&runtime->time, &found.clock) < 0 || found.clock.shift > 63)
		return "has a malformed clock";
	*ret_found = found;
	return has_nodes(&runtime->identity, purpose->identity) ? NULL
								: "belongs to other machine ids";
}

/* What lies there is no record: no reason to stop, as long as another can take its name. */
static const char *describe(int error)
{
	return error == -ELOOP ? "is a symbolic link" : "cannot be opened";
}

/** @return the reason why there is no record to go on with, empty for none at all; else NULL */
static const char *open_old(const struct purpose *purpose, struct sfd_runtime **ret_runtime,
			    struct sfd_runtime_found *ret_found)
{
	struct sfd_runtime *runtime = NULL;
	struct stat status;
	const char *reason = NULL;
	int fd = openat(purpose->dir_fd, purpose->name,
			O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? "" : describe(-errno);
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		reason = "is not a regular file";
	else if (status.st_size != RUNTIME_BYTES)
		reason = "has another size than a record";
	else if ((runtime = map(fd)) == NULL)
		reason = "cannot be mapped";
	else
		reason = judge(runtime, purpose, ret_found);
	(void)close(fd);
	if (reason == NULL)
		*ret_runtime = runtime;
	else
		(void)sfd_runtime_close(runtime);
	return reason;
}

/** The magic goes last: without it, whatever is there is no record. */
static void fill(struct sfd_runtime *runtime, const struct purpose *purpose)
{
	runtime->version = RUNTIME_VERSION;
	memcpy(runtime->boot_id, purpose->boot_id, strlen(purpose->boot_id));
	runtime->identity.layout = purpose->identity->layout;
	runtime->identity.node_count = purpose->identity->node_count;
	memcpy(runtime->identity.node, purpose->identity->node,
	       purpose->identity->node_count * sizeof(runtime->identity.node[0]));
	atomic_thread_fence(memory_order_release); /* pairs with nothing but a crash */
	runtime->magic = RUNTIME_MAGIC;
}

/** Makes the record under another name and renames it: a crash leaves none or a whole one. */
static int create(const struct purpose *purpose, struct sfd_runtime **ret_runtime,
		  struct sf_why *why)
{
	struct sfd_runtime *runtime;
	char name[NAME_BYTES + sizeof("..new")];
	int fd;
	int r = 0;

	(void)snprintf(name, sizeof(name), ".%s.new", purpose->name);
	(void)unlinkat(purpose->dir_fd, name, 0); /* left by a crash */
	fd = openat(purpose->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return refuse(purpose, -errno, "create the runtime record", why);
	runtime = map(fd);
	if (runtime == NULL) {
		r = -errno;
		goto out;
	}
	fill(runtime, purpose);
	if (renameat(purpose->dir_fd, name, purpose->dir_fd, purpose->name) < 0) {
		r = -errno;
		goto out;
	}
	*ret_runtime = runtime;
	runtime = NULL;

out:
	if (r < 0) {
		(void)unlinkat(purpose->dir_fd, name, 0);
		r = refuse(purpose, r, "make the runtime record", why);
	}
	(void)sfd_runtime_close(runtime);
	(void)close(fd);
	return r;
}

static int open_in(const struct purpose *purpose, struct sfd_runtime **ret_runtime,
		   struct sfd_runtime_found *ret_found, struct sf_why *why)
{
	struct sfd_runtime_found found = {0};
	const char *reason = open_old(purpose, ret_runtime, &found);

	if (reason != NULL) {
		int r = create(purpose, ret_runtime, why);

		if (r < 0)
			return r;
		if (*reason != '\0')
			sfd_log(SFD_LOG_INFO, "%s/%s %s; it was made anew, %s", purpose->dir,
				purpose->name, reason,
				found.horizon > 0 ? "and the IDs go on above those"
						  : "the durable mark counts");
	}
	*ret_found = found;
	return 0;
}

/* NOLINTNEXTLINE(readability-function-size): four inputs, two results and the sentence */
int sfd_runtime_open(const char *runtime_dir, const char *stream,
		     const struct sfd_identity *identity, const char *boot_id,
		     struct sfd_runtime **ret_runtime, struct sfd_runtime_found *ret_found,
		     struct sf_why *why)
{
	struct purpose purpose = {.dir = runtime_dir, .identity = identity, .boot_id = boot_id};
	int r;

	sf_shm_clear(why);
	if (strlen(stream) >= SF_SHM_STREAM_NAME_MAX ||
	    strlen(boot_id) >= sizeof(((struct sfd_runtime *)NULL)->boot_id))
		return SF_SHM_REFUSE(why, -EINVAL,
				     "stream name %s or boot id %s is too long for the runtime "
				     "record",
				     stream, boot_id);
	(void)snprintf(purpose.name, sizeof(purpose.name), "%s.runtime", stream);
	purpose.dir_fd = open(runtime_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (purpose.dir_fd < 0)
		return sfd_fsys_refuse(why, -errno, runtime_dir, "open the runtime directory", 0);
	r = open_in(&purpose, ret_runtime, ret_found, why);
	(void)close(purpose.dir_fd);
	return r;
}

struct sfd_runtime *sfd_runtime_close(struct sfd_runtime *runtime)
{
	if (runtime != NULL)
		(void)munmap(runtime, RUNTIME_BYTES);
	return NULL;
}
