/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The text is JSON, in which numbers have 64 bits and a sign.
 */
#include "tools/alias_job.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

const char *const sfctl_alias_format_names[3] = {
	[SFCTL_ALIAS_NDJSON] = "ndjson",
	[SFCTL_ALIAS_CSV] = "csv",
	[SFCTL_ALIAS_KEYS] = "keys",
};

void sfctl_alias_job_format(const struct sfctl_alias_job *job, char *buffer)
{
	const struct sfctl_alias_extent *output = &job->output;
	int used = snprintf(buffer, SF_ALIAS_JOB_MAX + 1, "{\"format\":\"%s\",\"input\":%" PRId64,
			    sfctl_alias_format_names[job->format], (int64_t)job->digest);

	if (job->has_output)
		used += snprintf(buffer + used, SF_ALIAS_JOB_MAX + 1 - (size_t)used,
				 ",\"output\":[%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "]",
				 (int64_t)output->device, (int64_t)output->inode,
				 (int64_t)output->length, (int64_t)output->digest);
	memcpy(buffer + used, "}", 2);
}

int sfctl_alias_job_parse(const char *text, struct sfctl_alias_job *ret_job)
{
	struct sfctl_alias_job job = {.format = SFCTL_ALIAS_NDJSON};
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	json_t *output = NULL;
	const char *format = NULL;
	json_int_t digest = 0;
	json_int_t part[4] = {0};
	int r = json_unpack(root, "{s:s,s:I,s?o!}", "format", &format, "input", &digest, "output",
			    &output);

	if (r == 0 && output)
		r = json_unpack(output, "[IIII!]", &part[0], &part[1], &part[2], &part[3]);
	job.digest = (uint64_t)digest;
	job.has_output = output != NULL;
	job.output = (struct sfctl_alias_extent){(uint64_t)part[0], (uint64_t)part[1],
						 (uint64_t)part[2], (uint64_t)part[3]};
	for (int i = 0; r == 0 && i < 3; i++) {
		if (strcmp(format, sfctl_alias_format_names[i]) != 0)
			continue;
		job.format = (enum sfctl_alias_format)i;
		*ret_job = job;
		json_decref(root);
		return 0;
	}
	json_decref(root);
	return -EPROTO;
}
