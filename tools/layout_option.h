/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The layout that a subcommand works with: from --layout, else that of the daemon's stream. And an
 * ID taken apart, as text and JSON. Main thread only.
 */
#ifndef SFCTL_LAYOUT_OPTION_H
#define SFCTL_LAYOUT_OPTION_H

#include "tools/rfc3339.h"
#include "tools/sfctl.h"

#include <jansson.h>

/** How people know a layout: its preset's name, else its notation. */
struct sfctl_layout_label {
	char text[SF_LAYOUT_TEXT_MAX];
};

/** Asks the daemon for the layout of the stream. @return 0, or an error of control.h */
int sfctl_layout_ask(const struct sfctl *sfctl, struct sf_layout *ret_layout, struct sf_why *why);

/**
 * Reads a layout, or asks the daemon where `text` is NULL; it may be that of a wide format.
 * @return SFCTL_GO_ON, or an exit code after one sentence on stderr
 */
int sfctl_layout_any(const struct sfctl *sfctl, const char *text, struct sf_layout *ret_layout);

/** The same for 64-bit IDs only. */
int sfctl_layout(const struct sfctl *sfctl, const char *text, struct sf_layout *ret_layout);

/** Name or notation of a layout. */
struct sfctl_layout_label sfctl_layout_label(const struct sf_layout *layout);

/** An ID and its parts as an object; NULL when memory is out. The caller owns it. */
json_t *sfctl_id_json(const struct sf_layout *layout, uint64_t id, const struct sf_parts *parts);

/**
 * Prints a value and a newline on stdout and gives it up. NULL means that memory was out.
 * @return SFCTL_OK, or SFCTL_FAILED after one sentence on stderr
 */
int sfctl_json_print(const struct sfctl *sfctl, json_t *value, size_t flags);

#endif
