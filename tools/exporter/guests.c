/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Connections by age; see guests.h.
 */
#include "tools/exporter/guests.h"

#include <string.h>
#include <sys/socket.h>

static void evict_oldest(struct sfctl_guests *guests)
{
	size_t i = 0;

	while (guests->guest[i].is_leaving)
		i++;
	/* The server finds the end of the connection at its next turn, and closes it as always. */
	(void)shutdown(guests->guest[i].fd, SHUT_RDWR);
	guests->guest[i].is_leaving = true;
	guests->staying--;
	guests->evicted++;
}

void sfctl_guests_enter(struct sfctl_guests *guests, int fd)
{
	/* the server has no more connections than there is room */
	if (guests->count == SFCTL_GUESTS_ROOM)
		return;
	if (guests->staying == SFCTL_GUESTS_MOST)
		evict_oldest(guests);
	guests->guest[guests->count].fd = fd;
	guests->guest[guests->count].is_leaving = false;
	guests->count++;
	guests->staying++;
}

void sfctl_guests_leave(struct sfctl_guests *guests, int fd)
{
	size_t i = 0;

	while (i < guests->count && guests->guest[i].fd != fd)
		i++;
	if (i == guests->count)
		return;
	if (!guests->guest[i].is_leaving)
		guests->staying--;
	guests->count--;
	memmove(&guests->guest[i], &guests->guest[i + 1],
		(guests->count - i) * sizeof(guests->guest[0]));
}
