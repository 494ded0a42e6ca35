/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The parts of the engine suite.
 */
#ifndef T_ENGINE_SUITE_H
#define T_ENGINE_SUITE_H

#include <check.h>

void t_add_engine_stop(Suite *suite);
void t_add_engine_demand(Suite *suite);
void t_add_engine_wide(Suite *suite);

#endif
