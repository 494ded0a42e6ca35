/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Giving up privileges; see privilege.h. Two resource limits stand for the two capabilities that
 * would be of use, and allow less: RLIMIT_RTPRIO for the beat's real-time priority, RLIMIT_MEMLOCK
 * for locked memory. Only where root may not raise such a limit is its capability kept, so that it
 * outlives the exec of a hand-over as the limit would.
 *
 * What root changes here may lie within reach of the user that it becomes. So nothing is changed by
 * its path: it is opened without following links, looked at, and changed through the descriptor.
 */
#include "daemon/privilege.h"

#include "daemon/config.h"
#include "daemon/fsys.h"
#include "daemon/lock.h"
#include "daemon/log.h"
#include "shm/nodes.h"
#include "shm/why.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An entry of the user database may be long; beyond this it is not believed. */
#define LOOKUP_BYTES (1u << 16)
#define RUNTIME_MODE 0755
#define STATE_MODE 0700
#define NODES_MODE 0666
/* SCHED_FIFO at its lowest, which is all that the beat thread asks for. */
#define REALTIME_PRIORITY 1

int sfd_account_find(const char *name, struct sfd_account *ret_account)
{
	struct sfd_account account = {0};
	struct passwd entry;
	struct passwd *found = NULL;
	char *buffer;
	int r;

	if (strlen(name) >= sizeof(account.name) || *name == '\0')
		return -ENOENT;
	buffer = malloc(LOOKUP_BYTES);
	if (buffer == NULL)
		return -ENOMEM;
	r = getpwnam_r(name, &entry, buffer, LOOKUP_BYTES, &found);
	if (found != NULL) {
		memcpy(account.name, name, strlen(name));
		account.uid = entry.pw_uid;
		account.gid = entry.pw_gid;
		*ret_account = account;
		r = 0;
	} else if (r == 0 || r == ESRCH || r == EBADF || r == EPERM) {
		r = ENOENT; /* by the call's manual, all of these may say so */
	}
	free(buffer);
	return -r;
}

/* ---- directories ---- */

static bool ends_with(const char *name, const char *end)
{
	size_t length = strlen(name);

	return length > strlen(end) && strcmp(name + length - strlen(end), end) == 0;
}

static bool is_ours(const char *name)
{
	return strcmp(name, "sfd.lock") == 0 || strcmp(name, "host") == 0 ||
	       ends_with(name, ".mark") || ends_with(name, ".runtime") || ends_with(name, ".new");
}

/**
 * A file that an sfd left which ran as root. A second name could belong to something of root's that
 * the user linked here.
 */
static int give_file(int dir_fd, const char *name, const struct sfd_account *account)
{
	struct stat status;
	int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int r = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1 &&
	    status.st_uid == 0 && fchownat(fd, "", account->uid, account->gid, AT_EMPTY_PATH) < 0)
		r = -errno;
	(void)close(fd);
	return r;
}

/**
 * Hands over the files, unless it is only to look.
 * @param ret_is_shared there are directories, too, which sfd never makes
 */
static int give_files(int fd, bool is_look, const struct sfd_account *account, bool *ret_is_shared)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	int r = 0;

	if (dir == NULL) {
		r = -errno;
		if (copy >= 0)
			(void)close(copy);
		return r;
	}
	while (r == 0 && (entry = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe) */
		if (entry->d_name[0] == '.' && strspn(entry->d_name, ".") == strlen(entry->d_name))
			continue;
		if (entry->d_type == DT_DIR)
			*ret_is_shared = true;
		else if (!is_look && is_ours(entry->d_name))
			r = give_file(fd, entry->d_name, account);
	}
	(void)closedir(dir);
	return r;
}

/** /run or /tmp are not: they hold what is others'. @return a negative errno with a sentence */
static int refuse_shared(int fd, const char *what, const char *path,
			 const struct sfd_account *account, struct sf_why *why)
{
	struct stat status = {0};
	struct stat name = {0};
	bool is_shared = false;
	int r = fstat(fd, &status) < 0 || lstat(path, &name) < 0 ? -errno : 0;

	if (r == 0)
		r = give_files(fd, true, account, &is_shared);
	if (r < 0)
		return sfd_fsys_refuse(why, r, path, "look at the directory", 0);
	if (status.st_uid == 0 && name.st_ino == status.st_ino &&
	    (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 && !is_shared)
		return 0;
	return SF_SHM_REFUSE(why, -EPERM,
			     "%s: the %s directory is not sfd's alone, so it is not given to user "
			     "%s; name another %s_dir, or make user %s its owner",
			     path, what, account->name, what, account->name);
}

/**
 * Hands over a directory that is root's, and the files in it. In one that is the user's already
 * the files stay as they are: what lies there, the user may have put there.
 */
static int give_directory(int fd, const char *what, const char *path,
			  const struct sfd_account *account, struct sf_why *why)
{
	struct stat status;
	bool ignored = false;
	int r;

	if (fstat(fd, &status) == 0 && status.st_uid == account->uid)
		return 0;
	r = refuse_shared(fd, what, path, account, why);
	if (r < 0)
		return r;
	r = give_files(fd, false, account, &ignored);
	if (r == 0 && fchown(fd, account->uid, account->gid) < 0)
		r = -errno;
	return r < 0 ? sfd_fsys_refuse(why, r, path, "make the user its owner", 0) : 0;
}

static int give(const char *what, const char *path, mode_t mode, const struct sfd_account *account,
		struct sf_why *why)
{
	int fd;
	int r = sfd_lock_make_dir(what, path, mode, why);

	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return sfd_fsys_refuse(why, -errno, path, "open the directory", 0);
	r = give_directory(fd, what, path, account, why);
	(void)close(fd);
	return r;
}

/**
 * Whoever made the file of machine ids could remove it, since it lies in a directory for all, and
 * the next sfd would lock the ids in another one. Root takes it over as it is: a new one would be
 * just that other file. All may go on locking in it.
 */
static int take_nodes_file(struct sf_why *why)
{
	const char *path = NULL;
	struct stat status;
	bool is_theirs;
	int fd = sf_shm_nodes_open(&path);
	int r = 0;

	if (fd < 0)
		return 0; /* who locks in it says why, and what to do */
	is_theirs = fstat(fd, &status) == 0 && status.st_nlink == 1 &&
		    (status.st_uid != 0 || (status.st_mode & 07777) != NODES_MODE);
	if (is_theirs && (fchown(fd, 0, 0) < 0 || fchmod(fd, NODES_MODE) < 0))
		r = -errno;
	(void)close(fd); /* no lock is held yet that this would drop */
	return r < 0 ? sfd_fsys_refuse(why, r, path, "take over the file of machine ids", 0) : 0;
}

/* ---- the process ---- */

/** @return whether the limit is `wanted` at least afterwards */
static bool raise_limit(__rlimit_resource_t resource, rlim_t wanted)
{
	struct rlimit limit = {0};

	if (getrlimit(resource, &limit) < 0 || limit.rlim_cur >= wanted)
		return limit.rlim_cur >= wanted;
	limit.rlim_cur = wanted;
	if (limit.rlim_max < wanted)
		limit.rlim_max = wanted;
	return setrlimit(resource, &limit) == 0;
}

/** What stands for capabilities. @return those of them that are still needed, as a mask */
static uint32_t raise_limits(void)
{
	uint32_t kept = 0;

	if (!raise_limit(RLIMIT_MEMLOCK, RLIM_INFINITY))
		kept |= CAP_TO_MASK(CAP_IPC_LOCK);
	if (!raise_limit(RLIMIT_RTPRIO, REALTIME_PRIORITY))
		kept |= CAP_TO_MASK(CAP_SYS_NICE);
	return kept;
}

static uint32_t bit_of(unsigned long capability)
{
	return capability < 32 ? CAP_TO_MASK(capability) : 0;
}

/** Without them a program that is executed gets none either. A container may forbid even this. */
static void drop_bounding_set(uint32_t kept)
{
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0UL, 0UL, 0UL) >= 0; cap++)
		if ((bit_of(cap) & kept) == 0)
			(void)prctl(PR_CAPBSET_DROP, cap, 0UL, 0UL, 0UL);
}

/** As far as the process has them; ambient, so that the next image has them, too. */
static int keep_capabilities(uint32_t kept)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	kept &= data[0].permitted;
	memset(data, 0, sizeof(data));
	data[0].effective = data[0].permitted = data[0].inheritable = kept;
	if (syscall(SYS_capset, &header, data) < 0)
		return -errno;
	for (unsigned long cap = 0; cap < 32; cap++)
		if ((bit_of(cap) & kept) != 0)
			(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0UL, 0UL);
	return 0;
}

static int become(const struct sfd_account *account, struct sf_why *why)
{
	const uint32_t kept = raise_limits();
	int r = 0;

	drop_bounding_set(kept);
	if (prctl(PR_SET_KEEPCAPS, kept != 0 ? 1UL : 0UL, 0UL, 0UL, 0UL) < 0 ||
	    initgroups(account->name, account->gid) < 0 ||
	    setresgid(account->gid, account->gid, account->gid) < 0 ||
	    setresuid(account->uid, account->uid, account->uid) < 0)
		r = -errno;
	if (r == 0)
		r = keep_capabilities(kept);
	if (r < 0)
		return SF_SHM_REFUSE(why, r,
				     "sfd cannot become user %s (%s): start it as that user, or "
				     "say user = root",
				     account->name, strerrordesc_np(-r));
	sfd_log(SFD_LOG_INFO, "running as user %s (%u)", account->name, account->uid);
	return 0;
}

static int stop_being_root(const struct sfd_config *config, bool is_first, struct sf_why *why)
{
	const struct sfd_account *account = &config->account;
	int r = is_first ? take_nodes_file(why) : 0;

	if (r < 0 || (account->is_named && account->uid == 0))
		return r;
	if (!sfd_account_is_known(account)) {
		if (is_first) /* of a hand-over the one before has told */
			sfd_log(SFD_LOG_WARNING,
				"running as root, since there is no user " SFD_ACCOUNT_DEFAULT
				": make it (systemd-sysusers, or useradd "
				"--system " SFD_ACCOUNT_DEFAULT "), or say user = root");
		return 0;
	}
	r = give("runtime", config->runtime_dir, RUNTIME_MODE, account, why);
	if (r == 0)
		r = give("state", config->state_dir, STATE_MODE, account, why);
	return r < 0 ? r : become(account, why);
}

int sfd_privilege_drop(const struct sfd_config *config, bool is_first, struct sf_why *why)
{
	int r;

	sf_shm_clear(why);
	r = geteuid() == 0 ? stop_being_root(config, is_first, why) : 0;
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) < 0)
		r = SF_SHM_REFUSE(why, -errno, "new privileges cannot be forsworn: %s",
				  strerrordesc_np(errno));
	if (r == 0 && sfd_account_is_known(&config->account) && geteuid() == config->account.uid)
		(void)setenv(SFD_PRIVILEGE_HOST, "1", 1); /* NOLINT(concurrency-mt-unsafe) */
	return r;
}
