/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Doubles as text and back, independent of the process's locale. Any thread.
 */
#ifndef SF_CONTENT_FLOAT_TEXT_H
#define SF_CONTENT_FLOAT_TEXT_H

#include <stddef.h>

/** Room for any double's text, the NUL included. */
#define SF_FLOAT_TEXT_MAX 32

/**
 * The shortest decimal that reads as this double, as Python's repr() prints it: plain with a point
 * for decimal exponents -4 to 15, else with an exponent of two digits or more; inf, -inf, nan.
 * @return length without the NUL
 */
size_t sf_float_text(double value, char ret_text[SF_FLOAT_TEXT_MAX]);

/** The double nearest to a JSON number, infinite when it is too large. NUL-terminated. */
double sf_float_read(const char *text);

#endif
