/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The daemon's log: one line a sentence on stderr, with journal priority prefixes ("<4>") when
 * stderr is the journal ($JOURNAL_STREAM names its device and inode). Any thread.
 */
#ifndef SFD_LOG_H
#define SFD_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum sfd_log_level {
	SFD_LOG_ERROR = 3,
	SFD_LOG_WARNING = 4,
	SFD_LOG_INFO = 6,
	SFD_LOG_DEBUG = 7,
};

/** Once, before other threads exist. */
void sfd_log_init(enum sfd_log_level level);
/** One sentence without a newline. Keeps errno. */
void sfd_log(enum sfd_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** Lines that a peer can provoke: so many in a row, then no more until the time is over. */
#define SFD_LOG_BURST 5
#define SFD_LOG_PAUSE_NS INT64_C(30000000000)

/** Of one kind of line. Zero-initialised; one thread. */
struct sfd_log_limit {
	int64_t since_ns;
	unsigned lines;
	unsigned left_out;
};

/**
 * Whether one more line may be written, at a monotonic time.
 * @param ret_left_out set when it may: how many were left out since the last one
 */
bool sfd_log_may(struct sfd_log_limit *limit, int64_t mono_ns, unsigned *ret_left_out);
/** sfd_log() for lines that a peer can provoke; says how many were left out before. */
void sfd_log_limited(struct sfd_log_limit *limit, enum sfd_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** "error", "warning", "info" or "debug". @return 0 or -EINVAL */
int sfd_log_level_parse(const char *text, enum sfd_log_level *ret_level);

#endif
