/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * One record of an alias import, as JSON or as fields, and one pair as output. Pure functions; any
 * thread.
 *
 * A record has a key and perhaps a creation time and an ID. It has nothing else: an alias is for
 * good, so a misspelt "created" must not become an ID of now.
 */
#ifndef SFCTL_ALIAS_RECORD_H
#define SFCTL_ALIAS_RECORD_H

#include "shm/sflayout.h"

#include <sfalias.h>
#include <stddef.h>
#include <stdint.h>

/** How records and pairs are written down. */
enum sfctl_alias_format {
	SFCTL_ALIAS_NDJSON, /* {"key":"...","created":"...","id":"..."} a line */
	SFCTL_ALIAS_CSV,    /* the same names in a header line */
	SFCTL_ALIAS_KEYS,   /* a key a line */
};

/** What a record may have. */
enum sfctl_alias_field {
	SFCTL_ALIAS_KEY,
	SFCTL_ALIAS_CREATED,
	SFCTL_ALIAS_ID,
	SFCTL_ALIAS_FIELDS,
};

struct sfctl_alias_entry {
	char key[SF_ALIAS_KEY_MAX + 1];
	uint32_t key_length; /* 0: none yet */
	uint32_t flags;      /* SF_ALIAS_CREATED, SF_ALIAS_ID: what is set of the following */
	int64_t created_unix_ms;
	uint64_t id;
};

/** Room for a pair as text: every byte of the key as \u0000, and what is around it. */
#define SFCTL_ALIAS_PAIR_MAX (SF_ALIAS_KEY_MAX * 6 + 64)

/** Field of a name. @return enum sfctl_alias_field, or -EINVAL with the names in `why` */
int sfctl_alias_field_of(const char *name, size_t length, struct sf_why *why);

/**
 * Sets a field from a text, which a NUL ends that does not count. An empty time or ID is none.
 * @return 0 or -EINVAL
 */
int sfctl_alias_set(struct sfctl_alias_entry *entry, enum sfctl_alias_field field, const char *text,
		    size_t length, struct sf_why *why);

/**
 * Reads a JSON object.
 * @return 0, or -EINVAL with a sentence that goes on after "line 7: "
 */
int sfctl_alias_read_json(const char *text, size_t length, struct sfctl_alias_entry *ret_entry,
			  struct sf_why *why);

/**
 * Writes a pair as a line, "\n" included; SFCTL_ALIAS_KEYS is the ID alone. A NUL may follow.
 * @param buffer room for SFCTL_ALIAS_PAIR_MAX
 * @return number of bytes
 */
size_t sfctl_alias_write(enum sfctl_alias_format format, const char *key, size_t key_length,
			 uint64_t id, char *buffer);

/** The header line of a format, "\n" included; empty where there is none. */
const char *sfctl_alias_header(enum sfctl_alias_format format);

#endif
