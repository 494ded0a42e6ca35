/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What a run says at its end.
 */
#ifndef CHAOS_REPORT_H
#define CHAOS_REPORT_H

#include "tests/chaos/check.h"
#include "tests/chaos/events.h"

/** Prints tables and findings. @return whether everything held */
bool chaos_report(const struct chaos_events *events, const struct chaos_totals *totals,
		  double seconds);

#endif
