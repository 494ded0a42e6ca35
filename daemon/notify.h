/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What sfd and its service manager tell each other: states, the watchdog, descriptors that the
 * manager keeps over a restart, and descriptors that it passes at the start. Without a manager
 * ($NOTIFY_SOCKET, $LISTEN_FDS) every call does nothing and says so. A manager that does not read
 * is waited for once, for a fraction of a second. The main thread's.
 */
#ifndef SFD_NOTIFY_H
#define SFD_NOTIFY_H

#include "daemon/config.h"
#include "daemon/loop.h"
#include "daemon/stats.h"

#include <stdbool.h>
#include <stddef.h>

/** READY=1, once, or after sfd_notify_reloading(); the status line says what is served. */
void sfd_notify_ready(const struct sfd_config *config);
/** RELOADING=1 with the time, before a reload or hand-over; sfd_notify_ready() ends it. */
void sfd_notify_reloading(void);
/** STOPPING=1. */
void sfd_notify_stopping(void);

struct sfd_watchdog;

/**
 * Starts to tell the manager that sfd is alive, if it asks ($WATCHDOG_USEC): from the loop's
 * thread, and only while the beat thread has made turns since the last time. So either of the two
 * that hangs gets sfd killed and started anew. `stats`: any stream's, all have their turns
 * together.
 * @return 0 or a negative errno
 */
int sfd_watchdog_start(struct sfd_loop *loop, const struct sfd_stats *stats,
		       struct sfd_watchdog **ret_watchdog);
/** After the loop was freed. Returns NULL; NULL is fine. */
struct sfd_watchdog *sfd_watchdog_free(struct sfd_watchdog *watchdog);

/** The manager may keep descriptors for this service. */
bool sfd_notify_has_store(void);
/**
 * Gives the manager a duplicate of `fd` to keep until the service has stopped for good, and to
 * pass to the next start. `name`: printable, without colons, at most 255 bytes.
 * @return 0 or a negative errno; -ENOTCONN without a manager
 */
int sfd_notify_store(const char *name, int fd);
/** The manager closes what it keeps under that name. @return as above */
int sfd_notify_store_remove(const char *name);

/** A descriptor that the manager passed. */
struct sfd_passed {
	char *name; /* as the manager named it: of the socket unit, or of sfd_notify_store() */
	int fd;     /* CLOEXEC; -1: the caller has taken it */
};

/**
 * Takes over the descriptors that were passed with $LISTEN_FDS and $LISTEN_FDNAMES, and clears
 * these from the environment: a second call finds none.
 * @return 0, also without any, or a negative errno
 */
int sfd_notify_listen_fds(struct sfd_passed **ret, size_t *ret_count);
/** Closes what was not taken, and frees. NULL is fine. */
void sfd_passed_free(struct sfd_passed *passed, size_t count);
/** Takes out the first listening AF_UNIX SOCK_SEQPACKET socket. @return it, or -1 */
int sfd_passed_take_listener(struct sfd_passed *passed, size_t count);

#endif
