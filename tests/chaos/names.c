/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * What things are called in configuration and report.
 */
#include "tests/chaos/chaos.h"

const char *chaos_stream_name(unsigned stream)
{
	static const char *const name[CHAOS_STREAMS_ALL] = {
		[CHAOS_DEFAULT] = "default",   [CHAOS_FAST] = "fast",
		[CHAOS_LOW] = "low",           [CHAOS_AHEAD] = "ahead",
		[CHAOS_REFUSE] = "refuse",     [CHAOS_WAIT] = "wait",
		[CHAOS_ULID] = "ulid",         [CHAOS_UUID7] = "uuid7",
		[CHAOS_OBJECTID] = "objectid", [CHAOS_HOUND] = "hound",
		[CHAOS_HOSTILE] = "hostile",
	};

	return name[stream];
}

const char *chaos_mode_name(unsigned mode)
{
	static const char *const name[CHAOS_MODES] = {
		[CHAOS_NEXT] = "sf_next, inlined",
		[CHAOS_NEXT_LIBRARY] = "sf_next, library",
		[CHAOS_ORDERED] = "sf_next_ordered",
		[CHAOS_FILL] = "sf_fill",
		[CHAOS_RANGE] = "sf_claim_range",
		[CHAOS_NEXT128] = "sf_next128, inlined",
		[CHAOS_NEXT128_LIBRARY] = "sf_next128, library",
		[CHAOS_ORDERED128] = "sf_next128_ordered",
		[CHAOS_FILL128] = "sf_fill128",
		[CHAOS_RANGE128] = "sf_claim_range128",
	};

	return name[mode];
}

const char *chaos_event_name(unsigned event)
{
	static const char *const name[CHAOS_EVENTS + 1] = {
		[CHAOS_SFD_KILL] = "sfd killed and started",
		[CHAOS_SFD_TERM] = "sfd stopped and started",
		[CHAOS_SFD_STOP] = "sfd held by SIGSTOP",
		[CHAOS_SFD_UPGRADE] = "sfd upgraded",
		[CHAOS_SFD_RELOAD] = "sfd reloaded",
		[CHAOS_CLOCK_BACK] = "wall clock back",
		[CHAOS_CLOCK_FORWARD] = "wall clock forward",
		[CHAOS_DISK_FULL] = "state disk full",
		[CHAOS_DISK_READ_ONLY] = "state disk read-only",
		[CHAOS_CLIENT_KILL] = "client killed",
		[CHAOS_CLIENT_STOP] = "client held by SIGSTOP",
		[CHAOS_FORK] = "client forked",
		[CHAOS_CLONE] = "client cloned",
		[CHAOS_VFORK] = "client vforked and executed",
		[CHAOS_SPAWN] = "client spawned",
		[CHAOS_CHILD_KILL] = "child killed",
		[CHAOS_ATTACH] = "client attached and gone",
		[CHAOS_SCRIBBLE] = "claims of a neighbour spoilt",
		[CHAOS_EVENTS] = "nothing",
	};

	return name[event];
}
