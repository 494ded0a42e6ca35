/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Time as text: RFC 3339 with milliseconds, and Unix milliseconds. Pure functions, in UTC; no time
 * zone file is read.
 */
#ifndef SFCTL_RFC3339_H
#define SFCTL_RFC3339_H

#include "shm/sflayout.h"

#include <stdint.h>

/** Room for any formatted time, the NUL included. */
#define SFCTL_RFC3339_MAX 40

/**
 * Writes "2024-06-01T22:15:27.123Z". RFC 3339 has years 0 to 9999 only; others are written in the
 * expanded form of ISO 8601 with a sign and at least five digits.
 */
void sfctl_rfc3339_format(int64_t unix_ms, char buffer[SFCTL_RFC3339_MAX]);

/**
 * Reads "2024-06-01T22:15:27Z", with any number of fraction digits (cut down to milliseconds) and
 * with an offset such as +02:00 in place of Z.
 * @return 0, or -EINVAL with the reason in `why`
 */
int sfctl_rfc3339_parse(const char *text, int64_t *ret_unix_ms, struct sf_why *why);

/** Reads RFC 3339 or Unix milliseconds (decimal, perhaps negative). @return as above */
int sfctl_time_parse(const char *text, int64_t *ret_unix_ms, struct sf_why *why);

/** Milliseconds of the system's clock. */
int64_t sfctl_now_ms(void);

#endif
