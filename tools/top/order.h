/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Which clients are shown, and in which order. Pure.
 */
#ifndef SFCTL_TOP_ORDER_H
#define SFCTL_TOP_ORDER_H

#include "tools/top/model.h"
#include "tools/top/ui.h"

/** Fills model->order. @return how many */
uint32_t sfctl_top_order(const struct sfctl_top_model *model, const struct sfctl_top_ui *ui);

#endif
