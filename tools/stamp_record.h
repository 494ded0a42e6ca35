/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * One record of `sfctl stamp`: is it a JSON object that can take a member, and what does it look
 * like with that member in front. No I/O, no global state; a scanner belongs to one thread.
 */
#ifndef SFCTL_STAMP_RECORD_H
#define SFCTL_STAMP_RECORD_H

#include <sfformats.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** An ID as records show it. */
struct sfctl_stamp_id {
	uint8_t length;
	char text[SF_WIDE_TEXT_MAX]; /* canonical; needs no escaping and no NUL */
};

/** Longest name of the member. */
#define SFCTL_STAMP_FIELD_MAX 255

/** What a line is. */
enum sfctl_record_kind {
	SFCTL_RECORD_BLANK,  /* nothing but blanks: no record */
	SFCTL_RECORD_MEMBER, /* an object with members: the new one needs a comma */
	SFCTL_RECORD_EMPTY,  /* an object without members */
	SFCTL_RECORD_LINE,   /* any line, in lines mode: the ID and a tab go in front */
	SFCTL_RECORD_BAD,    /* cannot be stamped */
};

/** A line and where its ID goes. */
struct sfctl_record {
	const char *text; /* not NUL-terminated; the newline, if any, is included */
	size_t length;
	size_t insert_at; /* offset of what follows the ID */
	enum sfctl_record_kind kind;
};

/** Scans records for one member name. Zero-initialised: takes any line. */
struct sfctl_scanner {
	char field[SFCTL_STAMP_FIELD_MAX + 1];
	size_t field_length;
	char *prefix; /* `"name":"`, escaped */
	size_t prefix_length;
};

/**
 * A scanner for JSON objects.
 * @return 0, -EINVAL (the name is empty, too long or not UTF-8; reason in `why`) or -ENOMEM
 */
int sfctl_scanner_init(struct sfctl_scanner *scanner, const char *field, struct sf_why *why);
void sfctl_scanner_deinit(struct sfctl_scanner *scanner);

/**
 * Looks at one line. For SFCTL_RECORD_BAD, `why` (unless NULL) says why.
 * @return the kind that `ret_record` holds too
 */
enum sfctl_record_kind sfctl_record_scan(const struct sfctl_scanner *scanner, const char *text,
					 size_t length, struct sfctl_record *ret_record,
					 struct sf_why *why);

/** Most bytes that a stamped record may have. */
size_t sfctl_record_size_max(const struct sfctl_scanner *scanner,
			     const struct sfctl_record *record);

/** Writes the record with its ID. A blank or bad one is copied. @return bytes written */
size_t sfctl_record_write(const struct sfctl_scanner *scanner, const struct sfctl_record *record,
			  const struct sfctl_stamp_id *id, char *buffer);

/** The record takes an ID. */
static inline bool sfctl_record_takes_id(const struct sfctl_record *record)
{
	return record->kind != SFCTL_RECORD_BLANK && record->kind != SFCTL_RECORD_BAD;
}

#endif
