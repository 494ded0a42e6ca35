/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What a scraper wants to read: an Accept header's choice between the two expositions. Any thread.
 */
#ifndef SFCTL_EXPORTER_ACCEPT_H
#define SFCTL_EXPORTER_ACCEPT_H

#include "tools/exporter/metrics.h"

/**
 * OpenMetrics where the header names it, in version 1.0.0 or in none, and does not like the other
 * better; in doubt, and without a header (NULL), the older format, which everybody reads.
 */
enum sfctl_exposition sfctl_accept(const char *header);

/** The Content-Type of an answer. */
const char *sfctl_content_type(enum sfctl_exposition exposition);

#endif
