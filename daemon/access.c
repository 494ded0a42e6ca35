/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Access lists and the credentials of a peer. Lists are read while the configuration is loaded;
 * peers are judged by the control thread. Judging never looks names up: a slow name service must
 * not be able to delay an attach.
 */
#include "daemon/access.h"

#include "shm/why.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A group entry with all its members may be long; beyond this the entry is not believed. */
#define LOOKUP_BYTES_MAX (1u << 20)
/* Room for the groups of almost every process, so that one call is enough. */
#define PEER_GROUPS_FIRST 64
/* The kernel names the size it needs, and a peer's groups are fixed when it connects. */
#define PEER_GROUPS_TRIES 3

static int lookup_user(const char *name, char *buffer, size_t size, uint32_t *ret_id)
{
	struct passwd entry;
	struct passwd *found = NULL;
	int r = getpwnam_r(name, &entry, buffer, size, &found);

	if (r != 0)
		return -r;
	if (found == NULL)
		return -ENOENT;
	*ret_id = entry.pw_uid;
	return 0;
}

static int lookup_group(const char *name, char *buffer, size_t size, uint32_t *ret_id)
{
	struct group entry;
	struct group *found = NULL;
	int r = getgrnam_r(name, &entry, buffer, size, &found);

	if (r != 0)
		return -r;
	if (found == NULL)
		return -ENOENT;
	*ret_id = entry.gr_gid;
	return 0;
}

static int lookup(bool group, const char *name, uint32_t *ret_id)
{
	char *buffer = NULL;
	size_t size = 1024;
	int r = -ERANGE;

	while (r == -ERANGE && size < LOOKUP_BYTES_MAX) {
		char *grown = realloc(buffer, size *= 2);

		if (grown == NULL) {
			r = -ENOMEM;
			break;
		}
		buffer = grown;
		r = group ? lookup_group(name, buffer, size, ret_id)
			  : lookup_user(name, buffer, size, ret_id);
	}
	free(buffer);
	return r;
}

static int append_id(uint32_t **list, size_t *count, uint32_t id)
{
	uint32_t *grown = realloc(*list, (*count + 1) * sizeof(**list));

	if (grown == NULL)
		return -ENOMEM;
	grown[(*count)++] = id;
	*list = grown;
	return 0;
}

/* The highest number means "no user" to the kernel, so it is no id either. */
static int number_to_id(const char *digits, uint32_t *ret_id)
{
	uint64_t id = 0;

	for (; *digits != '\0'; digits++) {
		id = id * 10 + (uint64_t)(*digits - '0');
		if (id >= UINT32_MAX)
			return -ERANGE;
	}
	*ret_id = (uint32_t)id;
	return 0;
}

static int refuse_lookup(const struct sf_shm_token *token, const char *kind, int error,
			 struct sf_why *why)
{
	switch (-error) {
	case ENOMEM:
		return SF_SHM_REFUSE(why, -ENOMEM, "out of memory while looking up a %s", kind);
	case ENOENT:
	case ESRCH:
	case EBADF:
	case EPERM: /* what a name that does not exist may also yield, by the calls' manual */
		(void)sf_shm_refuse_token(
			why, token, "no such %s on this host; create it or correct the list", kind);
		return -ENOENT;
	default:
		(void)sf_shm_refuse_token(why, token,
					  "the %s cannot be looked up (errno %u); give its number",
					  kind, (unsigned)-error);
		return -ENOENT;
	}
}

static int name_to_id(const char *name, bool group, uint32_t *ret_id, struct sf_why *why)
{
	const struct sf_shm_token token = {name, strlen(name)};
	const char *kind = group ? "group" : "user";
	int r;

	if (name[strspn(name, "0123456789")] == '\0') {
		if (number_to_id(name, ret_id) == 0)
			return 0;
		(void)sf_shm_refuse_token(why, &token, "no %s number; legal is [0,%u]", kind,
					  UINT32_MAX - 1);
		return -EINVAL;
	}
	r = lookup(group, name, ret_id);
	if (r != 0)
		return refuse_lookup(&token, kind, r, why);
	return 0;
}

static int add_item(struct sfd_access *access, const char *item, struct sf_why *why)
{
	const bool group = item[0] == '@';
	const char *name = item + (group ? 1 : 0);
	uint32_t id = 0;
	int r;

	if (strcmp(item, "*") == 0) {
		access->everyone = true;
		return 0;
	}
	if (*name == '\0')
		return SF_SHM_REFUSE(why, -EINVAL,
				     "the access list has an empty entry; write users, and groups "
				     "after @, with commas between them (alice, @staff, 1000), or "
				     "* for everyone");
	r = name_to_id(name, group, &id, why);
	if (r < 0)
		return r;
	r = group ? append_id(&access->group, &access->group_count, id)
		  : append_id(&access->user, &access->user_count, id);
	return r == 0 ? 0 : SF_SHM_REFUSE(why, r, "out of memory for the access list");
}

/* Cuts the blanks off both ends of one entry, in place. */
static char *trim(char *text)
{
	static const char blanks[] = " \t";
	size_t length;

	text += strspn(text, blanks);
	length = strlen(text);
	while (length > 0 && strchr(blanks, text[length - 1]) != NULL)
		length--;
	text[length] = '\0';
	return text;
}

int sfd_access_parse(const char *text, struct sfd_access *ret_access, struct sf_why *why)
{
	struct sfd_access access = {0};
	char *copy;
	char *rest;
	int r = 0;

	sf_shm_clear(why);
	copy = strdup(text);
	if (copy == NULL)
		return SF_SHM_REFUSE(why, -ENOMEM, "out of memory for the access list");
	rest = copy;
	while (r == 0 && rest != NULL)
		r = add_item(&access, trim(strsep(&rest, ",")), why);
	/* "*, alice" reads as if alice were special; the writer meant one or the other. */
	if (r == 0 && access.everyone && strchr(text, ',') != NULL)
		r = SF_SHM_REFUSE(why, -EINVAL,
				  "* (everyone) stands beside other entries; leave out one or the "
				  "other");
	if (r == 0)
		*ret_access = access;
	else
		sfd_access_deinit(&access);
	free(copy);
	return r;
}

void sfd_access_deinit(struct sfd_access *access)
{
	free(access->user);
	free(access->group);
	*access = (struct sfd_access){0};
}

static int peer_groups(int fd, gid_t **ret_group, size_t *ret_count)
{
	socklen_t bytes = PEER_GROUPS_FIRST * sizeof(gid_t);
	gid_t *group = NULL;
	int r = -ERANGE;

	for (int i = 0; r == -ERANGE && i < PEER_GROUPS_TRIES; i++) {
		gid_t *grown = realloc(group, bytes);

		if (grown == NULL) {
			r = -ENOMEM;
			break;
		}
		group = grown;
		r = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, group, &bytes) < 0 ? -errno : 0;
	}
	if (r < 0) {
		free(group);
		return r;
	}
	*ret_group = group;
	*ret_count = bytes / sizeof(gid_t);
	return 0;
}

int sfd_peer_init(int fd, struct sfd_peer *ret_peer)
{
	struct ucred credentials;
	socklen_t bytes = sizeof(credentials);
	gid_t *group;
	size_t group_count;
	int r;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) < 0)
		return -errno;
	r = peer_groups(fd, &group, &group_count);
	if (r < 0)
		return r;
	*ret_peer = (struct sfd_peer){
		.pid = credentials.pid,
		.uid = credentials.uid,
		.gid = credentials.gid,
		.group = group,
		.group_count = group_count,
	};
	return 0;
}

void sfd_peer_deinit(struct sfd_peer *peer)
{
	free(peer->group);
	*peer = (struct sfd_peer){0};
}

static bool has_id(const uint32_t *list, size_t count, uint32_t id)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == id)
			return true;
	return false;
}

bool sfd_access_allows(const struct sfd_access *access, const struct sfd_peer *peer)
{
	if (peer->uid == 0 || peer->uid == geteuid() || access->everyone)
		return true;
	if (has_id(access->user, access->user_count, peer->uid))
		return true;
	if (has_id(access->group, access->group_count, peer->gid))
		return true;
	for (size_t i = 0; i < peer->group_count; i++)
		if (has_id(access->group, access->group_count, peer->group[i]))
			return true;
	return false;
}
