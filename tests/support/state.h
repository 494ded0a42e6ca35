/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * A directory of a test's own, the bytes of the files in it, and mark files in particular. One
 * thread; one directory at a time.
 */
#ifndef T_STATE_H
#define T_STATE_H

#include "daemon/mark.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Makes the directory, to be called before each test. */
void t_state_init(void);
/** Removes it with all that is in it. */
void t_state_deinit(void);
const char *t_state_dir(void);
/** "DIR/NAME", valid until the next call. */
const char *t_state_path(const char *name);

/** Mounts a tmpfs over the directory, in a mount namespace of the test's own.
 *  @return false, after saying why on stderr, where that is not possible */
bool t_state_mount(const char *options);
/** Changes the options of that mount, such as "ro". */
void t_state_remount(const char *options);

void t_state_write(const char *name, const void *bytes, size_t length);
/** @return how many bytes the file has; at most `size` of them were read */
size_t t_state_read(const char *name, void *bytes, size_t size);
bool t_state_exists(const char *name);
/** How many entries the directory has. */
unsigned t_state_count(void);

/** A layout by name or notation, and `count` node ids from `first` on. */
struct sfd_identity t_identity(const char *layout, uint32_t first, uint32_t count);

/** The sentence of the last opening of a mark; there is one exactly after a refusal. */
extern struct sf_why t_mark_why;

/** sfd_mark_open() in the directory. */
int t_mark_open(const char *stream, const struct sfd_identity *identity, struct sfd_mark **ret_mark,
		struct sfd_mark_found *ret_found);
/** Opens and closes the mark of a stream. */
struct sfd_mark_found t_mark_found(const char *stream, const struct sfd_identity *identity);
/** Opens the mark of a stream, and stores `count` ticks. */
void t_mark_store(const char *stream, const struct sfd_identity *identity, const uint64_t *tick,
		  unsigned count);
/** Opening the mark of stream "own" fails so, says `sentence`, and leaves everything as it was. */
void t_mark_refused(const struct sfd_identity *identity, int error, const char *sentence);

#endif
