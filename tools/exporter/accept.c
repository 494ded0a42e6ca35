/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Accept headers; see accept.h. Nothing is refused: a header that says nothing of use is none.
 */
#include "tools/exporter/accept.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SPACE " \t"

/** A piece of the header. */
struct piece {
	const char *at;
	size_t length;
};

/** One entry of the header. */
struct range {
	struct piece type;
	struct piece version; /* empty: none */
	double weight;        /* 0: unwanted, to 1 */
};

static bool is(struct piece piece, const char *word)
{
	return piece.length == strlen(word) && strncasecmp(piece.at, word, piece.length) == 0;
}

/** Cuts the rest of `*rest` up to a separator off, without the spaces around it. */
static struct piece cut(struct piece *rest, char separator)
{
	const char *end = memchr(rest->at, separator, rest->length);
	struct piece piece = {rest->at, end ? (size_t)(end - rest->at) : rest->length};
	size_t taken = piece.length + (end ? 1 : 0);

	rest->at += taken;
	rest->length -= taken;
	while (piece.length > 0 && strchr(SPACE, *piece.at)) {
		piece.at++;
		piece.length--;
	}
	while (piece.length > 0 && strchr(SPACE, piece.at[piece.length - 1]))
		piece.length--;
	return piece;
}

static double weight_parse(struct piece piece)
{
	char text[8]; /* the standard knows three decimals */
	double weight;

	if (piece.length >= sizeof(text))
		piece.length = sizeof(text) - 1;
	memcpy(text, piece.at, piece.length);
	text[piece.length] = '\0';
	weight = strtod(text, NULL);
	return weight >= 0 && weight <= 1 ? weight : 0;
}

static struct range range_parse(struct piece entry)
{
	struct range range = {.type = cut(&entry, ';'), .weight = 1};

	while (entry.length > 0) {
		struct piece value = cut(&entry, ';');
		struct piece name = cut(&value, '=');

		if (is(name, "q"))
			range.weight = weight_parse(value);
		else if (is(name, "version"))
			range.version = value;
	}
	return range;
}

enum sfctl_exposition sfctl_accept(const char *header)
{
	struct piece rest = {header, header ? strlen(header) : 0};
	double open = 0;
	double text = 0;

	while (rest.length > 0) {
		struct range range = range_parse(cut(&rest, ','));
		bool is_known = range.version.length == 0 || is(range.version, "1.0.0");

		if (is(range.type, "application/openmetrics-text") && is_known &&
		    range.weight > open)
			open = range.weight;
		else if ((is(range.type, "text/plain") || is(range.type, "text/*") ||
			  is(range.type, "*/*")) &&
			 range.weight > text)
			text = range.weight;
	}
	return open > 0 && open >= text ? SFCTL_OPENMETRICS : SFCTL_PROMETHEUS_TEXT;
}

const char *sfctl_content_type(enum sfctl_exposition exposition)
{
	return exposition == SFCTL_OPENMETRICS
		       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}
