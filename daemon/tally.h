/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Which client counts its IDs where. A tally is a word of the claims, so what it says is for people
 * only. Called on the control loop's thread.
 */
#ifndef SFD_TALLY_H
#define SFD_TALLY_H

#include "daemon/reply.h"
#include "daemon/stream.h"

#include <stdint.h>

/** Finds a tally for one more client of the stream, and sets it to zero. @return its number; 0: all
 *  are taken */
uint32_t sfd_tally_assign(const struct sfd_control_state *state, const struct sfd_stream *stream);

/** @return the number, if another sfd gave it and this ring has it; else 0 */
uint32_t sfd_tally_adopt(const struct sfd_stream *stream, int64_t number);

/** What a client has counted, at most INT64_MAX. */
uint64_t sfd_tally_read(const struct sfd_stream *stream, uint32_t number);

#endif
