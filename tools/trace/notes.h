/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The notes of USDT probes in an ELF file. Any thread.
 */
#ifndef SFCTL_TRACE_NOTES_H
#define SFCTL_TRACE_NOTES_H

#include <stdbool.h>

/** Whether the file has a probe of that provider. One that is no 64-bit ELF file has none. */
bool sfctl_notes_have(int fd, const char *provider);

#endif
