/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The HTTP server: GET and HEAD of /metrics, made anew for each scrape by sources. One thread of
 * libmicrohttpd serves all connections and calls the sources; none of them waits for another's
 * client. Start and stop: main thread.
 */
#ifndef SFCTL_EXPORTER_SERVER_H
#define SFCTL_EXPORTER_SERVER_H

#include "shm/sflayout.h"
#include "tools/exporter/guests.h"
#include "tools/exporter/metrics.h"

/** Whoever has metric families to add to a scrape. Takes a few seconds at most. */
struct sfctl_source {
	void (*collect)(void *context, struct sfctl_metrics *metrics);
	void *context;
};

struct sfctl_server {
	struct MHD_Daemon *daemon;
	const struct sfctl_source *source; /* a source without collect() ends the list */
	struct sfctl_guests guests;
};

/**
 * Serves what connects to the listening socket, which belongs to the server from now on.
 * @param source asked in this order; must live until the server has stopped
 * @return 0, or -EIO with a sentence
 */
int sfctl_server_start(struct sfctl_server *server, int fd, const struct sfctl_source *source,
		       struct sf_why *why);

/** Ends all connections, and closes the socket. */
void sfctl_server_stop(struct sfctl_server *server);

/** A source, too: adds the exporter's own families. @param context the struct sfctl_server */
void sfctl_server_collect(void *context, struct sfctl_metrics *metrics);

#endif
