/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The function in the race windows; see hook.h.
 */
#include "tests/support/hook.h"

#include <stddef.h>

_Thread_local void (*t_hook)(int place) = NULL;
