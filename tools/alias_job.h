/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What the store keeps of an import's job beside its place in the input: enough to see that a later
 * run reads the same input in the same way, and goes on with the same output. Pure functions.
 */
#ifndef SFCTL_ALIAS_JOB_H
#define SFCTL_ALIAS_JOB_H

#include "tools/alias_output.h"

struct sfctl_alias_job {
	enum sfctl_alias_format format; /* of the input */
	uint64_t digest;                /* of the input before the place */
	bool has_output;                /* the rest is valid */
	struct sfctl_alias_extent output;
};

/** Names of the formats, as --format has them. */
extern const char *const sfctl_alias_format_names[3];

/** Writes it as a text for struct sf_alias_job. @param buffer room for SF_ALIAS_JOB_MAX + 1 */
void sfctl_alias_job_format(const struct sfctl_alias_job *job, char *buffer);

/** Reads such a text. @return 0, or -EPROTO when it is none */
int sfctl_alias_job_parse(const char *text, struct sfctl_alias_job *ret_job);

#endif
