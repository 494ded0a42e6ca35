/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A stream's clock in words; see clock_text.h. Numbers that a newer sfd may send are not trusted to
 * be indices.
 */
#include "tools/clock_text.h"

#include "shm/words.h"

#define US_PER_MS INT64_C(1000)
/* What fits a date; a policy lasts no longer than the clock has nanoseconds. */
#define LEFT_MOST_MS (INT64_MAX / 1000000)

static uint64_t counter(const struct sf_control_stats *stats, enum sf_counter which)
{
	return stats->counter[which];
}

/** A duration that may be short. */
static void span_format(int64_t us, char text[SF_WORDS_MAX])
{
	if (us < 10 * US_PER_MS)
		(void)snprintf(text, SF_WORDS_MAX, "%" PRId64 "us", us);
	else
		sf_duration_words(us / US_PER_MS, text);
}

void sfctl_clock_offset(const struct sf_control_stats *stats, char text[SFCTL_CLOCK_TEXT_MAX])
{
	int64_t us = (int64_t)counter(stats, SF_COUNTER_wall_offset_us);
	bool is_ahead = us >= 0;
	char span[SF_WORDS_MAX];

	if (us == INT64_MIN)
		us++;
	span_format(is_ahead ? us : -us, span);
	if (us == 0)
		(void)snprintf(text, SFCTL_CLOCK_TEXT_MAX, "the wall's");
	else
		(void)snprintf(text, SFCTL_CLOCK_TEXT_MAX, "%s %s the wall", span,
			       is_ahead ? "ahead of" : "behind");
}

const char *sfctl_clock_meanwhile(const struct sf_control_stats *stats)
{
	static const char *const words[] = {NULL, "time runs at half speed", "callers wait",
					    "callers are refused", "ticks are borrowed"};
	uint64_t behind = counter(stats, SF_COUNTER_clock_behind);

	return behind < sizeof(words) / sizeof(words[0]) ? words[behind] : "another policy holds";
}

void sfctl_clock_end(const struct sf_control_stats *stats, char text[SFCTL_CLOCK_TEXT_MAX])
{
	uint64_t left_ms = counter(stats, SF_COUNTER_clock_behind_ms);
	char left[SF_WORDS_MAX];
	char date[SF_WORDS_MAX];

	if (left_ms > LEFT_MOST_MS)
		left_ms = LEFT_MOST_MS;
	sf_duration_words((int64_t)left_ms, left);
	sf_time_words(stats->now_unix_ns / 1000000 + (int64_t)left_ms, date);
	(void)snprintf(text, SFCTL_CLOCK_TEXT_MAX, "in %s, at %s", left, date);
}

/** What helps; a lead that long is no matter of slewing or of a runway. */
static const char *lead_remedy(const struct sf_control_stats *stats)
{
	if ((int64_t)counter(stats, SF_COUNTER_wall_offset_us) <= SFCTL_CLOCK_LEAD_MOST_US)
		return "set the clock, if it is wrong: a forward step is taken at once";
	if (stats->node_count > 0 || stats->layout.format == SF_FORMAT_HOUND)
		return "more than 4h come of a clock that is or was wrong: set it, if it is, a "
		       "forward step is taken at once; else a stream of another name and machine "
		       "id begins at the right time";
	return "more than 4h come of a clock that is or was wrong: set it, if it is, a forward "
	       "step is taken at once; else a stream of another name begins at the right time";
}

void sfctl_clock_lead(const struct sf_control_stats *stats, char text[SFCTL_CLOCK_LEAD_MAX])
{
	const char *meanwhile = sfctl_clock_meanwhile(stats);
	char offset[SFCTL_CLOCK_TEXT_MAX];
	char end[SFCTL_CLOCK_TEXT_MAX];

	sfctl_clock_offset(stats, offset);
	sfctl_clock_end(stats, end);
	(void)snprintf(text, SFCTL_CLOCK_LEAD_MAX,
		       "embedded time is %.60s: %.40s until the wall has caught up, %.80s; %s",
		       offset, meanwhile ? meanwhile : "IDs go on", end, lead_remedy(stats));
}

void sfctl_clock_sync(const struct sf_control_stats *stats, char text[SFCTL_CLOCK_TEXT_MAX])
{
	char most[SF_WORDS_MAX];
	char estimate[SF_WORDS_MAX];

	span_format((int64_t)counter(stats, SF_COUNTER_clock_error_max_us), most);
	span_format((int64_t)counter(stats, SF_COUNTER_clock_error_est_us), estimate);
	if (counter(stats, SF_COUNTER_clock_sync) == 1)
		(void)snprintf(text, SFCTL_CLOCK_TEXT_MAX,
			       "synchronised, to %s at most, %s as estimated", most, estimate);
	else
		(void)snprintf(text, SFCTL_CLOCK_TEXT_MAX, "%s",
			       counter(stats, SF_COUNTER_clock_sync) == 2
				       ? "not synchronised"
				       : "synchronised or not: the kernel does not tell sfd");
}

const char *sfctl_clock_leap(const struct sf_control_stats *stats)
{
	static const char *const words[] = {NULL, "a leap second comes at the day's end",
					    "a second is left out at the day's end",
					    "a leap second passes now",
					    "a leap second has just passed"};
	uint64_t leap = counter(stats, SF_COUNTER_clock_leap);

	return leap < sizeof(words) / sizeof(words[0]) ? words[leap] : NULL;
}
