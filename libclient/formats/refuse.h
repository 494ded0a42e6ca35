/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What the wide formats refuse in common. Of a text: the first character that breaks the rule, its
 * position from 1, and what belongs there. Of a time: that it is out of range. Any thread and any
 * signal handler.
 */
#ifndef SF_FORMATS_REFUSE_H
#define SF_FORMATS_REFUSE_H

#include <sflayout.h>

#include <stddef.h>
#include <stdint.h>

/** A text being read. */
struct sf_reading {
	/** What it should be, with its article: "a ULID". */
	const char *what;
	const char *text;
	/** Bytes of the text. */
	size_t length;
	/** Characters that it should have. */
	size_t length_wanted;
};

/**
 * Refuses the character at index `at`, or the end of the text there, or what follows where the text
 * should have ended.
 * @param wanted what belongs there, such as "a hyphen"
 * @return -EINVAL
 */
int sf_refuse_character(struct sf_why *why, const struct sf_reading *reading, size_t at,
			const char *wanted);

/**
 * Checks the time of an ID to be made.
 * @param time_max largest legal one; the smallest is 0
 * @param what what is made, with its article, and the unit: "a ULID", "milliseconds"
 * @return 0 or -ERANGE
 */
int sf_check_time(struct sf_why *why, int64_t time, int64_t time_max, const char *what,
		  const char *unit);

#endif
