/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What `sfctl doctor` looks at: each check gives one finding, a sentence that names the remedy when
 * something is wrong. Main thread only.
 */
#ifndef SFCTL_DOCTOR_H
#define SFCTL_DOCTOR_H

#include "tools/stats.h"

#include <stdbool.h>

/** Room for a finding's sentence. */
#define SFCTL_FINDING_MAX 512

enum sfctl_level {
	SFCTL_LEVEL_OK,
	SFCTL_LEVEL_WARNING, /* IDs are given; something wants attention */
	SFCTL_LEVEL_FAILURE, /* IDs are not given, or not to be trusted */
};

struct sfctl_finding {
	enum sfctl_level level;
	char stream[SF_SHM_STREAM_NAME_MAX]; /* empty: of sfd or the host */
	const char *check;
	char text[SFCTL_FINDING_MAX];
};

/** The findings so far. */
struct sfctl_doctor {
	struct sfctl_finding *finding;
	size_t count;
	bool out_of_memory; /* findings are missing */
};

/** Adds a finding; `stream` may be NULL. */
void sfctl_doctor_add(struct sfctl_doctor *doctor, enum sfctl_level level, const char *stream,
		      const char *check, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/** What a client needs of this host and of this user's limits, with or without an sfd. */
void sfctl_doctor_system(struct sfctl_doctor *doctor);

/** How sfd runs here, which all streams have in common. */
void sfctl_doctor_daemon(struct sfctl_doctor *doctor, const struct sf_control_stats *stats,
			 const char *socket);

/** Whether this user may attach to a stream: attaches. */
void sfctl_doctor_access(struct sfctl_doctor *doctor, const char *socket, const char *stream);

/** The checks of the host's clock, by what sfd says of it. */
void sfctl_doctor_host(struct sfctl_doctor *doctor, const struct sf_control_stats *stats);

/** The checks of one stream. */
void sfctl_doctor_stream(struct sfctl_doctor *doctor, const struct sf_control_stats *stats);

void sfctl_doctor_deinit(struct sfctl_doctor *doctor);

#endif
