/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Captures what the code under test writes to stderr. One capture at a time, one thread.
 */
#ifndef T_STDERR_H
#define T_STDERR_H

/** From here on stderr goes to memory. */
void t_stderr_begin(void);
/** Gives stderr back. @return what was written, valid until the next capture; at most 64 KiB */
const char *t_stderr_end(void);

#endif
