/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Random bytes from the kernel, for what is made without a daemon. Any thread and any signal
 * handler; it must never fall back on a weaker source.
 */
#ifndef SF_FORMATS_RANDOM_H
#define SF_FORMATS_RANDOM_H

#include <sflayout.h>

#include <stddef.h>

/**
 * Fills a buffer. Enters the kernel; early in boot it waits for the kernel's pool.
 * @return 0, or what getrandom(2) failed with, and the buffer is then of no use
 */
int sf_random_fill(void *ret_bytes, size_t size, struct sf_why *why);

#endif
