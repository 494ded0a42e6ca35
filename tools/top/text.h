/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Numbers for narrow columns. Pure functions, but for the clock's time zone.
 */
#ifndef SFCTL_TOP_TEXT_H
#define SFCTL_TOP_TEXT_H

#include <stdint.h>

/** Room for any of the texts. */
#define SFCTL_TOP_TEXT_MAX 48

/** "0", "0.3", "812", "12345", "123.5k", "4.10M", "3.80G"; "-" for what is unknown. At most 7
 *  characters below 10^15. */
void sfctl_top_number(double number, char text[SFCTL_TOP_TEXT_MAX]);
/** "12.3%"; "-" for what is unknown. */
void sfctl_top_share(double share, char text[SFCTL_TOP_TEXT_MAX]);
/** "2.9s", "59s", "12m03s" */
void sfctl_top_duration(int64_t ms, char text[SFCTL_TOP_TEXT_MAX]);
/** "0", "+40us", "-1h02m" */
void sfctl_top_offset(int64_t us, char text[SFCTL_TOP_TEXT_MAX]);
/** "12:34:56", local time. */
void sfctl_top_clock(int64_t unix_ms, char text[SFCTL_TOP_TEXT_MAX]);

/** Shortest and longest delay. */
#define SFCTL_TOP_DELAY_MIN_MS 100
#define SFCTL_TOP_DELAY_MAX_MS 3600000
/** Reads seconds, "1" or "0.25", within these bounds. @return 0 or -EINVAL */
int sfctl_top_delay_parse(const char *text, int64_t *ret_ms);
/** "1", "0.25" */
void sfctl_top_delay(int64_t ms, char text[SFCTL_TOP_TEXT_MAX]);

#endif
