/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What a new configuration may change while sfd runs. Pure; any thread.
 */
#ifndef SFD_RELOAD_H
#define SFD_RELOAD_H

#include "daemon/config.h"

/**
 * Judges the step from one configuration to the next. Streams may come, go, and change order; a
 * stream that stays may change who is allowed, ahead_ms and sequence_start; the log level may
 * change. Whatever the IDs of a running stream are made of, whatever fixes the shape of its ring,
 * where things are, and who sfd is, may not: nor may a machine id go from one stream to another.
 * @return 0, or -EPERM with a sentence that names the stream, the key, both values and the remedy
 */
int sfd_reload_check(const struct sfd_config *old, const struct sfd_config *next,
		     struct sf_why *why);

#endif
