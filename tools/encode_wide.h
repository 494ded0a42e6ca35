/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Making single IDs of the wide formats, without sfd. Main thread only.
 */
#ifndef SFCTL_ENCODE_WIDE_H
#define SFCTL_ENCODE_WIDE_H

#include "tools/id.h"
#include "tools/sfctl.h"

/** What the command line asked for. */
struct sfctl_wide_request {
	unsigned format;       /* SF_FORMAT_... */
	const char *time_text; /* NULL: now */
	uint64_t machine;      /* these three for Hound IDs */
	uint32_t client;
	uint32_t sequence;
};

/** Makes it. @return SFCTL_GO_ON, or an exit code after one sentence on stderr */
int sfctl_wide_make(const struct sfctl *sfctl, const struct sfctl_wide_request *request,
		    struct sfctl_id *ret_id);

#endif
