/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Processes of end-to-end tests: children that run a function, and the client calls that tests and
 * children share. Whatever fails here fails the test, or ends the child with T_CHECK_FAILED.
 */
#ifndef T_PROCESS_H
#define T_PROCESS_H

#include <sfclient.h>

#include <stdbool.h>
#include <sys/types.h>

/** Starts a child that ends with the function's result; it does not outlive the test. */
pid_t t_child(int (*run)(void *argument), void *argument);
/** Reaps a child. @return its exit code, or minus the number of the signal that ended it */
int t_reap(pid_t pid);
/** Starts this very program with arguments, NULL-terminated, as its role. */
pid_t t_spawn_role(const char *const *arguments);

/** A child of root's becomes another user, without groups but its own. */
void t_become(uid_t id);
/** Whether the test may do so; else it is skipped. */
bool t_has_root(const char *test);

/** Memory that children share with the test, zeroed. */
void *t_shared(size_t bytes);

/** Prints what the library says, unless it is normal. */
void t_log(void *data, int level, const char *message);
/** Opens a client of a socket's stream `default`, with a time-out. */
struct sf_client *t_open(const char *socket, int64_t timeout_ns);
/** Tries to open a client; `said`, of T_SAID_BYTES, receives what the library says. */
int t_try_open(const char *socket, const char *stream, struct sf_client **ret_client, char *said);
/** Opens a client, takes an ID, and closes it. */
uint64_t t_take_one(const char *socket);
struct sf_cursor *t_cursor(struct sf_client *client);
/** Takes an ID. */
uint64_t t_next(struct sf_cursor *cursor);
/** The tick of an ID. */
uint64_t t_tick(const struct sf_layout *layout, uint64_t id);
/**
 * Takes IDs until the daemon beats and the cursor has just claimed a range of which at least `left`
 * IDs are left. @return the last ID taken
 */
uint64_t t_warm(struct sf_cursor *cursor, uint64_t left);

#endif
