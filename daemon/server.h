/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The running daemon: streams, beat thread, control channel and mark writes on one loop, from the
 * first lock to the last mark.
 */
#ifndef SFD_SERVER_H
#define SFD_SERVER_H

#include "daemon/config.h"
#include "daemon/handover.h"

/**
 * Runs until SIGTERM or SIGINT. Every failure has been logged when it returns. `flags` are those
 * that `config` was made from, and `argv` the program's, for a reload and for the next program;
 * `handover` is what the sfd before left.
 * @return 0 after a clean stop, or a negative errno
 */
int sfd_server_run(const struct sfd_config *config, const struct sfd_flags *flags,
		   char *const *argv, struct sfd_handover *handover);

#endif
