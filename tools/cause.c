/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Why a stream gives no IDs; see cause.h. Asks for the statistics, and attaches to nothing.
 */
#include "tools/cause.h"

#include "shm/words.h"
#include "tools/stats.h"

#define NS_PER_MS INT64_C(1000000)

static void waiting(const struct sf_control_stats *stats, char text[SFCTL_CAUSE_MAX])
{
	char wall[SF_WORDS_MAX];
	char begin[SF_WORDS_MAX];

	sf_time_words(stats->now_unix_ns / NS_PER_MS, wall);
	sf_time_words(stats->layout.epoch_ms, begin);
	(void)snprintf(text, SFCTL_CAUSE_MAX,
		       "waiting for clock: it shows %s, the layout begins at %s: set the clock, "
		       "and IDs begin by themselves",
		       wall, begin);
}

static void exhausted(const struct sf_control_stats *stats, char text[SFCTL_CAUSE_MAX])
{
	char wall[SF_WORDS_MAX];
	char end[SF_WORDS_MAX];

	sf_time_words(stats->now_unix_ns / NS_PER_MS, wall);
	sf_time_words(sf_layout_last_ms(&stats->layout), end);
	(void)snprintf(text, SFCTL_CAUSE_MAX,
		       "exhausted: the clock shows %s, the layout ended %s: if the clock is wrong "
		       "set it and restart sfd, else choose another layout",
		       wall, end);
}

bool sfctl_cause_state(const struct sf_control_stats *stats, char text[SFCTL_CAUSE_MAX])
{
	text[0] = '\0';
	switch (stats->state) {
	case SF_SHM_RUNNING:
		return false;
	case SF_SHM_WAITING:
		waiting(stats, text);
		break;
	case SF_SHM_EXHAUSTED:
		exhausted(stats, text);
		break;
	case SF_SHM_HELD:
		(void)snprintf(text, SFCTL_CAUSE_MAX,
			       "held: the mark cannot be raised, %llu writes failed: see sfd's "
			       "log, and make its state directory writable, and IDs go on by "
			       "themselves",
			       (unsigned long long)sfctl_counter(stats, SF_COUNTER_mark_errors));
		break;
	case SF_SHM_BEHIND:
		(void)snprintf(text, SFCTL_CAUSE_MAX,
			       "behind: the wall clock went back; set it, if it is wrong, a "
			       "forward step is taken at once");
		break;
	default:
		(void)snprintf(text, SFCTL_CAUSE_MAX, "%s: start sfd again",
			       sfctl_state_word(stats->state));
	}
	return true;
}

bool sfctl_cause_ask(const struct sfctl *sfctl, char text[SFCTL_CAUSE_MAX])
{
	char lead[SFCTL_CLOCK_LEAD_MAX];
	struct sf_control_stats stats;
	struct sf_why why;
	int fd = -1;
	bool answers = sfctl_control_open(sfctl, &fd, &why) == 0 &&
		       sfctl_control_stats(fd, sfctl_stream_name(sfctl), 0, &stats, &why) == 0;

	(void)sfctl_control_close(fd);
	if (!answers || !sfctl_cause_state(&stats, text))
		return false;
	if (stats.state == SF_SHM_BEHIND && sfctl_clock_meanwhile(&stats)) {
		sfctl_clock_lead(&stats, lead);
		(void)snprintf(text, SFCTL_CAUSE_MAX, "behind: %s", lead);
	}
	return true;
}
