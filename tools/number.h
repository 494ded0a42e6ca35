/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Numbers as text, strictly: digits and nothing else, never a wrapped value. Pure functions.
 */
#ifndef SFCTL_NUMBER_H
#define SFCTL_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/** Digits of the largest decimal that sfctl_number_format() writes. */
#define SFCTL_NUMBER_DIGITS 20

/**
 * Decimal, 1 to 20 digits, at most 2^64-1: no sign, space, exponent or prefix.
 * @return 0, -EINVAL (not plain digits) or -ERANGE (more than 64 bits)
 */
int sfctl_number_parse(const char *text, size_t length, uint64_t *ret_value);

/** Hexadecimal, 1 to 16 digits of either case, optionally after "0x". @return as above */
int sfctl_number_parse_hex(const char *text, size_t length, uint64_t *ret_value);

/** A decimal option value within [min, max]. @return 0, -EINVAL or -ERANGE */
int sfctl_number_parse_range(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value);

/** Writes decimal digits without a NUL; `buffer` has SFCTL_NUMBER_DIGITS. @return their number */
size_t sfctl_number_format(uint64_t value, char *buffer);

/** Writes 16 lower-case hexadecimal digits without a NUL. */
void sfctl_number_format_hex(uint64_t value, char *buffer);

#endif
