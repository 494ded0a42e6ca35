/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The daemon's log: one line a sentence on stderr, with journal priority prefixes ("<4>") when
 * stderr is the journal ($JOURNAL_STREAM names its device and inode). Any thread.
 */
#ifndef SFD_LOG_H
#define SFD_LOG_H

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
/** "error", "warning", "info" or "debug". @return 0 or -EINVAL */
int sfd_log_level_parse(const char *text, enum sfd_log_level *ret_level);

#endif
