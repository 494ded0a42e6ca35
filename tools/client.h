/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A client with one cursor, for subcommands that take IDs. Main thread only.
 */
#ifndef SFCTL_CLIENT_H
#define SFCTL_CLIENT_H

#include "tools/sfctl.h"

#include <sfclient.h>
#include <stdint.h>

struct sfctl_client {
	struct sf_client *client;
	struct sf_cursor *cursor;
};

/**
 * Connects to the stream of the global options. The library's sentences go to stderr.
 * @param wait SF_WAIT_...; @param timeout_ns as in struct sf_options
 * @return SFCTL_OK, or SFCTL_FAILED after one sentence on stderr
 */
int sfctl_client_open(const struct sfctl *sfctl, uint32_t wait, int64_t timeout_ns,
		      struct sfctl_client *ret_client);

/** Closes; zero-initialised is fine. */
void sfctl_client_close(struct sfctl_client *client);

#endif
