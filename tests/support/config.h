/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Loads configurations from text and keeps what was said of them. One at a time, one thread.
 */
#ifndef T_CONFIG_H
#define T_CONFIG_H

#include "daemon/config.h"

/* 2026-01-01T00:00:00Z, what t_config_load() and its kin take for now */
#define T_CONFIG_NOW_MS INT64_C(1767225600000)
/** A good stream in three lines. */
#define T_STREAM_A "[stream a]\nlayout = twitter\nmachine_id = 1\n"

extern struct sfd_config t_config;
/** What the last load wrote to stderr. */
extern const char *t_config_said;

/** Loads `text` as the file sfd.conf into t_config. */
int t_config_load(const char *text);
int t_config_load_bytes(const char *text, size_t size);
/** `text` is NULL without a file. */
int t_config_load_flags(const struct sfd_flags *flags, const char *text);
/** Loads a real file, with the time of the real clock. */
int t_config_load_path(const char *path);
/** The fixture: an environment with default directories for every user; frees t_config. */
void t_config_init(void);
void t_config_deinit(void);

unsigned t_config_said_lines(void);
void t_config_assert_said(const char *sentence);

#endif
