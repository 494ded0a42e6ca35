/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Whether an ID's time is believable: an ID does not say which layout it was made with, and a wrong
 * one gives a time in the future or at the very beginning of the layout. Pure functions.
 */
#ifndef SFCTL_PLAUSIBLE_H
#define SFCTL_PLAUSIBLE_H

#include "shm/sflayout.h"

#include <stdbool.h>
#include <stddef.h>

/** Room for the warning, and for a list of presets. */
#define SFCTL_PLAUSIBLE_MAX 768

/**
 * Writes a warning for an ID whose time is more than a day after `now_ms` or within the first day
 * of the layout, with the layouts that would give it a believable time.
 * @return false when the time is plausible; `buffer` is then untouched
 */
bool sfctl_plausible_warning(const struct sf_layout *layout, uint64_t id, int64_t now_ms,
			     char buffer[SFCTL_PLAUSIBLE_MAX]);

/** Writes the presets that give the ID a believable time, with that time; "no preset" if none. */
void sfctl_plausible_presets(uint64_t id, int64_t now_ms, char buffer[SFCTL_PLAUSIBLE_MAX]);

#endif
