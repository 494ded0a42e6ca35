/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Puts a function of the test's own into the race windows of shm/ring.h. Include before anything
 * that includes shm/ring.h; product code that is to have the windows is included after, as source.
 */
#ifndef T_HOOK_H
#define T_HOOK_H

/** Runs in the windows of this thread; NULL: nothing does. Takes it out itself to run once. */
extern _Thread_local void (*t_hook)(int place);

static inline void t_hook_run(int place)
{
	if (t_hook)
		t_hook(place);
}

#define SF_SHM_HOOK(place) t_hook_run(place)

#endif
