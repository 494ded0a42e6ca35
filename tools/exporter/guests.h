/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The connections of the HTTP server, by age. When they are many, each new one costs the oldest its
 * place: who sends or reads slowly is older than who scrapes, so slow ones never keep a scraper
 * out, however many they are. The server's thread only.
 */
#ifndef SFCTL_EXPORTER_GUESTS_H
#define SFCTL_EXPORTER_GUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** From so many on the oldest has to go. */
#define SFCTL_GUESTS_MOST 256
/** Those that have to go are gone a little later than the new ones come. */
#define SFCTL_GUESTS_ROOM (SFCTL_GUESTS_MOST + 32)

struct sfctl_guests {
	struct {
		int fd;
		bool is_leaving;
	} guest[SFCTL_GUESTS_ROOM]; /* by age, the oldest first */
	size_t count;
	size_t staying;
	uint64_t evicted;
};

/** A connection came; the oldest may have to go. */
void sfctl_guests_enter(struct sfctl_guests *guests, int fd);

/** A connection has ended; its descriptor is still open. */
void sfctl_guests_leave(struct sfctl_guests *guests, int fd);

#endif
