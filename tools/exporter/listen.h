/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Where scrapers find the exporter: an address and port, or a Unix socket. Main thread, before
 * there is another.
 */
#ifndef SFCTL_EXPORTER_LISTEN_H
#define SFCTL_EXPORTER_LISTEN_H

#include "shm/sflayout.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/un.h>

#define SFCTL_HOST_MAX 256

/** What --listen says. */
struct sfctl_listen {
	bool is_unix;
	char host[SFCTL_HOST_MAX];
	char port[8];
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

struct sfctl_listener {
	int fd;
	char name[SFCTL_HOST_MAX + 32]; /* for people: "http://127.0.0.1:9464/metrics" */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* of a Unix socket; else empty */
	dev_t device;
	ino_t inode;
};

/** Reads HOST:PORT, [V6]:PORT or unix:PATH. @return 0 or -EINVAL with a sentence */
int sfctl_listen_parse(const char *text, struct sfctl_listen *ret_listen, struct sf_why *why);

/**
 * Listens. A Unix socket gets the mode; one that nobody serves any more gives way, anything else at
 * its path does not.
 * @return 0 or a negative errno with a sentence
 */
int sfctl_listener_open(const struct sfctl_listen *where, mode_t mode,
			struct sfctl_listener *ret_listener, struct sf_why *why);

/** Closes, and removes the Unix socket if it is still ours. */
void sfctl_listener_close(struct sfctl_listener *listener);

#endif
