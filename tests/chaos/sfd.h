/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The sfd under test: a real one, whose wall clock is a file of ours. One thread.
 */
#ifndef CHAOS_SFD_H
#define CHAOS_SFD_H

#include "tests/chaos/chaos.h"
#include "tests/support/wall.h"

struct chaos_sfd {
	const char *program;  /* $SFD_BIN */
	const char *tool;     /* $SFCTL_BIN */
	const char *wall_lib; /* $WALL_LIB: tests/support/wall_preload.c */
	struct t_wall *wall;
	char directory[CHAOS_PATH_BYTES / 2];
	char state_dir[CHAOS_PATH_BYTES];
	char config[CHAOS_PATH_BYTES];
	char log[CHAOS_PATH_BYTES];
	char wall_file[CHAOS_PATH_BYTES];
	bool has_mounts;   /* a state disk of its own */
	pid_t pid;         /* 0: not running */
	int64_t ended_ns;  /* when it was told to end; 0: it was not */
	int64_t absent_ns; /* how long there was none until the last start */
};

/** Makes its directory, and mounts of its own as root. */
int chaos_sfd_init(struct chaos_sfd *sfd);
void chaos_sfd_deinit(struct chaos_sfd *sfd);
/** Starts it and waits until this very process answers. */
bool chaos_sfd_start(struct chaos_sfd *sfd);
/** Ends it by a signal and says whether it ended as it should. */
bool chaos_sfd_end(struct chaos_sfd *sfd, int signal_number);
/** Starts it where it must refuse, and waits for its end. */
bool chaos_sfd_refuses(struct chaos_sfd *sfd);
/** Whether it still runs; says so when it does not. */
bool chaos_sfd_lives(struct chaos_sfd *sfd);
/** Whether it answers, as the process it was. */
bool chaos_sfd_answers(const struct chaos_sfd *sfd);
/** Sets its wall clock to `seconds` from the host's. */
void chaos_sfd_set_clock(const struct chaos_sfd *sfd, double seconds);
/** How often its log has a phrase. */
unsigned chaos_sfd_said(const struct chaos_sfd *sfd, const char *phrase);
/** What steps, ordered values and widths its streams have. */
int chaos_sfd_learn(void);

#endif
