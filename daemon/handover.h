/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What one sfd leaves to the next: its rings, statistics, locks, listening socket and connections.
 * Either an sfd becomes the next one by execve(2), keeps its process id, and describes what it
 * leaves in a memfd ($SFD_HANDOVER); or it has ended, and the service manager kept what it could.
 * The main thread's, before other threads exist and after they have ended.
 */
#ifndef SFD_HANDOVER_H
#define SFD_HANDOVER_H

#include "daemon/notify.h"
#include "daemon/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** Names of what belongs to no stream. */
#define SFD_HANDOVER_SOCKET "@socket"
#define SFD_HANDOVER_MANAGERS_SOCKET "@managers-socket"
#define SFD_HANDOVER_RUNTIME_LOCK "@runtime-lock"
#define SFD_HANDOVER_STATE_LOCK "@state-lock"
#define SFD_HANDOVER_NODE_LOCK "@node-lock"
#define SFD_HANDOVER_CONFIG "@config"

/** A connection that goes on. */
struct sfd_handover_client {
	int fd;        /* -1: taken */
	bool awaits;   /* it asked for the hand-over, and for its result */
	bool attached; /* to `stream` */
	int64_t tally; /* where it counts its IDs; 0: nowhere */
	int64_t since_unix_ns;
	char stream[SF_SHM_STREAM_NAME_MAX];
	char command[16];
};

struct sfd_handover {
	struct sfd_passed *passed;
	size_t passed_count;
	struct sfd_handover_client *client;
	size_t client_count;
	int text_fd;      /* the memfd that describes it; -1: no sfd became this one */
	int previous_fd;  /* the program before, which can go on instead; -1: none */
	bool is_return;   /* this is the program before: the new one could not start */
	char version[16]; /* of the sfd before */
};

/** Takes over what is there, perhaps nothing. A description that is none is logged and ignored. */
void sfd_handover_receive(struct sfd_handover *handover);
/** Looks for a descriptor by its name; it stays the hand-over's. @return it, or -1 */
int sfd_handover_find(const struct sfd_handover *handover, const char *name);
/** Takes out a descriptor by its name. @return it, or -1 */
int sfd_handover_take(struct sfd_handover *handover, const char *name);
/** What a stream finds; the descriptors stay the hand-over's. */
struct sfd_stream_legacy sfd_handover_legacy(const struct sfd_handover *handover,
					     const char *stream);
/**
 * This sfd could not start: becomes the one before again. Returns only when there is none, or it
 * cannot be started either.
 */
void sfd_handover_return(struct sfd_handover *handover, char *const *argv);
/** This sfd has started: closes what nobody took, and forgets the one before. */
void sfd_handover_finish(struct sfd_handover *handover);

/** What an sfd writes down for the next. */
struct sfd_handover_draft {
	FILE *text;
	int fd;
	int previous_fd; /* this program */
	int config_fd;   /* its configuration */
	int error;
};

/** Begins a description. @return 0 or a negative errno */
int sfd_handover_begin(struct sfd_handover_draft *draft);
/** Adds a descriptor, which the next program inherits; -1 is left out. */
void sfd_handover_add(struct sfd_handover_draft *draft, const char *name, int fd);
/** Adds the text of the configuration file, in case the next program cannot start. */
void sfd_handover_add_config(struct sfd_handover_draft *draft, const struct sfd_config *config);
void sfd_handover_add_stream(struct sfd_handover_draft *draft, const struct sfd_stream *stream);
void sfd_handover_add_client(struct sfd_handover_draft *draft,
			     const struct sfd_handover_client *client);
/**
 * Becomes the next program. Returns only on failure: a negative errno, and nothing has changed but
 * that the descriptors may be inherited.
 */
int sfd_handover_exec(struct sfd_handover_draft *draft, const char *path, char *const *argv);
/** Ends a description that was not used. */
void sfd_handover_abandon(struct sfd_handover_draft *draft);

/**
 * Gives the service manager what outlives this process, if it keeps descriptors: the streams'
 * memfds and the listening socket. What it kept under these names before, and of streams that are
 * gone, is let go. Before sfd_handover_finish().
 */
void sfd_handover_store(const struct sfd_handover *handover, const struct sfd_stream *stream,
			size_t stream_count, int socket_fd);
/** The same for the listening socket alone; -1: it is the manager's own. */
void sfd_handover_store_socket(int socket_fd);

#endif
