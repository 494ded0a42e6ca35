/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Standard input of subcommands that answer while they read. Main thread only.
 */
#ifndef SFCTL_INPUT_H
#define SFCTL_INPUT_H

#include <stdio.h>

/**
 * Stdin as a stream that, before it waits for more, sends on what was printed. Whoever writes
 * slowly into a pipe so has each answer at once, and whole pieces cost one write. Of a file nothing
 * is waited for, so nothing is sent early.
 * @return the stream, which the caller closes; descriptor 0 stays open. NULL when memory is out
 */
FILE *sfctl_input_open(void);

#endif
