/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The actions of sfctl alias. argv[0] is the action's name. Main thread only.
 */
#ifndef SFCTL_CMD_ALIAS_H
#define SFCTL_CMD_ALIAS_H

#include "tools/sfctl.h"

/** @return an exit code */
int sfctl_alias_get(struct sfctl *sfctl, int argc, char **argv);
int sfctl_alias_reverse(struct sfctl *sfctl, int argc, char **argv);
int sfctl_alias_import(struct sfctl *sfctl, int argc, char **argv);
int sfctl_alias_export(struct sfctl *sfctl, int argc, char **argv);

#endif
