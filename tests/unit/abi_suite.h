/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The parts of the ABI suite.
 */
#ifndef T_ABI_SUITE_H
#define T_ABI_SUITE_H

#include <check.h>

void t_add_abi_attach(Suite *suite);
void t_add_abi_reply(Suite *suite);

#endif
