/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What an ID says: its time and its parts, as the columns of a table and as JSON. Pure functions,
 * but for memory of the JSON; any thread.
 */
#ifndef SFCTL_EXPLAIN_H
#define SFCTL_EXPLAIN_H

#include "tools/id.h"
#include "tools/rfc3339.h"

#include <jansson.h>

/** Room for any details, the NUL included. */
#define SFCTL_DETAILS_MAX 80

/** A row of the table; texts without blanks inside, but for the details. */
struct sfctl_row {
	char id[SFCTL_ID_TEXT_MAX];
	const char *format;
	char time[SFCTL_RFC3339_MAX];
	char unix_ms[24]; /* "-" where the ID holds no time; `time` too */
	char details[SFCTL_DETAILS_MAX];
};

/** The row of a 64-bit ID. */
void sfctl_explain_number(const struct sf_layout *layout, uint64_t id, const struct sf_parts *parts,
			  struct sfctl_row *ret_row);

/** The row of an ID of a wide format. */
void sfctl_explain_wide(const struct sfctl_id *id, struct sfctl_row *ret_row);

/** An ID of a wide format as an object; NULL when memory is out. The caller owns it. */
json_t *sfctl_wide_json(const struct sfctl_id *id);

#endif
