/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Users for people; see user.h.
 */
#include "tools/user.h"

#include "tools/stats.h"

#include <pwd.h>
#include <stdio.h>

void sfctl_user_name(uint32_t uid, char ret_name[SFCTL_USER_MAX])
{
	char buffer[1024];
	struct passwd passwd;
	struct passwd *found = NULL;

	(void)getpwuid_r(uid, &passwd, buffer, sizeof(buffer), &found);
	if (found)
		(void)snprintf(ret_name, SFCTL_USER_MAX, "%s", found->pw_name);
	else
		(void)snprintf(ret_name, SFCTL_USER_MAX, "%u", uid);
	sfctl_command_clean(ret_name);
}
