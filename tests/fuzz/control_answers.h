/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What the control protocol has for an answer to any message, told from the protocol alone, with
 * none of sfd's own code: for the fuzzer of conversations. Three streams: one open to everybody,
 * one with a list, which also makes callers wait when the clock goes back, and one for nobody.
 */
#ifndef FUZZ_CONTROL_ANSWERS_H
#define FUZZ_CONTROL_ANSWERS_H

#include "shm/control.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define STREAMS 3
#define LISTED 1
#define LISTED_USER 54321u
#define LISTED_GROUP 54322u
#define REQUEST_BYTES 64u
#define UPGRADE_BYTES 1024u

enum verdict {
	ANSWERED,
	REFUSED, /* and the connection goes on */
	DROPPED, /* refused, and closed */
	HUNG_UP, /* closed without an answer */
	AWAITED, /* an upgrade: answered when it is known how that went */
};

/** The answer that a message must get. */
struct expected {
	enum verdict verdict;
	int status;
	uint16_t type;
	int stream;  /* -1: none */
	bool is_old; /* ATTACH by a client that knows no tally: the answer has none */
};

static const char *const stream_names[STREAMS] = {"open", "listed", "closed"};

static inline int stream_named(const char *name)
{
	for (int i = 0; i < STREAMS; i++)
		if (strcmp(stream_names[i], name) == 0)
			return i;
	return -1;
}

static inline bool is_sfds_own(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

/** `gid` and the group after it are the peer's. */
static inline bool may_attach_to(uid_t uid, gid_t gid, int stream)
{
	if (is_sfds_own(uid) || stream == 0)
		return true;
	return stream == LISTED &&
	       (uid == LISTED_USER || gid == LISTED_GROUP || gid + 1 == LISTED_GROUP);
}

static inline struct expected expect_attach(uid_t uid, gid_t gid,
					    const struct sf_control_request *request)
{
	struct expected expected = {.verdict = REFUSED,
				    .type = SF_CONTROL_ATTACH,
				    .stream = stream_named(request->stream),
				    .is_old = request->abi_minor < 2};

	if (expected.stream < 0)
		expected.status = -ENOENT;
	else if (request->abi_major != 1 || (request->abi_minor == 0 && expected.stream == LISTED))
		expected.status = -EPROTO;
	else if (!may_attach_to(uid, gid, expected.stream))
		expected.status = -EACCES;
	else
		expected.verdict = ANSWERED;
	return expected;
}

static inline struct expected expect_report(const struct sf_control_request *request)
{
	struct expected expected = {.type = request->head.type,
				    .stream = stream_named(request->stream)};

	if (request->stream[0] == '\0')
		expected.stream = request->index < STREAMS ? (int)request->index : -1;
	if (expected.stream < 0) {
		expected.verdict = REFUSED;
		expected.status = -ENOENT;
	}
	return expected;
}

/** `can_upgrade`: 0, or what keeps sfd from it now. */
static inline struct expected expect_upgrade(uid_t uid, const char *path, int can_upgrade)
{
	struct expected expected = {.verdict = REFUSED, .type = SF_CONTROL_UPGRADE, .stream = -1};

	if (!is_sfds_own(uid))
		expected.status = -EPERM;
	else if (path[0] != '\0' && path[0] != '/')
		expected.status = -EINVAL;
	else if (can_upgrade < 0)
		expected.status = can_upgrade;
	else
		expected.verdict = AWAITED;
	return expected;
}

/** What `length` bytes, behind which lie zeros up to UPGRADE_BYTES, must be answered with. */
static inline struct expected expect(uid_t uid, gid_t gid, const void *bytes, size_t length,
				     int can_upgrade)
{
	const struct sf_control_request *request = bytes;
	const struct sf_control_head *head = bytes;
	bool is_upgrade = head->type == 4;
	size_t wanted = is_upgrade ? UPGRADE_BYTES : REQUEST_BYTES;
	const char *text = (const char *)(head + 1);
	size_t text_bytes = is_upgrade ? UPGRADE_BYTES - sizeof(*head) : sizeof(request->stream);

	if (length == 0)
		return (struct expected){.verdict = HUNG_UP, .stream = -1};
	if (length != wanted || head->length != length || head->magic != 0x43444653u ||
	    head->version != 1 || head->type < 1 || head->type > 4 ||
	    strnlen(text, text_bytes) == text_bytes)
		return (struct expected){.verdict = DROPPED, .status = -EPROTO, .stream = -1};
	if (is_upgrade)
		return expect_upgrade(uid, text, can_upgrade);
	if (head->type == SF_CONTROL_ATTACH)
		return expect_attach(uid, gid, request);
	return expect_report(request);
}

#endif
