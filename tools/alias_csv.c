/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * CSV records, line by line, with libcsv in its strict mode. Holds one record at a time.
 */
#include "tools/alias_csv.h"

#include "tools/sfctl.h"

#include <errno.h>
#include <string.h>

/** What may stand around a field without belonging to it: the CR of a CR LF, and no blank. */
static int is_space(unsigned char c)
{
	return c == '\r';
}

/** Lines end at LF only, so that each line that is fed ends at most one record. */
static int is_end(unsigned char c)
{
	return c == '\n';
}

static int parser_init(struct sfctl_alias_csv *csv)
{
	if (csv_init(&csv->parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0)
		return -ENOMEM;
	csv_set_space_func(&csv->parser, is_space);
	csv_set_term_func(&csv->parser, is_end);
	return 0;
}

int sfctl_alias_csv_init(struct sfctl_alias_csv *csv)
{
	*csv = (struct sfctl_alias_csv){.columns = 0};
	return parser_init(csv);
}

void sfctl_alias_csv_deinit(struct sfctl_alias_csv *csv)
{
	csv_free(&csv->parser);
}

int sfctl_alias_csv_reset(struct sfctl_alias_csv *csv)
{
	csv_free(&csv->parser);
	csv->is_inside = false;
	return parser_init(csv);
}

/** Notes what is wrong with the row, unless something was before. */
static void note(struct sfctl_alias_csv *csv, int error, const struct sf_why *why)
{
	if (csv->error != 0)
		return;
	csv->error = error;
	csv->why = *why;
}

static void take_name(struct sfctl_alias_csv *csv, const char *text, size_t length)
{
	struct sf_why why;
	int field = sfctl_alias_field_of(text, length, &why);

	for (unsigned i = 0; field >= 0 && i < csv->fields; i++) {
		if (csv->column[i] != (enum sfctl_alias_field)field)
			continue;
		SFCTL_WHY(&why, "the header has \"%.*s\" twice", (int)length, text);
		field = -EINVAL;
	}
	if (field < 0)
		note(csv, -EPROTO, &why);
	else if (csv->error == 0)
		csv->column[csv->fields] = (enum sfctl_alias_field)field;
}

/** One field: libcsv's callback. */
static void on_field(void *text, size_t length, void *data)
{
	struct sfctl_alias_csv *csv = data;
	struct sf_why why;

	if (csv->columns == 0)
		take_name(csv, text ? text : "", length);
	else if (csv->fields < csv->columns &&
		 sfctl_alias_set(&csv->entry, csv->column[csv->fields], text ? text : "", length,
				 &why) < 0)
		note(csv, -EINVAL, &why);
	csv->fields++;
}

static void end_header(struct sfctl_alias_csv *csv)
{
	bool has_key = false;
	struct sf_why why;

	for (unsigned i = 0; csv->error == 0 && i < csv->fields; i++)
		has_key |= csv->column[i] == SFCTL_ALIAS_KEY;
	if (!has_key) {
		SFCTL_WHY(&why, "the header line has no column \"key\"");
		note(csv, -EPROTO, &why);
	}
	csv->columns = csv->fields;
}

/** The end of a row: libcsv's callback. */
static void on_row(int end, void *data)
{
	struct sfctl_alias_csv *csv = data;
	struct sf_why why;

	(void)end;
	if (csv->columns == 0) {
		end_header(csv);
	} else if (csv->fields != csv->columns) {
		SFCTL_WHY(&why, "the record has %u fields, the header %u", csv->fields,
			  csv->columns);
		note(csv, -EINVAL, &why);
	}
	csv->is_done = true;
}

static bool is_blank(const char *line, size_t length)
{
	return length == 0 || line[0] == '\n' ||
	       (line[0] == '\r' && (length == 1 || line[1] == '\n'));
}

/** The parser is lost within the row: it starts anew behind the line. */
static int give_up(struct sfctl_alias_csv *csv, struct sf_why *why)
{
	int error = csv_error(&csv->parser) == CSV_EPARSE ? -EINVAL : -ENOMEM;

	SFCTL_WHY(why, "%s",
		  error == -ENOMEM
			  ? "out of memory"
			  : "not CSV: a field in quotes goes on behind them or has no end, "
			    "or a quote stands within a field that is in none");
	if (sfctl_alias_csv_reset(csv) < 0)
		return -ENOMEM;
	/* Without its header the rest means nothing. */
	return error == -EINVAL && csv->columns == 0 ? -EPROTO : error;
}

static void row_begin(struct sfctl_alias_csv *csv)
{
	csv->entry = (struct sfctl_alias_entry){.key_length = 0};
	csv->fields = 0;
	csv->error = 0;
}

int sfctl_alias_csv_feed(struct sfctl_alias_csv *csv, const char *line, size_t length,
			 struct sfctl_alias_entry *ret_entry, struct sf_why *why)
{
	bool is_header = csv->columns == 0;

	csv->is_done = false;
	if (!csv->is_inside)
		row_begin(csv);
	if (line ? csv_parse(&csv->parser, line, length, on_field, on_row, csv) != length
		 : csv_fini(&csv->parser, on_field, on_row, csv) != 0)
		return give_up(csv, why);
	csv->is_inside = !csv->is_done && (csv->is_inside || (line && !is_blank(line, length)));
	if (!csv->is_done)
		return 0;
	if (csv->error < 0) {
		*why = csv->why;
		return csv->error;
	}
	if (is_header)
		return 0;
	*ret_entry = csv->entry;
	return 1;
}
