/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Users for people. Any thread.
 */
#ifndef SFCTL_USER_H
#define SFCTL_USER_H

#include <stdint.h>

#define SFCTL_USER_MAX 33

/** The user's name, fit to be shown, or the number where there is none. May ask a name service. */
void sfctl_user_name(uint32_t uid, char ret_name[SFCTL_USER_MAX]);

#endif
