/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Looks at sfd: over one connection as long as it lasts, and a new one after that. A looker does so
 * on a thread of its own, so that an sfd that does not answer keeps nobody waiting.
 */
#ifndef SFCTL_TOP_LOOK_H
#define SFCTL_TOP_LOOK_H

#include "tools/top/model.h"

#include <pthread.h>
#include <stdbool.h>

/** Where looks come from. One thread. */
struct sfctl_top_eye {
	const struct sfctl *sfctl;
	int fd;                      /* -1: not connected */
	struct sfctl_top_user *user; /* names that were asked for so far */
	size_t user_count;
};

void sfctl_top_eye_init(struct sfctl_top_eye *eye, const struct sfctl *sfctl);
void sfctl_top_eye_deinit(struct sfctl_top_eye *eye);
/** Waits for the answers. @return 0, or a negative errno with the reason in `why` */
int sfctl_top_eye_look(struct sfctl_top_eye *eye, struct sfctl_top_look *ret_look,
		       struct sf_why *why);
void sfctl_top_look_deinit(struct sfctl_top_look *look);

/** What a look led to. */
struct sfctl_top_sight {
	int error; /* 0: `look` is there, and its receiver's; else `why` */
	struct sfctl_top_look look;
	struct sf_why why;
};

struct sfctl_top_looker {
	struct sfctl_top_eye eye; /* the thread's */
	pthread_t thread;
	int seen_fd; /* readable when a sight is there */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock */
	bool is_wanted;
	bool is_over;
	struct sfctl_top_sight sight;
};

/** Starts the thread of a looker that lasts as long as the process; the thread inherits the mask of
 * signals. @return 0 or a negative errno */
int sfctl_top_looker_start(struct sfctl_top_looker *looker, const struct sfctl *sfctl);
/** Asks for one look. */
void sfctl_top_looker_ask(struct sfctl_top_looker *looker);
/** Takes what the look led to, after seen_fd has become readable. */
struct sfctl_top_sight sfctl_top_looker_take(struct sfctl_top_looker *looker);
/** Ends the thread. One that waits for an answer of sfd stays behind, and uses the looker still. */
void sfctl_top_looker_end(struct sfctl_top_looker *looker);

int64_t sfctl_top_mono_ns(void);

#endif
