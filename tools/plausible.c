/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Plausibility of an ID's time. Pure; any thread.
 */
#include "tools/plausible.h"

#include "tools/layout_option.h"
#include "tools/rfc3339.h"

#include <stdio.h>
#include <string.h>

#define DAY_MS INT64_C(86400000)
/** 2006-01-01: layouts of this kind are younger, so no ID is older. */
#define FIRST_MS INT64_C(1136073600000)
/** Room for all presets with their times. */
#define SUGGESTIONS_MAX 512

static bool is_plausible(const struct sf_layout *layout, int64_t unix_ms, int64_t now_ms)
{
	return unix_ms >= layout->epoch_ms + DAY_MS && unix_ms <= now_ms + DAY_MS;
}

/** Appends ", NAME (TIME)" when the layout gives the ID a plausible time. */
static void suggest(const struct sf_layout *layout, const char *name, uint64_t id, int64_t now_ms,
		    char buffer[SUGGESTIONS_MAX])
{
	struct sf_parts parts;
	size_t length = strlen(buffer);
	char time[SFCTL_RFC3339_MAX];

	if (sf_decompose(layout, id, &parts, NULL) < 0 || parts.unix_ms < FIRST_MS ||
	    !is_plausible(layout, parts.unix_ms, now_ms))
		return;
	sfctl_rfc3339_format(parts.unix_ms, time);
	(void)snprintf(buffer + length, SUGGESTIONS_MAX - length, "%s%s (%s)",
		       buffer[0] ? ", " : "", name, time);
}

static void suggest_presets(uint64_t id, int64_t now_ms, char buffer[SUGGESTIONS_MAX])
{
	const struct sf_preset *presets;
	struct sf_layout layout;
	size_t count;

	presets = sf_presets(&count);
	for (size_t i = 0; i < count; i++) {
		if (sf_layout_parse(presets[i].name, &layout, NULL) == 0)
			suggest(&layout, presets[i].name, id, now_ms, buffer);
	}
}

void sfctl_plausible_presets(uint64_t id, int64_t now_ms, char buffer[SFCTL_PLAUSIBLE_MAX])
{
	char suggestions[SUGGESTIONS_MAX] = "";

	suggest_presets(id, now_ms, suggestions);
	(void)snprintf(buffer, SFCTL_PLAUSIBLE_MAX, "%s",
		       suggestions[0] ? suggestions : "no preset");
}

bool sfctl_plausible_warning(const struct sf_layout *layout, uint64_t id, int64_t now_ms,
			     char buffer[SFCTL_PLAUSIBLE_MAX])
{
	struct sf_layout since_1970 = *layout;
	char suggestions[SUGGESTIONS_MAX] = "";
	char time[SFCTL_RFC3339_MAX];
	struct sf_parts parts;

	if (sf_decompose(layout, id, &parts, NULL) < 0 ||
	    is_plausible(layout, parts.unix_ms, now_ms))
		return false;
	suggest_presets(id, now_ms, suggestions);
	since_1970.epoch_ms = 0;
	suggest(&since_1970, "epoch=0", id, now_ms, suggestions);
	sfctl_rfc3339_format(parts.unix_ms, time);
	(void)snprintf(buffer, SFCTL_PLAUSIBLE_MAX, "as %s its time is %s, %s; plausible as: %s",
		       sfctl_layout_label(layout).text, time,
		       parts.unix_ms > now_ms ? "in the future"
					      : "within a day of the layout's epoch",
		       suggestions[0] ? suggestions : "no preset");
	return true;
}
