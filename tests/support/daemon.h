/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A real sfd under test: started in directories of its own, waited for, asked, ended. The program
 * comes from the environment variable SFD_BIN. Whatever fails here fails the test.
 */
#ifndef T_DAEMON_H
#define T_DAEMON_H

#include "shm/control.h"

#include <stdbool.h>
#include <sys/types.h>

/** Room for what one run of sfd says. */
#define T_SAID_BYTES 16384

struct t_daemon {
	char directory[80]; /* what follows lies in it */
	char runtime_dir[96];
	char state_dir[96];
	char config[96];
	char log[96];
	char socket[112];
	unsigned machine_id;
	const char *loop;          /* for the configuration; NULL: auto */
	const char *lines;         /* further ones of its section [daemon]; NULL: none */
	void (*before_exec)(void); /* in the child that becomes sfd; may be NULL */
	pid_t pid;                 /* 0: not running */
};

/** Makes the directory of the test's `nth` daemon, and gives it a machine id. */
void t_daemon_init(struct t_daemon *daemon, unsigned nth);
/** Writes the configuration: one stream `default` with a layout, and further lines of it. */
void t_daemon_configure(struct t_daemon *daemon, const char *layout, const char *further);
/** Writes the configuration: one stream `default` of these lines. */
void t_daemon_configure_stream(struct t_daemon *daemon, const char *lines);
/** Starts it and waits until it accepts connections. */
void t_daemon_start(struct t_daemon *daemon);
/** The same with these arguments instead of a configuration; the directories must agree. */
void t_daemon_start_with(struct t_daemon *daemon, const char *const *arguments);
/** init, configure with further lines of the section [daemon], and start in one. */
void t_daemon_run_with(struct t_daemon *daemon, const char *lines, const char *layout);
/** init, configure and start in one. */
void t_daemon_run(struct t_daemon *daemon, const char *layout, const char *further);
/** SIGKILL, and reaps it. */
void t_daemon_kill(struct t_daemon *daemon);
/** SIGTERM, and reaps it: it must end with exit code 0. */
void t_daemon_stop(struct t_daemon *daemon);
/** Whether it still runs. */
bool t_daemon_lives(const struct t_daemon *daemon);
/** All it said so far; valid until the next call. */
const char *t_daemon_said(const struct t_daemon *daemon);
void t_daemon_assert_said(const struct t_daemon *daemon, const char *part);
/** "DIR/NAME", valid until the call after the next three. */
const char *t_path(const char *directory, const char *name);
/** Removes a whole directory tree. */
void t_remove_tree(const char *path);

/** Starts sfd with this configuration, which must end by itself. @return as t_run_sfd() */
int t_daemon_start_refused(struct t_daemon *daemon, char said[T_SAID_BYTES]);
/**
 * Runs sfd with arguments, NULL-terminated, to its end.
 * @return its exit code, or minus the number of the signal that ended it
 */
int t_run_sfd(const char *const *arguments, void (*before_exec)(void), char said[T_SAID_BYTES]);

/** How many descriptors a process has open. */
unsigned t_count_descriptors(pid_t pid);
/** Connects to a control socket. */
int t_connect(const char *path);
/** A request that is in order. */
struct sf_control_request t_request(uint16_t type, const char *stream);
/** Sends one message and receives one. @return its length; 0 when the connection was closed */
size_t t_exchange(int fd, const void *message, size_t length, void *reply, size_t size);
/** The statistics of the stream `default`. */
void t_daemon_stats(const struct t_daemon *daemon, struct sf_control_stats *ret_stats);
/** One of its counters. */
uint64_t t_daemon_counter(const struct t_daemon *daemon, enum sf_counter counter);

#endif
