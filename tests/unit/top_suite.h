/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The parts of the suite of sfctl top, and what they share: streams and clients as the test likes
 * them, and looks at those.
 */
#ifndef T_TOP_SUITE_H
#define T_TOP_SUITE_H

#include "tools/top/model.h"
#include "tools/top/ui.h"

#include <check.h>

#define T_COUNT(array) (sizeof(array) / sizeof((array)[0]))
/** 2026-01-01T00:00:00Z */
#define T_UNIX_MS INT64_C(1767225600000)
#define T_STREAMS 3
#define T_CLIENTS 500

struct t_stream {
	struct sf_control_stats stats;
	struct sf_control_client client[T_CLIENTS];
	uint32_t client_count;
};

extern struct sfctl_top_model t_model;
extern struct sfctl_top_ui t_ui;
extern struct t_stream t_streams[T_STREAMS];
extern uint32_t t_stream_count;

/** Streams that are well, without clients; nobody has looked yet. */
void t_top_begin(uint32_t stream_count);
void t_top_end(void);
/** Adds a client. */
struct sf_control_client *t_top_client(uint32_t stream, uint32_t pid, uint64_t ids);
void t_top_claim(uint32_t stream, uint64_t claimed, uint64_t dropped);
/** Looks, so many seconds after the beginning. */
void t_top_look(double second);

void t_add_top_choices(Suite *suite);
void t_add_top_texts(Suite *suite);
void t_add_top_view(Suite *suite);

#endif
