/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What sfctl top knows: the last look at sfd, and what follows from it and the looks before. Pure:
 * looks come from the caller, so does time.
 *
 * A rate is the difference of two looks that were answered. Where a count went back, since another
 * sfd counts from nothing or a client gave something back, no rate is negative: it is unknown, or
 * 0.
 */
#ifndef SFCTL_TOP_MODEL_H
#define SFCTL_TOP_MODEL_H

#include "tools/stats.h"
#include "tools/top/trace.h"
#include "tools/user.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Name of a user that has clients. */
struct sfctl_top_user {
	uint32_t uid;
	char name[SFCTL_USER_MAX];
};

/** One answered look. */
struct sfctl_top_look {
	int64_t mono_ns; /* when it was answered */
	int64_t unix_ms; /* the same on the wall */
	struct sfctl_stats stats;
	struct sfctl_top_user *user;
	size_t user_count;
};

struct sfctl_top_stream {
	struct sf_control_stats stats;
	double rate;         /* IDs given a second */
	double claimed_rate; /* the same with those that are dropped */
	double waits_rate;
	double beats_rate;
	struct sfctl_top_trace trace; /* of `rate` */
	double counted_rate;          /* of the clients whose rate is known */
	uint32_t uncounted;           /* clients that do not count */
};

struct sfctl_top_client {
	struct sf_control_client client;
	char user[SFCTL_USER_MAX];
	uint32_t stream;  /* index */
	double rate;      /* IDs given a second */
	bool is_followed; /* another client has taken its place and its trace */
	struct sfctl_top_trace trace;
};

struct sfctl_top_model {
	struct sfctl_top_stream *stream;
	uint32_t stream_count;
	struct sfctl_top_client *client; /* by stream, process and time of attaching */
	uint32_t client_count;
	const struct sfctl_top_client **order; /* room for as many, see order.h */
	int64_t mono_ns;                       /* of the last look that was answered; 0: none was */
	int64_t away_since_ms;                 /* Unix; 0: the last look was answered */
	int64_t away_ms;                       /* how long it was away when it came back last */
	uint32_t looks_since;                  /* then */
	struct sf_why why;                     /* the last look was not answered */
};

/** Takes over what a look found. @return 0, or -ENOMEM, and nothing has changed */
int sfctl_top_model_take(struct sfctl_top_model *model, const struct sfctl_top_look *look);
/** A look that was not answered: all figures stay. */
void sfctl_top_model_miss(struct sfctl_top_model *model, int64_t unix_ms, const struct sf_why *why);
void sfctl_top_model_deinit(struct sfctl_top_model *model);

/** IDs that the clients of a stream were given. */
uint64_t sfctl_top_given(const struct sf_control_stats *stats);

#endif
