/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * CSV records of an alias import, after RFC 4180: a header line with key, created and id in any
 * order (only key is needed), then a record a line; a field in quotes may hold commas, newlines and
 * doubled quotes. Blanks belong to a field. No I/O; a reader belongs to one thread.
 */
#ifndef SFCTL_ALIAS_CSV_H
#define SFCTL_ALIAS_CSV_H

#include "tools/alias_record.h"

#include <csv.h>
#include <stdbool.h>

struct sfctl_alias_csv {
	struct csv_parser parser;
	/* what the header says */
	enum sfctl_alias_field column[SFCTL_ALIAS_FIELDS];
	unsigned columns; /* 0: the header is still to come */
	/* the row at hand */
	struct sfctl_alias_entry entry;
	unsigned fields;
	bool is_inside; /* it has begun and not ended */
	bool is_done;
	int error; /* of the row */
	struct sf_why why;
};

/** @return 0 or -ENOMEM */
int sfctl_alias_csv_init(struct sfctl_alias_csv *csv);
void sfctl_alias_csv_deinit(struct sfctl_alias_csv *csv);
/** Forgets the record at hand; the next line begins one. @return 0 or -ENOMEM */
int sfctl_alias_csv_reset(struct sfctl_alias_csv *csv);

/**
 * Feeds a line, its newline included, or NULL at the end of the input.
 * @return 1 when it ended a record; 0 when more is needed (csv->is_inside), or it was blank or the
 * header; -EINVAL for a record that is wrong, after which the next may be fine; -EPROTO for a wrong
 * header, which ends it all; -ENOMEM
 */
int sfctl_alias_csv_feed(struct sfctl_alias_csv *csv, const char *line, size_t length,
			 struct sfctl_alias_entry *ret_entry, struct sf_why *why);

#endif
