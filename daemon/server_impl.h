/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Inside of the running daemon: what server.c and succession.c share, and nobody else includes.
 */
#ifndef SFD_SERVER_IMPL_H
#define SFD_SERVER_IMPL_H

#include "daemon/beat.h"
#include "daemon/config.h"
#include "daemon/control.h"
#include "daemon/handover.h"
#include "daemon/marks.h"
#include "daemon/sync.h"
#include "daemon/upgrade.h"

#include <stdbool.h>
#include <stddef.h>

struct sfd_server {
	const struct sfd_config *config;
	const struct sfd_flags *flags;
	char *const *argv;
	struct sfd_handover *handover; /* what the sfd before left */
	int runtime_lock_fd;
	int state_lock_fd;
	int node_lock_fd;
	struct sfd_stream *stream;
	size_t stream_count; /* opened so far */
	struct sfd_loop *loop;
	struct sfd_control *control;
	struct sfd_watchdog *watchdog;
	struct sfd_beat beat;
	bool beating; /* the thread runs */
	struct sfd_marks marks;
	enum sfd_sync_state sync_told;
	struct sfd_upgrade upgrade;
	bool hands_over; /* from the request until it has failed */
	bool is_ready;   /* to become the next program */
	int news_fd;     /* eventfd of the beat thread */
	int signal_fd;   /* SIGTERM, SIGINT, SIGHUP, SIGCHLD */
	int step_fd;     /* timerfd that is cancelled by clock steps */
	struct sfd_request news;
	struct sfd_request signals;
	struct sfd_request steps;
};

/** Logs the sentence, or what failed. @return `error` */
int sfd_server_complain(int error, const struct sf_why *why, const char *what);

/** Logs what has changed of the streams' clocks, and of the kernel's. */
void sfd_server_report(struct sfd_server *server);

/** A peer asks for an upgrade (sfd_control_setup.upgrade). */
int sfd_server_upgrade(void *owner, const char *path);
/** The next program has been asked (sfd_upgrade.checked). */
void sfd_server_checked(void *owner, const char *why);
/** SIGHUP: hands over to the same program, which reads the configuration anew. */
void sfd_server_reload(struct sfd_server *server);
/** Becomes the next program; returns only if that failed, and sfd goes on. @return 0, or a negative
 *  errno if it cannot */
int sfd_server_hand_over(struct sfd_server *server);

#endif
